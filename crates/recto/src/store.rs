//! Places for files: what one can do, whoever keeps the bytes.
//!
//! Reading and changing are two traits, so that a place that cannot be written (a git revision)
//! has no method for it. A change holds one file from its read to its write: nobody else who
//! uses recto changes it in between, and what others change is noticed at the write.

use recto_text::window::{Page, Window};
use recto_text::{Digest, Document, Error, Result};

use crate::caller::Caller;
use crate::path::AbsPath;

pub mod local;

pub mod memory;

pub use local::LocalStore;
pub use memory::MemoryStore;

/// A place that text can be read from.
pub trait Store: Send + Sync {
    /// Reads a whole text file, or `None` where it is too large to be held; then there are pages.
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>>;

    /// Reads a page of a text file. Memory is bounded by the window, not by the file.
    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage>;
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

    /// Creates the file, all or nothing, and only if none stands there.
    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError>;

    /// Removes the file, if it still holds `before`, which must be what [`Held::read`] gave.
    fn remove(&mut self, before: &[u8]) -> Result<(), WriteError>;
}

/// A page and the version of the whole file that it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedPage {
    /// The lines.
    pub page: Page,
    /// The version.
    pub digest: Digest,
}

/// What a write brought about, beyond the new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// The file had other names, which keep the old content.
    pub broke_hard_links: bool,
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
