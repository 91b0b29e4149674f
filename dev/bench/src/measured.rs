//! Collects the rounds of a row and formats it.

use std::time::Duration;

use recto_dev::table::{grouped, median, milliseconds, percentile};

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

    /// Formats the row; the answer is that of the last round.
    pub fn cells(self, what: &str, suffix: &str, goal: Option<Goal>) -> [String; 6] {
        let median = median(&self.times);
        [
            format!("{what}{suffix}"),
            milliseconds(median),
            milliseconds(percentile(&self.times, 99)),
            goal.map(|goal| goal.beside_time(Some(median))).unwrap_or_default(),
            self.times.len().to_string(),
            self.n_bytes.map(|n_bytes| format!("{} B", grouped(n_bytes))).unwrap_or_default(),
        ]
    }
}
