//! Laws for every text and every edit.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use recto_store::memory::Node;
use recto_tools::Call;
use recto_tools::Error;
use recto_tools::tools::Answer;
use serde_json::{Value, json};

use crate::in_process::in_memory;

const FILE: &str = "/test/f.txt";

/// Makes one call on one file in memory; returns the answer and the file afterwards.
fn call(bytes: &[u8], tool: &str, arguments: Value) -> (Result<Answer, Error>, Vec<u8>) {
    call_within(1 << 20, bytes, tool, arguments)
}

/// Makes one call whose answer has at most `max_bytes`.
fn call_within(
    max_bytes: usize,
    bytes: &[u8],
    tool: &str,
    arguments: Value,
) -> (Result<Answer, Error>, Vec<u8>) {
    let root = Path::new("/test");
    let nodes = [(FILE.into(), Node::File(bytes.to_vec()))].into();
    let (calls, store) = in_memory(root, nodes, max_bytes);
    let Value::Object(mut arguments) = arguments else { unreachable!() };
    arguments.insert("path".into(), FILE.into());
    let answer = calls.call(calls.served().find(tool).unwrap(), arguments, &Call::default());
    let Some(Node::File(after)) = store.nodes().remove(Path::new(FILE)) else { unreachable!() };
    (answer, after)
}

fn edits() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::vec(("[ab\n]{1,3}|a\r\nb", "[xyä\n]{0,4}"), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_rejected_call_changes_nothing_and_a_dry_run_predicts_the_result(
        text in "([abc]{0,3}\r?\n){0,12}[abc]{0,2}",
        edits in edits(),
    ) {
        let list: Vec<_> = edits.iter().map(|(old, new)| json!({"old_string": old, "new_string": new})).collect();
        let (dry, untouched) = call(text.as_bytes(), "multi_edit_text_file", json!({"edits": list, "dry_run": true}));
        prop_assert_eq!(&untouched[..], text.as_bytes());
        let (real, after) = call(text.as_bytes(), "multi_edit_text_file", json!({"edits": list}));
        match (dry, real) {
            (Err(dry), Err(real)) => {
                prop_assert_eq!(dry, real);
                prop_assert_eq!(&after[..], text.as_bytes());
            }
            (Ok(dry), Ok(real)) => {
                prop_assert_eq!(&dry.structured["diff"], &real.structured["diff"]);
                prop_assert_eq!(&dry.structured["hash"], &real.structured["hash"]);
                let hash = recto_text::Digest::of(&after).to_string();
                prop_assert_eq!(real.structured["hash"].as_str(), Some(hash.as_str()));
            }
            (dry, real) => prop_assert!(false, "{:?} is not {:?}", dry, real),
        }
    }

    #[test]
    fn bytes_outside_an_edit_stay(
        before in "([abcä]{0,3}\r?\n){0,6}",
        after in "(\r?\n[abcä]{0,3}){0,6}",
        new in "[xyz]{0,5}",
        bom in any::<bool>(),
    ) {
        let bom = if bom { "\u{feff}" } else { "" };
        let file = format!("{bom}{before}<<>>{after}");
        let arguments = json!({"old_string": "<<>>", "new_string": new});
        let (answer, found) = call(file.as_bytes(), "edit_text_file", arguments);
        prop_assert!(answer.is_ok(), "{:?}", answer);
        prop_assert_eq!(String::from_utf8(found).unwrap(), format!("{bom}{before}{new}{after}"));
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_are_unchanged_by_a_rejected_call(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        old in "\\PC{1,3}",
        new in "\\PC{0,3}",
    ) {
        let (answer, after) = call(&bytes, "edit_text_file", json!({"old_string": old, "new_string": new}));
        match answer {
            Err(error) => {
                prop_assert!(!matches!(error, Error::Internal { .. }), "{}", error);
                prop_assert_eq!(after, bytes);
            }
            Ok(answer) => {
                let (read, _) = call(&after, "read_text_file", json!({}));
                prop_assert_eq!(&read.unwrap().structured["_meta"]["hash"], &answer.structured["hash"]);
            }
        }
    }

    #[test]
    fn pages_joined_give_the_whole(text in "([abä]{0,4}\r?\n){0,20}[ab]{0,2}", limit in 1u64..5) {
        let (mut joined, mut line) = (String::new(), json!(1));
        while !line.is_null() {
            let (answer, _) = call(text.as_bytes(), "read_text_file", json!({"line": line, "limit": limit}));
            let mut structured = answer.unwrap().object().into_owned();
            joined.push_str(structured["content"].as_str().unwrap());
            line = structured["_meta"]["next_line"].take();
        }
        prop_assert_eq!(joined, text);
    }
}

/// Checks that the blocks of an answer and its object fit, and that the head is one line.
fn check_size(answer: &Answer, max_bytes: usize) {
    let blocks: Vec<&str> = answer.blocks().collect();
    assert!(blocks.iter().all(|block| !block.is_empty()));
    assert!(!answer.head.is_empty() && !answer.head.contains('\n'), "{:?}", answer.head);
    let n_bytes: usize = blocks.iter().map(|block| block.len()).sum();
    assert!(n_bytes <= max_bytes, "{n_bytes} bytes of text for {max_bytes}");
    let n_bytes = Value::from(answer.object().into_owned()).to_string().len();
    assert!(n_bytes <= max_bytes, "{n_bytes} bytes of JSON for {max_bytes}");
}

/// Texts with lines of up to a few thousand characters.
fn long_lines() -> impl Strategy<Value = String> {
    let line = ("[ab\t\"ä]{0,3}", prop_oneof![4 => 0usize..4, 1 => 900usize..1200], "\r?\n")
        .prop_map(|(text, n_times, ending)| text.repeat(n_times) + &ending);
    proptest::collection::vec(line, 0..60).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn answers_of_edits_fit_their_size(
        (before, after) in (long_lines(), long_lines()),
        n_edits in 1usize..40,
        max_bytes in 1024usize..5000,
        is_dry_run in any::<bool>(),
    ) {
        let arguments = json!({"content": after, "dry_run": is_dry_run});
        let (answer, _) = call_within(max_bytes, before.as_bytes(), "write_text_file", arguments);
        check_size(&answer.unwrap(), max_bytes);

        let text = format!("<<\n{before}>>\n");
        let arguments =
            json!({"old_string": text, "new_string": format!("{after}!"), "dry_run": is_dry_run});
        let (answer, _) = call_within(max_bytes, text.as_bytes(), "edit_text_file", arguments);
        check_size(&answer.unwrap(), max_bytes);

        let text: String = (0..n_edits).map(|n| format!("<{n}>\n{before}")).collect();
        let edit = |n| json!({"old_string": format!("<{n}>"), "new_string": format!("{{{n}}}")});
        let edits: Vec<_> = (0..n_edits).map(edit).collect();
        let arguments = json!({"edits": edits, "dry_run": is_dry_run});
        let (answer, _) = call_within(max_bytes, text.as_bytes(), "multi_edit_text_file", arguments);
        check_size(&answer.unwrap(), max_bytes);
    }
}

#[test]
fn twenty_thousand_edits_are_answered_within_the_size() {
    let text: String = (0..20_000).map(|n| format!("<{n}>\n\n\n\n\n\n\n\n")).collect();
    let edit = |n| json!({"old_string": format!("<{n}>"), "new_string": format!("{{{n}}}")});
    let edits: Vec<_> = (0..20_000).map(edit).collect();
    let (answer, _) =
        call_within(40_000, text.as_bytes(), "multi_edit_text_file", json!({"edits": edits}));
    let answer = answer.unwrap();
    check_size(&answer, 40_000);
    let object = answer.object();
    let n_ranges = object["line_ranges"].as_array().unwrap().len();
    assert!(n_ranges > 150, "{n_ranges}");
    assert_eq!(object["line_ranges_omitted"], 20_000 - n_ranges);
    let diff = object["diff"].as_str().unwrap();
    let n_hunks = diff.matches("@@ -").count();
    assert!(n_hunks > 300, "{n_hunks}");
    let rest = diff.lines().last().unwrap();
    let first = 8 * n_hunks + 1;
    let expected = format!("[{} more hunks: lines {first}, ", 20_000 - n_hunks);
    assert!(rest.starts_with(&expected) && rest.ends_with(", …]"), "{rest}");
}

#[test]
fn a_character_in_a_long_line_takes_few_tokens() {
    let half = "var a=1;".repeat(37_500);
    let text = format!("{half}X{half}\n");
    let arguments = json!({"old_string": "X", "new_string": "Y"});
    let (answer, _) = call_within(40_000, text.as_bytes(), "edit_text_file", arguments);
    let answer = answer.unwrap();
    let n_chars: usize = answer.blocks().map(|block| block.chars().count()).sum();
    assert!(n_chars / 4 < 150, "{n_chars} characters");
    assert!(answer.content.contains("[column 299941] …") && answer.content.contains(";Yvar"));
}

#[test]
fn git_rejects_a_shortened_diff() {
    let folder = tempfile::tempdir().unwrap();
    let before: String = (0..200).map(|n| format!("line {n}\n")).collect();
    let after = before.replace("0\n", "zero\n");
    let arguments = json!({"content": after, "dry_run": true});
    let (answer, _) = call_within(1500, before.as_bytes(), "write_text_file", arguments);
    let answer = answer.unwrap();
    assert_eq!(answer.structured["diff_shortened"], true);
    std::fs::write(folder.path().join("f.txt"), &before).unwrap();
    std::fs::write(folder.path().join("change.diff"), &answer.content).unwrap();
    let applied = Command::new("git")
        .args(["apply", "-p0", "change.diff"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(!applied.status.success(), "{}", answer.content);
}

/// Deterministic numbers.
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

#[test]
fn git_apply_and_patch_agree_with_every_diff() {
    let folder = tempfile::tempdir().unwrap();
    let mut seed = 0xd1ff;
    let mut n_applied = 0;
    for round in 0..150 {
        let n_lines = random(&mut seed, 30) + 1;
        let mut text: String = (0..n_lines)
            .map(|n| format!("line {n}{}", if random(&mut seed, 3) == 0 { "\r\n" } else { "\n" }))
            .collect();
        if random(&mut seed, 3) == 0 {
            text.truncate(text.trim_end().len());
        }
        if random(&mut seed, 3) == 0 {
            text.insert(0, '\u{feff}');
        }
        let edits: Vec<_> = (0..=random(&mut seed, 4))
            .map(|_| {
                let line = random(&mut seed, n_lines);
                let old =
                    format!("line {line}{}", ["", "\n", "\r\n"][random(&mut seed, 3) as usize]);
                let new =
                    ["", "new", "new\n", "one\ntwo\n", "x\r\n"][random(&mut seed, 5) as usize];
                json!({"old_string": old, "new_string": new})
            })
            .collect();
        let (answer, after) =
            call(text.as_bytes(), "multi_edit_text_file", json!({"edits": edits}));
        let Ok(answer) = answer else { continue };
        let diff = answer.structured["diff"].as_str().unwrap();
        if diff.is_empty() {
            continue;
        }
        n_applied += 1;
        let patch = folder.path().join("change.diff");
        std::fs::write(&patch, diff).unwrap();
        let programs: [(&str, &[&str]); 2] = [
            ("git", &["apply", "-p0", "--whitespace=nowarn"]),
            ("patch", &["--quiet", "--binary", "-p0", "-i"]),
        ];
        for (program, arguments) in programs {
            std::fs::write(folder.path().join("f.txt"), &text).unwrap();
            let applied = Command::new(program)
                .args(arguments)
                .arg(&patch)
                .current_dir(folder.path())
                .output();
            let Ok(applied) = applied else {
                assert_ne!(program, "git", "git is needed to test this");
                continue;
            };
            assert!(applied.status.success(), "round {round}, {program}: {applied:?}\n{diff}");
            let found = std::fs::read(folder.path().join("f.txt")).unwrap();
            assert_eq!(found, after, "round {round}, {program}\n{diff}");
        }
    }
    assert!(n_applied > 40, "{n_applied}");
}
