//! What a cell of a sheet holds, from whichever format.

use calamine::{DataRef, ExcelDateTime};

use crate::calendar;
use crate::table::{Type, Value};

/// Where Excel's calendar ends: after 9999-12-31.
const END_OF_DAYS: f64 = 2_958_466.0;

/// Integers are exact up to here.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// What a cell holds. Moments are in ISO 8601.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Cell {
    Text(String),
    Number(f64),
    Boolean(bool),
    Date(String),
    Time(String),
    Timestamp(String),
}

impl Cell {
    /// A cell of Excel's formats; none if it is empty.
    pub fn from_excel(data: &DataRef<'_>) -> Option<Cell> {
        let text = |text: &str| (!text.is_empty()).then(|| Cell::Text(text.into()));
        match data {
            DataRef::Empty => None,
            DataRef::Int(number) => Some(Cell::Number(*number as f64)),
            DataRef::Float(number) => Some(Cell::Number(*number)),
            DataRef::String(string) => text(string),
            DataRef::SharedString(string) => text(string),
            DataRef::Bool(value) => Some(Cell::Boolean(*value)),
            DataRef::DateTime(moment) => Some(from_serial(moment)),
            DataRef::DateTimeIso(string) => Some(Cell::from_iso(string)),
            DataRef::DurationIso(string) => Some(Cell::from_iso_duration(string)),
            DataRef::Error(error) => Some(Cell::Text(error.to_string())),
        }
    }

    /// A day, a time of day or both, as ISO 8601 writes it.
    pub fn from_iso(text: &str) -> Cell {
        let is_made_of = |part: &str, separator: char| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_digit() || c == separator || c == '.')
        };
        match text.split_once('T') {
            Some((date, time)) if is_made_of(date, '-') && is_made_of(time, ':') => {
                Cell::Timestamp(format!("{date}T{}", tidied(time)))
            }
            None if text.len() >= 8 && is_made_of(text, '-') => Cell::Date(text.into()),
            None if text.len() >= 5 && is_made_of(text, ':') => Cell::Time(tidied(text)),
            _ => Cell::Text(text.into()),
        }
    }

    /// A duration as ISO 8601 writes it. OpenDocument has times of day as the time since midnight.
    pub fn from_iso_duration(text: &str) -> Cell {
        let Some(nanos) = parse_duration(text) else { return Cell::Text(text.into()) };
        const DAY: i64 = 86_400_000_000_000;
        if nanos < DAY { Cell::Time(calendar::time(nanos)) } else { Cell::Text(text.into()) }
    }

    /// About how many bytes it has when it is shown.
    pub fn size(&self) -> usize {
        match self {
            Cell::Text(text) | Cell::Date(text) | Cell::Time(text) | Cell::Timestamp(text) => {
                text.len()
            }
            Cell::Number(_) => 8,
            Cell::Boolean(_) => 4,
        }
    }

    /// The value in a column of a type.
    pub fn into_value(self, kind: &Type) -> Value {
        match self {
            Cell::Number(number) if !number.is_finite() => Value::Text(number.to_string()),
            Cell::Number(number) if *kind != Type::Number && is_integral(number) => {
                Value::Integer(number as i64)
            }
            Cell::Number(number) => Value::Number(number),
            Cell::Boolean(value) => Value::Boolean(value),
            Cell::Date(date) if *kind == Type::Timestamp => Value::Text(date + "T00:00:00"),
            Cell::Text(text) | Cell::Date(text) | Cell::Time(text) | Cell::Timestamp(text) => {
                Value::Text(text)
            }
        }
    }
}

/// What all cells of a column are together.
pub fn kind_of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Type {
    let mut kinds = cells.map(|cell| match cell {
        Cell::Text(_) => Type::Text,
        Cell::Number(number) if is_integral(*number) => Type::Integer,
        Cell::Number(_) => Type::Number,
        Cell::Boolean(_) => Type::Boolean,
        Cell::Date(_) => Type::Date,
        Cell::Time(_) => Type::Time,
        Cell::Timestamp(_) => Type::Timestamp,
    });
    let Some(first) = kinds.next() else { return Type::Text };
    kinds.fold(first, |so_far, kind| match (so_far, kind) {
        (one, other) if one == other => one,
        (Type::Integer, Type::Number) | (Type::Number, Type::Integer) => Type::Number,
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
        _ => Type::Text,
    })
}

/// Whether a number is whole, and small enough to be exactly that.
pub fn is_integral(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_EXACT
}

/// Excel counts days. Below one there is no day, so that it must be a time.
fn from_serial(moment: &ExcelDateTime) -> Cell {
    let serial = moment.as_f64();
    if !(0.0..END_OF_DAYS).contains(&serial) {
        return Cell::Number(serial);
    }
    if moment.is_duration() {
        return Cell::Text(duration((serial * 86_400_000.0).round() as i64));
    }
    let (year, month, day, hour, minute, second, millis) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    let time = calendar::time((seconds * 1000 + i64::from(millis)) * 1_000_000);
    if serial < 1.0 {
        Cell::Time(time)
    } else if seconds == 0 && millis == 0 {
        Cell::Date(date)
    } else {
        Cell::Timestamp(format!("{date}T{time}"))
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

/// `PT12H34M56.5S` in nanoseconds.
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

/// A time with as many groups of three digits behind the second as it needs.
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
