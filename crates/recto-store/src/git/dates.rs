//! Dates that a caller gives: years, days, times, and times relative to now. Without a zone they are
//! UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Zoned;
use jiff::civil::Date;
use jiff::tz::TimeZone;

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

/// The least plain number that is a time in seconds since 1970, which is in 1973. Less is rather a
/// misspelled date.
const MIN_SECONDS: i64 = 100_000_000;

/// Returns the start of a year or a day, or a time, in seconds since 1970.
pub fn start(text: &str) -> Option<i64> {
    let text = text.trim();
    match is_number(text) {
        true => number(text).map(|(first, _)| first),
        false => parse(text),
    }
}

/// Returns the end of a year or a day, or a time, in seconds since 1970.
pub fn end(text: &str) -> Option<i64> {
    let text = text.trim();
    if is_number(text) {
        return number(text).map(|(_, last)| last);
    }
    let is_day = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_day = is_day && text.contains('-');
    parse(text).map(|time| if is_day { time + SECONDS_OF_DAY - 1 } else { time })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the first and the last second of a plain number: a year, a day as `YYYYMMDD`, or seconds
/// since 1970.
fn number(text: &str) -> Option<(i64, i64)> {
    let number: i64 = text.parse().ok()?;
    let date = |year: i64, month: i64, day: i64| {
        Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
    };
    let start = |date: Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second());
    match text.len() {
        4 => {
            let last = start(date(number, 12, 31)?)? + SECONDS_OF_DAY - 1;
            Some((start(date(number, 1, 1)?)?, last))
        }
        8 => {
            let first = start(date(number / 10_000, number / 100 % 100, number % 100)?)?;
            Some((first, first + SECONDS_OF_DAY - 1))
        }
        _ => (number >= MIN_SECONDS).then_some((number, number)),
    }
}

fn parse(text: &str) -> Option<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let now = jiff::Timestamp::from_second(now.as_secs() as i64).ok()?;
    let now: Zoned = now.to_zoned(TimeZone::UTC);
    // Also accept ISO 8601 without a zone, and with Z.
    let utc = || {
        let text = text.trim_end_matches('Z').replace('T', " ");
        gix_date::parse(&format!("{text} +0000"), None).ok()
    };
    let time = gix_date::parse(text, Some(now)).ok().or_else(utc);
    time.map(|time| time.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_utc() {
        for (text, first, last) in [
            ("2024-01-02", 1_704_153_600, 1_704_239_999),
            ("2024-01-02 03:04:05", 1_704_164_645, 1_704_164_645),
            ("2024-01-02T03:04:05Z", 1_704_164_645, 1_704_164_645),
            ("2024-01-02T03:04:05", 1_704_164_645, 1_704_164_645),
            ("2024-01-02T03:04:05+01:00", 1_704_161_045, 1_704_161_045),
            ("1704164645", 1_704_164_645, 1_704_164_645),
            ("100000000", 100_000_000, 100_000_000),
            ("20240102", 1_704_153_600, 1_704_239_999),
            ("2024", 1_704_067_200, 1_735_689_599),
            (" 1970 ", 0, 31_535_999),
        ] {
            assert_eq!((start(text), end(text)), (Some(first), Some(last)), "{text}");
        }
        let (recent, old) = (start("2 weeks ago").unwrap_or(0), start("2 years ago").unwrap_or(0));
        assert!(recent > old && old > 1_704_164_645);
        assert_eq!((start("soon"), end("31.01.2024x")), (None, None));
        for text in ["", "0", "202", "20220", "202201", "20221301", "20220230", "99999999"] {
            assert_eq!((start(text), end(text)), (None, None), "{text}");
        }
    }
}
