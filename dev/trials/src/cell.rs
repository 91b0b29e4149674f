//! The result of one server in one row of the table, and whether it meets the goal.

use std::fmt;

/// One cell.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    Missed,
    /// Not judged: another server, or a trial that cannot run here.
    None,
}

impl Cell {
    /// Creates a result that meets the goal or not.
    pub fn new(is_met: bool, text: impl Into<String>) -> Cell {
        Cell { text: text.into(), verdict: if is_met { Verdict::Met } else { Verdict::Missed } }
    }

    /// Creates a result without a goal.
    pub fn unjudged(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), verdict: Verdict::None }
    }

    /// Creates the result of a trial that cannot run on this machine.
    pub fn skipped(why: impl fmt::Display) -> Cell {
        Cell::unjudged(format!("skipped: {why}"))
    }

    /// Creates an empty cell.
    pub fn none() -> Cell {
        Cell::unjudged("–")
    }

    pub fn is_missed(&self) -> bool {
        self.verdict == Verdict::Missed
    }

    /// Keeps the result and drops the judgement.
    pub fn withhold_judgement(&mut self) {
        self.verdict = Verdict::None;
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line break or a bar would end the cell.
        let text = self.text.replace(['\n', '\r'], " ").replace('|', "/");
        match self.verdict {
            Verdict::Met => write!(f, "ok: {text}"),
            Verdict::Missed => write!(f, "FAILS: {text}"),
            Verdict::None => f.write_str(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_judged_cell_can_be_missed() {
        let mut cell = Cell::new(false, "1 of 3\n| torn");
        assert_eq!((cell.is_missed(), cell.to_string().as_str()), (true, "FAILS: 1 of 3 / torn"));
        cell.withhold_judgement();
        assert_eq!((cell.is_missed(), cell.to_string().as_str()), (false, "1 of 3 / torn"));
        assert!(!Cell::skipped("no strace").is_missed());
        assert_eq!(Cell::new(true, "0").to_string(), "ok: 0");
    }
}
