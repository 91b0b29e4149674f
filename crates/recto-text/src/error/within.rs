//! How an error reads that happened in one of several edits.

use super::Error;
use crate::quote::Quoted;

impl Error {
    /// The message as it reads after "Edit 1: ", where two are shorter.
    pub(super) fn within_an_edit(&self) -> String {
        match self {
            Error::StringNotFound { old_string, .. } => {
                format!("String not found: {}", Quoted(old_string))
            }
            Error::AmbiguousString { n_matches, old_string, .. } => {
                format!("String appears {n_matches} times: {}", Quoted(old_string))
            }
            other => other.to_string(),
        }
    }
}
