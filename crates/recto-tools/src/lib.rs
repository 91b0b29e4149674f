//! The file tools as a library: they read, search, preview, create and edit, and know no protocol
//! and no command line.

pub mod answer;
pub mod arguments;
pub mod call;
pub mod error;
pub mod limits;
pub mod served;
pub mod tools;
pub mod versions;

pub use answer::{Answer, Change};
pub use arguments::{Arguments, Kind, Param};
pub use call::{Call, Calls};
pub use error::{Error, Result};
pub use served::{Names, Served};
pub use tools::{Effect, Tool, Toolset};

/// The `tracing` target of every event that recto logs.
pub const LOG_TARGET: &str = "recto";
