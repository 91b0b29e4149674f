//! Files, wherever they are kept: on disk, at a git revision, in an editor's buffer, in memory.
//!
//! Reading and changing are two traits, so that a store that cannot be written (a git revision)
//! has no method for it. A change holds one file from its read to its write: no other recto
//! process changes it in between, and a write by any other program is detected at the commit.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "recto runs on Linux only for now: its write protocol needs O_TMPFILE, renameat2 and flock"
);

pub mod caller;
pub mod editor;
pub mod git;
pub mod glob;
pub mod limits;
pub mod local;
pub mod memory;
pub mod path;
pub mod rehearsal;
pub mod workspace;

#[doc(hidden)]
pub mod fuzzing;

use std::path::PathBuf;

use recto_text::line_range::Interval;
use recto_text::search::{Hits, Search};
use recto_text::window::{Page, Window};
use recto_text::{Digest, Document, Error, Result};

use crate::caller::Caller;
use crate::glob::Glob;
use crate::path::AbsPath;

pub use git::GitRevisions;
pub use local::LocalStore;
pub use memory::MemoryStore;
pub use workspace::Workspace;

/// A place that files can be read from.
pub trait Store: Send + Sync {
    /// Reads a whole text file, or `None` where it is too large to be held; then there are pages.
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>>;

    /// Reads a page of a text file. Memory is bounded by the window, not by the file.
    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage>;

    /// Searches a text file. Memory is bounded by the number of hits.
    fn search(&self, path: &AbsPath, search: &Search<'_>, caller: &Caller)
    -> Result<VersionedHits>;

    /// Opens a file of any kind to read some of its bytes.
    fn open(&self, path: &AbsPath, caller: &Caller) -> Result<Box<dyn Bytes>>;

    /// Whether a regular file stands at a path.
    fn is_file(&self, path: &AbsPath, caller: &Caller) -> Result<bool>;

    /// Lists the files beneath a folder that match a pattern. A folder that does not exist has
    /// none.
    fn list(&self, request: &ListRequest<'_>, caller: &Caller) -> Result<Listing>;
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
    fn at(&self, revision: &str, path: &str, caller: &Caller) -> Result<AtRevision>;
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

/// A place whose files can be changed.
pub trait WriteStore: Store {
    /// Takes hold of the file at `path`, or of the place where one may be created. Checks roots
    /// and permissions; whether a file stands there is for [`Held::read`] to say.
    fn hold<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<Box<dyn Held + 'a>>;
}

/// What a file is held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To change it, or to create it in a folder that exists. Links are followed.
    Change,
    /// To create it, with its folders. Whatever has the name is in the way, also a link.
    Create,
    /// To remove it. A link goes itself, not what it leads to.
    Remove,
}

/// One file, held for a change. Dropping it lets go.
pub trait Held {
    /// The stored bytes, or `None` where no file stands. Refuses what is not a regular file.
    fn read(&mut self) -> Result<Option<Vec<u8>>>;

    /// Puts `after` in the place of `before`, which must be what [`Held::read`] gave. All or
    /// nothing, and only if the file still holds `before`.
    fn replace(&mut self, before: &[u8], after: &[u8]) -> Result<Written, WriteError>;

    /// Reads the lines that a change needs, where the file is too large to be held. `None` where
    /// it is not, or where all of it is needed: then [`Held::read`] reads it.
    fn excerpt(&mut self, _place: &Where<'_>) -> Result<Option<Excerpt>> {
        Ok(None)
    }

    /// The version that the file would have with `after` in the place of an excerpt.
    fn digest_with(&mut self, _excerpt: &Excerpt, _after: &str) -> Result<Digest> {
        unreachable!("whoever gives excerpts knows the file")
    }

    /// Puts `after` in the place of an excerpt, as [`Held::replace`] does with the whole. The
    /// excerpt must be what [`Held::excerpt`] gave, `digest` what [`Held::digest_with`] told.
    fn replace_excerpt(
        &mut self,
        _excerpt: &Excerpt,
        _after: &str,
        _digest: Digest,
    ) -> Result<Written, WriteError> {
        unreachable!("whoever gives excerpts can replace them")
    }

    /// Refuses a place where no file can be created, as far as that can be told without trying.
    fn check_creatable(&self) -> Result<()> {
        Ok(())
    }

    /// Creates the file, all or nothing, and only if none stands there.
    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError>;

    /// Removes the file, if it still holds `before`, which must be what [`Held::read`] gave.
    fn remove(&mut self, before: &[u8]) -> Result<Removed, WriteError>;
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The file.
    File,
    /// A link to it.
    Link,
}

/// Where a change is made.
#[derive(Debug, Clone)]
pub enum Where<'a> {
    /// Wherever these strings stand.
    Strings(Vec<&'a str>),
    /// In these lines.
    Lines(Interval),
    /// Before this line.
    Line(i64),
    /// Behind the last line.
    End,
}

/// Lines of a file that is too large to be held.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// The lines, everything that a change needs among them.
    pub text: String,
    /// Where they start in the file.
    pub start: u64,
    /// How many lines stand before them.
    pub lines_before: usize,
    /// How many lines follow.
    pub lines_after: usize,
    /// How many bytes the file has.
    pub n_bytes: u64,
    /// The version of the file.
    pub digest: Digest,
    /// Whether it begins and ends where lines do, as it does unless they are very long.
    pub is_whole_lines: bool,
    /// The string that stands too far from those before it to be in these lines, and what is to
    /// be said about it.
    pub far: Option<(usize, Error)>,
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

impl VersionedPage {
    /// The page of a document that is at hand.
    pub fn of(document: &Document, window: Window) -> VersionedPage {
        VersionedPage { page: window.page(document.text()), digest: document.digest() }
    }
}

impl VersionedHits {
    /// What a document that is at hand holds.
    pub fn of(document: &Document, search: &Search<'_>) -> VersionedHits {
        VersionedHits { hits: search.hits(document.text()), digest: document.digest() }
    }
}

/// What a write brought about, beyond the new content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The file had other names, which keep the old content.
    pub broke_hard_links: bool,
    /// What stands there now, where that is not what was written: an editor may format on saving.
    pub stands: Option<Vec<u8>>,
}

/// Why a write did not happen.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteError {
    /// The file is no longer what was read. Nothing was changed.
    Moved,
    /// Anything else.
    Failed(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> WriteError {
        WriteError::Failed(error)
    }
}

/// Reads bytes as text, or refuses them in the words of a read.
pub fn text_of(path: &AbsPath, bytes: Vec<u8>) -> Result<Document> {
    Document::parse(bytes).map_err(|bytes| Error::BinaryFile {
        verb: "read",
        path: path.to_string(),
        hash: Some(Digest::of(&bytes)),
    })
}
