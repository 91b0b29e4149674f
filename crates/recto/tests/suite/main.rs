//! Everything that is tested from outside: the contract tables, the built binary with a real
//! client, the sandbox, the write protocol under faults and kills.
//!
//! One test program, because linking is what takes time.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../support/acp_agent.rs"]
mod acp_agent;
#[path = "../support/acp_editor.rs"]
mod acp_editor;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "the contracts use the rest")]
mod client;
#[path = "../support/confinement.rs"]
mod confinement;
#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/sandbox_fixture.rs"]
#[allow(dead_code, reason = "the conditional tests use the rest")]
mod sandbox_fixture;
#[path = "../support/scripted_editor.rs"]
mod scripted_editor;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/test_dir.rs"]
mod test_dir;

mod acp;
mod crashes;
mod docs;
mod doctor;
mod editor;
mod escaping_links;
mod excerpts;
mod faults;
mod fidelity;
mod files;
mod git;
mod hints;
mod landlock;
mod limits;
mod log;
mod model;
mod properties;
mod protocol;
mod races;
mod replay;
mod round_trips;
mod sandbox;
mod tidy;
