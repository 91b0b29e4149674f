//! Returns what was recorded.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use recto_store::record::RecordedMetadata;
use rusqlite::{Connection, OptionalExtension, Params, TransactionBehavior, params};

use crate::change::{Change, Kind, State, decode_metadata};
use crate::database::Database;
use crate::digest::ContentDigest;
use crate::error::{Error, Result};
use crate::hunk::Hunks;
use crate::journal::settle_by_evidence;
use crate::names::Names;
use crate::packed::{n_unpacked, unpack};
use crate::state_dir::StateDir;
use crate::undo::{self, Step};

/// The most changes that are applied to get a content.
const MAX_APPLIED: usize = 5000;

/// The most bytes of changes that are read to undo one.
pub const MAX_UNDO_BYTES: usize = 256 << 20;

/// Which changes to return.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only changes of this file, or of files below this directory.
    pub below: Option<PathBuf>,
    /// Only changes of this session.
    pub session: Option<String>,
    /// Only changes since this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only changes since this one.
    pub from: Option<u64>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// Reads the journal.
pub struct Reader {
    dir: StateDir,
    database: Database,
}

impl Reader {
    /// Opens the journal of a state directory. Returns `None` if nothing was recorded yet.
    pub fn open(dir: &StateDir) -> Result<Option<Reader>> {
        if !dir.database().exists() {
            return Ok(None);
        }
        match Database::open_to_read(&dir.database()) {
            Ok(database) => Ok(Some(Reader { dir: dir.clone(), database })),
            Err(Error::Unfinished) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn dir(&self) -> &StateDir {
        &self.dir
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.database.connection
    }

    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.database.connection
    }

    /// Returns a number that differs from the last one if another connection has changed the journal
    /// in between.
    pub fn version(&self) -> Result<i64> {
        Ok(self.connection().pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    /// Returns changes, oldest first.
    pub fn changes(&self, filter: &Filter) -> Result<Vec<Change>> {
        let query = format!(
            "{} WHERE (?1 IS NULL OR sessions.name = ?1) AND (?2 IS NULL OR time >= ?2) \
                AND (?3 IS NULL OR changes.id >= ?3) ORDER BY changes.id DESC",
            Change::QUERY
        );
        let mut query = self.database.connection.prepare_cached(&query)?;
        let from = filter.from.map(|from| from as i64);
        let mut rows = query.query(params![filter.session, filter.since, from])?;
        let mut changes = Vec::new();
        let limit = filter.limit.unwrap_or(usize::MAX);
        while changes.len() < limit
            && let Some(row) = rows.next()?
        {
            if let Some(below) = &filter.below {
                let path = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
                if !Path::new(std::ffi::OsStr::from_bytes(path)).starts_with(below) {
                    continue;
                }
            }
            changes.push(Change::from_row(row)?);
        }
        changes.reverse();
        Ok(changes)
    }

    /// Returns one change.
    pub fn change(&self, id: u64) -> Result<Option<Change>> {
        let query = format!("{} WHERE changes.id = ?", Change::QUERY);
        let mut query = self.database.connection.prepare_cached(&query)?;
        Ok(query.query_row([id as i64], Change::from_row).optional()?)
    }

    /// Returns the changes of a transaction, oldest first.
    pub fn transaction(&self, id: u64) -> Result<Vec<Change>> {
        self.changes_where("together = ?", [id as i64])
    }

    /// Returns the changes of one file, oldest first.
    pub fn changes_of(&self, path: &Path) -> Result<Vec<Change>> {
        self.changes_where("files.path = ?", [path.as_os_str().as_bytes()])
    }

    /// Returns all changes that undid others, oldest first.
    pub fn undos(&self) -> Result<Vec<Change>> {
        self.changes_where("undoes IS NOT NULL", [])
    }

    fn changes_where(&self, condition: &str, parameters: impl Params) -> Result<Vec<Change>> {
        let query = format!("{} WHERE {condition} ORDER BY changes.id", Change::QUERY);
        let mut query = self.database.connection.prepare_cached(&query)?;
        let changes = query.query_map(parameters, Change::from_row)?;
        Ok(changes.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns what a change replaced, if that was stored.
    pub fn hunks(&self, change: u64) -> Result<Option<Hunks>> {
        hunks(&self.database.connection, change)
    }

    /// Returns the metadata of a removed file.
    pub fn metadata(&self, change: u64) -> Result<Option<RecordedMetadata>> {
        let query = "SELECT mode, metadata FROM changes WHERE id = ? AND metadata IS NOT NULL";
        let mut query = self.database.connection.prepare_cached(query)?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?));
        let found = query.query_row([change as i64], row).optional()?;
        Ok(found.and_then(|(mode, bytes)| decode_metadata(mode, &bytes)))
    }

    /// Returns the content after a change, or `None` if it is not known.
    pub fn content_after(&self, change: u64) -> Result<Option<Option<Vec<u8>>>> {
        content_after(&self.database, change)
    }

    /// Returns the content before a change, or `None` if it is not known.
    pub fn content_before(&self, change: u64) -> Result<Option<Option<Vec<u8>>>> {
        content_before(&self.database.connection, change)
    }

    /// Returns the digest of a content.
    pub fn digest(&self, content: &[u8]) -> ContentDigest {
        self.database.digests.of(content)
    }

    /// Returns the files with changes that have no outcome.
    pub fn unsettled(&self) -> Result<Vec<Change>> {
        self.changes_where("state = 0 AND together IS NULL", [])
    }

    /// Judges the changes of a file that have no outcome by its content. The caller must have locked
    /// the file's directory, so that no process is making such a change.
    pub fn settle(&mut self, path: &Path, content: Option<&[u8]>) -> Result<()> {
        let now = content.map(|content| self.digest(content));
        let _lock = self.dir.lock()?;
        let connection = &mut self.database.connection;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let file = "SELECT id FROM files WHERE path = ?";
        let path = path.as_os_str().as_bytes();
        let file = transaction.query_row(file, [path], |row| row.get(0)).optional()?;
        if let Some(file) = file {
            let now = now.as_ref().map(ContentDigest::as_bytes);
            settle_by_evidence(&transaction, file, now, false)?;
        }
        Ok(transaction.commit()?)
    }

    /// Returns the path that the file of a change has now, or had last.
    pub fn current_path(&self, change: &Change) -> Result<PathBuf> {
        let moves = self.changes_where("moved IS NOT NULL", [])?;
        Ok(Names::of(&moves).current(change).to_path_buf())
    }

    /// Returns all changes of a file as steps that lead to its current content, for
    /// [`undo::plan`](crate::undo::plan). A difference to the last recorded version becomes a step of
    /// its own.
    pub fn steps(&self, path: &Path, content: Option<&[u8]>) -> Result<Vec<Step>> {
        self.steps_of(&self.content_changes(path)?, content, usize::MAX)
    }

    /// Returns the steps that undoing changes since `first` needs: these, all later ones, and those that
    /// they undid. Fails if they contain more than [`MAX_UNDO_BYTES`].
    pub fn steps_since(
        &self,
        path: &Path,
        content: Option<&[u8]>,
        first: u64,
    ) -> Result<Vec<Step>> {
        let changes = self.content_changes(path)?;
        let undoes = changes.iter().map(|change| (change.id, &*change.undoes));
        let first = undo::first_needed(undoes, first);
        let start = changes.partition_point(|change| change.id < first);
        self.steps_of(&changes[start..], content, MAX_UNDO_BYTES)
    }

    /// Returns the changes of the file that has a path now, without moves, which do not change the
    /// content.
    fn content_changes(&self, path: &Path) -> Result<Vec<Change>> {
        let mut changes = self.lineage(path)?;
        changes.retain(|change| change.moved.is_none());
        Ok(changes)
    }

    /// Returns the changes up to the last version with this content as steps. If no version has it,
    /// all changes are followed by a step to it.
    pub fn steps_to_version(&self, path: &Path, content: &[u8]) -> Result<Vec<Step>> {
        let changes = self.content_changes(path)?;
        let digest = Some(self.digest(content));
        let last = changes.iter().rposition(|change| change.digests[1] == digest);
        let until = last.map_or(&changes[..], |last| &changes[..=last]);
        self.steps_of(until, Some(content), usize::MAX)
    }

    /// Returns changes as steps. Fails if they contain more than `max_bytes`.
    fn steps_of(
        &self,
        changes: &[Change],
        content: Option<&[u8]>,
        max_bytes: usize,
    ) -> Result<Vec<Step>> {
        let connection = &self.database.connection;
        let mut n_left = max_bytes;
        let now = content.map(|content| self.digest(content));
        let mut steps: Vec<Step> = Vec::new();
        let mut last: Option<&Change> = None;
        for (index, change) in changes.iter().enumerate() {
            let next = changes[index + 1..].iter().find(|next| next.state == State::Done);
            let digest_next = next.map_or(now, |next| next.digests[0]);
            let is_made = match change.state {
                State::Done => true,
                State::NotDone => false,
                State::Intended | State::Uncertain => change.digests[1] == digest_next,
            };
            if !is_made {
                continue;
            }
            let exists = change.digests.map(|digest| digest.is_some());
            if let Some(last) = last.filter(|last| last.digests[1] != change.digests[0]) {
                let exists = [last.digests[1].is_some(), exists[0]];
                steps.push(Step { exists, is_foreign: true, ..Step::default() });
            }
            let packed = match change.has_content {
                true => packed_hunks(connection, change.id)?,
                false => None,
            };
            let n_bytes = packed.as_deref().map_or(0, n_unpacked);
            n_left = n_left.checked_sub(n_bytes).ok_or(Error::TooMuchToUndo { max_bytes })?;
            steps.push(Step {
                id: change.id,
                exists,
                hunks: packed.map(|packed| decode(&packed, change.id)).transpose()?,
                undoes: change.undoes.clone(),
                is_foreign: change.kind == Kind::Foreign,
            });
            last = Some(change);
        }
        if let Some(last) = last.filter(|last| last.digests[1] != now) {
            let before = self.content_after(last.id)?;
            let hunks = before.map(|before| {
                Hunks::between(before.as_deref().unwrap_or_default(), content.unwrap_or_default())
            });
            let exists = [last.digests[1].is_some(), content.is_some()];
            steps.push(Step { exists, hunks, is_foreign: true, ..Step::default() });
        }
        Ok(steps)
    }
}

/// Returns a stored path.
pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

fn hunks(connection: &Connection, change: u64) -> Result<Option<Hunks>> {
    let packed = packed_hunks(connection, change)?;
    packed.map(|packed| decode(&packed, change)).transpose()
}

fn packed_hunks(connection: &Connection, change: u64) -> Result<Option<Vec<u8>>> {
    let query = "SELECT hunks FROM changes WHERE id = ?";
    let mut query = connection.prepare_cached(query)?;
    let packed = query.query_row([change as i64], |row| row.get(0)).optional()?;
    Ok(packed.flatten())
}

fn decode(packed: &[u8], change: u64) -> Result<Hunks> {
    let hunks = unpack(packed).as_deref().and_then(Hunks::decode);
    hunks.ok_or(Error::Damaged { change })
}

/// Returns the content after a change, or `None` if it is not known.
pub fn content_after(database: &Database, change: u64) -> Result<Option<Option<Vec<u8>>>> {
    let Some(after) = content(&database.connection, change, true)? else { return Ok(None) };
    let query = "SELECT after FROM changes WHERE id = ?";
    let mut query = database.connection.prepare_cached(query)?;
    let digest: Option<Vec<u8>> = query.query_row([change as i64], |row| row.get(0))?;
    let found = after.as_ref().map(|after| database.digests.of(after).as_bytes().to_vec());
    Ok((found == digest).then_some(after))
}

/// Returns the content before a change, or `None` if it is not known.
pub fn content_before(connection: &Connection, change: u64) -> Result<Option<Option<Vec<u8>>>> {
    content(connection, change, false)
}

/// Applies all changes since the last content that was kept, or since the file was created.
fn content(
    connection: &Connection,
    change: u64,
    is_after: bool,
) -> Result<Option<Option<Vec<u8>>>> {
    let query = "SELECT id, before IS NULL, after IS NULL, \
        (SELECT bytes FROM contents WHERE change = id), \
        (SELECT id FROM changes AS other WHERE other.together = changes.together \
            AND other.file = changes.moved AND other.moved = changes.file) FROM changes \
        WHERE file = (SELECT file FROM changes WHERE id = ?1) AND id <= ?1 \
        AND (state IN (1, 2) OR id = ?1) ORDER BY id DESC";
    let mut query = connection.prepare_cached(query)?;
    let mut rows = query.query([change as i64])?;
    let mut applied = Vec::new();
    let mut base = None;
    while let Some(row) = rows.next()? {
        let (id, is_new, is_removed): (i64, bool, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if is_after || id as u64 != change {
            applied.push((id as u64, is_removed));
        }
        let old_name: Option<i64> = row.get(4)?;
        if let Some(old_name) = old_name.filter(|_| is_new && (is_after || id as u64 != change)) {
            // A file that was moved here has the content that it had under its old name.
            applied.pop();
            base = content(connection, old_name as u64, false)?;
            break;
        }
        if is_new {
            base = Some(None);
            break;
        }
        if let Some(packed) = row.get::<_, Option<Vec<u8>>>(3)? {
            base = unpack(&packed).map(Some);
            break;
        }
        if applied.len() > MAX_APPLIED {
            return Ok(None);
        }
    }
    let Some(mut content) = base else { return Ok(None) };
    for (id, is_removed) in applied.into_iter().rev() {
        let Some(hunks) = hunks(connection, id)? else { return Ok(None) };
        let Some(after) = hunks.apply(content.as_deref().unwrap_or_default()) else {
            return Ok(None);
        };
        content = Some(after).filter(|_| !is_removed);
    }
    Ok(Some(content))
}
