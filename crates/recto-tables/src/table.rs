//! The result of a preview: typed columns and rows of values.

use std::borrow::Cow;
use std::fmt;

/// The first rows of a data file.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The columns, in the file's order, with unique names that are not empty.
    pub columns: Vec<Column>,
    /// The number of columns, including those that are not shown; `None` if unknown.
    pub n_columns: Option<usize>,
    /// The rows; each has a value for every column.
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows than these.
    pub has_more: bool,
    /// Information beyond the rows, such as a detected delimiter, the sheet that was chosen, or
    /// values that were cut.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, from the header or generated.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Integers.
    Integer,
    /// Numbers with a fraction.
    Number,
    /// true or false.
    Boolean,
    /// Dates.
    Date,
    /// Times of day.
    Time,
    /// Dates with a time.
    Timestamp,
    /// Text, and values that have no other type.
    Text,
    /// Nested values, shown as JSON.
    Json,
    /// The type's name in a format with its own types: `int32`, `decimal(10,2)`.
    Exact(Cow<'static, str>, Alignment),
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Text and similar.
    Left,
    /// Numbers.
    Right,
}

impl Type {
    /// Returns the alignment of a column of this type.
    pub fn alignment(&self) -> Alignment {
        match self {
            Type::Integer | Type::Number => Alignment::Right,
            Type::Exact(_, alignment) => *alignment,
            _ => Alignment::Left,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
            Type::Date => "date",
            Type::Time => "time",
            Type::Timestamp => "timestamp",
            Type::Text => "text",
            Type::Json => "json",
            Type::Exact(name, _) => name,
        })
    }
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// true or false.
    Boolean(bool),
    /// An integer. One that only fits an unsigned integer is [`Value::Json`], a larger one is
    /// [`Value::Text`] with its digits.
    Integer(i64),
    /// A finite number with a fraction. NaN and the infinities are [`Value::Text`].
    Number(f64),
    /// Text, dates in ISO 8601, and values that are shown as written.
    Text(String),
    /// A nested value.
    Json(serde_json::Value),
}

impl Value {
    /// Returns an integer, given as digits with an optional minus.
    pub fn integer(digits: &str) -> Value {
        match (digits.parse(), digits.parse::<u64>()) {
            (Ok(number), _) => Value::Integer(number),
            (Err(_), Ok(number)) => Value::Json(number.into()),
            (Err(_), Err(_)) => Value::Text(digits.into()),
        }
    }

    /// Converts the value to JSON. Dates, and numbers that are [`Value::Text`], become strings.
    pub fn to_json(self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Boolean(flag) => flag.into(),
            Value::Integer(number) => number.into(),
            Value::Number(number) => number.into(),
            Value::Text(text) => text.into(),
            Value::Json(value) => value,
        }
    }
}
