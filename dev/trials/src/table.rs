//! A Markdown table, and numbers that can be read.

use std::fmt;
use std::time::Duration;

/// The smallest time that `percent` of all times do not exceed.
pub fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// A time as milliseconds.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Rows of text under headings.
pub struct Table {
    /// The headings first.
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headings: Vec<String>) -> Table {
        Table { rows: vec![headings] }
    }

    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, row) in self.rows.iter().enumerate() {
            writeln!(f, "| {} |", row.join(" | "))?;
            if index == 0 {
                writeln!(f, "|{}", "---|".repeat(row.len()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let mut times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&mut times[..5], 99), Duration::from_millis(5));
        assert_eq!(percentile(&mut [], 99), Duration::ZERO);
    }

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new(vec!["what".into(), "n".into()]);
        table.add(vec!["größer".into(), grouped(1_234_567)]);
        assert_eq!(table.to_string(), "| what | n |\n|---|---|\n| größer | 1,234,567 |\n");
    }
}
