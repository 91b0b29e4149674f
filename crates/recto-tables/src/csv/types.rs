//! Detects the type of a column: numbers, dates, booleans, or text.
//!
//! All fields of a column must have its type. Text fits every field, so it is the fallback.

use crate::moments::{Moment, MomentKind, Styles, YearParts};
use crate::table::{Type, Value};

/// The types that a column can still have after the fields seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidates {
    readings: Readings,
    styles: Styles,
    year_parts: YearParts,
    has_fields: bool,
    has_decimal_comma: bool,
    n_days: u32,
    n_timestamps: u32,
}

/// How the fields of a column are read.
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
    /// A date or time; dates have one of these styles.
    Moment(MomentKind, Styles),
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

/// Digits can be read as any kind of number.
const WHOLE: Readings = Readings::INTEGER.or(Readings::NUMBER).or(Readings::DECIMAL_COMMA);

/// The longest number.
const MAX_NUMBER_BYTES: usize = 100;

impl Candidates {
    /// Returns the candidates before the first field.
    pub const fn new() -> Candidates {
        Candidates {
            readings: Readings::ALL,
            styles: Styles::ALL,
            year_parts: YearParts::NONE,
            has_fields: false,
            has_decimal_comma: false,
            n_days: 0,
            n_timestamps: 0,
        }
    }

    /// Takes the next field into account. An empty field is ignored.
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
            // Readings that are already excluded are not tried, to save time.
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
            self.year_parts.observe(&moment);
            if self.styles.is_empty() {
                return Readings::NONE;
            }
            return self.count(moment.shape());
        }
        if boolean(field).is_some() { Readings::BOOLEAN } else { Readings::NONE }
    }

    /// Returns the readings of a date or time. A date may be a timestamp without its midnight.
    fn count(&mut self, shape: MomentKind) -> Readings {
        match shape {
            MomentKind::Date => {
                self.n_days += 1;
                Readings::DATE.or(Readings::TIMESTAMP)
            }
            MomentKind::Time => Readings::TIME,
            MomentKind::Timestamp => {
                self.n_timestamps += 1;
                Readings::TIMESTAMP
            }
        }
    }

    /// Returns the reading of the column in a file with that delimiter.
    ///
    /// A comma between digits is a decimal comma if the delimiter is a semicolon. Otherwise `1,234`
    /// may be a thousand, so the column needs a field that cannot be. A minority of dates among
    /// timestamps is read as timestamps, because programs omit midnight; with more dates the column
    /// is ambiguous.
    pub fn reading(&self, delimiter: Option<u8>) -> Reading {
        let has_decimal_comma = match delimiter {
            Some(b',') | None => false,
            Some(b';') => true,
            Some(_) => self.has_decimal_comma,
        };
        let readings = self.readings;
        let styles = match self.year_parts.is_year_last() {
            true => self.styles.with_year_last(),
            false => self.styles,
        };
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
            Reading::Moment(MomentKind::Date, styles)
        } else if readings.has(Readings::TIME) {
            Reading::Moment(MomentKind::Time, styles)
        } else if readings.has(Readings::TIMESTAMP) && self.n_timestamps > self.n_days {
            Reading::Moment(MomentKind::Timestamp, styles)
        } else {
            Reading::Text
        }
    }

    /// Returns whether all points could separate thousands, so that no field contradicts decimal commas.
    pub fn may_have_decimal_comma(&self) -> bool {
        self.has_fields && self.readings.has(Readings::DECIMAL_COMMA)
    }

    /// Returns whether every field is a date in one style, with or without a time.
    pub fn has_only_days(&self) -> bool {
        self.has_fields && self.readings.has(Readings::TIMESTAMP)
    }

    /// Returns whether any field with a value was seen.
    pub fn has_fields(&self) -> bool {
        self.has_fields
    }
}

impl Reading {
    /// Returns the type of a column with this reading.
    pub fn kind(self) -> Type {
        match self {
            Reading::Integer => Type::Integer,
            Reading::Number | Reading::DecimalComma => Type::Number,
            Reading::Boolean => Type::Boolean,
            Reading::Moment(MomentKind::Date, _) => Type::Date,
            Reading::Moment(MomentKind::Time, _) => Type::Time,
            Reading::Moment(MomentKind::Timestamp, _) => Type::Timestamp,
            Reading::Text => Type::Text,
        }
    }

    /// Returns the value of a field, as text if it does not match the reading.
    pub fn value(self, field: &str) -> Value {
        if field.is_empty() {
            return Value::Null;
        }
        let trimmed = trim(field);
        let value = match self {
            Reading::Text => None,
            _ if trimmed.is_empty() => Some(Value::Null),
            Reading::Integer => integer(trimmed),
            // A large integer among other numbers keeps its digits.
            Reading::Number | Reading::DecimalComma
                if is_integer(trimmed) && is_inexact(trimmed) =>
            {
                integer(trimmed)
            }
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

/// Returns whether a field is a placeholder for a missing value.
pub fn is_placeholder(field: &str) -> bool {
    let field = field.trim().to_ascii_lowercase();
    matches!(
        field.as_str(),
        "na" | "n/a" | "nan" | "null" | "none" | "nil" | "-" | "--" | "?" | "\\n"
    )
}

/// Returns whether a field is anything but text.
pub fn is_typed(field: &str, delimiter: u8) -> bool {
    let mut candidates = Candidates::new();
    candidates.observe(field);
    candidates.reading(Some(delimiter)) != Reading::Text
}

fn trim(field: &str) -> &str {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    // Most fields have no blanks around them.
    match is_blank(field.as_bytes().first()) || is_blank(field.as_bytes().last()) {
        true => field.trim_matches([' ', '\t']),
        false => field,
    }
}

/// Returns whether a field is digits, with an optional minus. A leading zero or a plus makes it a
/// code.
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
    Some(Value::integer(field))
}

/// Returns whether an integer may lose digits as a 64-bit float.
fn is_inexact(integer: &str) -> bool {
    integer.parse::<i64>().map_or(true, |number| number.unsigned_abs() >= 1 << f64::MANTISSA_DIGITS)
}

/// Returns whether a field has a fraction, an exponent or both, including `.5` and `1.`.
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
    // Numbers beyond the range of a 64-bit float stay text.
    Some(if number.is_finite() { Value::Number(number) } else { Value::Text(field.into()) })
}

/// Returns whether a field is NaN or infinity. A column of nothing else is numeric too.
fn is_no_number(field: &str) -> bool {
    let word = field.strip_prefix('-').unwrap_or(field);
    // The first letter excludes most fields.
    matches!(word.as_bytes().first(), Some(b'n' | b'N' | b'i' | b'I'))
        && ["nan", "inf", "infinity"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// A number with a decimal comma.
struct Decimal {
    /// The same with a point and without thousands separators.
    with_point: String,
    /// Whether the comma cannot be a thousands separator.
    is_certain: bool,
}

/// Parses `3,14`, `1.234,56` or `1.234.567`.
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

/// Parses the booleans that DuckDB accepts.
fn boolean(field: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 3]| words.iter().any(|word| field.eq_ignore_ascii_case(word));
    if is_one_of(["true", "t", "yes"]) {
        return Some(true);
    }
    is_one_of(["false", "f", "no"]).then_some(false)
}

#[cfg(test)]
mod tests;
