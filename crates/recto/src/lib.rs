//! recto gives language-model agents hands on files: they read, create and edit, and nothing
//! they do can lose a byte, leave the allowed folders or overwrite what somebody else changed.
//!
//! A call travels in one direction and comes back: client → [`mcp`] → [`call`] → [`tools`] →
//! [`store`] → client. `recto-text` decides and computes along the way.

pub mod cli;

pub mod config;

pub mod assemble;

pub mod limits;

pub mod landlock;

pub mod log;

pub mod mcp;

pub mod acp;

mod line;

mod signals;

pub mod allocator;

#[doc(hidden)]
pub mod fuzzing;
