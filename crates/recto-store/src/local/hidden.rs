//! Paths inside the roots that nobody is to see, by the patterns of `--deny`.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Paths that answer as if they lay outside the roots.
#[derive(Debug, Clone, Default)]
pub struct HiddenPaths {
    /// Matched against paths relative to a root.
    globs: GlobSet,
    /// The patterns that start with `/`, matched against whole paths as well: whoever writes one
    /// as a shell completes it means that.
    absolute_globs: GlobSet,
}

impl HiddenPaths {
    /// A glob without `/` matches a name anywhere; one with `/` matches from the root on. What
    /// lies beneath a hidden folder is hidden too.
    pub fn parse(patterns: &[String]) -> Result<HiddenPaths, globset::Error> {
        // Most servers hide nothing, and need not start what matches patterns.
        if patterns.is_empty() {
            return Ok(HiddenPaths::default());
        }
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
        Ok(HiddenPaths { globs: globs.build()?, absolute_globs: absolute_globs.build()? })
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty() && self.absolute_globs.is_empty()
    }

    /// Whether a whole path is hidden by a pattern that was written as one.
    pub fn contains_absolute(&self, path: &Path) -> bool {
        !self.absolute_globs.is_empty()
            && path.ancestors().any(|path| self.absolute_globs.is_match(path))
    }

    /// Whether a path relative to its root is hidden, by itself or by a folder above it.
    pub fn contains(&self, relative: &Path) -> bool {
        !self.globs.is_empty()
            && relative.ancestors().any(|path| path != Path::new("") && self.globs.is_match(path))
    }
}

fn compile(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()
}
