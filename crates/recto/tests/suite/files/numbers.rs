//! Numbers of every size and kind, and patterns that are expensive to match.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rules::limit_memory;
use crate::client::Actual;
use crate::test_dir::{INSIDE, Session, TestDir, rows};

fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.file("root/f.txt", "one\ntwo\nthree\nfour\nfive\n").file("root/t.csv", "a,b\n1,2\n3,4\n");
    for name in ["a", "b", "aaaa", "abab"] {
        dir.file(&format!("root/{name}.txt"), INSIDE);
        dir.file(&format!("root/a/{name}/b/{name}.txt"), INSIDE);
    }
    dir
}

/// Checks the number of results, or that the argument is rejected.
fn check(session: &Session, tool: &str, arguments: Value, expected: Option<usize>) {
    match (session.call(tool, arguments.clone()), expected) {
        (Actual::Answer { structured, .. }, Some(expected)) => {
            let list = if tool == "ListFiles" { "files" } else { "rows" };
            let found = structured[list].as_array().unwrap().len();
            assert_eq!(found, expected, "{tool} {arguments}: {structured}");
        }
        (Actual::Error { code: -32600, .. }, None) => {}
        (actual, _) => panic!("{tool} {arguments}: {actual:?}"),
    }
}

#[test]
fn numbers_of_any_size_are_accepted_or_rejected_cleanly() {
    let dir = dir();
    let session = dir.serve(&[]);
    let huge = [
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e300),
        json!(1e19),
        json!("9223372036854775807"),
        json!("18446744073709551616"),
        json!("9".repeat(400)),
    ];
    for number in &huge {
        check(&session, "ListFiles", json!({"pattern": "*.txt", "limit": number}), Some(5));
        check(&session, "ReadAsTable", json!({"file_path": "t.csv", "limit": number}), Some(2));
        let arguments = json!({"file_path": "f.txt", "lines": "3", "ctx": number});
        check(&session, "ReadLines", arguments, Some(5));
        let arguments = json!({"file_path": "f.txt", "match": "three", "ctx": number});
        check(&session, "ReadLines", arguments, Some(5));
        let arguments = json!({"file_path": "{f,a}.txt", "match": "e", "ctx": number});
        check(&session, "ReadLines", arguments, Some(6));
        let big = number.as_str().map_or_else(|| number.to_string(), str::to_string);
        if big.bytes().all(|byte| byte.is_ascii_digit()) {
            for (lines, n_rows) in [
                (big.clone(), 0),
                (format!("+{big}"), 0),
                (format!("+{big}-"), 5),
                (format!("-{big}"), 5),
                (format!("3-{big}"), 3),
                (format!("{big}-{big}"), 0),
                (format!("3 +/-{big}"), 5),
                (format!("3 -{big}+{big}"), 5),
                (format!("3 +{big}"), 3),
                (format!("{big} +/-{big}"), 0),
                (format!("1,{big},5"), 2),
            ] {
                let arguments = json!({"file_path": "f.txt", "lines": lines});
                check(&session, "ReadLines", arguments, Some(n_rows));
                let arguments = json!({"file_path": "f.txt", "lines": lines, "match": "o"});
                session.answer("ReadLines", arguments);
            }
        }
    }
    for number in [json!(2), json!("2"), json!(2.0), json!(null)] {
        let or = |n: usize| Some(if number.is_null() { n } else { 2 });
        check(&session, "ListFiles", json!({"pattern": "*.txt", "limit": number}), or(5));
        check(&session, "ReadAsTable", json!({"file_path": "t.csv", "limit": number}), or(2));
    }
    let arguments = json!({"file_path": "f.txt", "lines": 3.0, "ctx": "1"});
    check(&session, "ReadLines", arguments, Some(3));
}

#[test]
fn values_that_are_not_numbers_are_rejected() {
    let dir = dir();
    let session = dir.serve(&[]);
    let wrong = [
        json!(-1),
        json!(-1e300),
        json!(i64::MIN),
        json!("-1"),
        json!(1.5),
        json!("1.5"),
        json!("1e3"),
        json!("ten"),
        json!(""),
        json!(" 1"),
        json!("+1"),
        json!("0x1"),
        json!("１"),
        json!(true),
        json!([1]),
        json!({}),
    ];
    for number in &wrong {
        check(&session, "ListFiles", json!({"pattern": "*.txt", "limit": number}), None);
        check(&session, "ReadAsTable", json!({"file_path": "t.csv", "limit": number}), None);
        check(&session, "ReadLines", json!({"file_path": "f.txt", "ctx": number}), None);
    }
    for number in [json!(0), json!("0")] {
        check(&session, "ListFiles", json!({"pattern": "*.txt", "limit": number}), None);
        check(&session, "ReadAsTable", json!({"file_path": "t.csv", "limit": number}), None);
        check(&session, "ReadLines", json!({"file_path": "f.txt", "lines": number}), None);
    }
    for lines in [
        "",
        " ",
        ",",
        "1,",
        ",1",
        "a",
        "1-2-3",
        "1--2",
        "--1",
        "++1",
        "3-1",
        "+1-+3",
        "1 2",
        "1 +",
        "1 -",
        "1 +/-",
        "1 +/--1",
        "1 -1-1",
        "1.5",
        "1e3",
        "0x1",
        "-0",
        "0-5",
        "+0",
        "...",
        "1..5",
        "1....5",
        "1 +/-1 +/-1",
        "1;2",
        "[1,2]",
        "1\u{2013}2",
        "１",
        "1 +1+1",
        "1-+",
        "-",
        "+",
    ] {
        check(&session, "ReadLines", json!({"file_path": "f.txt", "lines": lines}), None);
    }
    for lines in [json!(-1.5), json!(1.5), json!(true), json!([1, 2]), json!({}), json!(1e300)] {
        match session.call("ReadLines", json!({"file_path": "f.txt", "lines": lines})) {
            // No file has a line with such a large number.
            Actual::Answer { structured, .. } => {
                assert!(lines == json!(1e300) && rows(&structured).is_empty(), "{lines}");
            }
            Actual::Error { code, .. } => assert_eq!(code, -32600, "{lines}"),
        }
    }
    // A list as long as a request permits.
    let lines = vec!["1-5"; 100_000].join(",");
    check(&session, "ReadLines", json!({"file_path": "f.txt", "lines": lines}), Some(5));
    let lines = (1..50_000).map(|n| format!("{}", n * 2)).collect::<Vec<_>>().join(",");
    check(&session, "ReadLines", json!({"file_path": "f.txt", "lines": lines}), Some(2));
}

/// Repeats a text up to the longest accepted pattern.
fn filled(part: &str, end: &str) -> String {
    part.repeat((4096 - end.len()) / part.len()) + end
}

fn hard_patterns() -> Vec<String> {
    let mut patterns: Vec<String> = Vec::new();
    for part in [
        "*", "?", "**/", "*/", "*a", "a*", "?*", "*?", "[a]", "[!b]", "{a,b}", "{a,b}/", "{a,}",
        "{,}", "{*,**/}", "**/*/", "**/a*/", "{", "}", "{{", "[", "]", "\\", "\\*", "{a", "{a,",
        "{a,{b,", "/", "./", "a/", "../", ",", "!", "[[", "[a-", "é", "🦀*", "{*a,*b}", "**a",
    ] {
        for end in ["", "b", "/x"] {
            patterns.push(filled(part, end));
        }
    }
    patterns.extend(braces());
    patterns.retain(|pattern| pattern.len() <= 4096);
    patterns
}

fn braces() -> Vec<String> {
    let mut patterns = Vec::new();
    // The largest number of alternatives, each with the longest possible rest.
    let alternatives = "{a,b}".repeat(8);
    patterns.push(format!("{}{alternatives}", "x".repeat(4000)));
    patterns.push(format!("{alternatives}{}b", "*a".repeat(2000)));
    patterns.push(format!("{}{alternatives}", "**/a*/".repeat(30)));
    patterns.push(format!("{}{{a,b}}", "{*a,*a*}".repeat(7)));
    patterns.push(format!("{}{{{alternatives},c}}", "x".repeat(3900) + &alternatives));
    let deep = "{a,".repeat(16) + "b" + &"}".repeat(16);
    patterns.push(deep.clone());
    patterns.push(deep.repeat(60));
    patterns.push("{".repeat(2000) + &"}".repeat(2000));
    patterns.push(format!("{{{}}}", vec!["a"; 2000].join(",")));
    patterns.push(format!("{{{}}}", vec!["{a,b}"; 600].join(",")));
    patterns
}

#[test]
fn expensive_patterns_are_answered_in_time() {
    let dir = dir();
    for n in 0..50 {
        dir.file(&format!("root/long/{n:02}{}", "a".repeat(250)), INSIDE);
        dir.file(&format!("root/long/{}{n:02}", "ab".repeat(120)), INSIDE);
    }
    let session = dir.serve(&[]);
    for pattern in hard_patterns() {
        for pattern in [pattern.clone(), format!("long/{pattern}")] {
            for (tool, name) in [("ListFiles", "pattern"), ("ReadLines", "file_path")] {
                let took = || {
                    let start = Instant::now();
                    match session.call(tool, json!({name: pattern})) {
                        Actual::Answer { .. } => {}
                        Actual::Error { code: -32600 | -32003..=-32001, .. } => {}
                        error => panic!("{tool} {pattern}: {error:?}"),
                    }
                    start.elapsed()
                };
                // A busy machine gets two more attempts.
                let is_slow = (0..3).all(|_| took() > Duration::from_secs(1));
                assert!(!is_slow, "{tool} {pattern}");
            }
        }
    }
    // The server works afterwards, and nothing is left behind.
    assert_eq!(session.list("f.txt"), [dir.spelled("root/f.txt")]);
}

/// The expansion of braces is bounded while they are expanded, not afterwards.
#[test]
fn expensive_patterns_take_little_memory() {
    let dir = dir();
    let mut command = tokio::process::Command::from(crate::client::recto());
    command.arg("serve").arg(dir.path("root"));
    limit_memory(&mut command, 200 << 20);
    let session = Session::start_command(command);
    for pattern in braces() {
        session.call("ListFiles", json!({"pattern": pattern}));
    }
    assert_eq!(session.list("f.txt"), [dir.spelled("root/f.txt")]);
}

/// Time grows at most linearly with the length of the pattern.
#[test]
fn a_pattern_twice_as_long_does_not_take_four_times_as_long() {
    let dir = dir();
    for n in 0..200 {
        dir.file(&format!("root/long/{n:03}{}", "a".repeat(250)), INSIDE);
    }
    let session = dir.serve(&[]);
    let time = |n_parts: usize| {
        let pattern = format!("long/{}b", "*a".repeat(n_parts));
        (0..5)
            .map(|_| {
                let start = Instant::now();
                assert!(session.list(&pattern).is_empty());
                start.elapsed()
            })
            .min()
            .unwrap()
    };
    let (short, long) = (time(60), time(120));
    assert!(long < short * 4 + Duration::from_millis(50), "{short:?} and {long:?}");
}

/// Each alternative is tried at each position of each name, and nearly matches.
#[test]
fn worst_case_names_and_patterns_are_answered_in_time() {
    let dir = TestDir::new();
    for n in 0..40 {
        dir.file(&format!("root/{n:02}{}", "a".repeat(250)), "");
    }
    let session = dir.serve(&[]);
    let pattern = |n: usize| format!("{}{}b", "{*a,*aa}".repeat(n), "a".repeat(120));
    // A pattern that is too expensive is rejected before matching.
    let refused = session.call("ListFiles", json!({"pattern": pattern(8)}));
    assert!(matches!(refused, Actual::Error { code: -32600, .. }), "{refused:?}");
    let pattern = pattern(5);
    assert_eq!(session.list(&pattern), [] as [&str; 0]);
}
