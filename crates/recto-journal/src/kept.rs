//! Marks of hunks that the user wants to keep. A mark is not a change: undoing a whole session leaves
//! marked hunks as they are.

use std::collections::HashSet;

use rusqlite::{TransactionBehavior, params};

use crate::error::Result;
use crate::reader::Reader;
use crate::undo::HunkId;

impl Reader {
    /// Returns the marked hunks.
    pub fn kept(&self) -> Result<HashSet<HunkId>> {
        let mut query = self.connection().prepare_cached("SELECT change, hunk FROM kept")?;
        let id = |row: &rusqlite::Row<'_>| {
            Ok(HunkId { change: row.get::<_, i64>(0)? as u64, hunk: row.get(1)? })
        };
        Ok(query.query_map([], id)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Marks hunks, or removes their marks.
    pub fn keep(&mut self, hunks: &[HunkId], is_kept: bool) -> Result<()> {
        let _lock = self.dir().lock()?;
        let connection = self.connection_mut();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let statement = match is_kept {
            true => {
                "INSERT OR IGNORE INTO kept SELECT ?1, ?2 \
                 WHERE EXISTS (SELECT 1 FROM changes WHERE id = ?1)"
            }
            false => "DELETE FROM kept WHERE change = ?1 AND hunk = ?2",
        };
        for id in hunks {
            transaction.prepare_cached(statement)?.execute(params![id.change as i64, id.hunk])?;
        }
        Ok(transaction.commit()?)
    }
}
