//! The interface to a journal that records every change of a store.
//!
//! A store records what it is about to change, makes the change, and records the outcome. It does not
//! know how the records are kept. A change that cannot be recorded is made all the same, with a note,
//! unless every change must be recorded.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Denial, Error};
use crate::path::AbsPath;
use crate::{Context, Note, WriteError};

/// Keeps records of changes.
pub trait Recorder: Send + Sync {
    /// Records a change before it is made. The record survives a power failure.
    fn intend(&self, change: &RecordedChange<'_>, origin: &Origin) -> Result<Ticket, NotRecorded>;

    /// Records the outcome. A change without an outcome is judged later by what is in the file.
    fn settle(&self, ticket: Ticket, outcome: Outcome<'_>);
}

/// Identifies the record of a change that has no outcome yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(pub u64);

/// Why a change was not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRecorded {
    /// The cause, for a user.
    pub cause: String,
}

/// A change that is about to be made.
pub struct RecordedChange<'a> {
    /// The canonical path of the file.
    pub path: &'a Path,
    /// The canonical path of the root that contains it.
    pub root: &'a Path,
    /// The bytes that change.
    pub content: ChangedBytes<'a>,
    /// The metadata of the file that is replaced or removed.
    pub metadata: Option<RecordedMetadata>,
    /// Whether an editor makes the change in its buffer.
    pub is_in_editor: bool,
    /// Whether no other recto process can be changing the file.
    pub is_exclusive: bool,
}

/// The bytes that a change replaces.
pub enum ChangedBytes<'a> {
    /// The whole content. `None` if the file does not exist.
    Whole {
        /// The content before.
        before: Option<&'a [u8]>,
        /// The content after.
        after: Option<&'a [u8]>,
    },
    /// A range of a file that is too large to read whole.
    Range {
        /// The offset of the range.
        start: u64,
        /// The bytes of the range before.
        before: &'a [u8],
        /// The bytes of the range after.
        after: &'a [u8],
        /// Visits the whole content before and after.
        whole: [&'a dyn VisitBytes; 2],
    },
    /// A file that is removed and too large to read whole.
    Large {
        /// Visits its content.
        whole: &'a dyn VisitBytes,
    },
    /// A symbolic link that is removed.
    Link {
        /// Its target.
        target: PathBuf,
    },
}

/// Content that is read in pieces.
pub trait VisitBytes {
    /// Visits all bytes in order. Returns `false` if they cannot be read.
    fn visit(&self, visit: &mut dyn FnMut(&[u8])) -> bool;
}

/// The metadata of a file that a change replaces or removes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedMetadata {
    /// The permissions.
    pub mode: u32,
    /// The owner and the group.
    pub owner: (u32, u32),
    /// The extended attributes of a removed file, with its access lists.
    pub attributes: Vec<(CString, Vec<u8>)>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It was made.
    Done {
        /// The content, if it is not what was intended: an editor may format on save.
        content_after: Option<&'a [u8]>,
    },
    /// It was not made.
    NotDone,
    /// It may have been made.
    Unknown,
}

/// Who asked for a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The name and version that the client reports.
    pub client: Option<(String, String)>,
    /// The id that the client gave the call.
    pub call: Option<String>,
    /// The recorded changes, each with the number of one of its hunks, that this change undoes.
    pub undoes: Vec<(u64, u32)>,
}

/// Whether and where a store records its changes.
#[derive(Clone, Default)]
pub struct Recording {
    recorder: Option<Arc<dyn Recorder>>,
    is_required: bool,
}

/// A change that was recorded, or need not be.
#[must_use]
pub struct Intent<'a>(Option<(&'a dyn Recorder, Ticket)>);

impl Recording {
    /// Records changes with a recorder. If `is_required`, a change that cannot be recorded is
    /// rejected.
    pub fn new(recorder: Arc<dyn Recorder>, is_required: bool) -> Recording {
        Recording { recorder: Some(recorder), is_required }
    }

    /// Records a change. `describe` is called only if changes are recorded.
    pub fn intend<'a, 'b>(
        &'a self,
        path: &AbsPath,
        context: &Context,
        describe: impl FnOnce() -> RecordedChange<'b>,
    ) -> Result<Intent<'a>, Error> {
        let Some(recorder) = self.recorder.as_deref() else { return Ok(Intent(None)) };
        match recorder.intend(&describe(), &context.origin) {
            Ok(ticket) => Ok(Intent(Some((recorder, ticket)))),
            Err(NotRecorded { cause }) if self.is_required => {
                let (path, reason) = (path.to_string(), Denial::NotRecorded { cause });
                Err(Error::PermissionDenied { path, reason })
            }
            Err(_) => {
                context.notes.add(Note::NotRecorded);
                Ok(Intent(None))
            }
        }
    }
}

impl Intent<'_> {
    /// Records the outcome.
    pub fn settle(self, outcome: Outcome<'_>) {
        if let Some((recorder, ticket)) = self.0 {
            recorder.settle(ticket, outcome);
        }
    }

    /// Records the outcome of a write.
    pub fn settle_with<T>(self, result: &Result<T, WriteError<'_>>) {
        self.settle(match result {
            Ok(_) => Outcome::Done { content_after: None },
            Err(error) => error.outcome(),
        });
    }
}

impl WriteError<'_> {
    /// Returns what became of the change.
    pub fn outcome(&self) -> Outcome<'static> {
        match self {
            WriteError::Failed(Error::NotDurable { .. }) => Outcome::Unknown,
            WriteError::Failed(_) | WriteError::Conflict | WriteError::Restart(_) => {
                Outcome::NotDone
            }
        }
    }
}
