//! One round of each row: the work between two clock readings.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use recto_dev::client::{Client, Exchange, Reply};
use serde_json::{Value, json};

use crate::files::{self, Folder, MB, N_MARKS, mark};
use crate::{Result, programs};

/// One measurement.
pub struct Sample {
    pub time: Duration,
    /// The length of the answer's line, if there is one.
    pub n_bytes: Option<usize>,
}

impl From<Exchange> for Sample {
    fn from(exchange: Exchange) -> Sample {
        Sample { time: exchange.time(), n_bytes: Some(exchange.n_bytes) }
    }
}

impl From<Duration> for Sample {
    fn from(time: Duration) -> Sample {
        Sample { time, n_bytes: None }
    }
}

/// The state that rounds work with.
pub struct Bench {
    recto: PathBuf,
    pub cat: Client,
    /// A server with default settings, shared by all rows.
    pub durable: Client,
    /// A server that does not sync.
    pub renaming: Client,
    pub folder: Folder,
}

impl Bench {
    /// Creates the files and starts the servers.
    pub fn prepare(recto: PathBuf) -> Result<Bench> {
        let folder = Folder::create()?;
        let (durable, _) = programs::open(&recto, folder.path(), &[])?;
        let (renaming, _) = programs::open(&recto, folder.path(), &["--durability", "rename"])?;
        let cat = Client::start(&mut Command::new("cat"))?;
        Ok(Bench { recto, cat, durable, renaming, folder })
    }

    /// Ends the servers and removes the files.
    pub fn stop(self) -> Result<()> {
        self.cat.stop()?;
        self.durable.stop()?;
        self.renaming.stop()?;
        self.folder.remove()
    }

    /// Starts another server and opens a session with it.
    pub fn open_session(&self) -> Result<(Client, Exchange)> {
        programs::open(&self.recto, self.folder.path(), &[])
    }

    /// Edits a string that is not in the file. Returns the text of the error.
    pub fn refused_edit(&mut self, old_string: &str) -> Result<(Exchange, String)> {
        let path = self.path("10000-lines.txt");
        let arguments = json!({"path": path, "old_string": old_string, "new_string": "new"});
        match self.durable.call("edit_text_file", arguments)? {
            (exchange, Reply::Refused(text)) => Ok((exchange, text)),
            (_, reply) => Err(format!("expected an error, got: {:.200}", reply.text()).into()),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Sample> {
        Ok(self.durable.call_ok(tool, arguments)?.0.into())
    }

    pub fn miss(&mut self, old_string: &str) -> Result<Sample> {
        Ok(self.refused_edit(old_string)?.0.into())
    }

    pub fn start(&mut self) -> Result<Sample> {
        let started = Instant::now();
        let (client, exchange) = self.open_session()?;
        client.stop()?;
        let time = exchange.received - started;
        Ok(Sample { time, ..exchange.into() })
    }

    pub fn start_and_read(&mut self) -> Result<Sample> {
        let arguments = json!({"path": self.path("2kb.txt")});
        let started = Instant::now();
        let (mut client, _) = self.open_session()?;
        let (exchange, _) = client.call_ok("read_text_file", arguments)?;
        client.stop()?;
        let time = exchange.received - started;
        Ok(Sample { time, ..exchange.into() })
    }

    pub fn create_file(&mut self) -> Result<Sample> {
        let path = self.path("created.txt");
        let content = "0123456789abcde\n".repeat(MB / 16);
        let sample = self.call("write_text_file", json!({"path": path, "content": content}))?;
        fs::remove_file(path)?;
        Ok(sample)
    }

    /// Returns the arguments of a write of content that the file does not have.
    pub fn new_content(&self, round: usize) -> Value {
        let content = files::text(1000 + round as u64, MB);
        json!({"path": self.path("overwritten.txt"), "content": content})
    }

    pub fn edit_all_marks(&mut self, name: &str, round: usize) -> Result<Sample> {
        let edits = toggled_edits(N_MARKS, round);
        let path = self.path(name);
        self.call("multi_edit_text_file", json!({"path": path, "edits": edits}))
    }

    pub fn read_file(&self) -> Result<Sample> {
        let path = self.path("1mb.txt");
        let started = Instant::now();
        let bytes = fs::read(path)?;
        let time = started.elapsed();
        drop(bytes);
        Ok(time.into())
    }

    pub fn sync_file(&self) -> Result<Sample> {
        let path = self.path("synced.txt");
        fs::write(&path, files::text(3, MB))?;
        let file = fs::File::open(&path)?;
        let started = Instant::now();
        file.sync_all()?;
        let time = started.elapsed();
        fs::remove_file(path)?;
        Ok(time.into())
    }
}

/// Returns a mark before and after a round.
pub fn toggled(index: usize, round: usize) -> (String, String) {
    let is_set = !round.is_multiple_of(2);
    (mark(index, is_set), mark(index, !is_set))
}

/// Returns edits that toggle that many marks, evenly spread.
pub fn toggled_edits(n_edits: usize, round: usize) -> Vec<Value> {
    let edit = |index| {
        let (old, new) = toggled(index, round);
        json!({"old_string": old, "new_string": new})
    };
    (0..N_MARKS).step_by(N_MARKS / n_edits).map(edit).collect()
}

pub fn run_true() -> Result<Sample> {
    let started = Instant::now();
    Command::new("/bin/true").status()?;
    Ok(started.elapsed().into())
}
