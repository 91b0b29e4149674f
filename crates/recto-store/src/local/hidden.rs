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

/// A pattern that could hide nothing.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// A pattern that is not a glob.
    #[error("{0}")]
    Glob(#[from] globset::Error),
    /// A pattern with `..`, which no path contains.
    #[error("{pattern}: a pattern cannot contain ..")]
    ParentDir {
        /// The pattern.
        pattern: String,
    },
    /// A pattern that names the root itself.
    #[error("{pattern:?}: a pattern must name something below a root")]
    Empty {
        /// The pattern.
        pattern: String,
    },
}

impl HiddenPaths {
    /// Parses globs. A glob without `/` matches a name at any depth, one with `/` matches from the
    /// root. A hidden directory hides everything in it.
    pub fn parse(patterns: &[String]) -> Result<HiddenPaths, PatternError> {
        // Most servers hide nothing and need no glob matcher.
        if patterns.is_empty() {
            return Ok(HiddenPaths::default());
        }
        let mut all = Vec::new();
        for pattern in patterns {
            let pattern = normalized(pattern)?;
            all.extend(canonical(&pattern).filter(|canonical| *canonical != pattern));
            all.push(pattern);
        }
        let folded: Vec<_> = all.iter().map(|pattern| folded_text(pattern)).collect();
        let folded = Some(Box::new(HiddenPaths::compile(&folded)?));
        Ok(HiddenPaths { folded, ..HiddenPaths::compile(&all)? })
    }

    fn compile(patterns: &[String]) -> Result<HiddenPaths, PatternError> {
        let mut globs = GlobSetBuilder::new();
        let mut absolute_globs = GlobSetBuilder::new();
        for pattern in patterns {
            let anchored = match pattern.strip_prefix('/') {
                Some(rest) => {
                    absolute_globs.add(compile(pattern)?);
                    rest.to_string()
                }
                None => match pattern.strip_prefix("./") {
                    Some(rest) => rest.to_string(),
                    None if pattern.contains('/') => pattern.to_string(),
                    None => format!("**/{pattern}"),
                },
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

/// Removes what no path contains: empty components and `.`, except at the start, where it means that
/// the pattern matches from the root.
fn normalized(pattern: &str) -> Result<String, PatternError> {
    let parts: Vec<&str> =
        pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(PatternError::ParentDir { pattern: pattern.into() });
    }
    if parts.is_empty() {
        return Err(PatternError::Empty { pattern: pattern.into() });
    }
    let start = match pattern {
        _ if pattern.starts_with('/') => "/",
        _ if pattern.starts_with("./") => "./",
        _ => "",
    };
    Ok(format!("{start}{}", parts.join("/")))
}

/// Returns an absolute pattern with the links above its last component resolved, because paths are
/// compared in canonical form. Directories from the first wildcard on stay as they are.
fn canonical(pattern: &str) -> Option<String> {
    let is_wild = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.strip_prefix('/')?.split('/').collect();
    let n_literal = parts.iter().position(|part| is_wild(part)).unwrap_or(parts.len());
    let n_dirs = n_literal.min(parts.len() - 1);
    (1..=n_dirs).rev().find_map(|n_dirs| {
        let dir = PathBuf::from(format!("/{}", parts[..n_dirs].join("/"))).canonicalize().ok()?;
        let dir = globset::escape(dir.to_str()?);
        Some(format!("{}/{}", dir.trim_end_matches('/'), parts[n_dirs..].join("/")))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn hidden(pattern: &str) -> HiddenPaths {
        HiddenPaths::parse(&[pattern.to_string()]).unwrap()
    }

    #[test]
    fn a_pattern_hides_the_same_however_it_is_spelled() {
        for (pattern, hides, leaves) in [
            ("./secret.txt", "secret.txt", "sub/secret.txt"),
            ("./sub/", "sub/x", "other/sub/x"),
            ("sub//secret.txt", "sub/secret.txt", "secret.txt"),
            ("sub/./secret.txt", "sub/secret.txt", "secret.txt"),
            ("/./secret.txt", "secret.txt", "sub/secret.txt"),
            ("secret.txt", "sub/secret.txt", "secret"),
        ] {
            assert!(hidden(pattern).contains(Path::new(hides)), "{pattern}");
            assert!(!hidden(pattern).contains(Path::new(leaves)), "{pattern}");
        }
        for pattern in ["sub/../secret.txt", "..", "/", "./", ""] {
            assert!(HiddenPaths::parse(&[pattern.to_string()]).is_err(), "{pattern:?}");
        }
    }

    #[test]
    fn links_in_an_absolute_pattern_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real [1]");
        std::fs::create_dir(&real).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        for below in ["secret.txt", "*.txt", "not/there/secret.txt"] {
            let hidden = hidden(link.join(below).to_str().unwrap());
            assert!(hidden.contains_absolute(&real.join(below.replace('*', "a"))), "{below}");
        }
    }
}
