//! A file of the editor that is held for a change: its directory is locked on disk; its text is
//! read, compared and written in the editor.
//!
//! A write is sent to the editor at most once. If it was not sent, the call starts again on disk;
//! if the editor does not answer, the call reports that the outcome is unknown.

use recto_text::Document;

use super::Workspace;
use super::unsaved::UnsavedState;
use super::view::{
    Buffer, MAX_BUFFER_BYTES, MAX_READS, RETRY_DELAY, View, denied, is_same_but_last_ending,
};
use crate::editor::{EditorError, EditorOutcome, EditorWrite};
use crate::error::{Error, Result};
use crate::local::editor_hold::{DiskContent, EditorHold, OnDisk};
use crate::path::AbsPath;
use crate::record::Outcome;
use crate::{
    Context, HeldFile, Note, Removal, Remove, Removed, RemovedContent, Replace, Slot, Whole,
    WriteError, Written,
};

/// A file, or the path of a new file, locked on disk.
pub struct WorkspaceHold<'a> {
    pub workspace: &'a Workspace,
    pub reserved: EditorHold<'a>,
    pub path: AbsPath,
    pub context: &'a Context,
}

/// A held file whose text was read from the editor.
struct BufferHold<'a> {
    held: WorkspaceHold<'a>,
    /// The state of the disk when the editor's text was read.
    seen: OnDisk,
    /// Whether the editor has unsaved changes.
    is_unsaved: bool,
}

impl<'a> WorkspaceHold<'a> {
    /// Whether the file exists only in the editor.
    pub fn is_new_in_editor(&self) -> Result<bool> {
        let on_disk = self.reserved.on_disk()?;
        let is_missing = on_disk.content == DiskContent::Missing;
        Ok(is_missing && self.workspace.unsaved.is_new(&on_disk.real_path))
    }

    /// Reads the file to remove it.
    pub fn into_removal(self) -> Result<Removal<'a>> {
        let on_disk = self.reserved.on_disk()?;
        match self.workspace.view(&self.path, &on_disk, self.context)? {
            View::Editor(buffer) => {
                let (text, opened) = self.opened(buffer, on_disk);
                Ok(Removal::new(text.into_bytes(), Box::new(opened)))
            }
            View::Disk => self.reserved.into_locked().into_removal(),
        }
    }

    fn opened(self, buffer: Buffer, seen: OnDisk) -> (String, BufferHold<'a>) {
        let Buffer { text, is_unsaved } = buffer;
        self.context.notes.set(Note::Unsaved, is_unsaved);
        (text, BufferHold { held: self, seen, is_unsaved })
    }

    /// Reports whether the editor changed a text that it accepted, and whether it is saved.
    fn written(&self, after: &[u8], text_after: Option<String>, seen: OnDisk) -> Written {
        let text_after = text_after.map(String::into_bytes);
        if text_after.is_none() {
            self.context.notes.add(Note::NotReadBack);
        }
        if let Ok(on_disk) = self.reserved.refresh(seen) {
            let text = String::from_utf8_lossy(text_after.as_deref().unwrap_or(after));
            let stored = match &on_disk.content {
                DiskContent::Bytes(bytes) => Document::parse(bytes.clone()).ok(),
                DiskContent::Missing | DiskContent::Large => None,
            };
            let is_unsaved = self.workspace.record(&on_disk, stored.as_ref(), &text);
            self.context.notes.set(Note::Unsaved, is_unsaved);
        }
        Written { broke_hard_links: false, content_after: text_after.filter(|text| text != after) }
    }

    /// Converts the error of a write that was sent to the editor.
    fn rejection(&self, error: EditorError) -> Error {
        match error {
            EditorError::Refused { message, .. } => denied(&self.path, message),
            EditorError::NoSuchFile => denied(&self.path, "it does not know the file".into()),
            EditorError::Cancelled => Error::Cancelled,
            EditorError::Silent => Error::EditorSilent { path: self.path.to_string() },
            EditorError::Unanswered | EditorError::NotSent | EditorError::Unsupported => {
                Error::Unanswered { path: self.path.to_string() }
            }
        }
    }

    /// Returns what became of a change that the editor did not report as made.
    fn rejected(error: &EditorError) -> Outcome<'static> {
        match error {
            EditorError::Unanswered => Outcome::Unknown,
            EditorError::Silent
            | EditorError::Cancelled
            | EditorError::Refused { .. }
            | EditorError::NoSuchFile
            | EditorError::NotSent
            | EditorError::Unsupported => Outcome::NotDone,
        }
    }

    /// Returns a conflict because the editor has text of a file that is not on disk. When the call
    /// starts again, the file exists.
    fn found_new(&self, on_disk: &OnDisk) -> WriteError<'static> {
        self.workspace.unsaved.insert(&on_disk.real_path, UnsavedState::New);
        WriteError::Conflict
    }

    fn create_on_disk(self, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        Box::new(self.reserved.into_locked()).create_bytes(bytes)
    }

    /// Returns the bytes as text for the editor, unless they are binary or too large.
    fn text_for_editor<'b>(&self, bytes: &'b [u8]) -> Option<&'b str> {
        if bytes.len() > MAX_BUFFER_BYTES {
            self.context.notes.add(Note::TooLargeForEditor);
            return None;
        }
        std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    }
}

/// Returns the outcome of a text that an editor accepted.
fn done<'a>(text_after: &'a Option<String>, after: &str) -> Outcome<'a> {
    let content_after = text_after.as_deref().filter(|text_after| *text_after != after);
    Outcome::Done { content_after: content_after.map(str::as_bytes) }
}

impl Slot for WorkspaceHold<'_> {
    fn check(&self) -> Result<()> {
        self.reserved.check_dir()
    }

    fn create_text(mut self: Box<Self>, text: &Document) -> Result<Written, WriteError<'static>> {
        let after = match self.text_for_editor(text.bytes()) {
            Some(after) if self.workspace.editor.can_write() => after,
            _ => return self.create_bytes(text.bytes()),
        };
        self.context.cancel.check()?;
        let on_disk = self.reserved.on_disk()?;
        if on_disk.content != DiskContent::Missing || self.is_new_in_editor()? {
            return Err(WriteError::Conflict);
        }
        self.reserved.check_dir()?;
        let change = EditorWrite { before: None, after };
        let intent = self.reserved.intend(None, text.bytes())?;
        let result = self.workspace.editor.write(&on_disk.given_path, &change, self.context);
        match &result {
            Ok(EditorOutcome::Written { text_after }) => intent.settle(done(text_after, after)),
            Ok(EditorOutcome::Conflict) => intent.settle(Outcome::NotDone),
            Err(error) => intent.settle(WorkspaceHold::rejected(error)),
        }
        match result {
            Ok(EditorOutcome::Written { text_after }) => {
                self.reserved.keep_dirs();
                Ok(self.written(text.bytes(), text_after, on_disk))
            }
            Ok(EditorOutcome::Conflict) => Err(self.found_new(&on_disk)),
            // The editor has no text that could be lost, so the file can be created on disk.
            Err(EditorError::NotSent | EditorError::Unsupported | EditorError::NoSuchFile) => {
                self.create_on_disk(text.bytes())
            }
            Err(error) => {
                if error == EditorError::Unanswered {
                    self.reserved.keep_dirs();
                }
                Err(self.rejection(error).into())
            }
        }
    }

    /// Creates the file on disk, unless the user has begun it in the editor.
    fn create_bytes(self: Box<Self>, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        let on_disk = self.reserved.on_disk()?;
        if on_disk.content == DiskContent::Missing {
            // Editors have different errors for a missing file, and none for text that they have.
            let text = self.workspace.ask(&self.path, &on_disk, self.context);
            if text.is_ok_and(|text| text.is_some_and(|text| !text.is_empty())) {
                return Err(self.found_new(&on_disk));
            }
        }
        self.create_on_disk(bytes)
    }
}

impl<'a> HeldFile<'a> for WorkspaceHold<'a> {
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>> {
        let on_disk = self.reserved.on_disk()?;
        match self.workspace.view(&self.path, &on_disk, self.context)? {
            View::Editor(buffer) if self.workspace.editor.can_write() => {
                let (text, opened) = self.opened(buffer, on_disk);
                Ok(Whole::new(text.into_bytes(), Box::new(opened)))
            }
            // Changing the file on disk would lose the unsaved text, or be lost when it is saved.
            View::Editor(_) => Err(Error::Unsaved { path: self.path.to_string() }.into()),
            // The editor's text is not used, so the call starts over on disk and stays there.
            View::Disk => Err(WriteError::Restart(&*self.workspace.disk)),
        }
    }
}

impl<'a> BufferHold<'a> {
    /// Restarts the call on disk.
    fn restart(&self) -> WriteError<'a> {
        let WorkspaceHold { workspace, context, .. } = &self.held;
        context.notes.set(Note::Unsaved, false);
        if self.is_unsaved {
            context.notes.add(Note::WithoutUnsaved);
        }
        WriteError::Restart(&*workspace.disk)
    }

    /// Restarts the call with the current text.
    fn conflict(&self) -> WriteError<'a> {
        self.held.context.notes.set(Note::Unsaved, false);
        WriteError::Conflict
    }

    fn check_disk(&self) -> Result<(), WriteError<'a>> {
        self.held.context.cancel.check()?;
        if self.held.reserved.has_same_content(&self.seen)? { Ok(()) } else { Err(self.conflict()) }
    }

    /// Gives an editor time to show a text that it accepted; fails if it keeps the previous one. If
    /// the two differ only in line endings, an editor may show the previous one and save the new
    /// one.
    fn check_accepted(
        &self,
        change: &EditorWrite<'_>,
        mut text_after: Option<String>,
    ) -> Result<Option<String>> {
        let is_old = |text_after: &Option<String>| {
            let is_change = |before| !is_same_but_last_ending(before, change.after);
            text_after.as_deref() == change.before && change.before.is_some_and(is_change)
        };
        let WorkspaceHold { workspace, path, context, .. } = &self.held;
        for _ in 1..MAX_READS {
            if !is_old(&text_after) {
                return Ok(text_after);
            }
            std::thread::sleep(RETRY_DELAY);
            text_after = workspace.editor.read(&self.seen.given_path, context).ok();
        }
        match is_old(&text_after) {
            true => Err(Error::NotTaken { path: path.to_string() }),
            false => Ok(text_after),
        }
    }
}

impl<'a> Replace<'a> for BufferHold<'a> {
    fn replace(self: Box<Self>, before: &[u8], after: &[u8]) -> Result<Written, WriteError<'a>> {
        let WorkspaceHold { workspace, path, context, .. } = &self.held;
        // The editor's text is UTF-8, so other bytes cannot be the text that was read.
        let (Some(text), Ok(before)) = (self.held.text_for_editor(after), str::from_utf8(before))
        else {
            return Err(self.restart());
        };
        self.check_disk()?;
        let change = EditorWrite { before: Some(before), after: text };
        let intent = self.held.reserved.intend(Some(before.as_bytes()), after)?;
        let result = workspace.editor.write(&self.seen.given_path, &change, context);
        let result = match result {
            Ok(EditorOutcome::Written { text_after }) => {
                let accepted = self.check_accepted(&change, text_after);
                intent.settle(match &accepted {
                    Ok(text_after) => done(text_after, text),
                    Err(_) => Outcome::Unknown,
                });
                Ok(EditorOutcome::Written { text_after: accepted? })
            }
            result => {
                let rejected = result.as_ref().err().map(|error| WorkspaceHold::rejected(error));
                intent.settle(rejected.unwrap_or(Outcome::NotDone));
                result
            }
        };
        match result {
            Ok(EditorOutcome::Written { text_after }) => {
                Ok(self.held.written(after, text_after, self.seen))
            }
            Ok(EditorOutcome::Conflict) => Err(self.conflict()),
            Err(EditorError::Unsupported) if self.is_unsaved => {
                Err(Error::Unsaved { path: path.to_string() }.into())
            }
            Err(EditorError::NotSent | EditorError::Unsupported) => Err(self.restart()),
            Err(error) => Err(self.held.rejection(error).into()),
        }
    }
}

impl<'a> Remove<'a> for BufferHold<'a> {
    fn remove(self: Box<Self>, before: &RemovedContent) -> Result<Removed, WriteError<'a>> {
        if self.is_unsaved {
            return Err(Error::Unsaved { path: self.held.path.to_string() }.into());
        }
        self.check_disk()?;
        let WorkspaceHold { workspace, path, context, .. } = &self.held;
        match workspace.ask(path, &self.seen, context)? {
            Some(text) if is_text(before, &text) => {}
            Some(_) => return Err(self.conflict()),
            None => return Err(self.restart()),
        }
        // From here on the operating system reports other writers, including the editor.
        let notes = &context.notes;
        let removal = self.held.reserved.into_locked().into_removal()?;
        match (&self.seen.content, removal.content()) {
            (DiskContent::Bytes(seen), RemovedContent::Bytes(bytes)) if seen == bytes => {
                Ok(removal.remove()?.1)
            }
            _ => {
                notes.set(Note::Unsaved, false);
                Err(WriteError::Conflict)
            }
        }
    }
}

/// Whether the content that was read is this text of an editor.
fn is_text(content: &RemovedContent, text: &str) -> bool {
    matches!(content, RemovedContent::Bytes(bytes) if bytes == text.as_bytes())
}
