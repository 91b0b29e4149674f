//! Dates that a caller gives: days, times, and times relative to now. Without a zone they are UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Zoned;
use jiff::tz::TimeZone;

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

/// Returns the start of a day, or a time, in seconds since 1970.
pub fn start(text: &str) -> Option<i64> {
    parse(text.trim())
}

/// Returns the end of a day, or a time, in seconds since 1970.
pub fn end(text: &str) -> Option<i64> {
    let text = text.trim();
    let is_day = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_day = is_day && text.contains('-');
    parse(text).map(|time| if is_day { time + SECONDS_OF_DAY - 1 } else { time })
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
        ] {
            assert_eq!((start(text), end(text)), (Some(first), Some(last)), "{text}");
        }
        let (recent, old) = (start("2 weeks ago").unwrap_or(0), start("2 years ago").unwrap_or(0));
        assert!(recent > old && old > 1_704_164_645);
        assert_eq!((start("soon"), end("31.01.2024x")), (None, None));
    }
}
