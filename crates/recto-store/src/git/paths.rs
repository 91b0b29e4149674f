//! Converts a caller's path to one that can be looked up in a tree: without `.` and `..`, but with
//! its links, which the tree may contain too.

use std::path::{Component, Path, PathBuf};

use crate::error::Denial;
use crate::error::{Error, Result};

use crate::LocalStore;
use crate::context::{Context, Sandbox};
use crate::path::AbsPath;

/// Rejects a path that a read on disk would reject because of its location. The last component is
/// not followed if it is a link, as in git. Directories between the top of a repository and a root
/// inside it are permitted.
///
/// If the path is inside the roots as written and only leaves them through a link that is on disk
/// now, the denial is returned: it applies unless the revision has directories in that place.
pub fn check(
    local: &LocalStore,
    path: &AbsPath,
    tops: &[PathBuf],
    context: &Context,
) -> Result<Option<Error>> {
    let words = path.as_path();
    let is_around_root =
        || tops.iter().any(|top| words.starts_with(top)) && local.is_above_root(words);
    let is_inside = || {
        let goes_up = words.components().any(|part| part == Component::ParentDir);
        // A client's sandbox rules refer to the links that are on disk now.
        let is_unlimited = matches!(context.sandbox, Sandbox::Unlimited);
        is_unlimited && !goes_up && local.visible(context).contains(words)
    };
    match local.probe_link(path, context) {
        Err(error @ Error::PermissionDenied { reason: Denial::Outside { .. }, .. }) => match () {
            () if is_around_root() => Ok(None),
            () if is_inside() => Ok(Some(error)),
            () => Err(error),
        },
        Err(error @ (Error::PermissionDenied { .. } | Error::PathTooLong { .. })) => Err(error),
        // A file of a revision need not exist on disk.
        _ => Ok(None),
    }
}

/// Returns the path without `.` and `..`. After a link, `..` is relative to its target, as on disk.
pub fn clean(local: &LocalStore, path: &AbsPath, context: &Context) -> Result<PathBuf> {
    let parts: Vec<Component> = path.as_path().components().collect();
    match parts.iter().rposition(|part| *part == Component::ParentDir) {
        None => Ok(parts.iter().collect()),
        Some(last) => {
            let folder: PathBuf = parts[..=last].iter().collect();
            let mut clean = local.probe(&AbsPath::of(folder, path.to_string()), context)?.real_path;
            clean.extend(&parts[last + 1..]);
            Ok(clean)
        }
    }
}

/// Returns a path relative to the top of a work tree, or `None` if it is outside.
pub fn relative(
    local: &LocalStore,
    tops: &[PathBuf],
    path: &AbsPath,
    context: &Context,
) -> Result<Option<PathBuf>> {
    let clean = clean(local, path, context)?;
    let below = |path: &Path| {
        let mut tops = tops.iter();
        tops.find_map(|top| path.strip_prefix(top).ok().map(Path::to_path_buf))
    };
    Ok(below(&clean).or_else(|| below(&real(local, &clean, context)?)))
}

/// Returns the path with links resolved, if that is permitted.
pub fn real(local: &LocalStore, path: &Path, context: &Context) -> Option<PathBuf> {
    let path = AbsPath::of(path.to_path_buf(), path.display().to_string());
    local.probe(&path, context).ok().map(|seen| seen.real_path)
}
