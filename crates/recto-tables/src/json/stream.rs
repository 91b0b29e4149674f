//! Reads JSON values one by one from a text of any size.
//!
//! The values are the elements of a top-level array, or values in sequence (NDJSON). Each is
//! delimited by its brackets and checked, but not parsed, because a parsed value can take twenty
//! times its size.

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::text::Text;

/// The largest value.
pub(crate) const MAX_VALUE_BYTES: usize = 16 << 20;

/// The most whitespace between two values that is skipped.
const MAX_SPACE_BYTES: usize = 64 << 20;

/// The deepest nesting of brackets; the parser has no stack for more.
pub(crate) const MAX_DEPTH: usize = 120;

/// The values of a text.
pub struct Values<'a> {
    text: Text<'a>,
    position: Position,
    state: StreamState,
    /// Whether the array is a member of an object, whose other members are ignored.
    is_member: bool,
    n_bytes: usize,
    has_nan: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// Values in sequence.
    Sequence,
    /// Inside the array, before its first element.
    ArrayStart,
    /// Inside the array, after an element.
    ArrayNext,
    /// After the last value.
    End,
}

/// A position to report; both numbers start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

impl<'a> Values<'a> {
    /// Detects whether the text is one array or several values.
    pub fn new(text: Text<'a>) -> Result<Values<'a>> {
        let mut values = Values {
            text,
            position: Position { line: 1, column: 1 },
            state: StreamState::Sequence,
            is_member: false,
            n_bytes: 0,
            has_nan: false,
        };
        if values.skip_space()? == Some(b'[') && !is_followed(values.text.rest()) {
            values.advance(1);
            values.state = StreamState::ArrayStart;
        }
        Ok(values)
    }

    /// Enters an array that is a member of the object at the start. Does nothing if there is none.
    pub fn enter_member(&mut self, key: &str) {
        if self.state == StreamState::Sequence
            && let Some(n_bytes) = member_array(self.text.rest(), key)
        {
            self.advance(n_bytes);
            self.state = StreamState::ArrayStart;
            self.is_member = true;
        }
    }

    /// Enters the list of records that an object at the start wraps, as answers of web services do.
    /// Returns its key.
    pub fn enter_items(&mut self) -> Result<Option<&'static str>> {
        if self.state != StreamState::Sequence || self.skip_space()? != Some(b'{') {
            return Ok(None);
        }
        let Some((key, n_bytes)) = wrapped_array(self.text.rest(), self.text.is_complete()) else {
            return Ok(None);
        };
        self.advance(n_bytes);
        self.state = StreamState::ArrayStart;
        self.is_member = true;
        Ok(Some(key))
    }

    /// Returns the next value as JSON text, which is valid.
    pub fn next_value(&mut self) -> Result<Option<Cow<'_, str>>> {
        let Some(byte) = self.skip_space()? else {
            return match self.state {
                StreamState::Sequence | StreamState::End => Ok(None),
                StreamState::ArrayStart | StreamState::ArrayNext => {
                    Err(self.broken("the array has no end"))
                }
            };
        };
        match (self.state, byte) {
            (StreamState::Sequence, _) => {}
            (StreamState::End, _) => return Err(self.broken("something follows the array")),
            (StreamState::ArrayStart | StreamState::ArrayNext, b']') => {
                self.advance(1);
                self.state = StreamState::End;
                return if self.is_member { Ok(None) } else { self.next_value() };
            }
            (StreamState::ArrayStart, _) => self.state = StreamState::ArrayNext,
            (StreamState::ArrayNext, b',') => {
                self.advance(1);
                self.skip_space()?;
            }
            (StreamState::ArrayNext, _) => return Err(self.broken("expected `,` or `]`")),
        }
        let n_bytes = self.value_bytes()?;
        let without_nan = self.check(n_bytes)?;
        self.count(n_bytes);
        let text = self.text.take(n_bytes);
        Ok(Some(without_nan.map_or(Cow::Borrowed(text), Cow::Owned)))
    }

    /// Returns how many bytes were read.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Returns whether there were values that Python writes and JSON does not have.
    pub fn has_nan(&self) -> bool {
        self.has_nan
    }

    /// Returns whether bytes were replaced because they are not text in the encoding.
    pub fn has_invalid(&self) -> bool {
        self.text.has_invalid()
    }

    /// Returns whether the rest is an incomplete line of values, because it is still being written.
    pub fn ends_unfinished(&self) -> bool {
        let rest = self.text.rest();
        self.state == StreamState::Sequence
            && self.text.is_complete()
            && !rest.contains('\n')
            && serde_json::from_str::<IgnoredAny>(rest).is_err_and(|error| error.is_eof())
    }

    fn skip_space(&mut self) -> Result<Option<u8>> {
        let mut n_skipped = 0;
        loop {
            let rest = self.text.rest().as_bytes();
            let n_space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let next = rest.get(n_space).copied();
            self.advance(n_space);
            n_skipped += n_space;
            if next.is_some() || self.text.is_complete() {
                return Ok(next);
            }
            if n_skipped > MAX_SPACE_BYTES {
                return Err(Error::TooLarge { cause: "it is mostly white space".into() });
            }
            self.text.fill()?;
        }
    }

    /// Returns the length of the next value in bytes.
    fn value_bytes(&mut self) -> Result<usize> {
        loop {
            let rest = self.text.rest();
            match extent(rest) {
                ValueExtent::Whole(n_bytes) => return Ok(n_bytes),
                ValueExtent::TooDeep => {
                    let cause = format!("a value is nested deeper than {MAX_DEPTH} levels");
                    return Err(Error::TooLarge { cause });
                }
                // The parser reports what is missing.
                ValueExtent::Open if self.text.is_complete() => return Ok(rest.len()),
                ValueExtent::Open if rest.len() > MAX_VALUE_BYTES => {
                    return Err(Error::TooLarge { cause: "a value is larger than 16 MiB".into() });
                }
                ValueExtent::Open => self.text.fill()?,
            }
        }
    }

    /// Checks the next value. Returns a replacement if another text has to be parsed instead.
    fn check(&mut self, n_bytes: usize) -> Result<Option<String>> {
        let text = &self.text.rest()[..n_bytes];
        let Err(error) = serde_json::from_str::<IgnoredAny>(text) else { return Ok(None) };
        if let Some(without) = without_nan(text)
            && serde_json::from_str::<IgnoredAny>(&without).is_ok()
        {
            self.has_nan = true;
            return Ok(Some(without));
        }
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let line_idx = error.line().saturating_sub(1);
        let line = text.split('\n').nth(line_idx).unwrap_or_default();
        // The parser counts bytes.
        let before = &line[..line.floor_char_boundary(error.column().saturating_sub(1))];
        let first_column = if line_idx == 0 { self.position.column } else { 1 };
        let position = Position {
            line: self.position.line + line_idx,
            column: first_column + before.chars().count(),
        };
        Err(position.broken(message))
    }

    fn advance(&mut self, n_bytes: usize) {
        self.count(n_bytes);
        self.text.advance(n_bytes);
    }

    /// Moves the position forward by that many bytes.
    fn count(&mut self, n_bytes: usize) {
        let passed = &self.text.rest()[..n_bytes];
        match passed.rfind('\n') {
            None => self.position.column += passed.chars().count(),
            Some(last) => {
                self.position.line += memchr::memchr_iter(b'\n', passed.as_bytes()).count();
                self.position.column = 1 + passed[last + 1..].chars().count();
            }
        }
        self.n_bytes += n_bytes;
    }

    fn broken(&self, what: &str) -> Error {
        self.position.broken(what)
    }
}

impl Position {
    fn broken(self, what: &str) -> Error {
        let Position { line, column } = self;
        Error::Broken { cause: format!("line {line}, column {column}: {what}") }
    }
}

/// The extent of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueExtent {
    /// Its length in bytes.
    Whole(usize),
    /// It continues beyond the text.
    Open,
    /// Its brackets are nested too deep.
    TooDeep,
}

/// Returns the extent of the value at the start of a text, judged by brackets and strings only.
pub fn extent(text: &str) -> ValueExtent {
    let bytes = text.as_bytes();
    let mut depth: usize = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => match string_end(bytes, at + 1) {
                Some(end) => at = end,
                None => return ValueExtent::Open,
            },
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return ValueExtent::TooDeep;
                }
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            // A bare word or number extends as far as possible.
            _ if depth == 0 => {
                let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",]}{[\"".contains(byte);
                return match bytes[at..].iter().position(is_end) {
                    Some(0) => ValueExtent::Whole(at + 1),
                    Some(n_bytes) => ValueExtent::Whole(at + n_bytes),
                    None => ValueExtent::Open,
                };
            }
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return ValueExtent::Whole(at);
        }
    }
    ValueExtent::Open
}

/// Returns the position after the quote that ends a string.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let found = at + memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// Returns whether the value at the start of a text is followed by another one.
fn is_followed(text: &str) -> bool {
    match extent(text) {
        ValueExtent::Whole(n_bytes) => text[n_bytes..].trim_start().starts_with(['{', '[']),
        ValueExtent::Open | ValueExtent::TooDeep => false,
    }
}

/// Returns where the elements start of an array that is a member of the object at the start.
fn member_array(text: &str, key: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    loop {
        let name_end = string_end(rest.strip_prefix('"')?.as_bytes(), 0)? + 1;
        let (name, after) = rest.split_at(name_end);
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        if name.trim_matches('"') == key
            && let Some(elements) = rest.strip_prefix('[')
        {
            return Some(text.len() - elements.len());
        }
        let ValueExtent::Whole(n_bytes) = extent(rest) else { return None };
        rest = rest[n_bytes..].trim_start().strip_prefix(',')?.trim_start();
    }
}

/// Keys of lists of records.
const ITEM_KEYS: [&str; 8] =
    ["items", "data", "results", "rows", "records", "entries", "values", "hits"];

/// Finds the only list of objects in the object at the start: its key is a usual one, and the other
/// members are not lists. Nothing but the object may be in the text. Returns the key and where the
/// elements start.
fn wrapped_array(text: &str, is_whole: bool) -> Option<(&'static str, usize)> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    let mut found = None;
    loop {
        let name_end = string_end(rest.strip_prefix('"')?.as_bytes(), 0)? + 1;
        let (name, after) = rest.split_at(name_end);
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        if let Some(elements) = rest.strip_prefix('[') {
            let key = ITEM_KEYS.iter().find(|key| name.trim_matches('"') == **key)?;
            let is_list_of_objects = elements.trim_start().starts_with('{');
            if found.is_some() || !is_list_of_objects {
                return None;
            }
            found = Some((*key, text.len() - elements.len()));
        }
        match extent(rest) {
            ValueExtent::Whole(n_bytes) => rest = rest[n_bytes..].trim_start(),
            // The list may be longer than the text that was read so far.
            ValueExtent::Open if !is_whole => return found,
            _ => return None,
        }
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    let is_end = rest.strip_prefix('}').is_some_and(|after| after.trim_start().is_empty());
    found.filter(|_| is_end)
}

/// Replaces NaN and Infinity, which Python writes, with `null`, if there are any.
fn without_nan(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut without = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let word = match byte {
            b'"' => {
                at = string_end(bytes, at + 1)?;
                continue;
            }
            b'N' => "NaN",
            b'I' => "Infinity",
            b'-' => "-Infinity",
            _ => "",
        };
        if word.is_empty() || !text[at..].starts_with(word) {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        without.push_str(&text[copied..at]);
        without.push_str("null");
        at += word.len();
        copied = at;
    }
    without.push_str(&text[copied..]);
    (copied > 0).then_some(without)
}

#[cfg(test)]
mod tests;
