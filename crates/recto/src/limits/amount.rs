//! The value of a limit, written for people.

use std::time::Duration;

/// The value of a limit.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// A size in bytes.
    Bytes(u64),
    /// A number of items.
    Count(u64),
    /// A duration.
    Time(Duration),
}

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Amount::Bytes(n) if n >= 1 << 30 && n % (1 << 30) == 0 => write!(f, "{} GiB", n >> 30),
            Amount::Bytes(n) if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{} MiB", n >> 20),
            Amount::Bytes(n) if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{} KiB", n >> 10),
            Amount::Bytes(1) => f.write_str("1 byte"),
            Amount::Bytes(n) => write!(f, "{n} bytes"),
            Amount::Count(n) => {
                let digits = n.to_string();
                for (index, digit) in digits.chars().enumerate() {
                    if index > 0 && (digits.len() - index).is_multiple_of(3) {
                        f.write_str(",")?;
                    }
                    write!(f, "{digit}")?;
                }
                Ok(())
            }
            Amount::Time(time) if time.as_secs() >= DAY && time.as_secs().is_multiple_of(DAY) => {
                write!(f, "{} days", time.as_secs() / DAY)
            }
            Amount::Time(time) => write!(f, "{} s", time.as_secs_f32()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_for_people() {
        for (amount, expected) in [
            (Amount::Bytes(1 << 30), "1 GiB"),
            (Amount::Bytes(3 << 20), "3 MiB"),
            (Amount::Bytes(1000), "1000 bytes"),
            (Amount::Count(5_000_000), "5,000,000"),
            (Amount::Count(40), "40"),
            (Amount::Time(Duration::from_millis(1500)), "1.5 s"),
            (Amount::Time(Duration::from_secs(30 * DAY)), "30 days"),
        ] {
            assert_eq!(amount.to_string(), expected);
        }
    }
}
