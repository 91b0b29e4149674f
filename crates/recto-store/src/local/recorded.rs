//! Describes a change in a locked directory for the journal.

use std::os::unix::ffi::OsStrExt;

use recto_platform::{Handle, Sys};

use super::content::{ContentChange, ContentSource, Patch};
use super::locked::LockedPath;
use super::metadata;
use super::read::OpenFile;
use crate::RemovedContent;
use crate::error::Result;
use crate::record::{ChangedBytes, Intent, RecordedChange, RecordedMetadata, VisitBytes};

/// The most bytes of a removed file's attributes that are recorded.
const MAX_ATTRIBUTES: usize = 4 << 10;

impl LockedPath<'_> {
    /// Records the creation of a file, while `prepare` writes its draft.
    pub fn intend_creation<T>(
        &self,
        bytes: &[u8],
        prepare: impl FnOnce() -> T,
    ) -> (Result<Intent<'_>>, T) {
        let content = ChangedBytes::Whole { before: None, after: Some(bytes) };
        self.intend_while(|| self.described(content, None), prepare)
    }

    /// Records a change of a file's content, while `prepare` writes its draft.
    pub fn intend_change<T>(
        &self,
        old: &OpenFile,
        change: ContentChange<'_>,
        prepare: impl FnOnce() -> T,
    ) -> (Result<Intent<'_>>, T) {
        let metadata = || {
            let (mode, owner) = (old.status.mode, (old.status.uid, old.status.gid));
            Some(RecordedMetadata { mode, owner, attributes: Vec::new() })
        };
        let (start, before, after) = match change {
            ContentChange::Whole { before, after } => {
                let content = ChangedBytes::Whole { before: Some(before), after: Some(after) };
                return self.intend_while(|| self.described(content, metadata()), prepare);
            }
            ContentChange::Range { start, before, after, .. } => (start, before, after),
        };
        let sys = &*self.store.sys;
        let whole = [
            LargeContent { sys, file: &old.fd, change: None },
            LargeContent { sys, file: &old.fd, change: Some(change) },
        ];
        let describe = || {
            let whole: [&dyn VisitBytes; 2] = [&whole[0], &whole[1]];
            self.described(ChangedBytes::Range { start, before, after, whole }, metadata())
        };
        self.intend_while(describe, prepare)
    }

    /// Records the removal of a file.
    pub fn intend_removal(&self, old: &OpenFile, before: &RemovedContent) -> Result<Intent<'_>> {
        let whole = LargeContent { sys: &*self.store.sys, file: &old.fd, change: None };
        self.intend(|| {
            let content = match before {
                RemovedContent::Bytes(bytes) => {
                    ChangedBytes::Whole { before: Some(bytes), after: None }
                }
                RemovedContent::Digest(_) => ChangedBytes::Large { whole: &whole },
            };
            self.described(content, Some(metadata_of_removed(old)))
        })
    }

    /// Records the removal of a symbolic link.
    pub fn intend_link_removal(&self) -> Result<Intent<'_>> {
        let target = recto_platform::read_link_at(&self.location.dir, &self.location.name);
        let target = target.unwrap_or_default();
        self.intend(|| {
            let before = Some(target.as_os_str().as_bytes());
            self.described(ChangedBytes::Link { before, after: None }, None)
        })
    }

    /// Records a change that an editor makes.
    pub fn intend_in_editor(&self, before: Option<&[u8]>, after: &[u8]) -> Result<Intent<'_>> {
        self.intend(|| {
            let content = ChangedBytes::Whole { before, after: Some(after) };
            RecordedChange { is_in_editor: true, ..self.described(content, None) }
        })
    }

    fn intend<'a, 'b>(
        &'a self,
        describe: impl FnOnce() -> RecordedChange<'b>,
    ) -> Result<Intent<'a>> {
        self.store.recording.intend(&self.path, self.context, describe)
    }

    fn intend_while<'a, 'b, T>(
        &'a self,
        describe: impl FnOnce() -> RecordedChange<'b>,
        prepare: impl FnOnce() -> T,
    ) -> (Result<Intent<'a>>, T) {
        self.store.recording.intend_while(&self.path, self.context, describe, prepare)
    }

    fn described<'a>(
        &'a self,
        content: ChangedBytes<'a>,
        metadata: Option<RecordedMetadata>,
    ) -> RecordedChange<'a> {
        let path = &self.location.real_path;
        let root = self.store.roots.root_path(path).unwrap_or(path);
        let is_exclusive = self.excludes_other_processes();
        let (is_in_editor, is_durable) = (false, self.store.is_durable);
        RecordedChange { path, root, content, metadata, is_in_editor, is_exclusive, is_durable }
    }
}

/// Returns what is recorded about a file that is removed.
pub fn metadata_of_removed(old: &OpenFile) -> RecordedMetadata {
    let (mode, owner) = (old.status.mode, (old.status.uid, old.status.gid));
    let mut attributes = metadata::attributes(&old.fd).unwrap_or_default();
    let n_bytes: usize = attributes.iter().map(|(_, value)| value.len()).sum();
    if n_bytes > MAX_ATTRIBUTES {
        attributes.clear();
    }
    RecordedMetadata { mode, owner, attributes }
}

/// A large file before a change, or after it.
pub struct LargeContent<'a> {
    pub sys: &'a dyn Sys,
    pub file: &'a Handle,
    pub change: Option<ContentChange<'a>>,
}

impl<'a> LargeContent<'a> {
    fn unchanged(&self) -> Patch<'a> {
        Patch { base: self.file, start: 0, n_replaced: 0, end: u64::MAX, bytes: b"" }
    }
}

impl VisitBytes for LargeContent<'_> {
    fn visit(&self, visit: &mut dyn FnMut(&[u8])) -> bool {
        let visit = |bytes: &[u8]| {
            visit(bytes);
            Ok(())
        };
        let visited = match &self.change {
            Some(change) => change.after(self.file).for_each(self.sys, visit),
            None => ContentSource::Patched(self.unchanged()).for_each(self.sys, visit),
        };
        visited.is_ok()
    }
}
