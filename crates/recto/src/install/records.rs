//! What recto wrote to which file, and what the file was before: the backup for `--uninstall`.
//!
//! A record is a directory below the user's state directory, because a file beside the settings
//! would end up in repositories. It contains the path, the file before with its mode, what
//! `--uninstall` writes if that is another text, the file as recto left it, and the directories that
//! recto created.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use recto_journal::StateDir;
use recto_text::Digest;

/// A record that was found.
pub struct Record {
    folder: PathBuf,
    /// What it contains.
    pub content: Content,
}

/// The content of the record of one file.
#[derive(Clone)]
pub struct Content {
    /// The file before recto changed it, with its mode. `None` if there was none.
    pub before: Option<(Vec<u8>, u32)>,
    /// What `--uninstall` writes, if it is not the file before: that one may have had an entry.
    pub restored: Option<Vec<u8>>,
    /// The file as recto left it.
    pub after: Vec<u8>,
    /// The directories that recto created for it, outermost first.
    pub new_dirs: Vec<PathBuf>,
}

fn folder(records: &Path, path: &Path) -> PathBuf {
    records.join(Digest::of(path.as_os_str().as_encoded_bytes()).tag().to_string())
}

/// Reads the record of a file.
pub fn find(records: &Path, path: &Path) -> Option<Record> {
    let folder = folder(records, path);
    let is_of_path = fs::read(folder.join("path")).ok()? == path.as_os_str().as_encoded_bytes();
    let after = fs::read(folder.join("after")).ok().filter(|_| is_of_path)?;
    let before = folder.join("before");
    let mode = fs::metadata(&before).map(|it| it.permissions().mode() & 0o7777);
    let before = mode.ok().and_then(|mode| Some((fs::read(&before).ok()?, mode)));
    let new_dirs = fs::read_to_string(folder.join("new_dirs")).unwrap_or_default();
    let new_dirs = new_dirs.lines().map(PathBuf::from).collect();
    let restored = fs::read(folder.join("restored")).ok();
    Some(Record { folder, content: Content { before, restored, after, new_dirs } })
}

/// Writes the record of a file. Returns where the backup is.
pub fn save(records: &Path, path: &Path, content: &Content) -> io::Result<Option<PathBuf>> {
    // The journal is in the same directory, and requires its marker.
    StateDir::create(records.parent().unwrap_or(records)).map_err(io::Error::other)?;
    let folder = folder(records, path);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let write = |name: &str, bytes: &[u8], mode: u32| {
        let path = folder.join(name);
        let _ = fs::remove_file(&path);
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all().map(|()| path)
    };
    let Content { before, restored, after, new_dirs } = content;
    for name in ["before", "restored"] {
        let _ = fs::remove_file(folder.join(name));
    }
    let backup = before.as_ref().map(|(bytes, mode)| write("before", bytes, *mode)).transpose()?;
    restored.as_ref().map(|bytes| write("restored", bytes, 0o600)).transpose()?;
    let new_dirs: Vec<_> = new_dirs.iter().map(|it| it.display().to_string()).collect();
    write("new_dirs", new_dirs.join("\n").as_bytes(), 0o600)?;
    write("path", path.as_os_str().as_encoded_bytes(), 0o600)?;
    write("after", after, 0o600)?;
    Ok(backup)
}

impl Record {
    /// Removes the record.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(self.folder)
    }
}
