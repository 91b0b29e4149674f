//! Copies the metadata of a file to its replacement: owner, mode, access lists and other extended
//! attributes.

use std::ffi::{CStr, CString};

use crate::error::Denial;
use crate::error::Error;
use recto_platform::{Handle, Sys, SysError, SysResult};

use super::read::OpenFile;
use super::sys;
use crate::notes::Note;
use crate::path::AbsPath;
use crate::record::RecordedMetadata;

/// Copies owner, mode and attributes from `old` to `new`, except for setuid, setgid and file
/// capabilities, which must not survive a change of the program. Returns what is lost.
pub fn copy(
    sys: &dyn Sys,
    old: &OpenFile,
    new: &Handle,
    path: &AbsPath,
) -> Result<Vec<Note>, Error> {
    let attributes = attributes(&old.fd).map_err(|errno| sys::error(errno, path, 0))?;
    let (mode, owner) = (old.status.mode, (old.status.uid, old.status.gid));
    let mut lost = set(sys, &RecordedMetadata { mode, owner, attributes }, new, path)?;
    if old.fd.flags().are_lost_in(new.flags()) {
        lost.push(Note::LostFlags);
    }
    Ok(lost)
}

/// Gives a file that is created again the metadata that it had.
pub fn restore(
    sys: &dyn Sys,
    had: &RecordedMetadata,
    new: &Handle,
    path: &AbsPath,
) -> Result<Vec<Note>, Error> {
    match set(sys, had, new, path) {
        // Only root can give a file to another user.
        Err(Error::PermissionDenied { reason: Denial::ForeignOwner, .. }) => {
            let made = new.status().map_err(|errno| sys::error(errno, path, 0))?;
            let had = RecordedMetadata { owner: (made.uid, made.gid), ..had.clone() };
            set(sys, &had, new, path)
        }
        restored => restored,
    }
}

fn set(
    sys: &dyn Sys,
    wanted: &RecordedMetadata,
    new: &Handle,
    path: &AbsPath,
) -> Result<Vec<Note>, Error> {
    let failed = |errno| sys::error(errno, path, 0);
    let made = new.status().map_err(failed)?;
    let (owner, group) = wanted.owner;
    if (made.uid, made.gid) != wanted.owner {
        sys::retry(|| sys.set_owner(new, owner, group)).map_err(|errno| match errno {
            SysError::PERM => {
                Error::PermissionDenied { path: path.to_string(), reason: Denial::ForeignOwner }
            }
            errno => failed(errno),
        })?;
    }
    let is_kept = |(name, _): &&Attribute| name.as_c_str() != CAPABILITIES;
    let kept: Vec<&Attribute> = wanted.attributes.iter().filter(is_kept).collect();
    let has_capabilities = kept.len() < wanted.attributes.len();
    // Remove attributes that the directory gave the new file, such as a default access list.
    for (name, _) in attributes(new).map_err(failed)? {
        if !is_set_by_system(&name) && !kept.iter().any(|(kept, _)| *kept == name) {
            new.remove_attribute(&name).map_err(failed)?;
        }
    }
    for (name, value) in kept {
        let is_kept = sys::retry(|| sys.set_attribute(new, name, value));
        if let Err(errno) = is_kept
            && !is_set_by_system(name)
        {
            return Err(failed(errno));
        }
    }
    // After the attributes, because setting an access list changes the mode.
    sys::retry(|| sys.set_mode(new, wanted.mode & 0o1777)).map_err(failed)?;
    let lost =
        [(wanted.mode & 0o6000 != 0, Note::LostSetId), (has_capabilities, Note::LostCapabilities)];
    Ok(lost.into_iter().filter_map(|(is_lost, note)| is_lost.then_some(note)).collect())
}

/// File capabilities are dropped like the setuid bit.
const CAPABILITIES: &CStr = c"security.capability";

/// Returns whether the system sets an attribute itself and may not allow setting it.
fn is_set_by_system(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"security.") || name.to_bytes().starts_with(b"trusted.")
}

/// The name and value of an attribute.
pub type Attribute = (CString, Vec<u8>);

/// Returns the extended attributes of a file.
pub fn attributes(file: &Handle) -> SysResult<Vec<Attribute>> {
    let names = file.attribute_names()?;
    let with_value = |name: CString| file.attribute(&name).map(|value| (name, value));
    names.into_iter().map(with_value).collect()
}
