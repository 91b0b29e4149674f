//! Creates a file: a complete draft gets a name that did not exist, by the calls that the file system
//! has.

use recto_platform::SysError;
use recto_text::Tag;

use super::super::content::ContentSource;
use super::super::sys::{self, retry};
use super::{Completed, Draft, DraftContent, DraftMetadata, Protocol, may_lack_links};
use crate::WriteError;
use crate::error::Error;

impl Protocol<'_> {
    /// Writes the content of a new file, and syncs it.
    pub fn draft_creation<'a>(
        &self,
        bytes: &'a [u8],
        metadata: DraftMetadata<'a>,
    ) -> Result<Draft<'a>, WriteError<'static>> {
        let (tag, source) = (Tag::of(bytes), ContentSource::Memory(bytes));
        self.write_draft(DraftContent { before: None, tag, digest: None, source, metadata })
    }

    /// Creates a file from a draft. Fails with a conflict if the name exists.
    pub fn create(&self, mut draft: Draft<'_>) -> Result<Completed, WriteError<'static>> {
        let content = draft.content;
        let source = &content.source;
        if !draft.has_name {
            match retry(|| self.sys.link(&draft.fd, self.dir, self.name)) {
                Ok(()) => return self.sync_dir().map(|()| Completed::default()),
                Err(SysError::EXIST) => return Err(WriteError::Conflict),
                Err(errno) if may_lack_links(errno) => draft = self.write_named_draft(content)?,
                Err(errno) => return Err(self.failed(errno, source)),
            }
        }
        let moved = self.move_to_new_name(&draft, source);
        let is_leftover_kept = !moved.inspect_err(|_| _ = self.discard(&draft))?;
        self.sync_dir()?;
        Ok(Completed { is_leftover_kept, ..Completed::default() })
    }

    /// Gives a draft the name of a new file. Returns whether its temporary name is gone.
    fn move_to_new_name(
        &self,
        draft: &Draft<'_>,
        content: &ContentSource<'_>,
    ) -> Result<bool, WriteError<'static>> {
        let failed = |errno| match errno {
            SysError::EXIST => WriteError::Conflict,
            errno => self.failed(errno, content),
        };
        match retry(|| self.sys.rename_new(self.dir, &draft.name, self.name)) {
            Ok(()) => return Ok(true),
            Err(errno) if sys::may_be_unsupported(errno) => {}
            Err(errno) => return Err(failed(errno)),
        }
        match retry(|| self.sys.link(&draft.fd, self.dir, self.name)) {
            Ok(()) => return Ok(self.discard(draft)),
            Err(errno) if may_lack_links(errno) => {}
            Err(errno) => return Err(failed(errno)),
        }
        // Without both calls, an empty file claims the name, and a crash may leave it.
        let claim = retry(|| self.sys.create(self.dir, self.name, 0o666)).map_err(failed)?;
        let is_ours = || {
            let found = recto_platform::status_at(self.dir, self.name).and_then(|found| {
                claim.status().map(|claim| found.id() == claim.id() && found.size == 0)
            });
            found.unwrap_or(false)
        };
        if !is_ours() {
            return Err(WriteError::Conflict);
        }
        let renamed = self.commit(draft, || self.sys.rename(self.dir, &draft.name, self.name));
        let Err(errno) = renamed else { return Ok(true) };
        if is_ours() && retry(|| self.sys.unlink(self.dir, self.name)).is_err() {
            let cause = format!("renaming to it failed, and an empty file is left: {errno}");
            return Err(WriteError::Failed(Error::System { path: self.path.to_string(), cause }));
        }
        Err(failed(errno))
    }
}
