//! The write protocol as types: a file is held, then read, then replaced.

use std::sync::Arc;

use recto_text::line::Ending;
use recto_text::line_range::Interval;
use recto_text::plan::Replacement;
use recto_text::{Digest, Document, Tag};

use crate::context::Cancelled;
use crate::path::AbsPath;
use crate::{Bytes, Context, Error, FileStep, Result, StepError, Store, Transaction};

/// A store whose files can be changed.
///
/// Holding a file, reading it and replacing it are steps: each returns the value that has the
/// methods of the next. Only the last step changes anything. Dropping a value releases the file.
pub trait WriteStore: Store {
    /// Locks a file to change it, or a path in an existing directory to create it. Follows links.
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>>;

    /// Locks a path to create a new file, and creates missing directories. Fails if anything exists
    /// at the path, including a link.
    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>>;

    /// Locks a file to remove it. Removes a symbolic link itself, not its target.
    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>>;

    /// Checks changes of several files that are to be made together. Changes nothing yet. Fails with
    /// the first error of every step that has one.
    fn transaction<'a>(
        &'a self,
        steps: &'a [FileStep<'a>],
        context: &'a Context,
    ) -> Result<Box<dyn Transaction + 'a>, Vec<StepError>>;

    /// Opens a file as it is stored. Fails if an editor has text of it that is not saved.
    fn open_stored(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        self.open(path, context)
    }

    /// Completes or rolls back transactions of killed processes.
    fn recover(&self) {}
}

/// A path that no other recto process changes while it is held.
pub enum Hold<'a> {
    /// No file exists there.
    Vacant(Box<dyn Slot + 'a>),
    /// A file exists there.
    File(Box<dyn HeldFile<'a> + 'a>),
}

/// A locked path at which a file can be created.
pub trait Slot {
    /// Rejects a path at which creating a file would fail, if that is known in advance.
    fn check(&self) -> Result<()>;

    /// Creates a text file, all or nothing, and only if none exists.
    fn create_text(self: Box<Self>, text: &Document) -> Result<Written, WriteError<'static>> {
        self.create_bytes(text.bytes())
    }

    /// Creates a binary file. It is never passed to an editor, even if its bytes are text.
    fn create_bytes(self: Box<Self>, bytes: &[u8]) -> Result<Written, WriteError<'static>>;
}

/// A file, held but not read.
pub trait HeldFile<'a> {
    /// Reads the whole file. Rejects anything that is not a regular file.
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>>;

    /// Reads the whole file, or only the part around `place` if it is too large.
    fn snapshot(self: Box<Self>, _place: &Where<'_>) -> Result<Snapshot<'a>, WriteError<'a>> {
        self.whole().map(Snapshot::Whole)
    }
}

/// The part of a held file that was read.
pub enum Snapshot<'a> {
    /// The whole file.
    Whole(Whole<'a>),
    /// Some lines of a text file that is too large to read whole.
    Excerpt(ExcerptSnapshot<'a>),
}

/// A file that was read and can be replaced.
pub struct Whole<'a> {
    content: FileContent,
    target: Box<dyn Replace<'a> + 'a>,
}

/// The content of a file.
pub enum FileContent {
    /// Text, shared with the code that reports the change.
    Text(Arc<Document>),
    /// Bytes that are not text.
    Binary(Vec<u8>),
}

/// An excerpt that was read and can be replaced.
pub struct ExcerptSnapshot<'a> {
    excerpt: Box<Excerpt>,
    target: Box<dyn ReplaceExcerpt + 'a>,
}

/// How a store replaces a file that it read.
pub trait Replace<'a> {
    /// Atomically replaces `before`, the bytes that were read, with `after`. Fails if they changed.
    fn replace(self: Box<Self>, before: &[u8], after: &[u8]) -> Result<Written, WriteError<'a>>;
}

/// How a store replaces an excerpt that it read.
pub trait ReplaceExcerpt {
    /// Returns the version that the file would have if `after` replaced the excerpt.
    fn digest_with(&self, excerpt: &Excerpt, after: &str) -> Result<Digest>;

    /// Replaces the excerpt with `after`; `digest` is the resulting version.
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

    /// Replaces the file, if it did not change since the read.
    pub fn replace(self, after: &Document) -> Result<Written, WriteError<'a>> {
        self.replace_bytes(after.bytes())
    }

    /// The same with bytes that need not be text.
    pub fn replace_bytes(self, after: &[u8]) -> Result<Written, WriteError<'a>> {
        self.target.replace(self.content.bytes(), after)
    }
}

impl FileContent {
    /// Returns the bytes as stored.
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
        ExcerptSnapshot { excerpt: excerpt.into(), target }
    }

    /// Returns the lines.
    pub fn excerpt(&self) -> &Excerpt {
        &self.excerpt
    }

    /// Returns the version that the file would have if `after` replaced the excerpt.
    pub fn digest_with(&self, after: &str) -> Result<Digest> {
        self.target.digest_with(&self.excerpt, after)
    }

    /// Replaces the excerpt, if the file did not change since the read. `digest` is the resulting
    /// version, from [`ExcerptSnapshot::digest_with`].
    pub fn replace(self, after: &str, digest: Digest) -> Result<Written, WriteError<'static>> {
        self.target.replace(&self.excerpt, after, digest)
    }
}

/// A file that was read and can be removed.
pub struct Removal<'a> {
    content: RemovedContent,
    target: Box<dyn Remove<'a> + 'a>,
}

/// The content of a file that is removed.
pub enum RemovedContent {
    /// All bytes.
    Bytes(Vec<u8>),
    /// The version of a file that is too large to keep its bytes.
    Digest(Digest),
}

impl RemovedContent {
    /// Returns the version.
    pub fn digest(&self) -> Digest {
        match self {
            RemovedContent::Bytes(bytes) => Digest::of(bytes),
            RemovedContent::Digest(digest) => *digest,
        }
    }

    /// Returns the tag of the version.
    pub fn tag(&self) -> Tag {
        match self {
            RemovedContent::Bytes(bytes) => Tag::of(bytes),
            RemovedContent::Digest(digest) => digest.tag(),
        }
    }

    /// Returns the bytes, unless the file is too large.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            RemovedContent::Bytes(bytes) => Some(bytes),
            RemovedContent::Digest(_) => None,
        }
    }
}

/// How a store removes a file that it read.
pub trait Remove<'a> {
    /// Removes the file, if it still has the content that was read.
    fn remove(self: Box<Self>, before: &RemovedContent) -> Result<Removed, WriteError<'a>>;
}

impl<'a> Removal<'a> {
    /// Pairs the bytes with the file they were read from.
    pub fn new(bytes: Vec<u8>, target: Box<dyn Remove<'a> + 'a>) -> Removal<'a> {
        Removal { content: RemovedContent::Bytes(bytes), target }
    }

    /// Pairs the version of a large file with the file.
    pub fn of_large(digest: Digest, target: Box<dyn Remove<'a> + 'a>) -> Removal<'a> {
        Removal { content: RemovedContent::Digest(digest), target }
    }

    /// Returns the content.
    pub fn content(&self) -> &RemovedContent {
        &self.content
    }

    /// Releases the file and returns its content.
    pub fn into_content(self) -> RemovedContent {
        self.content
    }

    /// Removes the file, if it did not change since the read, and returns its content.
    pub fn remove(self) -> Result<(RemovedContent, Removed), WriteError<'a>> {
        let removed = self.target.remove(&self.content)?;
        Ok((self.content, removed))
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

/// The location of a change in a file.
#[derive(Debug, Clone)]
pub enum Where<'a> {
    /// The occurrences of the strings to replace.
    Strings(&'a [Replacement]),
    /// These lines.
    Lines(Interval),
    /// Before this line.
    Line(i64),
    /// After the last line.
    End,
}

/// Lines of a file that is too large to read whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// The lines, as UTF-8, including all that a change needs.
    pub lines: Document,
    /// Their byte offset in the file.
    pub start: u64,
    /// How many lines precede them.
    pub lines_before: usize,
    /// How many lines follow.
    pub lines_after: usize,
    /// Whether its first line starts before it, and its last line ends after it, because they are
    /// very long.
    pub is_cut: [bool; 2],
    /// The ending of every line of the file, if the excerpt is inside a line and lacks it.
    pub ending: Option<Ending>,
    /// Whether a line of the file ends with CRLF.
    pub has_crlf: bool,
    /// The size of the file.
    pub n_bytes: u64,
    /// The version of the file.
    pub digest: Digest,
    /// The index of the first string that is too far from the others to be in the excerpt, and the
    /// error for it.
    pub far: Option<(usize, recto_text::Error)>,
}

/// The effects of a write beyond the new content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The file had other hard links, which keep the old content.
    pub broke_hard_links: bool,
    /// The content after the write, if it is not what was written: an editor may format on save.
    pub content_after: Option<Vec<u8>>,
}

/// The reason why a write did not happen. Nothing was changed.
#[derive(Clone)]
pub enum WriteError<'a> {
    /// The file changed since it was read.
    Conflict,
    /// The editor is gone; start again with the file on disk.
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
