//! What a preview shows: typed columns and rows of values.

use std::borrow::Cow;
use std::fmt;

/// The first rows of a data file.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The columns, in the file's order. No two have the same name, and none has none.
    pub columns: Vec<Column>,
    /// How many columns there are, also those that are not shown; none where nobody counted them.
    pub n_columns: Option<usize>,
    /// The rows; each has a value for every column.
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows than these.
    pub has_more: bool,
    /// What a reader should know beyond the rows: a delimiter that was guessed, a sheet that was
    /// chosen among several, values that were cut.
    pub remarks: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, from the header or made up.
    pub name: String,
    /// What its values are.
    pub kind: Type,
}

/// What the values of a column are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Whole numbers.
    Integer,
    /// Numbers with a fraction.
    Number,
    /// true or false.
    Boolean,
    /// Days.
    Date,
    /// Times of day.
    Time,
    /// Days with a time.
    Timestamp,
    /// Text, and whatever is nothing else.
    Text,
    /// Values inside values, shown as JSON.
    Json,
    /// What a format with types of its own calls it: `int32`, `decimal(10,2)`.
    Exact(Cow<'static, str>, Alignment),
}

/// How a column looks best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Text and the like.
    Left,
    /// Numbers.
    Right,
}

impl Type {
    /// How a column of it looks best.
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
    /// None.
    Null,
    /// true or false.
    Boolean(bool),
    /// A whole number. What does not fit is [`Value::Text`] with its digits.
    Integer(i64),
    /// A number with a fraction, finite. NaN and the infinities are [`Value::Text`].
    Number(f64),
    /// Text, dates in ISO 8601, and everything that is best shown as written.
    Text(String),
    /// A value inside a value.
    Json(serde_json::Value),
}

impl Value {
    /// The value as JSON. Dates and numbers that do not fit are strings there.
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
