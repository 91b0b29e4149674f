//! The contract tables, in memory, with an editor as the store, and through the built binary.

use std::path::Path;
use std::sync::Arc;

use recto::call::Calls;
use recto::caller::Caller;
use recto::cli::parse_options;
use recto::store::MemoryStore;
use serde_json::Value;

use crate::case::{Actual, Case, Expected, ROOT, cases, count};
use crate::client::{Client, Revision, run};
use crate::editor;
use crate::tree::{Tree, commit};

fn check_in_memory(tool: &str) {
    let mut failures = Vec::new();
    let mut n_run = 0;
    for case in cases(tool) {
        let root = Path::new(ROOT);
        let case = case(root);
        if case.is_for_disk_only {
            continue;
        }
        n_run += 1;
        let config = parse_options(&case.options).unwrap();
        let hidden = config.hidden.clone();
        let mut store =
            MemoryStore::new(root, case.before.nodes(root), move |path| hidden.contains(path));
        store.allow_git_writes(config.allows_git_writes);
        let store = Arc::new(store);
        let calls = Calls::new(
            store.clone(),
            store.clone(),
            config.tools().unwrap(),
            root.to_path_buf(),
            config.max_read_bytes,
        );
        let called =
            calls.call(calls.find(tool).unwrap(), case.arguments.clone(), &Caller::default());
        let actual = match called {
            Ok(answer) => Actual::Answer {
                structured: Value::Object(answer.object().into_owned()),
                text: answer.text,
            },
            Err(error) => {
                Actual::Error { code: error.code(), message: error.to_string(), hint: error.hint() }
            }
        };
        failures.extend(case.check(actual, Tree::from_nodes(root, store.nodes())).err());
    }
    report(tool, n_run, failures);
}

fn check_through_binary(tool: &str, options: &[&str], revision: Revision) {
    let mut failures = Vec::new();
    run(async {
        for case in cases(tool) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let case = case(&root);
            if !case.commits.is_empty() {
                commit(&root, &case.commits);
            }
            case.before.write(&root);
            let mut all_options = case.options.clone();
            all_options.extend(options.iter().map(|option| option.to_string()));
            let client = Client::start(&root, &all_options, revision).await;
            let actual = client.call(tool, case.arguments.clone()).await;
            client.stop().await;
            failures.extend(case.check(actual, Tree::read(&root, &case.after)).err());
        }
    });
    report(tool, count(tool), failures);
}

fn check_with_an_editor(tool: &str) {
    let (n_run, failures) = editor::rows::run(tool);
    assert!(2 * n_run > count(tool), "{tool}: most rows are about text");
    report(tool, n_run, failures);
}

fn report(tool: &str, n_run: usize, failures: Vec<String>) {
    assert!(n_run > 0, "{tool}: no rows");
    assert!(
        failures.is_empty(),
        "{tool}: {} of {n_run} rows fail\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

/// The four ways for one tool.
macro_rules! contract {
    ($tool:ident) => {
        contract!($tool, stringify!($tool));
    };
    ($module:ident, $tool:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn holds_in_memory() {
                check_in_memory($tool);
            }

            #[test]
            fn holds_with_an_editor() {
                check_with_an_editor($tool);
            }

            #[test]
            fn holds_through_the_binary() {
                check_through_binary($tool, &[], Revision::Handshake);
            }

            #[test]
            fn holds_with_jsonrpc_errors_and_without_a_handshake() {
                check_through_binary($tool, &["--errors", "jsonrpc"], Revision::Stateless);
            }
        }
    };
}

contract!(read_text_file);
contract!(write_text_file);
contract!(edit_text_file);
contract!(multi_edit_text_file);
contract!(text_read, "text.read");
contract!(text_replace, "text.replace");
contract!(text_insert, "text.insert");
contract!(text_append, "text.append");
contract!(file_create, "file.create");
contract!(file_remove, "file.remove");
contract!(list_files, "ListFiles");
contract!(read_lines, "ReadLines");
contract!(read_as_table, "ReadAsTable");

/// Clients may take a schema for all that there is.
#[test]
fn schemas_name_every_member_of_an_answer() {
    for tool in recto::tools::ALL {
        let schema = (tool.output)();
        for case in cases(tool.name) {
            let case = case(Path::new(ROOT));
            let Expected::Answer { structured, .. } = case.expected else { continue };
            let unnamed = unnamed(&schema, &structured);
            assert!(unnamed.is_empty(), "{}, {}: {unnamed:?}", tool.name, case.name);
        }
    }
}

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

/// The numbered cases of the contracts are all there.
#[test]
fn every_numbered_case_is_a_row() {
    for (tool, prefix, numbers) in [
        ("read_text_file", "read", 1..=6),
        ("write_text_file", "write", 1..=8),
        ("edit_text_file", "edit", 1..=7),
        ("multi_edit_text_file", "multi", 1..=7),
        ("ListFiles", "files", 1..=3),
        ("ReadLines", "files", 4..=9),
        ("ReadAsTable", "files", 10..=12),
    ] {
        let rows: Vec<Case> = cases(tool).map(|case| case(Path::new(ROOT))).collect();
        for number in numbers {
            let label = format!("{prefix} TC{number}");
            assert!(
                rows.iter().any(|row| row.from.as_deref() == Some(&label)),
                "{label} is missing"
            );
        }
        let mut names: Vec<_> = rows.iter().map(|row| &row.name).collect();
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{tool}: two rows share a name");
        assert!(rows.iter().any(|row| matches!(row.expected, Expected::Error(_))));
    }
}
