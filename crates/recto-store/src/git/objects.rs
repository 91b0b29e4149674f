//! Reads objects by id from loose files and packs.
//!
//! Sizes are checked before anything is inflated, and the cost of deltas is bounded. Like git on
//! reading, this module does not verify that an object matches its id.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gix_hash::{Kind as HashKind, ObjectId, Prefix, oid};
use gix_object::Kind;
use gix_pack::cache::Never;

use super::git_dir_access::{GitDirAccess, GitError, broken};
use super::packs::{BaseCache, Pack, Reading};
use crate::context::Context;
use crate::limits;
use crate::sync::lock;

/// The largest object that is read, in bytes.
pub const MAX_OBJECT: u64 = limits::GIT_OBJECT;

/// The most packs in one directory.
const MAX_PACKS: usize = 10_000;

/// The most loose objects whose ids start with the same two digits.
const MAX_LOOSE: usize = 500_000;

/// The most ids that an abbreviated id may match.
const MAX_CANDIDATES: usize = 1000;

/// An upper bound for the header of a loose object.
const LOOSE_HEADER: usize = 64;

/// The stored bytes that are enough to read that header.
const LOOSE_START: u64 = 8 << 10;

/// An object, inflated.
#[derive(Debug)]
pub struct GitObject {
    /// The type.
    pub kind: Kind,
    /// The content.
    pub bytes: Vec<u8>,
}

/// The result of looking up an object.
#[derive(Debug)]
pub enum ObjectLookup {
    /// It was read.
    Whole(GitObject),
    /// It exists, but is larger than [`MAX_OBJECT`].
    TooLarge { n_bytes: u64 },
    /// It does not exist.
    Missing,
}

/// The object database of a repository, including its alternates.
pub struct Objects {
    access: Arc<GitDirAccess>,
    /// The `objects` directories, the repository's own first.
    folders: Vec<PathBuf>,
    hash: HashKind,
    packs: Mutex<Option<Arc<Packs>>>,
}

struct Packs {
    packs: Vec<Pack>,
    /// Whether a pack could not be read.
    has_broken: bool,
}

impl Objects {
    /// Creates the database without reading anything.
    pub fn new(access: Arc<GitDirAccess>, folders: Vec<PathBuf>, hash: HashKind) -> Objects {
        Objects { access, folders, hash, packs: Mutex::default() }
    }

    /// Reads an object. Ignores `refs/replace`, so that an id always means the same content.
    pub fn find(&self, id: &oid, context: &Context) -> Result<ObjectLookup, GitError> {
        let (bases, inflate) = (&mut Never, &mut gix_zlib::Inflate::default());
        self.find_with(id, &mut Reading { bases, inflate, context, deadline: None })
    }

    /// Reads an object, with a cache for the bases of deltas and until a deadline.
    pub fn find_with(
        &self,
        id: &oid,
        reading: &mut Reading<'_, impl BaseCache>,
    ) -> Result<ObjectLookup, GitError> {
        let context = reading.context;
        context.cancel.check()?;
        let (packs, is_new) = self.packs(context)?;
        if let Some(found) = self.find_in(&packs, id, reading)? {
            return Ok(found);
        }
        // A concurrent `git gc` may have moved the object to a new pack: load the packs again.
        let mut has_broken = packs.has_broken;
        if !is_new {
            let packs = self.load_packs(context)?;
            if let Some(found) = self.find_in(&packs, id, reading)? {
                return Ok(found);
            }
            has_broken = packs.has_broken;
        }
        if id.is_empty_tree() {
            // Git does not store the empty tree.
            return Ok(ObjectLookup::Whole(GitObject { kind: Kind::Tree, bytes: Vec::new() }));
        }
        match has_broken {
            true => Err(broken("a pack is damaged")),
            false => Ok(ObjectLookup::Missing),
        }
    }

    /// Returns the type of an object that [`Objects::with_prefix`] found, without reading all of it.
    pub fn kind(&self, id: &oid, context: &Context) -> Result<Option<Kind>, GitError> {
        context.cancel.check()?;
        for pack in &self.packs(context)?.0.packs {
            if let Some(kind) = pack.kind(id, &self.access, context)? {
                return Ok(Some(kind));
            }
        }
        let Some((digits, file)) = self.open_loose(id, context)? else { return Ok(None) };
        let mut inflate = gix_zlib::Inflate::default();
        let header = LooseHeader::read(file, LOOSE_START, &mut inflate);
        header.map(|header| Some(header.kind)).ok_or_else(|| damaged(&digits))
    }

    /// Returns the ids that start with some digits, given in lower case.
    pub fn with_prefix(
        &self,
        digits: &str,
        context: &Context,
    ) -> Result<BTreeSet<ObjectId>, GitError> {
        let mut ids = BTreeSet::new();
        let Ok(prefix) = Prefix::from_hex(digits) else { return Ok(ids) };
        let packs = self.packs(context)?.0;
        for pack in &packs.packs {
            pack.ids_with_prefix(prefix, MAX_CANDIDATES, &mut ids);
        }
        for folder in &self.folders {
            context.cancel.check()?;
            let (start, rest) = digits.split_at(2);
            for name in self.access.names(folder, start, MAX_LOOSE, context)? {
                let Some(name) = name.to_str().filter(|name| name.starts_with(rest)) else {
                    continue;
                };
                let digits = format!("{start}{name}");
                if digits.len() == self.hash.len_in_hex()
                    && ids.len() < MAX_CANDIDATES
                    && let Ok(id) = ObjectId::from_hex(digits.as_bytes())
                {
                    ids.insert(id);
                }
            }
        }
        match ids.is_empty() && packs.has_broken {
            true => Err(broken("a pack is damaged")),
            false => Ok(ids),
        }
    }

    fn find_in(
        &self,
        packs: &Packs,
        id: &oid,
        reading: &mut Reading<'_, impl BaseCache>,
    ) -> Result<Option<ObjectLookup>, GitError> {
        for pack in &packs.packs {
            if let Some(found) = pack.find(id, &self.access, reading)? {
                return Ok(Some(found));
            }
        }
        let Some((digits, file)) = self.open_loose(id, reading.context)? else {
            return Ok(None);
        };
        read_loose(file, reading.inflate).ok_or_else(|| damaged(&digits)).map(Some)
    }

    /// Opens the file of a loose object. Also returns the digits of its id.
    fn open_loose(&self, id: &oid, context: &Context) -> Result<Option<(String, File)>, GitError> {
        let digits = id.to_hex().to_string();
        let name = format!("{}/{}", &digits[..2], &digits[2..]);
        for folder in &self.folders {
            if let Some(file) = self.access.open(folder, &name, context)? {
                return Ok(Some((digits, file)));
            }
        }
        Ok(None)
    }

    /// Returns the packs, and whether this call loaded them.
    fn packs(&self, context: &Context) -> Result<(Arc<Packs>, bool), GitError> {
        let known = lock(&self.packs).clone();
        match known {
            Some(packs) => Ok((packs, false)),
            None => Ok((self.load_packs(context)?, true)),
        }
    }

    fn load_packs(&self, context: &Context) -> Result<Arc<Packs>, GitError> {
        let started = Instant::now();
        let mut packs = Packs { packs: Vec::new(), has_broken: false };
        let mut n_free = limits::GIT_PACK_INDEXES;
        for folder in &self.folders {
            for stem in self.pack_stems(folder, context)? {
                context.cancel.check()?;
                if started.elapsed() > limits::GIT_WALK_TIME {
                    return Err(broken("opening its packs takes too long"));
                }
                match Pack::open(&self.access, folder, &stem, self.hash, n_free, context) {
                    Ok(pack) => {
                        n_free -= pack.as_ref().map_or(0, |pack| pack.n_index_bytes);
                        packs.packs.extend(pack);
                    }
                    Err(GitError::Broken(_)) => packs.has_broken = true,
                    Err(error) => return Err(error),
                }
            }
        }
        let packs = Arc::new(packs);
        *lock(&self.packs) = Some(packs.clone());
        Ok(packs)
    }

    fn pack_stems(&self, folder: &Path, context: &Context) -> Result<Vec<String>, GitError> {
        let names = self.access.names(folder, "pack", 8 * MAX_PACKS, context)?;
        let stem = |name: &std::ffi::OsString| Some(name.to_str()?.strip_suffix(".idx")?.into());
        let stems: Vec<String> = names.iter().filter_map(stem).collect();
        match stems.len() > MAX_PACKS {
            true => Err(broken(format!("it has more than {MAX_PACKS} packs"))),
            false => Ok(stems),
        }
    }
}

fn damaged(digits: &str) -> GitError {
    broken(format!("object {digits} is damaged"))
}

/// The start of a loose object.
struct LooseHeader {
    kind: Kind,
    n_bytes: u64,
    stored: Vec<u8>,
    status: gix_zlib::Status,
    n_in: usize,
    /// The inflated bytes, and how many of them are the header.
    start: Vec<u8>,
    n_header: usize,
}

impl LooseHeader {
    /// Reads up to `n_wanted` stored bytes. Returns `None` if the object is damaged.
    fn read(mut file: File, n_wanted: u64, inflate: &mut gix_zlib::Inflate) -> Option<LooseHeader> {
        let mut stored = Vec::new();
        (&mut file).take(n_wanted).read_to_end(&mut stored).ok()?;
        let mut start = vec![0; LOOSE_HEADER];
        inflate.reset();
        let (status, n_in, n_out) = inflate.prefix(&stored, &mut start).ok()?;
        if status == gix_zlib::Status::BufError {
            return None;
        }
        start.truncate(n_out);
        let (kind, n_bytes, n_header) = gix_object::decode::loose_header(&start).ok()?;
        Some(LooseHeader { kind, n_bytes, stored, status, n_in, start, n_header })
    }
}

/// Inflates a loose object. Returns `None` if it is damaged.
fn read_loose(file: File, inflate: &mut gix_zlib::Inflate) -> Option<ObjectLookup> {
    let n_stored = file.metadata().ok()?.len();
    // The start of an object that is too large is enough to read its size.
    let n_wanted = if n_stored > MAX_OBJECT + (1 << 20) { LOOSE_START } else { n_stored };
    let LooseHeader { kind, n_bytes, stored, status, n_in, start, n_header } =
        LooseHeader::read(file, n_wanted, inflate)?;
    if n_bytes > MAX_OBJECT {
        return Some(ObjectLookup::TooLarge { n_bytes });
    }
    let size = usize::try_from(n_bytes).ok()?;
    let mut bytes = Vec::new();
    if status == gix_zlib::Status::StreamEnd {
        bytes.extend_from_slice(start.get(n_header..)?);
    } else if start.len().checked_sub(n_header)? <= size {
        // One spare byte makes the stream run to its end, where the checksum is verified.
        inflate.rest(stored.get(n_in..)?, &start, n_header, &mut bytes, size + 1).ok()?;
    }
    (bytes.len() == size).then_some(ObjectLookup::Whole(GitObject { kind, bytes }))
}
