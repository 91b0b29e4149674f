//! Several processes that edit one file.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::case::Actual;
use crate::client::{Client, Revision, run};

const N_PROCESSES: usize = 4;
const N_EDITS: usize = 250;

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => unreachable!(),
    }
}

/// Runs the same work in several clients with a server each.
fn in_processes<F>(root: &Path, work: impl Fn(Client, usize) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    run(async {
        let mut tasks = tokio::task::JoinSet::new();
        for process in 0..N_PROCESSES {
            let client = Client::start(root, &[], Revision::Handshake).await;
            tasks.spawn(work(client, process));
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
}

#[test]
fn edits_that_name_their_version_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "end\n").unwrap();
    let file = path.to_str().unwrap().to_string();
    in_processes(folder.path(), |client, process| {
        let file = file.clone();
        async move {
            for edit in 0..N_EDITS {
                loop {
                    let read =
                        client.call("read_text_file", arguments(json!({"path": file}))).await;
                    let Actual::Answer { structured, .. } = read else { panic!("{read:?}") };
                    let edited = client
                        .call(
                            "edit_text_file",
                            arguments(json!({
                                "path": file,
                                "old_string": "end\n",
                                "new_string": format!("{process}-{edit}\nend\n"),
                                "expected_hash": structured["_meta"]["hash"],
                            })),
                        )
                        .await;
                    match edited {
                        Actual::Answer { .. } => break,
                        Actual::Error { code: -32013, .. } => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
            client.stop().await;
        }
    });
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.pop(), Some("end"));
    assert_eq!(lines.len(), N_PROCESSES * N_EDITS);
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), N_PROCESSES * N_EDITS, "every edit once");
}

#[test]
fn edits_of_different_strings_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    let text: String = (0..N_PROCESSES).map(|process| format!("process {process}: 0.\n")).collect();
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap().to_string();
    in_processes(folder.path(), |client, process| {
        let file = file.clone();
        async move {
            for edit in 0..N_EDITS {
                let edited = client
                    .call(
                        "edit_text_file",
                        arguments(json!({
                            "path": file,
                            "old_string": format!("process {process}: {edit}."),
                            "new_string": format!("process {process}: {}.", edit + 1),
                        })),
                    )
                    .await;
                assert!(matches!(edited, Actual::Answer { .. }), "{edited:?}");
            }
            client.stop().await;
        }
    });
    let expected: String =
        (0..N_PROCESSES).map(|process| format!("process {process}: {N_EDITS}.\n")).collect();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}
