//! Glob patterns for files on disk and in git: `*`, `?`, `[…]`, `{a,b}` and `**` for any number of
//! directories. A pattern with `%` can also be an SQL LIKE pattern.
//!
//! A walk carries a [`GlobState`], which knows whether anything below a directory can still match,
//! so that the walk skips other directories. A name that starts with a dot is matched only by a
//! component that does too, unless hidden names are shown.

mod state;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::error::{Error, Result};
use crate::limits;
pub use state::GlobState;

/// The limits of a pattern.
const MAX_CHOICES: usize = limits::GLOB_ALTERNATIVES;
const MAX_PARTS: usize = limits::GLOB_PARTS;
const MAX_PATTERN: usize = limits::GLOB;
const MAX_EXPANDED: usize = limits::GLOB_EXPANDED;

/// A pattern for paths relative to a directory.
#[derive(Debug, Clone)]
pub struct Glob {
    language: Language,
    shows_hidden: bool,
}

#[derive(Debug, Clone)]
enum Language {
    Parts(Vec<Vec<GlobPart>>),
    Like(Vec<LikeToken>),
}

/// One component of a pattern.
#[derive(Debug, Clone)]
enum GlobPart {
    AnyDirs,
    Name { matcher: Matcher, is_dotted: bool },
}

/// Matches a name. Common forms have a fast path.
#[derive(Debug, Clone)]
enum Matcher {
    Any,
    Literal(String),
    Ending(String),
    Name(Vec<Wildcard>),
}

/// An element of a name pattern. The globset crate matches `?` to a single byte, so that `?.c`
/// misses `ä.c`; this matches characters.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wildcard {
    AnyText,
    AnyCharacter,
    Literal(char),
    Class { ranges: Vec<(char, char)>, is_negated: bool },
}

/// An element of a LIKE pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LikeToken {
    AnyText,
    AnyCharacter,
    Literal(char),
}

impl Glob {
    /// Whether a text contains a wildcard.
    pub fn is_glob(text: &str) -> bool {
        has_wildcard(text)
    }

    /// Splits a pattern into its literal directory, which is empty if the pattern is relative and
    /// starts with a wildcard, and a pattern for paths below it.
    pub fn parse(pattern: &str) -> Result<(String, Glob)> {
        let wrong = |cause: String| Error::BadGlob { pattern: pattern.into(), cause };
        check(pattern)?;
        let parts: Vec<&str> = pattern.split('/').collect();
        let is_last = |index: usize| parts[index + 1..].iter().all(|part| part.is_empty());
        let n_literal = (0..parts.len())
            .take_while(|index| !has_wildcard(parts[*index]) && !is_last(*index))
            .count();
        let mut folder = parts[..n_literal].iter().map(|part| unescaped(part)).collect::<Vec<_>>();
        if n_literal == 1 && folder[0].is_empty() {
            folder.push(String::new());
        }
        let rest = parts[n_literal..].join("/");
        let mut alternatives = Vec::new();
        let expanded = expand_braces(&rest).map_err(wrong)?;
        if expanded.iter().map(String::len).sum::<usize>() > MAX_EXPANDED {
            let cause = format!("its braces expand to more than {MAX_EXPANDED} bytes");
            return Err(wrong(cause));
        }
        for alternative in expanded {
            alternatives.push(parse_parts(&alternative).map_err(wrong)?);
        }
        let glob = Glob { language: Language::Parts(alternatives), shows_hidden: false };
        Ok((folder.join("/"), glob))
    }

    /// Parses an SQL LIKE pattern for paths: `%` matches any text, even slashes, `_` a character.
    pub fn like(pattern: &str) -> Result<Glob> {
        check(pattern)?;
        let token = |c| match c {
            '%' => LikeToken::AnyText,
            '_' => LikeToken::AnyCharacter,
            c => LikeToken::Literal(c),
        };
        let mut tokens: Vec<LikeToken> = pattern.chars().map(token).collect();
        // Two in a row are equivalent to one.
        tokens.dedup_by(|token, before| *token == LikeToken::AnyText && before == token);
        Ok(Glob { language: Language::Like(tokens), shows_hidden: true })
    }

    /// Makes wildcards match names that start with a dot.
    pub fn showing_hidden(self) -> Glob {
        Glob { shows_hidden: true, ..self }
    }

    /// Returns the state in the directory that the pattern starts in.
    pub fn start(&self) -> GlobState {
        match &self.language {
            Language::Parts(alternatives) => {
                GlobState::Parts(alternatives.iter().map(|parts| skip_any_dirs(parts, 1)).collect())
            }
            Language::Like(tokens) => GlobState::Like(skip_any_text(tokens, vec![0])),
        }
    }

    /// Returns the state in a subdirectory, or `None` if nothing in it can match.
    pub fn enter(&self, state: &GlobState, name: &OsStr) -> Option<GlobState> {
        use GlobState::Parts;
        match (&self.language, state) {
            (Language::Parts(alternatives), Parts(open)) => {
                let step = |(parts, open): (&Vec<GlobPart>, &u64)| self.step(parts, *open, name);
                let next: Vec<u64> = alternatives.iter().zip(&**open).map(step).collect();
                let state = || if *next == **open { state.clone() } else { Parts(next[..].into()) };
                next.iter().any(|open| *open != 0).then(state)
            }
            (Language::Like(tokens), GlobState::Like(places)) => {
                let places = feed(tokens, places, &name.to_string_lossy());
                let places = feed(tokens, &places, "/");
                (!places.is_empty()).then_some(GlobState::Like(places))
            }
            _ => unreachable!("a state belongs to the glob that made it"),
        }
    }

    /// Whether a file in the directory of `state` matches.
    pub fn is_match(&self, state: &GlobState, name: &OsStr) -> bool {
        match (&self.language, state) {
            (Language::Parts(alternatives), GlobState::Parts(open)) => {
                let mut alternatives = alternatives.iter().zip(&**open);
                alternatives.any(|(parts, open)| {
                    let Some(last) = parts.last() else { return false };
                    open & (1 << (parts.len() - 1)) != 0 && self.part_matches(last, name)
                })
            }
            (Language::Like(tokens), GlobState::Like(places)) => {
                feed(tokens, places, &name.to_string_lossy()).contains(&tokens.len())
            }
            _ => unreachable!("a state belongs to the glob that made it"),
        }
    }

    /// Whether a whole relative path matches.
    pub fn matches_path(&self, path: &str) -> bool {
        let mut state = self.start();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return self.is_match(&state, OsStr::new(part));
            }
            match self.enter(&state, OsStr::new(part)) {
                Some(next) => state = next,
                None => return false,
            }
        }
        false
    }

    fn step(&self, parts: &[GlobPart], open: u64, name: &OsStr) -> u64 {
        let mut next = 0;
        for (index, part) in parts.iter().enumerate() {
            if open & (1 << index) != 0 && self.part_matches(part, name) {
                next |= match part {
                    GlobPart::Name { matcher: Matcher::Literal(_), .. } => 1 << (index + 1),
                    // Only a literal `.git` component enters `.git` directories.
                    _ if name == ".git" => 0,
                    GlobPart::AnyDirs => 1 << index,
                    GlobPart::Name { .. } => 1 << (index + 1),
                };
            }
        }
        // Nothing can follow the last component.
        skip_any_dirs(parts, next) & !(1 << parts.len())
    }

    fn part_matches(&self, part: &GlobPart, name: &OsStr) -> bool {
        let is_hidden = name.as_bytes().starts_with(b".") && !self.shows_hidden;
        match part {
            GlobPart::AnyDirs => !is_hidden,
            GlobPart::Name { is_dotted: false, .. } if is_hidden => false,
            GlobPart::Name { matcher, .. } => match matcher {
                Matcher::Any => true,
                Matcher::Literal(literal) => name.as_bytes() == literal.as_bytes(),
                Matcher::Ending(ending) => name.as_bytes().ends_with(ending.as_bytes()),
                Matcher::Name(wildcards) => is_name(wildcards, &name.to_string_lossy()),
            },
        }
    }
}

/// Adds the states after `**`, which can match no directory. A final `**` matches a file.
fn skip_any_dirs(parts: &[GlobPart], mut open: u64) -> u64 {
    for (index, part) in parts.iter().enumerate() {
        if open & (1 << index) != 0 && matches!(part, GlobPart::AnyDirs) {
            open |= 1 << (index + 1);
        }
    }
    open
}

fn has_wildcard(text: &str) -> bool {
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '*' | '?' | '[' | '{' => return true,
            _ => {}
        }
    }
    false
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.push(if c == '\\' { characters.next().unwrap_or('\\') } else { c });
    }
    plain
}

/// Rejects patterns with NUL and patterns that are too long.
fn check(pattern: &str) -> Result<()> {
    if pattern.contains('\0') {
        return Err(Error::NulInPath { path: pattern.replace('\0', "␀") });
    }
    if pattern.len() > MAX_PATTERN {
        let cause = format!("it is longer than {MAX_PATTERN} bytes");
        return Err(Error::BadGlob { pattern: pattern.into(), cause });
    }
    Ok(())
}

fn parse_parts(pattern: &str) -> Result<Vec<GlobPart>, String> {
    let mut parts = Vec::new();
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        parts.push(match part {
            ".." => return Err("`..` can only come before the first wildcard".into()),
            // Two in a row are equivalent to one.
            "**" if matches!(parts.last(), Some(GlobPart::AnyDirs)) => continue,
            "**" => GlobPart::AnyDirs,
            name => GlobPart::Name {
                matcher: parse_name(name)?,
                is_dotted: unescaped(name).starts_with('.'),
            },
        });
    }
    if parts.len() > MAX_PARTS {
        return Err(format!("it has more than {MAX_PARTS} parts"));
    }
    Ok(parts)
}

fn parse_name(name: &str) -> Result<Matcher, String> {
    if name == "*" {
        return Ok(Matcher::Any);
    }
    if !has_wildcard(name) {
        return Ok(Matcher::Literal(unescaped(name)));
    }
    if let Some(ending) = name.strip_prefix('*')
        && !ending.contains(['*', '?', '[', '{', '\\'])
    {
        return Ok(Matcher::Ending(ending.into()));
    }
    parse_wildcards(name).map(Matcher::Name)
}

fn parse_wildcards(name: &str) -> Result<Vec<Wildcard>, String> {
    let mut wildcards = Vec::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let mut n_taken = c.len_utf8();
        wildcards.push(match c {
            '*' => Wildcard::AnyText,
            '?' => Wildcard::AnyCharacter,
            '\\' => {
                let escaped = rest[1..].chars().next().ok_or("it ends with a backslash")?;
                n_taken += escaped.len_utf8();
                Wildcard::Literal(escaped)
            }
            '[' => {
                n_taken = class_len(rest).ok_or("a bracket is not closed")?;
                parse_class(&rest[1..n_taken - 1])?
            }
            c => Wildcard::Literal(c),
        });
        rest = &rest[n_taken..];
    }
    Ok(wildcards)
}

impl Wildcard {
    /// Whether this element matches one given character.
    fn is(&self, c: char) -> bool {
        match self {
            Wildcard::AnyText => false,
            Wildcard::AnyCharacter => true,
            Wildcard::Literal(literal) => *literal == c,
            Wildcard::Class { ranges, is_negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *is_negated
            }
        }
    }
}

/// Parses the text between brackets: `abc`, `a-z`, `!a-z`.
fn parse_class(class: &str) -> Result<Wildcard, String> {
    let positive = class.strip_prefix(['!', '^']);
    let mut ranges = Vec::new();
    let mut characters = positive.unwrap_or(class).chars().peekable();
    while let Some(first) = characters.next() {
        let mut ahead = characters.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) if first > last => {
                return Err(format!("the range {first}-{last} is reversed"));
            }
            (Some('-'), Some(last)) => {
                ranges.push((first, last));
                characters = ahead;
            }
            _ => ranges.push((first, first)),
        }
    }
    Ok(Wildcard::Class { ranges, is_negated: positive.is_some() })
}

/// Whether a name matches. On a mismatch, only the last `*` is extended: extending an earlier one
/// cannot help, because the last one already matches any text.
fn is_name(wildcards: &[Wildcard], name: &str) -> bool {
    // Most names differ at their end, which is fast to check.
    let tail = wildcards.iter().rev().take_while(|wildcard| **wildcard != Wildcard::AnyText);
    let mut characters = name.chars().rev();
    if !tail.into_iter().all(|wildcard| characters.next().is_some_and(|c| wildcard.is(c))) {
        return false;
    }
    let (mut at, mut rest) = (0, name.chars());
    let mut again = None;
    loop {
        let mut ahead = rest.clone();
        let c = ahead.next();
        let is_same = match (wildcards.get(at), c) {
            (Some(Wildcard::AnyText), _) => {
                at += 1;
                again = Some((at, rest.clone()));
                continue;
            }
            (None, None) => return true,
            (Some(wildcard), Some(c)) => wildcard.is(c),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if is_same {
            (at, rest) = (at + 1, ahead);
            continue;
        }
        let Some((star, mut from)) = again.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        (at, rest) = (star, from.clone());
        again = Some((star, from));
    }
}

/// Expands `a{b,c{d,e}}` to `ab`, `acd`, `ace`. Braces in `[…]` or after a backslash are literal.
fn expand_braces(pattern: &str) -> Result<Vec<String>, String> {
    let mut expanded = vec![String::new()];
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let n_taken = match c {
            '{' => {
                let (choices, n_taken) = split_braces(rest)?;
                let mut all = Vec::new();
                for choice in choices {
                    let choices = expand_braces(choice)?;
                    let n_all = all.len() + choices.len() * expanded.len();
                    if n_all > MAX_CHOICES {
                        return Err(format!("braces expand to more than {MAX_CHOICES} patterns"));
                    }
                    for choice in choices {
                        all.extend(expanded.iter().map(|start| format!("{start}{choice}")));
                    }
                }
                expanded = all;
                rest = &rest[n_taken..];
                continue;
            }
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '[' => class_len(rest).unwrap_or(1),
            c => c.len_utf8(),
        };
        expanded.iter_mut().for_each(|start| start.push_str(&rest[..n_taken]));
        rest = &rest[n_taken..];
    }
    Ok(expanded)
}

/// Returns the choices of the brace group at the start of `text`, and its length.
fn split_braces(text: &str) -> Result<(Vec<&str>, usize), String> {
    let mut choices = Vec::new();
    let (mut depth, mut at, mut start) = (0, 0, 1);
    while let Some(c) = text[at..].chars().next() {
        let mut n_taken = c.len_utf8();
        match c {
            '\\' => n_taken += text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '[' => n_taken = class_len(&text[at..]).unwrap_or(1),
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                choices.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if depth > 16 {
            return Err("braces are nested more than 16 deep".into());
        }
        if depth == 0 {
            choices.push(&text[start..at]);
            return Ok((choices, at + 1));
        }
        at += n_taken;
    }
    Err("a brace is not closed".into())
}

/// Returns the length of the character class at the start of `text`, if it is closed.
fn class_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix("[!").or_else(|| text.strip_prefix("[^")).unwrap_or(&text[1..]);
    let n_before = text.len() - body.len();
    // A closing bracket in first position is literal.
    let n_first = usize::from(body.starts_with(']'));
    body[n_first..].find(']').map(|end| n_before + n_first + end + 1)
}

fn skip_any_text(tokens: &[LikeToken], mut places: Vec<usize>) -> Vec<usize> {
    let mut index = 0;
    while index < places.len() {
        let place = places[index];
        if tokens.get(place) == Some(&LikeToken::AnyText) && !places.contains(&(place + 1)) {
            places.push(place + 1);
        }
        index += 1;
    }
    places
}

fn feed(tokens: &[LikeToken], places: &[usize], text: &str) -> Vec<usize> {
    let mut places = places.to_vec();
    for c in text.chars() {
        let mut next = Vec::new();
        for place in places {
            let reached = match tokens.get(place) {
                Some(LikeToken::AnyText) => place,
                Some(LikeToken::AnyCharacter) => place + 1,
                Some(LikeToken::Literal(literal)) if *literal == c => place + 1,
                _ => continue,
            };
            if !next.contains(&reached) {
                next.push(reached);
            }
        }
        places = skip_any_text(tokens, next);
    }
    places
}

mod below;
#[cfg(test)]
mod tests;
