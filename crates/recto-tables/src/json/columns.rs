//! Members of JSON objects as columns.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::budget::{MAX_COLUMNS, cut};
use crate::moments::{Moment, MomentKind, Styles};
use crate::table::{Type, Value};

/// Objects with more keys than this may be maps, not records.
const MANY_KEYS: usize = 200;

/// Integers are exact in a float up to here.
const MAX_EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// The columns of objects, in the order in which they were first seen.
#[derive(Debug, Default)]
pub struct Columns {
    index: HashMap<String, usize>,
    /// The keys.
    pub keys: Vec<String>,
    /// The types of their values.
    pub kinds: Vec<Kinds>,
    /// The index at which the next key was in earlier objects.
    next_idx: usize,
    n_objects: usize,
    n_members: usize,
    /// Whether there were more keys than columns.
    pub has_left_out: bool,
}

impl Columns {
    /// Returns the column of a key, which may be new, or `None` if there are too many.
    pub fn column(&mut self, key: String) -> Option<usize> {
        self.n_members += 1;
        // Most objects have their keys in the same order, which saves a lookup.
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

    /// Returns whether the keys are data: very many, and hardly any in two objects.
    pub fn are_maps(&self) -> bool {
        let n_cells = self.keys.len().saturating_mul(self.n_objects);
        self.keys.len() > MANY_KEYS && self.n_members < n_cells / 10
    }
}

/// The types of the values of a column seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    has_boolean: bool,
    has_integer: bool,
    has_fraction: bool,
    has_text: bool,
    has_nested: bool,
    moments: Moments,
}

/// The types of the strings of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Moments {
    n_days: u32,
    n_times: u32,
    n_timestamps: u32,
    /// Whether some are not dates or times in ISO 8601.
    has_others: bool,
}

impl Kinds {
    /// Takes a value into account, given as JSON text.
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
        // No date or time contains a character that JSON escapes.
        let text = value.trim_matches('"');
        match iso_shape(text) {
            Some(MomentKind::Date) => self.moments.n_days += 1,
            Some(MomentKind::Time) => self.moments.n_times += 1,
            Some(MomentKind::Timestamp) => self.moments.n_timestamps += 1,
            None => self.moments.has_others = true,
        }
    }

    /// Returns the type that fits all values. Values without a common type are shown as JSON.
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
    /// Returns the type that fits all strings. As in delimited text, a minority of dates among
    /// timestamps is read as timestamps, because programs omit midnight.
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

/// Returns the kind of a date or time in ISO 8601. In JSON, other forms are text.
fn iso_shape(text: &str) -> Option<MomentKind> {
    let moment = Moment::parse(text)?;
    (!moment.styles().and(Styles::ISO).is_empty()).then(|| moment.shape())
}

/// A value that is kept to be shown.
#[derive(Debug)]
pub enum JsonCell {
    /// The value itself.
    Whole(Json),
    /// A number with more digits than 64 bits allow, or the start of a long value.
    Text(String),
}

impl JsonCell {
    /// Keeps the part of a value that may be shown, given as JSON text.
    pub fn new(value: &str, max_chars: usize) -> JsonCell {
        match value.as_bytes().first() {
            Some(b'"') => match serde_json::from_str(value) {
                Ok(Json::String(text)) if text.len() <= max_chars => JsonCell::Whole(text.into()),
                Ok(Json::String(text)) => JsonCell::Text(cut(&text, max_chars)),
                _ => JsonCell::Text(cut(value, max_chars)),
            },
            Some(b'{' | b'[') => {
                let value = compact(value);
                if value.len() > max_chars {
                    return JsonCell::Text(cut(&value, max_chars));
                }
                if has_large_integer(&value) {
                    return JsonCell::Text(value);
                }
                serde_json::from_str(&value).map_or(JsonCell::Text(value), JsonCell::Whole)
            }
            _ => match serde_json::from_str(value) {
                // Integers beyond 64 bits would lose digits.
                Ok(Json::Number(number))
                    if number.is_f64() && value != "-0" && !value.contains(['.', 'e', 'E']) =>
                {
                    JsonCell::Text(cut(value, max_chars))
                }
                Ok(scalar) => JsonCell::Whole(scalar),
                Err(_) => JsonCell::Text(cut(value, max_chars)),
            },
        }
    }

    /// Returns about how many bytes it takes.
    pub fn n_bytes(&self) -> usize {
        match self {
            JsonCell::Text(text) | JsonCell::Whole(Json::String(text)) => text.len(),
            JsonCell::Whole(value) => value.to_string().len(),
        }
    }

    /// Returns the value in a column of that type.
    pub fn into_value(self, kind: &Type) -> Value {
        match (self, kind) {
            (JsonCell::Text(text), _) => Value::Text(text),
            (JsonCell::Whole(Json::Null), _) => Value::Null,
            (JsonCell::Whole(value), Type::Json) => Value::Json(value),
            (JsonCell::Whole(Json::Bool(flag)), _) => Value::Boolean(flag),
            // `-0`
            (JsonCell::Whole(Json::Number(number)), Type::Integer) if number.is_f64() => {
                Value::Integer(0)
            }
            (JsonCell::Whole(Json::Number(number)), Type::Integer) => {
                Value::integer(&number.to_string())
            }
            // A large integer among other numbers keeps its digits.
            (JsonCell::Whole(Json::Number(number)), _)
                if !number.is_f64() && number.as_f64().is_none_or(|it| it.abs() >= MAX_EXACT) =>
            {
                Value::integer(&number.to_string())
            }
            (JsonCell::Whole(Json::Number(number)), _) => {
                number.as_f64().map_or_else(|| Value::Text(number.to_string()), Value::Number)
            }
            (JsonCell::Whole(Json::String(text)), Type::Date | Type::Time | Type::Timestamp) => {
                let iso = Moment::parse(&text).map(|moment| moment.to_iso(Styles::ISO));
                Value::Text(iso.unwrap_or(text))
            }
            (JsonCell::Whole(Json::String(text)), _) => Value::Text(text),
            (JsonCell::Whole(nested), _) => Value::Json(nested),
        }
    }

    /// Returns the value as part of a larger value.
    pub fn into_json(self) -> Json {
        match self {
            JsonCell::Text(text) => Json::String(text),
            JsonCell::Whole(value) => value,
        }
    }
}

/// Returns whether a value contains an integer beyond 64 bits, which would lose digits.
pub fn has_large_integer(value: &str) -> bool {
    let value = value.replace(r"\\", "").replace(r#"\""#, "");
    // Every second part is inside a string.
    let outside = value.split('"').step_by(2);
    let mut parts = outside.flat_map(|part| part.split([',', ':', '[', ']', '{', '}']));
    parts.any(|part| {
        let digits = part.strip_prefix('-').unwrap_or(part);
        digits.len() > 18
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<i64>().is_err()
            && part.parse::<u64>().is_err()
    })
}

/// Returns the value without whitespace between its parts.
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
