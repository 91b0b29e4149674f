//! Reads the same lines of many files on several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use std::path::{Path, PathBuf};

use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::sync::lock;
use recto_store::{BulkReader, Context, Listing, Note, Store};

use super::ReadEnv;
use recto_text::Size;

use super::rows::{self, FileRows, Limits, Wanted};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::limits;

/// More threads do not speed up a search.
const MAX_THREADS: usize = 8;

/// How many files a thread takes at a time, at most, and how many more of the last directory: threads
/// should not open the same directories.
const MAX_TAKEN: usize = 256;
const MAX_MORE_OF_DIR: usize = 64;

/// Reads the same lines of many files on several threads. Threads take files in order, so that a
/// search that stops early has the first rows.
pub struct ManyFiles<'a, S: ?Sized> {
    context: &'a Context,
    store: &'a S,
    folder: &'a AbsPath,
    wanted: &'a Wanted,
    files: &'a [String],
    limits: Limits,
    started: Instant,
    n_threads: usize,
    next: AtomicUsize,
    n_rows: AtomicUsize,
    left: Mutex<Budget>,
    is_full: AtomicBool,
    is_over: AtomicBool,
    n_unfinished: AtomicU64,
    skipped: Skipped,
}

/// How many files were not searched.
#[derive(Default)]
pub struct Skipped {
    pub n_binary: AtomicU64,
    pub n_too_large: AtomicU64,
    pub n_unreadable: AtomicU64,
}

impl<'a, S: Store + ?Sized> ManyFiles<'a, S> {
    pub fn new(
        env: &'a ReadEnv<'a>,
        store: &'a S,
        folder: &'a AbsPath,
        wanted: &'a Wanted,
        listing: &'a Listing,
    ) -> ManyFiles<'a, S> {
        let limits = limits_of_many(env);
        let n_threads = recto_store::limits::n_threads().min(MAX_THREADS);
        ManyFiles {
            context: env.context,
            store,
            folder,
            wanted,
            files: &listing.files,
            limits,
            started: Instant::now(),
            n_threads: n_threads.min(listing.files.len().div_ceil(16)).max(1),
            next: AtomicUsize::new(0),
            n_rows: AtomicUsize::new(0),
            left: Mutex::new(limits.budget),
            is_full: AtomicBool::new(false),
            is_over: AtomicBool::new(listing.stopped.is_some()),
            n_unfinished: AtomicU64::new(0),
            skipped: Skipped::default(),
        }
    }

    /// Returns the first files with matches, up to the budget, and whether there are more. Paths
    /// start with `shown`; `in_text` returns how text spells them.
    pub fn choose(
        &self,
        shown: &Path,
        in_text: impl Fn(&str) -> String,
    ) -> Result<(Vec<FoundFile>, bool)> {
        let found = self.run()?;
        let mut chosen = Vec::new();
        let Limits { mut max_rows, mut budget, .. } = self.limits;
        let mut is_cut = self.is_over.load(Ordering::Relaxed);
        for (index, mut read) in found {
            let path = shown.join(&self.files[index]).display().to_string();
            let in_text = in_text(&path);
            let size = Size::of(&path);
            // In the text, a path has its own line after an empty one, with its hash or count. In the
            // object it is in the list of files, with the same, and in each row.
            let has_path = budget.spend(Size {
                bytes: in_text.len() + ", hash 0123456789ab\n\n".len(),
                json: size.json
                    + r#"{"file_path":"","hash":"0123456789ab","matches":},"#.len()
                    + 20,
            });
            let in_row = Size { bytes: 0, json: size.json + r#","file_path":"""#.len() };
            is_cut |= !has_path || read.cut(max_rows, &mut budget, in_row) || read.next.is_some();
            if !has_path || (read.rows.is_empty() && !self.wanted.is_count) {
                break;
            }
            max_rows -= read.rows.len();
            chosen.push(FoundFile { path, in_text, read });
        }
        Ok((chosen, is_cut))
    }

    /// Returns the note for a search that ran out of time.
    pub fn time_is_over(&self) -> Option<String> {
        let n_seen = self.next.load(Ordering::Relaxed);
        let n_unfinished = self.n_unfinished.load(Ordering::Relaxed) as usize;
        let n_left = self.files.len().saturating_sub(n_seen) + n_unfinished;
        let is_late = self.started.elapsed() > limits::SEARCH_TIME;
        (is_late && n_left > 0).then(|| {
            let files = if n_left == 1 { "file was" } else { "files were" };
            let n_seconds = limits::SEARCH_TIME.as_secs();
            format!("stopped after {n_seconds} s; {n_left} {files} not searched to the end")
        })
    }

    /// Returns how many files were not searched.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the files with rows, by index, in the order of the list.
    fn run(&self) -> Result<Vec<(usize, FileRows)>> {
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 1..self.n_threads {
                scope.spawn(|| self.work(&found));
            }
            self.work(&found);
        });
        self.context.cancel.check()?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|(index, _)| *index);
        Ok(found)
    }

    /// Whether the time is over, or the caller cancelled the call.
    fn must_stop(&self) -> bool {
        self.started.elapsed() > limits::SEARCH_TIME || self.context.cancel.check().is_err()
    }

    fn work(&self, found: &Mutex<Vec<(usize, FileRows)>>) {
        let mut reader = self.store.bulk(self.context);
        // Threads that share a pattern would wait for each other.
        let wanted = self.wanted.clone();
        let mut path = AbsPath::of(PathBuf::new(), String::new());
        loop {
            if self.n_rows.load(Ordering::Relaxed) > self.limits.max_rows
                || self.is_full.load(Ordering::Relaxed)
            {
                self.is_over.store(true, Ordering::Relaxed);
                return;
            }
            let mut end = 0;
            let take = |start| {
                end = self.end_of_part(start);
                (start < end).then_some(end)
            };
            let Ok(start) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            else {
                return;
            };
            for index in start..end {
                if self.must_stop() {
                    self.n_unfinished.fetch_add((end - index) as u64, Ordering::Relaxed);
                    self.is_over.store(true, Ordering::Relaxed);
                    return;
                }
                path.set_below(self.folder.as_path(), &self.files[index]);
                if let Some(rows) = self.search(&mut *reader, &path, &wanted) {
                    lock(found).push((index, rows));
                }
            }
        }
    }

    /// Returns the end of the files that a thread takes. The first parts are small, because a search may
    /// end soon, and so are the last ones, so that the threads end at about the same time.
    fn end_of_part(&self, start: usize) -> usize {
        let n_files = self.files.len();
        let n_left = n_files.saturating_sub(start);
        let n_taken = (start / 8).min(n_left / (16 * self.n_threads)).clamp(1, MAX_TAKEN);
        let mut end = (start + n_taken).min(n_files);
        let max = (end + MAX_MORE_OF_DIR.min(3 * n_taken)).min(n_files);
        while (1..max).contains(&end) && dir_of(&self.files[end]) == dir_of(&self.files[end - 1]) {
            end += 1;
        }
        end
    }

    /// Returns the rows of a file with matches, and counts it otherwise.
    fn search(
        &self,
        reader: &mut dyn BulkReader,
        path: &AbsPath,
        wanted: &Wanted,
    ) -> Option<FileRows> {
        let skipped = match self.read(reader, path, wanted) {
            Ok(Some(rows)) => {
                if rows.is_partial {
                    self.context.notes.add(Note::LongLinesCut);
                }
                if rows.is_stopped {
                    self.n_unfinished.fetch_add(1, Ordering::Relaxed);
                    self.is_over.store(true, Ordering::Relaxed);
                }
                if rows.rows.is_empty() && rows.n_hits == 0 {
                    return None;
                }
                self.n_rows.fetch_add(rows.rows.len(), Ordering::Relaxed);
                let mut left = lock(&self.left);
                if !rows.rows.iter().all(|row| left.spend(row.size(rows.total_lines))) {
                    self.is_full.store(true, Ordering::Relaxed);
                }
                return Some(FileRows { document: None, ..rows });
            }
            Err(Error::Store(StoreError::BinaryFile { .. })) => &self.skipped.n_binary,
            Err(Error::Store(StoreError::TooLarge { .. })) => &self.skipped.n_too_large,
            // The file has no match, was removed meanwhile, or is a submodule.
            Ok(None)
            | Err(Error::Store(
                StoreError::FileNotFound { .. }
                | StoreError::NotAFile { .. }
                | StoreError::Cancelled,
            )) => return None,
            Err(_) => &self.skipped.n_unreadable,
        };
        skipped.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Reads a file, or returns `None` if it has no match.
    fn read(
        &self,
        reader: &mut dyn BulkReader,
        path: &AbsPath,
        wanted: &Wanted,
    ) -> Result<Option<FileRows>> {
        let stop = || self.must_stop();
        // Most files have no match, and need no line numbers and no hash.
        let text = match &wanted.needle {
            Some(needle) => reader.text_if(path, &|text| needle.occurs_in(text, &stop))?,
            None => Some(reader.text(path)?),
        };
        text.map(|text| rows::read(text, path, wanted, self.limits, &stop)).transpose()
    }
}

/// Returns the directory of a path, or nothing.
fn dir_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// A file with matches.
pub struct FoundFile {
    pub path: String,
    /// The path as text shows it.
    pub in_text: String,
    pub read: FileRows,
}

/// Returns the limits of an answer about many files.
fn limits_of_many(env: &ReadEnv<'_>) -> Limits {
    let budget = Budget::content(env.delivery);
    // Of a small answer, one line takes only a part.
    let max_line = limits::LINE_OF_MANY.min(budget.left().bytes / 4);
    Limits {
        budget,
        max_rows: limits::ROWS_OF_MANY,
        max_line: Size { bytes: max_line, json: 2 * max_line },
    }
}
