//! The file tools as a library, independent of protocols and of the command line. They read, search,
//! preview, create and edit files.
//!
//! # For agents in Rust
//!
//! An agent needs three things: [`Tool::input_schema`] and [`Tool::description`] of every tool in
//! [`Served`], to tell its model what it can call; [`Calls::call`], to run what the model calls; and
//! the text of the [`Answer`], or of the error ([`budget::ErrorText`]), to send back. The example
//! `agent_loop` is a whole agent.
//!
//! - A [`Calls`] is cheap to clone and can be used from several threads. Calls block, so an async
//!   program runs them on a thread for blocking work.
//! - Use [`Calls::for_new_session`] for each conversation: a session remembers which version of a
//!   file it has seen, so that `write_text_file` does not overwrite a newer one.
//! - [`Delivery`] bounds every answer and error. Answers say how to get the rest.
//! - [`Served`] selects the tools, and [`Calls::read_only`] those that change nothing.
//! - [`Call::context`](Call) cancels a call, and limits it to a sandbox.
//! - The store confines all calls to its roots. It does not start processes or open connections.
//!   It works on Linux.
//! - `LocalStore::with_recording` records every change; `recto-journal` implements it and undoes
//!   changes.
//!
//! # One call
//!
//! A protocol finds a tool in [`Served`], passes its arguments to [`Calls::call`] and gets an
//! [`Answer`] or an [`Error`] with a hint:
//!
//! ```
//! use std::sync::Arc;
//!
//! use recto_store::local::{LocalStore, Options};
//! use recto_store::GitRevisions;
//! use recto_tools::{Call, Calls, Delivery, AnswerForm, Served};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let root = folder.path().canonicalize()?;
//! std::fs::write(root.join("hello.txt"), "Hello\n")?;
//!
//! let disk = Arc::new(LocalStore::open(Options {
//!     roots: vec![root.clone()],
//!     hidden: Default::default(),
//!     allows_git_writes: false,
//!     is_durable: true,
//! })?);
//! let revisions = Arc::new(GitRevisions::new(disk.clone(), Vec::new()));
//! let delivery = Delivery { form: AnswerForm::Text, max_bytes: 40_000 };
//! let calls = Calls::new(disk, revisions, Served::all(), root, delivery);
//!
//! let read = calls.served().find("text_read").ok_or("not served")?;
//! let arguments = json!({"path": "hello.txt"}).as_object().cloned().unwrap_or_default();
//! let answer = calls.call(read, arguments, &Call::default())?;
//! assert_eq!(answer.content, "Hello\n");
//!
//! let arguments = json!({"path": "hello.md"}).as_object().cloned().unwrap_or_default();
//! let error = calls.call(read, arguments, &Call::default()).expect_err("it does not exist");
//! assert_eq!((error.code(), error.to_string()), (-32001, "File not found: hello.md".into()));
//! # Ok(())
//! # }
//! ```

pub mod answer;
pub mod arguments;
pub mod budget;
pub mod call;
pub mod delivery;
pub mod error;
pub mod limits;
pub mod recorded;
pub mod seen;
pub mod served;
pub mod tools;
pub mod versions;

pub use answer::{Answer, FileChange};
pub use arguments::{Arguments, Param, ParamKind};
pub use call::{Call, Calls};
pub use delivery::{AnswerForm, Delivery};
pub use error::{Error, Result};
pub use served::{Names, Served};
pub use tools::{Effect, Tool, Toolset};

/// The `tracing` target of every event that recto logs.
pub const LOG_TARGET: &str = "recto";
