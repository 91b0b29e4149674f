//! The files of one tree as a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::tree::EntryKind;
use recto_text::error::Instead;
use recto_text::search::Search;
use recto_text::window::Window;
use recto_text::{Document, Error, Result};

use super::objects::{Found, Object, Objects};
use super::paths;
use super::repository::Repository;
use super::resolve::read;
use super::seen::SeenTrees;
use super::tree::{self, Entry, Walk};
use super::wall::{Fault, broken};
use crate::caller::Caller;
use crate::path::AbsPath;
use crate::{
    Bytes, ListRequest, Listing, LocalStore, Store, VersionedHits, VersionedPage, text_of,
};

/// What an answer says about a link, which is not followed.
const LINK: &str = "this is a symbolic link; its text is the path that it leads to";

/// A tree of a repository.
pub struct GitFiles {
    /// The wall, which decides what may be seen.
    pub local: Arc<LocalStore>,
    /// Where the tree is kept.
    pub repository: Repository,
    /// Its objects.
    pub objects: Objects,
    /// The tree.
    pub tree: ObjectId,
    /// The folder that it would stand in: without links, and as callers may spell it.
    pub tops: Vec<PathBuf>,
    /// As the caller wrote it, for messages.
    pub revision: String,
    /// The trees that were looked into.
    pub seen: SeenTrees,
}

impl Store for GitFiles {
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>> {
        text_of(path, self.bytes(path, caller)?).map(Some)
    }

    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage> {
        Ok(VersionedPage::of(&text_of(path, self.bytes(path, caller)?)?, window))
    }

    fn search(&self, path: &AbsPath, search: &Search, caller: &Caller) -> Result<VersionedHits> {
        Ok(VersionedHits::of(&text_of(path, self.bytes(path, caller)?)?, search))
    }

    fn open(&self, path: &AbsPath, caller: &Caller) -> Result<Box<dyn Bytes>> {
        Ok(Box::new(self.bytes(path, caller)?))
    }

    fn is_file(&self, path: &AbsPath, caller: &Caller) -> Result<bool> {
        let entry = self.entry(path, caller)?;
        Ok(entry.is_some_and(|(entry, _)| is_readable(entry.kind)) && !asks_for_folder(path))
    }

    fn list(&self, request: &ListRequest<'_>, caller: &Caller) -> Result<Listing> {
        let fault = |fault: Fault| fault.of(request.folder.as_str());
        let Some((entry, relative)) = self.entry(request.folder, caller)? else {
            return Ok(Listing::default());
        };
        if entry.kind != EntryKind::Tree {
            return Ok(Listing::default());
        }
        let visible = self.local.visible(caller);
        let walk = Walk {
            glob: request.glob,
            limit: request.limit,
            folder: &self.tops[0].join(relative),
            is_visible: &|path| visible.contains(path),
            may_hold_visible: &|folder| visible.may_hold(folder),
        };
        walk.run(entry.id, |id| self.read_tree(id, caller)).map_err(fault)
    }
}

impl GitFiles {
    /// What stands at a path, and the path from the top on. Refuses what a read on disk would.
    fn entry(&self, path: &AbsPath, caller: &Caller) -> Result<Option<(Entry, PathBuf)>> {
        let denied = paths::check(&self.local, path, &self.tops, caller)?;
        let Some(relative) = self.relative(path, caller)? else {
            return denied.map_or(Ok(None), Err);
        };
        let parts: Vec<&[u8]> = relative.iter().map(|part| part.as_encoded_bytes()).collect();
        let entry = tree::find(self.tree, &parts, |id, name| {
            self.seen.find(id, name, |id| self.read_tree(id, caller))
        });
        let entry = entry.map_err(|fault| fault.of(path.as_str()))?;
        let is_visible = || self.local.visible(caller).contains(&self.tops[0].join(&relative));
        match denied {
            Some(denied) if entry.is_none() || !is_visible() => Err(denied),
            _ => Ok(entry.map(|entry| (entry, relative))),
        }
    }

    /// A path from the top on; `None` where it lies elsewhere.
    pub fn relative(&self, path: &AbsPath, caller: &Caller) -> Result<Option<PathBuf>> {
        let clean = paths::clean(&self.local, path, caller)?;
        let below = |path: &Path| {
            let mut tops = self.tops.iter();
            tops.find_map(|top| path.strip_prefix(top).ok().map(Path::to_path_buf))
        };
        Ok(below(&clean).or_else(|| below(&paths::real(&self.local, &clean, caller)?)))
    }

    fn bytes(&self, path: &AbsPath, caller: &Caller) -> Result<Vec<u8>> {
        let missing =
            || Error::NotInRevision { path: path.to_string(), revision: self.revision.clone() };
        let (entry, _) = self.entry(path, caller)?.ok_or_else(missing)?;
        if !is_readable(entry.kind) {
            let instead = match entry.kind {
                EntryKind::Tree => Instead::Folder,
                _ => Instead::Other,
            };
            return Err(Error::NotAFile { path: path.to_string(), instead });
        }
        if asks_for_folder(path) {
            return Err(missing());
        }
        if entry.kind == EntryKind::Link && !caller.reads_many() {
            caller.remarks.add(LINK);
        }
        let found = self.objects.find(&entry.id, caller);
        let found = found.map_err(|fault| fault.of(path.as_str()))?;
        let (path, cause) = match found {
            Found::Whole(object) if object.kind == Kind::Blob => return Ok(object.bytes),
            Found::TooLarge { n_bytes } => {
                let limit = "At a revision files of up to 64 MiB are read; `git show` can write a \
                             larger one to a file."
                    .into();
                return Err(Error::TooLarge { path: path.to_string(), n_bytes, limit });
            }
            Found::Whole(_) => (path, "a file in it is no file"),
            Found::Missing if self.repository.is_partial() => (
                path,
                "that file was not fetched, for this is a partial clone; git fetches it when the \
                 revision is checked out",
            ),
            Found::Missing => (path, "the content of that file is missing"),
        };
        Err(broken(cause).of(path.as_str()))
    }

    fn read_tree(&self, id: &ObjectId, caller: &Caller) -> Result<Object, Fault> {
        let object = read(&self.objects, &self.repository, id, caller)?;
        match object.kind {
            Kind::Tree => Ok(object),
            _ => Err(broken("a folder in it is no tree")),
        }
    }
}

/// A link reads as the path that it holds.
fn is_readable(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link)
}

fn asks_for_folder(path: &AbsPath) -> bool {
    path.as_str().ends_with('/') || path.as_str().ends_with("/.")
}
