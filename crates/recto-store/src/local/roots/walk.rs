//! A walk from a root's handle to a location.
//!
//! It opens one component at a time without following links, and resolves links itself. A link may
//! lead anywhere inside the roots, also by an absolute path. A link that leads outside is rejected
//! before its target is touched, so callers cannot probe files outside. `..` returns to an earlier
//! handle of the walk and is never passed to the kernel.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use recto_platform::{FileKind, Handle, SysError};

use super::super::letter_case::Comparison;
use super::super::state_dir::{is_marker_name, is_state_dir, is_state_dir_at};
use super::{LastLink, Location, Root, Roots};
use crate::context::Sandbox;
use crate::limits;

/// The number of links that the kernel follows.
const MAX_LINKS: usize = limits::LINKS;

/// The number of directories that a walk keeps open, to return to them by `..`.
pub const MAX_OPEN: usize = 32;

/// Why a walk failed.
pub enum Stop {
    Outside,
    /// The root was moved or replaced.
    Replaced {
        root: String,
    },
    Closed,
    System(SysError),
}

impl From<SysError> for Stop {
    fn from(errno: SysError) -> Stop {
        Stop::System(errno)
    }
}

/// A remaining component, and whether it comes from a link.
struct PathStep {
    name: OsString,
    is_from_link: bool,
}

pub struct PathWalk<'a> {
    root: &'a Root,
    sandbox: &'a Sandbox,
    /// The directories entered below the root. Only the last ones are open.
    dirs: Vec<(Option<Arc<Handle>>, OsString)>,
    /// The path of the last of them.
    real_path: PathBuf,
    steps: VecDeque<PathStep>,
    n_links: usize,
}

impl<'a> PathWalk<'a> {
    /// Starts at a root, for a caller with this sandbox.
    pub fn new(root: &'a Root, sandbox: &'a Sandbox) -> PathWalk<'a> {
        let (real_path, steps) = (root.real_path.clone(), VecDeque::new());
        PathWalk { root, sandbox, dirs: Vec::new(), real_path, steps, n_links: 0 }
    }

    /// Puts a relative path in front of the remaining components.
    pub fn add(&mut self, path: &Path, is_from_link: bool) {
        for part in path.components().rev() {
            let name = match part {
                Component::Normal(name) => name.to_os_string(),
                Component::ParentDir => OsString::from(".."),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => continue,
            };
            self.steps.push_front(PathStep { name, is_from_link });
        }
    }

    /// Walks to the location.
    pub fn run(mut self, roots: &'a Roots, last_link: LastLink) -> Result<Location, Stop> {
        while let Some(step) = self.steps.pop_front() {
            if step.name == ".." {
                match self.dirs.pop() {
                    None => self.leave_root(roots, step.is_from_link)?,
                    Some(_) => {
                        self.real_path.pop();
                        self.reopen();
                    }
                }
                continue;
            }
            let here = self.real_path.join(&step.name);
            let stored = roots.visible_name(self.dir(), &self.real_path, &step.name);
            let is_hidden = is_marker_name(&step.name) || roots.hides(&here);
            let Some(stored) = stored.filter(|_| !is_hidden) else {
                return Err(Stop::Outside);
            };
            if self.sandbox.closes(&here, |path| path.canonicalize().ok()) {
                return Err(Stop::Closed);
            }
            if self.steps.is_empty() {
                match recto_platform::status_at(self.dir(), &step.name) {
                    Ok(status) => match status.kind() {
                        FileKind::Symlink if last_link == LastLink::Follow => {
                            self.follow(roots, &step.name)?;
                        }
                        FileKind::Directory if is_state_dir_at(self.dir(), &step.name) => {
                            return Err(Stop::Outside);
                        }
                        kind => return Ok(self.location(step.name, Some(kind))),
                    },
                    Err(SysError::NOENT | SysError::NOTDIR) => {
                        return Ok(self.location(step.name, None));
                    }
                    Err(errno) => return Err(errno.into()),
                }
                continue;
            }
            match self.enter(roots, &step.name, &stored) {
                Ok(()) => {}
                Err(Stop::System(SysError::NOENT | SysError::NOTDIR)) => {
                    return self.missing_location(step.name, roots);
                }
                Err(stop) => return Err(stop),
            }
        }
        // The walk ended in a directory, by `..` or by naming a root.
        Ok(Location {
            dir: self.dir().clone(),
            name: OsString::from("."),
            kind: Some(FileKind::Directory),
            is_dir_missing: false,
            missing_dirs: Vec::new(),
            real_path: self.real_path,
        })
    }

    /// Enters a directory, or follows a link. `stored` is the name that the directory lists.
    fn enter(&mut self, roots: &'a Roots, name: &OsStr, stored: &OsStr) -> Result<(), Stop> {
        // Retry a name that changes between directory and link.
        for _ in 0..8 {
            match recto_platform::open_path_at(self.dir(), name) {
                Ok(dir) if is_state_dir(&dir) => return Err(Stop::Outside),
                Ok(dir) => {
                    self.real_path.push(stored);
                    self.dirs.push((Some(Arc::new(dir)), name.to_os_string()));
                    if let Some(index) = self.dirs.len().checked_sub(MAX_OPEN + 1) {
                        self.dirs[index].0 = None;
                    }
                    return Ok(());
                }
                Err(SysError::NOTDIR | SysError::LOOP) => {}
                Err(errno) => return Err(errno.into()),
            }
            match self.follow(roots, name) {
                Err(Stop::System(SysError::NOTDIR)) => {}
                followed => return followed,
            }
        }
        Err(Stop::System(SysError::NOTDIR))
    }

    /// Walks to the current directory again if it is no longer open.
    fn reopen(&mut self) {
        if self.dirs.last().is_some_and(|(dir, _)| dir.is_none()) {
            self.real_path.clone_from(&self.root.real_path);
            let names = std::mem::take(&mut self.dirs).into_iter().rev();
            let steps = names.map(|(_, name)| PathStep { name, is_from_link: false });
            steps.for_each(|step| self.steps.push_front(step));
        }
    }

    /// Handles `..` at a root. Only a link may leave all roots, and only to reenter one.
    fn leave_root(&mut self, roots: &'a Roots, is_from_link: bool) -> Result<(), Stop> {
        let mut path = self.root.real_path.parent().ok_or(Stop::Outside)?.to_path_buf();
        if !is_from_link && roots.locate(&path).is_none() {
            return Err(Stop::Outside);
        }
        // The root's path is canonical, so `..` can be resolved textually, and so can names until a
        // root is reached. The walk continues from there.
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

    /// Follows a link.
    fn follow(&mut self, roots: &'a Roots, name: &OsStr) -> Result<(), Stop> {
        let target = match recto_platform::read_link_at(self.dir(), name) {
            Ok(target) => target,
            // It is a file, not a link, so it has no children.
            Err(SysError::INVAL) => return Err(Stop::System(SysError::NOTDIR)),
            Err(errno) => return Err(errno.into()),
        };
        self.n_links += 1;
        if self.n_links > MAX_LINKS {
            return Err(Stop::System(SysError::LOOP));
        }
        if target.is_absolute() {
            return self.jump(roots, &target, true);
        }
        self.add(&target, true);
        Ok(())
    }

    /// Restarts at the root that contains an absolute path.
    fn jump(&mut self, roots: &'a Roots, path: &Path, is_from_link: bool) -> Result<(), Stop> {
        let (root, rest) = roots.locate_current(path)?;
        self.root = root;
        self.real_path.clone_from(&root.real_path);
        self.dirs.clear();
        self.add(rest, is_from_link);
        Ok(())
    }

    fn dir(&self) -> &Arc<Handle> {
        self.dirs.last().and_then(|(dir, _)| dir.as_ref()).unwrap_or(&self.root.handle)
    }

    fn relative_path(&self) -> PathBuf {
        self.dirs.iter().map(|(_, name)| name).collect()
    }

    fn location(self, name: OsString, kind: Option<FileKind>) -> Location {
        Location {
            dir: self.dir().clone(),
            kind,
            is_dir_missing: false,
            missing_dirs: Vec::new(),
            real_path: self.real_path.join(&name),
            name,
        }
    }

    /// Returns a location in a missing directory. The remaining components must not lead outside.
    fn missing_location(mut self, missing: OsString, roots: &Roots) -> Result<Location, Stop> {
        let mut relative = self.relative_path().join(&missing);
        let mut missing_dirs = vec![missing];
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
            missing_dirs.push(step.name);
        }
        let real_path = self.root.real_path.join(relative);
        let first = missing_dirs.first().map_or(OsStr::new(""), OsString::as_os_str);
        if roots.has_hidden()
            && (roots.hides(&real_path)
                || roots.hides_folded(&real_path)
                    && Comparison::of(self.dir(), first) == Comparison::Loose)
        {
            return Err(Stop::Outside);
        }
        let name = missing_dirs.pop().unwrap_or_default();
        if is_left {
            // Do not create a directory that `..` leaves again.
            missing_dirs.clear();
        }
        let location = self.location(name, None);
        Ok(Location { is_dir_missing: true, missing_dirs, real_path, ..location })
    }
}
