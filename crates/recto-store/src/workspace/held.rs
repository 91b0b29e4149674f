//! One file of the editor, held for a change: its folder is locked on the disk, its text is read
//! from the editor, compared and written there.
//!
//! What goes to the editor is sent once. Where it never left, the call starts again on the disk;
//! where no answer came, nobody knows what stands there, and the call says so.

use recto_text::{Digest, Document, Error, Result};

use super::view::{
    Buffer, LARGE, MAX_ASKED, MAX_TEXT, PATIENCE, View, denied, is_same_but_last_ending,
};
use super::{UNSAVED, WITHOUT_UNSAVED, Workspace};
use crate::caller::Caller;
use crate::editor::{Change, EditorError, Outcome};
use crate::local::reserve::{Content, OnDisk, Reserved};
use crate::path::AbsPath;
use crate::{Excerpt, Held, Purpose, Removed, Where, WriteError, Written};

const NOT_READ_BACK: &str = "the editor took the text, but it could not be read back";

/// A file that is held.
pub struct HeldText<'a> {
    workspace: &'a Workspace,
    place: Reserved<'a>,
    path: AbsPath,
    purpose: Purpose,
    caller: &'a Caller,
    /// What the disk held when the editor's text was read.
    seen: Option<OnDisk>,
    /// Whether the editor has what the disk has not, which the answer should say.
    is_unsaved: bool,
}

impl<'a> HeldText<'a> {
    pub fn new(
        workspace: &'a Workspace,
        place: Reserved<'a>,
        path: AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> HeldText<'a> {
        HeldText { workspace, place, path, purpose, caller, seen: None, is_unsaved: false }
    }

    /// Whether the file exists, but in the editor alone.
    pub fn is_new_in_editor(&self) -> Result<bool> {
        let on_disk = self.place.on_disk()?;
        let is_missing = on_disk.content == Content::Nothing;
        Ok(is_missing && self.workspace.unsaved.is_new(&on_disk.real_path))
    }

    /// The call starts again, and finds the disk.
    fn start_again_on_disk(&mut self) -> WriteError {
        self.caller.disk_only.set();
        if self.is_unsaved {
            self.caller.remarks.add(WITHOUT_UNSAVED);
        }
        self.moved()
    }

    /// The call starts again, and finds what stands there now.
    fn moved(&mut self) -> WriteError {
        self.is_unsaved = false;
        WriteError::Moved
    }

    /// What was seen on the disk when the editor's text was read.
    fn seen(&mut self) -> OnDisk {
        self.seen.take().expect("a file is read before it is replaced or removed")
    }

    /// Goes on only where neither the disk nor the editor has anything new.
    fn check_unmoved(&mut self, seen: &OnDisk, before: &[u8]) -> Result<(), WriteError> {
        self.check_disk(seen)?;
        match self.workspace.ask(&self.path, seen, self.caller)? {
            Some(text) if text.as_bytes() == before => Ok(()),
            Some(_) => Err(self.moved()),
            None => Err(self.start_again_on_disk()),
        }
    }

    fn check_disk(&mut self, seen: &OnDisk) -> Result<(), WriteError> {
        self.caller.cancel.check()?;
        if self.place.is_unmoved(seen)? { Ok(()) } else { Err(self.moved()) }
    }

    /// Gives an editor time to show a text that it took; fails where it keeps the one from before.
    /// One that differs from that in its endings only may stand there as that, and saved as given.
    fn check_taken(
        &self,
        change: &Change<'_>,
        mut stands: Option<String>,
        seen: &OnDisk,
    ) -> Result<Option<String>> {
        let is_old = |stands: &Option<String>| {
            let is_change = |before| !is_same_but_last_ending(before, change.after);
            stands.as_deref() == change.before && change.before.is_some_and(is_change)
        };
        for _ in 1..MAX_ASKED {
            if !is_old(&stands) {
                return Ok(stands);
            }
            std::thread::sleep(PATIENCE);
            stands = self.workspace.editor.read(&seen.given_path, self.caller).ok();
        }
        match is_old(&stands) {
            true => Err(Error::NotTaken { path: self.path.to_string() }),
            false => Ok(stands),
        }
    }

    /// The editor took a text: what has it made of it, and is it on the disk?
    fn written(&mut self, after: &[u8], stands: Option<String>, seen: OnDisk) -> Written {
        let stands = stands.map(String::into_bytes);
        if stands.is_none() {
            self.caller.remarks.add(NOT_READ_BACK);
        }
        if let Ok(on_disk) = self.place.on_disk_after(seen) {
            let text = String::from_utf8_lossy(stands.as_deref().unwrap_or(after));
            let stored = match &on_disk.content {
                Content::Bytes(bytes) => Document::parse(bytes.clone()).ok(),
                Content::Nothing | Content::Large => None,
            };
            self.is_unsaved = self.workspace.note(&on_disk, stored.as_ref(), &text);
        }
        Written { broke_hard_links: false, stands: stands.filter(|stands| stands != after) }
    }

    /// Why a write that the editor knows of failed.
    fn refusal(&self, error: EditorError) -> Error {
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
}

impl Held for HeldText<'_> {
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        if self.caller.disk_only.is_set() {
            return self.place.held().read();
        }
        let on_disk = self.place.on_disk()?;
        match self.workspace.view(&self.path, &on_disk, self.caller)? {
            View::Editor(Buffer { text, is_unsaved })
                if self.workspace.editor.can_write() || self.purpose == Purpose::Remove =>
            {
                self.is_unsaved = is_unsaved;
                self.seen = Some(on_disk);
                return Ok(Some(text.into_bytes()));
            }
            // A change beneath it would be lost, or lose it, when it is saved.
            View::Editor(_) => return Err(Error::Unsaved { path: self.path.to_string() }),
            // It may be created, and then in the editor.
            View::Disk if on_disk.content == Content::Nothing => return Ok(None),
            View::Disk => {}
        }
        self.caller.disk_only.set();
        self.place.held().read()
    }

    fn replace(&mut self, before: &[u8], after: &[u8]) -> Result<Written, WriteError> {
        if self.caller.disk_only.is_set() {
            return self.place.held().replace(before, after);
        }
        let Some(text) = text_for_editor(after, self.caller) else {
            return Err(self.start_again_on_disk());
        };
        let seen = self.seen();
        self.check_disk(&seen)?;
        let before = str::from_utf8(before).expect("it is what the editor said");
        let change = Change { before: Some(before), after: text };
        match self.workspace.editor.write(&seen.given_path, &change, self.caller) {
            Ok(Outcome::Written { stands }) => {
                let stands = self.check_taken(&change, stands, &seen)?;
                Ok(self.written(after, stands, seen))
            }
            Ok(Outcome::Moved) => Err(self.moved()),
            Err(EditorError::Unsupported) if self.is_unsaved => {
                Err(Error::Unsaved { path: self.path.to_string() }.into())
            }
            Err(EditorError::NotSent | EditorError::Unsupported) => Err(self.start_again_on_disk()),
            Err(error) => Err(self.refusal(error).into()),
        }
    }

    /// An editor is not asked for files that are this large.
    fn excerpt(&mut self, place: &Where<'_>) -> Result<Option<Excerpt>> {
        let excerpt = self.place.held().excerpt(place)?;
        if excerpt.is_some() && !self.caller.disk_only.is_set() {
            self.caller.remarks.add(LARGE);
            self.caller.disk_only.set();
        }
        Ok(excerpt)
    }

    fn digest_with(&mut self, excerpt: &Excerpt, after: &str) -> Result<Digest> {
        self.place.held().digest_with(excerpt, after)
    }

    fn replace_excerpt(
        &mut self,
        excerpt: &Excerpt,
        after: &str,
        digest: Digest,
    ) -> Result<Written, WriteError> {
        self.place.held().replace_excerpt(excerpt, after, digest)
    }

    fn check_creatable(&self) -> Result<()> {
        self.place.check_folder()
    }

    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError> {
        let text = match text_for_editor(bytes, self.caller) {
            Some(text) if !self.caller.disk_only.is_set() && self.workspace.editor.can_write() => {
                text
            }
            _ => {
                self.caller.disk_only.set();
                return self.place.held().create(bytes);
            }
        };
        self.caller.cancel.check()?;
        let on_disk = self.place.on_disk()?;
        if on_disk.content != Content::Nothing || self.is_new_in_editor()? {
            return Err(self.moved());
        }
        self.place.check_folder()?;
        let change = Change { before: None, after: text };
        match self.workspace.editor.write(&on_disk.given_path, &change, self.caller) {
            Ok(Outcome::Written { stands }) => {
                self.place.keep_folders();
                Ok(self.written(bytes, stands, on_disk))
            }
            Ok(Outcome::Moved) => Err(self.moved()),
            // Nothing stands there and nothing was read, so that this is the whole call again.
            // Here it is no refusal where the editor does not know the place: it has no text of
            // it that could be lost.
            Err(EditorError::NotSent | EditorError::Unsupported | EditorError::NoSuchFile) => {
                self.caller.disk_only.set();
                self.place.held().create(bytes)
            }
            Err(error) => {
                if error == EditorError::Unanswered {
                    self.place.keep_folders();
                }
                Err(self.refusal(error).into())
            }
        }
    }

    fn remove(&mut self, before: &[u8]) -> Result<Removed, WriteError> {
        if self.caller.disk_only.is_set() {
            return self.place.held().remove(before);
        }
        if self.is_unsaved {
            return Err(Error::Unsaved { path: self.path.to_string() }.into());
        }
        let seen = self.seen();
        self.check_unmoved(&seen, before)?;
        // From here on the system tells of writers, the editor among them; it is not asked again.
        let stored = self.place.held().read()?;
        match stored {
            Some(stored) if seen.content == Content::Bytes(stored.clone()) => {
                self.place.held().remove(&stored)
            }
            _ => Err(self.moved()),
        }
    }
}

impl Drop for HeldText<'_> {
    fn drop(&mut self) {
        if self.is_unsaved {
            self.caller.remarks.add(UNSAVED);
        }
    }
}

/// The text that an editor can be given, if it is text and not too much.
fn text_for_editor<'a>(bytes: &'a [u8], caller: &Caller) -> Option<&'a str> {
    if bytes.len() > MAX_TEXT {
        caller.remarks.add(LARGE);
        return None;
    }
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
