//! ACP: the relay between an editor and an agent, and the link that connects the tools of the agent
//! to the editor.
//!
//! ```text
//!   editor ◄──stdin, stdout──► relay ◄──stdin, stdout──► agent
//!                                ▲                         │ starts
//!                                └────── link ──────► recto serve
//! ```
//!
//! Messages are JSON values rather than types, so that unknown members are preserved. `recto_tools`
//! executes calls, and `recto_store::Workspace` decides which files to request from the editor.

pub mod link;

pub mod relay;

pub mod updates;

pub mod merge;

mod line_sender;
