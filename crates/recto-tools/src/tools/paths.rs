//! Paths and patterns of the files toolset.

use std::path::{Component, Path, PathBuf};

use recto_store::Listing;
use recto_store::error::{Error as StoreError, Instead};
use recto_store::path::AbsPath;

use super::{Param, ParamKind};
use crate::error::Error;

pub const COMMIT: Param =
    Param::optional("commit", ParamKind::NumberOrString, "Git revision, such as HEAD~3");

/// Returns the directory of a listing as the caller spelled it, unless that spelling contains `..`.
pub fn shown(folder: &AbsPath, listing: &Listing) -> PathBuf {
    let goes_up = folder.as_path().components().any(|part| part == Component::ParentDir);
    if goes_up { listing.folder.clone() } else { folder.as_path().to_path_buf() }
}

/// Returns the directory that a pattern starts in. Messages show the pattern instead.
pub fn start_folder(root: &Path, folder: &str, pattern: &str) -> AbsPath {
    // Collecting the components removes `.` and repeated slashes.
    AbsPath::of(root.join(folder).components().collect(), pattern.into())
}

/// Turns the error for a directory that was read as a file into one whose hint lists its files.
pub fn listed(error: impl Into<Error>, commit: Option<&str>) -> Error {
    match error.into() {
        Error::Store(StoreError::NotAFile { path, instead: Instead::Folder }) => {
            Error::FolderToList { path, commit: commit.map(String::from) }
        }
        other => other,
    }
}

/// Makes an error about the directory of a pattern name the pattern instead.
pub fn named(error: StoreError, pattern: &str) -> StoreError {
    let path = pattern.to_string();
    match error {
        StoreError::NoRepository { cause, .. } => StoreError::NoRepository { path, cause },
        StoreError::BrokenRepository { cause, .. } => StoreError::BrokenRepository { path, cause },
        StoreError::PermissionDenied { reason, .. } => {
            StoreError::PermissionDenied { path, reason }
        }
        other => other,
    }
}
