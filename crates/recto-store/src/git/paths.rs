//! From a caller's path to one that can be compared with a tree's: without `.` and `..`, but with
//! the links that the tree may hold itself.

use std::path::{Component, Path, PathBuf};

use crate::error::Denial;
use crate::error::{Error, Result};

use crate::LocalStore;
use crate::context::{Context, Sandbox};
use crate::path::AbsPath;

/// Refuses a path where a read on disk would for where it lies, whatever stands there. A link that
/// has that very name stands for itself, as it does in git, and of a repository around a root the
/// folders down to the root are open.
///
/// Where the path lies inside by its words, and only a link that is on disk today leads out, the
/// refusal is returned: it holds unless the revision has folders there.
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
        // What a client closes it names by today's links.
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
        // What a revision has need not be on disk.
        _ => Ok(None),
    }
}

/// The path without `.` and `..`. Behind a link `..` leads where the link does, as on disk.
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

/// The path without links, where it can be told.
pub fn real(local: &LocalStore, path: &Path, context: &Context) -> Option<PathBuf> {
    let path = AbsPath::of(path.to_path_buf(), path.display().to_string());
    local.probe(&path, context).ok().map(|seen| seen.real_path)
}
