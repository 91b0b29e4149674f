//! The record of a change that is about to be made.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use recto_store::record::{ChangedBytes, Origin, RecordedChange};
use rusqlite::{OptionalExtension, ToSql, Transaction, params};

use crate::change::{Kind, LINK, State, encode_metadata, encode_undoes};
use crate::digest::{ContentDigest, Digests};
use crate::error::Result;
use crate::hunk::{Form, Hunks};
use crate::keeping::MAX_CONTENT;
use crate::later::Job;
use crate::packed::pack;

/// A change with everything that can be computed without the database.
pub struct Described {
    kind: Kind,
    digests: [Option<ContentDigest>; 2],
    n_bytes: [Option<u64>; 2],
    form: Option<&'static str>,
    hunks: Option<Vec<u8>>,
    is_excluded: bool,
}

/// An earlier change of the same file.
struct Earlier {
    id: i64,
    after: Option<Vec<u8>>,
}

impl Described {
    /// Digests and compares the contents. Returns `None` if they cannot be read.
    pub fn of(
        change: &RecordedChange<'_>,
        digests: &Digests,
        is_excluded: bool,
    ) -> Option<Described> {
        let described = match &change.content {
            ChangedBytes::Whole { before, after } => {
                let kind = match (before, after) {
                    (None, _) => Kind::Create,
                    (_, None) => Kind::Remove,
                    _ => Kind::Edit,
                };
                let is_kept =
                    |bytes: &Option<&[u8]>| bytes.is_none_or(|it| it.len() <= MAX_CONTENT);
                let [old, new] = [before, after].map(|bytes| bytes.unwrap_or_default());
                let forms = [before, after].map(|bytes| bytes.map(Form::of));
                let hunks = || match (kind, forms) {
                    (Kind::Edit, [Some(old_form), Some(new_form)]) => {
                        Hunks::between_forms(old, new, [old_form, new_form])
                    }
                    _ => Hunks::whole(old, new),
                };
                let is_small = kind == Kind::Edit || (is_kept(before) && is_kept(after));
                let hunks = (is_small && !is_excluded).then(hunks);
                let both = [*before, *after];
                Described {
                    kind,
                    digests: both.map(|bytes| bytes.map(|bytes| digests.of(bytes))),
                    n_bytes: both.map(|bytes| bytes.map(|bytes| bytes.len() as u64)),
                    form: forms[1].or(forms[0]).map(Form::name),
                    hunks: hunks.map(|hunks| hunks.encode()),
                    is_excluded,
                }
            }
            ChangedBytes::Range { start, before, after, whole: [whole_before, whole_after] } => {
                let mut n_bytes = [0; 2];
                let mut digest = |index: usize, content: &dyn recto_store::record::VisitBytes| {
                    digests.of_pieces(|visit| {
                        content.visit(&mut |piece| {
                            n_bytes[index] += piece.len() as u64;
                            visit(piece);
                        })
                    })
                };
                let digests = [digest(0, *whole_before)?, digest(1, *whole_after)?].map(Some);
                let hunks = || Hunks::in_range(*start, before, after).encode();
                Described {
                    kind: Kind::Edit,
                    digests,
                    n_bytes: n_bytes.map(Some),
                    form: None,
                    hunks: (!is_excluded).then(hunks),
                    is_excluded,
                }
            }
            ChangedBytes::Large { whole } => Described {
                kind: Kind::Remove,
                digests: [Some(digests.of_pieces(|visit| whole.visit(visit))?), None],
                n_bytes: [None; 2],
                form: None,
                hunks: None,
                is_excluded: true,
            },
            ChangedBytes::Link { before, after } => {
                let both = [*before, *after];
                let [old, new] = both.map(Option::unwrap_or_default);
                Described {
                    kind: if before.is_none() { Kind::Create } else { Kind::Remove },
                    digests: both.map(|target| target.map(|target| digests.of(target))),
                    n_bytes: both.map(|target| target.map(|target| target.len() as u64)),
                    form: Some(LINK),
                    hunks: (!is_excluded).then(|| Hunks::whole(old, new).encode()),
                    is_excluded,
                }
            }
        };
        // A change that is longer than what is kept cannot be undone.
        let hunks = described.hunks.filter(|hunks| hunks.len() <= 2 * MAX_CONTENT);
        Some(Described { hunks: hunks.map(|hunks| pack(&hunks)), ..described })
    }

    /// Returns the content before, if an editor may make the change differently.
    pub fn before_in_editor(&self, change: &RecordedChange<'_>) -> Option<Vec<u8>> {
        match &change.content {
            ChangedBytes::Whole { before: Some(before), .. } if change.is_in_editor => {
                Some(before.to_vec())
            }
            _ => None,
        }
    }

    /// Inserts the record, which may be part of a transaction. Returns its id, and what is to be
    /// done after the answer.
    pub fn insert(
        &self,
        transaction: &Transaction<'_>,
        change: &RecordedChange<'_>,
        origin: &Origin,
        session: &str,
        together: Option<i64>,
    ) -> Result<(u64, Vec<Job>)> {
        let root = id_of(transaction, "roots", change.root)?;
        let file = match find(transaction, "files", change.path)? {
            Some(file) => file,
            None => {
                let insert = "INSERT INTO files (root, path) VALUES (?, ?)";
                let path = change.path.as_os_str().as_bytes();
                transaction.prepare_cached(insert)?.execute(params![root, path])?;
                transaction.last_insert_rowid()
            }
        };
        let session = session_id(transaction, session, origin)?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = time.as_millis() as i64;
        if change.is_exclusive {
            self.settle_earlier(transaction, file, change.is_in_editor)?;
        }
        let earlier = last_change(transaction, file, together)?;
        let before = self.digests[0].as_ref().map(ContentDigest::as_bytes);
        let is_foreign = earlier.as_ref().is_some_and(|earlier| earlier.after.as_deref() != before);
        let mut foreign = None;
        if is_foreign {
            let after = earlier.as_ref().and_then(|earlier| earlier.after.as_deref());
            let insert = "INSERT INTO changes \
                (file, time, kind, state, is_in_editor, before, after, n_after) \
                VALUES (?, ?, ?, ?, 0, ?, ?, ?)";
            transaction.prepare_cached(insert)?.execute(params![
                file,
                time,
                Kind::Foreign as i64,
                State::Done as i64,
                after,
                before,
                self.n_bytes[0].map(|n| n as i64),
            ])?;
            foreign = Some(transaction.last_insert_rowid() as u64);
        }
        let kind = if origin.undoes.is_empty() { self.kind } else { Kind::Undo };
        let metadata = change.metadata.as_ref();
        let removed = metadata.filter(|_| self.kind == Kind::Remove).map(encode_metadata);
        let insert = "INSERT INTO changes (file, session, time, kind, state, is_in_editor, call, \
            model, title, before, after, n_before, n_after, form, mode, metadata, undoes, hunks, \
            together) VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        transaction.prepare_cached(insert)?.execute(params![
            file,
            session,
            time,
            kind as i64,
            change.is_in_editor,
            origin.call,
            origin.turn.model,
            origin.turn.title,
            before,
            self.digests[1].as_ref().map(ContentDigest::as_bytes),
            self.n_bytes[0].map(|n| n as i64),
            self.n_bytes[1].map(|n| n as i64),
            self.form,
            metadata.map(|metadata| metadata.mode & 0o7777),
            removed,
            encode_undoes(&origin.undoes),
            self.hunks,
            together,
        ])?;
        let id = transaction.last_insert_rowid() as u64;
        Ok((id, self.jobs(change, id, earlier, foreign)))
    }

    /// Judges changes without an outcome by the content that the file has now. Their processes were
    /// killed, because no other process can be changing the file.
    fn settle_earlier(
        &self,
        transaction: &Transaction<'_>,
        file: i64,
        is_in_editor: bool,
    ) -> Result<()> {
        let now = self.digests[0].as_ref().map(ContentDigest::as_bytes);
        settle_by_evidence(transaction, file, now, is_in_editor)
    }

    fn jobs(
        &self,
        change: &RecordedChange<'_>,
        id: u64,
        earlier: Option<Earlier>,
        foreign: Option<u64>,
    ) -> Vec<Job> {
        let is_known = earlier.is_some() && foreign.is_none();
        let ChangedBytes::Whole { before: Some(before), after } = change.content else {
            return Vec::new();
        };
        // The record of a removal contains the whole content anyway.
        let is_removal = after.is_none() && foreign.is_none();
        if is_known || self.is_excluded || is_removal || before.len() > MAX_CONTENT {
            return Vec::new();
        }
        let last = earlier.map(|earlier| earlier.id as u64);
        let content = before.to_vec();
        vec![Job::Keep { change: id, foreign: foreign.zip(last), content }]
    }
}

/// Judges the changes of a file that have no outcome by its content, of which `now` is the digest.
pub fn settle_by_evidence(
    transaction: &Transaction<'_>,
    file: i64,
    now: Option<&[u8]>,
    is_in_editor: bool,
) -> Result<()> {
    // A change in an editor's buffer that is not on disk may be unsaved.
    let update = "UPDATE changes SET state = CASE \
        WHEN after IS ?1 THEN 1 \
        WHEN before IS ?1 AND (NOT is_in_editor OR ?2) THEN 3 \
        ELSE 2 END \
        WHERE file = ?3 AND state = 0 AND together IS NULL";
    transaction.prepare_cached(update)?.execute(params![now, is_in_editor, file])?;
    Ok(())
}

/// Returns the id of a path, and inserts it if it is new.
fn id_of(transaction: &Transaction<'_>, table: &str, path: &Path) -> Result<i64> {
    if let Some(id) = find(transaction, table, path)? {
        return Ok(id);
    }
    let insert = format!("INSERT INTO {table} (path) VALUES (?)");
    transaction.prepare_cached(&insert)?.execute([path.as_os_str().as_bytes()])?;
    Ok(transaction.last_insert_rowid())
}

fn find(transaction: &Transaction<'_>, table: &str, path: &Path) -> Result<Option<i64>> {
    let query = format!("SELECT id FROM {table} WHERE path = ?");
    let mut query = transaction.prepare_cached(&query)?;
    Ok(query.query_row([path.as_os_str().as_bytes()], |row| row.get(0)).optional()?)
}

fn session_id(transaction: &Transaction<'_>, session: &str, origin: &Origin) -> Result<i64> {
    let (client, version) = match &origin.client {
        Some((client, version)) => (client.as_str(), version.as_str()),
        None => ("", ""),
    };
    let query = "SELECT id FROM sessions WHERE name = ? AND client = ? AND version = ?";
    let mut query = transaction.prepare_cached(query)?;
    let known = query.query_row([session, client, version], |row| row.get(0)).optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    let insert = "INSERT INTO sessions (name, client, version) VALUES (?, ?, ?)";
    transaction.prepare_cached(insert)?.execute([session, client, version])?;
    Ok(transaction.last_insert_rowid())
}

fn last_change(
    transaction: &Transaction<'_>,
    file: i64,
    together: Option<i64>,
) -> Result<Option<Earlier>> {
    // Not one query with a parameter that may be NULL: because of the partial index on `together`, SQLite
    // would prepare it again for every value.
    let (condition, parameters): (_, &[&dyn ToSql]) = match &together {
        Some(together) => ("(state IN (1, 2) OR together = ?2)", &[&file, together]),
        None => ("state IN (1, 2)", &[&file]),
    };
    let query = format!(
        "SELECT id, after FROM changes WHERE file = ?1 AND {condition} ORDER BY id DESC LIMIT 1"
    );
    let mut query = transaction.prepare_cached(&query)?;
    let earlier = |row: &rusqlite::Row<'_>| Ok(Earlier { id: row.get(0)?, after: row.get(1)? });
    Ok(query.query_row(parameters, earlier).optional()?)
}
