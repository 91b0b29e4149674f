//! Everything that is tested from outside: the contract tables, the built binary with a real
//! client, the sandbox, the write protocol under faults and kills.
//!
//! One test program, because linking is what takes time.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../support/client.rs"]
#[allow(dead_code, reason = "the contracts use the rest")]
mod client;
#[path = "../support/scripted_editor.rs"]
mod scripted_editor;

mod acp;
mod crashes;
mod docs;
mod doctor;
mod editor;
mod excerpts;
mod faults;
mod fidelity;
mod files;
mod git;
mod limits;
mod links_out;
mod log;
mod model;
mod properties;
mod protocol;
mod races;
mod replay;
mod sandbox;
mod teaching;
mod there_and_back;
mod tidy;
mod walls;
