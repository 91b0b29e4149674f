//! Races: while a client reads and writes, another process swaps the path for a link to the outside.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::client::{Actual, Client, Revision, run};
use crate::confinement::Confinement;
use crate::sandbox_fixture::{OUTSIDE, SandboxFixture, Snapshot};
use crate::swaps::while_swapping;

/// The number of calls of each tool for each kind of swap and confinement; the long form takes a
/// quarter of an hour.
const SHORT: usize = 400;
const LONG: usize = 34_000;

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => unreachable!(),
    }
}

/// The results of a race: successes, and the count of each error code.
#[derive(Debug, Default)]
struct Tally {
    n_done: usize,
    refused: BTreeMap<i32, usize>,
}

impl Tally {
    fn add(&mut self, actual: &Actual) {
        match actual {
            Actual::Answer { .. } => self.n_done += 1,
            // Outside; or a link, or missing, when it was opened.
            // Or another version, or already created by an earlier round.
            Actual::Error { code: code @ (-32003..=-32001 | -32006 | -32013 | -32017), .. } => {
                *self.refused.entry(*code).or_default() += 1;
            }
            // The draft was swapped away while it had the name, which is reported.
            Actual::Error { code: code @ -32603, message, .. }
                if message.contains("another process changed the file at the same time") =>
            {
                *self.refused.entry(*code).or_default() += 1;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Races calls for `path` against swaps of two names in `root`, for every toolset that writes and
/// under every kind of confinement.
fn check(n_rounds: usize, fixture: &SandboxFixture, one: &str, other: &str, path: &str) {
    for confinement in Confinement::ALL {
        for toolset in [Toolset::Edit, Toolset::Text] {
            check_with(confinement, n_rounds, toolset, fixture, one, other, path);
        }
    }
}

/// The toolset that is called.
#[derive(Debug, Clone, Copy)]
enum Toolset {
    Edit,
    Text,
}

impl Toolset {
    /// Reads, changes and creates once. `new` is a mostly new name, next to the swapped one or
    /// below it.
    async fn attack(
        self,
        client: &Client,
        path: &str,
        new: &str,
        round: usize,
    ) -> (Actual, Vec<Actual>) {
        let call = async |tool: &str, value: Value| client.call(tool, arguments(value)).await;
        let content = format!("inside {round}\n");
        match self {
            Toolset::Edit => {
                let read = call("read_text_file", json!({"path": path})).await;
                let write =
                    call("write_text_file", json!({"path": path, "content": content})).await;
                let create =
                    call("write_text_file", json!({"path": new, "content": content})).await;
                (read, vec![write, create])
            }
            Toolset::Text => {
                let read = call("text_read", json!({"path": path})).await;
                let mut writes = Vec::new();
                if let Actual::Answer { structured, .. } = &read {
                    let (hash, old) = (&structured["hash"], structured["content"].clone());
                    let old = old.as_str().unwrap().trim_end();
                    let new = content.trim_end();
                    let replace = json!({"path": path, "hash": hash, "lines": [1, 2], "old": old, "new": new});
                    writes.push(call("text_replace", replace).await);
                }
                let created = call("file_create", json!({"path": new, "content": content})).await;
                if let Actual::Answer { structured, .. } = &created {
                    let remove = json!({"path": new, "hash": structured["hash"]});
                    writes.push(call("file_remove", remove).await);
                }
                writes.push(created);
                (read, writes)
            }
        }
    }
}

fn check_with(
    confinement: Confinement,
    n_rounds: usize,
    toolset: Toolset,
    fixture: &SandboxFixture,
    one: &str,
    other: &str,
    path: &str,
) {
    let outside = Snapshot::take(&fixture.path("outside"));
    let (one, other) = (fixture.path(one), fixture.path(other));
    let path = fixture.spelled(path);
    let (mut reads, mut writes) = (Tally::default(), Tally::default());
    while_swapping(&one, &other, || {
        run(async {
            let command = confinement.serve(&fixture.path("root"), &["--durability", "rename"]);
            let client = Client::start_command(command.into(), Revision::Handshake).await;
            for round in 0..n_rounds {
                let new = format!("{path}-{toolset:?}-{}", round % 2_000);
                let (read, written) = toolset.attack(&client, &path, &new, round).await;
                if let Actual::Answer { structured, .. } = &read {
                    let content = structured["content"].as_str().unwrap();
                    assert!(content.starts_with("inside"), "round {round} read {content:?}");
                }
                reads.add(&read);
                written.iter().for_each(|actual| writes.add(actual));
            }
            client.stop().await;
        });
    });
    println!("{confinement:?}, {toolset:?}: reads {reads:?}, writes {writes:?}");
    let changed = outside.changed(&Snapshot::take(&fixture.path("outside")));
    assert_eq!(changed, [] as [&Path; 0], "the outside changed");
    assert_eq!(std::fs::read_to_string(fixture.path("outside/f")).unwrap(), OUTSIDE);
    for tally in [reads, writes] {
        assert!(
            tally.n_done > 0 && tally.refused.contains_key(&-32002),
            "no call hit a swap: {tally:?}"
        );
    }
}

#[test]
fn a_directory_swapped_for_a_link_never_escapes() {
    check_directory(SHORT);
}

#[test]
#[ignore = "long: 34,000 calls of each kind"]
fn a_directory_swapped_for_a_link_never_escapes_long() {
    check_directory(LONG);
}

fn check_directory(n_rounds: usize) {
    let fixture = SandboxFixture::new();
    fixture.file("root/d/f").file("outside/f").link("root/e", "../outside");
    check(n_rounds, &fixture, "root/d", "root/e", "root/d/f");
}

#[test]
fn a_file_swapped_for_a_link_never_escapes() {
    check_file(SHORT);
}

#[test]
#[ignore = "long: 34,000 calls of each kind"]
fn a_file_swapped_for_a_link_never_escapes_long() {
    check_file(LONG);
}

fn check_file(n_rounds: usize) {
    let fixture = SandboxFixture::new();
    fixture.file("root/f").file("outside/f").link("root/g", "../outside/f");
    check(n_rounds, &fixture, "root/f", "root/g", "root/f");
}

#[test]
fn a_distant_ancestor_swapped_for_a_link_never_escapes() {
    check_ancestor(SHORT);
}

#[test]
#[ignore = "long: 34,000 calls of each kind"]
fn a_distant_ancestor_swapped_for_a_link_never_escapes_long() {
    check_ancestor(LONG);
}

fn check_ancestor(n_rounds: usize) {
    let fixture = SandboxFixture::new();
    fixture
        .file("root/d/x/y/f")
        .file("outside/f")
        .file("outside/x/y/f")
        .link("root/e", "{base}/outside");
    check(n_rounds, &fixture, "root/d", "root/e", "root/d/x/y/f");
}
