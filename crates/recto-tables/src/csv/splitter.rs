//! Splits text into records and records into fields, once the dialect is known.
//!
//! It is lenient, because a preview must show what is there: a quote that is never closed, or that
//! closes before its field ends, is a character like any other.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3};

/// What the characters of a file mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What stands between two fields; `None` where every line is one field. Any number of spaces
    /// is one delimiter, and those at the ends of a line are none.
    pub delimiter: Option<u8>,
    /// What encloses fields.
    pub quote: Option<u8>,
    /// How a quote stands inside quotes.
    pub escape: Escape,
    /// What a line that holds no record starts with.
    pub comment: Option<u8>,
}

/// How a quote stands inside quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// `""`
    Doubled,
    /// `\"`
    Backslash,
}

/// What a text starts with, and how many bytes of it that takes, line ending included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Fields, in the vector that was handed in.
    Record(usize),
    /// Nothing but spaces.
    Blank(usize),
    /// A comment.
    Comment(usize),
    /// A record that needs more text to tell where it ends.
    Incomplete,
    /// Nothing: the text is empty.
    End,
}

/// A record in which so many quotes were opened and not closed is read on without quotes; each of
/// them costs a look at the rest of the line.
const MAX_FAILURES: usize = 8;

impl Dialect {
    /// Reads the first line, or several where quotes hold them together. `is_last` says that no
    /// more text will come.
    pub fn split<'t>(&self, text: &'t str, is_last: bool, fields: &mut Vec<Cow<'t, str>>) -> Line {
        fields.clear();
        let bytes = text.as_bytes();
        let Some(first) = bytes.first() else { return Line::End };
        if Some(*first) == self.comment || is_blank_start(*first) {
            let end = memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
            let is_blank = bytes[..end].iter().all(|byte| *byte == b' ');
            if Some(*first) == self.comment || is_blank {
                let Some(next) = after_ending(bytes, end, is_last) else { return Line::Incomplete };
                return if is_blank { Line::Blank(next) } else { Line::Comment(next) };
            }
        }
        let mut at = self.n_padding(bytes);
        let mut n_failures = 0;
        loop {
            let quote = self.quote.filter(|_| n_failures < MAX_FAILURES);
            let Some((field, mut end)) = self.field(text, at, quote, is_last, &mut n_failures)
            else {
                return Line::Incomplete;
            };
            fields.push(field);
            if end < bytes.len() && Some(bytes[end]) == self.delimiter {
                at = end + 1 + self.n_padding(&bytes[end + 1..]);
                let is_padding = self.delimiter == Some(b' ') && is_line_end(bytes.get(at));
                if !is_padding {
                    continue;
                }
                end = at;
            }
            return match after_ending(bytes, end, is_last) {
                Some(next) => Line::Record(next),
                None => Line::Incomplete,
            };
        }
    }

    /// The field at a place, and where it ends: at a delimiter, a line ending or the end.
    fn field<'t>(
        &self,
        text: &'t str,
        at: usize,
        quote: Option<u8>,
        is_last: bool,
        n_failures: &mut usize,
    ) -> Option<(Cow<'t, str>, usize)> {
        if let Some(quote) = quote {
            let bytes = text.as_bytes();
            let n_spaces = self.n_spaces(&bytes[at..]);
            if bytes.get(at + n_spaces) == Some(&quote) {
                match self.quoted(text, at + n_spaces + 1, quote, is_last) {
                    Quoted::Field(field, end) => return Some((field, end)),
                    Quoted::NotClosed => *n_failures += 1,
                    Quoted::Incomplete => return None,
                }
            }
        }
        let end = self.unquoted_end(text.as_bytes(), at);
        // At the end of a text that goes on, the field may go on too.
        (is_last || end < text.len()).then(|| (Cow::Borrowed(&text[at..end]), end))
    }

    /// How many spaces come first that say nothing because spaces are the delimiter.
    fn n_padding(&self, bytes: &[u8]) -> usize {
        if self.delimiter != Some(b' ') {
            return 0;
        }
        bytes.iter().take_while(|byte| **byte == b' ').count()
    }

    /// How many spaces come first that may stand around quotes.
    fn n_spaces(&self, bytes: &[u8]) -> usize {
        if self.delimiter == Some(b' ') {
            return 0;
        }
        bytes.iter().take_while(|byte| **byte == b' ').count()
    }

    fn unquoted_end(&self, bytes: &[u8], at: usize) -> usize {
        let rest = &bytes[at..];
        let end = match self.delimiter {
            Some(delimiter) => memchr3(delimiter, b'\n', b'\r', rest),
            None => memchr2(b'\n', b'\r', rest),
        };
        end.map_or(bytes.len(), |end| at + end)
    }

    /// The field whose text starts at a place, behind its opening quote.
    fn quoted<'t>(&self, text: &'t str, start: usize, quote: u8, is_last: bool) -> Quoted<'t> {
        let bytes = text.as_bytes();
        let mut unescaped: Option<String> = None;
        // What lies before it is in `unescaped`, if that is used.
        let mut copied = start;
        let mut at = start;
        let mut must_close_before = usize::MAX;
        loop {
            let found = match self.escape {
                Escape::Doubled => memchr(quote, &bytes[at..]),
                Escape::Backslash => memchr2(quote, b'\\', &bytes[at..]),
            };
            let Some(found) = found.map(|found| at + found) else {
                let is_hopeless = is_last || must_close_before < bytes.len();
                return if is_hopeless { Quoted::NotClosed } else { Quoted::Incomplete };
            };
            if found >= must_close_before {
                return Quoted::NotClosed;
            }
            let Some(next) = bytes.get(found + 1) else {
                return match (is_last, bytes[found] == quote) {
                    (false, _) => Quoted::Incomplete,
                    (true, true) => Quoted::Field(join(unescaped, &text[copied..found]), found + 1),
                    (true, false) => Quoted::NotClosed,
                };
            };
            let is_escape = match self.escape {
                Escape::Doubled => *next == quote,
                Escape::Backslash => bytes[found] == b'\\' && (*next == quote || *next == b'\\'),
            };
            if is_escape {
                unescaped.get_or_insert_default().push_str(&text[copied..found]);
                copied = found + 1;
                at = found + 2;
                continue;
            }
            if bytes[found] != quote {
                at = found + 1;
                continue;
            }
            let end = found + 1 + self.n_spaces(&bytes[found + 1..]);
            match bytes.get(end) {
                None if !is_last => return Quoted::Incomplete,
                None | Some(b'\n' | b'\r') => {}
                Some(byte) if Some(*byte) == self.delimiter => {}
                // `"a" "b"` are two, and the quotes belong to whatever reads them.
                Some(byte) if *byte == quote => return Quoted::NotClosed,
                Some(_) => {
                    // Not where a field ends, so it does not close this one. Another quote on
                    // the same line may; one many lines further would swallow records.
                    if must_close_before == usize::MAX {
                        let line_end = memchr2(b'\n', b'\r', &bytes[found..]);
                        must_close_before = line_end.map_or(bytes.len(), |end| found + end);
                    }
                    at = found + 1;
                    continue;
                }
            }
            return Quoted::Field(join(unescaped, &text[copied..found]), end);
        }
    }
}

enum Quoted<'t> {
    Field(Cow<'t, str>, usize),
    /// The quote did not open a field after all.
    NotClosed,
    Incomplete,
}

fn join(unescaped: Option<String>, rest: &str) -> Cow<'_, str> {
    match unescaped {
        None => Cow::Borrowed(rest),
        Some(text) => Cow::Owned(text + rest),
    }
}

fn is_line_end(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b'\n' | b'\r'))
}

fn is_blank_start(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r')
}

/// Where the next line starts, if that is known.
fn after_ending(bytes: &[u8], end: usize, is_last: bool) -> Option<usize> {
    match (bytes.get(end), bytes.get(end + 1)) {
        (None, _) if is_last => Some(end),
        (None, _) => None,
        (Some(b'\r'), Some(b'\n')) => Some(end + 2),
        (Some(b'\r'), None) if !is_last => None,
        (Some(_), _) => Some(end + 1),
    }
}

#[cfg(test)]
mod tests;
