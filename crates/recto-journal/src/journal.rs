//! Records changes: the intention before a change, the outcome after it.
//!
//! Nothing is opened before the first change. One connection writes; every transaction waits for the
//! lock of the state directory. What can wait until the answer is sent, such as outcomes, contents,
//! differences made by other programs, checkpoints and pruning, is left to a thread: see
//! [`crate::later`].

mod intent;
mod transaction;

pub use intent::settle_by_evidence;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use recto_store::record::{
    NotRecorded, Origin, OriginSession, Outcome, RecordedChange, RecordedTransaction, Recorder,
    Ticket, TransactionState, Turn, UnfinishedTransaction, VisitBytes,
};
use recto_store::sync::lock;
use rusqlite::{Transaction, TransactionBehavior, params};

use crate::change::State;
use crate::database::Database;
use crate::digest::Digests;
use crate::error::{Error, Result};
use crate::exclude::Excluded;
use crate::hunk::Hunks;
use crate::keeping::Limits;
use crate::later::{Job, Later, Settled, record_outcomes};
use crate::live::LiveMark;
use crate::packed::pack;
use crate::state_dir::{JournalLock, StateDir};
use intent::Described;
use transaction::{Checked, RunningTransaction};

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
    turns: OnceLock<TurnSource>,
    checked: Mutex<Checked>,
}

/// Returns the current turn of the session.
pub type TurnSource = Box<dyn Fn() -> Turn + Send + Sync>;

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
    /// Transactions of this process that are not finished.
    transactions: HashMap<u64, RunningTransaction>,
    live: Option<LiveMark>,
}

impl OpenWriter {
    /// Notes that a session of this process is live.
    fn add_live(&mut self, origin: &Origin) {
        if let (OriginSession::Named(name), Some(live)) = (&origin.session, &mut self.live) {
            live.add(name);
        }
    }
}

/// What is needed when the outcome of a change is known.
#[derive(Default)]
struct Pending {
    jobs: Vec<Job>,
    /// The content before, for a change that an editor may make differently.
    before: Option<Vec<u8>>,
    is_in_editor: bool,
    is_excluded: bool,
}

impl Journal {
    /// Records in a state directory.
    pub fn new(dir: StateDir, settings: Settings) -> Journal {
        let later = Later::new(dir.clone(), settings.limits);
        let (writer, checked) = (Mutex::new(Writer::Closed), Mutex::default());
        let turns = OnceLock::new();
        Journal { dir, settings, writer, later, turns, checked }
    }

    /// Also records the turn in which each change is made.
    pub fn record_turns(&self, turn: TurnSource) {
        // The first one is kept.
        let _ = self.turns.set(turn);
    }

    /// Adds the current turn, if turns are recorded.
    fn with_turn<'a>(&self, origin: &'a Origin) -> Cow<'a, Origin> {
        match self.turns.get() {
            Some(turn) => Cow::Owned(Origin { turn: turn(), ..origin.clone() }),
            None => Cow::Borrowed(origin),
        }
    }

    /// Returns the state directory.
    pub fn dir(&self) -> &StateDir {
        &self.dir
    }

    /// Waits until everything that was left for later is done.
    pub fn flush(&self) {
        self.later.flush();
    }

    /// Returns the name of the session to which a change belongs; empty if it is unknown.
    fn session<'a>(&'a self, origin: &'a Origin) -> &'a str {
        match &origin.session {
            OriginSession::OfProcess => &self.settings.session,
            OriginSession::Named(name) => name,
            OriginSession::Unknown => "",
        }
    }

    /// Notes that a session of this process has ended while the process goes on.
    pub fn end_session(&self, name: &str) {
        if let Writer::Open(open) = &mut *lock(&self.writer)
            && let Some(live) = &mut open.live
        {
            live.remove(name);
        }
    }

    /// Opens the database if it is not open. Fails with the cause of an earlier failure for a while.
    fn open<'a>(&self, writer: &'a mut Writer) -> Result<&'a mut OpenWriter, NotRecorded> {
        if let Writer::Failed { cause, at } = &writer
            && at.elapsed() < RETRY_AFTER
        {
            return Err(NotRecorded { cause: cause.clone() });
        }
        if !matches!(writer, Writer::Open(open) if open.database.is_current(&self.dir)) {
            let opened = self.dir.lock().and_then(|_lock| Database::open(&self.dir));
            *writer = match opened {
                Ok(database) => Writer::Open(Box::new(OpenWriter {
                    digests: Arc::new(database.digests.clone()),
                    database,
                    excluded: Arc::new(Excluded::new(&self.settings.excluded)),
                    pending: HashMap::new(),
                    transactions: HashMap::new(),
                    live: LiveMark::new(&self.dir, &self.settings.session),
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
        run: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T, NotRecorded> {
        let open = self.open(writer)?;
        let transacted = || -> Result<T> {
            let _lock: JournalLock = self.dir.lock()?;
            if !open.database.is_current(&self.dir) {
                return Err(Error::Replaced);
            }
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

    /// Records the outcome of a change in an editor, whose content may differ from the intended one.
    fn settle_in_editor(
        &self,
        writer: &mut MutexGuard<'_, Writer>,
        id: u64,
        pending: &Pending,
        after: &[u8],
        digests: &Digests,
    ) {
        let before = pending.before.as_deref().unwrap_or_default();
        let hunks = || pack(&Hunks::between(before, after).encode());
        let hunks = (!pending.is_excluded).then(hunks);
        // If this fails, the outcome is found by what is in the file.
        let _ = self.transact(writer, |transaction| {
            // Text that the editor added to an undo belongs to nothing that it undid, so that it is an
            // ordinary change.
            let update = "UPDATE changes SET state = ?1, \
                undoes = CASE WHEN after IS ?2 THEN undoes END, \
                after = ?2, n_after = ?3, hunks = ?4 WHERE id = ?5";
            transaction.prepare_cached(update)?.execute(params![
                State::Done as i64,
                digests.of(after).as_bytes(),
                after.len() as i64,
                hunks,
                id as i64
            ])?;
            Ok(())
        });
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
        let origin = &*self.with_turn(origin);
        let mut writer = lock(&self.writer);
        let session = self.session(origin);
        // They cost little here, and the next change of the same file needs them.
        let outcomes = self.later.outcomes();
        let (id, jobs) = self.transact(&mut writer, |transaction| {
            record_outcomes(transaction, &digests, &outcomes)?;
            described.insert(transaction, change, origin, session, None)
        })?;
        self.later.forget(&outcomes);
        let (before, is_in_editor) = (described.before_in_editor(change), change.is_in_editor);
        let pending = Pending { jobs, before, is_in_editor, is_excluded };
        let Writer::Open(open) = &mut *writer else { return Ok(Ticket(id)) };
        open.pending.insert(id, pending);
        open.add_live(origin);
        let log = open.database.log.clone().filter(|_| change.is_durable);
        drop(writer);
        // Without any lock, so that several calls and processes sync at the same time.
        if let Some(log) = log {
            log.sync().map_err(|error| NotRecorded { cause: error.to_string() })?;
        }
        Ok(Ticket(id))
    }

    fn settle(&self, ticket: Ticket, outcome: Outcome<'_>) {
        let mut writer = lock(&self.writer);
        let Writer::Open(open) = &mut *writer else { return };
        let Some(mut pending) = open.pending.remove(&ticket.0) else { return };
        let jobs = std::mem::take(&mut pending.jobs);
        let digests = open.digests.clone();
        let settled = match outcome {
            Outcome::Done { content_after: Some(after) } => {
                self.settle_in_editor(&mut writer, ticket.0, &pending, after, &digests);
                None
            }
            Outcome::Done { content_after: None } => Some(true),
            Outcome::NotDone => Some(false),
            Outcome::Unknown => None,
        };
        let (change, of) = (ticket.0, digests.clone());
        self.later.settle(settled.map(|is_done| Settled { digests: of, change, is_done }));
        if pending.is_in_editor {
            // At once: the file does not show the outcome if the editor has not saved it.
            let outcomes = self.later.outcomes();
            let record = |it: &Transaction<'_>| record_outcomes(it, &digests, &outcomes);
            if self.transact(&mut writer, record).is_ok() {
                self.later.forget(&outcomes);
            }
        }
        drop(writer);
        self.later.push(jobs);
    }

    fn intend_all(
        &self,
        transaction: &RecordedTransaction<'_>,
        origin: &Origin,
    ) -> Result<Ticket, NotRecorded> {
        self.intend_transaction(transaction, &self.with_turn(origin))
    }

    fn settle_all(&self, ticket: Ticket, state: TransactionState) -> Result<(), NotRecorded> {
        self.settle_transaction(ticket, state)
    }

    fn unfinished(&self) -> Vec<UnfinishedTransaction> {
        self.unfinished_transactions()
    }

    fn state(&self, ticket: Ticket) -> Option<TransactionState> {
        self.transaction_state(ticket)
    }

    fn digest(&self, content: &dyn VisitBytes) -> Option<Vec<u8>> {
        let digests = self.open(&mut lock(&self.writer)).ok()?.digests.clone();
        let digest = digests.of_pieces(|visit| content.visit(visit))?;
        Some(digest.as_bytes().to_vec())
    }
}
