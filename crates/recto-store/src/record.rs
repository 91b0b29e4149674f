//! The interface to a journal that records every change of a store.
//!
//! A store records what it is about to change, makes the change, and records the outcome. It does not
//! know how the records are kept. A change that cannot be recorded is made all the same, with a note,
//! unless every change must be recorded.

use std::ffi::{CString, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_platform::SecondThread;

use crate::error::{Denial, Error};
use crate::path::AbsPath;
use crate::{Context, Note, WriteError};

/// Records changes. Calls that run at the same time use other cores anyway, so one thread is enough.
static RECORDING: SecondThread = SecondThread::new("recto-record");

/// Keeps records of changes.
pub trait Recorder: Send + Sync {
    /// Records a change before it is made. The record of a durable change survives a power failure.
    fn intend(&self, change: &RecordedChange<'_>, origin: &Origin) -> Result<Ticket, NotRecorded>;

    /// Records the outcome. A change without an outcome is judged later by what is in the file.
    fn settle(&self, ticket: Ticket, outcome: Outcome<'_>);

    /// Records changes that are made together, before they are made. The record survives a power
    /// failure.
    fn intend_all(&self, _: &RecordedTransaction<'_>, _: &Origin) -> Result<Ticket, NotRecorded> {
        Err(NotRecorded { cause: "it does not record transactions".into() })
    }

    /// Records what became of a transaction. That all its changes were made survives a power failure.
    fn settle_all(&self, _: Ticket, _: TransactionState) -> Result<(), NotRecorded> {
        Ok(())
    }

    /// Returns the transactions of killed processes that are not finished. Transactions of running
    /// processes may be among them, which have locked their directories.
    fn unfinished(&self) -> Vec<UnfinishedTransaction> {
        Vec::new()
    }

    /// Returns the state of a transaction, unless it is finished.
    fn state(&self, _: Ticket) -> Option<TransactionState> {
        None
    }

    /// Returns the digest by which contents are recorded. `None` if they cannot be read.
    fn digest(&self, _: &dyn VisitBytes) -> Option<Vec<u8>> {
        None
    }
}

/// Changes that are about to be made together.
pub struct RecordedTransaction<'a> {
    /// A part of the names of its temporary files: see [`temporary_name`].
    pub token: &'a str,
    /// The changes.
    pub steps: Vec<RecordedStep<'a>>,
    /// The directories that are created, outermost first.
    pub new_dirs: &'a [PathBuf],
}

/// One change of a transaction.
pub struct RecordedStep<'a> {
    /// The change of the content, which may be none if the file is moved.
    pub change: RecordedChange<'a>,
    /// The canonical path to which the file is moved.
    pub moved_to: Option<&'a Path>,
    /// The recorded changes, each with the number of one of its hunks, that this change undoes.
    pub undoes: &'a [(u64, u32)],
}

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionState {
    /// Some of its changes may have been made.
    Intended,
    /// All changes were made. Temporary files may be left.
    Done,
    /// All changes were made, and no temporary file is left.
    Finished,
    /// No change was made, or all were undone.
    NotDone,
    /// Another program changed a file, so that it is unknown what was made.
    Uncertain,
}

/// A transaction whose process was killed.
#[derive(Debug, Clone)]
pub struct UnfinishedTransaction {
    /// Identifies its record.
    pub ticket: Ticket,
    /// A part of the names of its temporary files.
    pub token: String,
    /// Its changes, in order.
    pub steps: Vec<UnfinishedStep>,
    /// The directories that it may have created, outermost first.
    pub new_dirs: Vec<PathBuf>,
}

/// One change of an unfinished transaction.
#[derive(Debug, Clone)]
pub struct UnfinishedStep {
    /// The file.
    pub path: PathBuf,
    /// The path to which it is moved.
    pub moved_to: Option<PathBuf>,
    /// The digests of its content before and after.
    pub digests: [Option<Vec<u8>>; 2],
}

/// Returns the name of the temporary file of a step of a transaction: the new content before the
/// change, the old one after it. Steps without effect do not count. Leftover cleaning does not touch
/// these files.
pub fn temporary_name(token: &str, step: usize) -> OsString {
    format!(".recto-tx-{token}-{step}").into()
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

impl NotRecorded {
    /// Returns the error for changes that are not made together without a record.
    pub fn into_error(self, path: &AbsPath) -> Error {
        let cause = format!("the journal cannot record it: {}", self.cause);
        Error::NotTogether { path: path.to_string(), cause }
    }
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
    /// Whether the change waits for the disk, so that its record must too.
    pub is_durable: bool,
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
    /// A symbolic link that is created or removed.
    Link {
        /// Its target before.
        before: Option<&'a [u8]>,
        /// Its target after.
        after: Option<&'a [u8]>,
    },
}

/// Content that is read in pieces.
pub trait VisitBytes: Sync {
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
    /// The session to which the change belongs.
    pub session: OriginSession,
    /// The id that the client gave the call.
    pub call: Option<String>,
    /// The turn in which the call was made, if turns are recorded.
    pub turn: Turn,
    /// The recorded changes, each with the number of one of its hunks, that this change undoes.
    pub undoes: Vec<(u64, u32)>,
}

/// What a conversation was about when a change was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// The model.
    pub model: Option<String>,
    /// The first line of what the user asked for.
    pub title: Option<String>,
}

/// The session to which a change belongs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OriginSession {
    /// The session of the process, which serves one client.
    #[default]
    OfProcess,
    /// One of the sessions that the process serves.
    Named(String),
    /// A request without a session.
    Unknown,
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
        self.intended(recorder, recorder.intend(&describe(), &context.origin), path, context)
    }

    /// Records a change while `prepare` prepares it. Both wait for the disk, so another thread
    /// records.
    pub fn intend_while<'a, 'b, T>(
        &'a self,
        path: &AbsPath,
        context: &Context,
        describe: impl FnOnce() -> RecordedChange<'b>,
        prepare: impl FnOnce() -> T,
    ) -> (Result<Intent<'a>, Error>, T) {
        let Some(recorder) = self.recorder.as_deref() else {
            return (Ok(Intent(None)), prepare());
        };
        let change = describe();
        let record = || recorder.intend(&change, &context.origin);
        let (recorded, prepared) = RECORDING.run(record, prepare);
        (self.intended(recorder, recorded, path, context), prepared)
    }

    fn intended<'a>(
        &self,
        recorder: &'a dyn Recorder,
        recorded: Result<Ticket, NotRecorded>,
        path: &AbsPath,
        context: &Context,
    ) -> Result<Intent<'a>, Error> {
        match recorded {
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

/// A transaction that was recorded, or need not be.
#[must_use]
pub struct TransactionIntent<'a>(Option<(&'a dyn Recorder, Ticket)>);

impl Recording {
    /// Records a transaction. Fails if it cannot be recorded, unless it `is_atomic` without that.
    pub fn intend_all<'a, 'b>(
        &'a self,
        path: &AbsPath,
        context: &Context,
        is_atomic: bool,
        describe: impl FnOnce() -> RecordedTransaction<'b>,
    ) -> Result<TransactionIntent<'a>, Error> {
        let recorded = match self.recorder.as_deref() {
            None => Err(NotRecorded { cause: "there is no journal".into() }),
            Some(recorder) => {
                let ticket = recorder.intend_all(&describe(), &context.origin);
                ticket.map(|ticket| TransactionIntent(Some((recorder, ticket))))
            }
        };
        match recorded {
            Ok(intent) => Ok(intent),
            Err(_) if is_atomic && !self.is_required => {
                if self.recorder.is_some() {
                    context.notes.add(Note::NotRecorded);
                }
                Ok(TransactionIntent(None))
            }
            Err(not_recorded) => Err(not_recorded.into_error(path)),
        }
    }

    /// Returns the recorder of transactions that may be unfinished.
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.recorder.as_deref()
    }
}

impl TransactionIntent<'_> {
    /// Records what became of the transaction.
    pub fn settle(&self, state: TransactionState) -> Result<(), NotRecorded> {
        match self.0 {
            Some((recorder, ticket)) => recorder.settle_all(ticket, state),
            None => Ok(()),
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
