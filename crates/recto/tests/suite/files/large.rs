//! Files too large to load: ranges, matches, pages, other encodings, and changes visible only in
//! ctime.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use recto_text::Digest;
use recto_tools::call::Calls;
use rustix::fs::{CWD, Timespec, Timestamps, utimensat};
use serde_json::{Value, json};

use super::paging::follow;
use crate::client::Actual;
use crate::in_process::{call, calls, local_store};
use crate::test_dir::{Session, TestDir, rows};

const N_LINES: u64 = 9_000;

/// Returns line `n` without its ending: about two thousand characters, some of them multi-byte.
fn line(n: u64) -> String {
    let hit = if n % 1000 == 500 { "the Needle, " } else { "" };
    format!("{n}: {hit}{}", "wörds and ".repeat(190 + (n % 7) as usize))
}

/// A file of more than 16 MiB.
fn text(ending: &str) -> String {
    let mut text: String = (1..=N_LINES).map(|n| line(n) + ending).collect();
    text.truncate(text.len() - ending.len());
    assert!(text.len() > 17 << 20);
    text
}

fn numbers(answer: &Value) -> Vec<u64> {
    rows(answer).into_iter().map(|(_, line, _)| line).collect()
}

fn check_rows(answer: &Value, expected: impl IntoIterator<Item = u64>, shown: &str) {
    let expected: Vec<(String, u64, String)> =
        expected.into_iter().map(|n| (String::new(), n, line(n))).collect();
    assert!(rows(answer) == expected, "{shown}: {:?}", numbers(answer));
    assert_eq!(answer["total_lines"], N_LINES, "{shown}");
    assert_eq!(answer.get("next"), None, "{shown}");
}

/// Reads a file in every way.
fn check(session: &Session, path: &str, n_ranges: u64) {
    let hash = session.answer("text_read", json!({"path": path, "lines": [1, 2]}))["hash"].clone();
    for (lines, expected) in [
        ("1", vec![1]),
        ("9000", vec![9000]),
        ("+1", vec![9000]),
        ("9001", vec![]),
        ("18446744073709551615", vec![]),
        ("+9000", vec![1]),
        ("+99999", vec![]),
        ("+3-", vec![8998, 8999, 9000]),
        ("4500 +/-2", vec![4498, 4499, 4500, 4501, 4502]),
        ("8999-99999", vec![8999, 9000]),
        ("+2-+2,1,5000,5001,4999", vec![1, 4999, 5000, 5001, 8999]),
    ] {
        let answer = session.answer("ReadLines", json!({"file_path": path, "lines": lines}));
        check_rows(&answer, expected, &format!("{path} {lines}"));
        assert_eq!(answer["hash"], hash, "{path} {lines}");
    }
    // Many ranges, out of order.
    let many: BTreeSet<u64> = (0..n_ranges).map(|n| 1 + n * 7919 % N_LINES).collect();
    let spelled: Vec<String> = many.iter().rev().map(u64::to_string).collect();
    let answer =
        session.answer("ReadLines", json!({"file_path": path, "lines": spelled.join(",")}));
    check_rows(&answer, many, path);
    for (lines, ctx, hits) in [
        (json!(null), 0, (0..9).map(|n| n * 1000 + 500).collect()),
        (json!(null), 2, (0..9).map(|n| n * 1000 + 500).collect()),
        (json!("400-2600"), 1, vec![500, 1500, 2500]),
        (json!("+501"), 0, vec![8500]),
        (json!("501-1499"), 5, vec![]),
    ] {
        let arguments = json!({"file_path": path, "lines": lines, "match": "NEEDLE,", "ctx": ctx});
        let answer = session.answer("ReadLines", arguments.clone());
        let expected = hits.into_iter().flat_map(|hit: u64| hit - ctx..=hit + ctx);
        check_rows(&answer, expected, &arguments.to_string());
        assert_eq!(answer["hash"], hash);
    }
}

#[test]
fn large_files_are_read_by_ranges_and_matches() {
    let dir = TestDir::new();
    dir.file("root/lf.txt", text("\n"));
    dir.file("root/crlf.txt", format!("\u{feff}{}", text("\r\n")));
    let session = dir.serve(&["--max-answer-bytes", "1048576"]);
    check(&session, "lf.txt", 150);
    check(&session, "crlf.txt", 150);
}

#[test]
fn large_files_in_utf16_are_read_by_ranges_and_matches() {
    let dir = TestDir::new();
    let units: Vec<u8> =
        format!("\u{feff}{}", text("\r\n")).encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(units.len() > 20 << 20);
    dir.file("root/wide.txt", units);
    let mut session = dir.serve(&["--max-answer-bytes", "1048576"]);
    session.limit = Duration::from_secs(20);
    check(&session, "wide.txt", 150);
}

/// Every line of a large file, read separately and in random order, with chunk boundaries inside
/// characters.
#[test]
fn lines_of_a_large_file_are_found_in_every_encoding() {
    let dir = TestDir::new();
    // Characters of one, two and four bytes, or of one unit and two.
    let line = |n: u64, text: &str| format!("{n} {}", text.repeat(500 + (n % 11) as usize));
    let whole = |n_lines: u64, text: &str| -> String {
        (1..=n_lines).map(|n| line(n, text) + "\n").collect()
    };
    let wide = |to_bytes: fn(u16) -> [u8; 2]| {
        let text = format!("\u{feff}{}", whole(5_000, "a😀é"));
        text.encode_utf16().flat_map(to_bytes).collect::<Vec<u8>>()
    };
    let encoded = |encoding: &'static encoding_rs::Encoding, text: &str| {
        encoding.encode(&whole(5_000, text)).0.into_owned()
    };
    let session = dir.serve(&["--max-answer-bytes", "1048576"]);
    for (name, text, bytes) in [
        ("le.txt", "a😀é", wide(u16::to_le_bytes)),
        ("be.txt", "a😀é", wide(u16::to_be_bytes)),
        ("sjis.txt", "日本語です。a", encoded(encoding_rs::SHIFT_JIS, "日本語です。a")),
        ("latin.txt", "déjà vu, ", encoded(encoding_rs::WINDOWS_1252, "déjà vu, ")),
    ] {
        assert!(bytes.len() > 16 << 20, "{name}: {}", bytes.len());
        dir.file(&format!("root/{name}"), bytes);
        let some: BTreeSet<u64> = (0..60).map(|n| 1 + n * 1_009 % 5_000).collect();
        let spelled: Vec<String> = some.iter().map(u64::to_string).collect();
        let arguments = json!({"file_path": name, "lines": spelled.join(",")});
        let answer = session.answer("ReadLines", arguments);
        let expected: Vec<_> = some.iter().map(|n| (*n, line(*n, text))).collect();
        let found: Vec<_> = rows(&answer).into_iter().map(|(_, n, text)| (n, text)).collect();
        let is_same = |(found, expected): (&(u64, String), &(u64, String))| {
            // Long lines are cut.
            found.0 == expected.0 && found.1.len() > 3_000 && expected.1.starts_with(&found.1)
        };
        assert_eq!(found.len(), expected.len(), "{name}");
        assert!(found.iter().zip(&expected).all(is_same), "{name}: {:?}", numbers(&answer));
        assert_eq!(answer["total_lines"], 5_000, "{name}");
    }
}

/// Returns the tools with a clock that is ahead.
fn start(dir: &TestDir, clock_ahead: Duration) -> Calls {
    let root = dir.path("root");
    calls(&root, &[], local_store(&root, &[]).with_clock_ahead(clock_ahead))
}

fn answer(calls: &Calls, tool: &str, arguments: &Value) -> Value {
    match call(calls, tool, arguments.as_object().unwrap().clone()) {
        Actual::Answer { structured, .. } => structured,
        error => panic!("{arguments}: {error:?}"),
    }
}

/// A loaded file is read again by its cached lines, with the same result.
#[test]
fn cached_lines_are_the_same_in_every_encoding() {
    let dir = TestDir::new();
    let text: String =
        (1..=9_000).map(|n| format!("{n} {}\r\n", "d\u{e9}j\u{e0} vu, ".repeat(20))).collect();
    let text = text + "sans fin";
    let wide = |to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(to_bytes).collect()
    };
    let names = ["utf8.txt", "bom.txt", "le.txt", "be.txt", "latin.txt"];
    dir.file("root/utf8.txt", &text);
    dir.file("root/bom.txt", format!("\u{feff}{text}"));
    dir.file("root/le.txt", wide(u16::to_le_bytes));
    dir.file("root/be.txt", wide(u16::to_be_bytes));
    dir.file("root/latin.txt", encoding_rs::WINDOWS_1252.encode(&text).0);
    // By the usual clock, a file that was just written is not cached.
    let start = || start(&dir, Duration::from_secs(2));
    for name in names {
        let session = start();
        for arguments in [
            json!({"lines": "1,17,4000-4002,8999-"}),
            json!({"lines": "+1"}),
            json!({"lines": "9002"}),
            json!({"lines": "5000 +/-3", "match": "5001 D\u{c9}"}),
            json!({"match": "sans"}),
            json!({"match": "^77"}),
        ] {
            let mut arguments = arguments;
            arguments["file_path"] = name.into();
            let fresh = answer(&start(), "ReadLines", &arguments);
            let known = answer(&session, "ReadLines", &arguments);
            assert_eq!(fresh, known, "{arguments}");
            assert_eq!(known["total_lines"], 9_001, "{arguments}");
        }
        let hash = |session: &Calls| {
            let page =
                json!({"path": dir.spelled(&format!("root/{name}")), "lines": [9_001, 9_002]});
            let answer = answer(session, "text_read", &page);
            (answer["hash"].clone(), answer["lines"].clone())
        };
        assert_eq!(hash(&session), hash(&start()), "{name}");
    }
}

/// The encoding shows only after the ASCII part, and an edit detects the same one.
#[test]
fn a_large_file_that_starts_as_ascii_may_be_legacy_text() {
    let dir = TestDir::new();
    let mut bytes = b"plain ascii, line by line\n".repeat((17 << 20) / 26);
    bytes.extend(b"un caf\xe9 d\xe9j\xe0 vu\n".repeat(2));
    bytes.extend(b"the \xe9nd\n");
    dir.file("root/f.txt", &bytes);
    dir.file("root/nul.txt", [&bytes[..], b"\0\n"].concat());
    let damaged = [&bytes[..], "na\u{ef}ve \u{2603}\n".repeat(60_000).as_bytes()].concat();
    dir.file("root/damaged.txt", damaged);
    let plain = b"plain ascii, line by line\n".repeat((17 << 20) / 26);
    let (degree, more) = (b"20\x81\x8e outside\n", &plain[..26 << 15]);
    let japanese = b"\x90\xda\x91\xb1\x83G\x83\x89\x81[\x82\xaa\x94\xad\x90\xb6\x82\xb5\x82\xdc\x82\xb5\x82\xbd\n";
    dir.file("root/sjis.txt", [&plain[..], degree, more, &japanese.repeat(40)].concat());
    let session = dir.serve(&[]);
    let contents = |arguments: Value| -> Vec<String> {
        rows(&session.answer("ReadLines", arguments)).into_iter().map(|row| row.2).collect()
    };
    assert_eq!(
        contents(json!({"file_path": "f.txt", "lines": "+2-"})),
        ["un café déjà vu", "the énd"]
    );
    assert_eq!(contents(json!({"file_path": "f.txt", "match": "THE É"})), ["the énd"]);
    assert_eq!(session.code("ReadLines", json!({"file_path": "nul.txt", "lines": "+2-"})), -32004);
    // UTF-8 follows, and only invalid bytes make the file binary.
    assert_eq!(contents(json!({"file_path": "damaged.txt", "lines": "+1"})), ["naïve ☃"]);
    let part = json!({"file_path": "damaged.txt", "match": "the ", "lines": "+60001"});
    assert_eq!(session.code("ReadLines", part), -32004);
    // The first character alone does not decide.
    assert_eq!(
        contents(json!({"file_path": "sjis.txt", "lines": "+1"})),
        ["接続エラーが発生しました"]
    );
    let path = dir.spelled("root/f.txt");
    let edit = json!({"path": path, "old_string": "the énd", "new_string": "thé end"});
    session.answer("edit_text_file", edit);
    assert!(std::fs::read(path).unwrap().ends_with(b"th\xe9 end\n"));
}

#[test]
fn pages_of_a_large_file_joined_give_the_whole() {
    let dir = TestDir::new();
    dir.file("root/f.txt", text("\r\n"));
    let session = dir.serve(&[]);
    for arguments in [json!({"file_path": "f.txt"}), json!({"file_path": "f.txt", "match": "and"})]
    {
        let found = follow(&session, arguments.clone());
        assert_eq!(found.len() as u64, N_LINES, "{arguments}");
        for (index, (number, content)) in found.into_iter().enumerate() {
            assert_eq!(number, index as u64 + 1, "{arguments}");
            assert!(content == line(number), "{arguments}: line {number}");
        }
    }
}

/// Line ends at every position around the boundaries of read chunks.
#[test]
fn lines_are_counted_correctly_at_buffer_boundaries() {
    let dir = TestDir::new();
    const PIECE: usize = 256 << 10;
    let session = dir.serve(&[]);
    for (shift, ending) in [(0, "\n"), (1, "\n"), (0, "\r\n"), (1, "\r\n"), (2, "\r\n")] {
        // Every line ends at or near the end of a chunk.
        let mut text = String::new();
        for n in 1..=66 {
            let end = n * PIECE - shift;
            let head = format!("{n} ");
            text.push_str(&head);
            let n_fill = end - text.len() - ending.len();
            text.push_str(&"é".repeat(n_fill / 2));
            text.push_str(if n_fill % 2 == 1 { "-" } else { "" });
            text.push_str(ending);
            assert_eq!(text.len(), end);
        }
        dir.file("root/f.txt", &text);
        let arguments = json!({"file_path": "f.txt", "lines": "1-3,+2-,20"});
        let answer = session.answer("ReadLines", arguments);
        assert_eq!(answer["total_lines"], 66, "{shift} {ending:?}");
        assert_eq!(numbers(&answer), [1, 2, 3, 20, 65, 66], "{shift} {ending:?}");
        for (_, number, content) in rows(&answer) {
            assert!(content.starts_with(&format!("{number} é")), "{shift} {ending:?}: {number}");
        }
        let answer = session.answer("ReadLines", json!({"file_path": "f.txt", "match": "40 éÉ"}));
        assert_eq!(numbers(&answer), [40], "{shift} {ending:?}");
    }
}

#[test]
fn a_line_of_twenty_mebibytes_is_truncated_and_found() {
    let dir = TestDir::new();
    let giant = "0123456789".repeat(2 << 20);
    dir.file("root/f.txt", format!("first\n{giant} Needle {giant} last\nend"));
    let session = dir.serve(&[]);
    let answer = session.answer("ReadLines", json!({"file_path": "f.txt"}));
    assert_eq!(numbers(&answer), [1, 2, 3]);
    assert_eq!(answer["rows"][1]["cut"], true);
    assert!(giant.starts_with(answer["rows"][1]["content"].as_str().unwrap()));
    for (needle, expected) in
        [("NEEDLE", vec![2]), ("9 needle 0", vec![2]), ("9 LAST", vec![2]), ("last\n", vec![])]
    {
        let arguments = json!({"file_path": "f.txt", "match": needle.trim_end(), "lines": "1-3"});
        let answer = session.answer("ReadLines", arguments);
        assert!(
            expected.is_empty() || numbers(&answer) == expected,
            "{needle}: {:?}",
            numbers(&answer)
        );
        let row = &answer["rows"][0];
        let shown = row["content"].as_str().unwrap().to_lowercase();
        assert!(shown.contains(&needle.trim_end().to_lowercase()), "{needle}: {row}");
        // The columns are right: reading from the match gives the text there.
        let (column, rest) = (&row["column"], shown.len() > 500);
        assert_eq!((&row["matches"], row.get("next_column").is_some()), (&json!(1), rest), "{row}");
        let arguments = json!({"file_path": "f.txt", "lines": "2", "column": column});
        let from_there = session.answer("ReadLines", arguments)["rows"][0]["content"].clone();
        let from_there = from_there.as_str().unwrap().to_lowercase();
        assert!(from_there.starts_with(&needle.trim_end().to_lowercase()), "{needle}");
    }
    let all = json!({"file_path": "f.txt", "match": "0123"});
    let row = session.answer("ReadLines", all)["rows"][0].take();
    assert_eq!((&row["column"], &row["matches"]), (&json!(1), &json!(4 << 20)));
    let answer = session.answer("ReadLines", json!({"file_path": "f.txt", "lines": "+1"}));
    assert_eq!(answer["rows"], json!([{"line_number": 3, "content": "end"}]));
}

/// A file is written, keeps its size, and gets its old mtime back: only its ctime shows the change.
/// Once while it is new, and once when it is cached.
#[test]
fn a_change_visible_only_in_ctime_is_detected() {
    let dir = TestDir::new();
    for (name, text) in [("large.txt", text("\n")), ("small.txt", "1: small\nend".to_string())] {
        dir.file(&format!("root/{name}"), text);
    }
    let read = |session: &Calls, name: &str| {
        let arguments = json!({"file_path": name, "lines": 1, "match": ":"});
        let answer = answer(session, "ReadLines", &arguments);
        let content = rows(&answer)[0].2.clone();
        (content, answer["hash"].as_str().unwrap().to_string(), answer["total_lines"].clone())
    };
    let inode_time = |name: &str| {
        let status = std::fs::metadata(dir.path(format!("root/{name}"))).unwrap();
        (status.ctime(), status.ctime_nsec())
    };
    let change = |name: &str, n: u8| {
        let path = dir.path(format!("root/{name}"));
        let time = std::fs::metadata(&path).unwrap().modified().unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[n], 0).unwrap();
        let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
        let time =
            Timespec { tv_sec: since.as_secs() as i64, tv_nsec: since.subsec_nanos().into() };
        let times = Timestamps { last_access: time, last_modification: time };
        utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
        let now = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(now.duration_since(std::time::UNIX_EPOCH).unwrap(), since);
    };
    let mut seen = BTreeSet::new();
    let mut digit = b'1';
    for clock_ahead in [Duration::ZERO, Duration::from_secs(2)] {
        let session = start(&dir, clock_ahead);
        for _ in 0..3 {
            digit += 1;
            for name in ["large.txt", "small.txt"] {
                let before = inode_time(name);
                change(name, digit);
                // An old file was not written within the same tick of the system's clock.
                while !clock_ahead.is_zero() && inode_time(name) == before {
                    change(name, digit);
                }
                // Twice, so that the cache is used.
                let first = read(&session, name);
                assert_eq!(read(&session, name), first, "{name}");
                assert!(first.0.starts_with(&format!("{}: ", digit as char)), "{name}: {first:?}");
                assert!(seen.insert((name, first.1.clone())), "{name}: {} came again", first.1);
            }
        }
    }
}

#[test]
fn a_large_binary_file_is_reported_with_its_hash() {
    let dir = TestDir::new();
    let bytes: Vec<u8> = (0..17 << 20).map(|n: u32| (n % 251) as u8).collect();
    dir.file("root/f.bin", &bytes);
    let session = dir.serve(&[]);
    let hash = Digest::of(&bytes).to_string();
    for (tool, name) in [("text_read", "path"), ("ReadLines", "file_path")] {
        match session.call(tool, json!({name: "f.bin"})) {
            Actual::Error { code: -32004, hint, .. } => {
                let hint = hint.unwrap();
                assert!(hint.contains(&hash), "{tool}: {hint}");
            }
            other => panic!("{tool}: {other:?}"),
        }
    }
    session.answer("file_remove", json!({"path": "f.bin", "hash": hash}));
    assert!(!dir.path("root/f.bin").exists());
}
