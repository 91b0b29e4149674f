//! No answer and no error exceeds the size of an answer, and no block of text is empty: random calls
//! of every tool, in every form of an answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use recto_store::memory::Node;
use recto_tools::budget::ErrorText;
use recto_tools::tools::{self, ParamKind, Tool, Toolset};
use recto_tools::{AnswerForm, Call, Calls, Delivery, Error, Names};
use serde_json::{Map, Value, json};

use crate::client::Actual;
use crate::in_process::in_memory;
use crate::random::Random;
use crate::test_dir::TestDir;

const FORMS: [(AnswerForm, &str); 3] = [
    (AnswerForm::Both, "both"),
    (AnswerForm::Text, "text"),
    (AnswerForm::Structured, "structured"),
];

const SIZES: [usize; 5] = [1024, 1025, 1500, 5000, 40_000];

/// Pieces of text: short, long, and much longer in JSON.
const WORDS: [&str; 12] = [
    "a",
    "hit",
    "\"",
    "\\",
    "\u{1}",
    "\t",
    "日本語",
    "😀",
    "word, word; ",
    "x=1|",
    "0123456789",
    "\r",
];

const NAMES: [&str; 10] = [
    "a.txt",
    "b.csv",
    "c.json",
    "wide.csv",
    "in/d.txt",
    "in/deep/e.md",
    "one_line",
    "日本/\u{1}\".txt",
    "empty",
    "bin",
];

fn words(random: &mut Random, max: usize) -> String {
    let max = random.pick(&[3, 30, max]);
    (0..random.below(max)).map(|_| random.pick(&WORDS)).collect()
}

/// Returns the content of a file.
fn text(random: &mut Random) -> String {
    let n_lines = random.pick(&[0, 1, 2, 40, 2000]);
    let ending = random.pick(&["\n", "\n", "\r\n"]);
    let lines = (0..n_lines).map(|_| {
        let max = if n_lines > 100 { 8 } else { 4000 };
        words(random, max) + ending
    });
    lines.collect()
}

fn table(random: &mut Random) -> String {
    let n_columns = 1 + random.pick(&[1, 4, 300]);
    let max = if n_columns > 10 { 3 } else { 300 };
    let row = |random: &mut Random| {
        let cells: Vec<String> = (0..n_columns)
            .map(|_| words(random, max).replace(['"', '\r', ',', '\u{1}'], "c"))
            .collect();
        cells.join(",") + "\n"
    };
    (0..random.pick(&[1, 20, 200])).map(|_| row(random)).collect()
}

fn files(random: &mut Random) -> BTreeMap<String, Vec<u8>> {
    let content = |name: &str, random: &mut Random| match name {
        "b.csv" | "wide.csv" => table(random).into_bytes(),
        "c.json" => {
            json!([{"a": words(random, 900), "b": {"c": words(random, 90)}}]).to_string().into()
        }
        "one_line" => words(random, 30_000).into_bytes(),
        "empty" => Vec::new(),
        "bin" => b"\0\x01\x02".to_vec(),
        _ => text(random).into_bytes(),
    };
    let mut files: BTreeMap<String, Vec<u8>> =
        NAMES.iter().map(|name| (name.to_string(), content(name, random))).collect();
    if random.one_in(3) {
        let long = "long name ".repeat(20);
        files.extend((0..300).map(|n| (format!("many/{long}/{n}.txt"), b"hit\n".to_vec())));
    }
    files
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split_inclusive('\n').next().unwrap_or_default().to_string()
}

/// Returns a value for a parameter: usually a plausible one.
fn value(random: &mut Random, name: &str, kind: ParamKind, file: (&str, &[u8])) -> Value {
    if random.one_in(25) {
        return random.pick(&[
            json!(null),
            json!(-7),
            json!("x".repeat(5000)),
            json!([]),
            json!({"a": 1}),
        ]);
    }
    let (path, bytes) = file;
    match (name, kind) {
        ("path" | "file_path" | "pattern", _) => match random.below(12) {
            0 => words(random, 2000).into(),
            1 => format!("/test/{}", "x/".repeat(2500)).into(),
            2 => format!("{}[", "é".repeat(300)).into(),
            3 | 4 if name != "path" => {
                random.pick(&["**", "*", "in/**", "many/*/*", "*.txt", ".*"]).into()
            }
            _ => format!("/test/{path}").into(),
        },
        ("commit", _) => words(random, 3).into(),
        ("hash" | "expected_hash" | "since", _) => recto_text::Digest::of(bytes).to_string().into(),
        ("lines", ParamKind::Lines) if random.one_in(2) => json!([1, 2]),
        ("old" | "anchor", _) if random.one_in(2) => first_line(bytes).into(),
        ("line", _) if random.one_in(2) => json!(1),
        ("lines", ParamKind::Lines) => json!([random.between(-9, 50), random.between(-9, 60)]),
        ("lines", _) => match random.below(5) {
            0 => (0..random.pick(&[3, 900]))
                .map(|n| (3 * n + 1).to_string())
                .collect::<Vec<_>>()
                .join(",")
                .into(),
            _ => random
                .pick(&["1", "2-4", "+3-", "1-", "5 +/-2", "-9", "9-2", "x", "1,3,5-7 from 4"])
                .into(),
        },
        ("column", _) => random.pick(&[1, 5, 1000, 29_000]).into(),
        ("match", _) => random.pick(&["hit", "a", "日", "\"", "no such text", "\n"]).into(),
        ("regex", _) => random.pick(&["hit|a", r"^\W", "日$", "(", "no such text"]).into(),
        ("only", _) => "files".into(),
        ("encoding", _) => random.pick(&["utf-8", "base64", "x"]).into(),
        (_, ParamKind::Boolean) => random.one_in(2).into(),
        (_, ParamKind::Integer { .. }) => random.pick(&[1, 1, 2, 40, 5000, 0]).into(),
        (_, ParamKind::Objects(params)) => {
            let n_edits = random.pick(&[1, 2, 40]);
            (0..n_edits).map(|_| Value::Object(arguments(random, params, file))).collect()
        }
        ("old_string" | "old" | "anchor", _) => {
            let text = String::from_utf8_lossy(bytes);
            let n_skipped = random.below(text.chars().count());
            let n_taken = random.pick(&[20, 60, 600]);
            text.chars().skip(n_skipped).take(n_taken).collect::<String>().into()
        }
        _ => words(random, 3000).into(),
    }
}

fn arguments(
    random: &mut Random,
    params: &[tools::Param],
    file: (&str, &[u8]),
) -> Map<String, Value> {
    let mut arguments = Map::new();
    // A call with many random arguments would rarely succeed.
    let n_optional = params.iter().filter(|param| !param.is_required).count();
    for param in params {
        let is_given = match (param.is_required, param.name) {
            // One of the two is required.
            (true, _) | (_, "content") => !random.one_in(60),
            (_, "from_commit" | "from_path") => random.one_in(20),
            _ => random.one_in(2 + n_optional),
        };
        if is_given {
            let value = value(random, param.name, param.kind, file);
            arguments.insert(param.name.into(), value);
        }
    }
    if random.one_in(60) {
        arguments.insert(words(random, 3000), json!(1));
    }
    arguments
}

/// Returns the blocks of text and the object of an answer as they are sent.
fn sent(answer: &tools::Answer, form: AnswerForm) -> (Vec<String>, Option<String>) {
    let object = Value::Object(answer.object().into_owned()).to_string();
    let blocks = answer.blocks().map(String::from).collect();
    match form {
        AnswerForm::Both => (blocks, Some(object)),
        AnswerForm::Text => (blocks, None),
        AnswerForm::Structured => (vec![object.clone()], Some(object)),
    }
}

fn check(blocks: &[String], object: Option<&str>, max_bytes: usize) -> Result<(), String> {
    let n_bytes: usize = blocks.iter().map(String::len).sum();
    let n_object = object.map_or(0, str::len);
    if blocks.is_empty() || blocks.iter().any(String::is_empty) {
        return Err("an empty block".into());
    }
    match n_bytes <= max_bytes && n_object <= max_bytes {
        true => Ok(()),
        false => Err(format!("{n_bytes} bytes of text, {n_object} of JSON")),
    }
}

fn a_call(
    random: &mut Random,
    files: &BTreeMap<String, Vec<u8>>,
) -> (&'static Tool, Map<String, Value>) {
    let tool = random.pick(tools::ALL);
    let name = random.pick(&NAMES);
    (tool, arguments(random, tool.params, (name, &files[name])))
}

#[test]
fn every_answer_in_memory_fits_its_size() {
    check_in_memory(80);
}

#[test]
#[ignore = "long: 10,000 trees of files"]
fn every_answer_in_memory_fits_its_size_long() {
    check_in_memory(10_000);
}

fn check_in_memory(n_seeds: u64) {
    let mut outcomes = BTreeMap::new();
    for seed in 1..=n_seeds {
        let mut random = Random::new(seed);
        let files = files(&mut random);
        let nodes = files
            .iter()
            .map(|(name, bytes)| (Path::new("/test").join(name), Node::File(bytes.clone())));
        let nodes: BTreeMap<PathBuf, Node> = nodes.collect();
        let (calls, _) = in_memory(Path::new("/test"), nodes, 1024);
        for _ in 0..30 {
            let (form, max_bytes) = (random.pick(&FORMS).0, random.pick(&SIZES));
            let delivery = Delivery { form, max_bytes };
            let calls: Calls = calls.for_client(Names::Underscore, delivery);
            let (tool, arguments) = a_call(&mut random, &files);
            let result = calls.call(tool, arguments.clone(), &Call::default());
            let (checked, code) = match &result {
                Ok(answer) => {
                    let (blocks, object) = sent(answer, form);
                    (check(&blocks, object.as_deref(), max_bytes), 0)
                }
                Err(error) => {
                    assert!(!matches!(error, Error::Internal { .. }), "{error}");
                    let text = ErrorText::new(error, calls.served(), delivery);
                    let object =
                        json!({"code": error.code(), "message": text.message, "hint": text.hint});
                    (check(&[text.block()], Some(&object.to_string()), max_bytes), error.code())
                }
            };
            *outcomes.entry((tool.name, code)).or_insert(0) += 1;
            let shown: String = Value::Object(arguments).to_string().chars().take(400).collect();
            checked.unwrap_or_else(|error| {
                panic!("seed {seed}, {} {shown}, {form:?} {max_bytes}: {error}", tool.name)
            });
        }
    }
    println!("{outcomes:#?}");
    // Files in memory have no history, and few random changes of several files are possible; other
    // tests cover these tools.
    let is_covered = |tool: &&&Tool| {
        !matches!(tool.toolset, Toolset::History | Toolset::Changes | Toolset::Undo)
    };
    for tool in tools::ALL.iter().filter(is_covered) {
        let n = outcomes.get(&(tool.name, 0)).copied().unwrap_or(0);
        assert!(n as u64 >= n_seeds / 20, "{} succeeded {n} times", tool.name);
    }
}

/// Checks the answers of a call on these files in every form and several sizes.
fn check_call(files: &[(String, String)], tool: &str, arguments: &Value) {
    let node = |(name, text): &(String, String)| {
        (Path::new("/test").join(name), Node::File(text.clone().into()))
    };
    for (form, _) in FORMS {
        for max_bytes in [1024, 5000, 40_000] {
            let nodes = files.iter().map(node).collect();
            let (calls, _) = in_memory(Path::new("/test"), nodes, max_bytes);
            let calls = calls.for_client(Names::Underscore, Delivery { form, max_bytes });
            let tool = calls.served().find(tool).unwrap();
            let arguments = arguments.as_object().unwrap().clone();
            let answer = calls.call(tool, arguments, &Call::default()).unwrap();
            let (blocks, object) = sent(&answer, form);
            assert_eq!(
                check(&blocks, object.as_deref(), max_bytes),
                Ok(()),
                "{form:?} {max_bytes}"
            );
        }
    }
}

#[test]
fn answers_about_changes_of_many_files_fit_their_size() {
    let name = |n: usize| format!("dir/with \"quotes\"/{n}{}.txt", "x".repeat(n % 60));
    let text = |n: usize| "one\ttwo \"three\"\n".repeat(1 + n % 9);
    let files: Vec<_> = (0..200).map(|n| (name(n), text(n))).collect();
    let edit = json!({"old_string": "two", "new_string": "2", "replace_all": true});
    let changes = json!([{"glob": "**/*.txt", "edits": [edit]}]);
    check_call(&files, "changes_apply", &json!({"changes": changes, "dry_run": true}));
}

#[test]
fn answers_about_many_replacements_fit_their_size() {
    let far_below = "\n".repeat(100_000);
    let lines: String =
        (0..600).map(|n| format!("tok{:03} text\n{}", n % 120, "line\n".repeat(9))).collect();
    let files = [("f".to_string(), far_below.clone() + &lines)];
    let edit = |n: usize| {
        let (old, new) = (format!("tok{n:03}"), format!("TOK{n:03}"));
        json!({"old_string": old, "new_string": new, "replace_all": true})
    };
    let edits: Vec<Value> = (0..120).map(edit).collect();
    check_call(&files, "multi_edit_text_file", &json!({"path": "/test/f", "edits": edits}));
    let files = [("f".to_string(), far_below + &"tok\nx\n".repeat(500))];
    let mut edit = json!({"old_string": "tok", "new_string": "T", "replace_all": true});
    edit["path"] = "/test/f".into();
    check_call(&files, "edit_text_file", &edit);
}

#[test]
fn answers_about_history_fit_their_size() {
    let dir = TestDir::new();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A \"B\"", "-c", "user.email=a@b"]).args(arguments);
        let done = command.current_dir(dir.path("root")).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    dir.file("root/a.txt", "one\n");
    git(&["init", "-q"]);
    for n in 0..12 {
        let lines: String =
            (0..300).map(|line| format!("\"line\" {} of\t{n}\n", line + n)).collect();
        dir.file("root/a.txt", lines);
        dir.file(&format!("root/in/{n}.txt"), "new\n");
        git(&["add", "."]);
        git(&["commit", "-qm", &format!("change {n} {}", "with \"quotes\" ".repeat(n))]);
    }
    for (_, form) in FORMS {
        for max_bytes in [1024, 5000, 40_000] {
            let session =
                dir.serve(&["--max-answer-bytes", &max_bytes.to_string(), "--results", form]);
            for (tool, arguments) in [
                ("ListCommits", json!({})),
                ("ListCommits", json!({"path": "a.txt", "limit": 1000})),
                ("ReadDiff", json!({"from": "HEAD~9", "to": "HEAD"})),
                ("ReadDiff", json!({"from": "HEAD~9", "context": 50})),
            ] {
                let called = session.call(tool, arguments.clone());
                let Actual::Answer { structured, text } = called else { panic!("{called:?}") };
                let object = (form != "text").then(|| structured.to_string());
                let checked = check(&text, object.as_deref(), max_bytes);
                assert_eq!(checked, Ok(()), "{tool} {arguments}, {form} {max_bytes}");
            }
        }
    }
}

#[test]
fn answers_about_recorded_changes_fit_their_size() {
    for (_, form) in FORMS {
        for max_bytes in [1024, 5000, 40_000] {
            let dir = TestDir::new();
            let (state, bytes) = (dir.spelled("state"), max_bytes.to_string());
            let session = dir.serve(&[
                "--tools=all",
                "--state-dir",
                &state,
                "--max-answer-bytes",
                &bytes,
                "--results",
                form,
            ]);
            for n in 0..40 {
                let lines: String =
                    (0..300).map(|line| format!("\"line\" {} of\t{n}\n", line + n)).collect();
                let path = dir.spelled(&format!("root/\u{1}{}{}.txt", "\"".repeat(200), n % 9));
                session.answer("write_text_file", json!({"path": path, "content": lines}));
            }
            for (tool, arguments) in [
                ("undo_list", json!({})),
                ("undo_list", json!({"limit": 1000})),
                ("undo_apply", json!({"change": 40, "dry_run": true})),
                ("undo_apply", json!({"change": 40})),
            ] {
                let called = session.call(tool, arguments.clone());
                let Actual::Answer { structured, text } = called else { panic!("{called:?}") };
                let object = (form != "text").then(|| structured.to_string());
                let checked = check(&text, object.as_deref(), max_bytes);
                assert_eq!(checked, Ok(()), "{tool} {arguments}, {form} {max_bytes}");
            }
        }
    }
}

#[test]
fn every_answer_of_the_program_fits_its_size() {
    for (seed, (_, form)) in (1..).zip(FORMS) {
        let mut random = Random::new(seed);
        let files = files(&mut random);
        let dir = TestDir::new();
        for (name, bytes) in &files {
            dir.file(&format!("root/{name}"), bytes);
        }
        for max_bytes in [1024, 5000] {
            let session =
                dir.serve(&["--max-answer-bytes", &max_bytes.to_string(), "--results", form]);
            for _ in 0..100 {
                let (tool, mut arguments) = a_call(&mut random, &files);
                for name in tools::SUBJECTS {
                    if let Some(Value::String(path)) = arguments.get_mut(name) {
                        *path = path.replacen("/test", &dir.spelled("root"), 1);
                    }
                }
                let shown: String =
                    format!("{} {arguments:?}", tool.name).chars().take(400).collect();
                let checked = match session.call(tool.name, Value::Object(arguments)) {
                    Actual::Answer { structured, text } => {
                        let object = (form != "text").then(|| structured.to_string());
                        check(&text, object.as_deref(), max_bytes)
                    }
                    Actual::Error { code, message, hint } => {
                        let object = json!({"code": code, "message": message, "hint": hint});
                        let text = [message, hint.unwrap_or_default()].join("\n\n");
                        check(&[text], Some(&object.to_string()), max_bytes)
                    }
                };
                checked.unwrap_or_else(|error| panic!("{shown}, {form} {max_bytes}: {error}"));
            }
        }
    }
}
