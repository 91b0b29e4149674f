//! Files, wherever they are kept: on disk, at a git revision, in an editor's buffer, in memory.
//!
//! Reading and changing are two traits, so that a store that cannot be written (a git revision)
//! has no method for it. A change holds one file from its read to its write: no other recto
//! process changes it in between, and a write by any other program is detected at the commit.

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
pub mod notes;
pub mod path;
pub mod preview;
pub mod sync;
pub mod workspace;

#[doc(hidden)]
pub mod fuzzing;

use std::path::PathBuf;

use recto_text::search::{Hits, Search};
use recto_text::window::{Page, Window};
use recto_text::{Digest, Document};

use crate::glob::Glob;
use crate::path::AbsPath;

pub use change::*;
pub use context::Context;
pub use error::{Error, Result};
pub use git::GitRevisions;
pub use local::LocalStore;
pub use memory::MemoryStore;
pub use notes::Note;
pub use workspace::Workspace;

/// A place that files can be read from.
pub trait Store: Send + Sync {
    /// Reads a text file. Memory is bounded: a large file is read by pages.
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>>;

    /// Returns a reader for many files, one after another. Each thread has its own.
    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a>;

    /// Opens a file of any kind to read some of its bytes.
    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>>;

    /// Whether a regular file exists at a path.
    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool>;

    /// Lists the files below a directory that match a pattern. A directory that does not exist has
    /// none.
    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing>;
}

/// A text file that was read, or is ready to be read by pages.
pub enum Text<'a> {
    /// All of it.
    Whole(Document),
    /// A file that is too large to be held, or whose lines are indexed, so that a page is faster.
    Paged(Box<dyn Pages + 'a>),
}

/// A large text file. All pages are of one version, or the read fails.
pub trait Pages {
    /// Reads a page. Memory is bounded by the window, not by the file.
    fn page(&self, window: Window) -> Result<VersionedPage>;

    /// Searches all lines. Memory is bounded by the number of hits.
    fn search(&self, search: &Search<'_>) -> Result<VersionedHits>;
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

/// Reads many files for one caller, none of which is worth much by itself.
pub trait BulkReader {
    /// Reads the next file.
    fn text(&mut self, path: &AbsPath) -> Result<Text<'_>>;
}

/// The bytes of one file.
pub trait Bytes: Send + Sync {
    /// How many there are.
    fn size(&self) -> u64;

    /// Reads some of them at a place; 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;

    /// Fails where the file changed since it was opened, so that what was read may not belong
    /// together.
    fn check_unchanged(&self) -> Result<()>;
}

/// Bytes at hand.
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

/// What to list.
#[derive(Debug, Clone, Copy)]
pub struct ListRequest<'a> {
    /// The folder to start in.
    pub folder: &'a AbsPath,
    /// What paths must look like, seen from there.
    pub glob: &'a Glob,
    /// Whether files that git ignores are listed too.
    pub shows_ignored: bool,
    /// At most this many paths are kept; all are counted.
    pub limit: usize,
}

/// Files that match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The folder that was asked for, without dots and links.
    pub folder: PathBuf,
    /// The first ones by path, sorted, relative to the folder that was asked for.
    pub files: Vec<String>,
    /// How many there are, as far as they were looked for.
    pub total: u64,
    /// Why not everything was looked at, for people: a time or an entry budget.
    pub stopped: Option<&'static str>,
    /// How many matches have names that are not UTF-8, and so cannot be told.
    pub n_unnamable: u64,
    /// How many folders could not be read.
    pub n_unreadable: u64,
    /// Whether nothing stands where the folder would.
    pub is_missing: bool,
}

/// The files at revisions, which can be read and not changed.
pub trait Revisions: Send + Sync {
    /// The files at a revision of the repository that holds `path`. A relative path starts at the
    /// top of the first root's repository, or at that root where it is in none.
    fn at(&self, revision: &str, path: &str, context: &Context) -> Result<AtRevision>;
}

/// A repository at a revision.
pub struct AtRevision {
    /// Its files.
    pub store: Box<dyn Store>,
    /// The path that was asked for, absolute.
    pub path: AbsPath,
    /// The top of the work tree.
    pub top: PathBuf,
    /// The path as answers show it, so that it can be given again: from the top on where relative
    /// paths start there, else absolute.
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

/// Lines that hold a string, and the version of the file that they stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedHits {
    /// The lines.
    pub hits: Hits,
    /// The version.
    pub digest: Digest,
}

/// Parses bytes as text, or rejects them as a read does.
fn text_of(path: &AbsPath, bytes: Vec<u8>) -> Result<Document> {
    Document::parse(bytes).map_err(|bytes| Error::BinaryFile {
        verb: "read",
        path: path.to_string(),
        hash: Some(Digest::of(&bytes)),
    })
}
