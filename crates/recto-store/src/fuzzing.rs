//! Internals that only the fuzz targets use: parsers of untrusted bytes.

pub use crate::git::revision::{Base, Peel, Revision, RevisionStep};
pub use crate::local::ignored::rules::RuleSet;
