//! Absolute paths, parsed from the caller's spelling.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// An absolute path without NUL, and the caller's spelling of it.
///
/// The store checks whether it is inside the roots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsPath {
    given: String,
    absolute: PathBuf,
}

impl AbsPath {
    /// Parses an absolute path. Rejects relative paths and paths with NUL.
    pub fn parse(given: String) -> Result<AbsPath> {
        reject_nul(&given)?;
        if !given.starts_with('/') {
            return Err(Error::RelativePath { path: given, root: None });
        }
        Ok(AbsPath { absolute: PathBuf::from(&given), given })
    }

    /// Parses an absolute path. The error for a relative one suggests that it starts at `root`.
    pub fn parse_beside(given: String, root: &Path) -> Result<AbsPath> {
        AbsPath::parse(given).map_err(|error| match error {
            Error::RelativePath { path, .. } => {
                Error::RelativePath { path, root: root.to_str().map(String::from) }
            }
            error => error,
        })
    }

    /// Resolves a relative path against `root`. `name` is the argument that contained it.
    pub fn resolve(name: &'static str, given: String, root: &Path) -> Result<AbsPath> {
        reject_nul(&given)?;
        if given.is_empty() {
            return Err(Error::EmptyPath { argument: name });
        }
        Ok(AbsPath { absolute: root.join(&given), given })
    }

    /// Wraps a path that was resolved before; messages show `given`.
    pub fn of(absolute: PathBuf, given: String) -> AbsPath {
        AbsPath { given, absolute }
    }

    /// Makes this the path of a file below a directory, without allocating if it is long enough.
    pub fn set_below(&mut self, folder: &Path, file: &str) {
        self.given.clear();
        self.given.push_str(file);
        self.absolute.clear();
        self.absolute.push(folder);
        self.absolute.push(file);
    }

    /// Returns the path as given, for messages.
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// Returns the absolute path.
    pub fn as_path(&self) -> &Path {
        &self.absolute
    }

    /// Returns the last component, for display. It is empty for `/`.
    pub fn file_name(&self) -> &str {
        self.absolute.file_name().and_then(|name| name.to_str()).unwrap_or("")
    }

    /// Returns the parent directory, for messages.
    pub fn parent(&self) -> String {
        self.ancestor(1)
    }

    /// Returns the path without its last `n_parts` components, for messages.
    pub fn ancestor(&self, n_parts: usize) -> String {
        let ancestor = Path::new(&self.given).ancestors().nth(n_parts);
        ancestor.unwrap_or(Path::new("/")).display().to_string()
    }
}

fn reject_nul(given: &str) -> Result<()> {
    match given.contains('\0') {
        true => Err(Error::NulInPath { path: given.replace('\0', "␀") }),
        false => Ok(()),
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rejects_relative_paths_and_nul() {
        for (path, message) in [
            ("", "Path must be absolute: "),
            ("a.txt", "Path must be absolute: a.txt"),
            ("./a", "Path must be absolute: ./a"),
            ("~/a", "Path must be absolute: ~/a"),
            ("/a\0b", "Path cannot contain a NUL character: /a␀b"),
        ] {
            assert_eq!(AbsPath::parse(path.into()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn returns_name_and_parent() {
        let path = AbsPath::parse("/a/b c.txt".into()).unwrap();
        assert_eq!((path.file_name(), path.parent().as_str()), ("b c.txt", "/a"));
        assert_eq!(AbsPath::parse("/".into()).unwrap().parent(), "/");
    }
}
