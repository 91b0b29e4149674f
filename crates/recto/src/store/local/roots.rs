//! The sandbox's wall: from a path to a folder handle and one name, beneath a root.
//!
//! The walk opens one component at a time without following anything, and reads links by hand.
//! A link may lead anywhere inside the roots, also by an absolute path; one that leads out is
//! refused before its target is touched, so that nothing outside can be probed. `..` goes back
//! along the handles that the walk came by, never through the kernel.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use recto_text::error::Denial;
use recto_text::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::hidden::HiddenPaths;
use super::sys;
use crate::caller::{Caller, FoundFolder, Sandbox};
use crate::limits;
use crate::path::AbsPath;

/// As many links as the kernel follows.
const MAX_LINKS: usize = limits::LINKS;

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
    handle: Arc<OwnedFd>,
    /// Its device and inode.
    identity: (u64, u64),
}

impl Root {
    /// Whether its path still leads to it. Else what is at the path is something else, and what the
    /// handle leads to has another name.
    fn is_in_place(&self) -> bool {
        rustix::fs::stat(&self.real_path).is_ok_and(|status| identity(&status) == self.identity)
    }
}

fn identity(status: &Stat) -> (u64, u64) {
    (status.st_dev, status.st_ino)
}

/// A folder and a name in it, whether or not something stands there.
#[derive(Debug)]
pub struct Place {
    /// The folder.
    pub folder: Arc<OwnedFd>,
    /// The name, never a link when it was looked at. `.` for a root itself.
    pub name: OsString,
    /// What stands there.
    pub kind: Option<FileType>,
    /// A folder on the way does not exist; `folder` is the last one that does.
    pub is_folder_missing: bool,
    /// The folders that could be made to get there.
    pub missing_folders: Vec<OsString>,
    /// The path without links.
    pub real_path: PathBuf,
}

/// What happens to a link that has the very name which is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    Follow,
    Keep,
}

impl Place {
    /// Whether a folder stands there.
    pub fn is_folder(&self) -> bool {
        self.kind == Some(FileType::Directory)
    }

    /// What stands there, for a message, where it is no file.
    pub fn what(&self) -> Option<&'static str> {
        match self.kind {
            Some(FileType::RegularFile) => None,
            Some(FileType::Directory) => Some("a folder"),
            Some(_) => Some("no regular file"),
            None => Some("a link that leads to nothing"),
        }
    }

    /// Whether it is, or lies in, something called `.git` in any case.
    pub fn is_in_git_folder(&self) -> bool {
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
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = rustix::fs::open(&real_path, flags, Mode::empty())
                .map_err(|errno| with_path(errno.into()))?;
            let status = rustix::fs::fstat(&handle).map_err(|errno| with_path(errno.into()))?;
            let spellings = vec![real_path.clone(), given];
            let (handle, identity) = (Arc::new(handle), identity(&status));
            roots.push(Root { spellings, real_path, handle, identity });
        }
        Ok(Roots { roots, hidden })
    }

    /// The roots without links.
    pub fn real_paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.real_path.clone()).collect()
    }

    /// The same as [`Roots::resolve`] for a caller that may have read a file in the same folder
    /// just before.
    pub fn resolve_next(
        &self,
        path: &AbsPath,
        last_link: LastLink,
        caller: &Caller,
    ) -> Result<Place> {
        let (Some(folder), Some(name)) = (path.as_path().parent(), path.as_path().file_name())
        else {
            return self.resolve(path, last_link, &caller.sandbox);
        };
        if let Some(found) = caller.last_folder.get(folder)
            && let Some(place) = self.look_into(&found, name, path, &caller.sandbox)
        {
            return Ok(place);
        }
        let place = self.resolve(path, last_link, &caller.sandbox)?;
        // Where a link led elsewhere, the folder is not the one that the path names.
        let is_direct = |(root, rest): (&Root, &Path)| root.real_path.join(rest) == place.real_path;
        if place.kind.is_some() && self.locate(path.as_path()).is_some_and(is_direct) {
            caller.last_folder.set(|| FoundFolder {
                path: folder.to_path_buf(),
                real_path: place.real_path.parent().unwrap_or(&place.real_path).to_path_buf(),
                handle: place.folder.clone(),
                at: Instant::now(),
            });
        }
        Ok(place)
    }

    /// A file in a folder that was found before. `None` for whatever needs a closer look.
    fn look_into(
        &self,
        folder: &FoundFolder,
        name: &OsStr,
        path: &AbsPath,
        sandbox: &Sandbox,
    ) -> Option<Place> {
        let real_path = folder.real_path.join(name);
        if asks_for_folder(path.as_str())
            || self.hides(&real_path)
            || sandbox.closes(&real_path, |path| path.canonicalize().ok())
        {
            return None;
        }
        let status = rustix::fs::statat(&folder.handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let kind = FileType::from_raw_mode(status.st_mode);
        (kind == FileType::RegularFile).then(|| Place {
            folder: folder.handle.clone(),
            name: name.to_os_string(),
            kind: Some(kind),
            is_folder_missing: false,
            missing_folders: Vec::new(),
            real_path,
        })
    }

    /// Walks from a root to the place that `path` names. A link with that very name is followed
    /// or is the place itself. Nothing that the caller's sandbox closes is looked at on the way.
    pub fn resolve(&self, path: &AbsPath, last_link: LastLink, sandbox: &Sandbox) -> Result<Place> {
        let denied = || {
            let roots: Vec<_> =
                self.roots.iter().map(|root| root.real_path.display().to_string()).collect();
            let reason = Denial::Outside { roots: roots.join(", ") };
            Error::PermissionDenied { path: path.to_string(), reason }
        };
        let (root, rest) = self.locate(path.as_path()).ok_or_else(denied)?;
        if !root.is_in_place() {
            let reason = Denial::RootReplaced { root: root.real_path.display().to_string() };
            return Err(Error::PermissionDenied { path: path.to_string(), reason });
        }
        // Before anything that grows with the number of components.
        if rest.as_os_str().len() > MAX_PATH {
            return Err(sys::error(Errno::NAMETOOLONG, path, 0));
        }
        if self.hides(&root.real_path.join(rest)) {
            return Err(denied());
        }
        let mut walk = Walk::new(root, sandbox);
        walk.add(rest, false);
        match walk.run(self, last_link) {
            // A trailing slash, or dot, asks for a folder.
            Ok(place) if asks_for_folder(path.as_str()) && !place.is_folder() => {
                Err(sys::error(Errno::NOTDIR, path, 0))
            }
            Ok(place) => Ok(place),
            Err(Stop::Outside) => Err(denied()),
            Err(Stop::Closed) => {
                let (path, reason) = (path.to_string(), Denial::ClientSandbox);
                Err(Error::PermissionDenied { path, reason })
            }
            Err(Stop::System(errno)) => Err(sys::error(errno, path, 0)),
        }
    }

    /// The handle of the root that holds a real path, and what lies below it.
    pub fn beneath<'a>(&self, real_path: &'a Path) -> Option<(&Arc<OwnedFd>, &'a Path)> {
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
        let matches = self.roots.iter().flat_map(|root| {
            root.spellings
                .iter()
                .filter_map(move |spelling| Some((root, path.strip_prefix(spelling).ok()?)))
        });
        matches.min_by_key(|(_, rest)| rest.components().count())
    }
}

fn asks_for_folder(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}

/// Why a walk ended before its place.
enum Stop {
    Outside,
    Closed,
    System(Errno),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::System(errno)
    }
}

/// A component still to be walked, and whether a link brought it.
struct Step {
    name: OsString,
    is_from_link: bool,
}

struct Walk<'a> {
    root: &'a Root,
    sandbox: &'a Sandbox,
    /// The folders walked into below the root.
    folders: Vec<(Arc<OwnedFd>, OsString)>,
    steps: VecDeque<Step>,
    n_links: usize,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Root, sandbox: &'a Sandbox) -> Walk<'a> {
        Walk { root, sandbox, folders: Vec::new(), steps: VecDeque::new(), n_links: 0 }
    }

    /// Puts a relative path before what is still to be walked.
    fn add(&mut self, path: &Path, is_from_link: bool) {
        for part in path.components().rev() {
            let name = match part {
                Component::Normal(name) => name.to_os_string(),
                Component::ParentDir => OsString::from(".."),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => continue,
            };
            self.steps.push_front(Step { name, is_from_link });
        }
    }

    fn run(mut self, roots: &'a Roots, last_link: LastLink) -> Result<Place, Stop> {
        while let Some(step) = self.steps.pop_front() {
            if step.name == ".." {
                if self.folders.pop().is_none() {
                    self.leave_root(roots, step.is_from_link)?;
                }
                continue;
            }
            let here = self.real_path().join(&step.name);
            if roots.hides(&here) {
                return Err(Stop::Outside);
            }
            if self.sandbox.closes(&here, |path| path.canonicalize().ok()) {
                return Err(Stop::Closed);
            }
            if self.steps.is_empty() {
                match rustix::fs::statat(self.folder(), &step.name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(status) => match FileType::from_raw_mode(status.st_mode) {
                        FileType::Symlink if last_link == LastLink::Follow => {
                            self.follow(roots, &step.name)?;
                        }
                        kind => return Ok(self.place(step.name, Some(kind))),
                    },
                    Err(Errno::NOENT | Errno::NOTDIR) => return Ok(self.place(step.name, None)),
                    Err(errno) => return Err(errno.into()),
                }
                continue;
            }
            match self.enter(roots, &step.name) {
                Ok(()) => {}
                Err(Stop::System(Errno::NOENT | Errno::NOTDIR)) => {
                    return self.place_beyond(step.name, roots);
                }
                Err(stop) => return Err(stop),
            }
        }
        // The walk ended in a folder, by `..` or by naming a root: look at it from inside.
        Ok(Place {
            folder: self.folder().clone(),
            name: OsString::from("."),
            kind: Some(FileType::Directory),
            is_folder_missing: false,
            missing_folders: Vec::new(),
            real_path: self.real_path(),
        })
    }

    /// Goes into a folder, or where a link leads.
    fn enter(&mut self, roots: &'a Roots, name: &OsStr) -> Result<(), Stop> {
        // What is a folder at one moment and a link at the next is looked at again.
        for _ in 0..8 {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(self.folder(), name, flags, Mode::empty()) {
                Ok(folder) => {
                    self.folders.push((Arc::new(folder), name.to_os_string()));
                    return Ok(());
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno.into()),
            }
            match self.follow(roots, name) {
                Err(Stop::System(Errno::NOTDIR)) => {}
                followed => return followed,
            }
        }
        Err(Stop::System(Errno::NOTDIR))
    }

    /// `..` above the root. A caller's own path never leaves all roots; a link may come back in.
    fn leave_root(&mut self, roots: &'a Roots, is_from_link: bool) -> Result<(), Stop> {
        let mut path = self.root.real_path.parent().ok_or(Stop::Outside)?.to_path_buf();
        if !is_from_link && roots.locate(&path).is_none() {
            return Err(Stop::Outside);
        }
        // The root's path has no links, so that words decide while it goes up, and by names alone
        // until a root is reached; the walk goes on from there.
        while self.steps.pop_front_if(|step| step.is_from_link && step.name == "..").is_some() {
            path.pop();
        }
        while roots.locate(&path).is_none()
            && let Some(step) =
                self.steps.pop_front_if(|step| step.is_from_link && step.name != "..")
        {
            path.push(step.name);
        }
        self.jump(roots, &path, is_from_link)
    }

    /// Goes on where a link leads.
    fn follow(&mut self, roots: &'a Roots, name: &OsStr) -> Result<(), Stop> {
        let target = match rustix::fs::readlinkat(self.folder(), name, Vec::new()) {
            Ok(target) => PathBuf::from(OsString::from_vec(target.into_bytes())),
            // It is no link but a file, and so has nothing beneath it.
            Err(Errno::INVAL) => return Err(Stop::System(Errno::NOTDIR)),
            Err(errno) => return Err(errno.into()),
        };
        self.n_links += 1;
        if self.n_links > MAX_LINKS {
            return Err(Stop::System(Errno::LOOP));
        }
        if target.is_absolute() {
            return self.jump(roots, &target, true);
        }
        self.add(&target, true);
        Ok(())
    }

    /// Starts again at the root that holds an absolute path.
    fn jump(&mut self, roots: &'a Roots, path: &Path, is_from_link: bool) -> Result<(), Stop> {
        let (root, rest) = roots.locate(path).ok_or(Stop::Outside)?;
        self.root = root;
        self.folders.clear();
        self.add(rest, is_from_link);
        Ok(())
    }

    fn folder(&self) -> &Arc<OwnedFd> {
        self.folders.last().map_or(&self.root.handle, |(folder, _)| folder)
    }

    fn relative_path(&self) -> PathBuf {
        self.folders.iter().map(|(_, name)| name).collect()
    }

    fn real_path(&self) -> PathBuf {
        self.root.real_path.join(self.relative_path())
    }

    fn place(self, name: OsString, kind: Option<FileType>) -> Place {
        Place {
            folder: self.folder().clone(),
            kind,
            is_folder_missing: false,
            missing_folders: Vec::new(),
            real_path: self.real_path().join(&name),
            name,
        }
    }

    /// A place in a folder that does not exist. What is still to be walked must not lead out.
    fn place_beyond(mut self, missing: OsString, roots: &Roots) -> Result<Place, Stop> {
        let mut relative = self.relative_path().join(&missing);
        let mut missing_folders = vec![missing];
        let mut is_left = false;
        for step in std::mem::take(&mut self.steps) {
            if step.name == ".." {
                is_left = true;
                if !relative.pop() {
                    return Err(Stop::Outside);
                }
                continue;
            }
            relative.push(&step.name);
            missing_folders.push(step.name);
        }
        let real_path = self.root.real_path.join(relative);
        if roots.hides(&real_path) {
            return Err(Stop::Outside);
        }
        let name = missing_folders.pop().unwrap_or_default();
        if is_left {
            // No folder is made only to be left again.
            missing_folders.clear();
        }
        let place = self.place(name, None);
        Ok(Place { is_folder_missing: true, missing_folders, real_path, ..place })
    }
}
