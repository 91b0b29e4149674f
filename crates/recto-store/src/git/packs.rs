//! Reads one pack: its index, and its objects with their deltas applied.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gix_hash::{Kind as HashKind, ObjectId, Prefix, oid};
use gix_object::Kind;
use gix_pack::cache::{DecodeEntry, Never};
use gix_pack::data::decode::{entry, header};
use memmap2::Mmap;

use super::git_dir_access::{GitDirAccess, GitError, broken};
use super::objects::{GitObject, MAX_OBJECT, ObjectLookup};
use crate::context::Context;
use crate::lru::Lru;

/// By default git makes chains of at most 50 deltas; its maximum is 4095.
const MAX_DELTAS: u32 = 4096;

/// Bytes that all deltas of an object may copy. Applying them cannot be cancelled and takes about
/// two seconds at this bound.
const MAX_COPIED: usize = 8 << 30;

/// Enough for an object, its base and all deltas.
const MAX_ALLOCATED: usize = 192 << 20;

/// Bytes of delta bases that are cached.
const MAX_BASES: usize = 24 << 20;

/// A larger base is not cached.
const MAX_BASE: usize = 2 << 20;

/// A cache for the bases of deltas, so that a walk over versions of one file applies each delta once.
pub trait BaseCache: DecodeEntry {
    /// Names the pack that the next calls refer to.
    fn enter(&mut self, pack: u32);
}

impl BaseCache for Never {
    fn enter(&mut self, _pack: u32) {}
}

/// The bases that were used last, of all packs.
#[derive(Default)]
pub struct DeltaBases {
    /// The pack that is being read. All packs have the same id in `gix-pack`, because they are opened
    /// without a path.
    pack: u32,
    bases: Lru<(u32, u64), (Kind, usize, Vec<u8>), { usize::MAX }, MAX_BASES>,
}

impl BaseCache for DeltaBases {
    fn enter(&mut self, pack: u32) {
        self.pack = pack;
    }
}

impl DecodeEntry for DeltaBases {
    fn put(&mut self, _: u32, offset: u64, data: &[u8], kind: Kind, n_packed: usize) {
        if data.len() <= MAX_BASE {
            let (base, weight) = ((kind, n_packed, data.to_vec()), data.len() + 128);
            self.bases.insert_weighing((self.pack, offset), base, weight);
        }
    }

    fn get(&mut self, _: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let (kind, n_packed, data) = self.bases.get(&(self.pack, offset))?;
        out.clear();
        out.extend_from_slice(data);
        Some((*kind, *n_packed))
    }
}

/// A pack whose index is open.
pub struct Pack {
    /// Different for every pack that was opened.
    id: u32,
    folder: PathBuf,
    stem: String,
    index: gix_pack::index::File<Mmap>,
    /// The size of the index in bytes.
    pub n_index_bytes: u64,
    hash: HashKind,
    /// The pack data, mapped when the first object is read; `None` if the file no longer exists.
    data: OnceLock<Option<Mmap>>,
}

impl Pack {
    /// Opens an index of at most `max_bytes`. Returns `None` if it no longer exists.
    pub fn open(
        access: &GitDirAccess,
        folder: &Path,
        stem: &str,
        hash: HashKind,
        max_bytes: u64,
        context: &Context,
    ) -> Result<Option<Pack>, GitError> {
        let name = format!("pack/{stem}.idx");
        let Some(file) = access.open(folder, &name, context)? else { return Ok(None) };
        let damaged = || broken(format!("{name} is damaged"));
        let n_index_bytes = index_size(&file, hash).ok_or_else(damaged)?;
        if n_index_bytes > max_bytes {
            return Err(broken(format!("{name} is too large")));
        }
        let map = map(&file).ok_or_else(damaged)?;
        let index = gix_pack::index::File::from_data(map, PathBuf::new(), hash);
        let index = index.map_err(|_| damaged())?;
        let (folder, stem) = (folder.to_path_buf(), stem.to_string());
        static N_OPENED: AtomicU32 = AtomicU32::new(0);
        let id = N_OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Pack { id, folder, stem, index, n_index_bytes, hash, data: OnceLock::new() }))
    }

    /// Reads an object. Returns `None` if it is not in this pack.
    pub fn find(
        &self,
        id: &oid,
        access: &GitDirAccess,
        bases: &mut impl BaseCache,
        context: &Context,
    ) -> Result<Option<ObjectLookup>, GitError> {
        let Some(at) = self.index.lookup(id) else { return Ok(None) };
        let Some(data) = self.data(access, context)? else { return Ok(None) };
        bases.enter(self.id);
        let read = self.read(data, self.index.pack_offset_at_index(at), bases);
        read.map(Some).ok_or_else(|| broken(format!("object {} is damaged", id.to_hex())))
    }

    /// Returns the type of an object without inflating it, or `None` if it is not in this pack.
    pub fn kind(
        &self,
        id: &oid,
        access: &GitDirAccess,
        context: &Context,
    ) -> Result<Option<Kind>, GitError> {
        let Some(at) = self.index.lookup(id) else { return Ok(None) };
        let Some(data) = self.data(access, context)? else { return Ok(None) };
        let header = self.file(data).and_then(|file| {
            let entry = file.entry(self.index.pack_offset_at_index(at)).ok()?;
            self.header(&file, entry, &mut gix_zlib::Inflate::default())
        });
        let damaged = || broken(format!("object {} is damaged", id.to_hex()));
        header.map(|header| Some(header.kind)).ok_or_else(damaged)
    }

    /// Adds the ids that start with some digits.
    pub fn ids_with_prefix(&self, prefix: Prefix, limit: usize, ids: &mut BTreeSet<ObjectId>) {
        // The library's search visits every match, and a hostile index can have millions.
        let (mut start, mut end) = (0, self.index.num_objects());
        while start < end {
            let middle = u32::midpoint(start, end);
            match self.index.oid_at_index(middle) < prefix.as_oid() {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        let n_free = limit.saturating_sub(ids.len());
        let matching = (start..self.index.num_objects())
            .map(|at| self.index.oid_at_index(at))
            .take_while(|id| prefix.cmp_oid(id).is_eq());
        ids.extend(matching.take(n_free).map(ToOwned::to_owned));
    }

    fn data(&self, access: &GitDirAccess, context: &Context) -> Result<Option<&Mmap>, GitError> {
        if self.data.get().is_none() {
            let name = format!("pack/{}.pack", self.stem);
            let data = match access.open(&self.folder, &name, context)? {
                Some(file) => Some(map(&file).ok_or_else(|| broken(format!("{name} is damaged")))?),
                None => None,
            };
            let _ = self.data.set(data);
        }
        Ok(self.data.get().and_then(Option::as_ref))
    }

    fn file<'a>(&self, data: &'a Mmap) -> Option<gix_pack::data::File<&'a [u8]>> {
        gix_pack::data::File::from_data(&data[..], PathBuf::new(), self.hash).ok()
    }

    /// Returns the entry of a delta's base, which must be in this pack.
    fn base(&self, file: &gix_pack::data::File<&[u8]>, id: &oid) -> Option<gix_pack::data::Entry> {
        let at = self.index.lookup(id)?;
        file.entry(self.index.pack_offset_at_index(at)).ok()
    }

    /// Returns type and size of an object. Returns `None` if it is damaged or has too many deltas.
    fn header(
        &self,
        file: &gix_pack::data::File<&[u8]>,
        entry: gix_pack::data::Entry,
        inflate: &mut gix_zlib::Inflate,
    ) -> Option<header::Outcome> {
        let n_bases = Cell::new(0);
        let base = |id: &oid| {
            n_bases.update(|n| n + 1);
            match n_bases.get() > MAX_DELTAS {
                true => Ok(None),
                false => Ok(self.base(file, id).map(header::ResolvedBase::InPack)),
            }
        };
        let header = file.decode_header(entry, inflate, &base).ok()?;
        (header.num_deltas <= MAX_DELTAS).then_some(header)
    }

    /// Inflates the object at an offset. Returns `None` if it is damaged.
    fn read(&self, data: &Mmap, offset: u64, bases: &mut impl BaseCache) -> Option<ObjectLookup> {
        let file = self.file(data)?;
        let entry = file.entry(offset).ok()?;
        let mut inflate = gix_zlib::Inflate::default();
        let header = self.header(&file, entry.clone(), &mut inflate)?;
        if header.object_size > MAX_OBJECT {
            return Some(ObjectLookup::TooLarge { n_bytes: header.object_size });
        }
        let max_allocated = MAX_COPIED / header.num_deltas.max(1) as usize;
        let limited =
            self.file(data)?.with_alloc_limit_bytes(Some(max_allocated.min(MAX_ALLOCATED)));
        let mut bytes = Vec::new();
        let object = limited
            .decode_entry(
                entry,
                &mut bytes,
                &mut inflate,
                &|id, _| Ok(self.base(&file, id).map(entry::ResolvedBase::InPack)),
                bases,
            )
            .ok()?;
        // The buffer also had space for the delta bases.
        bytes.shrink_to_fit();
        let is_whole = bytes.len() as u64 == header.object_size && object.kind == header.kind;
        is_whole.then_some(ObjectLookup::Whole(GitObject { kind: header.kind, bytes }))
    }
}

/// Returns the size of an index in bytes. Returns `None` if it does not match the number of objects
/// in its header: opening an index reads part of it for each object.
fn index_size(file: &File, hash: HashKind) -> Option<u64> {
    const FAN: u64 = 256 * 4;
    let size = file.metadata().ok()?.len();
    let mut start = [0; 8 + FAN as usize];
    file.read_exact_at(&mut start, 0).ok()?;
    let n_header = if start.starts_with(b"\xfftOc") { 8 } else { 0 };
    let last = start[n_header + FAN as usize - 4..][..4].try_into().ok()?;
    let n_objects = u64::from(u32::from_be_bytes(last));
    let n_hash = hash.len_in_bytes() as u64;
    let (n_each, max_offsets) = match n_header {
        0 => (n_hash + 4, 0),
        _ => (n_hash + 8, 8 * n_objects),
    };
    let smallest = n_header as u64 + FAN + n_objects * n_each + 2 * n_hash;
    (smallest..=smallest + max_offsets).contains(&size).then_some(size)
}

/// Maps a file into memory. Git never modifies a pack: it writes new ones and removes old ones,
/// which remain readable through an open handle.
fn map(file: &File) -> Option<Mmap> {
    // SAFETY: the mapping is private and its bytes may have any value. Truncating a pack while it
    // is read ends the process, as in git; only a failing disk or an attacker does that.
    unsafe { memmap2::MmapOptions::new().map_copy_read_only(file) }.ok()
}
