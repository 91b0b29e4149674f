//! Reading regular files, and only as stable snapshots. Those too large to be held are left to
//! [`super::large`].

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

/// Files up to this size are read whole; larger ones pass by in pieces.
const MAX_WHOLE: u64 = limits::WHOLE_FILE;

/// How long a write waits for others to close the file. Those who append or save are done by
/// then; those who keep a file open would not be done in an hour.
const MAX_WAIT_FOR_WRITERS: Duration = Duration::from_millis(50);

/// A regular file, open for reading, and what it was when it was opened.
pub struct OpenFile {
    pub fd: Handle,
    pub status: Status,
    /// Whether its size says how much there is to read.
    pub has_exact_size: bool,
    /// Whether the system promised to tell of writers.
    pub lease: Lease,
}

/// How much of a file counts because it grows while it is read, once that was decided.
#[derive(Default)]
pub struct StablePrefix {
    pub settled: Cell<Option<u64>>,
}

/// How often a file is read that changes meanwhile.
const MAX_READINGS: usize = 3;

/// What the system promises about writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// To tell of the next one.
    Held,
    /// Somebody has the file open for writing, and keeps it so.
    WriterOpen,
    /// Nothing.
    Unavailable,
}

impl OpenFile {
    /// Opens what stands at a place, if it is a regular file. FIFOs and devices are not touched.
    pub fn open(sys: &dyn Sys, location: &Location, path: &AbsPath) -> Result<Option<OpenFile>> {
        if location.is_dir_missing {
            return Ok(None);
        }
        match sys::retry(|| sys.status(&location.dir, &location.name)) {
            Ok(status) => OpenFile::open_kind(sys, location, status.kind(), path).map(Some),
            Err(SysError::NOENT) => Ok(None),
            Err(errno) => Err(sys::error(errno, path, 0)),
        }
    }

    /// The same for a place that was looked at just now.
    pub fn open_found(
        sys: &dyn Sys,
        location: &Location,
        path: &AbsPath,
    ) -> Result<Option<OpenFile>> {
        location.kind.map(|kind| OpenFile::open_kind(sys, location, kind, path)).transpose()
    }

    /// Opens what was seen to be of that kind. If it is something else by now, it was opened for
    /// nothing, but without waiting for anybody.
    fn open_kind(
        sys: &dyn Sys,
        location: &Location,
        kind: FileKind,
        path: &AbsPath,
    ) -> Result<OpenFile> {
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
        let fd = sys::retry(|| sys.open(&location.dir, &location.name))
            .map_err(|errno| sys::error(errno, path, 0))?;
        let status = fd.status().map_err(|errno| sys::error(errno, path, 0))?;
        let is_regular = status.kind() == FileKind::File;
        let filesystem =
            Filesystem::of(&fd, &status).map_err(|errno| sys::error(errno, path, 0))?;
        if !is_regular {
            return Err(not_a_file(Instead::Other));
        }
        if filesystem == Filesystem::Pseudo {
            return Err(not_a_file(Instead::Special("a file that the kernel makes up")));
        }
        let has_exact_size = filesystem == Filesystem::ExactSize;
        Ok(OpenFile { fd, status, has_exact_size, lease: Lease::Unavailable })
    }

    /// Asks the system to be told of writers, where it can: until the lease is given back, nobody
    /// can open the file for writing unnoticed. Waits a moment for those who have it open.
    ///
    /// Where the system gives no lease (another owner, a network filesystem), the comparison of the
    /// write protocol is left, which catches all but a writer who is about to write.
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

    /// The whole content, the same from the first byte to the last.
    pub fn read_whole(&self, path: &AbsPath, context: &Context) -> Result<Vec<u8>> {
        self.read_stable(path, |status| {
            let bytes = self.first_bytes(path, status.size, context)?;
            Ok((bytes.len() as u64, bytes))
        })
    }

    fn first_bytes(&self, path: &AbsPath, n_bytes: u64, context: &Context) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let n_expected = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        // A byte more tells that there is more than the size says, which is then refused.
        let n_expected = n_expected.saturating_add(usize::from(!self.has_exact_size));
        bytes.try_reserve_exact(n_expected).map_err(|_| Error::System {
            path: path.to_string(),
            cause: "not enough memory".into(),
        })?;
        // A file that grows while it is read is noticed by its status.
        while bytes.len() < n_expected {
            context.cancel.check()?;
            let offset = bytes.len() as u64;
            match self.fd.append_from(&mut bytes, offset) {
                Ok(0) => break,
                Ok(_) | Err(SysError::INTR) => {}
                Err(errno) => return Err(sys::error(errno, path, 0)),
            }
        }
        // The room that is spare may be more than was asked for.
        bytes.truncate(n_expected);
        Ok(bytes)
    }

    /// The whole text, unless it is too large to be held.
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

    /// Whether it is what it was when it was opened, as far as the system tells.
    pub fn is_unchanged(&self) -> bool {
        self.fd.status().is_ok_and(|now| is_same_content(&self.status, &now))
    }

    /// Whether it has grown since it was opened, which the answer should say. What was written over
    /// besides is not noticed.
    pub fn has_grown(&self, context: &Context) -> bool {
        let now = self.fd.status();
        let has_grown = now.is_ok_and(|now| now.size > self.status.size);
        if has_grown {
            context.notes.add(Note::Grew);
        }
        has_grown
    }

    /// Whether the file is too large to be held.
    pub fn is_large(&self) -> bool {
        self.status.size > MAX_WHOLE
    }

    /// Reads, and again if the file changed meanwhile: a version is only handed out for bytes
    /// that stood there together. A change of the file's name or mode alone looks the same from
    /// here; then the second read brings what the first did.
    pub fn read_stable<T: PartialEq>(
        &self,
        path: &AbsPath,
        mut read: impl FnMut(&Status) -> Result<(u64, T)>,
    ) -> Result<T> {
        let status = || self.fd.status().map_err(|errno| sys::error(errno, path, 0));
        let mut before = self.status;
        let mut earlier = None;
        for _ in 0..MAX_READINGS {
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

    /// The same for what is only looked at: where a file grows under the hand, as logs do, what
    /// stood there first is enough. It is read twice, so that what was written over is noticed, and
    /// counts as the file for the rest of the call. `read` is told how much to read.
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
        for _ in 0..MAX_READINGS {
            let value = read(&before, n_bytes)?;
            let after = status()?;
            let n_now = after.size;
            let is_again = earlier.as_ref() == Some(&value);
            if n_now == n_bytes && (is_again || is_same_content(&before, &after)) {
                return Ok(value);
            }
            if n_now > n_bytes && (is_again || settled == Some(n_bytes)) {
                prefix.settled.set(Some(n_bytes));
                context.notes.add(Note::Grew);
                return Ok(value);
            }
            if n_now < n_bytes {
                // It was cut short, so that all is new.
                n_bytes = n_now;
            }
            earlier = Some(value);
            before = after;
        }
        Err(Error::Unstable { path: path.to_string() })
    }

    /// The bytes from a place on, as many or up to the end of the file.
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

    /// Fills a buffer from a place on, or up to the end of the file.
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

    /// Reads a file as [`OpenFile::document`] does while `write` is done at each reading.
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
        let mut n_readings = 0;
        let read = file.read_growing(&path, &context, &StablePrefix::default(), |_, n_bytes| {
            n_readings += 1;
            let bytes = file.first_bytes(&path, n_bytes, &context)?;
            // Long enough for another time stamp.
            std::thread::sleep(Duration::from_millis(20));
            write(&mut writer, n_readings);
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
    fn what_stood_there_first_is_read_of_a_file_that_grows() {
        let (read, has_remark) = read_while(|_, _| ());
        assert_eq!((read.unwrap().as_str(), has_remark), ("0123456789", false));
        let (read, has_remark) = read_while(|file, _| append(file, "more"));
        assert_eq!((read.unwrap().as_str(), has_remark), ("0123456789", true));
        let (read, has_remark) = read_while(|file, n| {
            if n == 1 {
                append(file, "more")
            }
        });
        assert_eq!((read.unwrap().as_str(), has_remark), ("0123456789", true));
    }

    #[test]
    fn what_is_written_over_meanwhile_is_no_version() {
        let (read, _) = read_while(|file, n| {
            overwrite(file, &n.to_string());
            append(file, "more");
        });
        assert!(matches!(read, Err(Error::Unstable { .. })), "{read:?}");
        let (read, has_remark) = read_while(|file, n| {
            if n == 1 {
                overwrite(file, "abc")
            }
        });
        assert_eq!((read.unwrap().as_str(), has_remark), ("abc3456789", false));
        let (read, has_remark) = read_while(|file, n| {
            if n == 1 {
                file.set_len(4).unwrap();
            }
        });
        assert_eq!((read.unwrap().as_str(), has_remark), ("0123", false));
    }
}
