//! The journal of this process: where it is, and how stores record in it.

mod own_changes;

use std::path::PathBuf;
use std::sync::Arc;

use recto_journal::keeping::Limits;
use recto_journal::{Error, Journal, Settings, StateDir};
use recto_platform::random_hex;
use recto_store::record::{
    NotRecorded, Origin, Outcome, RecordedChange, Recorder, Recording, Ticket, Turn,
};
use recto_text::Digest;
use recto_tools::recorded::RecordedChanges;

use crate::acp::link::TOKEN_VARIABLE;
use crate::config::{JournalConfig, JournalMode};
use own_changes::JournalChanges;

/// The journal of this process, or why it has none.
#[derive(Clone, Default)]
pub struct OpenJournal {
    recording: Recording,
    journal: Option<Arc<Journal>>,
    changes: Option<Arc<JournalChanges>>,
}

impl OpenJournal {
    /// Uses the journal that the options name. `command` is the part of the session's name that
    /// says what made a change.
    pub fn new(config: &JournalConfig, command: &str) -> OpenJournal {
        let is_required = config.mode == JournalMode::Required;
        if config.mode == JournalMode::Off {
            return OpenJournal::default();
        }
        match state_dir(config) {
            Ok(dir) => {
                let (session, excluded) = (session(command), config.excluded.clone());
                let settings =
                    Settings { session: session.clone(), excluded, limits: Limits::default() };
                let journal = Arc::new(Journal::new(dir.clone(), settings));
                let recording = Recording::new(journal.clone(), is_required);
                let changes = JournalChanges { dir, session, journal: journal.clone() };
                OpenJournal { recording, journal: Some(journal), changes: Some(Arc::new(changes)) }
            }
            Err(error) => {
                let unavailable = Arc::new(Unavailable { cause: error.to_string() });
                let recording = Recording::new(unavailable, is_required);
                OpenJournal { recording, journal: None, changes: None }
            }
        }
    }

    /// Returns how a store records its changes.
    pub fn recording(&self) -> Recording {
        self.recording.clone()
    }

    /// Notes that a session has ended while the process goes on.
    pub fn end_session(&self, name: &str) {
        if let Some(journal) = &self.journal {
            journal.end_session(name);
        }
    }

    /// Returns the recorded changes, for the tools that list and undo them.
    pub fn changes(&self) -> Option<Arc<dyn RecordedChanges>> {
        self.changes.clone().map(|changes| changes as Arc<dyn RecordedChanges>)
    }

    /// Also records the turns that `turn` returns.
    pub fn record_turns(&self, turn: impl Fn() -> Turn + Send + Sync + 'static) {
        if let Some(journal) = &self.journal {
            journal.record_turns(Box::new(turn));
        }
    }

    /// Waits until everything is recorded.
    pub fn flush(&self) {
        if let Some(journal) = &self.journal {
            journal.flush();
        }
    }
}

/// Returns the path of the state directory.
pub fn state_path(config: &JournalConfig) -> Result<PathBuf, Error> {
    StateDir::locate(config.state_dir.as_deref()).ok_or_else(|| Error::StateDir {
        path: PathBuf::from("~/.local/state/recto"),
        cause: "there is no home directory; set --state-dir".into(),
    })
}

/// Creates the state directory, or checks that it can be used.
pub fn state_dir(config: &JournalConfig) -> Result<StateDir, Error> {
    StateDir::create(&state_path(config)?)
}

/// Returns the name of the session: for ACP the same for all servers of a session, otherwise one for
/// each process.
fn session(command: &str) -> String {
    match std::env::var(TOKEN_VARIABLE) {
        Ok(token) if command == "serve" => format!("acp-{}", Digest::of(token.as_bytes())),
        _ => {
            let random = random_hex::<4>().unwrap_or_else(|_| std::process::id().to_string());
            format!("{command}-{random}")
        }
    }
}

/// Rejects every record.
struct Unavailable {
    cause: String,
}

impl Recorder for Unavailable {
    fn intend(&self, _: &RecordedChange<'_>, _: &Origin) -> Result<Ticket, NotRecorded> {
        Err(NotRecorded { cause: self.cause.clone() })
    }

    fn settle(&self, _: Ticket, _: Outcome<'_>) {}
}
