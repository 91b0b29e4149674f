//! Copies the metadata of a file to its replacement: owner, mode, access lists and other extended
//! attributes.

use std::ffi::{CStr, CString};

use crate::error::Denial;
use crate::error::Error;
use recto_platform::{Handle, Sys, SysError, SysResult};

use super::read::OpenFile;
use super::sys;
use crate::path::AbsPath;

/// Copies owner, mode and attributes from `old` to `new`, except for setuid, setgid and file
/// capabilities, which must not survive a change of the program.
pub fn copy(sys: &dyn Sys, old: &OpenFile, new: &Handle, path: &AbsPath) -> Result<(), Error> {
    let failed = |errno| sys::error(errno, path, 0);
    let made = new.status().map_err(failed)?;
    let (owner, group) = (old.status.uid, old.status.gid);
    if (made.uid, made.gid) != (owner, group) {
        sys::retry(|| sys.set_owner(new, owner, group)).map_err(|errno| match errno {
            SysError::PERM => {
                Error::PermissionDenied { path: path.to_string(), reason: Denial::ForeignOwner }
            }
            errno => failed(errno),
        })?;
    }
    let kept = attributes(&old.fd).map_err(failed)?;
    // Remove attributes that the directory gave the new file, such as a default access list.
    for (name, _) in attributes(new).map_err(failed)? {
        if !is_set_by_system(&name) && !kept.iter().any(|(kept, _)| *kept == name) {
            new.remove_attribute(&name).map_err(failed)?;
        }
    }
    for (name, value) in kept {
        let is_kept = sys::retry(|| sys.set_attribute(new, &name, &value));
        if let Err(errno) = is_kept
            && !is_set_by_system(&name)
        {
            return Err(failed(errno));
        }
    }
    // After the attributes, because setting an access list changes the mode.
    sys::retry(|| sys.set_mode(new, old.status.mode & 0o1777)).map_err(failed)
}

/// Returns whether the system sets an attribute itself and may not allow setting it.
fn is_set_by_system(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"security.") || name.to_bytes().starts_with(b"trusted.")
}

type Attribute = (CString, Vec<u8>);

fn attributes(file: &Handle) -> SysResult<Vec<Attribute>> {
    let mut names = file.attribute_names()?;
    // File capabilities are dropped like the setuid bit.
    names.retain(|name| name.as_c_str() != c"security.capability");
    let with_value = |name: CString| file.attribute(&name).map(|value| (name, value));
    names.into_iter().map(with_value).collect()
}
