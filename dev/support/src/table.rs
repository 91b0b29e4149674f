//! Times and counts as text, and text as a Markdown table.

use std::fmt;
use std::time::Duration;

/// Returns the smallest of the times that at least `percent` of them do not exceed.
pub fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Returns the time in the middle.
pub fn median(times: &[Duration]) -> Duration {
    percentile(times, 50)
}

/// Formats a time as milliseconds with three significant digits.
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

/// Formats `1234567` as `1,234,567`.
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

/// A Markdown table.
pub struct Table {
    /// The headings first.
    rows: Vec<Vec<String>>,
    is_aligned: bool,
}

impl Table {
    /// A table of a text column and number columns, which are padded and aligned to the right.
    pub fn of_numbers<T: Into<String>>(headings: impl IntoIterator<Item = T>) -> Table {
        Table { is_aligned: true, ..Table::of_text(headings) }
    }

    /// A table of text columns, whose source is not aligned because cells may be long.
    pub fn of_text<T: Into<String>>(headings: impl IntoIterator<Item = T>) -> Table {
        Table { rows: vec![headings.into_iter().map(T::into).collect()], is_aligned: false }
    }

    /// Adds a row, which must have as many cells as there are headings.
    pub fn add(&mut self, cells: impl Into<Vec<String>>) {
        let cells = cells.into();
        assert_eq!(cells.len(), self.rows[0].len(), "a row has other columns: {cells:?}");
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_aligned {
            writeln!(f, "| {} |", self.rows[0].join(" | "))?;
            writeln!(f, "|{}", "---|".repeat(self.rows[0].len()))?;
            return self.rows[1..]
                .iter()
                .try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")));
        }
        let widths: Vec<_> = (0..self.rows[0].len()).map(|column| self.width(column)).collect();
        for (index, row) in self.rows.iter().enumerate() {
            write!(f, "| {:width$} |", row[0], width = widths[0])?;
            for (cell, &width) in row.iter().zip(&widths).skip(1) {
                write!(f, " {cell:>width$} |")?;
            }
            writeln!(f)?;
            if index == 0 {
                write!(f, "| {} |", "-".repeat(widths[0]))?;
                for width in &widths[1..] {
                    write!(f, " {}: |", "-".repeat(width - 1))?;
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
        let times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times[195..], 99), Duration::from_millis(5));
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(milliseconds(Duration::from_micros(123)), "0.123 ms");
        assert_eq!(milliseconds(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!([grouped(999), grouped(1_234_567)], ["999", "1,234,567"]);
    }

    #[test]
    fn number_columns_line_up() {
        let mut table = Table::of_numbers(["what", "n"]);
        table.add(["größer".into(), "10".into()]);
        assert_eq!(table.to_string(), "| what   |  n |\n| ------ | -: |\n| größer | 10 |\n");
    }

    #[test]
    fn text_columns_are_not_padded() {
        let mut table = Table::of_text(["what", "n"]);
        table.add(["größer".into(), "10".into()]);
        assert_eq!(table.to_string(), "| what | n |\n|---|---|\n| größer | 10 |\n");
    }
}
