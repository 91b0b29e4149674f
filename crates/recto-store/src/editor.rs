//! Files as an editor has them: text that may not be saved yet.

use std::path::Path;

use crate::context::Context;

/// An editor that a person has open. Paths are absolute and were checked against the roots.
pub trait Editor: Send + Sync {
    /// Whether it hands out the text of files.
    fn can_read(&self) -> bool;

    /// Whether it takes the text of files.
    fn can_write(&self) -> bool;

    /// The text of a file as the person sees it, saved or not.
    fn read(&self, path: &Path, context: &Context) -> Result<String, EditorError>;

    /// Gives a file a new text, if it has the old one still, and reads what then stands there.
    /// Waits as long as it takes, for a person may be asked.
    ///
    /// All of this in one, so that the editor's end can do it with nothing in between: whatever the
    /// person types after the old text was compared is lost.
    fn write(
        &self,
        path: &Path,
        write: &EditorWrite<'_>,
        context: &Context,
    ) -> Result<EditorOutcome, EditorError>;
}

/// What a file is to become.
#[derive(Debug, Clone, Copy)]
pub struct EditorWrite<'a> {
    /// The text that must still be there. `None` where there is no file yet.
    pub before: Option<&'a str>,
    /// The new one.
    pub after: &'a str,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorOutcome {
    /// The editor took it.
    Written {
        /// The text that stood there then, for editors format; `None` where it was not to be had.
        text_after: Option<String>,
    },
    /// Another text is there, or none, and nothing was written.
    Conflict,
}

/// Why an editor did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorError {
    /// Nothing has happened: it never learned of the request, or is gone and was not given the new
    /// text.
    NotSent,
    /// It was sent the request and never answered: whatever was asked may or may not have happened.
    Unanswered,
    /// It was asked what it has and does not answer, though it is there. Nothing has happened.
    Silent,
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
