//! The token file, which must not be where clients can read or change it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use recto_store::path::AbsPath;
use recto_store::{Context, Error, LocalStore};

use super::tokens::{self, Token};

/// The maximum number of links on the way to the file, as in the kernel.
const MAX_LINKS: usize = 40;

/// A token file and the directories that clients can reach.
pub struct TokenFile {
    path: PathBuf,
    disk: Arc<LocalStore>,
}

/// What changes when a file is written or replaced.
pub type Fingerprint = (SystemTime, u64, u64, u32);

impl TokenFile {
    /// Names the file. A token limits clients to directories inside those of `disk`, so that no
    /// client reaches more.
    pub fn new(path: PathBuf, disk: Arc<LocalStore>) -> TokenFile {
        TokenFile { path, disk }
    }

    /// Reads the tokens. Fails if clients can reach the file, or a link that leads to it.
    pub fn read(&self) -> Result<Vec<Token>, String> {
        let path = self.path.display();
        let entries = entries_on_the_way(&self.path);
        let entries =
            entries.map_err(|error| format!("cannot use the token file {path}: {error}"))?;
        if let Some(served) = entries.iter().find(|entry| self.is_served(entry)) {
            let name = served.file_name().unwrap_or_default().display();
            return Err(format!(
                "cannot use the token file {path}: clients can reach {}, which is in a served \
                 directory; move it to another directory, such as ~/.config/recto, or hide it \
                 with --deny '{name}'",
                served.display()
            ));
        }
        tokens::from_file(&self.path)
    }

    /// Returns the fingerprint of the file, if there is one.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let status = self.path.metadata().ok()?;
        Some((status.modified().ok()?, status.len(), status.ino(), status.mode()))
    }

    /// Whether clients can reach a path whose parents are not links.
    fn is_served(&self, entry: &Path) -> bool {
        let path = AbsPath::of(entry.to_path_buf(), entry.display().to_string());
        let found = self.disk.probe_link(&path, &Context::default());
        !matches!(found, Err(Error::PermissionDenied { .. }))
    }
}

/// Returns the canonical path of a file, and those of all links that lead to it.
fn entries_on_the_way(path: &Path) -> io::Result<Vec<PathBuf>> {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().map(|part| part.as_os_str().to_os_string()).collect()
    };
    let mut ahead = VecDeque::from(parts(path));
    let (mut here, mut links) = (PathBuf::from("/"), Vec::new());
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            here.pop();
            continue;
        }
        // The part is `/` if a link is absolute.
        let entry = here.join(part);
        match entry.read_link() {
            Ok(_) if links.len() == MAX_LINKS => return Err(io::Error::other("too many links")),
            Ok(target) => {
                parts(&target).into_iter().rev().for_each(|part| ahead.push_front(part));
                links.push(entry);
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => here = entry,
            Err(error) => return Err(error),
        }
    }
    links.push(here);
    Ok(links)
}
