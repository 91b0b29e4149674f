//! Fuzz targets. Each is a function that panics if an invariant does not hold for its input.
//! libFuzzer and the replay of the corpora call the same functions.
//!
//! [`seeds`] makes the first inputs, libFuzzer finds more, and [`corpus`] stores them.

pub mod document;

pub mod lines;

pub mod edits;

pub mod tools;

pub mod acp;

pub mod mcp;

pub mod tables;

pub mod git;

pub mod corpus;

pub mod seeds;

mod fields;

mod limits;

pub use limits::run;

/// A target.
pub type Check = fn(&[u8]);

/// Every target, by the name of its program and its corpus.
pub const TARGETS: &[(&str, Check)] = &[
    ("document", document::check),
    ("lines", lines::check),
    ("edits", edits::check),
    ("tools", tools::check),
    ("acp", acp::check),
    ("mcp", mcp::check),
    ("tables", tables::check),
    ("git", git::check),
];
