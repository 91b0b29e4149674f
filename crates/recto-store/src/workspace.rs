//! The files of a person who has an editor open: the editor's text where it is asked for one
//! file, the disk for everything else.
//!
//! Which of the two a call uses is decided here, once: a call that turned to the disk stays there.
//! What a path may be used for, and whether a file stands there, is always for the disk to say.

mod held;
mod unsaved;
mod view;

use std::sync::Arc;

use recto_text::search::Search;
use recto_text::window::Window;
use recto_text::{Document, Error, Result};

use crate::caller::Caller;
use crate::editor::Editor;
use crate::path::AbsPath;
use crate::{
    Bytes, Held, ListRequest, Listing, LocalStore, Purpose, Store, VersionedHits, VersionedPage,
    WriteStore, text_of,
};
use held::HeldText;
use unsaved::Unsaved;
use view::{Buffer, View};

/// What an answer says about text that is not on the disk.
const UNSAVED: &str = "the editor has unsaved changes; this is its text, the file on disk differs";

/// What an answer says about files that were read from the disk although the editor has others.
const WITHOUT_UNSAVED: &str =
    "the editor has unsaved changes; this is the text on disk, without them";

/// What a search of many files says.
const ON_DISK: &str = "searched on the disk: what is unsaved in the editor is not seen";

/// What a listing says where files are still missing from the disk.
const NOT_LISTED: &str = "files that the editor has not saved yet are not listed";

/// The disk, and an editor over it.
pub struct Workspace {
    disk: Arc<LocalStore>,
    editor: Arc<dyn Editor>,
    unsaved: Unsaved,
}

impl Workspace {
    /// Joins the two.
    pub fn new(disk: Arc<LocalStore>, editor: Arc<dyn Editor>) -> Workspace {
        Workspace { disk, editor, unsaved: Unsaved::default() }
    }

    /// Whether a call may still use the editor.
    fn asks_editor(&self, caller: &Caller) -> bool {
        !caller.disk_only.is_set() && self.editor.can_read()
    }

    /// What the editor has of a file, or `None` where the call is for the disk from now on.
    fn buffer(&self, path: &AbsPath, caller: &Caller) -> Result<Option<String>> {
        if self.asks_editor(caller) {
            let on_disk = self.disk.on_disk(path, caller)?;
            if let View::Editor(Buffer { text, is_unsaved }) = self.view(path, &on_disk, caller)? {
                if is_unsaved {
                    caller.remarks.add(UNSAVED);
                }
                return Ok(Some(text));
            }
        } else if self.editor.can_read() {
            if caller.reads_many() {
                caller.remarks.add(ON_DISK);
            }
            if !self.unsaved.is_empty()
                && self.unsaved.contains(&self.disk.look(path, caller)?.real_path)
            {
                caller.remarks.add(WITHOUT_UNSAVED);
            }
        }
        caller.disk_only.set();
        Ok(None)
    }
}

impl Store for Workspace {
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>> {
        match self.buffer(path, caller)? {
            Some(text) => text_of(path, text.into_bytes()).map(Some),
            None => self.disk.document(path, caller),
        }
    }

    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage> {
        match self.buffer(path, caller)? {
            Some(text) => Ok(VersionedPage::of(&text_of(path, text.into_bytes())?, window)),
            None => self.disk.page(path, window, caller),
        }
    }

    fn search(
        &self,
        path: &AbsPath,
        search: &Search<'_>,
        caller: &Caller,
    ) -> Result<VersionedHits> {
        match self.buffer(path, caller)? {
            Some(text) => Ok(VersionedHits::of(&text_of(path, text.into_bytes())?, search)),
            None => self.disk.search(path, search, caller),
        }
    }

    /// Only what is text on the disk is asked of the editor: sheets, Parquet and whatever is
    /// compressed are not.
    fn open(&self, path: &AbsPath, caller: &Caller) -> Result<Box<dyn Bytes>> {
        match self.buffer(path, caller)? {
            Some(text) => Ok(Box::new(text.into_bytes())),
            None => self.disk.open(path, caller),
        }
    }

    fn is_file(&self, path: &AbsPath, caller: &Caller) -> Result<bool> {
        if self.disk.is_file(path, caller)? {
            return Ok(true);
        }
        let seen = self.disk.look(path, caller)?;
        let is_new = seen.kind.is_none() && self.unsaved.is_new(&seen.real_path);
        Ok(is_new && self.asks_editor(caller))
    }

    /// A call that looks around stays on the disk: an editor opens a buffer for every file that
    /// it is asked for.
    fn list(&self, request: &ListRequest<'_>, caller: &Caller) -> Result<Listing> {
        caller.disk_only.set();
        let listing = self.disk.list(request, caller)?;
        if self.unsaved.has_new_beneath(&listing.folder) {
            caller.remarks.add(NOT_LISTED);
        }
        Ok(listing)
    }
}

impl WriteStore for Workspace {
    fn hold<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<Box<dyn Held + 'a>> {
        if !self.asks_editor(caller) {
            caller.disk_only.set();
            return self.disk.hold(path, purpose, caller);
        }
        let place = self.disk.reserve(path, purpose, caller)?;
        let held = HeldText::new(self, place, path.clone(), purpose, caller);
        if purpose == Purpose::Create && held.is_new_in_editor()? {
            return Err(Error::FileExists { path: path.to_string(), what: None });
        }
        Ok(Box::new(held))
    }
}
