//! Reads a file whose changes are to be undone.

use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use recto_platform::FileKind;
use recto_store::limits::TRANSACTION_BYTES;
use recto_store::{Context, LocalStore, Store};

use super::abs;

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// It is larger than a file that can be undone.
    TooLarge,
    /// It cannot be read, for this reason.
    Failed(String),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::TooLarge => {
                let limit = TRANSACTION_BYTES >> 20;
                write!(f, "the file is larger than {limit} MiB, so changes of it cannot be undone")
            }
            Unread::Failed(cause) => f.write_str(cause),
        }
    }
}

/// Returns the target of a symbolic link.
pub fn read_link(store: &LocalStore, path: &Path) -> Result<Option<Vec<u8>>, Unread> {
    let found = store.probe_link(&abs(path), &Context::default()).map_err(failed)?;
    if found.real_path != path {
        return Err(leads_elsewhere());
    }
    match found.kind {
        None => Ok(None),
        Some(FileKind::Symlink) => {
            let target = std::fs::read_link(path).map_err(failed)?;
            Ok(Some(target.into_os_string().into_vec()))
        }
        Some(_) => Err(failed("there is no symbolic link any more")),
    }
}

/// Reads a file, which must still be where it was: no directory of its path may be a link now.
///
/// Nothing is read of a file that is too large to be written by an undo.
pub fn read(store: &LocalStore, path: &Path) -> Result<Option<Vec<u8>>, Unread> {
    let (context, name) = (Context::default(), abs(path));
    if store.real_path(&name, &context).is_some_and(|real| real != path) {
        return Err(leads_elsewhere());
    }
    match store.open(&name, &context) {
        Ok(bytes) if bytes.size() > TRANSACTION_BYTES => Err(Unread::TooLarge),
        Ok(bytes) => {
            let mut content = vec![0; bytes.size() as usize];
            let mut n_read = 0;
            while n_read < content.len() {
                match bytes.read_at(&mut content[n_read..], n_read as u64).map_err(failed)? {
                    0 => break,
                    n => n_read += n,
                }
            }
            content.truncate(n_read);
            bytes.check_unchanged().map_err(failed)?;
            Ok(Some(content))
        }
        Err(recto_store::Error::FileNotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn failed(cause: impl ToString) -> Unread {
    Unread::Failed(cause.to_string())
}

fn leads_elsewhere() -> Unread {
    failed("a link now leads elsewhere")
}
