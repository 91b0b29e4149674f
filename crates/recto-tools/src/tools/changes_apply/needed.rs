//! Counts what a call needs, so that it is rejected before it needs too much.

use std::collections::HashSet;
use std::path::PathBuf;

use recto_store::error::{Error as StoreError, SizeLimit};
use recto_store::limits::{TRANSACTION_BYTES, TRANSACTION_DIRS, TRANSACTION_FILES};
use recto_store::path::AbsPath;
use recto_store::{Context, Result};
use recto_text::plan::Growth;

use super::super::edit::too_much_at_once;
use crate::error::Error;

/// How often the content of a file exists: before and after, encoded and as text.
const COPIES: u64 = 3;

/// What a call needs so far.
#[derive(Default)]
pub struct Needed {
    /// The bytes of all files that were read.
    n_bytes: u64,
    /// The memory for what the edits add to them.
    n_memory_added: u64,
    /// The files that match patterns.
    n_matches: u64,
    /// Their directories.
    dirs: HashSet<PathBuf>,
}

impl Needed {
    /// Counts a file that matches a pattern.
    pub fn add_match(&mut self, path: &AbsPath, n_bytes: u64, context: &Context) -> Result<()> {
        self.n_matches += 1;
        check("files", self.n_matches, TRANSACTION_FILES as u64)?;
        if let Some(dir) = path.as_path().parent().filter(|dir| !self.dirs.contains(*dir)) {
            self.dirs.insert(dir.to_path_buf());
            check("directories", self.dirs.len() as u64, TRANSACTION_DIRS as u64)?;
        }
        self.add_bytes(path, n_bytes, context)
    }

    /// Counts bytes that the call needs in memory, and reserves them.
    pub fn add_bytes(&mut self, path: &AbsPath, n_bytes: u64, context: &Context) -> Result<()> {
        if n_bytes > TRANSACTION_BYTES {
            let (path, limit) = (path.to_string(), SizeLimit::Change);
            return Err(StoreError::TooLarge { path, n_bytes, limit });
        }
        self.n_bytes += n_bytes;
        check("bytes", self.n_bytes, TRANSACTION_BYTES)?;
        let kept = context.keep_growing_memory(COPIES * self.n_bytes + self.n_memory_added);
        kept.map_err(|reason| reason.for_file(path, n_bytes))
    }

    /// Rejects edits that add too much text to a file, and reserves memory for others.
    pub fn check_growth(
        &self,
        path: &AbsPath,
        growth: Growth,
        context: &Context,
    ) -> Result<(), Error> {
        let n_memory = COPIES * self.n_bytes + self.n_memory_added + growth.n_memory() as u64;
        let kept = context.keep_growing_memory(n_memory);
        kept.map_err(|reason| too_much_at_once(reason, growth, path))
    }

    /// Counts what the edits of a file add.
    pub fn add_growth(&mut self, growth: Growth) {
        self.n_memory_added += growth.n_memory() as u64;
    }
}

fn check(what: &'static str, n: u64, limit: u64) -> Result<()> {
    if n > limit { Err(StoreError::TooMany { what, n, limit }) } else { Ok(()) }
}
