//! The path sandbox: resolves a path to a directory handle and a name inside a root. This module
//! finds the root and checks that it was not replaced; [`walk`] continues from its handle.

mod walk;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Denial;
use crate::error::{Error, Result};
use recto_platform::{FileKind, Handle, NameCase, SysError};

use recto_text::quote::OneLine;

use super::hidden::HiddenPaths;
use super::letter_case::{Comparison, folded_path, is_dot_git, stored_name};
use super::state_dir::is_state_dir;
use super::sys;
use crate::context::{Access, Sandbox};
use crate::limits;
use crate::path::AbsPath;
use walk::{PathWalk, Stop};

/// Four times the kernel's limit, which a walk by handles can exceed.
const MAX_PATH: usize = limits::PATH;

/// The directories that are served.
pub struct Roots {
    roots: Vec<Root>,
    hidden: HiddenPaths,
}

struct Root {
    /// The paths that lead to the root: canonical, and as given.
    spellings: Vec<PathBuf>,
    real_path: PathBuf,
    handle: Arc<Handle>,
    /// The device and inode.
    identity: (u64, u64),
}

/// The directories that lead to the last file that was read, so that the next one is found faster.
///
/// They are reused only for a few milliseconds, as a thread may sleep that long between two system
/// calls anyway. For that time, reads still see a directory that was moved away.
#[derive(Default)]
pub struct LastDirs<'a> {
    /// The root of the directories, and when it was checked.
    root: Option<(&'a Root, Instant)>,
    /// The path of the last directory as requested, with a slash at the end.
    path: Vec<u8>,
    /// The directories from the root on, each with the length of its path.
    dirs: Vec<(usize, Arc<Handle>)>,
}

impl LastDirs<'_> {
    const MAX_AGE: Duration = Duration::from_millis(10);

    /// Removes the directories that do not contain a path. Returns the length of the last one that
    /// does.
    fn keep_above(&mut self, path: &[u8]) -> Option<usize> {
        let is_above = |(n_path, _): &(usize, _)| path.starts_with(&self.path[..*n_path]);
        let n_kept = self.dirs.iter().rposition(is_above)? + 1;
        self.dirs.truncate(n_kept);
        let n_path = self.dirs.last()?.0;
        self.path.truncate(n_path);
        let (_, checked) = self.root?;
        (checked.elapsed() < Self::MAX_AGE).then_some(n_path)
    }
}

impl Root {
    /// Returns a spelling of the root that now leads to something else, which means that the root
    /// was moved or replaced. Ignores a spelling whose status cannot be read, and one with `..`,
    /// which depends on other directories too.
    fn stale_spelling(&self) -> Option<&PathBuf> {
        let depends = |name: &&PathBuf| name.components().any(|part| part == Component::ParentDir);
        let leads_elsewhere = |name: &&PathBuf| match recto_platform::status_by_path(name) {
            Ok(status) => status.id() != self.identity,
            Err(errno) => matches!(errno, SysError::NOENT | SysError::NOTDIR | SysError::LOOP),
        };
        self.spellings.iter().find(|name| !depends(name) && leads_elsewhere(name))
    }
}

/// A directory and a name in it, which may not exist.
#[derive(Debug)]
pub struct Location {
    /// The directory.
    pub dir: Arc<Handle>,
    /// The name, or `.` for a root itself. It was not a link when it was resolved, unless the
    /// caller passed [`LastLink::Keep`].
    pub name: OsString,
    /// What exists at the name.
    pub kind: Option<FileKind>,
    /// Whether a parent directory does not exist; `dir` is then the last one that does.
    pub is_dir_missing: bool,
    /// The missing directories, which could be created.
    pub missing_dirs: Vec<OsString>,
    /// The canonical path.
    pub real_path: PathBuf,
}

/// What to do with a link at the last component of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    Follow,
    Keep,
}

impl Location {
    /// Returns the directory and the name.
    pub fn name_in_dir(&self) -> (&Handle, &OsStr) {
        (&self.dir, &self.name)
    }

    /// Returns whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind == Some(FileKind::Directory)
    }

    /// Describes what exists, for a message, unless it is a regular file.
    pub fn describe_non_file(&self) -> Option<&'static str> {
        match self.kind {
            Some(FileKind::File) => None,
            Some(FileKind::Directory) => Some("a directory"),
            Some(_) => Some("not a regular file"),
            None => Some("a symbolic link whose target does not exist"),
        }
    }

    /// Returns whether any component of the path is `.git`, in a spelling that some file system
    /// treats as equal.
    pub fn is_in_git_dir(&self) -> bool {
        self.real_path.components().any(|part| is_dot_git(part.as_os_str()))
    }
}

impl Roots {
    /// Opens every root.
    pub fn open(paths: &[PathBuf], hidden: HiddenPaths) -> io::Result<Roots> {
        let mut roots = Vec::new();
        for path in paths {
            let with_path = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot serve {}: {error}", path.display()))
            };
            let given = std::path::absolute(path).map_err(with_path)?;
            let real_path = std::fs::canonicalize(path).map_err(with_path)?;
            let handle =
                recto_platform::open_path(&real_path).map_err(|errno| with_path(errno.into()))?;
            let status = handle.status().map_err(|errno| with_path(errno.into()))?;
            let mut spellings = vec![real_path.clone(), given];
            spellings.dedup();
            let (handle, identity) = (Arc::new(handle), status.id());
            roots.push(Root { spellings, real_path, handle, identity });
        }
        Ok(Roots { roots, hidden })
    }

    /// Returns the canonical paths of the roots.
    pub fn real_paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.real_path.clone()).collect()
    }

    /// Returns the directory and name of a file, or `None` if a full walk must resolve its path. Follows
    /// no link, and does not check whether the file exists.
    pub fn next_file<'a, 'b>(
        &'a self,
        path: &'b AbsPath,
        sandbox: &Sandbox,
        last: &'b mut LastDirs<'a>,
    ) -> Option<(&'b Handle, &'b OsStr)> {
        let bytes = path.as_path().as_os_str().as_bytes();
        let mut n_done = match last.keep_above(bytes) {
            Some(n_done) => n_done,
            None => self.restart(path.as_path(), last)?,
        };
        loop {
            let rest = &bytes[n_done..];
            let end = rest.iter().position(|byte| *byte == b'/');
            let name = OsStr::from_bytes(&rest[..end.unwrap_or(rest.len())]);
            if name.is_empty() || name == "." || name == ".." {
                return None;
            }
            let (_, dir) = last.dirs.last()?;
            if !self.is_open(last, dir, name, sandbox, end.is_none()) {
                return None;
            }
            if end.is_none() {
                return Some((&last.dirs.last()?.1, name));
            }
            if last.dirs.len() > walk::MAX_OPEN {
                return None;
            }
            let dir = recto_platform::open_path_at(dir, name).ok()?;
            n_done += name.len() + 1;
            last.path.extend_from_slice(&bytes[last.path.len()..n_done]);
            last.dirs.push((n_done, Arc::new(dir)));
        }
    }

    /// Starts at the root that contains a path. Returns the length of the root's path.
    fn restart<'a>(&'a self, path: &Path, last: &mut LastDirs<'a>) -> Option<usize> {
        let (root, rest) = self.locate_current(path).ok()?;
        let bytes = path.as_os_str().as_bytes();
        let above = bytes.strip_suffix(rest.as_os_str().as_bytes())?;
        if !above.ends_with(b"/") || rest.as_os_str().len() > MAX_PATH {
            return None;
        }
        let dirs = vec![(above.len(), root.handle.clone())];
        *last = LastDirs { root: Some((root, Instant::now())), path: above.to_vec(), dirs };
        Some(above.len())
    }

    /// Whether `--deny` and the client's sandbox let a name in the last directory be used.
    fn is_open(
        &self,
        last: &LastDirs<'_>,
        dir: &Handle,
        name: &OsStr,
        sandbox: &Sandbox,
        is_file: bool,
    ) -> bool {
        if !self.has_hidden() && matches!(sandbox, Sandbox::Unlimited) {
            return true;
        }
        let (Some((root, _)), Some((n_root, _))) = (last.root, last.dirs.first()) else {
            return false;
        };
        let dir_path = root.real_path.join(OsStr::from_bytes(&last.path[*n_root..]));
        let real_path = dir_path.join(name);
        let real = |path: &Path| path.canonicalize().ok();
        !self.hides(&real_path)
            && self.visible_name(dir, &dir_path, name).is_some_and(|stored| stored == name)
            && !sandbox.closes(&real_path, real)
            && (!is_file || sandbox.access(&real_path, real) != Access::None)
    }

    /// Walks from a root to the location that `path` names. `link` decides whether a link at
    /// the end is followed. Does not touch anything that the caller's sandbox denies.
    pub fn resolve(&self, path: &AbsPath, link: LastLink, sandbox: &Sandbox) -> Result<Location> {
        let denied = || {
            let roots: Vec<_> = self.roots.iter().map(|root| shown(&root.real_path)).collect();
            let reason = Denial::Outside { roots: roots.join(", ") };
            Error::PermissionDenied { path: path.to_string(), reason }
        };
        let stopped = |stop| match stop {
            Stop::Outside => denied(),
            Stop::Replaced { root } => {
                let (path, reason) = (path.to_string(), Denial::RootReplaced { root });
                Error::PermissionDenied { path, reason }
            }
            Stop::Closed => {
                let (path, reason) = (path.to_string(), Denial::ClientSandbox);
                Error::PermissionDenied { path, reason }
            }
            Stop::System(errno) => sys::error(errno, path, 0),
        };
        let (root, rest) = self.locate_current(path.as_path()).map_err(stopped)?;
        // Before any work that grows with the number of components.
        if rest.as_os_str().len() > MAX_PATH {
            return Err(sys::error(SysError::NAMETOOLONG, path, 0));
        }
        if self.hides(&root.real_path.join(rest)) {
            return Err(denied());
        }
        let mut walk = PathWalk::new(root, sandbox);
        walk.add(rest, false);
        let location = walk.run(self, link).map_err(stopped)?;
        // A trailing slash or dot requires a directory.
        if asks_for_dir(path.as_str()) && !location.is_dir() {
            return Err(sys::error(SysError::NOTDIR, path, 0));
        }
        Ok(location)
    }

    /// Returns the handle of the root that contains a canonical path, and the path below it.
    pub fn root_containing<'a>(&self, real_path: &'a Path) -> Option<(&Arc<Handle>, &'a Path)> {
        let (root, below) = self.locate(real_path)?;
        Some((&root.handle, below))
    }

    /// Returns the canonical path of the root that contains a canonical path.
    pub fn root_path(&self, real_path: &Path) -> Option<&Path> {
        self.locate(real_path).map(|(root, _)| root.real_path.as_path())
    }

    /// Returns a canonical path with the root as the user spelled it.
    pub fn as_given(&self, real_path: &Path) -> PathBuf {
        let Some((root, below)) = self.locate(real_path) else { return real_path.to_path_buf() };
        root.spellings.last().unwrap_or(&root.real_path).join(below)
    }

    /// Returns whether any path is hidden.
    pub fn has_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Returns the directories that patterns of hidden paths start from.
    fn hidden_bases(&self) -> impl Iterator<Item = &Path> {
        let roots = self.roots.iter().map(|root| &*root.real_path);
        roots.chain(self.hidden.bases().iter().map(|base| &**base))
    }

    /// Returns whether a path is hidden, relative to any of the roots that contain it.
    pub fn hides(&self, real_path: &Path) -> bool {
        if !self.has_hidden() {
            return false;
        }
        self.hidden.contains_absolute(real_path)
            || self.hidden_bases().any(|base| {
                let relative = real_path.strip_prefix(base);
                relative.is_ok_and(|relative| self.hidden.contains(relative))
            })
    }

    /// Returns whether a path is hidden if case and ignorable characters do not count.
    pub fn hides_folded(&self, real_path: &Path) -> bool {
        let hidden = self.hidden.folded();
        hidden.contains_absolute(&folded_path(real_path))
            || self.hidden_bases().any(|base| {
                let relative = real_path.strip_prefix(base);
                relative.is_ok_and(|relative| hidden.contains(&folded_path(relative)))
            })
    }

    /// Returns the name under which a directory lists a name, which differs where several spellings
    /// name the same file. Returns `None` if that file is hidden, or may be.
    fn visible_name<'a>(
        &self,
        dir: &Handle,
        dir_path: &Path,
        name: &'a OsStr,
    ) -> Option<Cow<'a, OsStr>> {
        if !self.has_hidden() || Comparison::of(dir, name) == Comparison::Exact {
            return Some(Cow::Borrowed(name));
        }
        let stored = stored_name(dir, name)?;
        let is_hidden = |name: &OsStr| self.hides_folded(&dir_path.join(name));
        (!is_hidden(name) && !is_hidden(&stored)).then_some(Cow::Owned(stored))
    }

    /// Returns whether a listed name is hidden, in a directory that may ignore case.
    pub fn hides_listed(&self, dir: &Handle, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        self.hides(path)
            || self.hides_folded(path) && Comparison::of(dir, name) == Comparison::Loose
    }

    /// Returns whether a path in a tree of a repository is hidden. A file that differs from a hidden
    /// one in case is the same in a work tree that ignores case.
    pub fn hides_in_tree(&self, path: &Path) -> bool {
        if !self.has_hidden() {
            return false;
        }
        let is_exact = || {
            let root = self.locate(path).map(|(root, _)| &root.handle);
            root.is_none_or(|dir| match recto_platform::name_case(dir) {
                NameCase::Exact | NameCase::UsuallyExact => true,
                NameCase::Ignored | NameCase::Unknown => false,
            })
        };
        self.hides(path) || self.hides_folded(path) && !is_exact()
    }

    /// Returns the root that contains a path, and the rest of the path. The innermost root wins if
    /// roots are nested.
    fn locate<'a>(&self, path: &'a Path) -> Option<(&Root, &'a Path)> {
        self.matches(path).min_by_key(|(_, rest)| rest.components().count())
    }

    /// Returns the innermost root that contains a path and was not moved or replaced.
    fn locate_current<'a>(&self, path: &'a Path) -> Result<(&Root, &'a Path), Stop> {
        let (deepest, rest) = self.locate(path).ok_or(Stop::Outside)?;
        if is_state_dir(&deepest.handle) {
            return Err(Stop::Outside);
        }
        let Some(lost) = deepest.stale_spelling() else { return Ok((deepest, rest)) };
        let others = self.matches(path).filter(|(root, _)| root.stale_spelling().is_none());
        let other = others.min_by_key(|(_, rest)| rest.components().count());
        other.ok_or_else(|| Stop::Replaced { root: lost.display().to_string() })
    }

    /// Returns every root that contains a path, with the rest of the path.
    fn matches<'a>(&self, path: &'a Path) -> impl Iterator<Item = (&Root, &'a Path)> {
        self.roots.iter().flat_map(move |root| {
            let below = move |spelling| Some((root, path.strip_prefix(spelling).ok()?));
            root.spellings.iter().filter_map(below)
        })
    }
}

fn asks_for_dir(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}

/// Returns a path for a message, on one line.
fn shown(path: &Path) -> String {
    OneLine(&path.to_string_lossy()).to_string()
}
