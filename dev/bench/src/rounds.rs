//! One round of each row: what is done between two readings of the clock.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::client::{Client, Exchange, Expect, Pipes};
use crate::files::{self, Folder, MB, N_MARKS, mark};

/// One measurement.
pub struct Sample {
    pub time: Duration,
    /// How long the answer's line was, where there is one.
    pub n_bytes: Option<usize>,
}

impl From<Exchange> for Sample {
    fn from(exchange: Exchange) -> Sample {
        Sample { time: exchange.time(), n_bytes: Some(exchange.n_bytes()) }
    }
}

impl From<Duration> for Sample {
    fn from(time: Duration) -> Sample {
        Sample { time, n_bytes: None }
    }
}

/// What rounds work with.
pub struct Bench {
    recto: PathBuf,
    pub cat: Pipes,
    /// A server with its defaults, the same for all rows.
    pub durable: Client,
    /// A server that does not wait for the disk.
    pub renaming: Client,
    pub folder: Folder,
}

impl Bench {
    /// Makes the files and starts the servers.
    pub fn prepare(recto: PathBuf) -> Result<Bench> {
        let folder = Folder::create()?;
        let start = |options: &[&str]| -> Result<Client> {
            let mut client = Client::start(&recto, folder.path(), options)?;
            client.initialize()?;
            Ok(client)
        };
        let durable = start(&[])?;
        let renaming = start(&["--durability", "rename"])?;
        let cat = Pipes::start(&mut Command::new("cat"))?;
        Ok(Bench { recto, cat, durable, renaming, folder })
    }

    /// Ends the servers and removes the files.
    pub fn stop(self) -> Result<()> {
        self.cat.stop()?;
        self.durable.stop()?;
        self.renaming.stop()?;
        self.folder.remove()
    }

    /// Starts one more server and opens a session with it.
    pub fn open_session(&self) -> Result<(Client, Exchange)> {
        let mut client = Client::start(&self.recto, self.folder.path(), &[])?;
        let exchange = client.initialize()?;
        Ok((client, exchange))
    }

    /// Asks for a string that is not there.
    pub fn refused_edit(&mut self, old_string: &str) -> Result<(Exchange, Value)> {
        let path = self.path("10000-lines.txt");
        let arguments = json!({"path": path, "old_string": old_string, "new_string": "new"});
        self.durable.call("edit_text_file", arguments, Expect::Refusal)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Sample> {
        Ok(self.durable.call(tool, arguments, Expect::Success)?.0.into())
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
        let (exchange, _) = client.call("read_text_file", arguments, Expect::Success)?;
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

    /// The arguments of a write that finds other content in the file.
    pub fn new_content(&self, round: usize) -> Value {
        let content = files::text(1000 + round as u64, MB);
        json!({"path": self.path("overwritten.txt"), "content": content})
    }

    pub fn edit_all_marks(&mut self, name: &str, round: usize) -> Result<Sample> {
        let edit = |index| {
            let (old, new) = toggled(index, round);
            json!({"old_string": old, "new_string": new})
        };
        let edits: Vec<_> = (0..N_MARKS).map(edit).collect();
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

/// A mark as a round finds it, and as it leaves it.
pub fn toggled(index: usize, round: usize) -> (String, String) {
    let is_set = !round.is_multiple_of(2);
    (mark(index, is_set), mark(index, !is_set))
}

pub fn run_true() -> Result<Sample> {
    let started = Instant::now();
    Command::new("/bin/true").status()?;
    Ok(started.elapsed().into())
}
