//! Paths and patterns of the files toolset.

use std::path::{Component, Path, PathBuf};

use recto_store::Listing;
use recto_store::error::{Error as StoreError, Instead};
use recto_store::path::AbsPath;
use recto_text::quote::OneLine;

use super::{Param, ParamKind, ReadEnv};
use crate::error::{Error, Result};

pub const COMMIT: Param = Param::optional("commit", ParamKind::NumberOrString, "Git revision");

/// The files on disk that match a pattern.
pub struct Matches {
    pub listing: Listing,
    /// The directory that the files are relative to.
    pub folder: AbsPath,
    /// The same as answers show it.
    pub shown: PathBuf,
}

/// Lists the files that match a pattern, which starts in the directory `start`. A relative pattern
/// is listed in every root.
pub fn list_in_roots(
    env: &ReadEnv<'_>,
    start: &str,
    pattern: &str,
    list: impl Fn(&AbsPath) -> Result<Listing>,
) -> Result<Matches> {
    let folder = start_folder(env.root, start, pattern);
    let listing = list(&folder)?;
    let shown = shown(&folder, &listing);
    let mut matches = Matches { listing, folder, shown };
    if Path::new(start).is_absolute() || env.more_roots.is_empty() {
        return Ok(matches);
    }
    // The files of several roots are absolute paths, which replace a directory that they are joined to.
    let absolute = |shown: &Path, files: Vec<String>| -> Vec<String> {
        files.iter().map(|file| shown.join(file).display().to_string()).collect()
    };
    let all = &mut matches.listing;
    all.files = absolute(&matches.shown, std::mem::take(&mut all.files));
    for root in env.more_roots {
        let folder = start_folder(root, start, pattern);
        let more = match list(&folder) {
            Err(error) if error.is_cancelled() => return Err(error),
            // The pattern leads out of this root.
            Err(_) => continue,
            Ok(listing) => listing,
        };
        let shown = self::shown(&folder, &more);
        all.files.extend(absolute(&shown, more.files));
        let n_listed = all.files.len();
        all.files.sort_unstable();
        // A root inside another one.
        all.files.dedup();
        all.total += more.total - (n_listed - all.files.len()) as u64;
        all.stopped = all.stopped.or(more.stopped);
        all.n_unnamable += more.n_unnamable;
        all.n_unreadable += more.n_unreadable;
        all.n_hidden += more.n_hidden;
        all.n_ignored += more.n_ignored;
        all.is_missing &= more.is_missing;
    }
    Ok(matches)
}

/// Returns the directory of a listing as the caller spelled it, unless that spelling contains `..`.
fn shown(folder: &AbsPath, listing: &Listing) -> PathBuf {
    let goes_up = folder.as_path().components().any(|part| part == Component::ParentDir);
    if goes_up { listing.folder.clone() } else { folder.as_path().to_path_buf() }
}

/// Returns a path relative to the first root, if it is below it.
pub fn relative<'a>(env: &ReadEnv<'_>, path: &'a str) -> Option<&'a str> {
    let relative = Path::new(path).strip_prefix(env.root).ok()?.to_str()?;
    (!relative.is_empty()).then_some(relative)
}

/// Returns the part of an answer's first line that names the first root.
pub fn relative_to(env: &ReadEnv<'_>) -> String {
    format!("paths relative to {}", OneLine(&env.root.display().to_string()))
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
