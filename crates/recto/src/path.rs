//! Paths as callers write them, checked once.

use std::fmt;
use std::path::{Path, PathBuf};

use recto_text::{Error, Result};

/// An absolute path without NUL, spelled as the caller spelled it.
///
/// Whether it lies inside the roots is for the store to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsPath(String);

impl AbsPath {
    /// Refuses relative paths and paths that no file can have.
    pub fn parse(path: String) -> Result<AbsPath> {
        if path.contains('\0') {
            return Err(Error::NulInPath { path: path.replace('\0', "␀") });
        }
        if !path.starts_with('/') {
            return Err(Error::RelativePath { path });
        }
        Ok(AbsPath(path))
    }

    /// The path as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as given.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The last part, for people: `/` has an empty one.
    pub fn file_name(&self) -> &str {
        self.as_path().file_name().and_then(|name| name.to_str()).unwrap_or("")
    }

    /// The folder, as a message names it.
    pub fn parent(&self) -> String {
        let parent = self.as_path().parent().map(Path::to_path_buf).unwrap_or(PathBuf::from("/"));
        parent.display().to_string()
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
