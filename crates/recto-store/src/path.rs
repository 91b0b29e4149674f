//! Paths as callers write them, checked once.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// An absolute path without NUL, and how the caller spelled it.
///
/// Whether it lies inside the roots is for the store to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsPath {
    given: String,
    absolute: PathBuf,
}

impl AbsPath {
    /// Refuses relative paths and paths that no file can have.
    pub fn parse(given: String) -> Result<AbsPath> {
        refuse_nul(&given)?;
        if !given.starts_with('/') {
            return Err(Error::RelativePath { path: given, root: None });
        }
        Ok(AbsPath { absolute: PathBuf::from(&given), given })
    }

    /// The same for what a caller wrote, who may have meant it to start at `root`.
    pub fn parse_beside(given: String, root: &Path) -> Result<AbsPath> {
        AbsPath::parse(given).map_err(|error| match error {
            Error::RelativePath { path, .. } => {
                Error::RelativePath { path, root: root.to_str().map(String::from) }
            }
            error => error,
        })
    }

    /// Takes a relative path to start at `root`. `name` is the argument that it came in.
    pub fn resolve(name: &'static str, given: String, root: &Path) -> Result<AbsPath> {
        refuse_nul(&given)?;
        if given.is_empty() {
            return Err(Error::EmptyPath { argument: name });
        }
        Ok(AbsPath { absolute: root.join(&given), given })
    }

    /// A path that somebody resolved already, spelled as `given` in messages.
    pub fn of(absolute: PathBuf, given: String) -> AbsPath {
        AbsPath { given, absolute }
    }

    /// The path as given, for messages.
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// The absolute path.
    pub fn as_path(&self) -> &Path {
        &self.absolute
    }

    /// The last part, for people: `/` has an empty one.
    pub fn file_name(&self) -> &str {
        self.absolute.file_name().and_then(|name| name.to_str()).unwrap_or("")
    }

    /// The folder, as a message names it.
    pub fn parent(&self) -> String {
        self.ancestor(1)
    }

    /// The path without its last parts, as a message names it.
    pub fn ancestor(&self, n_parts: usize) -> String {
        let ancestor = Path::new(&self.given).ancestors().nth(n_parts);
        ancestor.unwrap_or(Path::new("/")).display().to_string()
    }
}

fn refuse_nul(given: &str) -> Result<()> {
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
    fn refuses_what_is_not_absolute() {
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
    fn names_its_parts() {
        let path = AbsPath::parse("/a/b c.txt".into()).unwrap();
        assert_eq!((path.file_name(), path.parent().as_str()), ("b c.txt", "/a"));
        assert_eq!(AbsPath::parse("/".into()).unwrap().parent(), "/");
    }
}
