//! `recto install`: adds recto to the settings of MCP clients and ACP editors, and removes it.
//!
//! Settings are never re-serialized. A parser finds the position, and text is spliced in there, so
//! that comments, order, indentation, BOM and line endings stay
//! ([why](../../../docs/decisions/0020-install.md)).

pub mod client;
pub mod command;
pub mod files;
pub mod format;
mod json;
pub mod launch;
pub mod places;
pub mod plan;
pub mod probe;
mod records;
mod splice;
pub mod table;
mod toml;
mod yaml;
