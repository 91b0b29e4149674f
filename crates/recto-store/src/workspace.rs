//! A store that combines an editor's buffers with the disk: the text of a single file comes from
//! the editor, everything else from the disk.
//!
//! The disk always decides whether a path is permitted and whether a file exists.

mod held;
mod unsaved;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use crate::editor::Editor;
use crate::error::{Error, Result};
use crate::local::locked::Purpose;
use crate::path::AbsPath;
use crate::{
    BulkReader, Bytes, Context, FileStep, Hold, ListRequest, Listing, LocalStore, Nearby, Note,
    Removal, Slot, StepError, Store, Text, Transaction, WriteStore, text_of,
};
use held::WorkspaceHold;
use unsaved::Unsaved;
use view::{Buffer, View};

/// The disk and an editor.
pub struct Workspace {
    disk: Arc<LocalStore>,
    editor: Arc<dyn Editor>,
    unsaved: Unsaved,
}

impl Workspace {
    /// Combines a disk and an editor.
    pub fn new(disk: Arc<LocalStore>, editor: Arc<dyn Editor>) -> Workspace {
        Workspace { disk, editor, unsaved: Unsaved::default() }
    }

    /// Returns the editor's text of a file, or `None` if the file must be read from disk.
    fn buffer(&self, path: &AbsPath, context: &Context) -> Result<Option<String>> {
        if !self.editor.can_read() {
            return Ok(None);
        }
        let on_disk = self.disk.on_disk(path, context)?;
        match self.view(path, &on_disk, context)? {
            View::Editor(Buffer { text, is_unsaved }) => {
                context.notes.set(Note::Unsaved, is_unsaved);
                Ok(Some(text))
            }
            View::Disk => Ok(None),
        }
    }

    fn reserve<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        context: &'a Context,
    ) -> Result<WorkspaceHold<'a>> {
        let reserved = self.disk.hold_for_editor(path, purpose, context)?;
        Ok(WorkspaceHold { workspace: self, reserved, path: path.clone(), context })
    }
}

impl Store for Workspace {
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>> {
        match self.buffer(path, context)? {
            Some(text) => text_of(path, text.into_bytes()).map(Text::Whole),
            None => self.disk.text(path, context),
        }
    }

    /// Reads from disk, because an editor would open a buffer for every file.
    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a> {
        match self.editor.can_read() {
            true => {
                Box::new(WorkspaceBulk { workspace: self, disk: self.disk.bulk(context), context })
            }
            false => self.disk.bulk(context),
        }
    }

    /// Asks the editor only for files that are text on disk, not for spreadsheets or Parquet.
    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        match self.buffer(path, context)? {
            Some(text) => Ok(Box::new(text.into_bytes())),
            None => self.disk.open(path, context),
        }
    }

    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool> {
        if self.disk.is_file(path, context)? {
            return Ok(true);
        }
        let seen = self.disk.probe(path, context)?;
        let is_new = seen.kind.is_none() && self.unsaved.is_new(&seen.real_path);
        Ok(is_new && self.editor.can_read())
    }

    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf> {
        self.disk.real_path(path, context)
    }

    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby {
        self.disk.nearby(path, context)
    }

    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        let listing = self.disk.list(request, context)?;
        if self.unsaved.has_new_below(&listing.folder) {
            context.notes.add(Note::UnsavedNotListed);
        }
        Ok(listing)
    }
}

/// Reads many files from disk, and notes unsaved changes in the editor.
struct WorkspaceBulk<'a> {
    workspace: &'a Workspace,
    disk: Box<dyn BulkReader + 'a>,
    context: &'a Context,
}

impl BulkReader for WorkspaceBulk<'_> {
    fn text(&mut self, path: &AbsPath) -> Result<Text<'_>> {
        self.note(path)?;
        self.disk.text(path)
    }

    fn text_if(
        &mut self,
        path: &AbsPath,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Text<'_>>> {
        self.note(path)?;
        self.disk.text_if(path, is_wanted)
    }
}

impl WorkspaceBulk<'_> {
    /// Notes that a file is read from disk.
    fn note(&self, path: &AbsPath) -> Result<()> {
        let WorkspaceBulk { workspace: Workspace { disk, unsaved, .. }, context, .. } = self;
        context.notes.add(Note::SearchedOnDisk);
        if !unsaved.is_empty() && unsaved.contains(&disk.probe(path, context)?.real_path) {
            context.notes.add(Note::WithoutUnsaved);
        }
        Ok(())
    }
}

impl WriteStore for Workspace {
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>> {
        if !self.editor.can_read() {
            return self.disk.hold(path, context);
        }
        let held = self.reserve(path, Purpose::Change, context)?;
        match held.reserved.is_vacant() && !held.is_new_in_editor()? {
            true => Ok(Hold::Vacant(Box::new(held))),
            false => Ok(Hold::File(Box::new(held))),
        }
    }

    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>> {
        if !self.editor.can_read() {
            return self.disk.hold_new(path, context);
        }
        Ok(Box::new(self.reserve(path, Purpose::Create, context)?))
    }

    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>> {
        if !self.editor.can_read() {
            return self.disk.hold_to_remove(path, context);
        }
        self.reserve(path, Purpose::Remove, context)?.into_removal()
    }

    /// Changes files on disk. Rejects files that have unsaved text in the editor, which cannot take
    /// part in a transaction.
    fn transaction<'a>(
        &'a self,
        steps: &'a [FileStep<'a>],
        context: &'a Context,
    ) -> Result<Box<dyn Transaction + 'a>, Vec<StepError>> {
        let mut problems = Vec::new();
        for (index, step) in steps.iter().enumerate().filter(|_| self.editor.can_read()) {
            let mut paths = [Some(step.path), step.move_to].into_iter().flatten();
            if let Err(error) = paths.try_for_each(|path| self.check_saved(path, context)) {
                problems.push(StepError { step: index, cause: error.into() });
            }
        }
        if problems.is_empty() { self.disk.transaction(steps, context) } else { Err(problems) }
    }

    fn open_stored(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        if self.editor.can_read() {
            self.check_saved(path, context)?;
        }
        self.disk.open(path, context)
    }

    fn recover(&self) {
        self.disk.recover();
    }
}

impl Workspace {
    /// Rejects a file whose text in the editor is not the text on disk.
    fn check_saved(&self, path: &AbsPath, context: &Context) -> Result<()> {
        let on_disk = self.disk.on_disk(path, context)?;
        match self.view(path, &on_disk, context)? {
            View::Editor(Buffer { is_unsaved: true, .. }) => {
                Err(Error::Unsaved { path: path.to_string() })
            }
            _ => Ok(()),
        }
    }
}
