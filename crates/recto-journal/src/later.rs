//! Work that is done after an answer: a thread records outcomes, keeps old contents, compares them with
//! the last recorded version, writes checkpoints and removes what is too old.
//!
//! The thread starts with the first change. It has a connection of its own, so that a checkpoint does
//! not delay the next change. Work that a killed process did not finish is missing from the journal:
//! outcomes are found by what is in the files; the change itself can still be undone, but not across
//! changes by other programs before it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use recto_store::sync::lock;
use rusqlite::{Transaction, TransactionBehavior, params};

use crate::database::Database;
use crate::digest::Digests;
use crate::error::Result;
use crate::hunk::Hunks;
use crate::keeping::{self, Limits};
use crate::packed::pack;
use crate::reader::content_after;
use crate::state_dir::StateDir;

/// How long no change is made before the thread starts, so that answers are sent first, and changes
/// that follow each other do not wait for it.
const QUIET: Duration = Duration::from_millis(3);

/// How long the thread waits for such a time.
const MAX_DELAY: Duration = Duration::from_millis(30);

/// The most bytes that wait for the thread. Beyond it contents are not kept.
const MAX_WAITING: usize = 64 << 20;

/// The number of bytes in the write-ahead log after which they are copied into the database.
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

/// The outcome of a change.
#[derive(Clone)]
pub struct Settled {
    /// Those of the database that contains its record.
    pub digests: Arc<Digests>,
    /// The change.
    pub change: u64,
    /// Whether it was made.
    pub is_done: bool,
}

/// Outcomes that are not recorded yet.
type Outcomes = Arc<Mutex<Vec<Settled>>>;

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
    outcomes: Outcomes,
}

impl Later {
    /// Starts nothing yet.
    pub fn new(dir: StateDir, limits: Limits) -> Later {
        let (n_waiting, outcomes) = (Arc::default(), Outcomes::default());
        Later { dir, limits, thread: Mutex::default(), n_waiting, outcomes }
    }

    /// Returns the outcomes that are not recorded yet.
    pub fn outcomes(&self) -> Vec<Settled> {
        lock(&self.outcomes).clone()
    }

    /// Forgets outcomes after they are committed. Others stay for the next transaction: without them
    /// a change would be uncertain if later ones are not recorded, for example on a full disk.
    pub fn forget(&self, recorded: &[Settled]) {
        forget(&self.outcomes, recorded);
    }

    /// Leaves an outcome for the next transaction.
    pub fn settle(&self, settled: Option<Settled>) {
        lock(&self.outcomes).extend(settled);
    }

    /// Leaves work for later, after a change.
    pub fn push(&self, jobs: Vec<Job>) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let (sender, receiver) = channel();
            let (dir, limits, n_waiting) = (self.dir.clone(), self.limits, self.n_waiting.clone());
            let outcomes = self.outcomes.clone();
            let database = None;
            let worker =
                Worker { dir, limits, n_waiting, outcomes, database, n_copied: 0, pruned: None };
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
    outcomes: Outcomes,
    database: Option<Database>,
    /// The number of bytes that were in the log when it was copied.
    n_copied: u64,
    pruned: Option<Instant>,
}

impl Worker {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(message) = messages.recv() {
            let mut waiting = vec![message];
            let start = Instant::now();
            while !matches!(waiting.last(), Some(Message::Flush(_)))
                && start.elapsed() < MAX_DELAY
                && let Ok(message) = messages.recv_timeout(QUIET)
            {
                waiting.push(message);
            }
            let mut is_changed = false;
            for message in waiting {
                match message {
                    Message::Job(job) => {
                        let n_bytes = job.n_bytes();
                        // A job that fails leaves the journal incomplete, but right.
                        let _ = self.work(job);
                        self.n_waiting.fetch_sub(n_bytes, Ordering::Relaxed);
                    }
                    Message::Changed => is_changed = true,
                    Message::Flush(done) => {
                        let _ = self.settle();
                        let _ = done.send(());
                    }
                }
            }
            if is_changed {
                let _ = self.settle();
                let _ = self.maintain();
            }
        }
    }

    fn database(&mut self) -> Result<&mut Database> {
        if !self.database.as_ref().is_some_and(|database| database.is_current(&self.dir)) {
            self.database = None;
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

    fn settle(&mut self) -> Result<()> {
        let outcomes = lock(&self.outcomes).clone();
        if outcomes.is_empty() {
            return Ok(());
        }
        let dir = self.dir.clone();
        let database = self.database()?;
        let _lock = dir.lock()?;
        let connection = &mut database.connection;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        record_outcomes(&transaction, &database.digests, &outcomes)?;
        transaction.commit()?;
        forget(&self.outcomes, &outcomes);
        Ok(())
    }

    fn maintain(&mut self) -> Result<()> {
        self.maintain_log()?;
        if self.pruned.is_none_or(|at| at.elapsed() > PRUNE_INTERVAL) {
            let (dir, limits) = (self.dir.clone(), self.limits);
            let is_complete = !keeping::prune_step(&dir, self.database()?, limits)?;
            // Otherwise the next change continues.
            self.pruned = is_complete.then(Instant::now);
        }
        Ok(())
    }

    /// Copies a long log into the database, and extends one that is almost used up.
    fn maintain_log(&mut self) -> Result<()> {
        let (dir, n_copied) = (self.dir.clone(), self.n_copied);
        let database = self.database()?;
        let Some(log) = database.log.clone() else { return Ok(()) };
        let connection = &database.connection;
        let checkpoint = |mode: &str| -> Result<u64> {
            let pragma = format!("PRAGMA wal_checkpoint({mode})");
            let n_frames: i64 = connection.query_row(&pragma, [], |row| row.get(1))?;
            Ok(n_frames.max(0) as u64 * log.n_frame_bytes)
        };
        let n_bytes = checkpoint("NOOP")?;
        // The log starts over when all of it is copied.
        let n_copied = if n_bytes < n_copied { 0 } else { n_copied };
        if n_bytes >= n_copied + MAX_LOG {
            checkpoint("PASSIVE")?;
            // With the lock, for what was added meanwhile: otherwise the log might never start over.
            let _lock = dir.lock()?;
            self.n_copied = checkpoint("PASSIVE")?;
            return Ok(());
        }
        let mut is_long = !log.is_short(n_bytes)?;
        while !is_long {
            let lock = dir.lock()?;
            is_long = log.extend(checkpoint("NOOP")?)?;
            drop(lock);
            log.sync()?;
        }
        self.n_copied = n_copied;
        Ok(())
    }
}

fn forget(outcomes: &Mutex<Vec<Settled>>, recorded: &[Settled]) {
    let is_recorded = |one: &Settled| recorded.iter().any(|other| other.change == one.change);
    lock(outcomes).retain(|settled| !is_recorded(settled));
}

/// Records outcomes of changes in a database, which has these digests.
pub fn record_outcomes(
    transaction: &Transaction<'_>,
    database: &Digests,
    outcomes: &[Settled],
) -> Result<()> {
    for Settled { change, is_done, digests } in outcomes {
        // The database may have been replaced.
        if **digests != *database {
            continue;
        }
        let record = match is_done {
            true => "UPDATE changes SET state = 1 WHERE id = ?",
            false => "DELETE FROM changes WHERE id = ?",
        };
        transaction.prepare_cached(record)?.execute([*change as i64])?;
    }
    Ok(())
}
