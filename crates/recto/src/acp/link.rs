//! The link between the relay and the servers that it put into sessions: a unix socket, and lines
//! of JSON on it.
//!
//! A server says hello with the token of its session and is welcomed. From then on it asks for
//! files and hands over updates, as many at once as it likes; replies come in any order and carry
//! the id of what they answer. What a reply means for a call is left to the workspace. The relay
//! asks one thing itself: what a call would do, for a person who is to allow it.

pub mod client;

pub mod rehearsals;

pub mod server;

pub mod tickets;

mod change_timeout;

mod socket;

mod rehearser;

mod witness;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use client::LinkClient;
pub use rehearser::Rehearser;
pub use witness::LinkWitness;

/// Names the socket in a server's environment.
pub const SOCKET_VARIABLE: &str = "RECTO_LINK";

/// Names the token in a server's environment.
pub const TOKEN_VARIABLE: &str = "RECTO_TOKEN";

/// The longest text that goes to an editor.
pub const MAX_EDITOR_TEXT: usize = 100_000_000;

/// The longest line: a text may grow when it is written as JSON.
pub const MAX_LINE: usize = 256 << 20;

/// How long a hello, and the welcome to it, may take.
const HELLO_LIMIT: Duration = Duration::from_secs(5);

/// What a server says. Texts are `&str` where it is written; where it is read they stay as they
/// are in JSON, for the relay only hands them on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMessage<Text> {
    /// The first line.
    Hello {
        /// The session's.
        token: String,
    },
    /// Asks for the text of a file.
    Read {
        /// Comes back with the reply.
        id: u64,
        /// Absolute.
        path: Text,
    },
    /// Gives a file a new text, if it has the old one still, and asks for what then stands there.
    Change {
        /// Comes back with the reply.
        id: u64,
        /// Absolute.
        path: Text,
        /// The digest of the old text, where there is a file already.
        #[serde(skip_serializing_if = "Option::is_none")]
        expects: Option<String>,
        /// All of the new one.
        content: Text,
    },
    /// Waits no longer for what is read for a change. The write itself cannot be taken back once
    /// the editor has it.
    GiveUp {
        /// Of the change.
        id: u64,
        /// Only where the reading has lasted as long as this.
        after_ms: u64,
    },
    /// Shows the editor what a call does. There is no reply.
    Update(Value),
    /// Answers a rehearsal.
    Rehearsed {
        /// Of the rehearsal.
        id: u64,
        /// What a person is shown; `None` where nothing is known.
        content: Option<Vec<Value>>,
    },
}

/// What the relay says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelayMessage<Text> {
    /// To a hello.
    Welcome(Welcome),
    /// To a hello that is not welcome, before the end.
    Unwelcome {
        /// Why.
        reason: String,
    },
    /// To a read.
    Text {
        /// Of the read.
        id: u64,
        /// As the person sees it.
        content: Text,
    },
    /// To a change.
    Written {
        /// Of the change.
        id: u64,
        /// What then stood there, if that could be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Text>,
    },
    /// To a change of another text than the one that is there. The editor was not given the new one.
    Moved {
        /// Of the change.
        id: u64,
    },
    /// To a change that was given up. The editor was not given the new text.
    GivenUp {
        /// Of the change.
        id: u64,
        /// Whether the editor is gone, and not only silent.
        is_gone: bool,
    },
    /// To giving up what cannot be given up yet. Another reply will come.
    Pending {
        /// Of the change.
        id: u64,
    },
    /// To a read, and to a change that the editor refuses. It has not the new text.
    Failed {
        /// Of what was asked.
        id: u64,
        /// The editor's.
        code: i64,
        /// The editor's.
        message: String,
    },
    /// Asks what a call would do, now.
    Rehearse {
        /// Comes back with what was found; not one of the server's ids.
        id: u64,
        /// The tool's name.
        tool: String,
        /// Its arguments, unchecked.
        arguments: Map<String, Value>,
    },
}

/// What the editor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// It hands out the text of files.
    pub can_read: bool,
    /// It takes the text of files.
    pub can_write: bool,
}

/// A message as a line without its ending.
fn line<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("strings and numbers are JSON")
}
