//! Reads and writes settings. Writes go through the store, which replaces a file atomically, keeps
//! its mode and owner, and detects a concurrent change.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use recto_store::context::Context;
use recto_store::local::{HiddenPaths, Options};
use recto_store::path::AbsPath;
use recto_store::{Hold, LocalStore, WriteError, WriteStore};
use recto_text::{Digest, Document};

/// Returns the file that a path leads to, which need not exist: settings and their directories are
/// often links into a repository.
pub fn target(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) => target(parent).join(name),
        _ => path.to_path_buf(),
    }
}

/// The size of settings that are read. Those of Claude Code contain the history of all projects.
const MAX_SETTINGS: u64 = 64 << 20;

/// Reads a file. `None` if there is none. Devices and pipes, to which the settings of a project may be
/// links, are not opened.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let read = || {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_SETTINGS + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > MAX_SETTINGS {
            true => Err(io::Error::other(format!("it is larger than {} MiB", MAX_SETTINGS >> 20))),
            false => Ok(bytes),
        }
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Returns the mode of a file.
pub fn mode(path: &Path) -> Option<u32> {
    Some(fs::metadata(path).ok()?.permissions().mode() & 0o7777)
}

/// Replaces a file that contains `before`, or creates one and its directories.
pub fn write(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), String> {
    let store = store(path)?;
    let absolute = absolute(path)?;
    let context = Context::default();
    let failed = |error| match error {
        WriteError::Failed(error) => error.to_string(),
        _ => format!("{} was changed meanwhile", path.display()),
    };
    let document = Document::parse(after.to_vec());
    let document = document.map_err(|_| format!("{} is not text", path.display()))?;
    match before {
        None => {
            let slot = store.hold_new(&absolute, &context).map_err(|error| error.to_string())?;
            slot.create_text(&document).map_err(failed)?;
        }
        Some(before) => {
            let hold = store.hold(&absolute, &context).map_err(|error| error.to_string())?;
            let Hold::File(file) = hold else {
                return Err(format!("{} was removed meanwhile", path.display()));
            };
            let whole = file.whole().map_err(failed)?;
            if whole.content().bytes() != before {
                return Err(format!("{} was changed meanwhile", path.display()));
            }
            whole.replace(&document).map_err(failed)?;
        }
    }
    Ok(())
}

/// Removes a file that contains `before`, and directories that are empty then.
pub fn remove(path: &Path, before: &[u8], dirs: &[PathBuf]) -> Result<(), String> {
    let store = store(path)?;
    let absolute = absolute(path)?;
    let context = Context::default();
    let removal = store.hold_to_remove(&absolute, &context).map_err(|error| error.to_string())?;
    if removal.content().digest() != Digest::of(before) {
        return Err(format!("{} was changed meanwhile", path.display()));
    }
    removal.remove().map_err(|_| format!("{} cannot be removed", path.display()))?;
    for folder in dirs.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Sets the mode of a file.
pub fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Opens the deepest directory above a path that exists.
fn store(path: &Path) -> Result<LocalStore, String> {
    let root = path.ancestors().skip(1).find(|it| it.is_dir());
    let options = Options {
        roots: vec![root.unwrap_or(Path::new("/")).to_path_buf()],
        hidden: HiddenPaths::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    LocalStore::open(options).map_err(|error| format!("{}: {error}", path.display()))
}

fn absolute(path: &Path) -> Result<AbsPath, String> {
    let text = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
    AbsPath::parse(text.into()).map_err(|error| error.to_string())
}
