//! Parsers of untrusted bytes, exported for the fuzz targets.

pub use crate::git::revision::{Base, Peel, Revision, RevisionStep};
pub use crate::local::ignored::rules::RuleSet;
