//! Work that is done after an answer: a thread keeps old contents, compares them with the last
//! recorded version, writes checkpoints and removes what is too old.
//!
//! The thread starts with the first change. It has a connection of its own, so that a checkpoint does
//! not delay the next change. Work that a killed process did not finish is missing from the journal:
//! the change itself can still be undone, but not across changes by other programs before it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use recto_store::sync::lock;
use rusqlite::{TransactionBehavior, params};

use crate::database::Database;
use crate::error::Result;
use crate::hunk::Hunks;
use crate::keeping::{self, Limits};
use crate::packed::pack;
use crate::reader::content_after;
use crate::state_dir::StateDir;

/// How long the thread waits before it starts, so that the answer is sent first.
const HEAD_START: Duration = Duration::from_millis(2);

/// The most bytes that wait for the thread. Beyond it contents are not kept.
const MAX_WAITING: usize = 64 << 20;

/// The size of the write-ahead log from which it is copied into the database.
const MAX_LOG: u64 = 4 << 20;

/// How often old changes are removed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);

/// Something to do after an answer.
pub enum Job {
    /// Keeps the content before a change.
    Keep {
        /// The change.
        change: u64,
        /// The record of what another program changed before it, and the change before that.
        foreign: Option<(u64, u64)>,
        /// The content.
        content: Vec<u8>,
    },
}

enum Message {
    Job(Job),
    Changed,
    Flush(Sender<()>),
}

/// Sends work to the thread.
pub struct Later {
    dir: StateDir,
    limits: Limits,
    thread: Mutex<Option<(Sender<Message>, JoinHandle<()>)>>,
    n_waiting: Arc<AtomicUsize>,
}

impl Later {
    /// Starts nothing yet.
    pub fn new(dir: StateDir, limits: Limits) -> Later {
        Later { dir, limits, thread: Mutex::default(), n_waiting: Arc::default() }
    }

    /// Leaves work for later, after a change.
    pub fn push(&self, jobs: Vec<Job>) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let (sender, receiver) = channel();
            let (dir, limits, n_waiting) = (self.dir.clone(), self.limits, self.n_waiting.clone());
            let worker = Worker { dir, limits, n_waiting, database: None, pruned: None };
            let run = move || worker.run(&receiver);
            let spawned = std::thread::Builder::new().name("recto-later".into()).spawn(run);
            *thread = spawned.ok().map(|handle| (sender, handle));
        }
        let Some((sender, _)) = &*thread else { return };
        for job in jobs {
            let n_bytes = job.n_bytes();
            if self.n_waiting.load(Ordering::Relaxed) + n_bytes <= MAX_WAITING {
                self.n_waiting.fetch_add(n_bytes, Ordering::Relaxed);
                let _ = sender.send(Message::Job(job));
            }
        }
        let _ = sender.send(Message::Changed);
    }

    /// Waits until everything is done.
    pub fn flush(&self) {
        let (done, receiver) = channel();
        if let Some((sender, _)) = &*lock(&self.thread) {
            let _ = sender.send(Message::Flush(done));
        } else {
            return;
        }
        let _ = receiver.recv();
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        if let Some((sender, handle)) = lock(&self.thread).take() {
            drop(sender);
            let _ = handle.join();
        }
    }
}

impl Job {
    fn n_bytes(&self) -> usize {
        let Job::Keep { content, .. } = self;
        content.len()
    }
}

struct Worker {
    dir: StateDir,
    limits: Limits,
    n_waiting: Arc<AtomicUsize>,
    database: Option<Database>,
    pruned: Option<Instant>,
}

impl Worker {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(message) = messages.recv() {
            if !matches!(message, Message::Flush(_)) {
                std::thread::sleep(HEAD_START);
            }
            let mut is_changed = false;
            for message in [message].into_iter().chain(messages.try_iter()) {
                match message {
                    Message::Job(job) => {
                        let n_bytes = job.n_bytes();
                        // A job that fails leaves the journal incomplete, but right.
                        let _ = self.work(job);
                        self.n_waiting.fetch_sub(n_bytes, Ordering::Relaxed);
                    }
                    Message::Changed => is_changed = true,
                    Message::Flush(done) => {
                        let _ = done.send(());
                    }
                }
            }
            if is_changed {
                let _ = self.maintain();
            }
        }
    }

    fn database(&mut self) -> Result<&mut Database> {
        if self.database.is_none() {
            let _lock = self.dir.lock()?;
            self.database = Some(Database::open(&self.dir)?);
        }
        Ok(self.database.as_mut().expect("it was opened"))
    }

    fn work(&mut self, job: Job) -> Result<()> {
        let Job::Keep { change, foreign, content } = job;
        let packed = pack(&content);
        let dir = self.dir.clone();
        let database = self.database()?;
        database.sync_commits(false)?;
        let hunks = match foreign {
            Some((_, last)) => content_after(database, last)?.map(|last| {
                pack(&Hunks::between(last.as_deref().unwrap_or_default(), &content).encode())
            }),
            None => None,
        };
        let _lock = dir.lock()?;
        let connection = &mut database.connection;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // The change may not have happened.
        let keep = "INSERT OR IGNORE INTO contents SELECT id, ? FROM changes WHERE id = ?";
        transaction.prepare_cached(keep)?.execute(params![packed, change as i64])?;
        if let Some((foreign, _)) = foreign.filter(|_| hunks.is_some()) {
            let update = "UPDATE changes SET hunks = ? WHERE id = ?";
            transaction.prepare_cached(update)?.execute(params![hunks, foreign as i64])?;
        }
        Ok(transaction.commit()?)
    }

    fn maintain(&mut self) -> Result<()> {
        let log = self.dir.database().with_extension("db-wal");
        if log.metadata().is_ok_and(|status| status.len() > MAX_LOG) {
            let database = self.database()?;
            database.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
        if self.pruned.is_none_or(|at| at.elapsed() > PRUNE_INTERVAL) {
            let (dir, limits) = (self.dir.clone(), self.limits);
            let is_complete = !keeping::prune_step(&dir, self.database()?, limits)?;
            // Otherwise the next change continues.
            self.pruned = is_complete.then(Instant::now);
        }
        Ok(())
    }
}
