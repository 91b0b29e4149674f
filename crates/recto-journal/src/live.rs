//! Which sessions are running: each process that records changes locks a file of its own until it ends.
//! The file lists the sessions of a process that has several.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;

use recto_platform::{Handle, SysError};

use crate::state_dir::StateDir;

/// The directory of the files. Their names are that of the session, a dot and the process id.
const DIR: &str = "live";

/// How many further sessions of one process are listed. If there are more, the oldest count as ended.
const MAX_NAMED: usize = 1024;

/// The number of bytes of a list that are read.
const MAX_LIST: u64 = 1 << 20;

/// Marks sessions as running. Dropping it removes the mark; if the process is killed, the lock is free.
pub struct LiveMark {
    path: PathBuf,
    file: File,
    _lock: Handle,
    /// The sessions besides that of the process.
    named: Vec<String>,
}

impl LiveMark {
    /// Marks a session. Returns `None` if that is not possible; the session then counts as ended.
    pub fn new(dir: &StateDir, session: &str) -> Option<LiveMark> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if session.is_empty() || !session.chars().all(is_plain) {
            return None;
        }
        let folder = dir.path().join(DIR);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let path = folder.join(format!("{session}.{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).ok()?;
        let handle = Handle::from(file.try_clone().ok()?);
        handle.try_lock().ok()?;
        Some(LiveMark { path, file, _lock: handle, named: Vec::new() })
    }

    /// Lists a session of this process.
    pub fn add(&mut self, session: &str) {
        if session.contains('\n') || self.named.iter().any(|one| one == session) {
            return;
        }
        if self.named.len() == MAX_NAMED {
            self.named.remove(0);
        }
        self.named.push(session.into());
        self.write();
    }

    /// Removes a session from the list.
    pub fn remove(&mut self, session: &str) {
        if let Some(index) = self.named.iter().position(|one| one == session) {
            self.named.remove(index);
            self.write();
        }
    }

    /// A reader may find the list incomplete, and reads it again later.
    fn write(&self) {
        let text = self.named.join("\n");
        let _ = self.file.set_len(0).and_then(|()| self.file.write_all_at(text.as_bytes(), 0));
    }
}

impl Drop for LiveMark {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl StateDir {
    /// Returns the sessions that are running, and removes marks of processes that were killed.
    pub fn live_sessions(&self) -> HashSet<String> {
        let mut sessions = HashSet::new();
        let entries = self.path().join(DIR).read_dir().into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some((session, _)) = name.to_str().and_then(|name| name.rsplit_once('.')) else {
                continue;
            };
            let Ok(file) = OpenOptions::new().read(true).append(true).open(entry.path()) else {
                continue;
            };
            let mut list = String::new();
            let _ = (&file).take(MAX_LIST).read_to_string(&mut list);
            match Handle::from(file).try_lock() {
                Err(SysError::AGAIN) => {
                    sessions.insert(session.to_string());
                    sessions.extend(list.lines().map(String::from));
                }
                Ok(()) => {
                    let _ = std::fs::remove_file(entry.path());
                }
                Err(_) => {}
            }
        }
        sessions
    }
}
