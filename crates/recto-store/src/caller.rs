//! On whose behalf a call runs: whether it was taken back, what the client's own sandbox lets it
//! touch, and what it remembers on its way.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use globset::GlobSet;
use recto_text::{Error, Result};

/// Who calls.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Set when the call is taken back.
    pub cancel: Cancel,
    /// What the client forbids, beyond our own roots.
    pub sandbox: Sandbox,
    /// What the client calls this call, where it says so.
    pub call_id: Option<String>,
    /// What the answer should add, wherever it comes up.
    pub remarks: Remarks,
    /// Set once the call has turned to the disk, where it then stays.
    pub disk_only: DiskOnly,
    /// Where the last file was, for whoever reads many of them.
    pub last_folder: LastFolder,
    /// The file that grows while it is read.
    pub growing: Growing,
}

impl Caller {
    /// The same caller, for a thread that reads many files one after another.
    pub fn reading_many(&self) -> Caller {
        let last_folder = LastFolder(Some(Mutex::default()));
        Caller { last_folder, growing: Growing::default(), ..self.clone() }
    }

    /// Whether it reads many files, so that none is worth much.
    pub fn reads_many(&self) -> bool {
        self.last_folder.0.is_some()
    }
}

/// The folder that the way to the last file led to, so that the next one in it is found at once.
///
/// It is kept for a moment only, as long as a thread may sleep between two system calls anyway:
/// who moves a folder away meanwhile sees it read for as long. Clones remember nothing.
#[derive(Debug, Default)]
pub struct LastFolder(Option<Mutex<Option<Arc<FoundFolder>>>>);

/// A folder and the way to it.
#[derive(Debug)]
pub struct FoundFolder {
    /// As it was asked for.
    pub path: PathBuf,
    /// Without links.
    pub real_path: PathBuf,
    /// The folder itself.
    pub handle: Arc<OwnedFd>,
    /// When it was found.
    pub at: Instant,
}

impl LastFolder {
    const MAX_AGE: Duration = Duration::from_millis(10);

    /// The folder, if it is remembered under that path.
    pub fn get(&self, path: &Path) -> Option<Arc<FoundFolder>> {
        let folder = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder.as_ref()?;
        // Compared as text, which is faster than by parts and only finds less.
        let is_same = folder.path.as_os_str() == path.as_os_str();
        (is_same && folder.at.elapsed() < LastFolder::MAX_AGE).then(|| folder.clone())
    }

    /// Remembers a folder instead of the one before, where that is wanted.
    pub fn set(&self, found: impl FnOnce() -> FoundFolder) {
        if let Some(folder) = &self.0 {
            *folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(found()));
        }
    }
}

impl Clone for LastFolder {
    fn clone(&self) -> LastFolder {
        LastFolder::default()
    }
}

/// How much of a file counts for a call because it grows while it is read.
#[derive(Debug, Clone, Default)]
pub struct Growing(Arc<Mutex<Option<GrowingFile>>>);

#[derive(Debug, Clone, Copy)]
struct GrowingFile {
    device: u64,
    inode: u64,
    n_bytes: u64,
}

impl Growing {
    /// How many bytes count of the file with that device and inode, if that was said.
    pub fn n_bytes(&self, device: u64, inode: u64) -> Option<u64> {
        let growing = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = growing.filter(|known| (known.device, known.inode) == (device, inode));
        known.map(|known| known.n_bytes)
    }

    /// Says so, instead of about the file before.
    pub fn set(&self, device: u64, inode: u64, n_bytes: u64) {
        let growing = GrowingFile { device, inode, n_bytes };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(growing);
    }
}

/// Whether a call leaves an editor aside. A call uses one store from start to end, so that there
/// is no way back.
#[derive(Debug, Clone, Default)]
pub struct DiskOnly(Arc<AtomicBool>);

impl DiskOnly {
    /// From now on the call reads and writes the disk.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it does.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Things that come up while a call runs and that its answer should say.
#[derive(Debug, Clone, Default)]
pub struct Remarks(Arc<Mutex<Vec<String>>>);

impl Remarks {
    /// Adds one, once.
    pub fn add(&self, remark: impl Into<String>) {
        let mut remarks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let remark = remark.into();
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    /// All of them, which are then forgotten.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A flag that the client can raise while a call runs.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Takes the call back.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Ends a cancelled call. Long work asks every few milliseconds, and never between the
    /// commit of a write and its answer.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// What a client's sandbox lets a call do with a path. Where two entries are equally specific, the
/// later of these beats the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
    /// Nothing.
    None,
}

/// A client's sandbox: the most specific entry decides, and what no entry names is closed.
#[derive(Debug, Clone, Default)]
pub enum Sandbox {
    /// The client sets no limits.
    #[default]
    Unlimited,
    /// Only what the entries allow.
    Limited(Vec<Entry>),
}

/// One rule of a client's sandbox.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it holds.
    pub place: Place,
    /// What is allowed there.
    pub access: Access,
}

/// Where a rule holds.
#[derive(Debug, Clone)]
pub enum Place {
    /// A folder or file and everything beneath it.
    Beneath(PathBuf),
    /// Every path that matches. More specific than any folder.
    Matching(GlobSet),
}

impl Sandbox {
    /// What may be done with the file whose real path is `path`. `real` resolves the links in an
    /// entry's own path, which a client writes as it likes.
    pub fn access(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Access {
        let Sandbox::Limited(entries) = self else { return Access::Write };
        most_specific(entries, path, real).unwrap_or(Access::None)
    }

    /// Whether an entry closes a path by name, so that not even what stands there may be learned.
    pub fn closes(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> bool {
        let Sandbox::Limited(entries) = self else { return false };
        most_specific(entries, path, real) == Some(Access::None)
    }

    /// The same sandbox with the links in its own paths resolved, for many questions.
    pub fn resolved(&self, real: impl Fn(&Path) -> Option<PathBuf>) -> Sandbox {
        let Sandbox::Limited(entries) = self else { return Sandbox::Unlimited };
        let resolve = |entry: &Entry| match &entry.place {
            Place::Beneath(folder) => {
                let folder = real(folder).unwrap_or_else(|| folder.clone());
                Entry { place: Place::Beneath(folder), access: entry.access }
            }
            Place::Matching(_) => entry.clone(),
        };
        Sandbox::Limited(entries.iter().map(resolve).collect())
    }
}

/// What the most specific of the entries for a path says.
fn most_specific(
    entries: &[Entry],
    path: &Path,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Option<Access> {
    let matching =
        entries.iter().filter_map(|entry| Some((entry.specificity(path, &real)?, entry.access)));
    matching.max().map(|(_, access)| access)
}

impl Entry {
    fn specificity(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Option<usize> {
        match &self.place {
            Place::Beneath(folder) => {
                let real = real(folder).unwrap_or_else(|| folder.clone());
                path.starts_with(&real).then(|| real.components().count())
            }
            Place::Matching(glob) => glob.is_match(path).then_some(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(folder: &str, access: Access) -> Entry {
        Entry { place: Place::Beneath(folder.into()), access }
    }

    #[test]
    fn the_most_specific_entry_decides() {
        let sandbox = Sandbox::Limited(vec![
            entry("/", Access::Read),
            entry("/project", Access::Write),
            entry("/project/.git", Access::Read),
            entry("/secret", Access::None),
            entry("/secret", Access::Write),
        ]);
        for (path, access) in [
            ("/etc/hosts", Access::Read),
            ("/project/a", Access::Write),
            ("/projects/a", Access::Read),
            ("/project/.git/config", Access::Read),
            ("/secret/a", Access::None),
        ] {
            assert_eq!(sandbox.access(Path::new(path), |_| None), access, "{path}");
        }
        assert_eq!(Sandbox::Limited(vec![]).access(Path::new("/a"), |_| None), Access::None);
        assert_eq!(Sandbox::Unlimited.access(Path::new("/a"), |_| None), Access::Write);
    }
}
