//! Several processes that edit one file.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::client::{Actual, Client, Revision, run};

const N_PROCESSES: usize = 4;
const N_EDITS: usize = 250;

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => unreachable!(),
    }
}

/// Runs the same function in several clients, each with its own server, and collects the results.
fn in_processes<T, F>(root: &Path, n_processes: usize, work: impl Fn(Client, usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    run(async {
        let mut results = Vec::new();
        let mut tasks = tokio::task::JoinSet::new();
        for process in 0..n_processes {
            let client = Client::start(root, &[], Revision::Handshake).await;
            tasks.spawn(work(client, process));
        }
        while let Some(done) = tasks.join_next().await {
            results.push(done.unwrap());
        }
        results
    })
}

#[test]
fn edits_with_an_expected_hash_are_all_applied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "end\n").unwrap();
    let file = path.to_str().unwrap().to_string();
    in_processes(folder.path(), N_PROCESSES, |client, process| {
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
fn edits_of_different_strings_are_all_applied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    let text: String = (0..N_PROCESSES).map(|process| format!("process {process}: 0.\n")).collect();
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap().to_string();
    in_processes(folder.path(), N_PROCESSES, |client, process| {
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

/// Returns the hash in an answer.
fn hash(structured: &Value) -> String {
    structured["hash"].as_str().unwrap().to_string()
}

#[test]
fn verified_edits_by_eight_processes_form_one_chain() {
    const N_PROCESSES: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "start\n").unwrap();
    let first = recto_text::Digest::of(b"start\n").to_string();
    let chains = in_processes(folder.path(), N_PROCESSES, |client, process| async move {
        let mut links = Vec::new();
        while links.len() < N_EDITS {
            let read = client
                .call("text_read", arguments(json!({"path": "f.txt", "lines": [-1, 0]})))
                .await;
            let Actual::Answer { structured, .. } = read else { panic!("{read:?}") };
            let before = hash(&structured);
            let last = structured["content"].as_str().unwrap();
            let replaced = client
                .call(
                    "text_replace",
                    arguments(json!({
                        "path": "f.txt",
                        "hash": before,
                        "lines": [-1, 0],
                        "old": last,
                        "new": format!("{last}{process}-{}\n", links.len()),
                    })),
                )
                .await;
            match replaced {
                Actual::Answer { structured, .. } => links.push((before, hash(&structured))),
                Actual::Error { code: -32013, .. } => {}
                other => panic!("{other:?}"),
            }
        }
        client.stop().await;
        links
    });
    let links: std::collections::HashMap<String, String> = chains.into_iter().flatten().collect();
    assert_eq!(links.len(), N_PROCESSES * N_EDITS, "no version was replaced twice");
    let (mut version, mut n_links) = (&first, 0);
    while let Some(next) = links.get(version) {
        (version, n_links) = (next, n_links + 1);
    }
    assert_eq!(n_links, N_PROCESSES * N_EDITS, "one chain");
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(*version, recto_text::Digest::of(&bytes).to_string(), "not the last version");
    assert_eq!(String::from_utf8(bytes).unwrap().lines().count(), 1 + N_PROCESSES * N_EDITS);
}

#[test]
fn one_of_two_concurrent_creates_wins() {
    const N_ROUNDS: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let outcomes = in_processes(folder.path(), 2, |client, process| async move {
        let mut has_won = Vec::new();
        for round in 0..N_ROUNDS {
            let created = client
                .call(
                    "file_create",
                    arguments(json!({
                        "path": format!("{round}/deep/f.txt"),
                        "content": format!("{process}"),
                    })),
                )
                .await;
            has_won.push(match created {
                Actual::Answer { .. } => true,
                Actual::Error { code: -32006, .. } => false,
                other => panic!("{other:?}"),
            });
        }
        client.stop().await;
        (process, has_won)
    });
    for round in 0..N_ROUNDS {
        let winners: Vec<usize> = outcomes
            .iter()
            .filter(|(_, has_won)| has_won[round])
            .map(|(process, _)| *process)
            .collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let content =
            std::fs::read_to_string(folder.path().join(format!("{round}/deep/f.txt"))).unwrap();
        assert_eq!(content, winners[0].to_string(), "round {round}");
    }
}
