//! The entries of a directory that are processed together.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use recto_platform::FileKind;

use crate::local::ignored::RuleFiles;
use crate::local::state_dir::is_marker_name;

/// The number of entries whose memory is kept for the next directory.
const MAX_KEPT: usize = 1024;

/// Entries of a directory, without `.` and `..`.
#[derive(Default)]
pub struct Batch {
    pub names: Vec<u8>,
    /// The end offset and the kind of each name.
    pub entries: Vec<(usize, FileKind)>,
    pub present: RuleFiles,
    /// Whether a name is that of the marker of a state directory.
    pub has_marker: bool,
}

impl Batch {
    /// Removes all entries, but keeps the memory of a few.
    pub fn clear(&mut self) {
        let Batch { mut names, mut entries, .. } = std::mem::take(self);
        names.clear();
        names.shrink_to(32 * MAX_KEPT);
        entries.clear();
        entries.shrink_to(MAX_KEPT);
        *self = Batch { names, entries, ..Batch::default() };
    }

    pub fn push(&mut self, name: &[u8], kind: FileKind) {
        match name {
            b"." | b".." => return,
            b".gitignore" => self.present.rules = true,
            b".git" => self.present.repository = true,
            [b'.', b'r' | b'R', ..] => self.has_marker |= is_marker_name(OsStr::from_bytes(name)),
            _ => {}
        }
        self.names.extend_from_slice(name);
        self.entries.push((self.names.len(), kind));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, FileKind)> {
        let mut start = 0;
        self.entries.iter().map(move |(end, kind)| {
            let name = OsStr::from_bytes(&self.names[start..*end]);
            start = *end;
            (name, *kind)
        })
    }
}
