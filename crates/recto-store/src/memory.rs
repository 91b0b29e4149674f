//! A store in memory, for tests.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::context::{Access, Context};
use crate::error::{Denial, Error, Instead, Result};
use crate::nearby;
use crate::path::AbsPath;
use crate::sync::lock;
use crate::{
    AtRevision, BulkReader, Bytes, FileStep, HeldFile, History, Hold, ListRequest, Listing, Nearby,
    Removal, Remove, Removed, RemovedContent, Replace, RevisionFile, Revisions, Slot, StepError,
    Store, Text, Transaction, Whole, WriteError, WriteStore, Written, text_of,
};

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file and its bytes.
    File(Vec<u8>),
    /// A directory.
    Folder,
}

/// A tree of files below one root.
pub struct MemoryStore {
    root: PathBuf,
    is_hidden: Box<dyn Fn(&Path) -> bool + Send + Sync>,
    allows_git_writes: bool,
    nodes: Mutex<BTreeMap<PathBuf, Node>>,
}

impl MemoryStore {
    /// Creates a store with `nodes`, whose paths are absolute and below `root`. `is_hidden`
    /// receives paths relative to the root.
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

    /// Sets whether `.git` directories can be written.
    pub fn allow_git_writes(&mut self, allows_git_writes: bool) {
        self.allows_git_writes = allows_git_writes;
    }

    /// Returns all files and directories.
    pub fn nodes(&self) -> BTreeMap<PathBuf, Node> {
        self.lock().clone()
    }

    /// Adds or replaces files and directories, as another process would.
    pub fn extend(&self, nodes: BTreeMap<PathBuf, Node>) {
        self.lock().extend(nodes);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Node>> {
        lock(&self.nodes)
    }

    fn bytes(&self, path: &AbsPath, context: &Context) -> Result<Vec<u8>> {
        let located = self.locate(path, context, Access::Read)?;
        match self.lock().get(&located) {
            None => Err(Error::FileNotFound { path: path.to_string() }),
            Some(Node::Folder) => {
                Err(Error::NotAFile { path: path.to_string(), instead: Instead::Folder })
            }
            Some(Node::File(bytes)) => Ok(bytes.clone()),
        }
    }

    /// Returns the path without `..`, if access is permitted. Links do not exist in memory.
    fn locate(&self, path: &AbsPath, context: &Context, wants: Access) -> Result<PathBuf> {
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
        match (wants, context.sandbox.access(&located, |_| None)) {
            (_, Access::None) | (Access::Write, Access::Read) => denied(Denial::ClientSandbox),
            _ => Ok(located),
        }
    }
}

impl Store for MemoryStore {
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>> {
        text_of(path, self.bytes(path, context)?).map(Text::Whole)
    }

    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a> {
        Box::new(MemoryBulk { store: self, context })
    }

    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        Ok(Box::new(self.bytes(path, context)?))
    }

    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool> {
        let located = self.locate(path, context, Access::Read)?;
        Ok(matches!(self.lock().get(&located), Some(Node::File(_))))
    }

    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf> {
        self.locate(path, context, Access::Read).ok()
    }

    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby {
        let list = |request: &ListRequest<'_>| self.list(request, context).ok();
        nearby::find(path, std::slice::from_ref(&self.root), list)
    }

    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        let folder = self.locate(request.folder, context, Access::Read)?;
        let is_missing = folder != self.root && !self.lock().contains_key(&folder);
        if matches!(self.lock().get(&folder), Some(Node::File(_))) {
            return Ok(Listing::default());
        }
        let mut listing = Listing { folder: folder.clone(), is_missing, ..Listing::default() };
        let with_hidden = request.glob.clone().showing_hidden();
        for (path, node) in self.lock().iter() {
            let (Node::File(_), Ok(below)) = (node, path.strip_prefix(&folder)) else { continue };
            let Some(below) = below.to_str().filter(|below| !below.is_empty()) else { continue };
            let is_open = path.strip_prefix(&self.root).is_ok_and(|path| !(self.is_hidden)(path));
            if is_open && request.glob.matches_path(below) {
                listing.files.push(below.into());
            } else if is_open && with_hidden.matches_path(below) {
                listing.n_hidden += 1;
            }
        }
        listing.total = listing.files.len() as u64;
        listing.files.sort();
        listing.files.truncate(request.limit);
        Ok(listing)
    }
}

fn no_repository(path: &str) -> Error {
    let cause = "Files in memory have no git repository.".into();
    Error::NoRepository { path: path.into(), cause }
}

/// Files in memory have no revisions.
impl Revisions for MemoryStore {
    fn at(&self, _revision: &str, path: &str, _caller: &Context) -> Result<AtRevision> {
        Err(no_repository(path))
    }

    fn file(&self, _revision: &str, path: &str, _context: &Context) -> Result<RevisionFile> {
        Err(no_repository(path))
    }

    fn history(&self, path: &str, _context: &Context) -> Result<History> {
        Err(no_repository(path))
    }
}

impl WriteStore for MemoryStore {
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>> {
        let node = self.hold_node(path, context)?;
        let parent = node.located.parent();
        let has_folder = parent.is_some_and(|parent| node.nodes.get(parent) == Some(&Node::Folder));
        if node.located != self.root && !has_folder {
            return Err(Error::ParentNotFound { parent: path.parent() });
        }
        match node.nodes.contains_key(&node.located) {
            true => Ok(Hold::File(Box::new(node))),
            false => Ok(Hold::Vacant(Box::new(node))),
        }
    }

    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>> {
        let mut node = self.hold_node(path, context)?;
        let HeldNode { nodes, located, .. } = &mut node;
        if let Some(existing) = nodes.get(located) {
            let what = (*existing == Node::Folder).then_some("a directory");
            return Err(Error::FileExists { path: path.to_string(), what });
        }
        let folders: Vec<PathBuf> = located.ancestors().skip(1).map(Path::to_path_buf).collect();
        let is_file = |folder: &PathBuf| matches!(nodes.get(folder), Some(Node::File(_)));
        if let Some(depth) = folders.iter().position(is_file) {
            return Err(Error::NotADirectory { path: path.ancestor(depth + 1) });
        }
        for folder in folders.into_iter().filter(|folder| folder.starts_with(&self.root)) {
            nodes.insert(folder, Node::Folder);
        }
        Ok(Box::new(node))
    }

    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>> {
        let node = self.hold_node(path, context)?;
        match node.nodes.get(&node.located) {
            None => Err(Error::FileNotFound { path: path.to_string() }),
            Some(Node::Folder) => Err(Error::IsDirectory { path: path.to_string() }),
            Some(Node::File(bytes)) => Ok(Removal::new(bytes.clone(), Box::new(node))),
        }
    }

    fn transaction<'a>(
        &'a self,
        steps: &'a [FileStep<'a>],
        context: &'a Context,
    ) -> Result<Box<dyn Transaction + 'a>, Vec<StepError>> {
        let (mut problems, mut paths) = (Vec::new(), Vec::new());
        for (step, file) in steps.iter().enumerate() {
            let located = || {
                let from = self.locate_step(file.path, file.before.is_some(), context)?;
                let to = file.move_to.map(|to| self.locate_step(to, false, context)).transpose()?;
                Ok((from, to))
            };
            match located() {
                Ok(found) => paths.push(found),
                Err(error) => problems.push(StepError { step, cause: WriteError::Failed(error) }),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Box::new(MemoryTransaction { root: &self.root, nodes: self.lock(), steps, paths }))
    }
}

/// A transaction in memory.
struct MemoryTransaction<'a> {
    root: &'a Path,
    nodes: MutexGuard<'a, BTreeMap<PathBuf, Node>>,
    steps: &'a [FileStep<'a>],
    paths: Vec<(PathBuf, Option<PathBuf>)>,
}

impl Transaction for MemoryTransaction<'_> {
    fn commit(mut self: Box<Self>) -> Result<Vec<Written>, Vec<StepError>> {
        for (step, (from, to)) in self.steps.iter().zip(std::mem::take(&mut self.paths)) {
            self.nodes.remove(&from);
            let path = to.unwrap_or(from);
            for folder in path.ancestors().skip(1).take_while(|dir| dir.starts_with(self.root)) {
                self.nodes.entry(folder.to_path_buf()).or_insert(Node::Folder);
            }
            if let Some(after) = step.after {
                self.nodes.insert(path, Node::File(after.to_vec()));
            }
        }
        Ok(vec![Written::default(); self.steps.len()])
    }
}

/// Reads many files from memory.
struct MemoryBulk<'a> {
    store: &'a MemoryStore,
    context: &'a Context,
}

impl BulkReader for MemoryBulk<'_> {
    fn text(&mut self, path: &AbsPath) -> Result<Text<'_>> {
        self.store.text(path, self.context)
    }
}

impl MemoryStore {
    /// Returns the path of a file that exists, or of one that can be created.
    fn locate_step(&self, path: &AbsPath, exists: bool, context: &Context) -> Result<PathBuf> {
        let located = self.locate(path, context, Access::Write)?;
        match (self.lock().get(&located), exists) {
            (None, true) => Err(Error::FileNotFound { path: path.to_string() }),
            (Some(node), false) => {
                let what = (*node == Node::Folder).then_some("a directory");
                Err(Error::FileExists { path: path.to_string(), what })
            }
            _ => Ok(located),
        }
    }

    fn hold_node(&self, path: &AbsPath, context: &Context) -> Result<HeldNode<'_>> {
        let located = self.locate(path, context, Access::Write)?;
        Ok(HeldNode { nodes: self.lock(), path: path.clone(), located })
    }
}

/// One file, held by locking the whole store.
struct HeldNode<'a> {
    nodes: MutexGuard<'a, BTreeMap<PathBuf, Node>>,
    path: AbsPath,
    located: PathBuf,
}

impl Slot for HeldNode<'_> {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn create_bytes(mut self: Box<Self>, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        let located = self.located.clone();
        self.nodes.insert(located, Node::File(bytes.to_vec()));
        Ok(Written::default())
    }
}

impl<'a> HeldFile<'a> for HeldNode<'a> {
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>> {
        match self.nodes.get(&self.located) {
            Some(Node::File(bytes)) => Ok(Whole::new(bytes.clone(), self)),
            _ => Err(Error::IsDirectory { path: self.path.to_string() }.into()),
        }
    }
}

impl<'a> Replace<'a> for HeldNode<'a> {
    fn replace(mut self: Box<Self>, _: &[u8], after: &[u8]) -> Result<Written, WriteError<'a>> {
        let located = self.located.clone();
        self.nodes.insert(located, Node::File(after.to_vec()));
        Ok(Written::default())
    }
}

impl<'a> Remove<'a> for HeldNode<'a> {
    fn remove(mut self: Box<Self>, _before: &RemovedContent) -> Result<Removed, WriteError<'a>> {
        let located = self.located.clone();
        self.nodes.remove(&located);
        Ok(Removed::File)
    }
}
