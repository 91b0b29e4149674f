//! Edits of files that are too large to read whole have the same result as edits of the whole text.
//!
//! The same calls go to a store that never reads a whole file and to one that always does.

use std::path::Path;

use recto_text::Digest;
use recto_tools::call::Calls;
use serde_json::{Value, json};

use crate::client::Actual;
use crate::in_process::{self, call};
use crate::random::Random;
use crate::server::Server;

const TOOLS: [&str; 5] =
    ["edit_text_file", "multi_edit_text_file", "text_replace", "text_insert", "text_append"];

/// Returns the tools over a directory whose files are read whole up to a size.
fn calls(root: &Path, max_whole_change: u64) -> Calls {
    let store = in_process::local_store(root, &[]).with_max_whole_change(max_whole_change);
    in_process::calls(root, &[], store)
}

/// Returns a text with more lines than an excerpt has around an edit, few of them equal.
fn text(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(4) {
        text.push('\u{feff}');
    }
    let is_mixed = random.one_in(2);
    for _ in 0..random.below(200) {
        let line = match random.below(6) {
            0 => "same".to_string(),
            1 => String::new(),
            _ => format!("{} ä {}", random.below(50), random.below(50)),
        };
        text.push_str(&line);
        text.push_str(if is_mixed && random.one_in(3) { "\r\n" } else { "\n" });
    }
    if random.one_in(3) {
        text.push_str("no ending");
    }
    text
}

/// Returns part of the text that starts and ends between characters, mostly whole lines.
fn quote(random: &mut Random, text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() || random.one_in(12) {
        return "nowhere".into();
    }
    let first = random.below(lines.len());
    let n_lines = 1 + random.below(3);
    let mut quote: String = lines[first..].iter().take(n_lines).copied().collect();
    if random.one_in(2) {
        let n_kept = quote.chars().count().saturating_sub(random.below(4)).max(1);
        quote = quote.chars().take(n_kept).collect();
    }
    if random.one_in(8) { quote.replace("\r\n", "\n") } else { quote }
}

fn request(random: &mut Random, text: &str) -> (&'static str, Value) {
    let tool = TOOLS[random.below(TOOLS.len())];
    let hash = Digest::of(text.as_bytes()).to_string();
    let text = text.trim_start_matches('\u{feff}');
    let new = ["", "new", "new\nlines\n", "same", "7 ä 7\n"][random.below(5)];
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line_idx = random.below(lines.len().max(1));
    let standing = lines.get(line_idx).map_or("", |line| line.trim_end_matches(['\n', '\r']));
    let line = if random.one_in(4) {
        line_idx as i64 - lines.len() as i64
    } else {
        line_idx as i64 + 1 + i64::from(random.one_in(6))
    };
    let arguments = match tool {
        "edit_text_file" => string_edit(random, text, new),
        "multi_edit_text_file" => {
            let n_edits = 1 + random.below(4);
            let edit = |_| string_edit(random, text, new);
            json!({"edits": (0..n_edits).map(edit).collect::<Vec<_>>()})
        }
        "text_replace" => {
            let end = if line == -1 { 0 } else { line + 1 + random.below(3) as i64 };
            json!({"hash": hash, "lines": [line, end], "old": standing, "new": new})
        }
        "text_insert" => {
            json!({"hash": hash, "line": line, "anchor": standing, "content": format!("{new}.")})
        }
        _ => json!({"hash": hash, "content": format!("{new}.")}),
    };
    (tool, arguments)
}

fn string_edit(random: &mut Random, text: &str, new: &str) -> Value {
    json!({
        "old_string": quote(random, text),
        "new_string": new,
        "replace_all": random.one_in(3),
        "whole_word": random.one_in(4),
    })
}

/// Returns the part of an answer that must be equal: an excerpt cannot report the closest match in
/// the whole file, and knows other matches only nearby.
fn comparable(actual: Actual) -> (Value, String) {
    match actual {
        Actual::Answer { structured, text } => (structured, text.join("\n")),
        Actual::Error { code, message, .. } => (json!(code), message),
    }
}

#[test]
fn excerpts_and_whole_files_give_the_same_result() {
    check_rounds(4_000);
}

#[test]
#[ignore = "long: 200,000 rounds"]
fn excerpts_and_whole_files_give_the_same_result_long() {
    check_rounds(200_000);
}

fn check_rounds(n_rounds: usize) {
    let mut random = Random::new(17);
    let (mut n_changed, mut n_refused) = (0, 0);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = [(&folders[0], 0), (&folders[1], u64::MAX)]
        .map(|(folder, max)| (folder.path().canonicalize().unwrap(), max))
        .map(|(root, max)| (calls(&root, max), root));
    for _ in 0..n_rounds {
        let before = text(&mut random);
        let (tool, arguments) = request(&mut random, &before);
        let [in_lines, whole] = stores.each_ref().map(|(calls, root)| {
            let path = root.join("f");
            std::fs::write(&path, &before).unwrap();
            let mut arguments = arguments.as_object().unwrap().clone();
            arguments.insert("path".into(), path.to_str().unwrap().into());
            let said = comparable(call(calls, tool, arguments));
            let said = (said.0, said.1.replace(root.to_str().unwrap(), "/root"));
            (said, std::fs::read_to_string(path).unwrap())
        });
        assert_eq!(in_lines, whole, "{tool} {arguments} in {before:?}");
        if whole.1 == before { n_refused += 1 } else { n_changed += 1 }
    }
    println!("{n_rounds} calls: {n_changed} changed the file, {n_refused} did not");
    assert!(n_changed > n_rounds / 4 && n_refused > n_rounds / 20, "{n_changed} {n_refused}");
}

#[test]
fn lines_of_megabytes_are_edited_with_an_excerpt_as_diff() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = [(&folders[0], 0), (&folders[1], u64::MAX)]
        .map(|(folder, max)| (folder.path().canonicalize().unwrap(), max))
        .map(|(root, max)| (calls(&root, max), root));
    let filler = "äöü€".repeat(300_000);
    for ending in ["\n", "\r\n"] {
        let before = format!("first{ending}{filler}HERE{filler}THERE{filler}{ending}last");
        for (edits, is_changed) in [
            (json!([{"old_string": "HERE", "new_string": "a\nb"}]), false),
            (json!([{"old_string": "€HERE", "new_string": "x"}]), true),
            (
                json!([
                    {"old_string": "€HEREä", "new_string": "x"},
                    {"old_string": "THERE", "new_string": "y\nz"},
                ]),
                true,
            ),
            (json!([{"old_string": "üä", "new_string": "x"}]), false),
            (json!([{"old_string": "nowhere", "new_string": "x"}]), false),
        ] {
            let [in_lines, whole] = stores.each_ref().map(|(calls, root)| {
                let path = root.join("f");
                std::fs::write(&path, &before).unwrap();
                let arguments = json!({"path": path, "edits": edits});
                let arguments = arguments.as_object().unwrap().clone();
                let (mut said, _) = comparable(call(calls, "multi_edit_text_file", arguments));
                // An excerpt of a line does not know its columns.
                if let Some(diff) = said.get_mut("diff").map(Value::take) {
                    let diff = diff.as_str().unwrap();
                    assert!(diff.len() < 2000 && diff.contains("HERE"), "{edits}: {diff}");
                    assert_eq!(said["diff_shortened"], true);
                }
                (said, std::fs::read_to_string(path).unwrap())
            });
            assert!(in_lines == whole, "{edits} with {ending:?}: {} {}", in_lines.0, whole.0);
            assert_eq!(whole.1 != before, is_changed, "{edits}: {}", whole.0);
        }
    }
}

/// Returns the server's peak memory use, in bytes.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

#[test]
fn a_large_file_is_edited_without_loading_it() {
    let mut server = Server::ready(&["--durability", "rename"]);
    let line = "a line of a log that has many of them, all alike but for one\n";
    let n_lines = (100 << 20) / line.len();
    let half = line.repeat(n_lines / 2);
    let path = server.path("large.log");
    std::fs::write(&path, format!("{half}the one line\n{half}")).unwrap();
    let spelled = server.spelled("large.log");
    let edit = json!({"path": spelled, "old_string": "the one line", "new_string": "ANOTHER"});
    let answer = server.call("edit_text_file", edit);
    let structured = &answer["result"]["structuredContent"];
    let number = n_lines / 2 + 1;
    assert_eq!(structured["line_range"], json!({"start": number, "end": number}), "{answer}");
    let diff = structured["diff"].as_str().unwrap();
    assert!(diff.contains(&format!("@@ -{0},7 +{0},7 @@", number - 3)), "{diff}");
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after == format!("{half}ANOTHER\n{half}"), "every other byte stays");
    assert_eq!(structured["hash"], Digest::of(after.as_bytes()).to_string());

    let edit = json!({"path": spelled, "old_string": "all alike", "new_string": "no"});
    let answer = server.call("edit_text_file", edit);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("String appears {} times", n_lines / 2 * 2)), "{text}");
    assert!(peak(&server) < 48 << 20, "{} bytes", peak(&server));
}

/// If one string is wrong, the error names it and not the size of the file.
#[test]
fn edits_far_apart_fail_with_the_same_errors() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = [(&folders[0], 0), (&folders[1], u64::MAX)]
        .map(|(folder, max)| (folder.path().canonicalize().unwrap(), max))
        .map(|(root, max)| (calls(&root, max), root));
    let between = "between\n".repeat((17 << 20) / 8);
    let text = format!("first twin\n{between}last twin\n");
    for (olds, message) in [
        (&["twin"][..], "Edit 0: String appears 2 times: twin"),
        (&["twin", "last"], "Edit 0: String appears 2 times: twin"),
        (&["first", "twin"], "Edit 1: String appears 2 times: twin"),
        (&["first", "between"], "Edit 1: String appears 2228224 times: between"),
        (&["missing", "twin"], "Edit 0: String not found: missing"),
        (&["first", "missing", "last"], "Edit 1: String not found: missing"),
    ] {
        for (calls, root) in &stores {
            std::fs::write(root.join("f"), &text).unwrap();
            let edits: Vec<Value> =
                olds.iter().map(|old| json!({"old_string": old, "new_string": "new"})).collect();
            let arguments = json!({"path": root.join("f"), "edits": edits});
            let refused =
                call(calls, "multi_edit_text_file", arguments.as_object().unwrap().clone());
            assert_eq!(comparable(refused).1, message);
        }
    }
    let [(by_lines, root), _] = &stores;
    let arguments = json!({"path": root.join("f"), "old_string": "twin", "new_string": "new"});
    let refused = call(by_lines, "edit_text_file", arguments.as_object().unwrap().clone());
    assert_eq!(comparable(refused).1, "String appears 2 times (must be unique): twin");
}

/// Each edit replaces a line after the previous edit's new text, so that together they span more
/// than the longest string.
#[test]
fn edits_that_build_on_each_other_give_the_same_result_by_lines() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let lines: Vec<String> = (0..40).map(|n| format!("{n:02}\n")).collect();
    for (before, last) in [("", "E"), ("TE\n", "E"), ("", "missing")] {
        let text = format!("{before}S{}E\n{}", lines.concat(), "behind\n".repeat(50));
        let mut edits = vec![json!({"old_string": "S", "new_string": "T"})];
        for line in &lines {
            edits.push(json!({"old_string": format!("T{line}"), "new_string": "T"}));
        }
        edits.push(json!({"old_string": format!("T{last}"), "new_string": "Z"}));
        let arguments = json!({"path": root.join("f"), "edits": edits});
        let [by_lines, whole] = [0, u64::MAX].map(|max_whole_change| {
            std::fs::write(root.join("f"), &text).unwrap();
            let calls = calls(&root, max_whole_change);
            let arguments = arguments.as_object().unwrap().clone();
            let answer = comparable(call(&calls, "multi_edit_text_file", arguments));
            (answer.1, std::fs::read_to_string(root.join("f")).unwrap())
        });
        assert_eq!(by_lines.1, whole.1);
        assert_eq!(by_lines.0, whole.0);
    }
}

#[test]
fn edits_too_far_apart_need_separate_calls() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let text = format!("first\n{}last\n", "between\n".repeat((17 << 20) / 8));
    std::fs::write(root.join("f"), &text).unwrap();
    let calls = calls(&root, 0);
    let edit = |old: &str| json!({"old_string": old, "new_string": "new"});
    let edits = json!({"path": root.join("f"), "edits": [edit("first"), edit("last")]});
    let refused = call(&calls, "multi_edit_text_file", edits.as_object().unwrap().clone());
    let Actual::Error { code, hint, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(code, -32019);
    assert!(hint.unwrap().contains("separate calls"));
    assert!(std::fs::read_to_string(root.join("f")).unwrap() == text);
    for old in ["first", "last"] {
        let edits = json!({"path": root.join("f"), "edits": [edit(old)]});
        let answer = call(&calls, "multi_edit_text_file", edits.as_object().unwrap().clone());
        assert!(matches!(answer, Actual::Answer { .. }), "{answer:?}");
    }
}
