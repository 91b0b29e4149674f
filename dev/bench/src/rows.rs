//! The rows and their numbers of rounds. [`crate::rounds`] does the measuring, [`crate::goals`]
//! contains the goals.

use serde_json::json;

use crate::Result;
use crate::files::N_MARKS;
use crate::goals::{self, Goal};
use crate::rounds::{Bench, Sample, run_true, toggled};

/// One line of the table of times.
pub struct Row {
    pub what: &'static str,
    pub goal: Option<Goal>,
    pub n_rounds: usize,
    /// Measures once. Rounds are counted from 0, so that each can differ.
    pub round: fn(&mut Bench, usize) -> Result<Sample>,
}

/// The cost of the machine itself, to judge the other rows by.
pub const YARDSTICKS: &[Row] = &[
    Row { what: "start and end `true`", goal: None, n_rounds: 200, round: |_, _| run_true() },
    Row {
        what: "one short line through `cat` and back",
        goal: None,
        n_rounds: 1000,
        round: |bench, _| Ok(bench.cat.exchange(b"a line\n")?.into()),
    },
    Row {
        what: "`std::fs::read` of 1 MB",
        goal: None,
        n_rounds: 200,
        round: |bench, _| bench.read_file(),
    },
    Row {
        what: "fsync of a new 1 MB file",
        goal: None,
        n_rounds: 100,
        round: |bench, _| bench.sync_file(),
    },
];

/// The cost of recto.
pub const ROWS: &[Row] = &[
    Row {
        what: "process start to the answer to initialize",
        goal: Some(goals::START),
        n_rounds: 200,
        round: |bench, _| bench.start(),
    },
    Row {
        what: "process start to the answer to a first read",
        goal: Some(goals::START_AND_READ),
        n_rounds: 200,
        round: |bench, _| bench.start_and_read(),
    },
    Row {
        what: "ping",
        goal: None,
        n_rounds: 1000,
        round: |bench, _| Ok(bench.durable.request("ping", json!({}))?.0.into()),
    },
    Row {
        what: "read 2 KB",
        goal: Some(goals::READ_2_KB),
        n_rounds: 1000,
        round: |bench, _| bench.call("read_text_file", json!({"path": bench.path("2kb.txt")})),
    },
    Row {
        what: "read 1 MB",
        goal: Some(goals::READ_1_MB),
        n_rounds: 200,
        round: |bench, _| bench.call("read_text_file", json!({"path": bench.path("1mb.txt")})),
    },
    Row {
        what: "read 20 lines at 90 % of 64 MB",
        goal: None,
        n_rounds: 50,
        round: |bench, _| {
            let line = bench.folder.n_lines_of_64mb / 10 * 9;
            let arguments = json!({"path": bench.path("64mb.txt"), "line": line, "limit": 20});
            bench.call("read_text_file", arguments)
        },
    },
    Row {
        what: "create a file of 1 MB (write TC8)",
        goal: Some(goals::CREATE_1_MB),
        n_rounds: 100,
        round: |bench, _| bench.create_file(),
    },
    Row {
        what: "overwrite 1 MB with other content",
        goal: Some(goals::WRITE_1_MB),
        n_rounds: 100,
        round: |bench, round| {
            let arguments = bench.new_content(round);
            bench.call("write_text_file", arguments)
        },
    },
    Row {
        what: "the same with `--durability rename`",
        goal: None,
        n_rounds: 100,
        round: |bench, round| {
            let arguments = bench.new_content(round);
            Ok(bench.renaming.call_ok("write_text_file", arguments)?.0.into())
        },
    },
    Row {
        what: "1 edit in 1 MB",
        goal: Some(goals::EDIT_1_MB),
        n_rounds: 100,
        round: |bench, round| {
            let (old, new) = toggled(N_MARKS / 2, round);
            let path = bench.path("1mb-for-1-edit.txt");
            let arguments = json!({"path": path, "old_string": old, "new_string": new});
            bench.call("edit_text_file", arguments)
        },
    },
    Row {
        what: "100 edits in 100 lines (multi_edit TC6)",
        goal: Some(goals::EDITS_IN_100_LINES),
        n_rounds: 100,
        round: |bench, round| bench.edit_all_marks("marks.txt", round),
    },
    Row {
        what: "100 edits in 1 MB",
        goal: Some(goals::EDITS_IN_1_MB),
        n_rounds: 100,
        round: |bench, round| bench.edit_all_marks("1mb-for-100-edits.txt", round),
    },
    Row {
        what: "a miss in 10,000 lines: 5 lines, one word wrong",
        goal: Some(goals::MISS),
        n_rounds: 100,
        round: |bench, _| bench.miss(&bench.folder.near_miss.clone()),
    },
    Row {
        what: "a miss in 10,000 lines: nothing alike",
        goal: Some(goals::MISS),
        n_rounds: 100,
        round: |bench, _| bench.miss("SELECT name\n  FROM city\n WHERE population > 1e6\n"),
    },
];
