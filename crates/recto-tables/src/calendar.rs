//! Formats dates and times of day as ISO 8601. Callers know the epoch of their values.

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;

/// Formats a day counted from 1970-01-01. Years beyond four digits have a sign.
pub fn date(day: i64) -> String {
    let (year, month, day) = civil(day);
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+05}-{month:02}-{day:02}"),
    }
}

/// Formats a time of day, with as many groups of three fractional digits as it needs.
pub fn time(nanos: i64) -> String {
    let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let whole = format!("{hour:02}:{minute:02}:{second:02}");
    match fraction {
        0 => whole,
        _ if fraction % 1_000_000 == 0 => format!("{whole}.{:03}", fraction / 1_000_000),
        _ if fraction % 1_000 == 0 => format!("{whole}.{:06}", fraction / 1_000),
        _ => format!("{whole}.{fraction:09}"),
    }
}

/// Formats ticks since midnight, with a sign before midnight.
pub fn duration(ticks: i64, n_per_second: i64) -> String {
    let (seconds, tick) =
        (ticks.unsigned_abs() / n_per_second as u64, ticks.unsigned_abs() % n_per_second as u64);
    let sign = if ticks < 0 { "-" } else { "" };
    let (hours, seconds) = (seconds / 3600, seconds % 3600);
    let rest =
        time(seconds as i64 * NANOS_PER_SECOND + tick as i64 * (NANOS_PER_SECOND / n_per_second));
    format!("{sign}{hours:02}{}", &rest[2..])
}

/// Formats a timestamp in ticks from 1970-01-01T00:00:00, with `n_per_second` ticks a second.
pub fn timestamp(ticks: i64, n_per_second: i64) -> String {
    let n_per_day = 86_400 * n_per_second;
    let (day, tick) = (ticks.div_euclid(n_per_day), ticks.rem_euclid(n_per_day));
    format!("{}T{}", date(day), time(tick * (NANOS_PER_SECOND / n_per_second)))
}

/// Formats a timestamp given as a day and nanoseconds, which may be outside that day.
pub fn timestamp_of_day(day: i64, nanos: i64) -> String {
    let day = day.saturating_add(nanos.div_euclid(NANOS_PER_DAY));
    format!("{}T{}", date(day), time(nanos.rem_euclid(NANOS_PER_DAY)))
}

/// Returns year, month and day in the proleptic Gregorian calendar.
///
/// Counts from 0000-03-01, so that leap days end their years, in eras of 400 years, which all have
/// the same number of days.
fn civil(day: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    let day = i128::from(day) + 719_468;
    let era = day.div_euclid(DAYS_PER_ERA.into()) as i64;
    let day_of_era = day.rem_euclid(DAYS_PER_ERA.into()) as i64;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_iso_8601() {
        for (day, shown) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (-719_468, "0000-03-01"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (i64::from(i32::MAX), "+5881580-07-11"),
        ] {
            assert_eq!(date(day), shown);
        }
        date(i64::MIN);
        date(i64::MAX);
    }

    #[test]
    fn times_outside_their_day_are_readable() {
        for (ticks, n_per_second, shown) in [
            (-1, 1_000, "-00:00:00.001"),
            (-3_600_000_000, 1_000_000, "-01:00:00"),
            (86_400_000, 1_000, "24:00:00"),
            (90_061_000, 1_000, "25:01:01"),
        ] {
            assert_eq!(duration(ticks, n_per_second), shown);
        }
        duration(i64::MIN, 1_000);
    }

    #[test]
    fn moments_have_the_digits_they_need() {
        for (ticks, n_per_second, shown) in [
            (0, 1_000, "1970-01-01T00:00:00"),
            (-1, 1_000, "1969-12-31T23:59:59.999"),
            (1_706_704_496_000_001, 1_000_000, "2024-01-31T12:34:56.000001"),
            (1_706_704_496_120_000, 1_000_000, "2024-01-31T12:34:56.120"),
            (i64::MIN, 1_000_000_000, "1677-09-21T00:12:43.145224192"),
            (i64::MAX, 1_000_000_000, "2262-04-11T23:47:16.854775807"),
        ] {
            assert_eq!(timestamp(ticks, n_per_second), shown);
        }
        timestamp(i64::MIN, 1_000);
        assert_eq!(timestamp_of_day(0, -1), "1969-12-31T23:59:59.999999999");
        assert_eq!(timestamp_of_day(i64::MIN, i64::MIN).chars().last(), Some('2'));
    }
}
