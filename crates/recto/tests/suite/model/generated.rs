//! Random texts and calls: mostly valid ones made from the current files, and every kind of
//! mistake.

use serde_json::{Map, Value, json};

use super::call::{Action, Call, Terms};
use super::files::{Encoding, File, Files, ROOT};
use super::lines::{Line, joined, lines};
use super::strings::Edit;
use crate::random::Random;

/// Few and short, so that lines repeat and strings overlap.
const WORDS: &[&str] = &[
    "a", "a", "b", "c", "", "", "aa", "ab", "ä", "日本", "😀", "  a", "\ta", "}", "x\ry",
    "e\u{301}", "\u{feff}",
];

/// Returns a text of up to `max_lines` lines: LF, CRLF or mixed, with or without a final ending.
fn text(random: &mut Random, max_lines: usize) -> String {
    let style = random.below(4);
    let mut text = String::new();
    for _ in 0..random.below(max_lines + 1) {
        text.push_str(random.pick(WORDS));
        let is_crlf = style == 2 || style == 3 && random.one_in(2);
        text.push_str(if is_crlf { "\r\n" } else { "\n" });
    }
    if random.one_in(4) {
        let open = random.pick(&["end", "a", "ä", "b\r"]);
        text.push_str(open);
    }
    if random.one_in(400) {
        text.push_str(random.pick(&["x\0y", "\u{feff}"]));
    }
    text
}

pub fn file(random: &mut Random) -> File {
    let encoding = match random.below(20) {
        0..=3 => Encoding::Utf8Bom,
        4 => Encoding::Utf16Le,
        5 => Encoding::Utf16Be,
        6 if random.one_in(3) => return File::Binary(b"\x89PNG\0\n".to_vec()),
        _ => Encoding::Utf8,
    };
    let text = text(random, 9).replace(['\0', '\u{feff}'], "");
    File::Text { encoding, text }
}

/// The caller's knowledge: the files, and versions that once existed.
pub struct Memory<'a> {
    pub files: &'a Files,
    pub hashes: &'a [String],
}

/// Returns one call, valid or not.
pub fn call(random: &mut Random, known: &Memory<'_>) -> Call {
    let which = random.below(42);
    let is_for_edit_toolset = which >= 33;
    let is_creation = (27..=30).contains(&which);
    let relative = path(random, known, is_creation);
    let file = known.files.files.get(&relative);
    let text = file.and_then(File::text).unwrap_or_default().to_string();
    let hash = hash(random, known, file);
    let action = match which {
        0..=5 => read(random, known, &text, hash),
        6..=15 => replace(random, &text, hash),
        16..=22 => insert(random, &text, hash),
        23..=26 => Action::Append { hash, content: new_text(random) },
        27..=28 => Action::CreateText { content: new_text(random) },
        29..=30 => Action::CreateBytes { bytes: self::file(random).bytes() },
        31..=32 => Action::Remove { hash },
        33..=34 => Action::Edit { edit: edit(random, &text), terms: terms(random, hash) },
        35..=39 => multi_edit(random, &text, hash),
        _ => Action::Write { content: new_text(random), terms: terms(random, hash) },
    };
    Call { path: written(random, relative, is_for_edit_toolset), action }
}

fn path(random: &mut Random, known: &Memory<'_>, is_creation: bool) -> String {
    let existing: Vec<&String> = known.files.files.keys().collect();
    let is_odd = if is_creation { !random.one_in(3) } else { random.one_in(10) };
    if !is_odd && !existing.is_empty() {
        return random.pick(&existing).to_string();
    }
    let places = ["a", "b", "in/c", "new", "in/new", "far/away/new", "gone", "in", "a/b", ""];
    random.pick(&places).to_string()
}

/// Returns a relative or absolute path, sometimes outside the root.
fn written(random: &mut Random, relative: String, is_for_edit_toolset: bool) -> String {
    match random.below(60) {
        0 => format!("../{relative}"),
        1 => format!("/elsewhere/{relative}"),
        n if relative.is_empty() => if n < 4 { "" } else { ROOT }.to_string(),
        n if n < 30 && !(is_for_edit_toolset && n > 4) => relative,
        _ => format!("{ROOT}/{relative}"),
    }
}

fn hash(random: &mut Random, known: &Memory<'_>, file: Option<&File>) -> String {
    match (random.below(16), file) {
        (0, _) if !known.hashes.is_empty() => random.pick(known.hashes),
        (1, _) | (_, None) => format!("{:012x}", random.below(1 << 48)),
        (_, Some(file)) => file.hash(),
    }
}

fn terms(random: &mut Random, hash: String) -> Terms {
    Terms { expected_hash: random.one_in(2).then_some(hash), is_dry_run: random.one_in(8) }
}

fn new_text(random: &mut Random) -> String {
    match random.below(24) {
        0 => String::new(),
        1 | 4 => format!("\u{feff}{}", text(random, 2)),
        2 | 3 => random.pick(WORDS).to_string(),
        _ => text(random, 3),
    }
}

fn read(random: &mut Random, known: &Memory<'_>, text: &str, hash: String) -> Action {
    let n = lines(text).len() as i64;
    let lines = match random.below(6) {
        0..=2 => None,
        3 if n > 0 => {
            let first = random.between(0, n - 1);
            let past = random.between(first + 1, n);
            Some(range_around(random, first, past, n))
        }
        _ => Some(any_range(random, n)),
    };
    let since = match random.below(6) {
        0 => Some(hash),
        1..=3 if !known.hashes.is_empty() => Some(random.pick(known.hashes)),
        _ => None,
    };
    Action::Read { lines, since }
}

/// Returns two numbers near the file's, and sometimes far from them.
fn any_range(random: &mut Random, n: i64) -> [i64; 2] {
    let mut number = || match random.below(30) {
        0 => random.pick(&[i64::MIN, i64::MAX, i64::MAX - 1, -1000, 1000]),
        _ => random.between(-n - 3, n + 3),
    };
    [number(), number()]
}

/// Spells the range from `first` up to `past`, indices from 0, in one way, maybe wider.
fn range_around(random: &mut Random, mut first: i64, mut past: i64, n: i64) -> [i64; 2] {
    if random.one_in(4) {
        first = random.between(0, first);
        past = random.between(past, n);
    }
    let start = match random.below(4) {
        0 if first == 0 => 0,
        1 => first - n,
        _ => first + 1,
    };
    let end = match random.below(4) {
        _ if past == n && random.one_in(3) => 0,
        0 if past < n => past - n,
        _ => past + 1,
    };
    [start, end]
}

fn replace(random: &mut Random, text: &str, hash: String) -> Action {
    let stored = lines(text);
    let n = stored.len();
    let first = random.below(n.max(1));
    let past = (first + 1 + random.below(3)).min(n).max(first);
    let lines = match random.below(10) {
        0 => any_range(random, n as i64),
        1 => [0, 0],
        2 => range_around(random, first as i64, (first as i64 + 1).min(n as i64), n as i64),
        _ => range_around(random, first as i64, past as i64, n as i64),
    };
    let old = as_a_caller_writes(random, &stored[first.min(n)..past]);
    let new = if random.one_in(15) { old.clone() } else { new_text(random) };
    Action::Replace { hash, lines, old, new }
}

/// Returns lines with or without the last ending, in the other ending style, or slightly wrong.
fn as_a_caller_writes(random: &mut Random, actual: &[Line]) -> String {
    let mut words = joined(actual);
    if let Some(last) = actual.last()
        && random.one_in(2)
    {
        words.truncate(words.len() - last.ending.len());
    }
    match random.below(16) {
        0 | 1 => words.replace("\r\n", "\n"),
        2 => words.replace("\r\n", "\n").replace('\n', "\r\n"),
        3 => format!("{words}\n"),
        4 => format!("{words}a"),
        5 if random.one_in(3) => format!("\u{feff}{words}"),
        _ => words,
    }
}

fn insert(random: &mut Random, text: &str, hash: String) -> Action {
    let stored = lines(text);
    let n = stored.len() as i64;
    let at = random.below(stored.len().max(1)) as i64;
    let line = match random.below(10) {
        0 => any_range(random, n)[0],
        1 => random.pick(&[0, n + 1, -n - 1]),
        2..=4 if n > 0 => at - n,
        _ => at + 1,
    };
    let actual = stored.get(at as usize).map_or(&[][..], std::slice::from_ref);
    let anchor = as_a_caller_writes(random, actual);
    Action::Insert { hash, line, anchor, content: new_text(random) }
}

fn edit(random: &mut Random, text: &str) -> Edit {
    let characters: Vec<char> = text.chars().collect();
    let first = random.below(characters.len().max(1));
    let past = (first + 1 + random.below(12)).min(characters.len());
    let mut old: String = characters[first..past].iter().collect();
    match random.below(14) {
        0 => old = old.replace("\r\n", "\n"),
        1 => old = old.replace("\r\n", "\n").replace('\n', "\r\n"),
        2 => old.push('z'),
        _ => {}
    }
    let new = if random.one_in(40) { old.clone() } else { new_text(random) };
    (old, new)
}

/// Returns edits of the text, and of the text that earlier edits wrote.
fn multi_edit(random: &mut Random, text: &str, hash: String) -> Action {
    let mut edits: Vec<Edit> = Vec::new();
    for _ in 0..if random.one_in(20) { 0 } else { random.pick(&[1, 2, 2, 3, 4]) } {
        let next = match edits.last() {
            Some((_, new)) if random.one_in(4) => edit(random, new),
            Some((old, _)) if random.one_in(8) => edit(random, old),
            _ => edit(random, text),
        };
        edits.push(next);
    }
    Action::MultiEdit { edits, terms: terms(random, hash) }
}

/// Returns an equivalent call: digits as strings, null omitted.
pub fn respelled(random: &mut Random, mut arguments: Map<String, Value>) -> Map<String, Value> {
    if random.one_in(2) {
        arguments.retain(|_, value| !value.is_null());
    }
    let as_digits = |number: &mut Value| *number = number.to_string().into();
    if random.one_in(6) {
        match arguments.get_mut("lines") {
            Some(Value::Array(numbers)) => numbers.iter_mut().for_each(as_digits),
            _ => arguments.get_mut("line").into_iter().for_each(as_digits),
        }
    }
    arguments
}

/// Returns the call with an invalid argument: missing, unknown, or of a wrong type.
pub fn broken(
    random: &mut Random,
    tool: &str,
    mut arguments: Map<String, Value>,
) -> Map<String, Value> {
    let optional: &[&str] = match tool {
        "text_read" => &["lines", "since"],
        _ => &["encoding", "expected_hash", "dry_run"],
    };
    let is_required = |name: &&String| !optional.contains(&name.as_str());
    let names: Vec<String> = arguments.keys().filter(is_required).cloned().collect();
    let name = random.pick(&names);
    match random.below(4) {
        0 => {
            arguments.shift_remove(&name);
        }
        1 => {
            arguments.insert("force".into(), true.into());
        }
        2 => {
            arguments.insert(name, Value::Null);
        }
        _ => {
            let wrong = match name.as_str() {
                "hash" => json!(random.pick(&["", "abc", "0123456789abc", "nothexdigits"])),
                "lines" => {
                    random.pick(&[json!([1]), json!([1, 2, 3]), json!("1-2"), json!([1, 1.5])])
                }
                "line" => random.pick(&[json!(1.5), json!("one"), json!([1])]),
                "edits" => random.pick(&[json!({}), json!(["a"]), json!([{"old_string": "a"}])]),
                _ => random.pick(&[json!(5), json!(true), json!(["a"])]),
            };
            arguments.insert(name, wrong);
        }
    }
    arguments
}
