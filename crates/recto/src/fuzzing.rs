//! Parts that no caller needs, under one name for the targets in `dev/fuzz`: what reads other
//! people's bytes should be tried with any bytes.

pub use crate::acp::relay::inject::{Session, Splice};
pub use crate::acp::relay::peek::{Peek, Shape, shape};
pub use crate::line::{Line, id_of, read as read_line};
pub use crate::mcp::codex::{CAPABILITY, sandbox};
pub use recto_store::fuzzing::*;
