//! Records changes: the intention before a change, the outcome after it.
//!
//! Nothing is opened before the first change. One connection writes; every transaction waits for the
//! lock of the state directory. What can wait until the answer is sent, such as contents, differences
//! made by other programs, checkpoints and pruning, is left to a thread: see [`crate::later`].

mod intent;

pub use intent::settle_by_evidence;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use recto_store::record::{NotRecorded, Origin, Outcome, RecordedChange, Recorder, Ticket};
use recto_store::sync::lock;
use rusqlite::{Transaction, TransactionBehavior, params};

use crate::change::State;
use crate::database::Database;
use crate::digest::Digests;
use crate::error::Result;
use crate::exclude::Excluded;
use crate::hunk::Hunks;
use crate::keeping::Limits;
use crate::later::{Job, Later};
use crate::packed::pack;
use crate::state_dir::{JournalLock, StateDir};
use intent::Described;

/// How long after a failure to open the database the next change tries again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// How a process records its changes.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Identifies the session, for all changes of this process.
    pub session: String,
    /// Patterns of files whose content is not stored.
    pub excluded: Vec<String>,
    /// How much is kept.
    pub limits: Limits,
}

/// The journal of one process.
pub struct Journal {
    dir: StateDir,
    settings: Settings,
    writer: Mutex<Writer>,
    later: Later,
}

enum Writer {
    Closed,
    Open(Box<OpenWriter>),
    Failed { cause: String, at: Instant },
}

struct OpenWriter {
    database: Database,
    digests: Arc<Digests>,
    excluded: Arc<Excluded>,
    /// Changes without an outcome yet.
    pending: HashMap<u64, Pending>,
}

/// What is needed when the outcome of a change is known.
#[derive(Default)]
struct Pending {
    jobs: Vec<Job>,
    /// The content before, for a change that an editor may make differently.
    before: Option<Vec<u8>>,
    is_excluded: bool,
}

impl Journal {
    /// Records in a state directory.
    pub fn new(dir: StateDir, settings: Settings) -> Journal {
        let later = Later::new(dir.clone(), settings.limits);
        Journal { dir, settings, writer: Mutex::new(Writer::Closed), later }
    }

    /// Returns the state directory.
    pub fn dir(&self) -> &StateDir {
        &self.dir
    }

    /// Waits until everything that was left for later is done.
    pub fn flush(&self) {
        self.later.flush();
    }

    /// Opens the database if it is not open. Fails with the cause of an earlier failure for a while.
    fn open<'a>(&self, writer: &'a mut Writer) -> Result<&'a mut OpenWriter, NotRecorded> {
        if let Writer::Failed { cause, at } = &writer
            && at.elapsed() < RETRY_AFTER
        {
            return Err(NotRecorded { cause: cause.clone() });
        }
        if !matches!(writer, Writer::Open(_)) {
            let opened = self.dir.lock().and_then(|_lock| Database::open(&self.dir));
            *writer = match opened {
                Ok(database) => Writer::Open(Box::new(OpenWriter {
                    digests: Arc::new(database.digests.clone()),
                    database,
                    excluded: Arc::new(Excluded::new(&self.settings.excluded)),
                    pending: HashMap::new(),
                })),
                Err(error) => Writer::Failed { cause: error.to_string(), at: Instant::now() },
            };
        }
        match writer {
            Writer::Open(open) => Ok(open),
            Writer::Failed { cause, .. } => Err(NotRecorded { cause: cause.clone() }),
            Writer::Closed => Err(NotRecorded { cause: "the journal is closed".into() }),
        }
    }

    /// Runs a transaction. After an error of SQLite the database is opened again for the next change.
    fn transact<T>(
        &self,
        writer: &mut MutexGuard<'_, Writer>,
        is_synced: bool,
        run: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T, NotRecorded> {
        let open = self.open(writer)?;
        let transacted = || -> Result<T> {
            open.database.sync_commits(is_synced)?;
            let _lock: JournalLock = self.dir.lock()?;
            let connection = &mut open.database.connection;
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = run(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        transacted().map_err(|error| {
            let cause = error.to_string();
            // Not for long: the disk may have space again.
            let at = Instant::now().checked_sub(RETRY_AFTER - Duration::from_secs(1));
            let at = at.unwrap_or_else(Instant::now);
            **writer = Writer::Failed { cause: cause.clone(), at };
            NotRecorded { cause }
        })
    }
}

impl Recorder for Journal {
    fn intend(&self, change: &RecordedChange<'_>, origin: &Origin) -> Result<Ticket, NotRecorded> {
        let (digests, excluded) = {
            let mut writer = lock(&self.writer);
            let open = self.open(&mut writer)?;
            (open.digests.clone(), open.excluded.clone())
        };
        let is_excluded = excluded.contains(change.root, change.path);
        // Comparing may take long, so it is done without any lock.
        let Some(described) = Described::of(change, &digests, is_excluded) else {
            return Err(NotRecorded { cause: "the file cannot be read".into() });
        };
        let mut writer = lock(&self.writer);
        let (id, jobs) = self.transact(&mut writer, true, |transaction| {
            described.insert(transaction, change, origin, &self.settings.session)
        })?;
        let before = described.before_in_editor(change);
        let pending = Pending { jobs, before, is_excluded };
        if let Writer::Open(open) = &mut *writer {
            open.pending.insert(id, pending);
        }
        Ok(Ticket(id))
    }

    fn settle(&self, ticket: Ticket, outcome: Outcome<'_>) {
        let mut writer = lock(&self.writer);
        let Writer::Open(open) = &mut *writer else { return };
        let Some(Pending { jobs, before, is_excluded }) = open.pending.remove(&ticket.0) else {
            return;
        };
        let digests = open.digests.clone();
        let id = ticket.0 as i64;
        // If this fails, the outcome is found by what is in the file.
        let _ = self.transact(&mut writer, false, |transaction| {
            match outcome {
                Outcome::Done { content_after: None } => {
                    let update = "UPDATE changes SET state = ? WHERE id = ?";
                    let mut update = transaction.prepare_cached(update)?;
                    update.execute(params![State::Done as i64, id])?;
                }
                Outcome::Done { content_after: Some(after) } => {
                    let before = before.unwrap_or_default();
                    let hunks = pack(&Hunks::between(&before, after).encode());
                    let hunks = Some(hunks).filter(|_| !is_excluded);
                    let update = "UPDATE changes SET state = ?, after = ?, n_after = ?, hunks = ? \
                        WHERE id = ?";
                    transaction.prepare_cached(update)?.execute(params![
                        State::Done as i64,
                        digests.of(after).as_bytes(),
                        after.len() as i64,
                        hunks,
                        id
                    ])?;
                }
                Outcome::NotDone => {
                    let delete = "DELETE FROM changes WHERE id = ?";
                    transaction.prepare_cached(delete)?.execute([id])?;
                }
                Outcome::Unknown => {}
            }
            Ok(())
        });
        drop(writer);
        self.later.push(jobs);
    }
}
