//! Reads many files, one after another.

use std::ffi::OsStr;

use recto_platform::{FileKind, Filesystem, Handle, Sys, SysError};
use recto_text::encoding::Encoding;

use super::read::{Lease, OpenFile};
use super::roots::LastDirs;
use super::{LocalStore, MIN_INDEXED};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::memory_budget::Reservation;
use crate::path::AbsPath;
use crate::{BulkReader, Text, text_of};

/// How much of a file is read first, and how much of that is checked for NUL, which nearly all binary
/// files have there.
const HEAD: usize = 64 << 10;
const CHECKED: usize = 4 << 10;

/// A reader for many files of a listing.
pub struct LocalBulk<'a> {
    store: &'a LocalStore,
    context: &'a Context,
    last_dirs: LastDirs<'a>,
    /// Has space for the start of a file, and after the first that is longer, for a small file.
    buffer: Vec<u8>,
    /// The memory for the last file, if it was not.
    memory: Reservation,
}

impl<'a> LocalBulk<'a> {
    pub fn new(store: &'a LocalStore, context: &'a Context) -> LocalBulk<'a> {
        let (last_dirs, buffer) = (LastDirs::default(), vec![0; HEAD]);
        LocalBulk { store, context, last_dirs, buffer, memory: Reservation::default() }
    }

    fn open(&mut self, path: &AbsPath) -> Result<OpenFile> {
        let LocalBulk { store, context, last_dirs, .. } = self;
        let found = store.roots.next_file(path, &context.sandbox, last_dirs);
        match found.and_then(|(dir, name)| open_listed(&*store.sys, dir, name)) {
            Some(file) => Ok(file),
            None => store.open_to_read(path, context),
        }
    }

    fn read(&mut self, file: OpenFile, path: &AbsPath) -> Result<Text<'_>> {
        let LocalBulk { store, context, memory, .. } = self;
        // What the last file needed is returned before this call waits for more.
        *memory = Reservation::default();
        let reserved = context.reserve(file.n_needed_to_read());
        *memory = reserved.map_err(|reason| reason.for_file(path, file.status.size))?;
        store.text_of(file, path, context, true)
    }
}

impl BulkReader for LocalBulk<'_> {
    fn text(&mut self, path: &AbsPath) -> Result<Text<'_>> {
        let file = self.open(path)?;
        self.read(file, path)
    }

    fn text_if(
        &mut self,
        path: &AbsPath,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Text<'_>>> {
        let file = self.open(path)?;
        let n_head = read_from(&file, &mut self.buffer[..HEAD], 0);
        let n_checked = n_head.unwrap_or(0).min(CHECKED);
        if Encoding::is_binary_head(&self.buffer[..n_checked]) {
            return Err(Error::BinaryFile { verb: "read", path: path.to_string(), hash: None });
        }
        let n_read = match n_head {
            Some(HEAD) if file.status.size < MIN_INDEXED => {
                self.buffer.resize(MIN_INDEXED as usize, 0);
                read_from(&file, &mut self.buffer, HEAD)
            }
            n_head => n_head,
        };
        if n_read.is_none_or(|n_read| n_read as u64 != file.status.size) {
            return Ok(self.read(file, path)?.only_if(is_wanted));
        }
        let bytes = &self.buffer[..file.status.size as usize];
        // Most files are not wanted, and need not be copied or decoded.
        let is_hit = is_wanted(bytes);
        if !is_hit && Encoding::is_plain_utf8(bytes) {
            return Ok(None);
        }
        if !file.is_unchanged() {
            return Ok(self.read(file, path)?.only_if(is_wanted));
        }
        let document = text_of(path, bytes.to_vec())?;
        let is_text = document.encoding() == Encoding::Utf8;
        let text = Text::Whole(document);
        Ok(if is_hit && is_text { Some(text) } else { text.only_if(is_wanted) })
    }
}

/// Opens a file that was listed as a regular one, or returns `None` if it is not a regular file now.
/// Opening does not block whatever it is.
fn open_listed(sys: &dyn Sys, dir: &Handle, name: &OsStr) -> Option<OpenFile> {
    let fd = sys.open(dir, name).ok()?;
    let status = fd.status().ok().filter(|status| status.kind() == FileKind::File)?;
    let has_exact_size = match Filesystem::of(&fd, &status).ok()? {
        Filesystem::Pseudo => return None,
        Filesystem::ExactSize => true,
        Filesystem::Other => false,
    };
    Some(OpenFile { fd, status, has_exact_size, lease: Lease::Unavailable })
}

/// Reads a file from an offset to its end, or until a buffer that starts with what precedes the offset
/// is full. Returns how many bytes the buffer contains then, or `None` if the file cannot be read.
fn read_from(file: &OpenFile, buffer: &mut [u8], offset: usize) -> Option<usize> {
    // One more byte reveals that the file is longer than its size says.
    let n_expected = file.status.size.saturating_add(u64::from(!file.has_exact_size));
    let mut n_read = offset;
    while n_read < buffer.len() && (n_read as u64) < n_expected {
        match file.fd.read_at(&mut buffer[n_read..], n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(SysError::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(n_read)
}
