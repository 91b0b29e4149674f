//! The files that differ between two revisions, or between a revision and the disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use gix_object::Kind;
use gix_object::tree::EntryKind;
use recto_platform::FileKind;
use recto_text::line_diff::is_binary;

use super::history::{History, Stop};
use super::log::{lossy, subproject};
use super::renames::Candidate;
use super::revision::Peel;
use super::tree::TreeEntry;
use super::tree_diff::EntryChange;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::glob::Glob;
use crate::limits;
use crate::path::AbsPath;
use crate::{ListRequest, Store, read_all};

/// The most files that a comparison with the disk lists.
const MAX_LISTED: usize = 200_000;

/// How a file differs, by git's letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is only in the new version.
    Added,
    /// It is only in the old version.
    Removed,
    /// Its content or mode differs.
    Modified,
    /// Its path differs, and maybe its content.
    Renamed,
    /// Its type differs: file, link or submodule.
    TypeChanged,
}

impl Status {
    /// Returns git's letter.
    pub fn letter(self) -> char {
        match self {
            Status::Added => 'A',
            Status::Removed => 'D',
            Status::Modified => 'M',
            Status::Renamed => 'R',
            Status::TypeChanged => 'T',
        }
    }
}

/// A file that differs.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// How it differs.
    pub status: Status,
    /// The path, from the top.
    pub path: Vec<u8>,
    /// The old path of a renamed file.
    pub old_path: Option<Vec<u8>>,
    before: Option<TreeEntry>,
    after: Option<NewSide>,
}

/// The new version of a file.
#[derive(Debug, Clone)]
enum NewSide {
    Entry(TreeEntry),
    Disk(EntryKind),
}

impl NewSide {
    fn kind(&self) -> EntryKind {
        match self {
            NewSide::Entry(entry) => entry.kind,
            NewSide::Disk(kind) => *kind,
        }
    }
}

/// The files that differ, sorted by path.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// The files.
    pub files: Vec<FileChange>,
    /// The budget that ended the comparison early, as text.
    pub stopped: Option<String>,
    /// Whether there was no time to search for renames.
    pub is_without_renames: bool,
    /// How many directories on disk could not be read.
    pub n_unreadable: u64,
    /// Submodules, which are not compared with the disk.
    pub n_submodules: usize,
    /// How many repositories on disk that are not submodules were omitted.
    pub n_nested: usize,
    /// How many new files on disk were omitted because their names are not UTF-8.
    pub n_unnamable: u64,
}

/// Both versions of a file.
pub struct Versions {
    /// The old version; empty if there is none.
    pub before: Arc<Vec<u8>>,
    /// The new version; empty if there is none.
    pub after: Arc<Vec<u8>>,
    /// Whether git would not show the lines.
    pub is_binary: bool,
}

impl FileChange {
    /// Returns the path as text.
    pub fn shown(&self) -> String {
        lossy(&self.path)
    }

    /// Returns the old path of a renamed file as text.
    pub fn shown_old(&self) -> Option<String> {
        self.old_path.as_ref().map(|path| lossy(path))
    }

    /// Whether the new version is a regular file on disk.
    pub fn is_on_disk(&self) -> bool {
        let after = self.after.as_ref();
        after.is_some_and(|after| matches!(after, NewSide::Disk(kind) if *kind != EntryKind::Link))
    }

    /// Returns how the mode of a regular file differs.
    pub fn mode_change(&self) -> Option<&'static str> {
        let kinds = (self.before?.kind, self.after.as_ref()?.kind());
        match kinds {
            (EntryKind::Blob, EntryKind::BlobExecutable) => Some("now executable"),
            (EntryKind::BlobExecutable, EntryKind::Blob) => Some("no longer executable"),
            _ => None,
        }
    }
}

impl History {
    /// Returns the files below the path of this history that differ between two revisions.
    pub fn changes(&self, from: &str, to: &str) -> Result<Changes> {
        let from = self.resolve(from, Peel::Tree)?;
        let to = self.resolve(to, Peel::Tree)?;
        let below = self.below.as_os_str().as_bytes();
        let changed = self.changed_entries(Some(from), Some(to), below);
        let changed = changed.map_err(|stop| self.error(stop, TOO_SLOW))?;
        self.paired(&changed).map_err(|stop| self.error(stop, TOO_SLOW))
    }

    /// Pairs renamed files.
    fn paired(&self, changed: &[EntryChange]) -> Result<Changes, Stop> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for EntryChange { path, before, after } in changed {
            match (*before, *after) {
                (Some(entry), None) => removed.push(Candidate { path, entry }),
                (None, Some(entry)) => added.push(Candidate { path, entry }),
                _ => {}
            }
        }
        // Without time to look for renames, files are removed and added.
        let (found, is_without_renames) = match self.renames(&removed, &added) {
            Err(Stop::Time) => (vec![None; added.len()], true),
            found => (found?, false),
        };
        let is_renamed: HashSet<&[u8]> =
            found.iter().flatten().map(|source| removed[*source].path).collect();
        let pairs = added.iter().zip(&found);
        let source_of: HashMap<&[u8], &Candidate<'_>> = pairs
            .filter_map(|(target, source)| Some((target.path, &removed[(*source)?])))
            .collect();
        let mut changes = Changes { is_without_renames, ..Changes::default() };
        for EntryChange { path, before, after } in changed {
            let source = source_of.get(&path[..]).filter(|_| before.is_none());
            if after.is_none() && is_renamed.contains(&path[..]) {
                continue;
            }
            let old_path = source.map(|source| source.path.to_vec());
            let before = source.map(|source| source.entry).or(*before);
            let after = after.map(NewSide::Entry);
            changes.files.push(file_change(path.clone(), old_path, before, after));
        }
        Ok(changes)
    }

    /// Returns the files below the path of this history that differ between a revision and the disk.
    /// Files that git ignores count only if the revision has them.
    pub fn changes_on_disk(&self, from: &str) -> Result<Changes> {
        let from = self.resolve(from, Peel::Tree)?;
        let below = self.below.as_os_str().as_bytes();
        let old = self.changed_entries(None, Some(from), below);
        let old = old.map_err(|stop| self.error(stop, TOO_SLOW))?;
        let mut paths: BTreeMap<Vec<u8>, Option<TreeEntry>> =
            old.into_iter().map(|change| (change.path, change.after)).collect();
        let mut changes = Changes::default();
        let folder = self.on_disk(below);
        let is_dir = self.local.probe_link(&folder, &self.context)?.is_dir();
        if is_dir {
            self.add_listed(below, &folder, &mut paths, &mut changes)?;
        } else if !below.is_empty() {
            paths.entry(below.to_vec()).or_default();
        }
        let mut leading = LeadingLinks::default();
        for (path, before) in paths {
            match self.disk_change(path, before, &mut leading, &mut changes.n_submodules) {
                Ok(change) => changes.files.extend(change),
                Err(Stop::Time) => {
                    changes.stopped = Some(self.time_limit());
                    break;
                }
                Err(stop) => return Err(self.error(stop, TOO_SLOW)),
            }
        }
        Ok(changes)
    }

    /// Adds the files and links below a directory on disk, except those of other repositories.
    fn add_listed(
        &self,
        below: &[u8],
        folder: &AbsPath,
        paths: &mut BTreeMap<Vec<u8>, Option<TreeEntry>>,
        changes: &mut Changes,
    ) -> Result<()> {
        let glob = &Glob::parse("**")?.1.showing_hidden();
        let request = ListRequest { folder, glob, shows_ignored: false, limit: MAX_LISTED };
        let walk_deadline = Some(self.started + self.max_time);
        let context = Context { walk_deadline, ..self.context.clone() };
        let listing = self.local.list_with_links(&request, &context)?;
        changes.n_unreadable = listing.n_unreadable;
        changes.stopped = match listing.stopped {
            Some(_) if self.is_time_over() => Some(self.time_limit()),
            None if listing.total > listing.files.len() as u64 => {
                Some(format!("{} files", listing.files.len()))
            }
            stopped => stopped.map(String::from),
        };
        if listing.n_unnamable > 0 {
            // Those of the revision are compared.
            let is_known = |path: &&Vec<u8>| {
                let kind = self.kind_on_disk(path).ok().flatten();
                str::from_utf8(path).is_err()
                    && matches!(kind, Some(FileKind::File | FileKind::Symlink))
            };
            let n_known = paths.keys().filter(is_known).count() as u64;
            changes.n_unnamable = listing.n_unnamable.saturating_sub(n_known);
        }
        let prefix = if below.is_empty() { Vec::new() } else { [below, b"/"].concat() };
        // Whether directories are the top of another repository.
        let mut is_top: HashMap<Vec<u8>, bool> = HashMap::new();
        for file in listing.files {
            let path = [&prefix[..], file.as_bytes()].concat();
            let mut slashes =
                memchr::memchr_iter(b'/', &path).filter(|slash| *slash >= prefix.len());
            let is_foreign = slashes.any(|slash| {
                let dir = &path[..slash];
                let entry = paths.get(dir).copied().flatten();
                if entry.is_some_and(|entry| entry.kind == EntryKind::Commit) {
                    return true;
                }
                let is_top = is_top.entry(dir.to_vec());
                *is_top.or_insert_with(|| {
                    let has_git = self.has_git(dir);
                    changes.n_nested += usize::from(has_git);
                    has_git
                })
            });
            // In a linked work tree, `.git` is a file.
            if !is_foreign && path.rsplit(|byte| *byte == b'/').next() != Some(b".git") {
                paths.entry(path).or_default();
            }
        }
        Ok(())
    }

    /// Whether a directory on disk contains `.git`. Without time left, no directory does.
    fn has_git(&self, dir: &[u8]) -> bool {
        let kind = || self.kind_on_disk(&[dir, b"/.git"].concat());
        !self.is_time_over() && matches!(kind(), Ok(Some(_)))
    }

    /// Compares one path with the disk.
    fn disk_change(
        &self,
        path: Vec<u8>,
        before: Option<TreeEntry>,
        leading: &mut LeadingLinks,
        n_submodules: &mut usize,
    ) -> Result<Option<FileChange>, Stop> {
        self.check()?;
        let on_disk = self.on_disk(&path);
        if before.is_some_and(|before| before.kind == EntryKind::Commit) {
            *n_submodules += 1;
            return Ok(None);
        }
        let seen = match leading.is_below_link(&path, |folder| self.kind_on_disk(folder))? {
            true => None,
            false => self.kind_on_disk(&path)?,
        };
        let after = match seen {
            Some(FileKind::File) => {
                let file = self.local.open_file(&on_disk, &self.context)?;
                let Some(file) = file else { return Ok(None) };
                let metadata = file.metadata().map_err(|_| system(&on_disk))?;
                let is_executable = match self.repository.has_file_modes() {
                    true => metadata.mode() & 0o100 != 0,
                    false => before.is_some_and(|it| it.kind == EntryKind::BlobExecutable),
                };
                let kind = match is_executable {
                    true => EntryKind::BlobExecutable,
                    false => EntryKind::Blob,
                };
                let is_same_kind = before.is_some_and(|before| before.kind == kind);
                if is_same_kind
                    && metadata.len() <= limits::GIT_OBJECT
                    && let Some(before) = before
                {
                    let mut bytes = Vec::with_capacity(metadata.len() as usize);
                    let read = file.take(limits::GIT_OBJECT).read_to_end(&mut bytes);
                    read.map_err(|_| system(&on_disk))?;
                    if self.has_id(&before, &bytes) {
                        return Ok(None);
                    }
                }
                Some(NewSide::Disk(kind))
            }
            Some(FileKind::Symlink) => {
                let target = self.local.link_target(&on_disk, &self.context)?;
                let target = target.as_os_str().as_bytes();
                match before {
                    Some(before)
                        if before.kind == EntryKind::Link && self.has_id(&before, target) =>
                    {
                        return Ok(None);
                    }
                    _ => Some(NewSide::Disk(EntryKind::Link)),
                }
            }
            _ => None,
        };
        match (before, &after) {
            (None, None) => Ok(None),
            _ => Ok(Some(file_change(path, None, before, after))),
        }
    }

    fn kind_on_disk(&self, path: &[u8]) -> Result<Option<FileKind>, Stop> {
        match self.local.probe_link(&self.on_disk(path), &self.context) {
            // A directory of the path is now a link to a place outside.
            Err(Error::PermissionDenied { .. } | Error::PathTooLong { .. }) => Ok(None),
            seen => Ok(seen?.kind),
        }
    }

    fn has_id(&self, entry: &TreeEntry, bytes: &[u8]) -> bool {
        gix_object::compute_hash(self.repository.hash, Kind::Blob, bytes)
            .is_ok_and(|id| id == entry.id)
    }

    fn on_disk(&self, path: &[u8]) -> AbsPath {
        let path = PathBuf::from(OsStr::from_bytes(path));
        let shown = path.display().to_string();
        AbsPath::of(self.tops[0].join(path), shown)
    }

    /// Reads both versions of a file. `current` reads the files on disk. Returns `None` if one is
    /// larger than 64 MiB.
    pub fn versions(&self, change: &FileChange, current: &dyn Store) -> Result<Option<Versions>> {
        let read = |entry: &TreeEntry| match entry.kind {
            EntryKind::Commit => Ok(Some(Arc::new(subproject(&entry.id).into_bytes()))),
            _ => {
                let blob = self.lookup(&entry.id).map_err(|stop| self.error(stop, TOO_SLOW))?;
                Ok::<_, Error>(blob.map(|blob| Arc::new(blob.bytes.clone())))
            }
        };
        let before = match &change.before {
            None => Some(Arc::default()),
            Some(entry) => read(entry)?,
        };
        let after = match &change.after {
            None => Some(Arc::default()),
            Some(NewSide::Entry(entry)) => read(entry)?,
            Some(NewSide::Disk(EntryKind::Link)) => {
                let target = self.local.link_target(&self.on_disk(&change.path), &self.context)?;
                Some(Arc::new(target.into_os_string().into_encoded_bytes()))
            }
            Some(NewSide::Disk(_)) => {
                let file = current.open(&self.on_disk(&change.path), &self.context)?;
                match file.size() <= limits::GIT_OBJECT {
                    true => Some(Arc::new(read_all(&*file)?)),
                    false => None,
                }
            }
        };
        let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
        let is_binary = is_binary(&before) || is_binary(&after);
        Ok(Some(Versions { before, after, is_binary }))
    }
}

/// Finds out which of some sorted paths have a directory that is now a symbolic link.
#[derive(Default)]
struct LeadingLinks {
    /// A path of whose directories none is a link.
    checked: Vec<u8>,
    /// The last directory that is a link, with a slash.
    link: Option<Vec<u8>>,
}

impl LeadingLinks {
    fn is_below_link(
        &mut self,
        path: &[u8],
        kind: impl Fn(&[u8]) -> Result<Option<FileKind>, Stop>,
    ) -> Result<bool, Stop> {
        if self.link.as_ref().is_some_and(|link| path.starts_with(link)) {
            return Ok(true);
        }
        for slash in memchr::memchr_iter(b'/', path) {
            if self.checked.starts_with(&path[..=slash]) {
                continue;
            }
            if kind(&path[..slash])? == Some(FileKind::Symlink) {
                self.link = Some(path[..=slash].to_vec());
                return Ok(true);
            }
        }
        self.checked = path.to_vec();
        Ok(false)
    }
}

const TOO_SLOW: &str = "comparing takes too long; name a path";

fn file_change(
    path: Vec<u8>,
    old_path: Option<Vec<u8>>,
    before: Option<TreeEntry>,
    after: Option<NewSide>,
) -> FileChange {
    let class = |kind| match kind {
        EntryKind::BlobExecutable => EntryKind::Blob,
        kind => kind,
    };
    let status = match (&before, &after) {
        (None, _) => Status::Added,
        (_, None) => Status::Removed,
        _ if old_path.is_some() => Status::Renamed,
        (Some(before), Some(after)) if class(before.kind) != class(after.kind()) => {
            Status::TypeChanged
        }
        _ => Status::Modified,
    };
    FileChange { status, path, old_path, before, after }
}

fn system(path: &AbsPath) -> Error {
    Error::System { path: path.to_string(), cause: "the file cannot be read".into() }
}
