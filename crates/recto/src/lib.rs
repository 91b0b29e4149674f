//! The recto program: a file server for coding agents, over MCP and ACP.
//!
//! A call flows in one direction and returns: client → [`mcp`] → `recto_tools::Calls` → the tool →
//! `recto_store` → client. `recto-text` plans and computes edits.

pub mod cli;
pub mod clients;

pub mod config;

pub mod install;

pub mod assemble;

pub mod journal;

pub mod limits;

pub mod landlock;

pub mod log;

pub mod mcp;

pub mod acp;

mod line;

mod signals;

mod http;

mod review;

pub mod allocator;

#[doc(hidden)]
pub mod fuzzing;
