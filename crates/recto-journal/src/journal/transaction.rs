//! Records changes that are made together.
//!
//! A transaction has a row of its own, and one or more rows for each of its files: the change of the
//! content, and two rows for a move, one for each name. A file in the state directory shows processes
//! that there was a transaction, so that the database is not opened to look for one.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use recto_store::record::{
    ChangedBytes, NotRecorded, Origin, RecordedChange, RecordedStep, RecordedTransaction, Ticket,
    TransactionState, UnfinishedStep, UnfinishedTransaction,
};
use recto_store::sync::lock;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::intent::Described;
use super::{Journal, Writer};
use crate::change::Kind;
use crate::digest::Digests;
use crate::error::{Error, Result};
use crate::exclude::Excluded;
use crate::later::{Job, record_outcomes};
use crate::state_dir::StateDir;
use crate::undo::MOVE;

/// The states of a transaction in the database.
const INTENDED: i64 = 0;
const DONE: i64 = 1;
const FINISHED: i64 = 2;
const UNCERTAIN: i64 = 3;

/// Grows by a byte with each transaction.
const MARK: &str = "transactions";

/// The size at which it starts again.
const MAX_MARK: u64 = 1 << 16;

/// How often a transaction that cannot be recovered is looked for again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// What is known about unfinished transactions.
#[derive(Default)]
pub struct Checked(Option<LastCheck>);

struct LastCheck {
    mark: Mark,
    at: Instant,
    has_unfinished: bool,
}

/// The size and the modification time of the file.
type Mark = (u64, i64, i64);

/// A transaction of this process that is not finished.
#[derive(Default)]
pub struct RunningTransaction {
    jobs: Vec<Job>,
    is_durable: bool,
}

/// Described rows of one step.
struct DescribedStep {
    /// The change of the content, unless there is none.
    content: Option<Described>,
    /// The rows of the old and the new name.
    names: Option<[Described; 2]>,
}

impl Journal {
    pub(super) fn intend_transaction(
        &self,
        transaction: &RecordedTransaction<'_>,
        origin: &Origin,
    ) -> Result<Ticket, NotRecorded> {
        let (digests, excluded) = {
            let mut writer = lock(&self.writer);
            let open = self.open(&mut writer)?;
            (open.digests.clone(), open.excluded.clone())
        };
        let unreadable = || NotRecorded { cause: "a file cannot be read".into() };
        let describe = |step| DescribedStep::of(step, &digests, &excluded).ok_or_else(unreadable);
        let described: Vec<_> =
            transaction.steps.iter().map(describe).collect::<Result<_, NotRecorded>>()?;
        let session = self.session(origin);
        let mut writer = lock(&self.writer);
        // They cost little here, and the next change of the same file needs them.
        let outcomes = self.later.outcomes();
        let (id, jobs) = self.transact(&mut writer, |database| {
            record_outcomes(database, &digests, &outcomes)?;
            let mut jobs = Vec::new();
            let insert = "INSERT INTO transactions (token, state, new_dirs) VALUES (?, ?, ?)";
            let new_dirs = encode_paths(transaction.new_dirs);
            database.execute(insert, params![transaction.token, INTENDED, new_dirs])?;
            let id = database.last_insert_rowid();
            for (step, described) in transaction.steps.iter().zip(&described) {
                jobs.extend(described.insert(database, id, step, origin, session)?);
            }
            // Under the lock with which others look for transactions, and before the record exists.
            set_mark(&self.dir).map_err(|error| Error::StateDir {
                path: self.dir.path().to_path_buf(),
                cause: error.to_string(),
            })?;
            Ok((id as u64, jobs))
        })?;
        self.later.forget(&outcomes);
        let is_durable = transaction.steps.iter().any(|step| step.change.is_durable);
        let log = match &*writer {
            Writer::Open(open) => open.database.log.clone().filter(|_| is_durable),
            _ => None,
        };
        if let Some(Err(error)) = log.map(|log| log.sync()) {
            let _ = self.transact(&mut writer, |database| remove(database, id as i64));
            return Err(NotRecorded { cause: error.to_string() });
        }
        if let Writer::Open(open) = &mut *writer {
            open.transactions.insert(id, RunningTransaction { jobs, is_durable });
            open.add_live(origin);
        }
        Ok(Ticket(id))
    }

    pub(super) fn settle_transaction(
        &self,
        ticket: Ticket,
        state: TransactionState,
    ) -> Result<(), NotRecorded> {
        let id = ticket.0 as i64;
        let mut writer = lock(&self.writer);
        let (mut running, mut log) = (RunningTransaction::default(), None);
        if let Writer::Open(open) = &mut *writer {
            running = open.transactions.remove(&ticket.0).unwrap_or_default();
            if state == TransactionState::Done {
                // This process still removes the old files.
                open.transactions.insert(ticket.0, RunningTransaction::default());
                // The answer says that it was made. A later change of its files must not make it look
                // unfinished after a power failure.
                log = open.database.log.clone().filter(|_| running.is_durable);
            }
        }
        let set = |database: &Transaction<'_>, state: i64, of_changes: Option<i64>| -> Result<()> {
            database.execute("UPDATE transactions SET state = ? WHERE id = ?", [state, id])?;
            if let Some(of_changes) = of_changes {
                let update = "UPDATE changes SET state = ? WHERE together = ?";
                database.execute(update, [of_changes, id])?;
            }
            Ok(())
        };
        let settled = match state {
            TransactionState::Intended => Ok(()),
            TransactionState::Done => {
                self.transact(&mut writer, |database| set(database, DONE, Some(1)))
            }
            TransactionState::Finished => {
                self.transact(&mut writer, |database| set(database, FINISHED, None))
            }
            TransactionState::Uncertain => {
                self.transact(&mut writer, |database| set(database, UNCERTAIN, Some(2)))
            }
            TransactionState::NotDone => {
                self.transact(&mut writer, |database| remove(database, id))
            }
        };
        drop(writer);
        settled?;
        if let Some(log) = log {
            log.sync().map_err(|error| NotRecorded { cause: error.to_string() })?;
        }
        // Also if no change was made: what other programs changed before is recorded.
        if !matches!(state, TransactionState::Intended | TransactionState::Uncertain) {
            self.later.push(running.jobs);
        }
        Ok(())
    }

    pub(super) fn unfinished_transactions(&self) -> Vec<UnfinishedTransaction> {
        let Some(mark) = mark(&self.dir) else { return Vec::new() };
        let mut checked = lock(&self.checked);
        if checked.0.as_ref().is_some_and(|last| {
            last.mark == mark && (!last.has_unfinished || last.at.elapsed() < RETRY_AFTER)
        }) {
            return Vec::new();
        }
        let mut writer = lock(&self.writer);
        let Ok(open) = self.open(&mut writer) else { return Vec::new() };
        // What set the mark may not be committed yet.
        let Ok(_lock) = self.dir.lock() else { return Vec::new() };
        let mut found = unfinished(&open.database.connection).unwrap_or_default();
        let has_unfinished = !found.is_empty();
        checked.0 = Some(LastCheck { mark, at: Instant::now(), has_unfinished });
        found.retain(|transaction| !open.transactions.contains_key(&transaction.ticket.0));
        found
    }

    pub(super) fn transaction_state(&self, ticket: Ticket) -> Option<TransactionState> {
        let mut writer = lock(&self.writer);
        let connection = &self.open(&mut writer).ok()?.database.connection;
        let query = "SELECT state FROM transactions WHERE id = ?";
        let state = connection.query_row(query, [ticket.0 as i64], |row| row.get::<_, i64>(0));
        match state.optional().ok()?? {
            INTENDED => Some(TransactionState::Intended),
            DONE => Some(TransactionState::Done),
            _ => None,
        }
    }
}

impl DescribedStep {
    fn of(step: &RecordedStep<'_>, digests: &Digests, excluded: &Excluded) -> Option<Self> {
        let change = &step.change;
        let mut paths = [Some(change.path), step.moved_to].into_iter().flatten();
        let is_excluded = paths.any(|path| excluded.contains(change.root, path));
        let ChangedBytes::Whole { before, after } = change.content else {
            let content = Some(Described::of(change, digests, is_excluded)?);
            return Some(DescribedStep { content, names: None });
        };
        let content = match before == after {
            true => None,
            false => Some(Described::of(change, digests, is_excluded)?),
        };
        let names = step.moved_to.map(|moved_to| {
            let old = Described::of(&with_content(change, after, after), digests, is_excluded)?;
            let new = RecordedChange { path: moved_to, ..with_content(change, None, after) };
            // The content follows from the row of the old name.
            Some([old, Described::of(&new, digests, true)?])
        });
        let names = match names {
            Some(names) => Some(names?),
            None => None,
        };
        Some(DescribedStep { content, names })
    }

    fn insert(
        &self,
        database: &Transaction<'_>,
        id: i64,
        step: &RecordedStep<'_>,
        origin: &Origin,
        session: &str,
    ) -> Result<Vec<Job>> {
        let undoing = |is_move: bool| {
            let undoes = step.undoes.iter().filter(|(_, hunk)| (*hunk == MOVE) == is_move);
            Origin { undoes: undoes.copied().collect(), ..origin.clone() }
        };
        let change = &step.change;
        let mut jobs = Vec::new();
        if let Some(content) = &self.content {
            let (_, more) = content.insert(database, change, &undoing(false), session, Some(id))?;
            jobs.extend(more);
        }
        let (Some(names), Some(moved_to)) = (&self.names, step.moved_to) else { return Ok(jobs) };
        let ChangedBytes::Whole { after, .. } = change.content else { return Ok(jobs) };
        let old = with_content(change, after, after);
        let new = RecordedChange { path: moved_to, ..with_content(change, None, after) };
        let mut rows = Vec::new();
        let origin = undoing(true);
        for (described, change) in names.iter().zip([&old, &new]) {
            let (row, more) = described.insert(database, change, &origin, session, Some(id))?;
            jobs.extend(more);
            rows.push(row as i64);
        }
        let kind = if origin.undoes.is_empty() { Kind::Move } else { Kind::Undo } as i64;
        let update = "UPDATE changes SET kind = ?1, \
            moved = (SELECT file FROM changes WHERE id = ?2), \
            after = CASE WHEN id < ?2 THEN NULL ELSE after END, \
            n_after = CASE WHEN id < ?2 THEN NULL ELSE n_after END WHERE id = ?3";
        for (row, other) in [(rows[0], rows[1]), (rows[1], rows[0])] {
            database.prepare_cached(update)?.execute(params![kind, other, row])?;
        }
        Ok(jobs)
    }
}

/// Returns the same change with another content.
fn with_content<'a>(
    change: &RecordedChange<'a>,
    before: Option<&'a [u8]>,
    after: Option<&'a [u8]>,
) -> RecordedChange<'a> {
    RecordedChange {
        path: change.path,
        root: change.root,
        content: ChangedBytes::Whole { before, after },
        metadata: change.metadata.clone(),
        is_in_editor: false,
        is_exclusive: change.is_exclusive,
        is_durable: change.is_durable,
    }
}

/// Removes a transaction that was not made.
fn remove(database: &Transaction<'_>, id: i64) -> Result<()> {
    database.execute("DELETE FROM changes WHERE together = ?", [id])?;
    database.execute("DELETE FROM transactions WHERE id = ?", [id])?;
    Ok(())
}

fn unfinished(connection: &Connection) -> Result<Vec<UnfinishedTransaction>> {
    let query = "SELECT id, token, new_dirs FROM transactions WHERE state < 2 ORDER BY id";
    let mut query = connection.prepare_cached(query)?;
    let mut rows = query.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, new_dirs): (i64, Vec<u8>) = (row.get(0)?, row.get(2)?);
        found.push(UnfinishedTransaction {
            ticket: Ticket(id as u64),
            token: row.get(1)?,
            steps: steps(connection, id)?,
            new_dirs: decode_paths(&new_dirs),
        });
    }
    Ok(found)
}

/// Returns the steps of a transaction in the order in which they were recorded.
fn steps(connection: &Connection, id: i64) -> Result<Vec<UnfinishedStep>> {
    let query = "SELECT files.path, before, after, \
        (SELECT path FROM files WHERE id = moved) FROM changes \
        JOIN files ON files.id = file WHERE together = ? ORDER BY changes.id";
    let mut query = connection.prepare_cached(query)?;
    let mut rows = query.query([id])?;
    let mut steps: Vec<UnfinishedStep> = Vec::new();
    while let Some(row) = rows.next()? {
        let path = crate::reader::path_of(row.get(0)?);
        let digests: [Option<Vec<u8>>; 2] = [row.get(1)?, row.get(2)?];
        let moved = row.get::<_, Option<Vec<u8>>>(3)?.map(crate::reader::path_of);
        match (moved, digests) {
            (None, digests) => steps.push(UnfinishedStep { path, moved_to: None, digests }),
            // The row of the new name.
            (Some(_), [None, _]) => {}
            (Some(to), [content, _]) => match steps.last_mut().filter(|last| last.path == path) {
                Some(edited) => edited.moved_to = Some(to),
                None => {
                    let digests = [content.clone(), content];
                    steps.push(UnfinishedStep { path, moved_to: Some(to), digests });
                }
            },
        }
    }
    Ok(steps)
}

/// Shows other processes that there is a transaction. Waits for the disk when the file is created.
fn set_mark(dir: &StateDir) -> std::io::Result<()> {
    let path = dir.path().join(MARK);
    let is_new = !path.exists();
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.len() >= MAX_MARK {
        file.set_len(0)?;
    }
    file.write_all(b".")?;
    if is_new {
        file.sync_all()?;
        File::open(dir.path())?.sync_all()?;
    }
    Ok(())
}

fn mark(dir: &StateDir) -> Option<Mark> {
    let status = dir.path().join(MARK).metadata().ok()?;
    Some((status.len(), status.mtime(), status.mtime_nsec()))
}

fn encode_paths(paths: &[PathBuf]) -> Vec<u8> {
    let paths: Vec<&[u8]> = paths.iter().map(|path| path.as_os_str().as_bytes()).collect();
    paths.join(&0)
}

fn decode_paths(bytes: &[u8]) -> Vec<PathBuf> {
    let paths = bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| Path::new(OsStr::from_bytes(path)).to_path_buf()).collect()
}
