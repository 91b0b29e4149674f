//! Paths and patterns as the tools of the files toolset take them.

use std::path::{Component, Path, PathBuf};

use recto_store::Listing;
use recto_store::error::{Error as StoreError, Instead};
use recto_store::path::AbsPath;

use super::{Kind, Param};
use crate::error::Error;

pub const COMMIT: Param =
    Param::optional("commit", Kind::NumberOrString, "Git revision: HEAD~3, v1.0, 1a2b3c");

/// How the folder of a listing is spelled: as asked for, unless that goes up again.
pub fn shown(folder: &AbsPath, listing: &Listing) -> PathBuf {
    let goes_up = folder.as_path().components().any(|part| part == Component::ParentDir);
    if goes_up { listing.folder.clone() } else { folder.as_path().to_path_buf() }
}

/// The folder that a pattern starts in, spelled as the pattern in messages.
pub fn start_folder(root: &Path, folder: &str, pattern: &str) -> AbsPath {
    // Walked part by part, a path without dots is what people want to see again.
    AbsPath::of(root.join(folder).components().collect(), pattern.into())
}

/// Turns the error about a folder that was taken for a file into one that leads to its files.
pub fn listed(error: impl Into<Error>, commit: Option<&str>) -> Error {
    match error.into() {
        Error::Store(StoreError::NotAFile { path, instead: Instead::Folder }) => {
            Error::FolderToList { path, commit: commit.map(String::from) }
        }
        other => other,
    }
}

/// Words the error about the folder of a pattern for the pattern.
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
