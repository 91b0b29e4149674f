//! Parses dates and times in common notations and formats them as ISO 8601.
//!
//! `03/04/2024` alone is ambiguous. A parsed value therefore lists all matching styles, and the
//! caller picks one that matches every value of the column.

use std::fmt::Write;

/// What a text can be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentKind {
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// A date with a time.
    Timestamp,
}

/// A set of date styles, one bit for each: the order of year, month and day, the length of the
/// year, and the separator. Never empty for a value with a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Styles {
    bits: u32,
    /// Whether a year of two digits is the last part, although it could be the first.
    is_year_last: bool,
}

impl Styles {
    /// Every style.
    pub const ALL: Styles = Styles::new(u32::MAX);
    /// `2024-12-31`
    pub const ISO: Styles = Styles::new(1 << Order::Year4MonthDay as u32);

    const fn new(bits: u32) -> Styles {
        Styles { bits, is_year_last: false }
    }

    /// Returns the styles that are in both sets.
    pub fn and(self, other: Styles) -> Styles {
        let is_year_last = self.is_year_last || other.is_year_last;
        Styles { bits: self.bits & other.bits, is_year_last }
    }

    /// Returns the same styles, of which one with the year in the last part is used if there is one.
    pub fn with_year_last(self) -> Styles {
        Styles { is_year_last: true, ..self }
    }

    /// Says which order is used, if others are possible.
    pub fn assumption(self) -> Option<&'static str> {
        let has = |order: Order| self.has(order);
        match self.order() {
            Order::DayMonthYear4 if has(Order::MonthDayYear4) => Some("the day before the month"),
            Order::DayMonthYear2 if has(Order::Year2MonthDay) && self.is_year_last => {
                Some("the day first and the year last")
            }
            Order::DayMonthYear2 if has(Order::MonthDayYear2) => Some("the day before the month"),
            Order::Year2MonthDay if has(Order::DayMonthYear2) => Some("the year first"),
            _ => None,
        }
    }

    /// Returns whether no style is left.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    fn has_style(self, order: Order, separator_idx: u32) -> bool {
        self.bits & (1 << (6 * separator_idx + order as u32)) != 0
    }

    fn has(self, order: Order) -> bool {
        (0..4).any(|separator_idx| self.has_style(order, separator_idx))
    }

    /// Returns the order that is used.
    fn order(self) -> Order {
        // With a two-digit year, dashes put it first (`24-12-31`), dots and slashes put it last.
        let is_last = |separator_idx| self.has_style(Order::DayMonthYear2, separator_idx);
        if is_last(1) || is_last(2) || (self.is_year_last && self.has(Order::DayMonthYear2)) {
            return Order::DayMonthYear2;
        }
        ORDERS.into_iter().find(|order| self.has(*order)).unwrap_or(Order::Year4MonthDay)
    }
}

/// The first and last parts of the dates of a column in which a year of two digits may be either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YearParts {
    /// A bit for each number that occurs.
    first: u128,
    last: u128,
}

impl YearParts {
    /// The parts before the first date.
    pub const NONE: YearParts = YearParts { first: 0, last: 0 };

    /// Takes a date into account.
    pub fn observe(&mut self, moment: &Moment<'_>) {
        if let Some(Date { parts: [first @ 0..100, _, last @ 0..100], .. }) = moment.date {
            self.first |= 1 << first;
            self.last |= 1 << last;
        }
    }

    /// Returns whether the last part is more likely the year: years vary less than days. If it is
    /// always 1, dates are the first days of months. 30 and 31 are more likely days than years.
    pub fn is_year_last(self) -> bool {
        const FIRST_DAY: u128 = 1 << 1;
        const LAST_DAYS: u128 = 1 << 30 | 1 << 31;
        self.last.count_ones() < self.first.count_ones()
            && self.last != FIRST_DAY
            && self.last & LAST_DAYS == 0
    }
}

/// A date, a time or both.
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
    /// The digits after the decimal point of the second.
    fraction: &'a str,
    zone: Zone<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zone<'a> {
    /// The offset from UTC in minutes, positive to the east.
    offset: Option<i16>,
    /// `CET`, `Europe/Berlin` or, after an offset, `[Europe/Berlin]`. Its offset is not known here.
    name: &'a str,
}

impl Zone<'_> {
    const NONE: Zone<'static> = Zone { offset: None, name: "" };
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

/// If a column matches several orders, the first of these wins, as in DuckDB: most of the world
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

/// The longest date or time.
const MAX_BYTES: usize = 48;

impl<'a> Moment<'a> {
    /// Parses a text without surrounding spaces.
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
            // A time with a zone but without a date is text, as in DuckDB.
            let is_local = time.zone == Zone::NONE;
            return is_local.then_some(Moment { date: None, time: Some(time) });
        }
        let date = before.strip_suffix(['T', 't', ' '])?;
        Some(Moment { date: Some(Date::parse(date.trim_end())?), time: Some(Time::parse(time)?) })
    }

    /// Returns whether it is a date, a time or both.
    pub fn shape(&self) -> MomentKind {
        match (self.date, self.time) {
            (Some(_), Some(_)) => MomentKind::Timestamp,
            (Some(_), None) => MomentKind::Date,
            (None, _) => MomentKind::Time,
        }
    }

    /// Returns the styles that match its date; every style if it has none.
    pub fn styles(&self) -> Styles {
        self.date.map_or(Styles::ALL, |date| date.styles)
    }

    /// Formats it as ISO 8601, with its date in one of those styles.
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
        match time.zone.offset {
            None => {}
            Some(0) => iso.push('Z'),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                let _ = write!(iso, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            }
        }
        if time.zone.offset.is_none() && !time.zone.name.is_empty() {
            iso.push(' ');
        }
        iso + time.zone.name
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
        (styles != 0).then_some(Date { parts, styles: Styles::new(styles) })
    }

    /// Returns year, month and day.
    fn in_style(self, styles: Styles) -> [u16; 3] {
        let both = self.styles.and(styles);
        let styles = if both.is_empty() { self.styles } else { both };
        styles.order().arrange(self.parts)
    }
}

impl Order {
    /// Returns the parts as year, month and day.
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
    /// Parses `9:30`, `09:30:00.25` or `9:30 PM`, with an optional zone.
    fn parse(text: &'a str) -> Option<Time<'a>> {
        let (hour, hour_width, rest) = number(text)?;
        let (minute, minute_width, rest) = number(rest.strip_prefix(':')?)?;
        let mut time = Time { hour, minute, second: 0, fraction: "", zone: Zone::NONE };
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
        let is_half = !rest.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic);
        let half = rest.get(..2).filter(|_| is_half).map(str::to_ascii_uppercase);
        if let Some(half @ ("AM" | "PM")) = half.as_deref() {
            if !(1..=12).contains(&hour) {
                return None;
            }
            time.hour = hour % 12 + if half == "PM" { 12 } else { 0 };
            rest = rest[2..].trim_start();
        }
        if !rest.is_empty() {
            time.zone = Zone::parse(rest)?;
        }
        Some(time)
    }
}

/// Abbreviations of time zones. Some have several meanings, so they are kept as written.
const ZONE_NAMES: &[&str] = &[
    "ACDT", "ACST", "ADT", "AEDT", "AEST", "AKDT", "AKST", "AST", "AWST", "BRT", "BST", "CDT",
    "CEST", "CET", "CST", "EAT", "EDT", "EEST", "EET", "EST", "HKT", "HST", "IDT", "IST", "JST",
    "KST", "MDT", "MESZ", "MEZ", "MSK", "MST", "NDT", "NST", "NZDT", "NZST", "PDT", "PKT", "PST",
    "SAST", "SGT", "WAT", "WEST", "WET", "WIB",
];

impl<'a> Zone<'a> {
    /// Parses an offset, a name, or an offset with a name in brackets.
    fn parse(text: &'a str) -> Option<Zone<'a>> {
        if let Some(at) = text.find('[') {
            let (offset, name) = text.split_at(at);
            let is_place = name[1..].strip_suffix(']').is_some_and(is_place_or_utc);
            return is_place.then_some(Zone { offset: Some(zone(offset)?), name });
        }
        if ZONE_NAMES.contains(&text) || is_place(text) {
            return Some(Zone { offset: None, name: text });
        }
        Some(Zone { offset: Some(zone(text)?), name: "" })
    }
}

fn is_place_or_utc(text: &str) -> bool {
    is_place(text) || matches!(text, "UTC" | "GMT" | "Z")
}

/// Returns whether a text is like `America/New_York`.
fn is_place(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+".contains(&byte);
        part.starts_with(|c: char| c.is_ascii_uppercase()) && part.bytes().all(is_inside)
    };
    text.contains('/') && text.split('/').all(is_part)
}

/// Parses `Z`, `UTC`, `+02`, `+0200` or `-05:30` as an offset in minutes.
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

/// Parses one to four digits. Returns the number, the count of digits and the rest.
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
