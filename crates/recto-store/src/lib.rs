//! File storage: on disk, at a git revision, in an editor's buffers, in memory.
//!
//! Reading and writing are separate traits, so a read-only store (a git revision) has no method to
//! write. A change locks one file from its read to its write: no other recto process changes it in
//! between, and a write by any other program is detected at the commit.

mod change;
pub mod context;
pub mod editor;
pub mod error;
pub mod git;
pub mod glob;
pub mod limits;
pub mod local;
pub mod lru;
pub mod memory;
pub mod memory_budget;
pub mod nearby;
pub mod notes;
pub mod path;
pub mod preview;
pub mod record;
pub mod sync;
mod transaction;
pub mod workspace;

#[doc(hidden)]
pub mod fuzzing;

use std::path::PathBuf;

use recto_text::search::{Hits, LineMatches, Needle, Search};
use recto_text::window::{Page, Window};
use recto_text::{Digest, Document};

use crate::glob::Glob;
use crate::path::AbsPath;

pub use change::*;
pub use context::Context;
pub use error::{Error, Result};
pub use git::{GitRevisions, History};
pub use local::LocalStore;
pub use memory::MemoryStore;
pub use nearby::Nearby;
pub use notes::Note;
pub use transaction::{FileStep, StepError, Transaction};
pub use workspace::Workspace;

/// A place that files can be read from.
///
/// An implementation rejects paths outside its roots, hidden paths and what the client's sandbox
/// closes, in the same way whether or not a file exists there. It checks for cancellation during
/// long work and bounds its memory.
pub trait Store: Send + Sync {
    /// Reads a text file. Memory is bounded: a large file is read in pages.
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>>;

    /// Returns a reader for many files, one after another. Each thread needs its own.
    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a>;

    /// Opens a file of any kind to read some of its bytes.
    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>>;

    /// Whether a regular file exists at a path.
    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool>;

    /// Returns the path without links, `.` and `..`, if the caller may read it. The last component need
    /// not exist.
    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf>;

    /// Returns what exists near a path that does not, for a hint. Takes a few milliseconds at most.
    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby;

    /// Lists the files below a directory that match a pattern. A missing directory has none.
    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing>;
}

/// A text file that was read, or that can be read in pages.
pub enum Text<'a> {
    /// The whole file.
    Whole(Document),
    /// A file that is too large to read whole, or whose lines are already indexed.
    Paged(Box<dyn Pages + 'a>),
}

/// A large text file. All pages are of one version; otherwise the read fails.
pub trait Pages {
    /// Reads a page. Memory is bounded by the window, not by the file.
    fn page(&self, window: Window) -> Result<VersionedPage>;

    /// Searches all lines. Memory is bounded by the number of hits.
    fn search(&self, search: &Search<'_>) -> Result<VersionedHits>;

    /// Returns the matches in one line, from 0, of any length.
    fn find_in_line(&self, needle: &Needle, line: u64) -> Result<Option<LineMatches>>;
}

impl Text<'_> {
    /// Returns a page.
    pub fn page(&self, window: Window) -> Result<VersionedPage> {
        match self {
            Text::Whole(document) => {
                let page = window.page(document.text());
                Ok(VersionedPage { page, digest: document.digest() })
            }
            Text::Paged(pages) => pages.page(window),
        }
    }

    /// Returns the text unless it was read whole and `is_wanted` rejects it.
    fn only_if(self, is_wanted: &dyn Fn(&[u8]) -> bool) -> Option<Self> {
        match &self {
            Text::Whole(document) if !is_wanted(document.text().as_bytes()) => None,
            _ => Some(self),
        }
    }

    /// Returns the lines that match.
    pub fn search(&self, search: &Search<'_>) -> Result<VersionedHits> {
        match self {
            Text::Whole(document) => {
                let hits = search.hits(document.text());
                Ok(VersionedHits { hits, digest: document.digest() })
            }
            Text::Paged(pages) => pages.search(search),
        }
    }
}

/// Reads many files for one call. Work per file is kept small.
pub trait BulkReader {
    /// Reads the next file.
    fn text(&mut self, path: &AbsPath) -> Result<Text<'_>>;

    /// Reads the next file, but returns a text that was read whole only if `is_wanted` accepts it. That
    /// is faster if few are. `is_wanted` may also get bytes that are not the text of a file.
    fn text_if(
        &mut self,
        path: &AbsPath,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Text<'_>>> {
        self.text(path).map(|text| text.only_if(is_wanted))
    }
}

/// Random access to the bytes of one file.
pub trait Bytes: Send + Sync {
    /// Returns the size of the file.
    fn size(&self) -> u64;

    /// Reads some bytes at an offset. Returns 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;

    /// Fails if the file changed since it was opened, so that the reads may mix two versions.
    fn check_unchanged(&self) -> Result<()>;
}

/// Reads all bytes of a file. Fails if it changed meanwhile.
pub fn read_all(file: &dyn Bytes) -> Result<Vec<u8>> {
    let mut bytes = vec![0; file.size() as usize];
    let mut n_read = 0;
    while n_read < bytes.len() {
        match file.read_at(&mut bytes[n_read..], n_read as u64)? {
            0 => break,
            n => n_read += n,
        }
    }
    bytes.truncate(n_read);
    file.check_unchanged()?;
    Ok(bytes)
}

/// A file that was read into memory.
impl Bytes for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let n_bytes = buffer.len().min(self.len() - start);
        buffer[..n_bytes].copy_from_slice(&self[start..start + n_bytes]);
        Ok(n_bytes)
    }

    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }
}

/// The parameters of [`Store::list`].
#[derive(Debug, Clone, Copy)]
pub struct ListRequest<'a> {
    /// The directory to start in.
    pub folder: &'a AbsPath,
    /// The pattern for paths relative to it.
    pub glob: &'a Glob,
    /// Whether to list files that git ignores.
    pub shows_ignored: bool,
    /// The most paths to return; all are counted.
    pub limit: usize,
}

/// The files that match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The requested directory, with `.`, `..` and links resolved.
    pub folder: PathBuf,
    /// The first paths in sorted order, relative to the requested directory.
    pub files: Vec<String>,
    /// How many files were found.
    pub total: u64,
    /// The time or entry budget that ended the walk early, as text.
    pub stopped: Option<&'static str>,
    /// How many matches were omitted because their names are not UTF-8.
    pub n_unnamable: u64,
    /// How many directories could not be read.
    pub n_unreadable: u64,
    /// How many matches were omitted because of a name with a dot. A directory counts as one.
    pub n_hidden: u64,
    /// How many matches were omitted because git ignores them. A directory counts as one.
    pub n_ignored: u64,
    /// Whether the requested directory does not exist.
    pub is_missing: bool,
}

/// Read-only access to files at git revisions.
pub trait Revisions: Send + Sync {
    /// Returns the files at a revision of the repository that contains `path`. A relative path
    /// starts at the top of the first root's repository, or at that root if it is in no repository.
    fn at(&self, revision: &str, path: &str, context: &Context) -> Result<AtRevision>;

    /// Reads a file at a revision to write it to disk. Adds notes if a checkout would differ. Paths
    /// are those of [`Revisions::at`].
    fn file(&self, revision: &str, path: &str, context: &Context) -> Result<RevisionFile>;

    /// Returns the history of a file, a directory or a whole repository. Paths are those of
    /// [`Revisions::at`].
    fn history(&self, path: &str, context: &Context) -> Result<History>;
}

/// A file at a revision, as the repository stores it.
#[derive(Debug)]
pub struct RevisionFile {
    /// The content.
    pub bytes: Vec<u8>,
    /// Whether it is executable.
    pub is_executable: bool,
}

/// A repository at a revision.
pub struct AtRevision {
    /// Its files.
    pub store: Box<dyn Store>,
    /// The requested path, absolute.
    pub path: AbsPath,
    /// The top of the work tree.
    pub top: PathBuf,
    /// The path as answers show it, valid as input: relative to the top if relative paths start
    /// there, otherwise absolute.
    pub shown: PathBuf,
}

/// A page and the version of the whole file that it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedPage {
    /// The lines.
    pub page: Page,
    /// The version.
    pub digest: Digest,
}

/// Lines that contain a string, and the version of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedHits {
    /// The lines.
    pub hits: Hits,
    /// The version.
    pub digest: Digest,
}

/// Parses bytes as text. Rejects binary files.
fn text_of(path: &AbsPath, bytes: Vec<u8>) -> Result<Document> {
    Document::parse(bytes).map_err(|bytes| Error::BinaryFile {
        verb: "read",
        path: path.to_string(),
        hash: Some(Digest::of(&bytes)),
    })
}
