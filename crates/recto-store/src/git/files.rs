//! A store of the files in one git tree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::error::{Instead, SizeLimit};
use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::tree::EntryKind;

use super::attributes::Attributes;
use super::git_dir_access::{GitError, broken};
use super::objects::{GitObject, ObjectLookup, Objects};
use super::paths;
use super::repository::Repository;
use super::resolve::read;
use super::tree::{self, TreeEntry, TreeWalk};
use super::tree_cache::TreeCache;
use crate::context::Context;
use crate::nearby;
use crate::path::AbsPath;
use crate::{
    BulkReader, Bytes, ListRequest, Listing, LocalStore, Nearby, Note, RevisionFile, Store, Text,
    text_of,
};

/// Bytes of attribute rules that are read for one file.
const MAX_ATTRIBUTES: usize = 1 << 20;

/// The files of one tree.
pub struct GitFiles {
    /// The roots, which decide what paths are visible.
    pub local: Arc<LocalStore>,
    /// The repository that contains the tree.
    pub repository: Repository,
    /// Its objects.
    pub objects: Objects,
    /// The tree.
    pub tree: ObjectId,
    /// The top of the work tree: without links, and as callers may spell it.
    pub tops: Vec<PathBuf>,
    /// The revision as the caller wrote it, for messages.
    pub revision: String,
    /// Trees that were read before.
    pub trees: TreeCache,
}

impl Store for GitFiles {
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>> {
        text_of(path, self.noted_bytes(path, context)?).map(Text::Whole)
    }

    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a> {
        Box::new(GitBulk { files: self, context })
    }

    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        Ok(Box::new(self.noted_bytes(path, context)?))
    }

    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool> {
        let entry = self.entry(path, context)?;
        Ok(entry.is_some_and(|(entry, _)| is_readable(entry.kind)) && !has_trailing_slash(path))
    }

    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf> {
        Some(self.tops[0].join(self.relative(path, context).ok()??))
    }

    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby {
        // Without roots, only directories of the path are listed: a walk of all trees is not quick.
        nearby::find(path, &[], |request| self.list(request, context).ok())
    }

    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        let git_error = |error: GitError| error.into_error(request.folder.as_str());
        let Some((entry, relative)) = self.entry(request.folder, context)? else {
            return Ok(Listing::default());
        };
        if entry.kind != EntryKind::Tree {
            return Ok(Listing::default());
        }
        let visible = self.local.visible(context);
        let walk = TreeWalk {
            glob: request.glob,
            limit: request.limit,
            context,
            folder: &self.tops[0].join(relative),
            is_visible: &|path| visible.contains(path),
            may_contain_visible: &|folder| visible.may_contain(folder),
        };
        let listing = walk.run(entry.id, |id| self.read_tree(id, context)).map_err(git_error)?;
        Ok(Listing { folder: walk.folder.to_path_buf(), ..listing })
    }
}

/// Reads many files of one tree. A link reads as its target path, without a note.
struct GitBulk<'a> {
    files: &'a GitFiles,
    context: &'a Context,
}

impl BulkReader for GitBulk<'_> {
    fn text(&mut self, path: &AbsPath) -> Result<Text<'_>> {
        text_of(path, self.files.bytes(path, self.context)?.0).map(Text::Whole)
    }
}

impl GitFiles {
    /// Returns the tree entry at a path, and the path relative to the top. Rejects paths that a
    /// read on disk would reject.
    fn entry(&self, path: &AbsPath, context: &Context) -> Result<Option<(TreeEntry, PathBuf)>> {
        let denied = paths::check(&self.local, path, &self.tops, context)?;
        let Some(relative) = self.relative(path, context)? else {
            return denied.map_or(Ok(None), Err);
        };
        let parts: Vec<&[u8]> = relative.iter().map(|part| part.as_encoded_bytes()).collect();
        let entry = tree::find(self.tree, &parts, |id, name| {
            self.trees.find(id, name, |id| self.read_tree(id, context))
        });
        let entry = entry.map_err(|error| error.into_error(path.as_str()))?;
        let is_visible = || self.local.visible(context).contains(&self.tops[0].join(&relative));
        match denied {
            Some(denied) if entry.is_none() || !is_visible() => Err(denied),
            _ => Ok(entry.map(|entry| (entry, relative))),
        }
    }

    /// Returns a path relative to the top, or `None` if it is outside the work tree.
    pub fn relative(&self, path: &AbsPath, context: &Context) -> Result<Option<PathBuf>> {
        paths::relative(&self.local, &self.tops, path, context)
    }

    /// Reads one file, and adds a note if it is a link.
    fn noted_bytes(&self, path: &AbsPath, context: &Context) -> Result<Vec<u8>> {
        let (bytes, kind) = self.bytes(path, context)?;
        if kind == EntryKind::Link {
            context.notes.add(Note::LinkTarget);
        }
        Ok(bytes)
    }

    /// Reads a file to write it to disk, and adds notes if a checkout would write other bytes.
    pub fn whole(&self, path: &AbsPath, context: &Context) -> Result<RevisionFile> {
        let (bytes, kind) = self.bytes(path, context)?;
        if kind == EntryKind::Link {
            let instead = Instead::Special("a symbolic link");
            return Err(Error::NotAFile { path: path.to_string(), instead });
        }
        let relative = self.relative(path, context)?.unwrap_or_default();
        let attributes = self.attributes(&relative, context);
        for note in attributes.notes(&bytes, &self.repository.config) {
            context.notes.add(note);
        }
        Ok(RevisionFile { bytes, is_executable: kind == EntryKind::BlobExecutable })
    }

    /// Returns the attributes of a path below the top. Rules that cannot be read are skipped.
    fn attributes(&self, relative: &Path, context: &Context) -> Attributes {
        let mut attributes = Attributes::default();
        let path = relative.as_os_str().as_encoded_bytes();
        let mut n_left = MAX_ATTRIBUTES;
        let mut apply = |rules: Option<Vec<u8>>, start: usize| {
            let rules = rules.filter(|rules| rules.len() <= n_left).unwrap_or_default();
            n_left -= rules.len();
            attributes.apply(&rules, &path[start..], start == 0);
        };
        let slashes = memchr::memchr_iter(b'/', path).map(|slash| slash + 1);
        for start in std::iter::once(0).chain(slashes) {
            if context.cancel.check().is_err() {
                break;
            }
            let folder = path[..start].split(|byte| *byte == b'/').filter(|part| !part.is_empty());
            let parts: Vec<&[u8]> = folder.chain([&b".gitattributes"[..]]).collect();
            let entry = tree::find(self.tree, &parts, |id, name| {
                self.trees.find(id, name, |id| self.read_tree(id, context))
            });
            let Ok(Some(entry)) = entry else { continue };
            let object = self.objects.find(&entry.id, context);
            if let Ok(ObjectLookup::Whole(object)) = object
                && object.kind == Kind::Blob
            {
                apply(Some(object.bytes), start);
            }
        }
        let Repository { access, common_dir, .. } = &self.repository;
        let own = access.read(common_dir, "info/attributes", MAX_ATTRIBUTES as u64, context);
        apply(own.ok().flatten(), 0);
        attributes
    }

    fn bytes(&self, path: &AbsPath, context: &Context) -> Result<(Vec<u8>, EntryKind)> {
        let missing =
            || Error::NotInRevision { path: path.to_string(), revision: self.revision.clone() };
        let (entry, _) = self.entry(path, context)?.ok_or_else(missing)?;
        if !is_readable(entry.kind) {
            let instead = match entry.kind {
                EntryKind::Tree => Instead::Folder,
                _ => Instead::Other,
            };
            return Err(Error::NotAFile { path: path.to_string(), instead });
        }
        if has_trailing_slash(path) {
            return Err(missing());
        }
        let found = self.objects.find(&entry.id, context);
        let found = found.map_err(|error| error.into_error(path.as_str()))?;
        let (path, cause) = match found {
            ObjectLookup::Whole(object) if object.kind == Kind::Blob => {
                return Ok((object.bytes, entry.kind));
            }
            ObjectLookup::TooLarge { n_bytes } => {
                let (path, limit) = (path.to_string(), SizeLimit::GitObject);
                return Err(Error::TooLarge { path, n_bytes, limit });
            }
            ObjectLookup::Whole(_) => (path, "the object of that file is not a blob"),
            ObjectLookup::Missing if self.repository.is_partial() => (
                path,
                "this is a partial clone and that file was not fetched; check out the revision \
                 with git to fetch it",
            ),
            ObjectLookup::Missing => (path, "the object of that file is missing"),
        };
        Err(broken(cause).into_error(path.as_str()))
    }

    fn read_tree(&self, id: &ObjectId, context: &Context) -> Result<GitObject, GitError> {
        let object = read(&self.objects, &self.repository, id, context)?;
        match object.kind {
            Kind::Tree => Ok(object),
            _ => Err(broken("the object of a directory is not a tree")),
        }
    }
}

/// Whether an entry has content. A link reads as its target path.
fn is_readable(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link)
}

fn has_trailing_slash(path: &AbsPath) -> bool {
    path.as_str().ends_with('/') || path.as_str().ends_with("/.")
}
