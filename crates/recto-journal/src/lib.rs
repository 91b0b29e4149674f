//! The journal: a record of every change that recto makes, and undo of exactly those changes.
//!
//! A store records a change through [`Journal`] before and after it makes it. [`Reader`] returns what
//! was recorded, [`undo`] computes how to undo parts of it, and [`undo_files`] does that in files. Contents are stored as [`hunk`]s in
//! SQLite, in a [`state_dir`] that no tool can reach. `docs/journal.md` describes it for users,
//! `docs/decisions/0018-journal.md` says why it is built this way.
//!
//! Only [`journal`], by the trait that they define, and [`undo_files`] know stores. The rest works on
//! bytes and rows.

pub mod blame;
pub mod change;
mod database;
pub mod digest;
pub mod error;
mod exclude;
pub mod hunk;
pub mod journal;
pub mod keeping;
mod kept;
mod later;
mod live;
pub mod names;
mod packed;
pub mod reader;
pub mod state_dir;
pub mod undo;
pub mod undo_files;

pub use change::{Change, Kind, Session, SessionName, State};
pub use error::{Error, Result};
pub use journal::{Journal, Settings};
pub use reader::{Filter, Reader};
pub use state_dir::StateDir;
