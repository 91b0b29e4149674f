//! What the fields of a column are: numbers, days, truth, or text as written.
//!
//! A column is what all its fields are. Text is never wrong, so it is what remains.

use crate::moments::{Moment, Shape, Styles};
use crate::table::{Type, Value};

/// What a column still can be, after the fields seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidates {
    readings: Readings,
    styles: Styles,
    has_fields: bool,
    has_decimal_comma: bool,
    n_days: u32,
    n_timestamps: u32,
}

/// How the fields of a column are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Digits.
    Integer,
    /// `1.5`, `1e5`
    Number,
    /// `1.234,56`
    DecimalComma,
    /// `true`, `f`, `Yes`
    Boolean,
    /// A moment, whose date has one of those styles.
    Moment(Shape, Styles),
    /// As written.
    Text,
}

/// A set of readings, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Readings(u8);

impl Readings {
    const NONE: Readings = Readings(0);
    const INTEGER: Readings = Readings(1);
    const NUMBER: Readings = Readings(1 << 1);
    const DECIMAL_COMMA: Readings = Readings(1 << 2);
    const BOOLEAN: Readings = Readings(1 << 3);
    const DATE: Readings = Readings(1 << 4);
    const TIME: Readings = Readings(1 << 5);
    const TIMESTAMP: Readings = Readings(1 << 6);
    const MOMENT: Readings = Readings::DATE.or(Readings::TIME).or(Readings::TIMESTAMP);
    const ALL: Readings = Readings(u8::MAX);

    const fn or(self, other: Readings) -> Readings {
        Readings(self.0 | other.0)
    }

    fn and(self, other: Readings) -> Readings {
        Readings(self.0 & other.0)
    }

    fn has(self, other: Readings) -> bool {
        self.0 & other.0 != 0
    }
}

/// Digits are numbers of any kind.
const WHOLE: Readings = Readings::INTEGER.or(Readings::NUMBER).or(Readings::DECIMAL_COMMA);

/// Nothing longer is a number.
const MAX_NUMBER_BYTES: usize = 100;

impl Candidates {
    /// Before the first field.
    pub const fn new() -> Candidates {
        Candidates {
            readings: Readings::ALL,
            styles: Styles::ALL,
            has_fields: false,
            has_decimal_comma: false,
            n_days: 0,
            n_timestamps: 0,
        }
    }

    /// Takes the next field into account. An empty one is no value and says nothing.
    pub fn observe(&mut self, field: &str) {
        if self.has_fields && self.readings == Readings::NONE {
            return;
        }
        let field = trim(field);
        if field.is_empty() {
            return;
        }
        self.has_fields = true;
        if is_no_number(field) {
            self.readings = self.readings.and(Readings::NUMBER);
            return;
        }
        let readings = if is_integer(field) { WHOLE } else { self.read_other(field) };
        self.readings = self.readings.and(readings);
    }

    fn read_other(&mut self, field: &str) -> Readings {
        let first = field.as_bytes()[0];
        if first.is_ascii_digit() || first == b'-' || first == b'.' {
            // What the column no longer can be is not looked for: it costs time.
            let wanted = self.readings;
            let decimal =
                wanted.has(Readings::DECIMAL_COMMA).then(|| decimal_point(field)).flatten();
            if wanted.has(Readings::NUMBER) && is_number(field) {
                let is_grouped = decimal.is_some();
                let with_comma = if is_grouped { Readings::DECIMAL_COMMA } else { Readings::NONE };
                return Readings::NUMBER.or(with_comma);
            }
            if let Some(decimal) = decimal {
                self.has_decimal_comma |= decimal.is_certain;
                return Readings::DECIMAL_COMMA;
            }
            if !wanted.has(Readings::MOMENT) {
                return Readings::NONE;
            }
            let Some(moment) = Moment::parse(field) else { return Readings::NONE };
            self.styles = self.styles.and(moment.styles());
            if self.styles.is_empty() {
                return Readings::NONE;
            }
            return self.count(moment.shape());
        }
        if boolean(field).is_some() { Readings::BOOLEAN } else { Readings::NONE }
    }

    /// What a moment can be. A day may be a timestamp whose midnight was left out.
    fn count(&mut self, shape: Shape) -> Readings {
        match shape {
            Shape::Date => {
                self.n_days += 1;
                Readings::DATE.or(Readings::TIMESTAMP)
            }
            Shape::Time => Readings::TIME,
            Shape::Timestamp => {
                self.n_timestamps += 1;
                Readings::TIMESTAMP
            }
        }
    }

    /// What the column is, in a file with that delimiter.
    ///
    /// A comma between digits is a decimal comma where semicolons delimit, because that is why
    /// they do. Elsewhere `1,234` may be a thousand, so that a column needs a field that is not.
    /// Days are taken for timestamps where they are fewer: programs leave out midnight, but nobody
    /// knows what half of a column is meant to be.
    pub fn reading(&self, delimiter: Option<u8>) -> Reading {
        let has_decimal_comma = match delimiter {
            Some(b',') | None => false,
            Some(b';') => true,
            Some(_) => self.has_decimal_comma,
        };
        let readings = self.readings;
        if !self.has_fields {
            Reading::Text
        } else if readings.has(Readings::INTEGER) {
            Reading::Integer
        } else if readings.has(Readings::NUMBER) {
            Reading::Number
        } else if readings.has(Readings::DECIMAL_COMMA) && has_decimal_comma {
            Reading::DecimalComma
        } else if readings.has(Readings::BOOLEAN) {
            Reading::Boolean
        } else if readings.has(Readings::DATE) {
            Reading::Moment(Shape::Date, self.styles)
        } else if readings.has(Readings::TIME) {
            Reading::Moment(Shape::Time, self.styles)
        } else if readings.has(Readings::TIMESTAMP) && self.n_timestamps > self.n_days {
            Reading::Moment(Shape::Timestamp, self.styles)
        } else {
            Reading::Text
        }
    }

    /// Whether every field is a day of one form, some with a time and some without, or all alike.
    pub fn has_only_days(&self) -> bool {
        self.has_fields && self.readings.has(Readings::TIMESTAMP)
    }

    /// Whether a field was seen that is a value.
    pub fn has_fields(&self) -> bool {
        self.has_fields
    }
}

impl Reading {
    /// The type of a column that is read so.
    pub fn kind(self) -> Type {
        match self {
            Reading::Integer => Type::Integer,
            Reading::Number | Reading::DecimalComma => Type::Number,
            Reading::Boolean => Type::Boolean,
            Reading::Moment(Shape::Date, _) => Type::Date,
            Reading::Moment(Shape::Time, _) => Type::Time,
            Reading::Moment(Shape::Timestamp, _) => Type::Timestamp,
            Reading::Text => Type::Text,
        }
    }

    /// The value of a field. One that cannot be read so is text.
    pub fn value(self, field: &str) -> Value {
        if field.is_empty() {
            return Value::Null;
        }
        let trimmed = trim(field);
        let value = match self {
            Reading::Text => None,
            _ if trimmed.is_empty() => Some(Value::Null),
            Reading::Integer => integer(trimmed),
            Reading::Number => number(trimmed),
            Reading::DecimalComma => {
                decimal_point(trimmed).and_then(|decimal| number(&decimal.with_point))
            }
            Reading::Boolean => boolean(trimmed).map(Value::Boolean),
            Reading::Moment(_, styles) => {
                Moment::parse(trimmed).map(|moment| Value::Text(moment.to_iso(styles)))
            }
        };
        value.unwrap_or_else(|| Value::Text(field.into()))
    }
}

/// What stands for a value that is missing.
pub fn is_placeholder(field: &str) -> bool {
    let field = field.trim().to_ascii_lowercase();
    matches!(
        field.as_str(),
        "na" | "n/a" | "nan" | "null" | "none" | "nil" | "-" | "--" | "?" | "\\n"
    )
}

/// Whether a field is anything but text.
pub fn is_typed(field: &str, delimiter: u8) -> bool {
    let mut candidates = Candidates::new();
    candidates.observe(field);
    candidates.reading(Some(delimiter)) != Reading::Text
}

fn trim(field: &str) -> &str {
    field.trim_matches([' ', '\t'])
}

/// Digits with or without a minus. A leading zero makes it a code (`007`), and so does a plus.
fn is_integer(field: &str) -> bool {
    let digits = field.strip_prefix('-').unwrap_or(field).as_bytes();
    match digits {
        [] => false,
        [b'0', _, ..] => false,
        _ => digits.len() <= MAX_NUMBER_BYTES && digits.iter().all(u8::is_ascii_digit),
    }
}

fn integer(field: &str) -> Option<Value> {
    if !is_integer(field) {
        return None;
    }
    // More digits than 64 bits hold stay as they are.
    Some(field.parse().map_or_else(|_| Value::Text(field.into()), Value::Integer))
}

/// A number with a fraction, an exponent or both; `.5` and `1.` too.
fn is_number(field: &str) -> bool {
    let unsigned = field.strip_prefix('-').unwrap_or(field);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && is_digits(digits)
    };
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    field.len() <= MAX_NUMBER_BYTES
        && !(whole.is_empty() && fraction.is_empty())
        && !has_leading_zero
        && is_digits(whole)
        && is_digits(fraction)
        && exponent.is_none_or(is_exponent)
}

fn number(field: &str) -> Option<Value> {
    let number: f64 = field.parse().ok().filter(|_| is_number(field))?;
    // What no number of 64 bits comes near to stays as it is.
    Some(if number.is_finite() { Value::Number(number) } else { Value::Text(field.into()) })
}

/// What programs write where a number is none. Also a column of nothing else is one of numbers.
fn is_no_number(field: &str) -> bool {
    let word = field.strip_prefix('-').unwrap_or(field);
    // Most fields are told by their first letter.
    matches!(word.as_bytes().first(), Some(b'n' | b'N' | b'i' | b'I'))
        && ["nan", "inf", "infinity"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// A number whose fraction stands behind a comma.
struct Decimal {
    /// The same with a point and without dots between thousands.
    with_point: String,
    /// Whether its comma cannot be one between thousands.
    is_certain: bool,
}

/// `3,14`, `1.234,56`, `1.234.567`
fn decimal_point(field: &str) -> Option<Decimal> {
    if field.len() > MAX_NUMBER_BYTES {
        return None;
    }
    let unsigned = field.strip_prefix('-').unwrap_or(field);
    let (whole, fraction) = match unsigned.split_once(',') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split('.');
    let first = groups.next().filter(|first| is_digits(first))?;
    let is_grouped = whole.contains('.');
    if first.len() > 1 && first.starts_with('0') || is_grouped && (first.len() > 3 || first == "0")
    {
        return None;
    }
    if !groups.all(|group| group.len() == 3 && is_digits(group)) {
        return None;
    }
    if fraction.is_some_and(|fraction| !is_digits(fraction)) {
        return None;
    }
    let sign = if unsigned.len() < field.len() { "-" } else { "" };
    let whole = whole.replace('.', "");
    let with_point = format!("{sign}{whole}.{}", fraction.unwrap_or("0"));
    let is_certain = fraction.is_some_and(|f| f.len() != 3 || is_grouped || first == "0");
    Some(Decimal { with_point, is_certain })
}

/// What DuckDB takes for true and false.
fn boolean(field: &str) -> Option<bool> {
    if field.len() > 5 {
        return None;
    }
    match field.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" => Some(true),
        "false" | "f" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
