//! End-to-end tests, in one test program because linking takes time.
//!
//! Where a new test goes:
//!
//! - A rule of a tool, or a bug fixed in one, is a row in `contracts/<tool>.toml`, which
//!   `tests/contracts` runs in memory, with an editor and through the binary.
//! - A test that needs root, a mount or a kernel feature goes to `tests/conditional`, which reports
//!   it as ignored if it cannot run.
//! - Every other test goes to one of the modules below. A fixture that several of them or another
//!   test program use goes to `tests/support`.
//!
//! Editing text:
//!
//! - [`fidelity`]: an edit keeps the mode and every other byte of a file.
//! - [`round_trips`]: files in many encodings, changed and changed back.
//! - [`replay`]: real changes from an archive of this project's history, made by calls.
//! - [`model`]: random sequences of calls compared with a reference implementation.
//! - [`plain_english`]: phrases that the prose avoids.
//! - [`properties`]: laws for every text and every edit.
//! - [`answer_sizes`]: random calls of every tool, whose answers fit their size.
//! - [`excerpts`]: edits of files that are too large to read whole.
//! - [`hints`]: the call that a hint suggests works.
//!
//! Writing files:
//!
//! - [`faults`]: the write protocol when system calls fail, and with concurrent writers.
//! - [`crashes`]: `kill -9` at random moments of a write.
//! - [`races`]: several processes that edit one file.
//! - [`journal`]: what is recorded, and the commands that show and undo it.
//!
//! Access to files:
//!
//! - [`sandbox`]: paths that lead out of the roots, for every tool; denied paths, permissions, kinds of
//!   files, roots.
//! - [`landlock`]: how a server starts with and without Landlock.
//! - [`errors`]: one example of every error.
//! - [`escaping_links`], [`swaps`]: links and races that several of these tests use.
//!
//! Finding files and text:
//!
//! - [`files`]: the files toolset: listing, searching, paging, ignore rules, large files, and the same
//!   attempts to leave the roots as in [`sandbox`].
//! - [`git`]: files at revisions, compared with git; damaged and hostile repositories.
//!
//! Clients:
//!
//! - [`protocol`]: MCP on stdio: malformed lines, handshakes, backpressure, lifetimes, `tools/list`.
//! - [`http`]: MCP over HTTP: tokens, sessions, bounds, both protocol eras.
//! - [`review`]: the review page: who may ask for data, what it shows, what its actions do.
//! - [`editor`]: an editor between the tools and the disk.
//! - [`acp`]: `recto acp` between a scripted editor and a scripted agent.
//! - [`install`]: `recto install` and the settings of clients.
//! - [`limits`]: each limit from both sides.
//! - [`memory`]: the memory of all calls together, and calls that wait.
//! - [`command_line`], [`log`], [`doctor`]: commands typed in a shell, the log on stderr, and
//!   `recto doctor`.
//!
//! The repository itself:
//!
//! - [`docs`]: pages generated from the code.
//! - [`tidy`]: rules of ARCHITECTURE.md that the compiler does not enforce.

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
#[path = "../support/running.rs"]
mod running;
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
mod answer_sizes;
mod command_line;
mod crashes;
mod docs;
mod doctor;
mod editor;
mod errors;
mod escaping_links;
mod excerpts;
mod faults;
mod fidelity;
mod files;
mod git;
mod hints;
mod http;
mod install;
mod journal;
mod landlock;
mod limits;
mod log;
mod memory;
mod model;
mod plain_english;
mod properties;
mod protocol;
mod races;
mod random;
mod replay;
mod review;
mod round_trips;
mod sandbox;
mod swaps;
mod tidy;
