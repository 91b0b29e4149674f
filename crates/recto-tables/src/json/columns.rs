//! What the members of JSON objects are, as columns.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::budget::{MAX_COLUMNS, cut};
use crate::moments::{Moment, Shape, Styles};
use crate::table::{Type, Value};

/// Objects with more keys than this may be maps and not records.
const MANY_KEYS: usize = 200;

/// The columns that objects have, in the order in which they were first seen.
#[derive(Debug, Default)]
pub struct Columns {
    index: HashMap<String, usize>,
    /// The keys.
    pub keys: Vec<String>,
    /// What their values are.
    pub kinds: Vec<Kinds>,
    /// Where the next key stood in the objects before.
    next_idx: usize,
    n_objects: usize,
    n_members: usize,
    /// Whether there were more keys than columns.
    pub has_left_out: bool,
}

impl Columns {
    /// The column of a key, which may be new. `None` where there are too many.
    pub fn column(&mut self, key: String) -> Option<usize> {
        self.n_members += 1;
        // Most objects have their keys in the same order, which saves looking them up.
        let expected_idx = self.next_idx;
        self.next_idx += 1;
        if self.keys.get(expected_idx) == Some(&key) {
            return Some(expected_idx);
        }
        if let Some(column_idx) = self.index.get(&key) {
            return Some(*column_idx);
        }
        if self.keys.len() >= MAX_COLUMNS {
            self.has_left_out = true;
            return None;
        }
        self.index.insert(key.clone(), self.keys.len());
        self.keys.push(key);
        self.kinds.push(Kinds::default());
        Some(self.keys.len() - 1)
    }

    /// Counts an object, whose members come next.
    pub fn count_object(&mut self) {
        self.n_objects += 1;
        self.next_idx = 0;
    }

    /// Whether the keys are values themselves: very many, and hardly one of them in two objects.
    pub fn are_maps(&self) -> bool {
        let n_cells = self.keys.len().saturating_mul(self.n_objects);
        self.keys.len() > MANY_KEYS && self.n_members < n_cells / 10
    }
}

/// What the values of a column are, as far as they were seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    has_boolean: bool,
    has_integer: bool,
    has_fraction: bool,
    has_text: bool,
    has_nested: bool,
    moments: Moments,
}

/// What the texts of a column are, besides text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Moments {
    n_days: u32,
    n_times: u32,
    n_timestamps: u32,
    /// Whether some are no moments, or are not written as ISO 8601 has it.
    has_others: bool,
}

impl Kinds {
    /// Takes a value into account, as it is written.
    pub fn observe(&mut self, value: &str) {
        match value.as_bytes().first() {
            Some(b'n') | None => {}
            Some(b't' | b'f') => self.has_boolean = true,
            Some(b'{' | b'[') => self.has_nested = true,
            Some(b'"') => {
                self.has_text = true;
                self.observe_text(value);
            }
            Some(_) if value.contains(['.', 'e', 'E']) => self.has_fraction = true,
            Some(_) => self.has_integer = true,
        }
    }

    fn observe_text(&mut self, value: &str) {
        if self.moments.has_others {
            return;
        }
        // No moment has a character that JSON escapes.
        let text = value.trim_matches('"');
        match iso_shape(text) {
            Some(Shape::Date) => self.moments.n_days += 1,
            Some(Shape::Time) => self.moments.n_times += 1,
            Some(Shape::Timestamp) => self.moments.n_timestamps += 1,
            None => self.moments.has_others = true,
        }
    }

    /// The type that holds them all. Values that have nothing in common are shown as JSON.
    pub fn kind(&self) -> Type {
        let has_number = self.has_integer || self.has_fraction;
        let n_kinds = [self.has_boolean, has_number, self.has_text, self.has_nested];
        match n_kinds.iter().filter(|has| **has).count() {
            0 => return Type::Text,
            1 => {}
            _ => return Type::Json,
        }
        if self.has_text {
            self.moments.kind()
        } else if self.has_boolean {
            Type::Boolean
        } else if self.has_fraction {
            Type::Number
        } else if self.has_integer {
            Type::Integer
        } else {
            Type::Json
        }
    }
}

impl Moments {
    /// The type that holds them all. As in delimited text, days are taken for timestamps where they
    /// are fewer, because programs leave out midnight.
    fn kind(&self) -> Type {
        match (self.n_days, self.n_times, self.n_timestamps) {
            _ if self.has_others => Type::Text,
            (_, 0, 0) => Type::Date,
            (0, _, 0) => Type::Time,
            (n_days, 0, n_timestamps) if n_timestamps > n_days => Type::Timestamp,
            _ => Type::Text,
        }
    }
}

/// Only what is written as ISO 8601 is a moment; a text in JSON could have been anything else.
fn iso_shape(text: &str) -> Option<Shape> {
    let moment = Moment::parse(text)?;
    (!moment.styles().and(Styles::ISO).is_empty()).then(|| moment.shape())
}

/// A value that is kept to be shown.
#[derive(Debug)]
pub enum Cell {
    /// As it is.
    Whole(Json),
    /// A number with more digits than a computer counts with, or the beginning of something long.
    Text(String),
}

impl Cell {
    /// Keeps what may be shown of a value as it is written.
    pub fn new(value: &str, max_chars: usize) -> Cell {
        match value.as_bytes().first() {
            Some(b'"') => match serde_json::from_str(value) {
                Ok(Json::String(text)) if text.len() <= max_chars => Cell::Whole(text.into()),
                Ok(Json::String(text)) => Cell::Text(cut(&text, max_chars)),
                _ => Cell::Text(cut(value, max_chars)),
            },
            Some(b'{' | b'[') => {
                let value = compact(value);
                if value.len() > max_chars {
                    return Cell::Text(cut(&value, max_chars));
                }
                serde_json::from_str(&value).map_or(Cell::Text(value), Cell::Whole)
            }
            _ => match serde_json::from_str(value) {
                // Whole numbers of more than 64 bits would lose digits.
                Ok(Json::Number(number)) if number.is_f64() && !value.contains(['.', 'e', 'E']) => {
                    Cell::Text(cut(value, max_chars))
                }
                Ok(scalar) => Cell::Whole(scalar),
                Err(_) => Cell::Text(cut(value, max_chars)),
            },
        }
    }

    /// About how many bytes it takes.
    pub fn n_bytes(&self) -> usize {
        match self {
            Cell::Text(text) | Cell::Whole(Json::String(text)) => text.len(),
            Cell::Whole(value) => value.to_string().len(),
        }
    }

    /// The value in a column of that type.
    pub fn into_value(self, kind: &Type) -> Value {
        match (self, kind) {
            (Cell::Text(text), _) => Value::Text(text),
            (Cell::Whole(Json::Null), _) => Value::Null,
            (Cell::Whole(value), Type::Json) => Value::Json(value),
            (Cell::Whole(Json::Bool(flag)), _) => Value::Boolean(flag),
            (Cell::Whole(Json::Number(number)), Type::Integer) => match number.as_i64() {
                Some(number) => Value::Integer(number),
                None => Value::Text(number.to_string()),
            },
            (Cell::Whole(Json::Number(number)), _) => {
                number.as_f64().map_or_else(|| Value::Text(number.to_string()), Value::Number)
            }
            (Cell::Whole(Json::String(text)), Type::Date | Type::Time | Type::Timestamp) => {
                let iso = Moment::parse(&text).map(|moment| moment.to_iso(Styles::ISO));
                Value::Text(iso.unwrap_or(text))
            }
            (Cell::Whole(Json::String(text)), _) => Value::Text(text),
            (Cell::Whole(nested), _) => Value::Json(nested),
        }
    }

    /// As a part of a larger value.
    pub fn into_json(self) -> Json {
        match self {
            Cell::Text(text) => Json::String(text),
            Cell::Whole(value) => value,
        }
    }
}

/// The value without the space between its parts.
fn compact(value: &str) -> String {
    let mut compact = String::new();
    let mut is_inside = false;
    let mut is_escaped = false;
    for c in value.chars() {
        if is_inside || !c.is_ascii_whitespace() {
            compact.push(c);
        }
        is_inside ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
    }
    compact
}

#[cfg(test)]
mod tests;
