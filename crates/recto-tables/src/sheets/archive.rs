//! Opens a workbook's archive after checking what it would inflate to.
//!
//! The archive's directory contains the size of each part, and the archive reader never inflates a
//! part beyond it, so the directory can be trusted. The workbook reader, however, keeps all shared
//! strings, allocates for as many as the file claims, and keeps one piece of XML of any length.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use quick_xml::Reader as XmlReader;
use quick_xml::events::Event;
use zip::ZipArchive;
use zip::read::ZipFile;

use crate::budget::{check_memory, cut};
use crate::error::{Error, Result};
use crate::source::Source;

/// The most bytes of a workbook.
pub const MAX_SOURCE: u64 = 128 << 20;

/// The most bytes of all parts of a workbook together.
const MAX_INFLATED: u64 = 2 << 30;

/// The most bytes of a part that is kept whole.
const MAX_KEPT: u64 = 256 << 20;

/// The length of a library's message that is shown.
const MAX_CAUSE_CHARS: usize = 200;

/// A part larger than this is scanned first.
const MAX_TRUSTED: u64 = 8 << 20;

/// The longest piece of XML: a tag or a text. Excel allows 32,767 characters in a cell.
pub const MAX_PIECE: usize = 4 << 20;

/// The most parts, and the most sheets.
pub const MAX_PARTS: usize = 20_000;

/// A part that is kept whole is not scanned if it is smaller.
const MIN_SCANNED: u64 = 1 << 20;

/// About the memory of an element of such a part, besides its text.
const ELEMENT_BYTES: u64 = 64;

const N_BUFFERED: usize = 64 << 10;

/// The bytes of a source, with seeking.
pub type Bytes = BufReader<Cursor>;

/// Reads a source and keeps its error, because libraries only report that there was one.
#[derive(Clone)]
pub struct Cursor {
    source: Arc<dyn Source>,
    offset: u64,
    failure: Failure,
}

/// The error of the source, if it failed.
#[derive(Clone, Default)]
pub struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    /// Returns the source's error if there is one, and otherwise that the file is damaged.
    pub fn explain(&self, error: &dyn std::fmt::Display) -> Error {
        let kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        kept.unwrap_or_else(|| {
            // A library may quote the file.
            let error = cut(&error.to_string(), MAX_CAUSE_CHARS);
            Error::Broken { cause: format!("it is damaged: {error}") }
        })
    }
}

/// Returns the bytes of a source, and the slot for its error.
pub fn open(source: Arc<dyn Source>) -> Result<(Bytes, Failure)> {
    if source.size() > MAX_SOURCE {
        let cause = format!("it has more than {} MiB", MAX_SOURCE >> 20);
        return Err(Error::TooLarge { cause });
    }
    let failure = Failure::default();
    let cursor = Cursor { source, offset: 0, failure: failure.clone() };
    Ok((BufReader::with_capacity(N_BUFFERED, cursor), failure))
}

/// Returns a second reader of the same bytes.
pub fn reopen(bytes: &Bytes) -> Bytes {
    BufReader::with_capacity(N_BUFFERED, bytes.get_ref().clone())
}

impl Cursor {
    /// Returns the number of bytes of the source.
    pub fn size(&self) -> u64 {
        self.source.size()
    }
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.source.read_at(buffer, self.offset).inspect_err(|error| {
            let mut kept = self.failure.0.lock().unwrap_or_else(|it| it.into_inner());
            *kept = Some(error.clone());
        })?;
        self.offset += n_read as u64;
        Ok(n_read)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.source.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
        };
        self.offset = offset.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}

/// The kind of workbook in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WorkbookKind {
    Xlsx,
    Xlsb,
    Ods,
}

/// Checks the archive: returns its kind if reading it is bounded.
pub fn check(bytes: Bytes, failure: &Failure, max_memory: u64) -> Result<WorkbookKind> {
    let mut archive = ZipArchive::new(bytes).map_err(|error| failure.explain(&error))?;
    if archive.len() > MAX_PARTS {
        return Err(Error::TooLarge { cause: format!("it has more than {MAX_PARTS} parts") });
    }
    let mut kind = WorkbookKind::Xlsx;
    let mut n_inflated = 0;
    let mut to_scan = Vec::new();
    let mut to_count = Vec::new();
    let mut n_kept = 0;
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index).map_err(|error| failure.explain(&error))?;
        let name = String::from_utf8_lossy(part.name_raw()).to_ascii_lowercase().replace('\\', "/");
        n_inflated += part.size();
        match name.as_str() {
            "content.xml" => kind = WorkbookKind::Ods,
            "xl/workbook.bin" => kind = WorkbookKind::Xlsb,
            _ => {}
        }
        let is_sheet = name.contains("/worksheets/") || name == "content.xml";
        let is_media = name.contains("/media/") || name.starts_with("pictures/");
        let is_shared_texts = name.ends_with("sharedstrings.xml");
        if part.size() > MAX_KEPT && !is_sheet && !is_media {
            let cause = format!("its part {name} has more than {} MiB", MAX_KEPT >> 20);
            return Err(Error::TooLarge { cause });
        }
        // The reader keeps all parts except sheets and those that it does not know.
        let is_kept =
            !is_sheet && !is_media && (name.starts_with("xl/") || name.ends_with(".rels"));
        if is_kept && name.ends_with(".bin") {
            n_kept += part.size() * 4;
        } else if is_kept && part.size() > MIN_SCANNED {
            to_count.push(index);
        }
        let is_large = part.size() > MAX_TRUSTED && !is_media && !name.ends_with(".bin");
        // The reader of OpenDocument parts has its own limits.
        if is_shared_texts || is_large && name != "content.xml" {
            to_scan.push((index, is_shared_texts, is_large));
        }
    }
    if n_inflated > MAX_INFLATED {
        let cause = format!("it inflates to more than {} MiB", MAX_INFLATED >> 20);
        return Err(Error::TooLarge { cause });
    }
    check_memory(n_kept, max_memory)?;
    for index in to_count {
        let part = archive.by_index(index).map_err(|error| failure.explain(&error))?;
        n_kept += part.size();
        let mut elements = Elements::new(part, n_kept, max_memory);
        copy(&mut elements, failure)?;
        n_kept = elements.n_kept;
    }
    for (index, is_shared_texts, is_large) in to_scan {
        let mut part = archive.by_index(index).map_err(|error| failure.explain(&error))?;
        if is_shared_texts {
            check_count(&mut part, failure)?;
        }
        drop(part);
        if is_large {
            let part = archive.by_index(index).map_err(|error| failure.explain(&error))?;
            copy(&mut Pieces::new(part, u64::MAX), failure)?;
        }
    }
    Ok(kind)
}

/// Reads a part to its end.
fn copy(part: &mut impl Read, failure: &Failure) -> Result<()> {
    let copied = io::copy(part, &mut io::sink());
    copied.map(|_| ()).map_err(|error| match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => failure.explain(&error),
    })
}

/// Counts the elements of XML that a workbook reader keeps.
struct Elements<R> {
    reader: R,
    n_kept: u64,
    max_memory: u64,
    n_sheets: usize,
    /// The last bytes, in which an element may start.
    end: Vec<u8>,
}

impl<R: Read> Elements<R> {
    fn new(reader: R, n_kept: u64, max_memory: u64) -> Elements<R> {
        Elements { reader, n_kept, max_memory, n_sheets: 0, end: Vec::new() }
    }
}

impl<R: Read> Read for Elements<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const SHEET: &[u8] = b"sheet ";
        let n_read = self.reader.read(buffer)?;
        let read = &buffer[..n_read];
        self.n_kept += memchr::memchr_iter(b'<', read).count() as u64 * ELEMENT_BYTES;
        check_memory(self.n_kept, self.max_memory)?;
        self.end.extend_from_slice(read);
        self.n_sheets += memchr::memmem::find_iter(&self.end, SHEET).count();
        self.end.drain(..self.end.len().saturating_sub(SHEET.len() - 1));
        if self.n_sheets > MAX_PARTS {
            let cause = format!("it has more than {MAX_PARTS} sheets");
            return Err(Error::TooLarge { cause }.into());
        }
        Ok(n_read)
    }
}

/// Checks that the part is large enough for as many texts as it claims.
fn check_count(part: &mut ZipFile<'_, impl Read>, failure: &Failure) -> Result<()> {
    const MAX_BEFORE: u64 = 1 << 20;
    const LEAST_PER_TEXT: u64 = 4;
    let max_count = part.size() / LEAST_PER_TEXT + 1;
    let mut reader = XmlReader::from_reader(BufReader::new(Pieces::new(part, MAX_BEFORE)));
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|error| failure.explain(&error))? {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == "sst" => {
                let mut attributes = tag.attributes();
                let is_plausible = attributes.with_checks(false).flatten().all(|it| {
                    it.key.as_ref() != "uniqueCount"
                        || it.value.bytes().any(|byte| !byte.is_ascii_digit())
                        || it.value.parse::<u64>().is_ok_and(|count| count <= max_count)
                });
                return if is_plausible {
                    Ok(())
                } else {
                    Err(Error::Broken { cause: "it has fewer shared texts than it says".into() })
                };
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Returns the error for a tag or text that is too long.
pub fn text_too_long() -> Error {
    Error::TooLarge { cause: format!("a text in it has more than {} MiB", MAX_PIECE >> 20) }
}

/// Passes XML on, up to a number of bytes, if its tags and texts have a reasonable length.
pub struct Pieces<R> {
    reader: R,
    n_left: u64,
    n_in_piece: usize,
}

impl<R: Read> Pieces<R> {
    /// Reads the first `n_bytes` of an XML file.
    pub fn new(reader: R, n_bytes: u64) -> Pieces<R> {
        Pieces { reader, n_left: n_bytes, n_in_piece: 0 }
    }
}

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.reader.read(buffer)?;
        let read = &buffer[..n_read];
        match memchr::memrchr(b'<', read) {
            Some(at) => self.n_in_piece = n_read - at,
            None => self.n_in_piece += n_read,
        }
        if self.n_in_piece > MAX_PIECE {
            return Err(text_too_long().into());
        }
        self.n_left = self.n_left.checked_sub(n_read as u64).ok_or_else(|| {
            let cause = "its first rows are too large".into();
            io::Error::from(Error::TooLarge { cause })
        })?;
        Ok(n_read)
    }
}
