//! One server that runs: asks it, measures, checks, and ends it when it takes too long.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::servers::Server;
use super::work::Work;
use crate::Result;
use crate::client::{Client, text_of};
use crate::machine::kilobytes_of_family;
use crate::rounds::Sample;

/// Who takes longer for one answer has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server.
pub struct Session {
    server: Server,
    client: Client,
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl Session {
    /// Starts a server and opens the session; the sample is the time from the start to the answer.
    pub fn open(server: Server, mut command: Command) -> Result<(Session, Sample)> {
        let started = Instant::now();
        let mut client = Client::spawn(&mut command)?;
        let exchange = client.initialize()?;
        let sample = Sample { time: exchange.received - started, ..exchange.into() };
        let deadline = Arc::default();
        watch(client.process_id(), &deadline);
        Ok((Session { server, client, deadline }, sample))
    }

    /// Has a piece of work done and checks it.
    pub fn work(&mut self, work: &Work<'_>) -> Result<Sample> {
        let hashes = match self.server.question(work) {
            Some((tool, arguments)) => {
                let (_, result) = self.call(tool, arguments)?;
                Some(serde_json::from_str::<Value>(&text_of(&result))?)
            }
            None => None,
        };
        let (tool, arguments) = self.server.call(work, hashes.as_ref())?;
        let (sample, result) = self.call(tool, arguments)?;
        work.check(&result)?;
        Ok(sample)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Result<(Sample, Value)> {
        let params = json!({"name": tool, "arguments": arguments});
        let sent = Instant::now();
        *self.deadline.lock().expect("nobody panics with it") = Some(sent + LIMIT);
        let answer = self.client.request("tools/call", params);
        *self.deadline.lock().expect("nobody panics with it") = None;
        if sent.elapsed() >= LIMIT {
            return Err(format!("no answer within {} s", LIMIT.as_secs()).into());
        }
        let (exchange, result) = answer?;
        if result["isError"] == true {
            return Err(text_of(&result).chars().take(120).collect::<String>().into());
        }
        Ok((exchange.into(), result))
    }

    /// The list of tools as it is sent.
    pub fn tools(&mut self) -> Result<Value> {
        Ok(self.client.request("tools/list", json!({}))?.1["tools"].take())
    }

    /// `VmRSS` or `VmHWM` of the server and of what it started.
    pub fn kilobytes(&self, field: &str) -> Result<usize> {
        kilobytes_of_family(self.client.process_id(), field)
    }

    /// Ends the server. How it ends is not measured, and some wait long for their input.
    pub fn close(self) -> Result<()> {
        self.client.kill()
    }
}

/// Ends the process when the deadline has passed, for as long as somebody holds the deadline.
fn watch(process_id: u32, deadline: &Arc<Mutex<Option<Instant>>>) {
    let deadline = Arc::downgrade(deadline);
    std::thread::spawn(move || {
        while let Some(deadline) = deadline.upgrade() {
            let deadline = *deadline.lock().expect("nobody panics with it");
            if deadline.is_some_and(|deadline| deadline < Instant::now()) {
                let _ = Command::new("kill").arg("-KILL").arg(process_id.to_string()).status();
                return;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    });
}
