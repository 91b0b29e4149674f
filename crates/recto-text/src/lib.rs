//! Text processing without I/O: lines, encodings, string search, edits and diffs.
//!
//! Nothing here uses files, clocks, threads or protocols; every rule can be tested with a string.

pub mod error;

pub mod line;

pub mod line_range;

pub mod line_spec;

pub mod encoding;

pub mod document;

pub mod digest;

pub mod size;

pub mod window;

pub mod search;

pub mod find;

pub mod edits;

pub mod plan;

pub mod diff;

pub mod line_diff;

pub mod nearest;

pub mod quote;

pub use digest::{Digest, Tag};
pub use document::Document;
pub use edits::Edits;
pub use encoding::Encoding;
pub use error::{Error, Result};
pub use size::Size;
