//! Matches `.gitignore` rules as git's manual describes them, by trying everything.

/// Returns whether a path is ignored or not, or `None` if no rule matches.
pub fn decide(rules: &[u8], path: &[u8], is_folder: bool) -> Option<bool> {
    let rules = rules.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rules);
    let mut decided = None;
    for line in rules.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") {
            continue;
        }
        let line = trimmed(line);
        let (line, is_negated) = strip(line, line.starts_with(b"!"), false);
        let (line, only_folders) = strip(line, line.ends_with(b"/"), true);
        let is_name = !line.contains(&b'/');
        let pattern = if is_name { line } else { line.strip_prefix(b"/").unwrap_or(line) };
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let text = if is_name { name } else { path };
        let pattern = Pattern { bytes: pattern, is_name };
        let is_meant = !pattern.bytes.is_empty() && (is_folder || !only_folders);
        if is_meant && pattern.is_match(0, text) {
            decided = Some(!is_negated);
        }
    }
    decided
}

fn strip(line: &[u8], is_there: bool, at_end: bool) -> (&[u8], bool) {
    match (is_there, at_end) {
        (false, _) => (line, false),
        (true, false) => (&line[1..], true),
        (true, true) => (&line[..line.len() - 1], true),
    }
}

/// Strips spaces at the end, except one after a backslash.
fn trimmed(mut line: &[u8]) -> &[u8] {
    while let Some(shorter) = line.strip_suffix(b" ") {
        let n_backslashes = shorter.iter().rev().take_while(|byte| **byte == b'\\').count();
        if n_backslashes % 2 == 1 {
            break;
        }
        line = shorter;
    }
    line
}

/// A pattern for a name, or for a whole path.
struct Pattern<'a> {
    bytes: &'a [u8],
    is_name: bool,
}

impl Pattern<'_> {
    /// Returns whether the pattern from `at` on matches a text.
    fn is_match(&self, at: usize, text: &[u8]) -> bool {
        let Some(first) = self.bytes.get(at) else { return text.is_empty() };
        let goes_on = |n_pattern: usize| self.is_match(at + n_pattern, &text[1..]);
        let byte = text.first();
        match first {
            b'*' => self.is_match_of_stars(at, text),
            b'?' => byte.is_some_and(|byte| *byte != b'/') && goes_on(1),
            b'[' => {
                let Some(byte) = byte.filter(|byte| **byte != b'/') else { return false };
                let class = class(self.bytes, at + 1, *byte);
                class.is_some_and(|(is_in, end)| is_in && goes_on(end - at))
            }
            b'\\' => {
                let escaped = self.bytes.get(at + 1);
                escaped.is_some() && escaped == byte && goes_on(2)
            }
            literal => byte == Some(literal) && goes_on(1),
        }
    }

    fn is_match_of_stars(&self, at: usize, text: &[u8]) -> bool {
        let n_stars = self.bytes[at..].iter().take_while(|byte| **byte == b'*').count();
        let end = at + n_stars;
        let starts_a_part = at == 0 || self.bytes[at - 1] == b'/';
        let rest = &self.bytes[end..];
        let ends_a_part = rest.is_empty() || rest.starts_with(b"/") || rest.starts_with(b"\\/");
        if n_stars == 1 || self.is_name || !starts_a_part || !ends_a_part {
            let n_name = text.iter().take_while(|byte| **byte != b'/').count();
            return (0..=n_name).any(|n_taken| self.is_match(end, &text[n_taken..]));
        }
        if rest.is_empty() {
            return !text.is_empty();
        }
        // Only a plain slash may match nothing.
        if rest.starts_with(b"\\") {
            return (0..text.len()).any(|n_taken| self.is_match(end, &text[n_taken..]));
        }
        let behind_slash = |index: &usize| *index == 0 || text[*index - 1] == b'/';
        let mut starts = (0..text.len()).filter(behind_slash);
        starts.any(|start| self.is_match(end + 1, &text[start..]))
    }
}

/// Returns whether a byte is in the class that starts at `at`, and where the pattern continues.
/// `None` if it is not a class.
fn class(pattern: &[u8], mut at: usize, byte: u8) -> Option<(bool, usize)> {
    let is_negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    at += usize::from(is_negated);
    let start = at;
    let mut is_in = false;
    let mut range_start: Option<u8> = None;
    loop {
        let first = *pattern.get(at)?;
        if first == b']' && at > start {
            return Some((is_in != is_negated, at + 1));
        }
        let named = match first {
            b'[' if pattern.get(at + 1) == Some(&b':') => {
                let n_name = pattern[at + 2..].iter().position(|byte| *byte == b']')?;
                pattern[at + 2..at + 2 + n_name].strip_suffix(b":")
            }
            _ => None,
        };
        if let Some(name) = named {
            is_in |= is_named(name, byte)?;
            at += name.len() + 4;
            range_start = None;
            continue;
        }
        let next = pattern.get(at + 1);
        if let (b'-', Some(from), Some(next)) = (first, range_start, next.filter(|it| **it != b']'))
        {
            let is_escaped = *next == b'\\';
            let last = if is_escaped { *pattern.get(at + 2)? } else { *next };
            is_in |= (from..=last).contains(&byte);
            at += if is_escaped { 3 } else { 2 };
            range_start = None;
            continue;
        }
        let is_escaped = first == b'\\';
        let literal = if is_escaped { *next? } else { first };
        is_in |= literal == byte;
        range_start = Some(literal);
        at += if is_escaped { 2 } else { 1 };
    }
}

fn is_named(name: &[u8], byte: u8) -> Option<bool> {
    let c = char::from(byte);
    Some(match name {
        b"alnum" => c.is_ascii_alphanumeric(),
        b"alpha" => c.is_ascii_alphabetic(),
        b"blank" => c == ' ' || c == '\t',
        b"cntrl" => c.is_ascii_control(),
        b"digit" => c.is_ascii_digit(),
        b"graph" => c.is_ascii_graphic(),
        b"lower" => c.is_ascii_lowercase(),
        b"print" => c.is_ascii_graphic() || c == ' ',
        b"punct" => c.is_ascii_punctuation(),
        b"space" => matches!(byte, b' ' | 9..=13),
        b"upper" => c.is_ascii_uppercase(),
        b"xdigit" => c.is_ascii_hexdigit(),
        _ => return None,
    })
}
