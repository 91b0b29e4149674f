//! The SQLite database: its settings, its tables and the rule for other formats.
//!
//! The write-ahead log lets readers and the writer work at the same time. SQLite does not sync it with
//! every commit: [`Log::sync`] does so for records of intentions, without the lock, so that several
//! processes sync at the same time. A lost outcome is found again by what is in the file. Deleted content is overwritten with zeros, and free pages are returned in small steps.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use recto_platform::random_bytes;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::digest::{Digests, SECRET_BYTES};
use crate::error::{Error, Result};
use crate::state_dir::StateDir;

/// The format of the tables. A database with a newer format is neither read nor written; one with an
/// older format is converted when it is opened for writing.
const FORMAT: i64 = 1;

/// The size of a page. A change alters a few bytes of each of five pages, all of which are written: with
/// SQLite's default of 4 KiB, that is 20 KB for a record of 200 bytes.
const PAGE: u64 = 1024;

/// The number of bytes that the log has for a page, beside the page.
const FRAME_HEADER: u64 = 24;

/// The number of bytes that the write-ahead log is longer than what is used, when it has been extended.
const EXTENSION: u64 = 2 << 20;

/// The number of bytes that are added at once. Syncing all of an extension delays other processes for
/// milliseconds.
const EXTENSION_STEP: u64 = 128 << 10;

const TABLES: &str = "
    CREATE TABLE secret (bytes BLOB NOT NULL);
    CREATE TABLE roots (
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,
        -- The stored bytes of its changes.
        n_bytes INTEGER NOT NULL DEFAULT 0
    );
    -- AUTOINCREMENT, because `moved` may name a file that was forgotten.
    CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
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
        model TEXT,
        title TEXT,
        before BLOB,
        after BLOB,
        n_before INTEGER,
        n_after INTEGER,
        form TEXT,
        mode INTEGER,
        metadata BLOB,
        undoes BLOB,
        hunks BLOB,
        -- The transaction, if the change was made together with others.
        together INTEGER REFERENCES transactions,
        -- The new name of the file, or the old one if it has the new name.
        moved INTEGER REFERENCES files
    );
    CREATE TABLE transactions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        -- A part of the names of its temporary files.
        token TEXT NOT NULL,
        -- 0: intended, 1: done, 2: without temporary files, 3: uncertain.
        state INTEGER NOT NULL,
        -- Paths, separated by NUL.
        new_dirs BLOB NOT NULL
    );
    CREATE INDEX unfinished_transactions ON transactions (id) WHERE state < 2;
    CREATE INDEX changes_together ON changes (together) WHERE together IS NOT NULL;
    CREATE INDEX changes_of_file ON changes (file, id);
    CREATE INDEX changes_moved ON changes (moved) WHERE moved IS NOT NULL;
    CREATE INDEX changes_without_outcome ON changes (file) WHERE state = 0;
    -- The content before a change, where it does not follow from the changes before it.
    CREATE TABLE contents (change INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    -- Hunks that the user wants to keep.
    CREATE TABLE kept (change INTEGER, hunk INTEGER, PRIMARY KEY (change, hunk)) WITHOUT ROWID;
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
        DELETE FROM kept WHERE change = OLD.id;
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
    /// The write-ahead log. `None` on a network file system, where every commit is synced.
    pub log: Option<Arc<Log>>,
    /// The device and inode of its file.
    id: Option<(u64, u64)>,
}

/// The write-ahead log of an open database.
pub struct Log {
    file: File,
    /// The number of bytes that it takes for a page.
    pub n_frame_bytes: u64,
}

impl Log {
    /// Waits until all transactions that were committed before are on disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// Returns whether the next transactions will make the file longer, if it has `n_used` bytes.
    pub fn is_short(&self, n_used: u64) -> Result<bool> {
        Ok(self.n_bytes()? < n_used + EXTENSION / 2)
    }

    /// Makes the file a step longer, because syncing a file that grew takes many times as long as
    /// syncing overwritten bytes. Returns whether it is long enough. The caller has the lock.
    pub fn extend(&self, n_used: u64) -> Result<bool> {
        let end = self.n_bytes()?.max(n_used);
        if end >= n_used + EXTENSION {
            return Ok(true);
        }
        // Blocks that are allocated but not written would be as slow.
        let zeros = vec![0; EXTENSION_STEP as usize];
        self.file.write_all_at(&zeros, end).map_err(|error| self.failed(error))?;
        Ok(false)
    }

    fn n_bytes(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|error| self.failed(error))?.len())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::StateDir { path: "journal.db-wal".into(), cause: error.to_string() }
    }
}

impl Database {
    /// Opens the database for writing, and creates it if it does not exist. The caller has the lock.
    pub fn open(dir: &StateDir) -> Result<Database> {
        let connection = Connection::open(dir.database())?;
        // Before the first table is created.
        connection.pragma_update(None, "page_size", PAGE as i64)?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        let mode = if dir.network().is_some() { "TRUNCATE" } else { "WAL" };
        connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
        // Checkpoints are made after an answer, by the thread that works through what can wait.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        let mut database = Database::configured(connection)?;
        if mode == "TRUNCATE" {
            database.connection.pragma_update(None, "synchronous", "FULL")?;
        }
        match database.format()? {
            0 => database.create_tables()?,
            FORMAT => {}
            found => return Err(Error::Newer { found, supported: FORMAT }),
        }
        database.read_secret()?;
        database.id = file_id(dir);
        if mode == "WAL" {
            let log = OpenOptions::new().write(true).open(dir.log());
            let cause = |error: std::io::Error| error.to_string();
            let log = log.map_err(|error| Error::StateDir { path: dir.log(), cause: cause(error) });
            // That of an older database stays.
            let page = "page_size";
            let page: i64 = database.connection.pragma_query_value(None, page, |row| row.get(0))?;
            let n_frame_bytes = page as u64 + FRAME_HEADER;
            database.log = Some(Arc::new(Log { file: log?, n_frame_bytes }));
        }
        Ok(database)
    }

    /// Opens a database that exists, only to read it.
    pub fn open_to_read(path: &Path) -> Result<Database> {
        // Not `READ_ONLY`, which cannot open a write-ahead log that a killed process left.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut database = Database::configured(Connection::open_with_flags(path, flags)?)?;
        match database.format()? {
            0 => return Err(Error::Unfinished),
            FORMAT => {}
            found => return Err(Error::Newer { found, supported: FORMAT }),
        }
        database.read_secret()?;
        Ok(database)
    }

    /// Returns whether the database is still the one in the state directory. Its file may have been
    /// removed or replaced.
    pub fn is_current(&self, dir: &StateDir) -> bool {
        self.id.is_some() && self.id == file_id(dir)
    }

    fn configured(connection: Connection) -> Result<Database> {
        connection.busy_timeout(crate::state_dir::LOCK_WAIT)?;
        for (name, value) in [
            ("synchronous", "NORMAL"),
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
        Ok(Database { connection, digests, log: None, id: None })
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
}

fn file_id(dir: &StateDir) -> Option<(u64, u64)> {
    let status = dir.database().metadata().ok()?;
    Some((status.dev(), status.ino()))
}
