//! The attributes of a file at a revision that change its bytes when git checks it out.
//!
//! Read from the `.gitattributes` files of the same tree and from `info/attributes`. Only used to
//! report that a checkout would differ: nothing is converted and no filter is run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use recto_text::line_diff::is_binary;

use super::config::GitConfig;
use crate::local::ignored::rules::RuleSet;
use crate::notes::Note;

/// The first lines of a pointer of Git LFS, and its largest size.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const MAX_LFS_POINTER: usize = 1024;

/// The macro that git defines itself.
const BINARY: &[u8] = b"-diff -merge -text";

/// The attributes of one file, from the least to the most specific source.
#[derive(Debug, Default)]
pub struct Attributes {
    /// The words that apply to the file, with spaces between them.
    words: Vec<u8>,
    macros: HashMap<Vec<u8>, Vec<u8>>,
}

/// The state of every attribute that the words decide. An attribute that is reset has none.
struct States<'a>(HashMap<&'a [u8], Option<State>>);

/// What is known about an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Value(Vec<u8>),
}

impl Attributes {
    /// Applies the rules of one file to a path relative to its directory. Only the file at the top
    /// can define macros.
    pub fn apply(&mut self, rules: &[u8], path: &[u8], is_top: bool) {
        let rules = rules.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rules);
        for line in rules.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if let Some(rest) = line.strip_prefix(b"[attr]") {
                let (name, states) = split_word(rest);
                if is_top {
                    self.macros.insert(name.to_vec(), states.to_vec());
                }
                continue;
            }
            let Some((pattern, states)) = parse_pattern(line) else { continue };
            if RuleSet::parse(&pattern).decide(path, false) == Some(true) {
                self.words.extend(states);
                self.words.push(b' ');
            }
        }
    }

    /// Decides every attribute from the last word to the first, as git does: the first decision
    /// counts, so that each macro is expanded at most once.
    fn states(&self) -> States<'_> {
        let mut states = HashMap::new();
        let mut ahead: Vec<&[u8]> = words(&self.words).collect();
        while let Some(word) = ahead.pop() {
            let (name, state) = match word {
                [b'-', name @ ..] => (name, Some(State::Unset)),
                [b'!', name @ ..] => (name, None),
                word => match word.iter().position(|byte| *byte == b'=') {
                    Some(at) => (&word[..at], Some(State::Value(word[at + 1..].to_vec()))),
                    None => (word, Some(State::Set)),
                },
            };
            let Entry::Vacant(undecided) = states.entry(name) else { continue };
            if state == Some(State::Set) {
                let own = self.macros.get(name).map(Vec::as_slice);
                let known = own.or((name == b"binary").then_some(BINARY));
                ahead.extend(known.into_iter().flat_map(words));
            }
            undecided.insert(state);
        }
        States(states)
    }

    /// Returns why a checkout would write other bytes.
    pub fn notes(&self, bytes: &[u8], config: &GitConfig) -> Vec<Note> {
        self.states().notes(bytes, config)
    }
}

impl States<'_> {
    fn get(&self, name: &str) -> Option<&State> {
        self.0.get(name.as_bytes())?.as_ref()
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        match self.get(name) {
            Some(State::Value(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns why a checkout would write other bytes.
    fn notes(&self, bytes: &[u8], config: &GitConfig) -> Vec<Note> {
        let mut notes = Vec::new();
        let is_pointer = is_lfs_pointer(bytes);
        if is_pointer {
            notes.push(Note::LfsPointer);
        }
        let has_id = || memchr::memmem::find(bytes, b"$Id").is_some();
        let is_ident = self.get("ident") == Some(&State::Set) && has_id();
        let is_encoded = self.value("working-tree-encoding").is_some();
        let is_filtered = self.value("filter").is_some() && !is_pointer;
        if is_filtered || is_ident || is_encoded {
            notes.push(Note::FilteredOnCheckout);
        }
        if self.writes_crlf(bytes, config) {
            notes.push(Note::CrlfOnCheckout);
        }
        notes
    }

    /// Whether a checkout would turn LF into CRLF.
    fn writes_crlf(&self, bytes: &[u8], config: &GitConfig) -> bool {
        let core = |name| config.value("core", name).map(str::to_ascii_lowercase);
        let is_true = |value: &str| matches!(value, "true" | "yes" | "on" | "1");
        let converts_all = core("autocrlf").as_deref().is_some_and(is_true);
        let text = self.get("text");
        let eol = self.value("eol");
        let is_auto = match text {
            Some(State::Unset) => return false,
            Some(State::Set) => false,
            Some(State::Value(value)) => value == b"auto",
            None => eol.is_none(),
        };
        let is_crlf = match (eol, text) {
            (Some(eol), _) => eol == b"crlf",
            (None, None) => converts_all,
            (None, Some(_)) => match core("autocrlf").as_deref() {
                Some("input") => false,
                _ => converts_all || core("eol").as_deref() == Some("crlf"),
            },
        };
        // With `text=auto`, git leaves files alone that are binary or already have CRs.
        let is_left_alone = || is_auto && (is_binary(bytes) || bytes.contains(&b'\r'));
        is_crlf && has_bare_lf(bytes) && !is_left_alone()
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn has_bare_lf(bytes: &[u8]) -> bool {
    let mut newlines = memchr::memchr_iter(b'\n', bytes);
    newlines.any(|at| at == 0 || bytes[at - 1] != b'\r')
}

/// Whether bytes are the pointer that Git LFS stores for a large file.
fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_LFS_POINTER
        && bytes.starts_with(LFS_POINTER)
        && memchr::memmem::find(bytes, b"\noid ").is_some()
}

fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    line.split_at(end)
}

/// Splits a line into its pattern, which may be quoted as in C, and its attributes.
fn parse_pattern(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"!") {
        return None;
    }
    let Some(quoted) = line.strip_prefix(b"\"") else {
        let (pattern, rest) = split_word(line);
        return Some((pattern.to_vec(), rest));
    };
    let mut pattern = Vec::new();
    let mut rest = quoted;
    loop {
        let (byte, others) = rest.split_first()?;
        rest = others;
        match byte {
            b'"' => return Some((pattern, rest)),
            b'\\' => {
                let (escaped, others) = rest.split_first()?;
                rest = others;
                match escaped {
                    b'0'..=b'3' => {
                        let digits = std::str::from_utf8(others.get(..2)?).ok()?;
                        let low = u8::from_str_radix(digits, 8).ok()?;
                        pattern.push((escaped - b'0') * 64 + low);
                        rest = &others[2..];
                    }
                    b't' => pattern.push(b'\t'),
                    b'n' => pattern.push(b'\n'),
                    other => pattern.push(*other),
                }
            }
            byte => pattern.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(rules: &str, config: &str, bytes: &str) -> Vec<Note> {
        let mut attributes = Attributes::default();
        attributes.apply(rules.as_bytes(), b"dir/a.txt", true);
        attributes.notes(bytes.as_bytes(), &GitConfig::parse(config.as_bytes()))
    }

    #[test]
    fn attributes_that_change_a_checkout_are_found() {
        use Note::{CrlfOnCheckout, FilteredOnCheckout, LfsPointer};
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
        let autocrlf = "[core]\nautocrlf = true\n";
        for (rules, config, bytes, expected) in [
            ("", "", "a\n", &[][..]),
            ("*.txt eol=crlf\n", "", "a\n", &[CrlfOnCheckout]),
            ("*.txt eol=crlf\n", "", "a\r\n", &[]),
            ("*.txt eol=lf\n", autocrlf, "a\n", &[]),
            ("*.md eol=crlf\n", "", "a\n", &[]),
            ("*.txt eol=crlf\n*.txt -text\n", "", "a\n", &[]),
            ("*.txt eol=crlf\ndir/* !eol\n", "", "a\n", &[]),
            ("*.txt text=auto eol=crlf\n", "", "a\nb\r\n", &[]),
            ("*.txt text eol=crlf\n", "", "a\nb\r\n", &[CrlfOnCheckout]),
            ("", autocrlf, "a\n", &[CrlfOnCheckout]),
            ("", autocrlf, "a\0\n", &[]),
            ("*.txt binary\n", autocrlf, "a\n", &[]),
            ("*.txt text\n", "[core]\neol = crlf\n", "a\n", &[CrlfOnCheckout]),
            ("*.txt text\n", "[core]\neol = crlf\nautocrlf = input\n", "a\n", &[]),
            ("* filter=x\n", "", "a\n", &[FilteredOnCheckout]),
            ("* filter=lfs\n", "", pointer, &[LfsPointer]),
            ("", "", pointer, &[LfsPointer]),
            ("* ident\n", "", "$Id$\n", &[FilteredOnCheckout]),
            ("* ident\n", "", "a\n", &[]),
            ("* working-tree-encoding=UTF-16\n", "", "a\n", &[FilteredOnCheckout]),
            ("[attr]big filter=x\n\"dir/\\141.txt\" big\n", "", "a\n", &[FilteredOnCheckout]),
            ("[attr]loop loop\n* loop\n", "", "a\n", &[]),
            ("[attr]m filter=x\n* m -filter\n", "", "a\n", &[]),
            ("* m\n[attr]m n\n[attr]n filter=x\n", "", "a\n", &[FilteredOnCheckout]),
            ("dir/ filter=x\n", "", "a\n", &[]),
        ] {
            assert_eq!(notes(rules, config, bytes), expected, "{rules:?} {config:?} {bytes:?}");
        }
    }

    /// Expanding every word would take 40^8 steps and more.
    #[test]
    fn a_macro_is_expanded_once() {
        let rules = format!("[attr]loop{} filter=x\n* loop\n", " loop".repeat(40));
        assert_eq!(notes(&rules, "", "a\n"), [Note::FilteredOnCheckout]);
        let nested = |n| format!("[attr]m{n}{}\n", format!(" m{}", n + 1).repeat(40));
        let rules: String = (0..40).map(nested).collect();
        assert_eq!(notes(&format!("{rules}* m0 m40 eol=crlf\n"), "", "a\n").len(), 1);
    }
}
