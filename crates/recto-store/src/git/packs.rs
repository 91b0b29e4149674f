//! Reads one pack: its index, and its objects with their deltas applied.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use gix_hash::{Kind as HashKind, ObjectId, Prefix, oid};
use gix_object::Kind;
use gix_pack::cache::{DecodeEntry, Never};
use gix_pack::data::entry::Header;
use gix_pack::data::{Entry, File as PackFile};
use memmap2::Mmap;

use super::git_dir_access::{GitDirAccess, GitError, broken};
use super::objects::{GitObject, MAX_OBJECT, ObjectLookup};
use crate::context::Context;
use crate::lru::Lru;

/// By default git makes chains of at most 50 deltas; its maximum is 4095.
const MAX_DELTAS: usize = 4096;

/// Bytes that all deltas of an object may copy, which takes about two seconds.
const MAX_COPIED: u64 = 8 << 30;

/// The largest base of an object. Two are in memory while a delta is applied.
const MAX_INFLATED: u64 = 96 << 20;

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
        reading: &mut Reading<'_, impl BaseCache>,
    ) -> Result<Option<ObjectLookup>, GitError> {
        let Some(at) = self.index.lookup(id) else { return Ok(None) };
        let Some(data) = self.data(access, reading.context)? else { return Ok(None) };
        reading.bases.enter(self.id);
        match self.read(data, self.index.pack_offset_at_index(at), reading)? {
            Some(found) => Ok(Some(found)),
            None => Err(broken(format!("object {} is damaged", id.to_hex()))),
        }
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
        let chain =
            self.file(data).and_then(|file| self.chain(&file, self.index.pack_offset_at_index(at)));
        let damaged = || broken(format!("object {} is damaged", id.to_hex()));
        chain.map(|chain| Some(chain.kind)).ok_or_else(damaged)
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

    fn file<'a>(&self, data: &'a Mmap) -> Option<PackFile<&'a [u8]>> {
        PackFile::from_data(&data[..], PathBuf::new(), self.hash).ok()
    }

    /// Returns the entries that an object consists of. Returns `None` if it is damaged or has too
    /// many deltas.
    fn chain(&self, file: &PackFile<&[u8]>, offset: u64) -> Option<Chain> {
        let mut deltas = Vec::new();
        let mut entry = file.entry(offset).ok()?;
        loop {
            let base = match entry.header {
                Header::OfsDelta { base_distance } => {
                    entry.checked_base_pack_offset(base_distance)?
                }
                // The base is in the same pack.
                Header::RefDelta { base_id } => {
                    self.index.pack_offset_at_index(self.index.lookup(base_id)?)
                }
                header => return Some(Chain { deltas, kind: header.as_kind()?, base: entry }),
            };
            deltas.push(entry);
            if deltas.len() > MAX_DELTAS {
                return None;
            }
            entry = file.entry(base).ok()?;
        }
    }

    /// Inflates the object at an offset. Returns `None` if it is damaged.
    fn read(
        &self,
        data: &Mmap,
        offset: u64,
        reading: &mut Reading<'_, impl BaseCache>,
    ) -> Result<Option<ObjectLookup>, GitError> {
        let Some(file) = self.file(data) else { return Ok(None) };
        let Some(chain) = self.chain(&file, offset) else { return Ok(None) };
        let mut inflate = Inflate { file, inflate: reading.inflate };
        let n_bytes = match chain.deltas.first() {
            None => Some(chain.base.decompressed_size),
            Some(delta) => inflate.result_size(data, delta),
        };
        match n_bytes {
            None => Ok(None),
            Some(n_bytes) if n_bytes > MAX_OBJECT => Ok(Some(ObjectLookup::TooLarge { n_bytes })),
            Some(n_bytes) => {
                let kind = chain.kind;
                let Reading { bases, context, deadline, .. } = reading;
                let bytes = chain.apply(&mut inflate, *bases, context, *deadline)?;
                let bytes = bytes.filter(|bytes| bytes.len() as u64 == n_bytes);
                Ok(bytes.map(|bytes| ObjectLookup::Whole(GitObject { kind, bytes })))
            }
        }
    }
}

/// What reading objects needs besides the packs.
pub struct Reading<'a, B> {
    /// The bases that are already known.
    pub bases: &'a mut B,
    /// Inflates one entry after another: its window is too large to be allocated for each.
    pub inflate: &'a mut gix_zlib::Inflate,
    /// The context of the call.
    pub context: &'a Context,
    /// When to stop.
    pub deadline: Option<Instant>,
}

/// The entries of a pack that an object consists of.
struct Chain {
    /// The deltas, the object's own first.
    deltas: Vec<Entry>,
    base: Entry,
    kind: Kind,
}

impl Chain {
    /// Applies the deltas. Cancellation and time are checked for each. Returns `None` if one is
    /// damaged, or if they are too large together.
    fn apply(
        &self,
        inflate: &mut Inflate<'_>,
        bases: &mut impl BaseCache,
        context: &Context,
        deadline: Option<Instant>,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let Chain { deltas, base, kind } = self;
        let max_bytes = (MAX_COPIED / deltas.len().max(1) as u64).min(MAX_INFLATED);
        let sizes = deltas.iter().map(|delta| delta.decompressed_size);
        let n_delta_bytes = sizes.fold(0, u64::saturating_add);
        if base.decompressed_size.max(n_delta_bytes) > max_bytes {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let entries = || deltas.iter().chain([base]);
        let mut is_known = |entry: &Entry| bases.get(0, entry.data_offset, &mut bytes).is_some();
        let n_left = match entries().position(|entry| !deltas.is_empty() && is_known(entry)) {
            Some(n_left) => n_left,
            None => {
                let Some(inflated) = inflate.whole(base) else { return Ok(None) };
                bytes = inflated;
                if !deltas.is_empty() {
                    bases.put(0, base.data_offset, &bytes, *kind, 0);
                }
                deltas.len()
            }
        };
        for delta in deltas[..n_left].iter().rev() {
            context.cancel.check()?;
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(broken("reading an object takes too long"));
            }
            let applied = inflate.whole(delta).and_then(|delta| apply(&bytes, &delta, max_bytes));
            let Some(applied) = applied else { return Ok(None) };
            bytes = applied;
        }
        if n_left > 0 {
            bases.put(0, deltas[0].data_offset, &bytes, *kind, 0);
        }
        Ok(Some(bytes))
    }
}

/// Inflates entries of a pack.
struct Inflate<'a> {
    file: PackFile<&'a [u8]>,
    inflate: &'a mut gix_zlib::Inflate,
}

impl Inflate<'_> {
    /// Returns the bytes of an entry, without its base.
    fn whole(&mut self, entry: &Entry) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(entry.decompressed_size).ok()?];
        self.file.decompress_entry(entry, self.inflate, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns the size of the object that a delta makes.
    fn result_size(&mut self, data: &[u8], delta: &Entry) -> Option<u64> {
        // Two numbers of at most ten bytes each.
        let mut start = [0; 20];
        let stored = data.get(usize::try_from(delta.data_offset).ok()?..)?;
        self.inflate.reset();
        let (_, _, n_out) = self.inflate.prefix(stored, &mut start).ok()?;
        let mut start = start.get(..n_out)?;
        read_size(&mut start)?;
        read_size(&mut start)
    }
}

/// Reads a size from the start of a delta.
fn read_size(delta: &mut &[u8]) -> Option<u64> {
    let mut size = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = delta.split_first()?;
        *delta = rest;
        size |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    None
}

/// Applies a delta. Returns `None` if it is damaged or makes an object of more than `max_bytes`.
fn apply(base: &[u8], mut delta: &[u8], max_bytes: u64) -> Option<Vec<u8>> {
    let n_base = read_size(&mut delta)?;
    let n_result = read_size(&mut delta).filter(|size| *size <= max_bytes)?;
    if n_base != base.len() as u64 {
        return None;
    }
    let n_result = usize::try_from(n_result).ok()?;
    let mut result = Vec::with_capacity(n_result);
    while let Some((command, rest)) = delta.split_first() {
        delta = rest;
        let part = match command {
            0 => return None,
            command if command & 0x80 != 0 => {
                // Four bits for the bytes of the offset and three for those of the length.
                let [mut offset, mut n_bytes] = [0, 0];
                for bit in (0..7).filter(|bit| command & (1 << bit) != 0) {
                    let (byte, rest) = delta.split_first()?;
                    delta = rest;
                    match bit {
                        0..4 => offset |= usize::from(*byte) << (8 * bit),
                        _ => n_bytes |= usize::from(*byte) << (8 * (bit - 4)),
                    }
                }
                let n_bytes = if n_bytes == 0 { 0x10000 } else { n_bytes };
                base.get(offset..offset + n_bytes)?
            }
            n_bytes => delta.split_off(..usize::from(*n_bytes))?,
        };
        if part.len() > n_result - result.len() {
            return None;
        }
        result.extend_from_slice(part);
    }
    (result.len() == n_result).then_some(result)
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
