//! Parsers of untrusted bytes, exported for the fuzz targets.

pub use crate::git::revision::{Base, MessagePattern, Peel, Revision, RevisionStep};
pub use crate::local::ignored::rules::RuleSet;
