//! The contract tables: every row of `contracts/<tool>.toml` is a test for each of these drivers.
//!
//! - `memory`: the tools over a store in memory.
//! - `editor`: the tools over a scripted editor, for rows about text.
//! - `excerpt`: the tools over a store that never reads a whole file, for tools that edit.
//! - `binary`: the built binary and an MCP client, with a handshake and errors as tool results.
//! - `binary_stateless`: the same without a handshake and with JSON-RPC errors.
//!
//! [`hints`] makes the calls that the errors of all rows suggest.
//!
//! With every driver, the tool's output schema must name every member of the answer.
//!
//! A test is called `<tool>::<row>::<driver>`, with underscores for spaces and punctuation, so that
//! `cargo test --test contracts stale_hash` runs the rows with these words in their names.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../support/client.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod client;
mod editor;
mod hints;
#[path = "../support/in_process.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod in_process;
mod row;
#[path = "../support/scripted_editor.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod scripted_editor;
mod tree;

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use recto::cli::parse_options;
use recto_store::MemoryStore;
use recto_tools::Served;
use recto_tools::call::Calls;
use recto_tools::tools;
use serde_json::Value;

use crate::client::{Actual, Client, Revision, run};
use crate::row::{Case, ROOT, Row, Step, rows};
use crate::tree::{Tree, commit};

/// One way to run a row.
struct Driver {
    name: &'static str,
    applies: fn(tool: &str, case: &Case) -> bool,
    check: fn(tool: &str, row: &Row) -> Result<(), String>,
}

const DRIVERS: [Driver; 5] = [
    Driver { name: "memory", applies: |_, case| !case.is_for_disk_only, check: in_memory },
    Driver { name: "editor", applies: editor::applies, check: editor::check },
    Driver { name: "excerpt", applies: |tool, _| EDITS.contains(&tool), check: by_excerpt },
    Driver { name: "binary", applies: |_, _| true, check: with_handshake },
    Driver { name: "binary_stateless", applies: |_, _| true, check: stateless },
];

/// The tools that can edit a file without reading all of it.
const EDITS: [&str; 5] =
    ["edit_text_file", "multi_edit_text_file", "text_replace", "text_insert", "text_append"];

/// The labels that rows of a table must have in `from`: tool, prefix and numbers.
const NUMBERED: [(&str, &str, std::ops::RangeInclusive<u32>); 7] = [
    ("read_text_file", "read", 1..=6),
    ("write_text_file", "write", 1..=8),
    ("edit_text_file", "edit", 1..=7),
    ("multi_edit_text_file", "multi", 1..=7),
    ("ListFiles", "files", 1..=3),
    ("ReadLines", "files", 4..=9),
    ("ReadAsTable", "files", 10..=12),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = tools::ALL.iter().flat_map(|tool| trials(tool.name)).collect();
    trials.push(hints::trial());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Lists the tests of one table.
fn trials(tool: &'static str) -> Vec<Trial> {
    let rows: Vec<Arc<Row>> = rows(tool).into_iter().map(Arc::new).collect();
    let mut trials = Vec::new();
    let mut slugs = HashSet::new();
    let mut n_with_editor = 0;
    for row in &rows {
        let slug = slug(&row.name);
        assert!(slugs.insert(slug.clone()), "{tool}: two rows are called {slug}");
        let case = row.at(Path::new(ROOT));
        n_with_editor += usize::from(editor::applies(tool, &case));
        for driver in DRIVERS.iter().filter(|driver| (driver.applies)(tool, &case)) {
            let row = row.clone();
            let check = move || (driver.check)(tool, &row).map_err(Failed::from);
            trials.push(Trial::test(format!("{tool}::{slug}::{}", driver.name), check));
        }
    }
    // Rows about commits and the journal run on disk only.
    let is_undo = tool.starts_with("undo_");
    let n_rows = rows.iter().filter(|row| !row.has_commits() && !is_undo).count();
    trials.push(Trial::test(format!("{tool}::most_rows_run_with_an_editor"), move || {
        // It rejects files with unsaved text.
        let is_on_disk = tool == "changes_apply";
        let is_most = is_on_disk || n_rows == 0 || 2 * n_with_editor > n_rows;
        is_most.then_some(()).ok_or(format!("{n_with_editor} of {n_rows}").into())
    }));
    for (_, prefix, numbers) in NUMBERED.into_iter().filter(|(of, ..)| *of == tool) {
        let rows = rows.clone();
        trials.push(Trial::test(format!("{tool}::has_every_numbered_case"), move || {
            for label in numbers.map(|number| format!("{prefix} TC{number}")) {
                if !rows.iter().any(|row| row.from.as_deref() == Some(&label)) {
                    return Err(format!("{label} is missing").into());
                }
            }
            let has_error = rows.iter().any(|row| row.error.is_some());
            has_error.then_some(()).ok_or("no row expects an error".into())
        }));
    }
    trials
}

/// Converts the name of a row into part of a test name.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

fn in_memory(tool: &str, row: &Row) -> Result<(), String> {
    let root = Path::new(ROOT);
    let case = row.at(root);
    let config = parse_options(&case.options).unwrap();
    let hidden = config.hidden.clone();
    let mut store =
        MemoryStore::new(root, case.before.nodes(root), move |path| hidden.contains(path));
    store.allow_git_writes(config.allows_git_writes);
    let store = Arc::new(store);
    let calls = Calls::new(
        store.clone(),
        store.clone(),
        Served::new(config.tools().unwrap(), config.wire.for_client(None).names),
        root.to_path_buf(),
        config.wire.for_client(None).delivery,
    );
    for step in &case.earlier {
        match step {
            Step::Call { tool, arguments } => {
                in_process::call(&calls, tool, arguments.clone());
            }
            Step::Change(tree) => store.extend(tree.nodes(root)),
        }
    }
    let actual = in_process::call(&calls, tool, case.arguments.clone());
    check_schema(tool, &actual)?;
    case.check(actual, Tree::from_nodes(root, store.nodes()))
}

fn by_excerpt(tool: &str, row: &Row) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let case = row.at(&root);
    case.before.write(&root);
    let store = in_process::local_store(&root, &case.options).with_max_whole_change(0);
    let calls = in_process::calls(&root, &case.options, store);
    for step in &case.earlier {
        match step {
            Step::Call { tool, arguments } => {
                in_process::call(&calls, tool, arguments.clone());
            }
            Step::Change(tree) => tree.write(&root),
        }
    }
    let actual = in_process::call(&calls, tool, case.arguments.clone());
    check_schema(tool, &actual)?;
    case.check(actual, Tree::read(&root, &case.after))
}

fn with_handshake(tool: &str, row: &Row) -> Result<(), String> {
    through_binary(tool, row, &[], Revision::Handshake)
}

fn stateless(tool: &str, row: &Row) -> Result<(), String> {
    through_binary(tool, row, &["--errors", "jsonrpc"], Revision::Stateless)
}

/// Starts a server for this row alone: a server remembers versions that it has seen, so rows that
/// shared one could depend on earlier rows.
fn through_binary(
    tool: &str,
    row: &Row,
    options: &[&str],
    revision: Revision,
) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let case = row.at(&root);
    if !case.commits.is_empty() {
        commit(&root, &case.commits);
    }
    case.before.write(&root);
    let mut all_options = case.options.clone();
    // Numbers of changes count from 1 in a journal of its own.
    let state = tempfile::tempdir().unwrap();
    if tool.starts_with("undo_") {
        all_options.push(format!("--state-dir={}", state.path().join("state").display()));
    }
    all_options.extend(options.iter().map(|option| option.to_string()));
    let actual = run(async {
        let client = Client::start(&root, &all_options, revision).await;
        for step in &case.earlier {
            match step {
                Step::Call { tool, arguments } => {
                    client.call(tool, arguments.clone()).await;
                }
                Step::Change(tree) => tree.write(&root),
            }
        }
        let actual = client.call(tool, case.arguments.clone()).await;
        client.stop().await;
        actual
    });
    check_schema(tool, &actual)?;
    case.check(actual, Tree::read(&root, &case.after))
}

/// Fails if an answer has a member that the tool's output schema does not name: clients may treat a
/// schema as complete.
fn check_schema(tool: &str, actual: &Actual) -> Result<(), String> {
    let tool = tools::find(tool).unwrap();
    let Actual::Answer { structured, .. } = actual else { return Ok(()) };
    match unnamed(&Value::Object(tool.output_schema()), structured) {
        unnamed if unnamed.is_empty() => Ok(()),
        unnamed => Err(format!("the schema does not name {unnamed:?}")),
    }
}

/// Returns the members of an answer that a schema does not name.
fn unnamed(schema: &Value, value: &Value) -> Vec<String> {
    match (schema.get("properties"), schema.get("items"), value) {
        (Some(properties), _, Value::Object(members)) => {
            let below = |(name, member): (&String, &Value)| match properties.get(name) {
                Some(schema) => unnamed(schema, member),
                None => vec![name.clone()],
            };
            members.iter().flat_map(below).collect()
        }
        (_, Some(schema), Value::Array(items)) => {
            items.iter().flat_map(|item| unnamed(schema, item)).collect()
        }
        _ => Vec::new(),
    }
}
