//! Days and times as people write them, and as ISO 8601 writes them.
//!
//! `03/04/2024` alone can be read in two ways. A reading therefore names all the styles that fit,
//! and whoever has the whole column takes one that fits every value.

use std::fmt::Write;

/// What a text can be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A day with a time.
    Timestamp,
}

/// In which order a date has its parts, how long its year is, and what stands between: a set of
/// styles, one bit for each. Never empty for a reading with a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Styles(u32);

impl Styles {
    /// Every style.
    pub const ALL: Styles = Styles(u32::MAX);
    /// `2024-12-31`
    pub const ISO: Styles = Styles(1 << Order::Year4MonthDay as u32);

    /// The styles that are in both.
    pub fn and(self, other: Styles) -> Styles {
        Styles(self.0 & other.0)
    }

    /// Whether the day and the month could be the other way round.
    pub fn is_ambiguous(self) -> bool {
        let has = |order: Order| (0..4).any(|idx| self.0 & (1 << (6 * idx + order as u32)) != 0);
        has(Order::DayMonthYear4) && has(Order::MonthDayYear4)
            || has(Order::DayMonthYear2) && has(Order::MonthDayYear2)
    }

    /// Whether no style is left.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A text that is a day, a time or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment<'a> {
    date: Option<Date>,
    time: Option<Time<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Date {
    parts: [u16; 3],
    styles: Styles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time<'a> {
    hour: u16,
    minute: u16,
    second: u16,
    /// The digits behind the second.
    fraction: &'a str,
    /// Minutes east of Greenwich.
    zone: Option<i16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Order {
    Year4MonthDay,
    DayMonthYear4,
    MonthDayYear4,
    Year2MonthDay,
    DayMonthYear2,
    MonthDayYear2,
}

/// Where a column fits several orders, the first of these wins, as in DuckDB: most of the world
/// writes the day before the month.
const ORDERS: [Order; 6] = [
    Order::Year4MonthDay,
    Order::DayMonthYear4,
    Order::MonthDayYear4,
    Order::Year2MonthDay,
    Order::DayMonthYear2,
    Order::MonthDayYear2,
];

const SEPARATORS: [u8; 4] = *b"-/. ";

/// Nothing longer is a moment.
const MAX_BYTES: usize = 48;

impl<'a> Moment<'a> {
    /// Reads a text without spaces around it.
    pub fn parse(text: &'a str) -> Option<Moment<'a>> {
        if text.len() < 4 || text.len() > MAX_BYTES || !text.as_bytes()[0].is_ascii_digit() {
            return None;
        }
        let Some(colon) = text.bytes().position(|byte| byte == b':') else {
            return Some(Moment { date: Some(Date::parse(text)?), time: None });
        };
        let hour = text[..colon].bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, time) = text.split_at(colon - hour);
        if before.is_empty() {
            let time = Time::parse(time)?;
            // A time of day with a zone but without a day says little; DuckDB has it as text too.
            return time.zone.is_none().then_some(Moment { date: None, time: Some(time) });
        }
        let date = before.strip_suffix(['T', 't', ' '])?;
        Some(Moment { date: Some(Date::parse(date.trim_end())?), time: Some(Time::parse(time)?) })
    }

    /// What it is.
    pub fn shape(&self) -> Shape {
        match (self.date, self.time) {
            (Some(_), Some(_)) => Shape::Timestamp,
            (Some(_), None) => Shape::Date,
            (None, _) => Shape::Time,
        }
    }

    /// The styles that fit its date; every style where there is none.
    pub fn styles(&self) -> Styles {
        self.date.map_or(Styles::ALL, |date| date.styles)
    }

    /// As ISO 8601, its date being in one of those styles.
    pub fn to_iso(self, styles: Styles) -> String {
        let mut iso = String::new();
        if let Some(date) = self.date {
            let [year, month, day] = date.in_style(styles);
            let _ = write!(iso, "{year:04}-{month:02}-{day:02}");
        }
        let Some(time) = self.time else { return iso };
        if !iso.is_empty() {
            iso.push('T');
        }
        let _ = write!(iso, "{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
        if !time.fraction.is_empty() {
            let _ = write!(iso, ".{}", time.fraction);
        }
        match time.zone {
            None => {}
            Some(0) => iso.push('Z'),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                let _ = write!(iso, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            }
        }
        iso
    }
}

impl Date {
    fn parse(text: &str) -> Option<Date> {
        let (first, first_width, rest) = number(text)?;
        let separator = *rest.as_bytes().first()?;
        let separator_idx = SEPARATORS.iter().position(|known| *known == separator)?;
        let (second, second_width, rest) = number(&rest[1..])?;
        let rest = rest.strip_prefix(char::from(separator))?;
        let (third, third_width, rest) = number(rest)?;
        if !rest.is_empty() || second_width > 2 {
            return None;
        }
        let parts = [first, second, third];
        let mut styles = 0;
        for order in ORDERS {
            let fits_width = match order {
                Order::Year4MonthDay => first_width == 4 && third_width <= 2,
                Order::DayMonthYear4 | Order::MonthDayYear4 => first_width <= 2 && third_width == 4,
                Order::Year2MonthDay => first_width == 2 && third_width <= 2,
                Order::DayMonthYear2 | Order::MonthDayYear2 => first_width <= 2 && third_width == 2,
            };
            let [year, month, day] = order.arrange(parts);
            if fits_width && is_day(year, month, day) {
                styles |= 1 << (6 * separator_idx as u32 + order as u32);
            }
        }
        (styles != 0).then_some(Date { parts, styles: Styles(styles) })
    }

    /// Year, month and day.
    fn in_style(self, styles: Styles) -> [u16; 3] {
        let both = self.styles.and(styles);
        let styles = if both.is_empty() { self.styles } else { both };
        let has = |order: Order, separator_idx: u32| {
            styles.0 & (1 << (6 * separator_idx + order as u32)) != 0
        };
        // With two digits, `24-12-31` starts with the year; with dots and slashes it ends with it.
        if has(Order::DayMonthYear2, 1) || has(Order::DayMonthYear2, 2) {
            return Order::DayMonthYear2.arrange(self.parts);
        }
        let fits = |order: &&Order| (0..4).any(|separator_idx| has(**order, separator_idx));
        let order = ORDERS.iter().find(fits).unwrap_or(&Order::Year4MonthDay);
        order.arrange(self.parts)
    }
}

impl Order {
    /// The parts as year, month and day.
    fn arrange(self, [first, second, third]: [u16; 3]) -> [u16; 3] {
        let century = |year: u16| if year < 70 { 2000 + year } else { 1900 + year % 100 };
        match self {
            Order::Year4MonthDay => [first, second, third],
            Order::DayMonthYear4 => [third, second, first],
            Order::MonthDayYear4 => [third, first, second],
            Order::Year2MonthDay => [century(first), second, third],
            Order::DayMonthYear2 => [century(third), second, first],
            Order::MonthDayYear2 => [century(third), first, second],
        }
    }
}

impl<'a> Time<'a> {
    /// `9:30`, `09:30:00.25`, `9:30 PM`, with a zone where there is one.
    fn parse(text: &'a str) -> Option<Time<'a>> {
        let (hour, hour_width, rest) = number(text)?;
        let (minute, minute_width, rest) = number(rest.strip_prefix(':')?)?;
        let mut time = Time { hour, minute, second: 0, fraction: "", zone: None };
        let mut rest = rest;
        if let Some(after) = rest.strip_prefix(':') {
            let (second, width, after) = number(after)?;
            time.second = second;
            rest = after;
            if width != 2 {
                return None;
            }
            if let Some(after) = rest.strip_prefix(['.', ',']) {
                let n_digits = after.bytes().take_while(u8::is_ascii_digit).count();
                (time.fraction, rest) = after.split_at(n_digits);
                if n_digits == 0 || n_digits > 12 {
                    return None;
                }
            }
        }
        let is_time = hour_width <= 2 && minute_width == 2 && hour < 24 && minute < 60;
        if !is_time || time.second > 59 {
            return None;
        }
        let mut rest = rest.trim_start();
        let half = rest.get(..2).map(str::to_ascii_uppercase);
        if let Some(half @ ("AM" | "PM")) = half.as_deref() {
            if !(1..=12).contains(&hour) {
                return None;
            }
            time.hour = hour % 12 + if half == "PM" { 12 } else { 0 };
            rest = rest[2..].trim_start();
        }
        if !rest.is_empty() {
            time.zone = Some(zone(rest)?);
        }
        Some(time)
    }
}

/// `Z`, `UTC`, `+02`, `+0200`, `-05:30`: minutes east of Greenwich.
fn zone(text: &str) -> Option<i16> {
    if matches!(text, "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match (number(rest)?, rest.len()) {
        ((hours, 2, ""), _) => (hours, 0),
        ((both, 4, ""), _) => (both / 100, both % 100),
        ((hours, 2, after), 5) => match number(after.strip_prefix(':')?)? {
            (minutes, 2, "") => (hours, minutes),
            _ => return None,
        },
        _ => return None,
    };
    let is_zone = hours <= 18 && minutes < 60;
    is_zone.then(|| sign * i16::try_from(hours * 60 + minutes).unwrap_or(0))
}

/// One to four digits: their number, how many they are, and what follows.
fn number(text: &str) -> Option<(u16, usize, &str)> {
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if n_digits == 0 || n_digits > 4 {
        return None;
    }
    let (digits, rest) = text.split_at(n_digits);
    Some((digits.parse().ok()?, n_digits, rest))
}

fn is_day(year: u16, month: u16, day: u16) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let n_days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=n_days).contains(&day)
}

#[cfg(test)]
mod tests;
