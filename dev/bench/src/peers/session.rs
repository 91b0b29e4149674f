//! One running server: sends calls, measures, and checks answers.

use std::path::Path;
use std::time::{Duration, Instant};

use recto_dev::client::{Client, Limits, text_of};
use recto_dev::servers::{Server, ServerKind};
use serde_json::{Value, json};

use super::calls;
use super::work::Work;
use crate::Result;
use crate::machine::megabytes_of_family;
use crate::rounds::Sample;

/// A server that takes longer for an answer has failed.
const LIMITS: Limits = Limits { patience: Duration::from_secs(60), megabytes: f64::INFINITY };

/// A running server.
pub struct Session {
    kind: ServerKind,
    client: Client,
}

impl Session {
    /// Starts a server and opens the session. The sample is the time from the start to the answer.
    pub fn open(server: &Server, root: &Path) -> Result<(Session, Sample)> {
        let started = Instant::now();
        let mut client = Client::start(&mut server.command(root))?;
        let exchange = client.initialize()?;
        let sample = Sample { time: exchange.received - started, ..exchange.into() };
        client.limits = Some(LIMITS);
        Ok((Session { kind: server.kind, client }, sample))
    }

    /// Does a piece of work and checks it.
    pub fn work(&mut self, work: &Work<'_>) -> Result<Sample> {
        let hashes = match calls::question(self.kind, work) {
            Some((tool, arguments)) => {
                let (_, result) = self.client.call_ok(tool, arguments)?;
                Some(serde_json::from_str::<Value>(&text_of(&result))?)
            }
            None => None,
        };
        let (tool, arguments) = calls::call(self.kind, work, hashes.as_ref())?;
        let (exchange, result) = self.client.call_ok(tool, arguments)?;
        work.check(&result)?;
        Ok(exchange.into())
    }

    /// Returns the list of tools as it is sent.
    pub fn tools(&mut self) -> Result<Value> {
        Ok(self.client.request("tools/list", json!({}))?.1.result()?["tools"].take())
    }

    /// Returns `VmRSS` or `VmHWM` of the server and its child processes in MB.
    pub fn megabytes(&self, field: &str) -> Result<f64> {
        megabytes_of_family(self.client.process_id(), field)
    }

    /// Kills the server, because some do not end when their input does.
    pub fn close(mut self) -> Result<()> {
        self.client.kill()
    }
}
