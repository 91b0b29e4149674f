//! How much is kept: limits, pruning, forgetting, and checking what is there.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::hunk::Hunks;
use crate::packed::{pack, unpack};
use crate::reader::{content_before, path_of};
use crate::state_dir::{LOCK_WAIT, StateDir};

/// The largest content that is kept whole.
pub const MAX_CONTENT: usize = 16 << 20;

/// How long a change is kept.
pub const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The most bytes of the changes below one root.
pub const MAX_ROOT_BYTES: u64 = 512 << 20;

/// The most bytes in all.
pub const MAX_BYTES: u64 = 2 << 30;

/// The most changes that are removed in one transaction, because they are too old.
const STEP: i64 = 200;

/// The same, because they are too large: few, so that no more than necessary are removed.
const SIZE_STEP: i64 = 20;

/// Selects changes by whose records no transaction is recovered any more.
const SETTLED: &str =
    "(together IS NULL OR together NOT IN (SELECT id FROM transactions WHERE state < 2))";

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a change is kept.
    pub max_age: Duration,
    /// The most bytes of the changes below one root.
    pub max_root_bytes: u64,
    /// The most bytes in all.
    pub max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_age: MAX_AGE, max_root_bytes: MAX_ROOT_BYTES, max_bytes: MAX_BYTES }
    }
}

/// How much a root takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSize {
    /// The root.
    pub root: PathBuf,
    /// The number of changes.
    pub n_changes: u64,
    /// The bytes of their contents, as stored.
    pub n_bytes: u64,
}

/// How much the journal takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// The bytes of the database and its log.
    pub n_bytes: u64,
    /// Each root.
    pub roots: Vec<RootSize>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// The number of changes.
    pub n_changes: u64,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// Removes some changes beyond the limits, oldest first. Returns whether there may be more.
pub fn prune_step(dir: &StateDir, database: &mut Database, limits: Limits) -> Result<bool> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest = now.saturating_sub(limits.max_age).as_millis() as i64;
    let _lock = dir.lock()?;
    let connection = &mut database.connection;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut ids = ids(
        &transaction,
        &format!("SELECT id FROM changes WHERE time < ? AND {SETTLED} ORDER BY id LIMIT ?"),
        [oldest, STEP],
    )?;
    if ids.is_empty() {
        let query = "SELECT id FROM roots WHERE n_bytes > ? LIMIT 1";
        let mut root: Option<i64> = transaction
            .query_row(query, [limits.max_root_bytes as i64], |row| row.get(0))
            .optional()?;
        let total = "SELECT ifnull(sum(n_bytes), 0) FROM roots";
        let total: i64 = transaction.query_row(total, [], |row| row.get(0))?;
        if root.is_none() && total > limits.max_bytes as i64 {
            let query = "SELECT id FROM roots ORDER BY n_bytes DESC LIMIT 1";
            root = transaction.query_row(query, [], |row| row.get(0)).optional()?;
        }
        if let Some(root) = root {
            let query = format!(
                "SELECT changes.id FROM changes JOIN files ON files.id = file \
                WHERE root = ? AND {SETTLED} ORDER BY changes.id LIMIT ?"
            );
            ids = self::ids(&transaction, &query, [root, SIZE_STEP])?;
        }
    }
    remove_changes(&transaction, &ids)?;
    transaction.commit()?;
    if !ids.is_empty() {
        free_pages(&database.connection, Some(1000))?;
    }
    Ok(!ids.is_empty())
}

/// Removes everything beyond the limits. Returns the number of removed changes.
pub fn prune(dir: &StateDir, limits: Limits) -> Result<u64> {
    let mut database = open(dir)?;
    let n_before = count(&database)?;
    while prune_step(dir, &mut database, limits)? {}
    let _lock = dir.lock()?;
    empty_log(&database)?;
    Ok(n_before - count(&database)?)
}

/// Removes all changes of a file, or of all files below a directory, also those that it had under
/// earlier names, so that no copy of their content is left in the database or its log. Returns the
/// number of removed changes.
pub fn forget(dir: &StateDir, path: &Path) -> Result<u64> {
    let mut database = open(dir)?;
    let _lock = dir.lock()?;
    let transaction =
        database.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut n_removed = 0;
    let mut forgotten = HashSet::new();
    let mut names: Vec<(i64, i64)> =
        files_below(&transaction, path)?.into_iter().map(|file| (file, i64::MAX)).collect();
    while let Some((file, last)) = names.pop() {
        if forgotten.insert((file, last)) {
            names.extend(earlier_names(&transaction, file, last)?);
            n_removed += forget_changes(&transaction, file, last)?;
        }
    }
    remove_unused(&transaction)?;
    transaction.commit()?;
    free_pages(&database.connection, None)?;
    empty_log(&database)?;
    Ok(n_removed)
}

/// Returns the names that a file had before it was moved to this one, each with its last change
/// there. Only moves up to the change `last` count.
fn earlier_names(transaction: &Transaction<'_>, file: i64, last: i64) -> Result<Vec<(i64, i64)>> {
    let query = "SELECT moved, id FROM changes \
        WHERE file = ? AND id <= ? AND moved IS NOT NULL AND before IS NULL";
    let mut query = transaction.prepare_cached(query)?;
    let names = query.query_map([file, last], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// Removes the changes of a file up to `last`, and the other records of its moves.
fn forget_changes(transaction: &Transaction<'_>, file: i64, last: i64) -> Result<u64> {
    let moves = format!(
        "DELETE FROM changes WHERE moved = ?1 AND {SETTLED} AND together IN (SELECT together \
        FROM changes WHERE file = ?1 AND id <= ?2 AND moved IS NOT NULL)"
    );
    transaction.execute(&moves, [file, last])?;
    let own = format!("DELETE FROM changes WHERE file = ? AND id <= ? AND {SETTLED}");
    let n_removed = transaction.execute(&own, [file, last])? as u64;
    // The records of an unfinished transaction are needed to recover it, without their content.
    transaction.execute(
        "DELETE FROM contents WHERE change IN (SELECT id FROM changes WHERE file = ? AND id <= ?)",
        [file, last],
    )?;
    let rest = "UPDATE changes SET hunks = NULL WHERE file = ? AND id <= ?";
    transaction.execute(rest, [file, last])?;
    Ok(n_removed)
}

/// Returns free pages to the file system, at most so many.
fn free_pages(connection: &Connection, n_pages: Option<u32>) -> Result<()> {
    let n_pages = n_pages.map(|n| format!("({n})")).unwrap_or_default();
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum{n_pages}"))?;
    // Each row frees a page.
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Returns how much the journal takes.
pub fn size(dir: &StateDir) -> Result<Size> {
    let database = Database::open_to_read(&dir.database())?;
    let query = "SELECT roots.path, count(changes.id), n_bytes FROM roots \
        LEFT JOIN files ON root = roots.id LEFT JOIN changes ON file = files.id \
        GROUP BY roots.id ORDER BY roots.path";
    let mut query = database.connection.prepare(query)?;
    let roots = query.query_map([], |row| {
        let number = |index| row.get::<_, i64>(index).map(|n| n.max(0) as u64);
        Ok(RootSize { root: path_of(row.get(0)?), n_changes: number(1)?, n_bytes: number(2)? })
    })?;
    let roots = roots.collect::<rusqlite::Result<_>>()?;
    let n_bytes = |extension: &str| {
        let file = dir.database().with_extension(extension);
        file.metadata().map_or(0, |status| status.len())
    };
    Ok(Size { n_bytes: n_bytes("db") + n_bytes("db-wal"), roots })
}

/// Checks the database and every stored content.
pub fn verify(dir: &StateDir) -> Result<Verified> {
    let database = Database::open_to_read(&dir.database())?;
    let connection = &database.connection;
    let mut found = Verified::default();
    let mut check = connection.prepare("PRAGMA integrity_check(20)")?;
    for line in check.query_map([], |row| row.get::<_, String>(0))? {
        let line = line?;
        found.problems.extend((line != "ok").then_some(line));
    }
    let mut hunks = connection.prepare("SELECT id, hunks FROM changes")?;
    let mut rows = hunks.query([])?;
    while let Some(row) = rows.next()? {
        found.n_changes += 1;
        let (id, packed): (i64, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
        if packed.is_some_and(|packed| unpack(&packed).as_deref().and_then(Hunks::decode).is_none())
        {
            found.problems.push(format!("the hunks of change {id} cannot be decoded"));
        }
    }
    let contents = "SELECT change, bytes, before FROM contents JOIN changes ON changes.id = change";
    let mut contents = connection.prepare(contents)?;
    let mut rows = contents.query([])?;
    while let Some(row) = rows.next()? {
        let (id, packed, before): (i64, Vec<u8>, Option<Vec<u8>>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let digest = unpack(&packed).map(|bytes| database.digests.of(&bytes).as_bytes().to_vec());
        if digest != before {
            found.problems.push(format!("the content before change {id} is not what was recorded"));
        }
    }
    Ok(found)
}

/// Removes changes. The first remaining change of a file keeps the content before it, so that later
/// changes by other programs can still be compared.
fn remove_changes(transaction: &Transaction<'_>, ids: &[i64]) -> Result<()> {
    let mut kept: Vec<(i64, Vec<u8>)> = Vec::new();
    for id in ids {
        let next = "SELECT min(id) FROM changes WHERE id > ?1 AND state IN (1, 2) \
            AND file = (SELECT file FROM changes WHERE id = ?1)";
        let next: Option<i64> =
            transaction.prepare_cached(next)?.query_row([id], |row| row.get(0))?;
        if let Some(next) = next.filter(|next| !ids.contains(next))
            && let Some(Some(content)) = content_before(transaction, next as u64)?
        {
            kept.push((next, pack(&content)));
        }
    }
    for (next, content) in kept {
        let keep = "INSERT OR IGNORE INTO contents VALUES (?, ?)";
        transaction.prepare_cached(keep)?.execute(params![next, content])?;
    }
    for id in ids {
        transaction.prepare_cached("DELETE FROM changes WHERE id = ?")?.execute([id])?;
    }
    transaction.execute(
        "DELETE FROM transactions WHERE state >= 2 \
            AND NOT EXISTS (SELECT 1 FROM changes WHERE together = transactions.id)",
        [],
    )?;
    if !ids.is_empty() {
        remove_unused(transaction)?;
    }
    Ok(())
}

/// Removes files and roots without changes. The other name of a moved file is still in use.
fn remove_unused(transaction: &Transaction<'_>) -> Result<()> {
    let files = "DELETE FROM files \
        WHERE NOT EXISTS (SELECT 1 FROM changes WHERE file = files.id) \
        AND id NOT IN (SELECT moved FROM changes WHERE moved IS NOT NULL)";
    transaction.execute(files, [])?;
    let roots = "DELETE FROM roots WHERE NOT EXISTS (SELECT 1 FROM files WHERE root = roots.id)";
    transaction.execute(roots, [])?;
    Ok(())
}

fn ids(transaction: &Transaction<'_>, query: &str, parameters: [i64; 2]) -> Result<Vec<i64>> {
    let mut query = transaction.prepare(query)?;
    let ids = query.query_map(parameters, |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

fn files_below(transaction: &Transaction<'_>, path: &Path) -> Result<Vec<i64>> {
    let mut query = transaction.prepare("SELECT id, path FROM files")?;
    let mut rows = query.query([])?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        let file = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        if Path::new(std::ffi::OsStr::from_bytes(file)).starts_with(path) {
            files.push(row.get(0)?);
        }
    }
    Ok(files)
}

fn open(dir: &StateDir) -> Result<Database> {
    let _lock = dir.lock()?;
    Database::open(dir)
}

fn count(database: &Database) -> Result<u64> {
    let count = "SELECT count(*) FROM changes";
    Ok(database.connection.query_row(count, [], |row| row.get::<_, i64>(0))? as u64)
}

/// Copies the log into the database and empties it. Waits for readers.
fn empty_log(database: &Database) -> Result<()> {
    let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
    let is_busy: bool = database.connection.query_row(truncate, [], |row| row.get(0))?;
    if is_busy { Err(Error::Locked { seconds: LOCK_WAIT.as_secs() }) } else { Ok(()) }
}
