//! Paths inside the roots that the `--deny` patterns hide.

use std::path::{Path, PathBuf};

use super::letter_case::folded_text;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Paths that are rejected as if they were outside the roots.
#[derive(Debug, Clone, Default)]
pub struct HiddenPaths {
    /// More directories that relative patterns start from, besides the roots.
    bases: Vec<PathBuf>,
    /// Patterns matched against paths relative to a root.
    globs: GlobSet,
    /// Patterns that start with `/`. They are matched against absolute paths as well, because a
    /// shell completes paths that way.
    absolute_globs: GlobSet,
    /// The same patterns and paths in folded form, for directories that ignore case.
    folded: Option<Box<HiddenPaths>>,
}

impl HiddenPaths {
    /// Parses globs. A glob without `/` matches a name at any depth, one with `/` matches from the
    /// root. A hidden directory hides everything in it.
    pub fn parse(patterns: &[String]) -> Result<HiddenPaths, globset::Error> {
        // Most servers hide nothing and need no glob matcher.
        if patterns.is_empty() {
            return Ok(HiddenPaths::default());
        }
        let folded: Vec<_> = patterns.iter().map(|pattern| folded_text(pattern)).collect();
        let folded = Some(Box::new(HiddenPaths::compile(&folded)?));
        Ok(HiddenPaths { folded, ..HiddenPaths::compile(patterns)? })
    }

    fn compile(patterns: &[String]) -> Result<HiddenPaths, globset::Error> {
        let mut globs = GlobSetBuilder::new();
        let mut absolute_globs = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.trim_end_matches('/');
            let anchored = match pattern.strip_prefix('/') {
                Some(rest) => {
                    absolute_globs.add(compile(pattern)?);
                    rest.to_string()
                }
                None if pattern.contains('/') => pattern.to_string(),
                None => format!("**/{pattern}"),
            };
            globs.add(compile(&anchored)?);
        }
        let (globs, absolute_globs) = (globs.build()?, absolute_globs.build()?);
        Ok(HiddenPaths { bases: Vec::new(), globs, absolute_globs, folded: None })
    }

    /// Returns the same patterns, which also start from these canonical paths. For a store that
    /// serves only a part of the directories that the patterns were written for.
    pub fn starting_from(self, bases: Vec<PathBuf>) -> HiddenPaths {
        HiddenPaths { bases, ..self }
    }

    /// Returns the directories, besides the roots, that relative patterns start from.
    pub fn bases(&self) -> &[PathBuf] {
        &self.bases
    }

    /// Returns the patterns for paths in folded form.
    pub fn folded(&self) -> &HiddenPaths {
        self.folded.as_deref().unwrap_or(self)
    }

    /// Returns whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty() && self.absolute_globs.is_empty()
    }

    /// Returns whether a pattern that starts with `/` hides an absolute path.
    pub fn contains_absolute(&self, path: &Path) -> bool {
        !self.absolute_globs.is_empty()
            && path.ancestors().any(|path| self.absolute_globs.is_match(path))
    }

    /// Returns whether a path relative to its root, or one of its parents, is hidden.
    pub fn contains(&self, relative: &Path) -> bool {
        !self.globs.is_empty()
            && relative.ancestors().any(|path| path != Path::new("") && self.globs.is_match(path))
    }
}

fn compile(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()
}
