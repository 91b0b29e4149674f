//! The interface to an editor, whose buffers may contain unsaved text.

use std::path::Path;

use crate::context::Context;

/// A running editor. Paths are absolute and were checked against the roots.
pub trait Editor: Send + Sync {
    /// Whether it can return the text of files.
    fn can_read(&self) -> bool;

    /// Whether it can replace the text of files.
    fn can_write(&self) -> bool;

    /// Returns the text of a file as the user sees it, saved or not.
    fn read(&self, path: &Path, context: &Context) -> Result<String, EditorError>;

    /// Replaces the text of a file, if it still has the old text, and reads the result. Waits
    /// without a timeout, because the editor may ask the user.
    ///
    /// This is one operation, so that the editor's side can run it without interruption: text that
    /// the user types after the comparison is lost.
    fn write(
        &self,
        path: &Path,
        write: &EditorWrite<'_>,
        context: &Context,
    ) -> Result<EditorOutcome, EditorError>;
}

/// A request to replace the text of a file.
#[derive(Debug, Clone, Copy)]
pub struct EditorWrite<'a> {
    /// The expected current text; `None` for a new file, of which the editor must have no text.
    pub before: Option<&'a str>,
    /// The new text.
    pub after: &'a str,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorOutcome {
    /// The editor accepted the text.
    Written {
        /// The text after the write, possibly formatted; `None` if it could not be read.
        text_after: Option<String>,
    },
    /// The file has another text or does not exist, and nothing was written.
    Conflict,
}

/// The reason why a request to an editor failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorError {
    /// The request was not sent, or the editor disconnected before it received the new text.
    /// Nothing was changed.
    NotSent,
    /// The request was sent but never answered: the outcome is unknown.
    Unanswered,
    /// A connected editor did not answer a read in time. Nothing was changed.
    Silent,
    /// The editor does not support the method.
    Unsupported,
    /// The editor does not know the file.
    NoSuchFile,
    /// The editor or its user rejected the request.
    Refused {
        /// The error code.
        code: i64,
        /// The error message.
        message: String,
    },
    /// The call was cancelled before the request was sent, or during a read.
    Cancelled,
}
