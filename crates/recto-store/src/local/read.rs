//! Reads regular files as stable snapshots. [`super::large`] reads files that are too large for
//! memory.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::Instead;
use crate::error::{Error, Result};
use recto_platform::{FileKind, Filesystem, Handle, Status, Sys, SysError};
use recto_text::Document;

use super::identity::is_same_content;
use super::roots::Location;
use super::sys;
use crate::context::Context;
use crate::limits;
use crate::path::AbsPath;
use crate::{Note, text_of};

/// The maximum size of a file that is read whole; larger ones are read in pieces.
const MAX_WHOLE: u64 = limits::WHOLE_FILE;

/// How long a write waits for other processes to close the file. This is enough for an append or a
/// save; a process that keeps the file open would not close it in an hour either.
const MAX_WAIT_FOR_WRITERS: Duration = Duration::from_millis(50);

/// A regular file, open for reading, with its status from when it was opened.
pub struct OpenFile {
    pub fd: Handle,
    pub status: Status,
    /// Whether reads end exactly at the reported size.
    pub has_exact_size: bool,
    /// Whether a lease reports writers.
    pub lease: Lease,
}

/// The size that a call uses for a file that grows while it is read, once it is fixed.
#[derive(Default)]
pub struct StablePrefix {
    pub settled: Cell<Option<u64>>,
}

/// How often a file that changes is read before the read fails.
const MAX_READS: usize = 3;

/// The result of requesting a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// The kernel breaks the lease when another process opens the file for writing.
    Held,
    /// Another process keeps the file open for writing.
    WriterOpen,
    /// The file system or the file's owner does not permit a lease.
    Unavailable,
}

impl OpenFile {
    /// Opens a regular file. Never opens a FIFO or device.
    pub fn open(sys: &dyn Sys, at: &Location, path: &AbsPath) -> Result<Option<OpenFile>> {
        if at.is_dir_missing {
            return Ok(None);
        }
        match sys::retry(|| sys.status(&at.dir, &at.name)) {
            Ok(status) => OpenFile::open_kind(sys, at, status.kind(), path).map(Some),
            Err(SysError::NOENT) => Ok(None),
            Err(errno) => Err(sys::error(errno, path, 0)),
        }
    }

    /// Opens the regular file at a location that was resolved just now.
    pub fn open_found(sys: &dyn Sys, at: &Location, path: &AbsPath) -> Result<Option<OpenFile>> {
        at.kind.map(|kind| OpenFile::open_kind(sys, at, kind, path)).transpose()
    }

    /// Opens a file of a known kind. If it was replaced by something else since, opening does not
    /// block, and the call fails.
    fn open_kind(sys: &dyn Sys, at: &Location, kind: FileKind, path: &AbsPath) -> Result<OpenFile> {
        let instead = match kind {
            FileKind::Directory => Instead::Folder,
            FileKind::Fifo => Instead::Special("a FIFO"),
            FileKind::Socket => Instead::Special("a socket"),
            FileKind::CharDevice | FileKind::BlockDevice => Instead::Special("a device"),
            _ => Instead::Other,
        };
        let not_a_file = |instead| Error::NotAFile { path: path.to_string(), instead };
        if kind != FileKind::File {
            return Err(not_a_file(instead));
        }
        let fd = sys::retry(|| sys.open(&at.dir, &at.name))
            .map_err(|errno| sys::error(errno, path, 0))?;
        let status = fd.status().map_err(|errno| sys::error(errno, path, 0))?;
        let is_regular = status.kind() == FileKind::File;
        let filesystem =
            Filesystem::of(&fd, &status).map_err(|errno| sys::error(errno, path, 0))?;
        if !is_regular {
            return Err(not_a_file(Instead::Other));
        }
        if filesystem == Filesystem::Pseudo {
            return Err(not_a_file(Instead::Special("a file whose content the kernel generates")));
        }
        let has_exact_size = filesystem == Filesystem::ExactSize;
        Ok(OpenFile { fd, status, has_exact_size, lease: Lease::Unavailable })
    }

    /// Requests a lease: while it lasts, no process can open the file for writing unnoticed. Waits
    /// briefly for processes that have it open.
    ///
    /// Without a lease (another owner, a network file system), the write protocol compares
    /// contents, which misses only a process that has the file open but has not written yet.
    pub fn lease(&self, sys: &dyn Sys) -> Lease {
        let started = Instant::now();
        loop {
            match sys.lease(&self.fd) {
                Ok(()) => return Lease::Held,
                Err(SysError::AGAIN) if started.elapsed() < MAX_WAIT_FOR_WRITERS => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(SysError::AGAIN) => return Lease::WriterOpen,
                Err(_) => return Lease::Unavailable,
            }
        }
    }

    /// Reads the whole content as of one point in time.
    pub fn read_whole(&self, path: &AbsPath, context: &Context) -> Result<Vec<u8>> {
        self.read_stable(path, |status| {
            let bytes = self.first_bytes(path, status.size, context)?;
            Ok((bytes.len() as u64, bytes))
        })
    }

    fn first_bytes(&self, path: &AbsPath, n_bytes: u64, context: &Context) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let n_expected = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        // One more byte reveals that the file is longer than its size says, which is rejected.
        let n_expected = n_expected.saturating_add(usize::from(!self.has_exact_size));
        bytes.try_reserve_exact(n_expected).map_err(|_| Error::System {
            path: path.to_string(),
            cause: "not enough memory".into(),
        })?;
        // The status reveals a file that grows while it is read.
        while bytes.len() < n_expected {
            context.cancel.check()?;
            let offset = bytes.len() as u64;
            match self.fd.append_from(&mut bytes, offset) {
                Ok(0) => break,
                Ok(_) | Err(SysError::INTR) => {}
                Err(errno) => return Err(sys::error(errno, path, 0)),
            }
        }
        // `Vec` may have reserved more than requested.
        bytes.truncate(n_expected);
        Ok(bytes)
    }

    /// Reads the whole text. Returns `None` if the file is too large.
    pub fn document(&self, path: &AbsPath, context: &Context) -> Result<Option<Document>> {
        if self.is_large() {
            return Ok(None);
        }
        let bytes = match self.has_exact_size {
            true => self.read_growing(path, context, &StablePrefix::default(), |_, n_bytes| {
                self.first_bytes(path, n_bytes, context)
            })?,
            false => self.read_whole(path, context)?,
        };
        text_of(path, bytes).map(Some)
    }

    /// Returns whether the metadata shows no change since the file was opened.
    pub fn is_unchanged(&self) -> bool {
        self.fd.status().is_ok_and(|now| is_same_content(&self.status, &now))
    }

    /// Returns whether the file has grown since it was opened, and adds a note to the answer if so.
    /// Does not detect overwritten bytes.
    pub fn has_grown(&self, context: &Context) -> bool {
        let now = self.fd.status();
        let has_grown = now.is_ok_and(|now| now.size > self.status.size);
        if has_grown {
            context.notes.add(Note::Grew);
        }
        has_grown
    }

    /// Returns how much memory a read needs: for the bytes, for the text in another encoding, and
    /// for a second read if the file changes. A large file is read in pieces.
    pub fn n_needed_to_read(&self) -> u64 {
        if self.is_large() { 0 } else { 3 * self.status.size }
    }

    /// Returns whether the file is too large to be read whole.
    pub fn is_large(&self) -> bool {
        self.status.size > MAX_WHOLE
    }

    /// Reads, and retries if the file changed during the read, so that all returned bytes existed
    /// at the same time. Renaming the file or changing its mode also causes a retry, which then
    /// returns the same bytes.
    pub fn read_stable<T: PartialEq>(
        &self,
        path: &AbsPath,
        mut read: impl FnMut(&Status) -> Result<(u64, T)>,
    ) -> Result<T> {
        let status = || self.fd.status().map_err(|errno| sys::error(errno, path, 0));
        let mut before = self.status;
        let mut earlier = None;
        for _ in 0..MAX_READS {
            let (n_bytes, value) = read(&before)?;
            let after = status()?;
            let is_whole = n_bytes == after.size;
            if is_whole && (is_same_content(&before, &after) || earlier.as_ref() == Some(&value)) {
                return Ok(value);
            }
            earlier = Some(value);
            before = after;
        }
        Err(Error::Unstable { path: path.to_string() })
    }

    /// Reads like [`Self::read_stable`], but accepts a file that grows, such as a log: the bytes
    /// that existed first are enough. They are read twice, to detect overwrites, and count as the
    /// file for the rest of the call. `read` gets the number of bytes to read.
    pub fn read_growing<T: PartialEq>(
        &self,
        path: &AbsPath,
        context: &Context,
        prefix: &StablePrefix,
        mut read: impl FnMut(&Status, u64) -> Result<T>,
    ) -> Result<T> {
        let status = || self.fd.status().map_err(|errno| sys::error(errno, path, 0));
        let settled = prefix.settled.get();
        let mut before = self.status;
        let mut n_bytes = settled.unwrap_or(before.size);
        let mut earlier = None;
        for _ in 0..MAX_READS {
            let value = read(&before, n_bytes)?;
            let after = status()?;
            let n_now = after.size;
            let is_repeated = earlier.as_ref() == Some(&value);
            if n_now == n_bytes && (is_repeated || is_same_content(&before, &after)) {
                return Ok(value);
            }
            if n_now > n_bytes && (is_repeated || settled == Some(n_bytes)) {
                prefix.settled.set(Some(n_bytes));
                context.notes.add(Note::Grew);
                return Ok(value);
            }
            if n_now < n_bytes {
                // The file was truncated, so start over.
                n_bytes = n_now;
            }
            earlier = Some(value);
            before = after;
        }
        Err(Error::Unstable { path: path.to_string() })
    }

    /// Reads up to `n_bytes` at an offset; fewer only at the end of the file.
    pub fn bytes_at(&self, path: &AbsPath, n_bytes: usize, offset: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(n_bytes);
        while bytes.len() < n_bytes {
            let at = offset + bytes.len() as u64;
            match self.fd.append_from(&mut bytes, at) {
                Ok(0) => break,
                Ok(_) | Err(SysError::INTR) => {}
                Err(errno) => return Err(sys::error(errno, path, 0)),
            }
        }
        bytes.truncate(n_bytes);
        Ok(bytes)
    }

    /// Fills a buffer from an offset; reads less only at the end of the file.
    pub fn read_at(&self, path: &AbsPath, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut n_read = 0;
        while n_read < buffer.len() {
            match self.fd.read_at(&mut buffer[n_read..], offset + n_read as u64) {
                Ok(0) => break,
                Ok(n) => n_read += n,
                Err(SysError::INTR) => {}
                Err(errno) => return Err(sys::error(errno, path, 0)),
            }
        }
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// Reads like [`OpenFile::document`], calling `write` after each read.
    fn read_while(write: impl Fn(&mut File, usize)) -> (Result<String>, bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "0123456789").unwrap();
        let fd: Handle = File::open(&path).unwrap().into();
        let status = fd.status().unwrap();
        let file = OpenFile { fd, status, has_exact_size: true, lease: Lease::Unavailable };
        let path = AbsPath::parse(path.to_str().unwrap().into()).unwrap();
        let context = Context::default();
        let mut writer = File::options().write(true).open(path.as_path()).unwrap();
        let mut n_reads = 0;
        let read = file.read_growing(&path, &context, &StablePrefix::default(), |_, n_bytes| {
            n_reads += 1;
            let bytes = file.first_bytes(&path, n_bytes, &context)?;
            // Long enough for a different timestamp.
            std::thread::sleep(Duration::from_millis(20));
            write(&mut writer, n_reads);
            Ok(String::from_utf8(bytes).unwrap())
        });
        (read, !context.notes.take().is_empty())
    }

    fn append(file: &mut File, text: &str) {
        use std::io::Seek;
        file.seek(std::io::SeekFrom::End(0)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn overwrite(file: &mut File, text: &str) {
        use std::os::unix::fs::FileExt;
        file.write_all_at(text.as_bytes(), 0).unwrap();
    }

    #[test]
    fn reads_the_first_bytes_of_a_growing_file() {
        let (read, has_note) = read_while(|_, _| ());
        assert_eq!((read.unwrap().as_str(), has_note), ("0123456789", false));
        let (read, has_note) = read_while(|file, _| append(file, "more"));
        assert_eq!((read.unwrap().as_str(), has_note), ("0123456789", true));
        let (read, has_note) = read_while(|file, n| {
            if n == 1 {
                append(file, "more")
            }
        });
        assert_eq!((read.unwrap().as_str(), has_note), ("0123456789", true));
    }

    #[test]
    fn returns_no_mix_of_versions_of_an_overwritten_file() {
        let (read, _) = read_while(|file, n| {
            overwrite(file, &n.to_string());
            append(file, "more");
        });
        assert!(matches!(read, Err(Error::Unstable { .. })), "{read:?}");
        let (read, has_note) = read_while(|file, n| {
            if n == 1 {
                overwrite(file, "abc")
            }
        });
        assert_eq!((read.unwrap().as_str(), has_note), ("abc3456789", false));
        let (read, has_note) = read_while(|file, n| {
            if n == 1 {
                file.set_len(4).unwrap();
            }
        });
        assert_eq!((read.unwrap().as_str(), has_note), ("0123", false));
    }
}
