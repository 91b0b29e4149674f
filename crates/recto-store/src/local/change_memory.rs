//! The memory that a change needs, reserved before its directory is locked or its file decoded.

use recto_platform::FileKind;
use recto_text::encoding::Encoding;

use super::LocalStore;
use super::locked::{LockedPath, Purpose};
use super::read::OpenFile;
use super::roots::Location;
use crate::Context;
use crate::error::Result;
use crate::limits;
use crate::memory_budget::FREE;
use crate::path::AbsPath;

/// How often the bytes of a file in another encoding than UTF-8 exist while it is changed.
const DECODED_COPIES: u64 = 6;

/// The memory up to which a change reserves as much as any encoding needs.
const LITTLE: u64 = 16 << 20;

/// Returns the memory for a change of this many bytes in UTF-8, which exist three times: as they were,
/// as the new text, and encoded or compared. The rest is for the allocator. Memory for what a change
/// adds is reserved when that is known.
fn to_change(n_bytes: u64) -> u64 {
    3 * n_bytes + n_bytes / 2
}

impl LockedPath<'_> {
    /// Reserves memory for a file that is decoded to be changed.
    pub fn keep_memory_to_decode(&self, file: &OpenFile) -> Result<()> {
        let n_bytes = file.status.size;
        if n_bytes * DECODED_COPIES <= FREE as u64 {
            return Ok(());
        }
        // For a small file, more memory than needed costs less than a second look at it.
        let is_utf8 = n_bytes * DECODED_COPIES > LITTLE
            && matches!(
                Encoding::sniff(&self.head(file)?),
                None | Some(Encoding::Utf8 | Encoding::Utf8Bom)
            );
        let n_needed = if is_utf8 { to_change(n_bytes) } else { n_bytes * DECODED_COPIES };
        let kept = self.context.keep_memory(n_needed);
        kept.map_err(|reason| reason.for_file(&self.path, n_bytes))
    }
}

impl LocalStore {
    /// Reserves memory for a file that is about to be changed or removed.
    pub fn keep_memory_to_change(
        &self,
        location: &Location,
        purpose: Purpose,
        path: &AbsPath,
        context: &Context,
    ) -> Result<()> {
        if location.kind != Some(FileKind::File) {
            return Ok(());
        }
        let status = recto_platform::status_at(&location.dir, &location.name);
        let n_bytes = status.map_or(0, |status| status.size);
        let n_needed = match purpose {
            Purpose::Remove if n_bytes > limits::WHOLE_FILE => 0,
            Purpose::Change if n_bytes > self.max_whole_change => to_change(limits::EXCERPT),
            _ => to_change(n_bytes),
        };
        context.keep_memory(n_needed).map_err(|reason| reason.for_file(path, n_bytes))
    }
}
