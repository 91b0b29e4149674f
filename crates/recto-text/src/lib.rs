//! Text as recto sees it: what a line is, how bytes become text and back, where a string
//! stands, how edits apply and what they look like as a diff.
//!
//! Everything here decides or computes. Nothing here touches a file, a clock, a thread or a
//! protocol, so every rule can be tested with a string.

pub mod error;

pub mod line;

pub mod line_range;

pub mod line_spec;

pub mod encoding;

pub mod document;

pub mod digest;

pub mod window;

pub mod search;

pub mod find;

pub mod edits;

pub mod plan;

pub mod diff;

pub mod nearest;

pub mod quote;

pub use digest::Digest;
pub use document::Document;
pub use edits::Edits;
pub use encoding::Encoding;
pub use error::{Error, Result};
