//! The SQLite database: its settings, its tables and the rule for other formats.
//!
//! The write-ahead log lets readers and the writer work at the same time. Records of intentions are
//! synced with every commit, records of outcomes are not: a lost outcome is found again by what is in
//! the file. Deleted content is overwritten with zeros, and free pages are returned in small steps.

use std::path::Path;

use recto_platform::random_bytes;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::digest::{Digests, SECRET_BYTES};
use crate::error::{Error, Result};
use crate::state_dir::StateDir;

/// The format of the tables. A database with a newer format is neither read nor written; one with an
/// older format is converted when it is opened for writing.
const FORMAT: i64 = 1;

const TABLES: &str = "
    CREATE TABLE secret (bytes BLOB NOT NULL);
    CREATE TABLE roots (
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,
        -- The stored bytes of its changes.
        n_bytes INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        root INTEGER NOT NULL REFERENCES roots,
        path BLOB NOT NULL UNIQUE
    );
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        client TEXT NOT NULL,
        version TEXT NOT NULL,
        UNIQUE (name, client, version)
    );
    -- Ordered by id. AUTOINCREMENT, so that no id is used twice.
    CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file INTEGER NOT NULL REFERENCES files,
        session INTEGER REFERENCES sessions,
        time INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        state INTEGER NOT NULL,
        is_in_editor INTEGER NOT NULL,
        call TEXT,
        before BLOB,
        after BLOB,
        n_before INTEGER,
        n_after INTEGER,
        form TEXT,
        mode INTEGER,
        metadata BLOB,
        undoes BLOB,
        hunks BLOB
    );
    CREATE INDEX changes_of_file ON changes (file, id);
    CREATE INDEX changes_without_outcome ON changes (file) WHERE state = 0;
    -- The content before a change, where it does not follow from the changes before it.
    CREATE TABLE contents (change INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    CREATE TRIGGER change_added AFTER INSERT ON changes WHEN NEW.hunks IS NOT NULL BEGIN
        UPDATE roots SET n_bytes = n_bytes + length(NEW.hunks)
            WHERE id = (SELECT root FROM files WHERE id = NEW.file);
    END;
    CREATE TRIGGER hunks_updated AFTER UPDATE OF hunks ON changes BEGIN
        UPDATE roots SET
            n_bytes = n_bytes + ifnull(length(NEW.hunks), 0) - ifnull(length(OLD.hunks), 0)
            WHERE id = (SELECT root FROM files WHERE id = NEW.file);
    END;
    CREATE TRIGGER change_removed BEFORE DELETE ON changes BEGIN
        DELETE FROM contents WHERE change = OLD.id;
        UPDATE roots SET n_bytes = n_bytes - ifnull(length(OLD.hunks), 0)
            WHERE id = (SELECT root FROM files WHERE id = OLD.file);
    END;
    CREATE TRIGGER content_added AFTER INSERT ON contents BEGIN
        UPDATE roots SET n_bytes = n_bytes + length(NEW.bytes) WHERE id = (
            SELECT root FROM changes JOIN files ON files.id = file WHERE changes.id = NEW.change);
    END;
    CREATE TRIGGER content_removed BEFORE DELETE ON contents BEGIN
        UPDATE roots SET n_bytes = n_bytes - length(OLD.bytes) WHERE id = (
            SELECT root FROM changes JOIN files ON files.id = file WHERE changes.id = OLD.change);
    END;
";

/// A connection.
pub struct Database {
    /// SQLite's connection.
    pub connection: Connection,
    /// Digests contents with the secret of this database.
    pub digests: Digests,
    is_synced: bool,
}

impl Database {
    /// Opens the database for writing, and creates it if it does not exist. The caller has the lock.
    pub fn open(dir: &StateDir) -> Result<Database> {
        let connection = Connection::open(dir.database())?;
        // Before the first table is created.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        let mode = if dir.network().is_some() { "TRUNCATE" } else { "WAL" };
        connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
        // Checkpoints are made after an answer, by the thread that works through what can wait.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        let mut database = Database::configured(connection)?;
        match database.format()? {
            0 => database.create_tables()?,
            FORMAT => {}
            found => return Err(Error::Newer { found, supported: FORMAT }),
        }
        database.read_secret()?;
        Ok(database)
    }

    /// Opens a database that exists, only to read it.
    pub fn open_to_read(path: &Path) -> Result<Database> {
        // Not `READ_ONLY`, which cannot open a write-ahead log that a killed process left.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut database = Database::configured(Connection::open_with_flags(path, flags)?)?;
        match database.format()? {
            FORMAT => {}
            found => return Err(Error::Newer { found, supported: FORMAT }),
        }
        database.read_secret()?;
        Ok(database)
    }

    fn configured(connection: Connection) -> Result<Database> {
        connection.busy_timeout(crate::state_dir::LOCK_WAIT)?;
        for (name, value) in [
            ("synchronous", "FULL"),
            ("secure_delete", "ON"),
            ("foreign_keys", "OFF"),
            // No files outside the state directory.
            ("temp_store", "MEMORY"),
            // In KiB.
            ("cache_size", "-512"),
        ] {
            connection.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(|error| {
                match error {
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    error => Err(error),
                }
            })?;
        }
        let digests = Digests::new([0; SECRET_BYTES]);
        Ok(Database { connection, digests, is_synced: true })
    }

    fn format(&self) -> Result<i64> {
        Ok(self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
    }

    fn create_tables(&mut self) -> Result<()> {
        let secret: [u8; SECRET_BYTES] = random_bytes().map_err(|errno| Error::StateDir {
            path: self.connection.path().unwrap_or_default().into(),
            cause: errno.to_string(),
        })?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO secret VALUES (?)", [&secret[..]])?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        Ok(transaction.commit()?)
    }

    fn read_secret(&mut self) -> Result<()> {
        let query = "SELECT bytes FROM secret";
        let secret: Option<Vec<u8>> =
            self.connection.query_row(query, [], |row| row.get(0)).optional()?;
        let secret = secret.and_then(|secret| secret.try_into().ok());
        self.digests = Digests::new(secret.ok_or(Error::Damaged { change: 0 })?);
        Ok(())
    }

    /// Sets whether commits wait for the disk.
    pub fn sync_commits(&mut self, is_synced: bool) -> Result<()> {
        if self.is_synced != is_synced {
            let value = if is_synced { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", value)?;
            self.is_synced = is_synced;
        }
        Ok(())
    }
}
