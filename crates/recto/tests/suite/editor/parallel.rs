//! Many parallel calls through one editor that answers out of order.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Actual;
use crate::scripted_editor::{EditorFixture, Habits, ScriptedEditor};

/// Later requests are often answered before earlier ones.
fn out_of_order() -> ScriptedEditor {
    let delay = |number: usize| Duration::from_micros((number as u64 * 7919) % 3000);
    ScriptedEditor::new(Habits { delay: Some(delay), saves: true, ..Habits::default() })
}

fn edit_all(fixture: &EditorFixture, name: impl Fn(usize) -> String) {
    const N_THREADS: usize = 64;
    for idx in 0..N_THREADS {
        fixture.put(&name(idx), format!("file {idx}: old\n"));
    }
    std::thread::scope(|scope| {
        for idx in 0..N_THREADS {
            let path = fixture.path(&name(idx));
            scope.spawn(move || {
                let arguments = json!({"path": path, "old_string": "old", "new_string": "new"});
                let actual = fixture.call("edit_text_file", arguments);
                let Actual::Answer { structured, .. } = &actual else { panic!("{actual:?}") };
                assert_eq!(structured.get("notes"), None);
            });
        }
    });
    for idx in 0..N_THREADS {
        let expected = format!("file {idx}: new\n");
        assert_eq!(fixture.buffer(&name(idx)), Some(expected.clone()));
        assert_eq!(fixture.disk(&name(idx)), Some(expected));
    }
}

#[test]
fn parallel_edits_of_different_files_do_not_mix() {
    edit_all(&EditorFixture::new(out_of_order()), |idx| format!("{idx}/f.txt"));
    edit_all(&EditorFixture::new(out_of_order()), |idx| format!("f{idx}.txt"));
}

#[test]
fn one_of_several_edits_with_the_same_expected_hash_wins() {
    const N_ROUNDS: usize = 10;
    let fixture = EditorFixture::new(out_of_order());
    fixture.put("f.txt", "start\n");
    for round in 0..N_ROUNDS {
        let read = fixture.call("text_read", json!({"path": "f.txt"}));
        let Actual::Answer { structured, .. } = read else { panic!("{read:?}") };
        let outcomes = std::thread::scope(|scope| {
            let threads = (0..8).map(|thread| {
                let (fixture, hash) = (&fixture, structured["hash"].clone());
                scope.spawn(move || {
                    let content = format!("{round}-{thread}\n");
                    let path = fixture.path("f.txt");
                    fixture.call(
                        "edit_text_file",
                        json!({
                            "path": path,
                            "old_string": "start\n",
                            "new_string": format!("start\n{content}"),
                            "expected_hash": hash,
                        }),
                    )
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let n_won =
            outcomes.iter().filter(|actual| matches!(actual, Actual::Answer { .. })).count();
        let n_stale =
            outcomes.iter().filter(|actual| matches!(actual, Actual::Error { code: -32013, .. }));
        assert_eq!((n_won, n_stale.count()), (1, 7), "round {round}: {outcomes:?}");
    }
    let text = fixture.disk("f.txt").unwrap();
    assert_eq!(text.lines().count(), 1 + N_ROUNDS);
    assert_eq!(fixture.buffer("f.txt"), Some(text));
}

#[test]
fn edits_without_an_expected_hash_are_all_applied() {
    let fixture = EditorFixture::new(out_of_order());
    fixture.put("f.txt", "end\n");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for n in 0..5 {
                    let arguments: Value = json!({
                        "path": fixture.path("f.txt"),
                        "old_string": "end\n",
                        "new_string": format!("{thread}-{n}\nend\n"),
                    });
                    let actual = fixture.call("edit_text_file", arguments);
                    assert!(matches!(actual, Actual::Answer { .. }), "{actual:?}");
                }
            });
        }
    });
    let text = fixture.disk("f.txt").unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 41);
}
