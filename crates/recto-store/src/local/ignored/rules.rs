//! The rules of one `.gitignore`, matched byte by byte as git does; the last rule that matches a
//! path decides.
//!
//! The matcher never backtracks over `**`, so the time for one path and one rule grows with the
//! product of their lengths. `docs/decisions/0012-ignore-rules.md` compares it with git and with
//! the crates that could replace it.

/// The rules of one file, in order.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    is_negated: bool,
    only_dirs: bool,
    /// What most paths lack, to skip the pattern: the first byte of the name, or of a path with so
    /// many slashes.
    first: Option<u8>,
    n_slashes: Option<usize>,
}

#[derive(Debug)]
enum Pattern {
    /// Matches the last component of a path, at any depth.
    Name(Wild),
    /// Matches the whole path, relative to the directory of the rules.
    Path(Vec<Segment>),
}

#[derive(Debug)]
enum Segment {
    AnyDirs,
    Name(Wild),
}

/// A name with wildcards. Most rules are of the first two forms.
#[derive(Debug)]
enum Wild {
    Literal(Vec<u8>),
    Suffix(Vec<u8>),
    Tokens(Vec<Token>),
}

#[derive(Debug)]
enum Token {
    AnyText,
    AnyByte,
    Literal(u8),
    /// One flag for each byte.
    Class(Box<[bool; 256]>),
}

impl RuleSet {
    /// Parses a rules file. A rule that git would not accept matches nothing.
    pub fn parse(text: &[u8]) -> RuleSet {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        RuleSet { rules: text.split(|byte| *byte == b'\n').filter_map(Rule::parse).collect() }
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether a path relative to the directory of the rules is ignored, or `None` if no
    /// rule matches it.
    pub fn decide(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let n_slashes = path.iter().filter(|byte| **byte == b'/').count();
        let matches = |rule: &&Rule| {
            let start = if rule.n_slashes.is_some() { path } else { name };
            (is_dir || !rule.only_dirs)
                && rule.n_slashes.is_none_or(|n| n == n_slashes)
                && rule.first.is_none_or(|first| start.first() == Some(&first))
                && match &rule.pattern {
                    Pattern::Name(wild) => wild.matches(name),
                    Pattern::Path(segments) => matches_path(segments, path),
                }
        };
        self.rules.iter().rev().find(matches).map(|rule| !rule.is_negated)
    }
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Rule> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") {
            return None;
        }
        let line = without_trailing_spaces(line);
        let (line, is_negated) = match line.strip_prefix(b"!") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let (line, only_dirs) = match line.strip_suffix(b"/") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let pattern = match line.contains(&b'/') {
            false => Pattern::Name(Wild::parse(line)?),
            true => {
                let path = line.strip_prefix(b"/").unwrap_or(line);
                let segments: Option<Vec<Segment>> =
                    split_at_slashes(path)?.into_iter().map(Segment::parse).collect();
                Pattern::Path(segments.filter(|segments| segments.len() < 64)?)
            }
        };
        let (first, n_slashes) = match &pattern {
            Pattern::Name(wild) => (wild.first(), None),
            // Without `**`, each segment matches one name.
            Pattern::Path(segments) => {
                let names: Option<Vec<&Wild>> = segments.iter().map(Segment::name).collect();
                let names = names.unwrap_or_default();
                (names.first().and_then(|wild| wild.first()), names.len().checked_sub(1))
            }
        };
        Some(Rule { pattern, is_negated, only_dirs, first, n_slashes })
    }
}

impl Segment {
    fn parse(name: &[u8]) -> Option<Segment> {
        match is_any_dirs(name) {
            true => Some(Segment::AnyDirs),
            false => Wild::parse(name).map(Segment::Name),
        }
    }

    fn name(&self) -> Option<&Wild> {
        match self {
            Segment::AnyDirs => None,
            Segment::Name(wild) => Some(wild),
        }
    }
}

fn is_any_dirs(part: &[u8]) -> bool {
    part.len() > 1 && part.iter().all(|byte| *byte == b'*')
}

/// Splits a pattern at its slashes. A slash inside a class is a byte of that class. An escaped
/// slash separates too, but `**\/` matches at least one directory where `**/` can match none.
fn split_at_slashes(path: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut segments, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(byte) = path.get(at) {
        let n_taken = match byte {
            b'\\' => 2,
            b'[' => path.len() - at - parse_class(&path[at + 1..])?.1.len(),
            _ => 1,
        };
        if *byte == b'/' || path[at..].starts_with(b"\\/") {
            let part = &path[start..at];
            segments.push(part);
            if *byte == b'\\' && is_any_dirs(part) {
                segments.push(b"*");
            }
            start = at + n_taken;
        }
        at += n_taken;
    }
    segments.push(path.get(start..)?);
    Some(segments)
}

/// Removes trailing spaces that are not escaped by a backslash.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let (mut end, mut at) = (0, 0);
    while at < line.len() {
        match line[at] {
            b' ' => {}
            b'\\' => {
                at += 1;
                end = (at + 1).min(line.len());
            }
            _ => end = at + 1,
        }
        at += 1;
    }
    &line[..end]
}

/// Matches segments against a path. A bit set tracks the segments that may come next.
fn matches_path(segments: &[Segment], path: &[u8]) -> bool {
    // `**` matches zero or more directories, but at the end at least one name.
    let skip = |mut open: u64| {
        for (index, part) in segments.iter().enumerate() {
            let is_last = index + 1 == segments.len();
            if open & (1 << index) != 0 && matches!(part, Segment::AnyDirs) && !is_last {
                open |= 1 << (index + 1);
            }
        }
        open
    };
    let mut open = skip(1);
    for name in path.split(|byte| *byte == b'/') {
        let mut next = 0;
        for (index, part) in
            segments.iter().enumerate().filter(|(index, _)| open & (1 << index) != 0)
        {
            match part {
                Segment::AnyDirs if index + 1 == segments.len() => next |= 3 << index,
                Segment::AnyDirs => next |= 1 << index,
                Segment::Name(wild) if wild.matches(name) => next |= 1 << (index + 1),
                Segment::Name(_) => {}
            }
        }
        open = skip(next);
        if open == 0 {
            return false;
        }
    }
    open & (1 << segments.len()) != 0
}

impl Wild {
    /// Returns `None` for a pattern that cannot match any name.
    fn parse(name: &[u8]) -> Option<Wild> {
        if name.is_empty() {
            return None;
        }
        let is_plain = |text: &[u8]| !text.iter().any(|byte| b"*?[\\".contains(byte));
        if is_plain(name) {
            return Some(Wild::Literal(name.to_vec()));
        }
        if let Some(suffix) = name.strip_prefix(b"*").filter(|suffix| is_plain(suffix)) {
            return Some(Wild::Suffix(suffix.to_vec()));
        }
        let mut tokens = Vec::new();
        let mut rest = name;
        while let [first, others @ ..] = rest {
            rest = others;
            tokens.push(match first {
                b'*' if matches!(tokens.last(), Some(Token::AnyText)) => continue,
                b'*' => Token::AnyText,
                b'?' => Token::AnyByte,
                b'\\' => {
                    let (escaped, others) = rest.split_first()?;
                    rest = others;
                    Token::Literal(*escaped)
                }
                b'[' => {
                    let (class, others) = parse_class(rest)?;
                    rest = others;
                    Token::Class(class)
                }
                byte => Token::Literal(*byte),
            });
        }
        Some(Wild::Tokens(tokens))
    }

    /// Returns the byte that every matching name starts with.
    fn first(&self) -> Option<u8> {
        match self {
            Wild::Literal(literal) => literal.first().copied(),
            Wild::Suffix(_) | Wild::Tokens(_) => None,
        }
    }

    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Wild::Literal(literal) => literal == name,
            Wild::Suffix(suffix) => name.ends_with(suffix),
            Wild::Tokens(tokens) => matches_name(tokens, name),
        }
    }
}

/// Matches tokens against a name. After a mismatch, retries from the last `*`.
fn matches_name(tokens: &[Token], name: &[u8]) -> bool {
    let (mut at, mut byte) = (0, 0);
    let mut again = None;
    loop {
        let is_same = match (tokens.get(at), name.get(byte)) {
            (None, None) => return true,
            (Some(Token::AnyText), _) => {
                at += 1;
                again = Some((at, byte));
                continue;
            }
            (Some(Token::AnyByte), Some(_)) => true,
            (Some(Token::Literal(literal)), Some(byte)) => literal == byte,
            (Some(Token::Class(class)), Some(byte)) => class[usize::from(*byte)],
            _ => false,
        };
        if is_same {
            (at, byte) = (at + 1, byte + 1);
            continue;
        }
        match again {
            Some((star, from)) if from < name.len() => {
                (at, byte) = (star, from + 1);
                again = Some((star, from + 1));
            }
            _ => return false,
        }
    }
}

/// Returns the bytes of a class and the rest of the pattern, or `None` if it is not closed.
fn parse_class(text: &[u8]) -> Option<(Box<[bool; 256]>, &[u8])> {
    let mut class = Box::new([false; 256]);
    let (mut rest, is_negated) = match text {
        [b'!' | b'^', rest @ ..] => (rest, true),
        _ => (text, false),
    };
    let mut is_first = true;
    let mut before = None;
    // Where the last search for the end of a class name stopped. Up to there, `[:` is plain text;
    // searching again would take quadratic time on a long line of `[:[:[:`.
    let mut n_left_plain = usize::MAX;
    loop {
        let (byte, others) = rest.split_first()?;
        rest = others;
        match byte {
            b']' if !is_first => break,
            b'[' if rest.starts_with(b":") && rest.len() < n_left_plain => {
                let end = rest.iter().position(|byte| *byte == b']')?;
                if let Some(name) = rest[1..end].strip_suffix(b":") {
                    let is_of = posix_class(name)?;
                    (0..=255).filter(is_of).for_each(|byte| class[usize::from(byte)] = true);
                    rest = &rest[end + 1..];
                    before = None;
                } else {
                    n_left_plain = rest.len() - end;
                    class[usize::from(b'[')] = true;
                    before = Some(b'[');
                }
            }
            b'-' if before.is_some() && !rest.starts_with(b"]") => {
                let (mut last, mut others) = rest.split_first()?;
                if *last == b'\\' {
                    (last, others) = others.split_first()?;
                }
                rest = others;
                let first: u8 = before.take()?;
                (first..=*last).for_each(|byte| class[usize::from(byte)] = true);
            }
            b'\\' => {
                let (escaped, others) = rest.split_first()?;
                rest = others;
                class[usize::from(*escaped)] = true;
                before = Some(*escaped);
            }
            byte => {
                class[usize::from(*byte)] = true;
                before = Some(*byte);
            }
        }
        is_first = false;
    }
    if is_negated {
        class.iter_mut().for_each(|is_in| *is_in = !*is_in);
    }
    Some((class, rest))
}

fn posix_class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| byte.is_ascii_graphic() || *byte == b' ',
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| byte.is_ascii_whitespace() || *byte == 0x0b,
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matchers that backtrack over `**` need 2³⁰ steps for this and do not finish.
    #[test]
    fn many_wildcards_take_polynomial_time() {
        for part in ["a", "*a", "?", "[a]*"] {
            let rule = format!("**/{part}/").repeat(30) + "b";
            let rules = RuleSet::parse(rule.as_bytes());
            let dirs = "a/".repeat(60);
            assert_eq!(rules.decide(format!("{dirs}a").as_bytes(), false), None, "{rule}");
            assert_eq!(rules.decide(format!("{dirs}b").as_bytes(), false), Some(true), "{rule}");
        }
    }
}
