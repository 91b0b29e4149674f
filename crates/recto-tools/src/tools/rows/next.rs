//! How a caller gets the lines that did not fit into an answer.

use std::fmt;

/// How to get the remaining lines.
#[derive(Debug, PartialEq, Eq)]
pub enum NextLines {
    /// The `lines` argument for them.
    Lines(String),
    /// The caller's own, long argument, followed by ` from ` and this line, from 1.
    SameFrom(u64),
}

impl fmt::Display for NextLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NextLines::Lines(lines) => write!(f, "continue with lines {lines}"),
            NextLines::SameFrom(line) => {
                write!(f, "continue with the same lines, followed by \" from {line}\"")
            }
        }
    }
}
