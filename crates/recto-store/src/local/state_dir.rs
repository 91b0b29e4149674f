//! Directories in which recto keeps its own state, and which no tool may reach.
//!
//! They are recognized by a marker file, so that a server also hides the state of other servers. A
//! repository cannot contain such a marker: git does not store its mode.

use std::ffi::OsStr;
use std::path::Path;

use recto_platform::{FileKind, Handle};

/// The name of the marker file.
pub const STATE_MARKER: &str = ".recto-state";

/// The permissions of the marker file.
pub const STATE_MARKER_MODE: u32 = 0o600;

/// Returns whether a directory contains the marker.
pub fn is_state_dir(dir: &Handle) -> bool {
    is_marker(dir, Path::new(STATE_MARKER))
}

/// Returns whether a directory in another one contains the marker.
pub fn is_state_dir_at(dir: &Handle, name: &OsStr) -> bool {
    is_marker(dir, &Path::new(name).join(STATE_MARKER))
}

/// Returns whether a name is the marker's, in any case that a file system may ignore.
pub fn is_marker_name(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(STATE_MARKER)
}

fn is_marker(dir: &Handle, path: &Path) -> bool {
    recto_platform::status_at(dir, path).is_ok_and(|status| {
        status.kind() == FileKind::File && status.mode & 0o777 == STATE_MARKER_MODE
    })
}
