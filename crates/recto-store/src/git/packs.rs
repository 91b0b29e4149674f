//! One pack: its index, and its objects with their deltas applied.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gix_hash::{Kind as HashKind, ObjectId, Prefix, oid};
use gix_pack::cache::Never;
use gix_pack::data::decode::{entry, header};
use memmap2::Mmap;

use super::git_dir_access::{GitDirAccess, RepositoryError, broken};
use super::objects::{MAX_OBJECT, Object, ObjectLookup};
use crate::context::Context;

/// Git makes chains of 50 deltas, and none of more than 4095.
const MAX_DELTAS: u32 = 4096;

/// What deltas may copy altogether, for they are applied without a pause: about two seconds.
const MAX_COPIED: usize = 8 << 30;

/// Two results, of which one is the base of the other, and all deltas.
const MAX_ALLOCATED: usize = 192 << 20;

/// A pack whose index is open.
pub struct Pack {
    folder: PathBuf,
    stem: String,
    index: gix_pack::index::File<Mmap>,
    hash: HashKind,
    /// The objects themselves, opened when the first is read; `None` where they are gone.
    data: OnceLock<Option<Mmap>>,
}

impl Pack {
    /// Opens an index, or `None` where it is gone.
    pub fn open(
        access: &GitDirAccess,
        folder: &Path,
        stem: &str,
        hash: HashKind,
        context: &Context,
    ) -> Result<Option<Pack>, RepositoryError> {
        let name = format!("pack/{stem}.idx");
        let Some(file) = access.open(folder, &name, context)? else { return Ok(None) };
        let damaged = || broken(format!("its {name} is damaged"));
        let map = map(&file).ok_or_else(damaged)?;
        let index = gix_pack::index::File::from_data(map, PathBuf::new(), hash);
        let index = index.map_err(|_| damaged())?;
        let (folder, stem) = (folder.to_path_buf(), stem.to_string());
        Ok(Some(Pack { folder, stem, index, hash, data: OnceLock::new() }))
    }

    /// Reads an object, or `None` where it is not in this pack.
    pub fn find(
        &self,
        id: &oid,
        access: &GitDirAccess,
        context: &Context,
    ) -> Result<Option<ObjectLookup>, RepositoryError> {
        let Some(at) = self.index.lookup(id) else { return Ok(None) };
        let Some(data) = self.data(access, context)? else { return Ok(None) };
        let read = self.read(data, self.index.pack_offset_at_index(at));
        read.map(Some).ok_or_else(|| broken(format!("its object {} is damaged", id.to_hex())))
    }

    /// Adds the ids that start with some digits.
    pub fn ids_with_prefix(&self, prefix: Prefix, limit: usize, ids: &mut BTreeSet<ObjectId>) {
        let mut range = 0..0;
        self.index.lookup_prefix(prefix, Some(&mut range));
        let n_free = limit.saturating_sub(ids.len());
        ids.extend(range.take(n_free).map(|at| self.index.oid_at_index(at).to_owned()));
    }

    fn data(
        &self,
        access: &GitDirAccess,
        context: &Context,
    ) -> Result<Option<&Mmap>, RepositoryError> {
        if self.data.get().is_none() {
            let name = format!("pack/{}.pack", self.stem);
            let data = match access.open(&self.folder, &name, context)? {
                Some(file) => {
                    Some(map(&file).ok_or_else(|| broken(format!("its {name} is damaged")))?)
                }
                None => None,
            };
            let _ = self.data.set(data);
        }
        Ok(self.data.get().and_then(Option::as_ref))
    }

    /// Inflates what stands at a place, or `None` where it is damaged.
    fn read(&self, data: &Mmap, offset: u64) -> Option<ObjectLookup> {
        let file = gix_pack::data::File::from_data(&data[..], PathBuf::new(), self.hash).ok()?;
        let entry = file.entry(offset).ok()?;
        let mut inflate = gix_zlib::Inflate::default();
        let base = |id: &oid| {
            let at = self.index.lookup(id).map(|at| self.index.pack_offset_at_index(at));
            at.map(|offset| file.entry(offset)).transpose()
        };
        let header = file
            .decode_header(entry.clone(), &mut inflate, &|id| {
                Ok(base(id)?.map(header::ResolvedBase::InPack))
            })
            .ok()?;
        if header.object_size > MAX_OBJECT {
            return Some(ObjectLookup::TooLarge { n_bytes: header.object_size });
        }
        if header.num_deltas > MAX_DELTAS {
            return None;
        }
        let max_allocated = MAX_COPIED / header.num_deltas.max(1) as usize;
        let limited = gix_pack::data::File::from_data(&data[..], PathBuf::new(), self.hash)
            .ok()?
            .with_alloc_limit_bytes(Some(max_allocated.min(MAX_ALLOCATED)));
        let mut bytes = Vec::new();
        let object = limited
            .decode_entry(
                entry,
                &mut bytes,
                &mut inflate,
                &|id, _| Ok(base(id)?.map(entry::ResolvedBase::InPack)),
                &mut Never,
            )
            .ok()?;
        // The buffer had room for bases too.
        bytes.shrink_to_fit();
        let is_whole = bytes.len() as u64 == header.object_size && object.kind == header.kind;
        is_whole.then_some(ObjectLookup::Whole(Object { kind: header.kind, bytes }))
    }
}

/// Maps a file into memory. Git never changes a pack: it writes new ones and removes old ones,
/// which stay readable for those who have them open.
fn map(file: &File) -> Option<Mmap> {
    // SAFETY: the mapping is private and read as bytes that may be anything. Whoever truncates a
    // pack while it is read ends the process, here as in git; only a bad disk or an attack does.
    unsafe { memmap2::MmapOptions::new().map_copy_read_only(file) }.ok()
}
