//! Changes as states: a file is held, then read, then replaced.

use std::sync::Arc;

use recto_text::line_range::Interval;
use recto_text::{Digest, Document};

use crate::context::Cancelled;
use crate::path::AbsPath;
use crate::{Context, Error, Result, Store};

/// A place whose files can be changed.
///
/// Holding a file, reading it and replacing it are states: each returns the value that has the
/// methods of the next. Nothing is changed before the last step, and dropping a value lets go.
pub trait WriteStore: Store {
    /// Takes hold of a file to change it, or of the place where one may be created in a directory
    /// that exists. Follows symbolic links.
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>>;

    /// Takes hold of the place for a new file, and creates its missing directories. Anything that
    /// has the name is in the way, also a link.
    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>>;

    /// Takes hold of a file to remove it. A symbolic link is removed itself, not its target.
    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>>;
}

/// A path that no other recto process changes while it is held.
pub enum Hold<'a> {
    /// No file exists there.
    Vacant(Box<dyn Slot + 'a>),
    /// A file exists there.
    File(Box<dyn HeldFile<'a> + 'a>),
}

/// The place of a new file.
pub trait Slot {
    /// Rejects a place where no file can be created, as far as that is known without trying.
    fn check(&self) -> Result<()>;

    /// Creates a text file, all or nothing, and only if none exists.
    fn create_text(self: Box<Self>, text: &Document) -> Result<Written, WriteError<'static>>;

    /// Creates a file that no editor shall take for text, whatever its bytes look like.
    fn create_bytes(self: Box<Self>, bytes: &[u8]) -> Result<Written, WriteError<'static>>;
}

/// A file, held but not read.
pub trait HeldFile<'a> {
    /// Reads all of it. Rejects whatever is not a regular file.
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>>;

    /// Reads all of it, or only the part around `place` where it is too large to be held.
    fn snapshot(self: Box<Self>, _place: &Where<'_>) -> Result<Snapshot<'a>, WriteError<'a>> {
        self.whole().map(Snapshot::Whole)
    }
}

/// A held file as far as it was read.
pub enum Snapshot<'a> {
    /// All of it.
    Whole(Whole<'a>),
    /// Some lines of a text file that is too large to be held.
    Excerpt(ExcerptSnapshot<'a>),
}

/// A file that was read and can be replaced.
pub struct Whole<'a> {
    content: FileContent,
    target: Box<dyn Replace<'a> + 'a>,
}

/// What a file contains.
pub enum FileContent {
    /// Text, shared with whoever shows the change.
    Text(Arc<Document>),
    /// Bytes that are not text.
    Binary(Vec<u8>),
}

/// An excerpt that was read and can be replaced.
pub struct ExcerptSnapshot<'a> {
    excerpt: Excerpt,
    target: Box<dyn ReplaceExcerpt + 'a>,
}

/// How a store replaces a file that it read.
pub trait Replace<'a> {
    /// Puts `after` in the place of `before`, the bytes that were read. All or nothing, and only if
    /// the file still contains `before`.
    fn replace(self: Box<Self>, before: &[u8], after: &[u8]) -> Result<Written, WriteError<'a>>;
}

/// How a store replaces an excerpt that it read.
pub trait ReplaceExcerpt {
    /// Returns the version that the file would have with `after` in the place of the excerpt.
    fn digest_with(&self, excerpt: &Excerpt, after: &str) -> Result<Digest>;

    /// Puts `after` in the place of the excerpt; `digest` is the version that results.
    fn replace(
        self: Box<Self>,
        excerpt: &Excerpt,
        after: &str,
        digest: Digest,
    ) -> Result<Written, WriteError<'static>>;
}

impl<'a> Whole<'a> {
    /// Pairs the bytes with the file they were read from.
    pub fn new(bytes: Vec<u8>, target: Box<dyn Replace<'a> + 'a>) -> Whole<'a> {
        let content = match Document::parse(bytes) {
            Ok(document) => FileContent::Text(Arc::new(document)),
            Err(bytes) => FileContent::Binary(bytes),
        };
        Whole { content, target }
    }

    /// Returns the content.
    pub fn content(&self) -> &FileContent {
        &self.content
    }

    /// Replaces the file, if it is still what was read.
    pub fn replace(self, after: &Document) -> Result<Written, WriteError<'a>> {
        self.target.replace(self.content.bytes(), after.bytes())
    }
}

impl FileContent {
    /// Returns the stored bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            FileContent::Text(document) => document.bytes(),
            FileContent::Binary(bytes) => bytes,
        }
    }

    /// Returns the text, if it is text.
    pub fn document(&self) -> Option<&Arc<Document>> {
        match self {
            FileContent::Text(document) => Some(document),
            FileContent::Binary(_) => None,
        }
    }
}

impl<'a> ExcerptSnapshot<'a> {
    /// Pairs an excerpt with the file it was read from.
    pub fn new(excerpt: Excerpt, target: Box<dyn ReplaceExcerpt + 'a>) -> ExcerptSnapshot<'a> {
        ExcerptSnapshot { excerpt, target }
    }

    /// Returns the lines.
    pub fn excerpt(&self) -> &Excerpt {
        &self.excerpt
    }

    /// Returns the version that the file would have with `after` in the place of the excerpt.
    pub fn digest_with(&self, after: &str) -> Result<Digest> {
        self.target.digest_with(&self.excerpt, after)
    }

    /// Replaces the excerpt, if the file is still what was read. `digest` is the version that
    /// results, from [`ExcerptSnapshot::digest_with`].
    pub fn replace(self, after: &str, digest: Digest) -> Result<Written, WriteError<'static>> {
        self.target.replace(&self.excerpt, after, digest)
    }
}

/// A file that was read and can be removed.
pub struct Removal<'a> {
    bytes: Vec<u8>,
    target: Box<dyn Remove<'a> + 'a>,
}

/// How a store removes a file that it read.
pub trait Remove<'a> {
    /// Removes the file, if it still contains `before`, the bytes that were read.
    fn remove(self: Box<Self>, before: &[u8]) -> Result<Removed, WriteError<'a>>;
}

impl<'a> Removal<'a> {
    /// Pairs the bytes with the file they were read from.
    pub fn new(bytes: Vec<u8>, target: Box<dyn Remove<'a> + 'a>) -> Removal<'a> {
        Removal { bytes, target }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Lets go of the file and keeps its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Removes the file, if it is still what was read, and returns its bytes.
    pub fn remove(self) -> Result<(Vec<u8>, Removed), WriteError<'a>> {
        let removed = self.target.remove(&self.bytes)?;
        Ok((self.bytes, removed))
    }
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
    /// The lines, everything that a change needs among them, as UTF-8.
    pub lines: Document,
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
    pub far: Option<(usize, recto_text::Error)>,
}

/// What a write brought about, beyond the new content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The file had other names, which keep the old content.
    pub broke_hard_links: bool,
    /// What stands there now, where that is not what was written: an editor may format on saving.
    pub content_after: Option<Vec<u8>>,
}

/// Why a write did not happen. Nothing was changed.
#[derive(Clone)]
pub enum WriteError<'a> {
    /// The file is no longer what was read.
    Conflict,
    /// The editor is gone: plan again on what is on disk.
    Restart(&'a dyn WriteStore),
    /// Anything else.
    Failed(Error),
}

impl From<Error> for WriteError<'_> {
    fn from(error: Error) -> Self {
        WriteError::Failed(error)
    }
}

impl From<Cancelled> for WriteError<'_> {
    fn from(_: Cancelled) -> Self {
        WriteError::Failed(Error::Cancelled)
    }
}
