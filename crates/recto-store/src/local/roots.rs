//! The sandbox's wall: from a path to a folder handle and one name, beneath a root. Which root that
//! is, and whether it is still what it was, is found here; [`walk`] goes on from its handle.

mod walk;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Denial;
use crate::error::{Error, Result};
use recto_platform::{FileKind, Handle, SysError};

use super::hidden::HiddenPaths;
use super::sys;
use crate::context::Sandbox;
use crate::limits;
use crate::path::AbsPath;
use walk::{PathWalk, Stop};

/// Four times as long as the kernel takes paths, which a walk by handles can go beyond.
const MAX_PATH: usize = limits::PATH;

/// The folders that are served.
pub struct Roots {
    roots: Vec<Root>,
    hidden: HiddenPaths,
}

struct Root {
    /// The spellings that lead to it: as given, and real.
    spellings: Vec<PathBuf>,
    real_path: PathBuf,
    handle: Arc<Handle>,
    /// Its device and inode.
    identity: (u64, u64),
}

/// The directory of the last file that was read, so that the next one in it is found at once.
///
/// It is kept for a moment only, as long as a thread may sleep between two system calls anyway: a
/// directory that is moved away meanwhile is read for as long.
#[derive(Default)]
pub struct LastDir(Option<FoundDir>);

struct FoundDir {
    /// As it was asked for.
    path: PathBuf,
    /// Without links.
    real_path: PathBuf,
    handle: Arc<Handle>,
    at: Instant,
}

impl LastDir {
    const MAX_AGE: Duration = Duration::from_millis(10);

    fn get(&self, path: &Path) -> Option<&FoundDir> {
        // Compared as text, which is faster than by parts and only finds less.
        let is_same = |found: &&FoundDir| found.path.as_os_str() == path.as_os_str();
        let dir = self.0.as_ref().filter(is_same)?;
        (dir.at.elapsed() < LastDir::MAX_AGE).then_some(dir)
    }
}

impl Root {
    /// A name of it that leads elsewhere by now. What has the name is something else, and what the
    /// handle leads to has another one. A name that cannot be looked at says neither, and one with
    /// `..` depends on more than the folder.
    fn stale_spelling(&self) -> Option<&PathBuf> {
        let depends = |name: &&PathBuf| name.components().any(|part| part == Component::ParentDir);
        let leads_elsewhere = |name: &&PathBuf| match recto_platform::status_by_path(name) {
            Ok(status) => status.id() != self.identity,
            Err(errno) => matches!(errno, SysError::NOENT | SysError::NOTDIR | SysError::LOOP),
        };
        self.spellings.iter().find(|name| !depends(name) && leads_elsewhere(name))
    }
}

/// A folder and a name in it, whether or not something stands there.
#[derive(Debug)]
pub struct Location {
    /// The folder.
    pub dir: Arc<Handle>,
    /// The name. When it was looked at it was no link, unless [`LastLink::Keep`] was asked for. `.`
    /// for a root itself.
    pub name: OsString,
    /// What stands there.
    pub kind: Option<FileKind>,
    /// A folder on the way does not exist; `folder` is the last one that does.
    pub is_dir_missing: bool,
    /// The folders that could be made to get there.
    pub missing_dirs: Vec<OsString>,
    /// The path without links.
    pub real_path: PathBuf,
}

/// What happens to a link that has the very name which is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    Follow,
    Keep,
}

impl Location {
    /// Whether a folder stands there.
    pub fn is_dir(&self) -> bool {
        self.kind == Some(FileKind::Directory)
    }

    /// What stands there, for a message, where it is no file.
    pub fn describe_non_file(&self) -> Option<&'static str> {
        match self.kind {
            Some(FileKind::File) => None,
            Some(FileKind::Directory) => Some("a folder"),
            Some(_) => Some("no regular file"),
            None => Some("a link that leads to nothing"),
        }
    }

    /// Whether it is, or lies in, something called `.git` in any case.
    pub fn is_in_git_dir(&self) -> bool {
        self.real_path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
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

    /// The roots without links.
    pub fn real_paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.real_path.clone()).collect()
    }

    /// Resolves the path of a file to read, which may be in the same directory as the last one.
    pub fn resolve_next(
        &self,
        path: &AbsPath,
        sandbox: &Sandbox,
        last_dir: &mut LastDir,
    ) -> Result<Location> {
        let (Some(dir), Some(name)) = (path.as_path().parent(), path.as_path().file_name()) else {
            return self.resolve(path, LastLink::Follow, sandbox);
        };
        if let Some(found) = last_dir.get(dir)
            && let Some(location) = self.locate_in(found, name, path, sandbox)
        {
            return Ok(location);
        }
        let location = self.resolve(path, LastLink::Follow, sandbox)?;
        // Where a link led elsewhere, the folder is not the one that the path names.
        let is_direct =
            |(root, rest): (&Root, &Path)| root.real_path.join(rest) == location.real_path;
        if location.kind.is_some() && self.locate(path.as_path()).is_some_and(is_direct) {
            last_dir.0 = Some(FoundDir {
                path: dir.to_path_buf(),
                real_path: location.real_path.parent().unwrap_or(&location.real_path).to_path_buf(),
                handle: location.dir.clone(),
                at: Instant::now(),
            });
        }
        Ok(location)
    }

    /// A file in a folder that was found before. `None` for whatever needs a closer look.
    fn locate_in(
        &self,
        dir: &FoundDir,
        name: &OsStr,
        path: &AbsPath,
        sandbox: &Sandbox,
    ) -> Option<Location> {
        let real_path = dir.real_path.join(name);
        if asks_for_dir(path.as_str())
            || self.hides(&real_path)
            || sandbox.closes(&real_path, |path| path.canonicalize().ok())
        {
            return None;
        }
        let status = recto_platform::status_at(&dir.handle, name).ok()?;
        let kind = status.kind();
        (kind == FileKind::File).then(|| Location {
            dir: dir.handle.clone(),
            name: name.to_os_string(),
            kind: Some(kind),
            is_dir_missing: false,
            missing_dirs: Vec::new(),
            real_path,
        })
    }

    /// Walks from a root to the place that `path` names. A link with that very name is followed
    /// or is the place itself. Nothing that the caller's sandbox closes is looked at on the way.
    pub fn resolve(
        &self,
        path: &AbsPath,
        last_link: LastLink,
        sandbox: &Sandbox,
    ) -> Result<Location> {
        let denied = || {
            let roots: Vec<_> =
                self.roots.iter().map(|root| root.real_path.display().to_string()).collect();
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
        // Before anything that grows with the number of components.
        if rest.as_os_str().len() > MAX_PATH {
            return Err(sys::error(SysError::NAMETOOLONG, path, 0));
        }
        if self.hides(&root.real_path.join(rest)) {
            return Err(denied());
        }
        let mut walk = PathWalk::new(root, sandbox);
        walk.add(rest, false);
        let location = walk.run(self, last_link).map_err(stopped)?;
        // A trailing slash, or dot, asks for a folder.
        if asks_for_dir(path.as_str()) && !location.is_dir() {
            return Err(sys::error(SysError::NOTDIR, path, 0));
        }
        Ok(location)
    }

    /// The handle of the root that holds a real path, and what lies below it.
    pub fn root_containing<'a>(&self, real_path: &'a Path) -> Option<(&Arc<Handle>, &'a Path)> {
        let (root, below) = self.locate(real_path)?;
        Some((&root.handle, below))
    }

    /// A real path as whoever named the roots would write it.
    pub fn as_given(&self, real_path: &Path) -> PathBuf {
        let Some((root, below)) = self.locate(real_path) else { return real_path.to_path_buf() };
        root.spellings.last().unwrap_or(&root.real_path).join(below)
    }

    /// Whether anything is hidden at all.
    pub fn has_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Whether a path is hidden, seen from any of the roots that hold it.
    pub fn hides(&self, real_path: &Path) -> bool {
        if !self.has_hidden() {
            return false;
        }
        self.hidden.contains_absolute(real_path)
            || self.roots.iter().any(|root| {
                let relative = real_path.strip_prefix(&root.real_path);
                relative.is_ok_and(|relative| self.hidden.contains(relative))
            })
    }

    /// The root that a path starts with, component by component, and the rest. The deepest root
    /// wins where they nest.
    fn locate<'a>(&self, path: &'a Path) -> Option<(&Root, &'a Path)> {
        self.matches(path).min_by_key(|(_, rest)| rest.components().count())
    }

    /// The same for a root that is still in its place: where one inside of another is not, the other
    /// one is taken.
    fn locate_current<'a>(&self, path: &'a Path) -> Result<(&Root, &'a Path), Stop> {
        let (deepest, rest) = self.locate(path).ok_or(Stop::Outside)?;
        let Some(lost) = deepest.stale_spelling() else { return Ok((deepest, rest)) };
        let others = self.matches(path).filter(|(root, _)| root.stale_spelling().is_none());
        let other = others.min_by_key(|(_, rest)| rest.components().count());
        other.ok_or_else(|| Stop::Replaced { root: lost.display().to_string() })
    }

    /// Every root that a path starts with, and the rest.
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
