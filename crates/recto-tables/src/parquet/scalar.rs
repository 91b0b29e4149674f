//! The meaning of a column's values, the name of its type, and how its values are shown.

use std::borrow::Cow;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::data_type::Int96;
use parquet::schema::types::Type as SchemaType;

use super::decimal;
use crate::budget::cut;
use crate::calendar;
use crate::table::{Alignment, Type, Value};

/// The most bytes of a part of a VARIANT.
const MAX_RAW_BYTES: usize = 64 << 10;

/// The most bytes shown of binary data.
const MAX_HEX_BYTES: usize = 64;

const MILLIS: i64 = 1_000;
const MICROS: i64 = 1_000_000;
const NANOS: i64 = 1_000_000_000;

/// The meaning of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Meaning {
    Plain,
    Unsigned,
    Text,
    Decimal {
        scale: usize,
    },
    Date,
    /// The number of units per second.
    Time(i64),
    Timestamp {
        n_per_second: i64,
        is_utc: bool,
    },
    Uuid,
    Float16,
    Interval,
    /// Part of a VARIANT, decoded later.
    Raw,
}

/// A column of values without nested values.
#[derive(Debug, Clone)]
pub struct Scalar {
    meaning: Meaning,
    /// The type's name in the file.
    pub kind: Type,
}

impl Scalar {
    /// Reads the schema of a column.
    pub fn new(column: &SchemaType) -> Scalar {
        let (meaning, name) = match column.get_basic_info().logical_type_ref() {
            Some(logical) => from_logical(column, logical),
            None => from_converted(column),
        };
        let is_number = matches!(
            (meaning, column.get_physical_type()),
            (Meaning::Unsigned | Meaning::Decimal { .. } | Meaning::Float16, _)
                | (
                    Meaning::Plain,
                    Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE
                )
        );
        let alignment = if is_number { Alignment::Right } else { Alignment::Left };
        Scalar { meaning, kind: Type::Exact(name, alignment) }
    }

    /// Returns a column with bytes of VARIANTs, which become characters up to `ÿ`.
    pub fn raw() -> Scalar {
        Scalar { meaning: Meaning::Raw, kind: Type::Exact("binary".into(), Alignment::Left) }
    }

    /// Shows a value.
    pub fn show_i32(&self, value: i32) -> Value {
        match self.meaning {
            Meaning::Unsigned => Value::Integer(i64::from(value as u32)),
            _ => self.show_i64(i64::from(value)),
        }
    }

    /// Shows a value.
    pub fn show_i64(&self, value: i64) -> Value {
        match self.meaning {
            Meaning::Unsigned if value < 0 => Value::Json((value as u64).into()),
            Meaning::Decimal { scale } => decimal::show(&value.to_be_bytes(), scale),
            Meaning::Date => Value::Text(calendar::date(value)),
            // A time outside its day has a sign or more than 23 hours.
            Meaning::Time(n_per_second) => Value::Text(calendar::duration(value, n_per_second)),
            Meaning::Timestamp { n_per_second, is_utc } => {
                let zone = if is_utc { "Z" } else { "" };
                Value::Text(calendar::timestamp(value, n_per_second) + zone)
            }
            _ => Value::Integer(value),
        }
    }

    /// Shows a value, which is a timestamp regardless of the schema.
    pub fn show_int96(&self, value: &Int96) -> Value {
        const JULIAN_DAY_OF_1970: i64 = 2_440_588;
        let [low, high, day] = value.data() else { return Value::Null };
        let nanos = (u64::from(*high) << 32 | u64::from(*low)) as i64;
        let day = i64::from(*day as i32) - JULIAN_DAY_OF_1970;
        Value::Text(calendar::timestamp_of_day(day, nanos))
    }

    /// Shows bytes; of a text at most `max_chars` characters.
    pub fn show_bytes(&self, bytes: &[u8], max_chars: usize) -> Value {
        match (self.meaning, bytes.len()) {
            (Meaning::Text, _) => Value::Text(cut(&String::from_utf8_lossy(bytes), max_chars)),
            (Meaning::Decimal { scale }, _) => decimal::show(bytes, scale),
            (Meaning::Uuid, 16) => Value::Text(uuid(bytes)),
            (Meaning::Raw, n_bytes) => {
                let n_kept = n_bytes.min(MAX_RAW_BYTES);
                Value::Text(bytes[..n_kept].iter().map(|byte| char::from(*byte)).collect())
            }
            (Meaning::Float16, 2) => show_f32(widen(u16::from_le_bytes([bytes[0], bytes[1]]))),
            (Meaning::Interval, 12) => Value::Text(interval(bytes)),
            (_, n_bytes) => {
                let n_shown = n_bytes.min(MAX_HEX_BYTES);
                let hex = hex(&bytes[..n_shown]);
                match n_bytes - n_shown {
                    0 => Value::Text(hex),
                    n_more => Value::Text(format!("{hex}… (+{n_more} bytes)")),
                }
            }
        }
    }
}

/// Shows a number with the fewest digits that identify it among 32-bit floats: 0.1, not
/// 0.10000000149011612.
pub fn show_f32(value: f32) -> Value {
    match value.to_string().parse() {
        Ok(digits) => show_f64(digits),
        Err(_) => show_f64(f64::from(value)),
    }
}

/// Shows a number.
pub fn show_f64(value: f64) -> Value {
    if value.is_finite() { Value::Number(value) } else { Value::Text(value.to_string()) }
}

fn from_logical(column: &SchemaType, logical: &LogicalType) -> (Meaning, Cow<'static, str>) {
    let (meaning, name) = match logical {
        LogicalType::String => (Meaning::Text, "string"),
        LogicalType::Enum => (Meaning::Text, "enum"),
        LogicalType::Json => (Meaning::Text, "json"),
        LogicalType::Bson => (Meaning::Plain, "bson"),
        LogicalType::Uuid => (Meaning::Uuid, "uuid"),
        LogicalType::Float16 => (Meaning::Float16, "float16"),
        LogicalType::Date => (Meaning::Date, "date"),
        LogicalType::Unknown => (Meaning::Plain, "null"),
        LogicalType::Geometry(_) => (Meaning::Plain, "geometry"),
        LogicalType::Geography(_) => (Meaning::Plain, "geography"),
        LogicalType::Decimal(decimal) => return as_decimal(decimal.precision, decimal.scale),
        LogicalType::Time(time) => {
            let (n_per_second, unit) = unit(time.unit);
            return (Meaning::Time(n_per_second), format!("time({unit})").into());
        }
        LogicalType::Timestamp(timestamp) => {
            return as_timestamp(timestamp.unit, timestamp.is_adjusted_to_u_t_c);
        }
        LogicalType::Integer(integer) if integer.is_signed => {
            return (Meaning::Plain, format!("int{}", integer.bit_width).into());
        }
        LogicalType::Integer(integer) => {
            return (Meaning::Unsigned, format!("uint{}", integer.bit_width).into());
        }
        _ => return from_physical(column),
    };
    (meaning, name.into())
}

fn from_converted(column: &SchemaType) -> (Meaning, Cow<'static, str>) {
    let (meaning, name) = match column.get_basic_info().converted_type() {
        ConvertedType::UTF8 => (Meaning::Text, "string"),
        ConvertedType::ENUM => (Meaning::Text, "enum"),
        ConvertedType::JSON => (Meaning::Text, "json"),
        ConvertedType::BSON => (Meaning::Plain, "bson"),
        ConvertedType::DECIMAL => return as_decimal(column.get_precision(), column.get_scale()),
        ConvertedType::DATE => (Meaning::Date, "date"),
        ConvertedType::TIME_MILLIS => (Meaning::Time(MILLIS), "time(ms)"),
        ConvertedType::TIME_MICROS => (Meaning::Time(MICROS), "time(us)"),
        ConvertedType::TIMESTAMP_MILLIS => return as_timestamp(TimeUnit::MILLIS, true),
        ConvertedType::TIMESTAMP_MICROS => return as_timestamp(TimeUnit::MICROS, true),
        ConvertedType::UINT_8 => (Meaning::Unsigned, "uint8"),
        ConvertedType::UINT_16 => (Meaning::Unsigned, "uint16"),
        ConvertedType::UINT_32 => (Meaning::Unsigned, "uint32"),
        ConvertedType::UINT_64 => (Meaning::Unsigned, "uint64"),
        ConvertedType::INT_8 => (Meaning::Plain, "int8"),
        ConvertedType::INT_16 => (Meaning::Plain, "int16"),
        ConvertedType::INTERVAL => (Meaning::Interval, "interval"),
        _ => return from_physical(column),
    };
    (meaning, name.into())
}

fn from_physical(column: &SchemaType) -> (Meaning, Cow<'static, str>) {
    let name = match column.get_physical_type() {
        Physical::BOOLEAN => "boolean",
        Physical::INT32 => "int32",
        Physical::INT64 => "int64",
        Physical::INT96 => "timestamp(ns)",
        Physical::FLOAT => "float",
        Physical::DOUBLE => "double",
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => "binary",
    };
    (Meaning::Plain, name.into())
}

fn as_decimal(precision: i32, scale: i32) -> (Meaning, Cow<'static, str>) {
    let name = format!("decimal({precision},{scale})");
    (Meaning::Decimal { scale: usize::try_from(scale).unwrap_or(0) }, name.into())
}

fn as_timestamp(of: TimeUnit, is_utc: bool) -> (Meaning, Cow<'static, str>) {
    let (n_per_second, unit) = unit(of);
    let zone = if is_utc { ", UTC" } else { "" };
    (Meaning::Timestamp { n_per_second, is_utc }, format!("timestamp({unit}{zone})").into())
}

fn unit(unit: TimeUnit) -> (i64, &'static str) {
    match unit {
        TimeUnit::MILLIS => (MILLIS, "ms"),
        TimeUnit::MICROS => (MICROS, "us"),
        TimeUnit::NANOS => (NANOS, "ns"),
    }
}

/// Formats months, days and milliseconds as an ISO 8601 duration.
fn interval(bytes: &[u8]) -> String {
    let part =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (months, days, millis) = (part(0), part(4), part(8));
    let mut shown = String::from("P");
    for (number, unit) in [(months / 12, 'Y'), (months % 12, 'M'), (days, 'D')] {
        if number > 0 {
            shown += &format!("{number}{unit}");
        }
    }
    if millis > 0 {
        let (seconds, fraction) = (millis / 1000, millis % 1000);
        shown += &if fraction == 0 {
            format!("T{seconds}S")
        } else {
            format!("T{seconds}.{fraction:03}S")
        };
    }
    if shown.len() == 1 { "PT0S".into() } else { shown }
}

/// Converts a 16-bit float to 32 bits.
fn widen(half: u16) -> f32 {
    let sign = if half >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (fraction + 1024.0) * 2_f32.powi(exponent - 25),
    };
    sign * magnitude
}

/// Formats sixteen bytes as a UUID.
pub fn uuid(bytes: &[u8]) -> String {
    let hex = hex(bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
