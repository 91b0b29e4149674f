//! Each limit from both sides: the largest accepted value, and one more. `recto::limits` names the
//! test of each limit; some are in other modules.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use recto::limits::{self, Reached};
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::client::{Actual, recto};
use crate::server::{Server, cut};
use crate::test_dir::{Session, TestDir, rows};

#[test]
fn every_limit_has_a_test_that_exists() {
    let mut sources = String::new();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in
        ["recto", "recto-text", "recto-tables", "recto-store", "recto-journal", "recto-tools"]
    {
        add_sources(&top.join(folder), &mut sources);
    }
    for limit in limits::ALL {
        if let Reached::By(test) = limit.test {
            let forms =
                ["#[test]\nfn", "#[test]\n    fn", "#[tokio::test]\n    async fn", "\npub fn"];
            let is_there = forms.iter().any(|form| sources.contains(&format!("{form} {test}()")));
            assert!(is_there, "{}: no test is called {test}", limit.name);
        }
    }
}

fn add_sources(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn a_request_with_too_many_values_is_rejected_before_it_is_parsed() {
    let mut server = Server::ready(&[]);
    server.check_serves();
    let line = |id: u32, values: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"read_text_file","arguments":{{"path":"/a","x":[{values}]}}}},"id":{id}}}"#
        )
    };
    let fits = "0,".repeat(limits::REQUEST_VALUES - 100) + "0";
    server.send_line(&line(71, &fits));
    let answer = server.next().unwrap();
    assert_eq!(answer["id"], 71, "{}", cut(&answer.to_string()));
    assert_eq!(answer["result"]["isError"], true, "{}", cut(&answer.to_string()));
    // Sixteen million bytes each, each of a different form.
    for (id, values) in [
        (72, "0,".repeat(8_000_000) + "0"),
        (73, r#""","#.repeat(5_000_000) + "0"),
        (74, "{},".repeat(5_000_000) + "0"),
        (75, r#"{"a":0},"#.repeat(2_000_000) + "0"),
        (76, "[],".repeat(5_000_000) + "0"),
        (77, "0,".repeat(limits::REQUEST_VALUES) + "0"),
    ] {
        server.send_line(&line(id, &values));
        let answer = server.next().unwrap();
        assert_eq!(answer["id"], id, "{}", cut(&answer.to_string()));
        assert_eq!(answer["error"]["code"], -32600, "{}", cut(&answer.to_string()));
    }
    let highest = server.most_resident_bytes();
    println!("{} MB at most", highest >> 20);
    assert!(highest < 192 << 20, "{} MB", highest >> 20);
    server.check_serves();
}

/// Requests that are much larger in memory than on the wire, all of which wait for a lock.
#[test]
fn a_flood_of_requests_full_of_values_takes_little_memory() {
    const N_CALLS: u64 = 40;
    let mut server = Server::ready(&[]);
    let folder = File::open(server.path("")).unwrap();
    flock(&folder, FlockOperation::LockExclusive).unwrap();
    let path = server.spelled("inside.txt");
    let edits = vec![r#"{"old_string":"no such text","new_string":""}"#; 20_000].join(",");
    let mut input = server.take_input();
    let writer = std::thread::spawn(move || {
        for id in 1000..1000 + N_CALLS {
            let arguments = format!(r#"{{"path":"{path}","edits":[{edits}]}}"#);
            let params = format!(r#"{{"name":"multi_edit_text_file","arguments":{arguments}}}"#);
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
            input.write_all((line + "\n").as_bytes()).unwrap();
        }
        input
    });
    // Give them time to pile up.
    std::thread::sleep(Duration::from_secs(1));
    drop(folder);
    for _ in 0..N_CALLS {
        let answer = server.next().unwrap();
        assert_eq!(answer["result"]["isError"], true, "{}", cut(&answer.to_string()));
    }
    drop(writer.join().unwrap());
    let highest = server.most_resident_bytes();
    println!("{} MB at most", highest >> 20);
    assert!(highest < 192 << 20, "{} MB", highest >> 20);
}

#[test]
fn a_read_returns_up_to_its_limit_and_names_the_next_page() {
    let dir = TestDir::new();
    let line = "0123456789abcde\n";
    let most = limits::ANSWER_BYTES;
    // Line breaks count as two bytes, because the structured content is JSON.
    let n_lines = (most - recto_tools::budget::HEAD) / 17;
    dir.file("root/fits.txt", line.repeat(n_lines));
    dir.file("root/more.txt", line.repeat(n_lines + 1));
    let session = dir.serve(&[]);
    let read = |name: &str| {
        session.answer("read_text_file", json!({"path": dir.spelled(&format!("root/{name}"))}))
    };
    let whole = read("fits.txt");
    assert_eq!(whole["content"].as_str().unwrap().len(), 16 * n_lines);
    let part = read("more.txt");
    assert_eq!(part["content"].as_str().unwrap().len(), 16 * n_lines);
    assert_eq!(
        (&whole["_meta"]["has_more"], &part["_meta"]["has_more"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(part["_meta"]["next_line"], n_lines + 1);
}

#[test]
fn the_limits_of_an_answer_size_are_checked() {
    for (n_bytes, is_fine) in [
        (limits::MOST_ANSWER_BYTES, true),
        (limits::MOST_ANSWER_BYTES + 1, false),
        (limits::LEAST_ANSWER_BYTES, true),
        (limits::LEAST_ANSWER_BYTES - 1, false),
    ] {
        let option = format!("--max-answer-bytes={n_bytes}");
        let output =
            recto().args(["serve", &option]).stdin(std::process::Stdio::null()).output().unwrap();
        assert_eq!(output.status.success(), is_fine, "{output:?}");
    }
}

#[test]
fn long_lines_are_truncated_earlier_in_a_search() {
    let dir = TestDir::new();
    for name in ["a", "b"] {
        dir.file(&format!("root/{name}.txt"), format!("hit {}\n", "x".repeat(100_000)));
    }
    let session = dir.serve(&[]);
    let (part, line) = (limits::LINE_OF_MANY, limits::LINE);
    for (pattern, needle, most) in
        [("*.txt", "hit", part), ("a.txt", "hit", part), ("a.txt", "", line)]
    {
        let answer = session.answer("ReadLines", json!({"file_path": pattern, "match": needle}));
        for (_, _, text) in rows(&answer) {
            assert!(text.len() > most / 2 && text.len() < most + 100, "{pattern}: {}", text.len());
        }
    }
}

#[test]
fn hits_per_file_are_limited() {
    let dir = TestDir::new();
    dir.file("root/fits.txt", "x\n".repeat(limits::HITS));
    dir.file("root/more.txt", "x\n".repeat(limits::HITS + 1));
    let session = dir.serve(&["--max-answer-bytes", "16777216"]);
    for (name, next) in [("fits.txt", json!(null)), ("more.txt", json!("20001-"))] {
        let answer = session.answer("ReadLines", json!({"file_path": name, "match": "x"}));
        assert_eq!(rows(&answer).len(), limits::HITS, "{name}");
        assert_eq!(answer["next"], next, "{name}");
    }
}

/// Returns the codes of calls at a limit and above it.
fn check(session: &Session, tool: &str, name: &str, fits: &str, beyond: &str) {
    let arguments = |value: &str| match name {
        "match" => json!({"file_path": "*.txt", "match": value}),
        name => json!({name: value}),
    };
    match session.call(tool, arguments(fits)) {
        Actual::Answer { .. } | Actual::Error { code: -32001, .. } => {}
        other => panic!("{tool} {name} of {} bytes: {other:?}", fits.len()),
    }
    assert_eq!(session.code(tool, arguments(beyond)), -32600, "{tool} {name}");
}

#[test]
fn the_length_of_a_search_text_is_limited() {
    let dir = TestDir::new();
    dir.file("root/a.txt", "text\n");
    let text = "x".repeat(limits::NEEDLE + 1);
    check(&dir.serve(&[]), "ReadLines", "match", &text[1..], &text);
}

#[test]
fn the_size_of_a_regular_expression_is_limited() {
    let dir = TestDir::new();
    dir.file("root/a.txt", "text\n");
    let session = dir.serve(&[]);
    let code = |regex: &str| {
        let call = session.call("ReadLines", json!({"file_path": ".", "regex": regex}));
        matches!(call, Actual::Error { code: -32600, .. })
    };
    // In UTF-8, a class of letters has hundreds of ranges.
    assert!(!code(r"\w{1,50}\s\w{1,50}"));
    assert!(code(r"(\w{50}){50}"));
    // Repetitions of repetitions grow exponentially with the length of the pattern.
    assert!(code("((((a{99}){99}){99}){99}){99}"));
}

#[test]
fn a_complex_regular_expression_is_matched_to_the_start_of_a_long_line() {
    let dir = TestDir::new();
    dir.file("root/a.txt", format!("aaab\n{}aaab\n", "x".repeat(1 << 20)));
    let session = dir.serve(&[]);
    for (regex, n_lines, is_cut) in [("(?-u)(?:a.{0,3000}){3}b", 1, true), ("a.{0,3}b", 2, false)] {
        for file_path in ["a.txt", "."] {
            let arguments = json!({"file_path": file_path, "regex": regex});
            let Actual::Answer { structured, text } = session.call("ReadLines", arguments) else {
                panic!("{regex} was rejected");
            };
            assert_eq!(structured["rows"].as_array().map(Vec::len), Some(n_lines), "{regex}");
            let head = &text[0];
            assert_eq!(head.contains("only the start of very long lines"), is_cut, "{head}");
        }
    }
}

#[test]
fn the_length_of_a_pattern_is_limited() {
    let dir = TestDir::new();
    let session = dir.serve(&[]);
    let pattern = format!("*{}", "x".repeat(limits::GLOB));
    check(&session, "ListFiles", "pattern", &pattern[..limits::GLOB], &pattern);
    // Patterns at a commit use another syntax.
    let like = |n: usize| json!({"pattern": "%".repeat(n), "commit": "HEAD"});
    assert_ne!(session.code("ListFiles", like(limits::GLOB)), -32600);
    assert_eq!(session.code("ListFiles", like(limits::GLOB + 1)), -32600);
}

#[test]
fn the_number_of_brace_alternatives_is_limited() {
    let dir = TestDir::new();
    let session = dir.serve(&[]);
    let names = |n: usize| format!("{{{}}}*", vec!["a"; n].join(","));
    let most = limits::GLOB_ALTERNATIVES;
    check(&session, "ListFiles", "pattern", &names(most), &names(most + 1));
    // Few alternatives, but long ones.
    let long = |n: usize| format!("{{{}}}{}*", vec!["a"; 64].join(","), "x".repeat(n));
    check(
        &session,
        "ListFiles",
        "pattern",
        &long(limits::GLOB_EXPANDED / 64 - 10),
        &long(limits::GLOB_EXPANDED / 64 + 1),
    );
}

#[test]
fn the_number_of_pattern_components_is_limited() {
    let dir = TestDir::new();
    let parts = |n: usize| vec!["*"; n].join("/");
    let most = limits::GLOB_PARTS;
    check(&dir.serve(&[]), "ListFiles", "pattern", &parts(most), &parts(most + 1));
}

/// Creates a sparse file, which takes no space on disk.
fn sparse(dir: &TestDir, name: &str, n_bytes: u64) {
    dir.file(name, "");
    let file = File::options().write(true).open(dir.path(name)).unwrap();
    file.set_len(n_bytes).unwrap();
}

#[test]
fn a_file_larger_than_a_gibibyte_is_not_removed() {
    let dir = TestDir::new();
    sparse(&dir, "root/large.txt", limits::REMOVED_FILE + 1);
    // A link's target is not hashed either.
    dir.link("root/to-large.txt", "large.txt");
    let session = dir.serve(&[]);
    for path in ["large.txt", "to-large.txt"] {
        match session.call("file_remove", json!({"path": path, "hash": "000000000000"})) {
            Actual::Error { code: -32019, message, hint } => {
                assert!(message.starts_with("File too large (1073741825 bytes)"), "{message}");
                assert_eq!(hint.as_deref(), Some("Only files up to 1 GiB can be removed."));
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn a_directory_that_stays_locked_is_reported_as_busy() {
    let dir = TestDir::new();
    let folder = File::open(dir.path("root")).unwrap();
    flock(&folder, FlockOperation::LockExclusive).unwrap();
    let session = dir.serve(&[]);
    let write = json!({"path": dir.spelled("root/a.txt"), "content": "text\n"});
    let start = std::time::Instant::now();
    assert_eq!(session.code("write_text_file", write.clone()), -32017);
    assert!(start.elapsed() >= limits::LOCK_WAIT, "it gave up after {:?}", start.elapsed());
    drop(folder);
    session.answer("write_text_file", write);
}
