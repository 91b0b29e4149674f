//! Notes that a store adds to an answer. The tools word them.

use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// A fact that the answer should mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The text is from the editor, which has unsaved changes.
    Unsaved,
    /// The text is from disk, although the editor has unsaved changes.
    WithoutUnsaved,
    /// Many files were searched on disk, not in the editor.
    SearchedOnDisk,
    /// Files that exist only in the editor are not listed.
    UnsavedNotListed,
    /// The text is from disk, because it is too large to exchange with an editor.
    TooLargeForEditor,
    /// The text is from disk, because the editor does not know the file's encoding.
    EncodingUnknownToEditor,
    /// The editor accepted a text that could not be read back.
    NotReadBack,
    /// The editor changed the text while saving it.
    ChangedOnSave,
    /// Only the start of very long lines was searched with a regular expression.
    LongLinesCut,
    /// The file grew while it was read.
    Grew,
    /// The file at a revision is a symbolic link, and the text is its target.
    LinkTarget,
    /// The bytes from a revision are a pointer of Git LFS.
    LfsPointer,
    /// A checkout would filter the bytes from a revision.
    FilteredOnCheckout,
    /// A checkout would write the text from a revision with CRLF.
    CrlfOnCheckout,
    /// The file is executable at the revision, but not on disk.
    NotExecutable,
    /// The file lost its setuid or setgid bit.
    LostSetId,
    /// The file lost its capabilities.
    LostCapabilities,
    /// The file lost inode flags.
    LostFlags,
    /// The change was made, but is not in the journal.
    NotRecorded,
}

/// The notes of one call, each at most once, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// Adds a note.
    pub fn add(&self, note: Note) {
        self.set(note, true);
    }

    /// Adds a note or removes it.
    pub fn set(&self, note: Note, holds: bool) {
        let mut notes = lock(&self.0);
        match notes.iter().position(|known| *known == note) {
            Some(index) if !holds => drop(notes.remove(index)),
            None if holds => notes.push(note),
            _ => {}
        }
    }

    /// Removes and returns all notes.
    pub fn take(&self) -> Vec<Note> {
        std::mem::take(&mut lock(&self.0))
    }
}
