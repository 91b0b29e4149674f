//! Reads the same lines of many files on several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use std::path::Path;

use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::sync::lock;
use recto_store::{Context, Listing, Store};

use super::ReadEnv;
use recto_text::Size;
use recto_text::quote::OneLine;

use super::rows::{self, FileRows, Limits, Wanted};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::limits;

/// More threads do not speed up a search.
const MAX_THREADS: usize = 8;

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
    next: AtomicUsize,
    n_rows: AtomicUsize,
    left: Mutex<Budget>,
    is_full: AtomicBool,
    is_over: AtomicBool,
    n_binary: AtomicU64,
    n_unreadable: AtomicU64,
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
        ManyFiles {
            context: env.context,
            store,
            folder,
            wanted,
            files: &listing.files,
            limits,
            started: Instant::now(),
            next: AtomicUsize::new(0),
            n_rows: AtomicUsize::new(0),
            left: Mutex::new(limits.budget),
            is_full: AtomicBool::new(false),
            is_over: AtomicBool::new(listing.stopped.is_some()),
            n_binary: AtomicU64::new(0),
            n_unreadable: AtomicU64::new(0),
        }
    }

    /// Returns the first files with rows, up to the budget, and whether there are more. Paths are
    /// shown relative to `shown`.
    pub fn choose(&self, shown: &Path) -> Result<(Vec<(String, FileRows)>, bool)> {
        let found = self.run()?;
        let mut chosen = Vec::new();
        let Limits { mut max_rows, mut budget, .. } = self.limits;
        let mut is_cut = self.is_over.load(Ordering::Relaxed);
        for (file, read) in self.files.iter().zip(found) {
            let Some(mut read) = read.filter(|read| !read.rows.is_empty()) else { continue };
            let path = shown.join(file).display().to_string();
            // In the text, a path has its own line after an empty one; in the object, each row has it.
            let n_shown = OneLine(&path).to_string().len();
            let has_path = budget.spend(Size { bytes: n_shown + 2, json: 0 });
            let in_row = Size { bytes: 0, json: Size::of(&path).json + r#","file_path":"""#.len() };
            is_cut |= !has_path || read.cut(max_rows, &mut budget, in_row) || read.next.is_some();
            if !has_path || read.rows.is_empty() {
                break;
            }
            max_rows -= read.rows.len();
            chosen.push((path, read));
        }
        Ok((chosen, is_cut))
    }

    /// Returns the note for a search that ran out of time.
    pub fn time_is_over(&self) -> Option<String> {
        let n_seen = self.next.load(Ordering::Relaxed);
        let n_left = self.files.len().saturating_sub(n_seen);
        let is_late = self.started.elapsed() > limits::SEARCH_TIME;
        (is_late && n_left > 0).then(|| {
            let files = if n_left == 1 { "file was" } else { "files were" };
            let n_seconds = limits::SEARCH_TIME.as_secs();
            format!("stopped after {n_seconds} s; {n_left} {files} not searched")
        })
    }

    /// Returns the number of files that are not text.
    pub fn n_binary(&self) -> u64 {
        self.n_binary.load(Ordering::Relaxed)
    }

    /// Returns the number of files that could not be read.
    pub fn n_unreadable(&self) -> u64 {
        self.n_unreadable.load(Ordering::Relaxed)
    }

    /// Returns the rows of each file, in the order of the list.
    fn run(&self) -> Result<Vec<Option<FileRows>>> {
        let found = Mutex::new(Vec::new());
        let n_threads = recto_store::limits::n_threads();
        let n_threads = n_threads.min(MAX_THREADS).min(self.files.len().div_ceil(16)).max(1);
        std::thread::scope(|scope| {
            for _ in 1..n_threads {
                scope.spawn(|| self.work(&found));
            }
            self.work(&found);
        });
        self.context.cancel.check()?;
        let mut by_file: Vec<Option<FileRows>> = Vec::new();
        by_file.resize_with(self.files.len(), || None);
        for (index, rows) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            by_file[index] = Some(rows);
        }
        Ok(by_file)
    }

    fn work(&self, found: &Mutex<Vec<(usize, FileRows)>>) {
        let mut reader = self.store.bulk(self.context);
        loop {
            if self.started.elapsed() > limits::SEARCH_TIME
                || self.n_rows.load(Ordering::Relaxed) > self.limits.max_rows
                || self.is_full.load(Ordering::Relaxed)
                || self.context.cancel.check().is_err()
            {
                self.is_over.store(true, Ordering::Relaxed);
                return;
            }
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.files.get(index) else { return };
            let path = AbsPath::of(self.folder.as_path().join(file), file.clone());
            let text = reader.text(&path).map_err(Error::from);
            match text.and_then(|text| rows::read(text, &path, self.wanted, self.limits)) {
                Ok(rows) if rows.rows.is_empty() => {}
                Ok(rows) => {
                    self.n_rows.fetch_add(rows.rows.len(), Ordering::Relaxed);
                    let mut left = lock(&self.left);
                    if !rows.rows.iter().all(|row| left.spend(row.size(rows.total_lines))) {
                        self.is_full.store(true, Ordering::Relaxed);
                    }
                    drop(left);
                    lock(found).push((index, rows));
                }
                Err(Error::Store(StoreError::BinaryFile { .. })) => {
                    self.n_binary.fetch_add(1, Ordering::Relaxed);
                }
                // The file was removed meanwhile, or is a submodule.
                Err(Error::Store(
                    StoreError::FileNotFound { .. }
                    | StoreError::NotAFile { .. }
                    | StoreError::Cancelled,
                )) => {}
                Err(_) => {
                    self.n_unreadable.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
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
