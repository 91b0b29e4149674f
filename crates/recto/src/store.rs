//! Places for files: what one can do, whoever keeps the bytes.
//!
//! Reading and changing are two traits, so that a place that cannot be written (a git revision)
//! has no method for it. A change holds one file from its read to its write: nobody else who
//! uses recto changes it in between, and what others change is noticed at the write.

use recto_text::window::{Page, Window};
use recto_text::{Digest, Error, Result};

use crate::caller::Caller;
use crate::path::AbsPath;

pub mod local;

pub mod memory;

pub use local::LocalStore;
pub use memory::MemoryStore;

/// A place that text can be read from.
pub trait Store: Send + Sync {
    /// Reads a page of a text file. Memory is bounded by the window, not by the file.
    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage>;
}

/// A place whose files can be changed.
pub trait WriteStore: Store {
    /// Takes hold of the file at `path`, or of the place where one may be created. Checks roots
    /// and permissions; whether a file stands there is for [`Held::read`] to say.
    fn hold<'a>(&'a self, path: &AbsPath, caller: &'a Caller) -> Result<Box<dyn Held + 'a>>;
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

/// Reads a page of a file that is at hand as a whole.
pub fn page_of(path: &AbsPath, bytes: Vec<u8>, window: Window) -> Result<VersionedPage> {
    match recto_text::Document::parse(bytes) {
        Ok(document) => {
            Ok(VersionedPage { page: window.page(document.text()), digest: document.digest() })
        }
        Err(bytes) => Err(Error::BinaryFile {
            verb: "read",
            path: path.to_string(),
            hash: Some(Digest::of(&bytes)),
        }),
    }
}
