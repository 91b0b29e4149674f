//! Editors: the relay that stands between one and an agent, and the link over which the tools
//! that the relay gives to the agent reach the editor.
//!
//! ```text
//!   editor ◄──stdin, stdout──► relay ◄──stdin, stdout──► agent
//!                                ▲                         │ starts
//!                                └────── link ──────► recto serve
//! ```
//!
//! Messages are JSON values, not types: what is not known here must survive. What calls mean is
//! left to [`crate::call`], and which files an editor is asked for to the workspace.

pub mod link;

pub mod relay;

pub mod updates;

pub mod merge;

mod line_sender;
