//! MCP. Apart from `recto demo`, which is a client, `http` and the commands that start it, only this
//! module uses `rmcp`.
//! `recto_tools::Calls` executes the calls.
//!
//! - `handler` answers requests and knows nothing about how they arrive, so that any `rmcp`
//!   transport can serve it.
//! - `stdio` is the transport on stdin and stdout, with bounds on what a client can make the
//!   server keep in memory. `docs/decisions/0013-rmcp.md` says what it adds to `rmcp`'s own.
//! - `codex` reads the sandbox that Codex sends with every call.

pub(crate) mod codex;
pub(crate) mod handler;
mod stdio;

use serde_json::Value;

use crate::config::ClientWire;
use recto_tools::tools::Tool;

#[doc(hidden)]
pub use handler::Handler;
pub use stdio::serve;

/// Returns the definitions of tools as a client receives them.
pub fn definitions(tools: &[&Tool], wire: ClientWire) -> Value {
    let definitions: Vec<_> = tools.iter().map(|tool| handler::definition(tool, wire)).collect();
    serde_json::to_value(definitions).expect("definitions are JSON")
}
