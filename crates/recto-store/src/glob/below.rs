//! Patterns that also match everything below directories that match.

use super::{Glob, GlobPart, Language, MAX_PARTS};

impl Glob {
    /// Also matches everything below directories that match.
    pub fn with_below(mut self) -> Glob {
        if let Language::Parts(alternatives) = &mut self.language {
            let below: Vec<Vec<GlobPart>> = alternatives
                .iter()
                .filter(|parts| parts.len() < MAX_PARTS)
                .filter(|parts| !matches!(parts.last(), None | Some(GlobPart::AnyDirs)))
                .map(|parts| parts.iter().cloned().chain([GlobPart::AnyDirs]).collect())
                .collect();
            alternatives.extend(below);
        }
        self
    }
}
