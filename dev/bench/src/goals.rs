//! The goals. Each is defined once, even if several tables show it; times are medians.

use std::time::Duration;

use recto_dev::table::grouped;

/// An upper limit.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    most: f64,
    unit: &'static str,
    /// Whether the limit itself is excluded.
    is_below: bool,
}

pub const START: Goal = Goal::at_most(4.0, "ms");
pub const START_AND_READ: Goal = Goal::at_most(10.0, "ms");
pub const READ_2_KB: Goal = Goal::at_most(0.15, "ms");
pub const READ_1_MB: Goal = Goal::at_most(4.0, "ms");
pub const FIRST_PAGE: Goal = Goal::at_most(90.0, "ms");
pub const NEXT_PAGE: Goal = Goal::at_most(0.3, "ms");
pub const CREATE_1_MB: Goal = Goal::below(100.0, "ms");
pub const WRITE_1_MB: Goal = Goal::at_most(6.0, "ms");
pub const EDIT_1_MB: Goal = Goal::at_most(8.0, "ms");
pub const EDITS_IN_100_LINES: Goal = Goal::below(500.0, "ms");
pub const EDITS_IN_1_MB: Goal = Goal::at_most(10.0, "ms");
pub const MISS: Goal = Goal::at_most(50.0, "ms");
pub const LIST_20_000: Goal = Goal::at_most(40.0, "ms");
pub const TOOLS: Goal = Goal::below(3500.0, "tokens");
pub const TEXT_OF_A_MISS: Goal = Goal::at_most(300.0, "tokens");
pub const IDLE: Goal = Goal::at_most(7.0, "MB");
pub const PEAK: Goal = Goal::at_most(48.0, "MB");

impl Goal {
    const fn at_most(most: f64, unit: &'static str) -> Goal {
        Goal { most, unit, is_below: false }
    }

    const fn below(most: f64, unit: &'static str) -> Goal {
        Goal { most, unit, is_below: true }
    }

    /// Returns how many times over the limit a measurement is, if it misses the goal.
    pub fn missed_by(self, measured: f64) -> Option<f64> {
        let is_missed = if self.is_below { measured >= self.most } else { measured > self.most };
        is_missed.then(|| measured / self.most)
    }

    /// Formats the goal for a table, in the unit of the measurement.
    pub fn beside(self, measured: f64) -> String {
        let sign = if self.is_below { "<" } else { "≤" };
        let most = match self.most {
            1000.0.. => grouped(self.most as usize),
            most => most.to_string(),
        };
        let suffix = if self.missed_by(measured).is_some() { ", missed" } else { "" };
        format!("{sign} {most} {}{suffix}", self.unit)
    }

    /// The same for a time, if there is one.
    pub fn beside_time(self, measured: Option<Duration>) -> String {
        self.beside(measured.map_or(f64::INFINITY, |time| time.as_secs_f64() * 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_is_marked() {
        assert_eq!(READ_2_KB.beside(0.15), "≤ 0.15 ms");
        assert_eq!(READ_2_KB.beside(0.193), "≤ 0.15 ms, missed");
        assert_eq!(CREATE_1_MB.beside(100.0), "< 100 ms, missed");
        assert_eq!(START.beside_time(None), "≤ 4 ms, missed");
        assert_eq!(TOOLS.beside(3008.0), "< 3,500 tokens");
    }
}
