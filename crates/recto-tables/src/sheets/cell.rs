//! The value of a cell in any workbook format.

use calamine::{DataRef, ExcelDateTime, ExcelDateTimeType};

use crate::budget::cut;
use crate::calendar;
use crate::table::{Type, Value};

/// The end of Excel's calendar: after 9999-12-31.
const END_OF_DAYS: f64 = 2_958_466.0;

/// 0001-01-01.
const FIRST_DAY: f64 = -693_593.0;

/// Integers are exact up to here.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of a cell. Dates and times are in ISO 8601.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SheetCell {
    Text(String),
    Number(f64),
    Boolean(bool),
    Date(String),
    Time(String),
    Timestamp(String),
    /// A formula whose value the file does not contain.
    NotComputed,
}

impl SheetCell {
    /// Converts a cell of Excel's formats; `None` if it is empty.
    pub fn from_excel(data: &DataRef<'_>) -> Option<SheetCell> {
        let text = |text: &str| (!text.is_empty()).then(|| SheetCell::Text(text.into()));
        match data {
            DataRef::Empty => None,
            DataRef::Int(number) => Some(SheetCell::Number(*number as f64)),
            DataRef::Float(number) => Some(SheetCell::Number(*number)),
            DataRef::String(string) => text(string),
            DataRef::SharedString(string) => text(string),
            DataRef::Bool(value) => Some(SheetCell::Boolean(*value)),
            DataRef::DateTime(moment) => Some(from_serial(moment)),
            DataRef::DateTimeIso(string) => Some(SheetCell::from_iso(string)),
            DataRef::DurationIso(string) => Some(SheetCell::from_iso_duration(string)),
            DataRef::Error(error) => Some(SheetCell::Text(error.to_string())),
        }
    }

    /// Parses a date, a time of day or both in ISO 8601.
    pub fn from_iso(text: &str) -> SheetCell {
        let is_made_of = |part: &str, separator: char| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_digit() || c == separator || c == '.')
        };
        match text.split_once('T') {
            Some((date, time)) if is_made_of(date, '-') && is_made_of(time, ':') => {
                SheetCell::Timestamp(format!("{date}T{}", tidied(time)))
            }
            None if text.len() >= 8 && is_made_of(text, '-') => SheetCell::Date(text.into()),
            None if text.len() >= 5 && is_made_of(text, ':') => SheetCell::Time(tidied(text)),
            _ => SheetCell::Text(text.into()),
        }
    }

    /// Parses an ISO 8601 duration. OpenDocument stores times of day as the time since midnight.
    pub fn from_iso_duration(text: &str) -> SheetCell {
        let Some(nanos) = parse_duration(text) else { return SheetCell::Text(text.into()) };
        const DAY: i64 = 86_400_000_000_000;
        if nanos < DAY {
            SheetCell::Time(calendar::time(nanos))
        } else {
            SheetCell::Text(text.into())
        }
    }

    /// Cuts a long text. A date or time of that length is not one.
    pub fn cut(self, max_chars: usize) -> SheetCell {
        match self {
            SheetCell::Text(text)
            | SheetCell::Date(text)
            | SheetCell::Time(text)
            | SheetCell::Timestamp(text)
                if text.len() > max_chars =>
            {
                SheetCell::Text(cut(&text, max_chars))
            }
            cell => cell,
        }
    }

    /// Returns about how many bytes it has when it is shown.
    pub fn size(&self) -> usize {
        match self {
            SheetCell::Text(text)
            | SheetCell::Date(text)
            | SheetCell::Time(text)
            | SheetCell::Timestamp(text) => text.len(),
            SheetCell::Number(_) => 8,
            SheetCell::Boolean(_) => 4,
            SheetCell::NotComputed => 0,
        }
    }

    /// Returns the value in a column of a type.
    pub fn into_value(self, kind: &Type) -> Value {
        match self {
            SheetCell::Number(number) if !number.is_finite() => Value::Text(number.to_string()),
            SheetCell::Number(number) if *kind != Type::Number && is_integral(number) => {
                Value::Integer(number as i64)
            }
            SheetCell::Number(number) => Value::Number(number),
            SheetCell::Boolean(value) => Value::Boolean(value),
            SheetCell::NotComputed => Value::Null,
            SheetCell::Date(date) if *kind == Type::Timestamp => Value::Text(date + "T00:00:00"),
            SheetCell::Text(text)
            | SheetCell::Date(text)
            | SheetCell::Time(text)
            | SheetCell::Timestamp(text) => Value::Text(text),
        }
    }
}

/// Returns the type that fits all cells of a column.
pub fn kind_of<'a>(cells: impl Iterator<Item = &'a SheetCell>) -> Type {
    let mut kinds = cells.filter_map(|cell| match cell {
        SheetCell::Text(_) => Some(Type::Text),
        SheetCell::Number(number) if is_integral(*number) => Some(Type::Integer),
        SheetCell::Number(_) => Some(Type::Number),
        SheetCell::Boolean(_) => Some(Type::Boolean),
        SheetCell::Date(_) => Some(Type::Date),
        SheetCell::Time(_) => Some(Type::Time),
        SheetCell::Timestamp(_) => Some(Type::Timestamp),
        SheetCell::NotComputed => None,
    });
    let Some(first) = kinds.next() else { return Type::Text };
    kinds.fold(first, |so_far, kind| match (so_far, kind) {
        (one, other) if one == other => one,
        (Type::Integer, Type::Number) | (Type::Number, Type::Integer) => Type::Number,
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
        _ => Type::Text,
    })
}

/// Returns whether a number is an integer that a float represents exactly.
pub fn is_integral(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_EXACT
}

/// Converts an Excel serial number, which counts days. Below 1 it has no date, so it is a time.
fn from_serial(moment: &ExcelDateTime) -> SheetCell {
    let serial = moment.as_f64();
    if !(FIRST_DAY..END_OF_DAYS).contains(&serial) {
        return SheetCell::Number(serial);
    }
    if serial < 0.0 {
        return before_epoch(moment, serial);
    }
    if moment.is_duration() {
        return SheetCell::Text(duration((serial * 86_400_000.0).round() as i64));
    }
    let (year, month, day, hour, minute, second, millis) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    let time = calendar::time((seconds * 1000 + i64::from(millis)) * 1_000_000);
    if serial < 1.0 {
        SheetCell::Time(time)
    } else if seconds == 0 && millis == 0 {
        SheetCell::Date(date)
    } else {
        SheetCell::Timestamp(format!("{date}T{time}"))
    }
}

/// Converts a negative serial number as LibreOffice does; Excel shows none.
fn before_epoch(moment: &ExcelDateTime, serial: f64) -> SheetCell {
    let millis = (serial * 86_400_000.0).round() as i64;
    if moment.is_duration() {
        return SheetCell::Text(format!("-{}", duration(-millis)));
    }
    // 1899-12-30 or, as some programs for the Mac count, 1904-01-01.
    let is_1904 = *moment == ExcelDateTime::new(serial, ExcelDateTimeType::DateTime, true);
    let epoch = if is_1904 { -24_107 } else { -25_569 };
    let day = epoch + millis.div_euclid(86_400_000);
    match millis.rem_euclid(86_400_000) {
        0 => SheetCell::Date(calendar::date(day)),
        rest => SheetCell::Timestamp(calendar::timestamp_of_day(day, rest * 1_000_000)),
    }
}

fn duration(millis: i64) -> String {
    let (seconds, fraction) = (millis / 1000, millis % 1000);
    let mut shown = format!("PT{}H{}M{}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        shown += &format!(".{fraction:03}");
    }
    shown + "S"
}

/// Parses `PT12H34M56.5S` into nanoseconds.
fn parse_duration(text: &str) -> Option<i64> {
    let mut nanos = 0.0;
    let mut rest = text.strip_prefix("PT")?;
    for (unit, seconds) in [('H', 3600.0), ('M', 60.0), ('S', 1.0)] {
        if let Some((number, behind)) = rest.split_once(unit) {
            let number: f64 = number.parse().ok().filter(|it| (0.0..1e9).contains(it))?;
            nanos += number * seconds * 1e9;
            rest = behind;
        }
    }
    rest.is_empty().then_some(nanos.round() as i64)
}

/// Formats a time with as many groups of three fractional digits as it needs.
fn tidied(time: &str) -> String {
    let Some((whole, fraction)) = time.split_once('.') else { return time.into() };
    match fraction.trim_end_matches('0') {
        "" => whole.into(),
        digits => {
            let width = digits.len().next_multiple_of(3);
            format!("{whole}.{digits:0<width$}")
        }
    }
}
