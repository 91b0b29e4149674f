//! Splits text into records and records into fields, by a known dialect.
//!
//! It is lenient, because a preview must show the content: a quote that is never closed, or that
//! closes before its field ends, is an ordinary character.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3};

/// The meaning of special characters in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The delimiter; `None` if every line is one field. Consecutive spaces are one delimiter, and
    /// spaces at the ends of a line are none.
    pub delimiter: Option<u8>,
    /// The character that encloses fields.
    pub quote: Option<u8>,
    /// How a quote is escaped inside quotes.
    pub escape: Escape,
    /// The character that starts a comment.
    pub comment: Option<u8>,
}

/// How a quote is escaped inside quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// `""`
    Doubled,
    /// `\"`
    Backslash,
}

/// The first element of a text, with its length in bytes including the line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParsedLine {
    /// A record; its fields are in the vector that was passed.
    Record(usize),
    /// A line of spaces, or empty.
    Blank(usize),
    /// A comment.
    Comment(usize),
    /// A record whose end is not known without more text.
    Incomplete,
    /// The text is empty.
    End,
}

/// After this many unclosed quotes, the rest of a record is read without quotes, because each of
/// them costs a scan of the line.
const MAX_FAILURES: usize = 8;

impl Dialect {
    /// Reads the first line, or several if quotes join them. `is_last` means that no more text
    /// follows.
    pub fn split<'t>(
        &self,
        text: &'t str,
        is_last: bool,
        fields: &mut Vec<Cow<'t, str>>,
    ) -> ParsedLine {
        fields.clear();
        let bytes = text.as_bytes();
        let Some(first) = bytes.first() else { return ParsedLine::End };
        if Some(*first) == self.comment || is_blank_start(*first) {
            let end = memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
            let is_blank = bytes[..end].iter().all(|byte| *byte == b' ');
            if Some(*first) == self.comment || is_blank {
                let Some(next) = after_ending(bytes, end, is_last) else {
                    return ParsedLine::Incomplete;
                };
                return if is_blank { ParsedLine::Blank(next) } else { ParsedLine::Comment(next) };
            }
        }
        let mut at = self.n_padding(bytes);
        let mut n_failures = 0;
        loop {
            let quote = self.quote.filter(|_| n_failures < MAX_FAILURES);
            let Some((field, mut end)) = self.field(text, at, quote, is_last, &mut n_failures)
            else {
                return ParsedLine::Incomplete;
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
                Some(next) => ParsedLine::Record(next),
                None => ParsedLine::Incomplete,
            };
        }
    }

    /// Returns the field at `at` and its end: a delimiter, a line ending or the end of the text.
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
        // At the end of an incomplete text, the field may be incomplete too.
        (is_last || end < text.len()).then(|| (Cow::Borrowed(&text[at..end]), end))
    }

    /// Returns the number of leading spaces that are ignored because spaces are the delimiter.
    fn n_padding(&self, bytes: &[u8]) -> usize {
        if self.delimiter != Some(b' ') {
            return 0;
        }
        bytes.iter().take_while(|byte| **byte == b' ').count()
    }

    /// Returns the number of leading spaces and tabs that may surround quotes.
    fn n_spaces(&self, bytes: &[u8]) -> usize {
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t') && Some(**byte) != self.delimiter;
        if self.delimiter == Some(b' ') {
            return 0;
        }
        bytes.iter().take_while(is_space).count()
    }

    fn unquoted_end(&self, bytes: &[u8], at: usize) -> usize {
        let rest = &bytes[at..];
        let end = match self.delimiter {
            Some(delimiter) => memchr3(delimiter, b'\n', b'\r', rest),
            None => memchr2(b'\n', b'\r', rest),
        };
        end.map_or(bytes.len(), |end| at + end)
    }

    /// Returns the field whose text starts at `start`, after its opening quote.
    fn quoted<'t>(&self, text: &'t str, start: usize, quote: u8, is_last: bool) -> Quoted<'t> {
        let bytes = text.as_bytes();
        let mut unescaped: Option<String> = None;
        // The text before it is in `unescaped`, if that is used.
        let mut copied = start;
        let mut at = start;
        let mut must_close_before = usize::MAX;
        let (mut n_scanned, mut has_lines) = (start, false);
        let mut is_on_later_line = |at: usize| {
            has_lines |= memchr(b'\n', &bytes[n_scanned..at]).is_some();
            n_scanned = at;
            has_lines
        };
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
                // `"a" "b"` are two strings, and the quotes belong to the value.
                Some(byte) if *byte == quote => return Quoted::NotClosed,
                // A quote that opens a field on a later line means that this one was never closed.
                Some(_) if is_on_later_line(found) && Some(bytes[found - 1]) == self.delimiter => {
                    return Quoted::NotClosed;
                }
                Some(_) => {
                    // The field does not end here, so the quote does not close it. Another quote on
                    // the same line may; one many lines later would swallow records.
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
    /// The quote did not open a field.
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

/// Returns where the next line starts, if that is known.
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
