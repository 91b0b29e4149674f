//! Files in memory, for tests: the contract without a disk.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use recto_text::error::{Denial, Instead};
use recto_text::search::Search;
use recto_text::window::Window;
use recto_text::{Document, Error, Result};

use crate::caller::{Access, Caller};
use crate::path::AbsPath;
use crate::{
    AtRevision, Bytes, Held, ListRequest, Listing, Purpose, Removed, Revisions, Store,
    VersionedHits, VersionedPage, WriteError, WriteStore, Written, text_of,
};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file and its bytes.
    File(Vec<u8>),
    /// A folder.
    Folder,
}

/// A tree of files beneath one root.
pub struct MemoryStore {
    root: PathBuf,
    is_hidden: Box<dyn Fn(&Path) -> bool + Send + Sync>,
    allows_git_writes: bool,
    nodes: Mutex<BTreeMap<PathBuf, Node>>,
}

impl MemoryStore {
    /// Serves `nodes`, whose paths are absolute and lie beneath `root`. `is_hidden` gets paths
    /// relative to the root.
    pub fn new(
        root: &Path,
        mut nodes: BTreeMap<PathBuf, Node>,
        is_hidden: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> MemoryStore {
        nodes.insert(root.to_path_buf(), Node::Folder);
        MemoryStore {
            root: root.to_path_buf(),
            is_hidden: Box::new(is_hidden),
            allows_git_writes: false,
            nodes: Mutex::new(nodes),
        }
    }

    /// Lets `.git` folders be written, or not.
    pub fn allow_git_writes(&mut self, allows_git_writes: bool) {
        self.allows_git_writes = allows_git_writes;
    }

    /// Everything that stands in the store.
    pub fn nodes(&self) -> BTreeMap<PathBuf, Node> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_document(&self, path: &AbsPath, caller: &Caller) -> Result<Document> {
        Ok(self.document(path, caller)?.expect("everything in memory can be held"))
    }

    /// The path without `..`, if the caller may use it. Without links, words decide.
    fn locate(&self, path: &AbsPath, caller: &Caller, wants: Access) -> Result<PathBuf> {
        let denied = |reason| Err(Error::PermissionDenied { path: path.to_string(), reason });
        let outside = || denied(Denial::Outside { roots: self.root.display().to_string() });
        let Ok(below) = path.as_path().strip_prefix(&self.root) else { return outside() };
        let mut relative = PathBuf::new();
        for part in below.components() {
            match part {
                Component::ParentDir if !relative.pop() => return outside(),
                Component::ParentDir => {}
                part => relative.push(part),
            }
        }
        if (self.is_hidden)(&relative) {
            return outside();
        }
        let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        let is_protected = wants == Access::Write && !self.allows_git_writes;
        if is_protected && relative.components().any(is_git) {
            return denied(Denial::GitFolder);
        }
        let located = self.root.join(relative);
        match (wants, caller.sandbox.access(&located, |_| None)) {
            (_, Access::None) | (Access::Write, Access::Read) => denied(Denial::ClientSandbox),
            _ => Ok(located),
        }
    }
}

impl Store for MemoryStore {
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>> {
        let located = self.locate(path, caller, Access::Read)?;
        match self.lock().get(&located) {
            None => Err(Error::FileNotFound { path: path.to_string() }),
            Some(Node::Folder) => {
                Err(Error::NotAFile { path: path.to_string(), instead: Instead::Folder })
            }
            Some(Node::File(bytes)) => text_of(path, bytes.clone()).map(Some),
        }
    }

    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage> {
        Ok(VersionedPage::of(&self.held_document(path, caller)?, window))
    }

    fn search(
        &self,
        path: &AbsPath,
        search: &Search<'_>,
        caller: &Caller,
    ) -> Result<VersionedHits> {
        Ok(VersionedHits::of(&self.held_document(path, caller)?, search))
    }

    fn open(&self, path: &AbsPath, caller: &Caller) -> Result<Box<dyn Bytes>> {
        let located = self.locate(path, caller, Access::Read)?;
        match self.lock().get(&located) {
            None => Err(Error::FileNotFound { path: path.to_string() }),
            Some(Node::Folder) => {
                Err(Error::NotAFile { path: path.to_string(), instead: Instead::Folder })
            }
            Some(Node::File(bytes)) => Ok(Box::new(bytes.clone())),
        }
    }

    fn is_file(&self, path: &AbsPath, caller: &Caller) -> Result<bool> {
        let located = self.locate(path, caller, Access::Read)?;
        Ok(matches!(self.lock().get(&located), Some(Node::File(_))))
    }

    fn list(&self, request: &ListRequest<'_>, caller: &Caller) -> Result<Listing> {
        let folder = self.locate(request.folder, caller, Access::Read)?;
        let is_missing = folder != self.root && !self.lock().contains_key(&folder);
        let mut listing = Listing { folder: folder.clone(), is_missing, ..Listing::default() };
        for (path, node) in self.lock().iter() {
            let (Node::File(_), Ok(below)) = (node, path.strip_prefix(&folder)) else { continue };
            let Some(below) = below.to_str().filter(|below| !below.is_empty()) else { continue };
            let is_open = path.strip_prefix(&self.root).is_ok_and(|path| !(self.is_hidden)(path));
            if is_open && request.glob.matches_path(below) {
                listing.files.push(below.into());
            }
        }
        listing.total = listing.files.len() as u64;
        listing.files.sort();
        listing.files.truncate(request.limit);
        Ok(listing)
    }
}

/// Nothing in memory has a history.
impl Revisions for MemoryStore {
    fn at(&self, _revision: &str, path: &str, _caller: &Caller) -> Result<AtRevision> {
        Err(Error::NoRepository { path: path.into(), cause: "There is none in memory.".into() })
    }
}

impl WriteStore for MemoryStore {
    fn hold<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<Box<dyn Held + 'a>> {
        let located = self.locate(path, caller, Access::Write)?;
        let mut nodes = self.lock();
        let is_folder = |path: &Path| nodes.get(path) == Some(&Node::Folder);
        match purpose {
            Purpose::Change if located != self.root && !located.parent().is_some_and(is_folder) => {
                return Err(Error::ParentNotFound { parent: path.parent() });
            }
            Purpose::Create if nodes.contains_key(&located) => {
                let what = is_folder(&located).then_some("a folder");
                return Err(Error::FileExists { path: path.to_string(), what });
            }
            Purpose::Create => {
                let folders: Vec<PathBuf> =
                    located.ancestors().skip(1).map(Path::to_path_buf).collect();
                let is_file = |folder: &PathBuf| matches!(nodes.get(folder), Some(Node::File(_)));
                if let Some(depth) = folders.iter().position(is_file) {
                    return Err(Error::NotADirectory { path: path.ancestor(depth + 1) });
                }
                for folder in folders.into_iter().filter(|folder| folder.starts_with(&self.root)) {
                    nodes.insert(folder, Node::Folder);
                }
            }
            Purpose::Change | Purpose::Remove => {}
        }
        Ok(Box::new(HeldNode { nodes, path: path.clone(), located }))
    }
}

/// Holds the whole store, which is the simplest way to hold one file.
struct HeldNode<'a> {
    nodes: MutexGuard<'a, BTreeMap<PathBuf, Node>>,
    path: AbsPath,
    located: PathBuf,
}

impl Held for HeldNode<'_> {
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        match self.nodes.get(&self.located) {
            None => Ok(None),
            Some(Node::File(bytes)) => Ok(Some(bytes.clone())),
            Some(Node::Folder) => Err(Error::IsDirectory { path: self.path.to_string() }),
        }
    }

    fn replace(&mut self, before: &[u8], after: &[u8]) -> Result<Written, WriteError> {
        match self.nodes.get_mut(&self.located) {
            Some(Node::File(bytes)) if bytes == before => *bytes = after.to_vec(),
            _ => return Err(WriteError::Moved),
        }
        Ok(Written::default())
    }

    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError> {
        if self.nodes.contains_key(&self.located) {
            return Err(WriteError::Moved);
        }
        self.nodes.insert(self.located.clone(), Node::File(bytes.to_vec()));
        Ok(Written::default())
    }

    fn remove(&mut self, before: &[u8]) -> Result<Removed, WriteError> {
        match self.nodes.get(&self.located) {
            Some(Node::File(bytes)) if bytes == before => {
                self.nodes.remove(&self.located);
                Ok(Removed::File)
            }
            _ => Err(WriteError::Moved),
        }
    }
}
