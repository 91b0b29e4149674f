//! Measurements as numbers, numbers as text, text as a Markdown table.

use std::fmt;
use std::time::Duration;

use crate::goals::Goal;
use crate::rounds::Sample;

/// All rounds of one row.
#[derive(Default)]
pub struct Measured {
    times: Vec<Duration>,
    n_bytes: Option<usize>,
}

impl Measured {
    pub fn add(&mut self, sample: Sample) {
        self.times.push(sample.time);
        self.n_bytes = sample.n_bytes;
    }

    /// The row as it is printed; the answer is the last round's.
    pub fn cells(mut self, what: &str, remark: &str, goal: Option<Goal>) -> [String; 6] {
        self.times.sort();
        let median = percentile(&self.times, 50);
        [
            format!("{what}{remark}"),
            milliseconds(median),
            milliseconds(percentile(&self.times, 99)),
            goal.map(|goal| goal.beside_time(Some(median))).unwrap_or_default(),
            self.times.len().to_string(),
            self.n_bytes.map(|n_bytes| format!("{} B", grouped(n_bytes))).unwrap_or_default(),
        ]
    }
}

/// The time in the middle.
pub fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    percentile(&times, 50)
}

/// The smallest time that `percent` of all times do not exceed.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Milliseconds with three digits that mean something.
pub fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    let n_decimals = match milliseconds {
        ..1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{milliseconds:.n_decimals$} ms")
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

/// A Markdown table: the first column is text, the others are numbers.
pub struct Table<const N: usize> {
    /// The headings first.
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub fn new(headings: [&str; N]) -> Table<N> {
        Table { rows: vec![headings.map(str::to_string)] }
    }

    pub fn add(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: [usize; N] = std::array::from_fn(width);
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(f, "| {cell:width$} |")?,
                    _ => write!(f, " {cell:>width$} |")?,
                }
            }
            writeln!(f)?;
            if index == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    match column {
                        0 => write!(f, "| {:-<width$} |", "")?,
                        _ => write!(f, " {:->width$}: |", "", width = width - 1)?,
                    }
                }
                writeln!(f)?;
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
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times[..5], 99), Duration::from_millis(5));
    }

    #[test]
    fn numbers_can_be_read() {
        assert_eq!(milliseconds(Duration::from_micros(123)), "0.123 ms");
        assert_eq!(milliseconds(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!([grouped(999), grouped(1_234_567)], ["999", "1,234,567"]);
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["what", "n"]);
        table.add(["größer".into(), "10".into()]);
        assert_eq!(table.to_string(), "| what   |  n |\n| ------ | -: |\n| größer | 10 |\n");
    }
}
