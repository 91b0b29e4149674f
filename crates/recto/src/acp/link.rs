//! The protocol between the relay and the servers that it adds to sessions: lines of JSON on a Unix
//! socket.
//!
//! A server sends `Hello` with the token of its session and receives `Welcome`. It then requests
//! files and sends updates concurrently; replies come in any order and carry the id of the request.
//! The relay itself only requests rehearsals: what a call would do, to show it to the user before
//! the call is permitted.

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

/// The environment variable of a server that contains the socket's path.
pub const SOCKET_VARIABLE: &str = "RECTO_LINK";

/// The environment variable of a server that contains the session's token.
pub const TOKEN_VARIABLE: &str = "RECTO_TOKEN";

/// The maximum size of a text that is written to an editor.
pub const MAX_EDITOR_TEXT: usize = 100_000_000;

/// The maximum length of a line. Escaping in JSON makes a text longer.
pub const MAX_LINE: usize = 256 << 20;

/// The time limit of the handshake.
const HELLO_LIMIT: Duration = Duration::from_secs(5);

/// A message from a server to the relay. `Text` is `&str` in the server and raw JSON in the relay,
/// which passes texts on without decoding them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMessage<Text> {
    /// The first message.
    Hello {
        /// The token of the session.
        token: String,
    },
    /// Requests the text of a file.
    Read {
        /// The id of the request.
        id: u64,
        /// The absolute path.
        path: Text,
    },
    /// Replaces the text of a file if it still has the expected text, and requests the new text.
    Change {
        /// The id of the request.
        id: u64,
        /// The absolute path.
        path: Text,
        /// The digest of the expected text; `None` for a new file.
        #[serde(skip_serializing_if = "Option::is_none")]
        expects: Option<String>,
        /// The whole new text.
        content: Text,
    },
    /// Abandons the reads of a change. The write cannot be cancelled once it was sent to the editor.
    GiveUp {
        /// The id of the change.
        id: u64,
        /// Applies only if the read has already taken this long.
        after_ms: u64,
    },
    /// Requests the model and the title of the current turn.
    Turn {
        /// The id of the request.
        id: u64,
    },
    /// Updates a call's card in the editor. There is no reply.
    Update(Value),
    /// The result of a rehearsal.
    Rehearsed {
        /// The id of the rehearsal.
        id: u64,
        /// The content to show to the user; `None` if the result is not known.
        content: Option<Vec<Value>>,
    },
}

/// A message from the relay to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelayMessage<Text> {
    /// Accepts a hello.
    Welcome(Welcome),
    /// Rejects a hello; the relay then closes the connection.
    Unwelcome {
        /// The reason.
        reason: String,
    },
    /// Answers a read.
    Text {
        /// The id of the read.
        id: u64,
        /// The text in the editor's buffer.
        content: Text,
    },
    /// Answers a change that was written.
    Written {
        /// The id of the change.
        id: u64,
        /// The text after the write, if it could be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Text>,
    },
    /// Answers a change whose expected text does not match. Nothing was sent to the editor.
    Moved {
        /// The id of the change.
        id: u64,
    },
    /// Answers a change that was abandoned. Nothing was sent to the editor.
    GivenUp {
        /// The id of the change.
        id: u64,
        /// Whether the editor has disconnected, rather than not answered.
        is_gone: bool,
    },
    /// Answers a `GiveUp` of a change that cannot be abandoned yet. Its own reply follows later.
    Pending {
        /// The id of the change.
        id: u64,
    },
    /// Answers a read or change that the editor rejected. The text was not written.
    Failed {
        /// The id of the request.
        id: u64,
        /// The editor's error code.
        code: i64,
        /// The editor's error message.
        message: String,
    },
    /// Answers a request for the current turn.
    Turn {
        /// The id of the request.
        id: u64,
        /// The model.
        model: Option<String>,
        /// The first line of the user's prompt.
        title: Option<String>,
    },
    /// Requests a rehearsal: what a call would do now.
    Rehearse {
        /// The id of the rehearsal, from a sequence of its own.
        id: u64,
        /// The tool's name.
        tool: String,
        /// Its arguments, not validated.
        arguments: Map<String, Value>,
    },
}

/// The capabilities of the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Whether it serves the text of files.
    pub can_read: bool,
    /// Whether it accepts new text for files.
    pub can_write: bool,
}

/// Serialises a message, without a line ending.
fn line<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("strings and numbers are JSON")
}
