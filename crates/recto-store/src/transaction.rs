//! Changes of several files that are made together: all or none.

use crate::path::AbsPath;
use crate::record::RecordedMetadata;
use crate::{WriteError, Written};

/// The change of one file in a transaction. The caller has read the file; the transaction fails if
/// the content is not the same any more.
#[derive(Debug, Clone, Copy)]
pub struct FileStep<'a> {
    /// The file.
    pub path: &'a AbsPath,
    /// Its content; `None` creates the file.
    pub before: Option<&'a [u8]>,
    /// Its new content; `None` removes the file.
    pub after: Option<&'a [u8]>,
    /// The path to which it is moved, which must be free.
    pub move_to: Option<&'a AbsPath>,
    /// Whether it is a symbolic link, which is created or removed. The contents are its target.
    pub is_link: bool,
    /// The metadata that the file had when it was removed, if it is created again.
    pub metadata: Option<&'a RecordedMetadata>,
    /// The recorded changes, each with the number of one of its hunks, that this change undoes.
    pub undoes: &'a [(u64, u32)],
}

impl FileStep<'_> {
    /// Returns whether it changes anything.
    pub fn has_effect(&self) -> bool {
        self.is_link || self.move_to.is_some() || self.before != self.after
    }
}

/// Why one step prevents a transaction.
#[derive(Clone)]
pub struct StepError {
    /// The index of the step.
    pub step: usize,
    /// The reason.
    pub cause: WriteError<'static>,
}

/// A transaction that was checked and can be made.
pub trait Transaction {
    /// Makes all changes. If it fails, none of them was made, unless an error says otherwise.
    fn commit(self: Box<Self>) -> Result<Vec<Written>, Vec<StepError>>;
}
