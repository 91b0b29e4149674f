//! Reads the same lines of many files on several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::sync::lock;
use recto_store::{Context, Listing, Store};

use super::ReadEnv;
use super::rows::{self, Budget, FileRows, Wanted};
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
    budget: Budget,
    started: Instant,
    next: AtomicUsize,
    n_rows: AtomicUsize,
    n_bytes: AtomicUsize,
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
        ManyFiles {
            context: env.context,
            store,
            folder,
            wanted,
            files: &listing.files,
            budget: Budget {
                max_bytes: limits::BYTES_OF_MANY.min(env.delivery.max_bytes),
                max_rows: limits::ROWS_OF_MANY,
                max_line: limits::LINE_OF_MANY,
            },
            started: Instant::now(),
            next: AtomicUsize::new(0),
            n_rows: AtomicUsize::new(0),
            n_bytes: AtomicUsize::new(0),
            is_over: AtomicBool::new(listing.stopped.is_some()),
            n_binary: AtomicU64::new(0),
            n_unreadable: AtomicU64::new(0),
        }
    }

    /// Returns the first files with rows, up to the budget, and whether there are more.
    pub fn choose(&self) -> Result<(Vec<(&'a str, FileRows)>, bool)> {
        let found = self.run()?;
        let mut chosen = Vec::new();
        let (mut n_rows, mut n_bytes) = (limits::ROWS_OF_MANY, self.budget.max_bytes);
        let mut is_cut = self.is_over.load(Ordering::Relaxed);
        for (file, read) in self.files.iter().zip(found) {
            let Some(mut read) = read.filter(|read| !read.rows.is_empty()) else { continue };
            // The first file always contributes a row.
            let max_bytes = if chosen.is_empty() { usize::MAX } else { n_bytes };
            is_cut |= read.cut(n_rows, max_bytes) || read.next.is_some();
            if read.rows.is_empty() {
                is_cut = true;
                break;
            }
            n_rows -= read.rows.len();
            n_bytes = n_bytes.saturating_sub(read.n_bytes);
            chosen.push((file.as_str(), read));
        }
        Ok((chosen, is_cut))
    }

    /// Returns the note for a search that ran out of time.
    pub fn time_is_over(&self) -> Option<String> {
        let n_seen = self.next.load(Ordering::Relaxed);
        let n_left = self.files.len().saturating_sub(n_seen);
        let is_late = self.started.elapsed() > limits::SEARCH_TIME;
        (is_late && n_left > 0).then(|| {
            format!(
                "stopped after {} s; {n_left} files were not searched",
                limits::SEARCH_TIME.as_secs()
            )
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
                || self.n_rows.load(Ordering::Relaxed) > self.budget.max_rows
                || self.n_bytes.load(Ordering::Relaxed) > self.budget.max_bytes
                || self.context.cancel.check().is_err()
            {
                self.is_over.store(true, Ordering::Relaxed);
                return;
            }
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.files.get(index) else { return };
            let path = AbsPath::of(self.folder.as_path().join(file), file.clone());
            let text = reader.text(&path).map_err(Error::from);
            match text.and_then(|text| rows::read(text, &path, self.wanted, self.budget)) {
                Ok(rows) if rows.rows.is_empty() => {}
                Ok(rows) => {
                    self.n_rows.fetch_add(rows.rows.len(), Ordering::Relaxed);
                    self.n_bytes.fetch_add(rows.n_bytes, Ordering::Relaxed);
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
