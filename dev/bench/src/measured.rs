//! The rounds of one row, as the row that is printed.

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

    /// The row as it is printed; the answer is the last round's.
    pub fn cells(self, what: &str, remark: &str, goal: Option<Goal>) -> [String; 6] {
        let median = median(&self.times);
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
