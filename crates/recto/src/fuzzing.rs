//! Parsers of untrusted input, re-exported for the fuzz targets in `dev/fuzz`.

pub use crate::acp::relay::inject::{SessionParams, Splice};
pub use crate::acp::relay::peek::{MAX_BATCH, MessageKind, Peek, batch, classify};
pub use crate::line::{LineRead, id_of, read as read_line};
pub use crate::mcp::codex::{CAPABILITY, sandbox};
pub use recto_store::fuzzing::*;
