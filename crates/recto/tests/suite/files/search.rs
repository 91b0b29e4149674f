//! `ReadLines` over many files, compared with a naive search in the test and with `git grep`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::globs::matches;
use super::trees::git;
use crate::random::Random;
use crate::test_dir::{TestDir, rows};

const WORDS: &[&str] = &[
    "alpha",
    "Beta",
    "gamma",
    "DELTA",
    "let x = 1;",
    "}",
    "",
    "\t",
    "fn main() {",
    "ünïcode",
    "日本語",
    "🦀",
    "a.b*c[d]",
    "50%_off",
    "C:\\dir",
    "// note",
    "\u{2028}sep",
    "x\ry",
    "\u{c}",
];

/// A file in the reference.
enum Stored {
    /// UTF-8, which `git grep` also reads.
    Utf8(String),
    /// Another encoding of this text.
    Other(String),
    Binary,
}

impl Stored {
    fn text(&self) -> Option<&str> {
        match self {
            Stored::Utf8(text) | Stored::Other(text) => Some(text),
            Stored::Binary => None,
        }
    }
}

/// Returns some lines; a few contain a needle.
fn text(random: &mut Random) -> String {
    let style = random.below(4);
    let max_lines = random.pick(&[&3, &30, &200]);
    let mut text = String::new();
    for _ in 0..random.below(max_lines + 1) {
        for _ in 0..random.below(4) {
            text.push_str(random.pick(WORDS));
            text.push(' ');
        }
        if random.one_in(400) {
            text.push_str(random.pick(&["Needle", "NEEDLE.", "a needle", "nEEdleneedle"]));
        }
        if random.one_in(5000) {
            text.push_str(&format!("{}Rare ünïcode ÜNÏCODE", "wide ".repeat(200)));
        }
        text.push_str(if style == 1 || style == 2 && random.one_in(2) { "\r\n" } else { "\n" });
    }
    if random.one_in(3) {
        text.push_str("no end");
    }
    text
}

fn encode(random: &mut Random) -> (Stored, Vec<u8>) {
    let text = text(random);
    match random.below(24) {
        0 => {
            let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
            let bytes = units.flat_map(u16::to_le_bytes).collect();
            (Stored::Other(text), bytes)
        }
        1 => {
            let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
            let bytes = units.flat_map(u16::to_be_bytes).collect();
            (Stored::Other(text), bytes)
        }
        2 => {
            // Latin 1: a few lines in German.
            let text =
                format!("Prüfung der Größe\nschöne Needle für später\nüber {}\n", random.below(9));
            let bytes = text.chars().map(|c| c as u8).collect();
            (Stored::Other(text), bytes)
        }
        3 => (Stored::Binary, [text.as_bytes(), b"\0needle\n"].concat()),
        4 => (Stored::Utf8(text.clone()), ["\u{feff}".as_bytes(), text.as_bytes()].concat()),
        5 => (Stored::Utf8(String::new()), Vec::new()),
        _ => (Stored::Utf8(text.clone()), text.into_bytes()),
    }
}

/// Returns five thousand files by path, and two huge ones.
fn make(root: &Path) -> BTreeMap<String, Stored> {
    let mut random = Random::new(5);
    let mut files = BTreeMap::new();
    let mut add = |path: String, stored: Stored, bytes: &[u8]| {
        std::fs::create_dir_all(root.join(&path).parent().unwrap()).unwrap();
        std::fs::write(root.join(&path), bytes).unwrap();
        files.insert(path, stored);
    };
    for n in 0..5000 {
        let (stored, bytes) = encode(&mut random);
        let below = random.pick(&["", "in/", "in/deep/", "ö x/"]);
        let ending = random.pick(&["rs", "txt", "md", "c"]);
        add(format!("d{:02}/{below}f{n}.{ending}", n % 40), stored, &bytes);
    }
    let many: String =
        (1..=300_000).map(|n| format!("line {n} of a very large file, and so on\n")).collect();
    let many = many.replacen("line 299999 ", "line 299999 needle ", 1);
    let many = format!("{many}{many}");
    assert!(many.len() > 16 << 20);
    add("e/many.log".into(), Stored::Utf8(many.clone()), many.as_bytes());
    let one = format!("{}NEEDLE at the end", "word ".repeat(4 << 20));
    assert!(one.len() > 20 << 20);
    add("e/one.log".into(), Stored::Utf8(one.clone()), one.as_bytes());
    files
}

type Row = (String, u64, String);

/// Returns the lines that contain a needle and their context, file by file.
fn reference(
    files: &BTreeMap<String, Stored>,
    pattern: &str,
    needle: &str,
    ctx: usize,
) -> Vec<Row> {
    let needle = needle.to_lowercase();
    let mut found = Vec::new();
    for (path, stored) in files.iter().filter(|(path, _)| matches(pattern, path)) {
        let Some(text) = stored.text() else { continue };
        // Most files have no hit.
        if !text.to_lowercase().contains(&needle) {
            continue;
        }
        let lines: Vec<&str> = text.split_inclusive('\n').map(without_ending).collect();
        let mut numbers = BTreeSet::new();
        for (index, line) in lines.iter().enumerate() {
            if line.to_lowercase().contains(&needle) {
                numbers.extend(index.saturating_sub(ctx)..(index + ctx + 1).min(lines.len()));
            }
        }
        found.extend(
            numbers
                .into_iter()
                .map(|index| (path.clone(), index as u64 + 1, shown(lines[index], &needle))),
        );
    }
    found
}

/// Returns the visible part of a line: 512 bytes, from shortly before a hit that is further back.
fn shown(line: &str, needle: &str) -> String {
    let hit = line.to_lowercase().find(needle).filter(|hit| hit + needle.len() > 512);
    let before = hit.map_or("", |hit| &line[..line.floor_char_boundary(hit)]);
    let start = before.char_indices().rev().nth(63).map_or(0, |(start, _)| start);
    let rest = &line[start..];
    let mark = if start > 0 { "…" } else { "" };
    format!("{mark}{}", &rest[..rest.floor_char_boundary(512)])
}

fn without_ending(line: &str) -> &str {
    match line.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line),
        None => line,
    }
}

fn search(
    dir: &TestDir,
    session: &crate::test_dir::Session,
    arguments: Value,
) -> (Vec<Row>, Value) {
    let answer = session.answer("ReadLines", arguments);
    let root = format!("{}/", dir.spelled("root"));
    let mut found = rows(&answer);
    found.iter_mut().for_each(|row| row.0 = row.0.strip_prefix(&root).unwrap().to_string());
    (found, answer)
}

#[test]
fn a_search_over_five_thousand_files_agrees_with_a_naive_search() {
    let dir = TestDir::new();
    let files = make(&dir.path("root"));
    let session = dir.serve(&["--max-answer-bytes", "200000"]);
    let of = |pattern: &str| files.iter().filter(|(path, _)| matches(pattern, path)).collect();
    for (pattern, needle, ctx) in [
        ("**", "needle", 0),
        ("d[012]*/**", "NeEdLe.", 3),
        ("d*/**", "rare ünïcode ünïCODE", 1),
        ("d0?/**/*.{rs,md}", "needle", 2),
        ("d1[0-4]/in/**", "c:\\DIR", 0),
        ("d39/*", "a.B*c[d]", 0),
        ("{d01,d02}/ö x/*", "50%_OFF", 1),
        ("d2[!1-9]/**", "日本", 0),
        ("e/*", "LINE 299999 ", 5),
        ("d3?/**", "no such thing anywhere", 0),
    ] {
        let expected = reference(&files, pattern, needle, ctx);
        let arguments = json!({"file_path": pattern, "match": needle, "ctx": ctx});
        let (found, answer) = search(&dir, &session, arguments);
        let shown = format!("{pattern} {needle}: {} of {} rows", found.len(), expected.len());
        println!("{shown}, truncated {}", answer["truncated"]);
        let matching: Vec<(&String, &Stored)> = of(pattern);
        assert_eq!(answer["files"], matching.len(), "{shown}");
        assert!(found.len() <= 1000, "{shown}");
        if answer["truncated"] == true {
            // The first hits first, up to the budget.
            assert!(found.len() > 900 || n_bytes(&found) > 100 << 10, "{shown}");
            assert!(found.len() < expected.len(), "{shown}");
            assert_eq!(found, expected[..found.len()], "{shown}");
            continue;
        }
        assert_eq!(found, expected, "{shown}");
        let is_binary = |(_, stored): &&(&String, &Stored)| matches!(stored, Stored::Binary);
        assert_eq!(answer["binary_files"], matching.iter().filter(is_binary).count(), "{shown}");
        for (row, (_, _, content)) in answer["rows"].as_array().unwrap().iter().zip(&found) {
            assert_eq!(
                row.get("cut").is_some(),
                content.len() > 500 || content.starts_with('…'),
                "{row}"
            );
        }
        if needle.is_ascii() {
            check_git(&dir, &files, pattern, needle, ctx, &found);
        }
    }
}

fn n_bytes(rows: &[Row]) -> usize {
    rows.iter().map(|(.., content)| content.len()).sum()
}

/// Returns what `git grep` finds in files that it reads as recto does.
fn check_git(
    dir: &TestDir,
    files: &BTreeMap<String, Stored>,
    pattern: &str,
    needle: &str,
    ctx: usize,
    found: &[Row],
) {
    let arguments = ["grep", "--no-index", "-n", "-i", "-F", "-I", "-z", "-e", needle, "--", "."];
    let mut expected = BTreeSet::new();
    for line in git(&dir.path("root"), &arguments).split_terminator('\n') {
        let (path, rest) = line.split_once('\0').unwrap();
        let number = rest.split_once(|c: char| !c.is_ascii_digit()).unwrap().0;
        let is_utf8 = matches!(files.get(path), Some(Stored::Utf8(_)));
        if is_utf8 && matches(pattern, path) {
            expected.insert((path.to_string(), number.parse::<u64>().unwrap()));
        }
    }
    let needle = needle.to_lowercase();
    let is_hit = |row: &&Row| {
        row.2.to_lowercase().contains(&needle) && matches!(files[&row.0], Stored::Utf8(_))
    };
    let hits: BTreeSet<(String, u64)> =
        found.iter().filter(is_hit).map(|(path, line, _)| (path.clone(), *line)).collect();
    assert_eq!(hits, expected, "{pattern} {needle} {ctx}");
}

#[test]
fn a_file_with_too_many_hits_is_shown_up_to_the_budget() {
    let dir = TestDir::new();
    dir.file("root/a.txt", "needle\n".repeat(20));
    dir.file("root/b.log", format!("needle {}\n", "x".repeat(400)).repeat(900));
    dir.file("root/c.txt", "needle\n");
    let session = dir.serve(&["--max-answer-bytes", "131072"]);
    let (found, answer) = search(&dir, &session, json!({"file_path": "**", "match": "needle"}));
    assert_eq!(answer["truncated"], true);
    let n_in = |name: &str| found.iter().filter(|row| row.0 == name).count();
    assert_eq!(n_in("a.txt"), 20);
    assert!(n_in("b.log") > 200, "{} rows", n_in("b.log"));
    assert!(answer.to_string().len() <= 131_072, "{} bytes", answer.to_string().len());
}

#[test]
fn search_results_are_bounded_and_start_with_the_first_hit() {
    let dir = TestDir::new();
    for n in 0..300 {
        dir.file(&format!("root/f{n:03}.txt"), "hit\nmiss\n".repeat(10));
    }
    dir.file("root/g.txt", format!("{}\n", "wide hit ".repeat(50)).repeat(1000));
    let session = dir.serve(&["--max-answer-bytes", "262144"]);
    // 100 files have 1000 hits.
    for (pattern, n_rows, is_truncated) in [
        ("f0*.txt", 1000, false),
        ("f[01]*.txt", 1000, true),
        ("f*.txt", 1000, true),
        ("{f0??,f100}.txt", 1000, true),
        ("f00?.txt", 100, false),
    ] {
        let (found, answer) = search(&dir, &session, json!({"file_path": pattern, "match": "HIT"}));
        assert_eq!(
            (found.len(), &answer["truncated"]),
            (n_rows, &json!(is_truncated)),
            "{pattern}"
        );
        let expected = (0..n_rows)
            .map(|n| (format!("f{:03}.txt", n / 10), (n % 10) as u64 * 2 + 1, "hit".to_string()));
        assert_eq!(found, expected.collect::<Vec<Row>>(), "{pattern}");
    }
    let (found, answer) = search(&dir, &session, json!({"file_path": "g*", "match": "hit"}));
    assert!((200..1000).contains(&found.len()), "{}", found.len());
    assert_eq!(answer["truncated"], true);
    // The first line of every file, up to the budget.
    let (found, answer) = search(&dir, &session, json!({"file_path": "f*", "lines": "1,+1"}));
    assert_eq!((found.len(), &answer["truncated"]), (600, &json!(false)));
    let (found, answer) = search(&dir, &session, json!({"file_path": "f*", "lines": "1-5"}));
    assert_eq!((found.len(), &answer["truncated"]), (1000, &json!(true)));
}

/// Files that are already cut, after others that are not.
#[test]
fn search_results_in_long_files_are_bounded() {
    let dir = TestDir::new();
    let wide = format!("hit {}\n", "x".repeat(490));
    dir.file("root/a1.txt", "hit\n".repeat(10)).file("root/b1.txt", wide.repeat(200));
    for n in 2..7 {
        dir.file(&format!("root/a{n}.txt"), "hit\n".repeat(1500));
        dir.file(&format!("root/b{n}.txt"), wide.repeat(900));
    }
    let session = dir.serve(&["--max-answer-bytes", "131072"]);
    let (found, answer) = search(&dir, &session, json!({"file_path": "a*", "match": "hit"}));
    assert_eq!((found.len(), &answer["truncated"]), (1000, &json!(true)));
    let (found, answer) = search(&dir, &session, json!({"file_path": "b*", "match": "hit"}));
    let n_bytes: usize = found.iter().map(|(_, _, text)| text.len()).sum();
    assert!((100_000..=131_072).contains(&n_bytes), "{n_bytes} bytes");
    assert_eq!(answer["truncated"], true);
}

/// Small files are read whole, larger ones in two pieces, and the largest by pages.
#[test]
fn a_search_reads_files_of_every_size_to_the_end() {
    let dir = TestDir::new();
    let sizes = [4 << 10, 64 << 10, 1 << 20].map(|size: usize| [size - 1, size, size + 1]);
    for size in sizes.into_iter().flatten() {
        let text = "x".repeat(size - "\nhit".len()) + "\nhit";
        let units = format!("\u{feff}{}", &text[size / 2..]);
        let utf16: Vec<u8> = units.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let nul = text.as_bytes()[1..].iter().copied().chain([0]).collect::<Vec<u8>>();
        dir.file(&format!("root/{size}.txt"), &text).file(&format!("root/{size}.utf16"), utf16);
        dir.file(&format!("root/{size}.nul"), nul);
    }
    let session = dir.serve(&[]);
    for name in ["txt", "utf16", "nul"] {
        let wanted = json!({"file_path": format!("*.{name}"), "match": "hit"});
        let (found, answer) = search(&dir, &session, wanted);
        let expected = if name == "nul" { (0, 9) } else { (9, 0) };
        assert_eq!(
            (found.len(), &answer["binary_files"]),
            (expected.0, &json!(expected.1)),
            "{name}"
        );
        assert!(found.iter().all(|row| row.1 == 2 && row.2 == "hit"), "{found:?}");
    }
}

/// The ending of a line is not part of it.
#[test]
fn a_search_matches_text_but_not_line_endings() {
    let dir = TestDir::new();
    dir.file("root/a.txt", "one\r\ntw\ro\r\nthree").file("root/b.txt", "one\r\ntw\ro\r\nthree");
    let session = dir.serve(&[]);
    for (needle, n_lines) in [("\r", 1), ("e\r", 0), ("W\rO", 1), ("\r\r", 0), ("o", 2)] {
        for (path, n_files) in [("a.txt", 1), ("*.txt", 2)] {
            let answer = session.answer("ReadLines", json!({"file_path": path, "match": needle}));
            assert_eq!(rows(&answer).len(), n_lines * n_files, "{needle:?} in {path}: {answer}");
        }
    }
    for needle in ["e\nt", "\n", "one\r\n"] {
        let code = session.code("ReadLines", json!({"file_path": "*.txt", "match": needle}));
        assert_eq!(code, -32600, "{needle:?}");
    }
}

/// Files are opened relative to the previous file's directory, but a link's target is not in it.
#[test]
fn a_file_listed_after_a_link_is_read_from_its_own_directory() {
    let dir = TestDir::new();
    for (path, text) in [
        ("root/d/b.txt", "hit d/b\n"),
        ("root/d/d.txt", "hit d/d\n"),
        ("root/e/a.txt", "hit e/a\n"),
        ("root/e/b.txt", "hit e/b\n"),
        ("root/e/d.txt", "hit e/d\n"),
        ("out.txt", "hit outside\n"),
    ] {
        dir.file(path, text);
    }
    dir.link("root/d/a.txt", "../e/a.txt").link("root/d/c.txt", "{base}/out.txt");
    let session = dir.serve(&[]);
    let (found, _) = search(&dir, &session, json!({"file_path": "**/*.txt", "match": "hit"}));
    let found: Vec<_> = found.iter().map(|row| (row.0.as_str(), row.2.as_str())).collect();
    let expected = [
        ("d/a.txt", "hit e/a"),
        ("d/b.txt", "hit d/b"),
        ("d/d.txt", "hit d/d"),
        ("e/a.txt", "hit e/a"),
        ("e/b.txt", "hit e/b"),
        ("e/d.txt", "hit e/d"),
    ];
    assert_eq!(found, expected);
}
