//! Parts that no caller needs, under one name for the targets in `dev/fuzz`: what reads other
//! people's bytes should be tried with any bytes.

pub use crate::acp::relay::inject::{SessionParams, Splice};
pub use crate::acp::relay::peek::{MessageKind, Peek, classify};
pub use crate::line::{LineRead, id_of, read as read_line};
pub use crate::mcp::codex::{CAPABILITY, sandbox};
pub use recto_store::fuzzing::*;
