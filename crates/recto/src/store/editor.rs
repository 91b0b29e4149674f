//! Files as an editor has them: text that may not be saved yet.

use std::path::Path;

use crate::caller::Caller;

/// An editor that a person has open. Paths are absolute and were checked against the roots.
pub trait Editor: Send + Sync {
    /// Whether it hands out the text of files.
    fn can_read(&self) -> bool;

    /// Whether it takes the text of files.
    fn can_write(&self) -> bool;

    /// The text of a file as the person sees it, saved or not.
    fn read(&self, path: &Path, caller: &Caller) -> Result<String, EditorError>;

    /// Gives a file a new text. Waits as long as it takes, for a person may be asked.
    fn write(&self, path: &Path, text: &str, caller: &Caller) -> Result<(), EditorError>;
}

/// Why an editor did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorError {
    /// It never learned of the request: it is gone, and nothing has happened.
    NotSent,
    /// It was sent the request and never answered: whatever was asked may or may not have happened.
    Unanswered,
    /// It does not know the method.
    Unsupported,
    /// It does not know the file.
    NoSuchFile,
    /// It, or the person, says no.
    Refused {
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
    },
    /// The call was taken back before the request was sent, or while a read was awaited.
    Cancelled,
}
