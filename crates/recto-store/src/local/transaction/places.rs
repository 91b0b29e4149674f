//! Where the files of a transaction are, and what prevents it.

use std::collections::{HashMap, HashSet};

use recto_platform::{FileKind, Handle};

use super::super::LocalStore;
use super::super::locked::{check_dir_writable, check_writable};
use super::super::read::OpenFile;
use super::super::roots::{LastLink, Location};
use super::super::sys;
use super::failed;
use crate::context::{Access, Context};
use crate::error::{Error, Result};
use crate::path::AbsPath;
use crate::{FileStep, StepError, limits};

/// Where a step finds its file.
pub struct Places {
    pub from: Location,
    pub to: Option<Location>,
    /// The file, unless it is created.
    pub old: Option<OpenFile>,
}

impl Places {
    /// Finds the files of a step, and rejects what would fail.
    pub fn find(store: &LocalStore, step: &FileStep<'_>, context: &Context) -> Result<Places> {
        context.cancel.check()?;
        if step.is_link {
            let from = store.resolve(step.path, LastLink::Keep, context, Access::Write)?;
            match step.before {
                Some(_) => check_dir_writable(&open_dir(&from.dir, step.path)?, step.path)?,
                None => check_vacant(store, &from, step.path, context)?,
            }
            return Ok(Places { from, to: None, old: None });
        }
        let from = store.resolve(step.path, step.last_link(), context, Access::Write)?;
        let old = match step.before {
            Some(_) => Some(open_old(store, &from, step.path)?),
            None => {
                check_vacant(store, &from, step.path, context)?;
                None
            }
        };
        let to = step.move_to.map(|path| {
            let to = store.resolve(path, LastLink::Keep, context, Access::Write)?;
            check_vacant(store, &to, path, context)?;
            let [old, new] = [&from.dir, &to.dir].map(|dir| dir.status().map(|it| it.device));
            if old.ok() != new.ok() {
                let cause = "files cannot be moved to another file system".into();
                return Err(Error::NotTogether { path: path.to_string(), cause });
            }
            Ok(to)
        });
        Ok(Places { from, to: to.transpose()?, old })
    }

    /// Returns the paths of all names, with the directories that must be created for them.
    fn locations(&self) -> impl Iterator<Item = &Location> {
        [&self.from].into_iter().chain(&self.to)
    }
}

fn open_old(store: &LocalStore, from: &Location, path: &AbsPath) -> Result<OpenFile> {
    let not_found = || Error::FileNotFound { path: path.to_string() };
    let file = OpenFile::open(&*store.sys, from, path)?.ok_or_else(not_found)?;
    check_writable(&from.dir, &from.name, path)?;
    check_dir_writable(&open_dir(&from.dir, path)?, path)?;
    Ok(file)
}

/// Opens a directory for reading.
pub fn open_dir(dir: &Handle, path: &AbsPath) -> Result<Handle> {
    recto_platform::open_directory_at(dir, ".").map_err(|errno| sys::error(errno, path, 0))
}

/// Rejects a path at which no file can be created.
fn check_vacant(
    store: &LocalStore,
    location: &Location,
    path: &AbsPath,
    context: &Context,
) -> Result<()> {
    if location.kind.is_some() {
        // A link that leads outside fails with that error, whatever its target is.
        let location = store.resolve(path, LastLink::Follow, context, Access::Write)?;
        let what = location.describe_non_file();
        return Err(Error::FileExists { path: path.to_string(), what });
    }
    if let Some(first) = location.missing_dirs.first()
        && let Ok(status) = recto_platform::status_at(&location.dir, first)
        && status.kind() != FileKind::Directory
    {
        return Err(Error::NotADirectory { path: path.ancestor(location.missing_dirs.len()) });
    }
    match location.is_dir_missing && location.missing_dirs.is_empty() {
        true => Err(Error::ParentNotFound { parent: path.parent() }),
        false => check_dir_writable(&open_dir(&location.dir, path)?, path),
    }
}

/// Rejects a transaction beyond the limits.
pub fn check_limits(steps: &[FileStep<'_>]) -> Result<()> {
    let sum = |of: fn(&FileStep<'_>) -> u64| steps.iter().map(of).sum::<u64>();
    let n_before = sum(|step| step.before.map_or(0, <[u8]>::len) as u64);
    let n_bytes = n_before.max(sum(|step| step.after.map_or(0, <[u8]>::len) as u64));
    let dirs = steps.iter().flat_map(|step| [Some(step.path), step.move_to]).flatten();
    let dirs: HashSet<_> = dirs.map(|path| path.as_path().parent()).collect();
    for (what, n, limit) in [
        ("files", steps.len() as u64, limits::TRANSACTION_FILES as u64),
        ("directories", dirs.len() as u64, limits::TRANSACTION_DIRS as u64),
        ("bytes", n_bytes, limits::TRANSACTION_BYTES),
    ] {
        if n > limit {
            return Err(Error::TooMany { what, n, limit });
        }
    }
    Ok(())
}

/// Returns an error for each step that names a file of an earlier step, or a file in a directory
/// that is a file of another step.
pub fn same_files(steps: &[FileStep<'_>], places: &[Places]) -> Vec<StepError> {
    let (mut paths, mut inodes) = (HashMap::new(), HashMap::new());
    let mut problems = Vec::new();
    for (index, (step, place)) in steps.iter().zip(places).enumerate() {
        let same_path = place
            .locations()
            .filter_map(|location| paths.insert(location.real_path.clone(), index))
            .last();
        let same_inode = place.old.as_ref().and_then(|old| inodes.insert(old.status.id(), index));
        if let Some(other) = same_path.or(same_inode) {
            let cause = format!("it is the same file as {}", steps[other].path.as_str());
            let path = step.path.to_string();
            problems.push(failed(index, Error::NotTogether { path, cause }));
        }
    }
    for (index, (step, place)) in steps.iter().zip(places).enumerate() {
        let mut dirs = place.locations().flat_map(|it| it.real_path.ancestors().skip(1));
        if let Some(other) = dirs.find_map(|dir| paths.get(dir)) {
            let new_path = steps[*other].move_to.unwrap_or(steps[*other].path);
            let cause = format!("it is in {}, which would be a file", new_path.as_str());
            let path = step.move_to.unwrap_or(step.path).to_string();
            problems.push(failed(index, Error::NotTogether { path, cause }));
        }
    }
    problems
}
