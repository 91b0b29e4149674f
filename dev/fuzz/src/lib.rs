//! What must hold for any input whatever. Each target is a function from bytes to a panic or
//! nothing; libFuzzer and the replay of the corpora run the same ones.
//!
//! Finding inputs is left to libFuzzer, making the first ones to [`seeds`].

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
