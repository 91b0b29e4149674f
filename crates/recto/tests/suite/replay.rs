//! Real changes, replayed: `text.*` calls turn the old version of a file into the new one, byte for
//! byte, and so does one `multi_edit_text_file`.
//!
//! `hunks` finds the changes, `pairs` provides the files, and `endings` replays the changes with
//! other line endings.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_store::MemoryStore;
use recto_store::memory::Node;
use recto_text::Digest;
use recto_tools::call::{Call, Calls};
use serde_json::{Map, Value, json};

mod endings;
mod hunks;
mod pairs;

use hunks::{Hunk, hunks, lines};
use pairs::Pair;

use crate::in_process::in_memory;
use crate::random::Random;

const FILE: &str = "/test/file";

/// More hunks than this are merged into one, so that rewritten files do not take too long.
const MAX_HUNKS: usize = 60;

/// How both sides of a pair are transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Variant {
    AsItIs,
    CrLf,
    /// The file has CRLF, the caller writes LF.
    CrLfWrittenAsLf,
    Mixed,
    NoFinalEnding,
    /// The old side has no final ending and the new one has, or vice versa.
    OneFinalEnding,
    MixedWithoutFinalEnding,
}

const VARIANTS: [Variant; 7] = [
    Variant::AsItIs,
    Variant::CrLf,
    Variant::CrLfWrittenAsLf,
    Variant::Mixed,
    Variant::NoFinalEnding,
    Variant::OneFinalEnding,
    Variant::MixedWithoutFinalEnding,
];

/// Counts of what was replayed, to print and assert.
#[derive(Debug, Default)]
struct Counts {
    /// The files without their variants.
    files: BTreeSet<String>,
    pairs: BTreeMap<&'static str, usize>,
    variants: BTreeMap<Variant, usize>,
    calls: BTreeMap<&'static str, usize>,
    n_edits: usize,
}

#[test]
fn real_changes_give_the_same_bytes_by_lines_and_by_strings() {
    check(pairs::all());
}

#[test]
#[ignore = "long: the whole history of this repository, or of the one in RECTO_REPLAY"]
fn real_changes_give_the_same_bytes_by_lines_and_by_strings_long() {
    check(vec![("commits", long_pairs())]);
}

/// Returns the history of this repository, or of the one in `RECTO_REPLAY`.
fn long_pairs() -> Vec<Pair> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let repository = std::env::var_os("RECTO_REPLAY").map_or(top, PathBuf::from);
    pairs::history(&repository).collect()
}

fn check(sources: Vec<(&'static str, Vec<Pair>)>) {
    let mut counts = Counts::default();
    let mut random = Random::new(0xc0de);
    let mut n_pairs = 0;
    for (source, pairs) in sources {
        for pair in pairs {
            let variant = VARIANTS[n_pairs % VARIANTS.len()];
            n_pairs += 1;
            counts.files.insert(pair.name.clone());
            let pair = varied(pair, variant, n_pairs);
            if pair.old == pair.new {
                continue;
            }
            *counts.pairs.entry(source).or_default() += 1;
            *counts.variants.entry(variant).or_default() += 1;
            let case = Case { pair: &pair, is_written_as_lf: is_written_as_lf(variant, &pair) };
            case.replay_lines(&mut random, &mut counts);
            case.replay_strings(&mut random, &mut counts);
        }
    }
    let n_pairs: usize = counts.pairs.values().sum();
    let n_calls: usize = counts.calls.values().sum();
    let Counts { files, pairs, variants, calls, n_edits } = &counts;
    println!("{} files, {n_pairs} pairs {pairs:?} {variants:?}", files.len());
    println!("{n_calls} calls {calls:?}, {n_edits} edits of strings");
    assert!(n_pairs >= 500, "{n_pairs} pairs");
    assert!(n_calls >= 3000, "{n_calls} calls");
    for variant in VARIANTS {
        assert!(counts.variants[&variant] >= 60, "{variant:?}: {}", counts.variants[&variant]);
    }
    for tool in ["text_replace", "text_insert", "text_append", "multi_edit_text_file"] {
        assert!(counts.calls[tool] >= 60, "{tool}: {}", counts.calls[tool]);
    }
}

/// Returns both sides in the form of a variant.
fn varied(pair: Pair, variant: Variant, n_pair: usize) -> Pair {
    let each = |change: &dyn Fn(&str) -> String| Pair {
        name: format!("{} ({variant:?})", pair.name),
        old: change(&pair.old),
        new: change(&pair.new),
    };
    let unended = |text: &str| text.trim_end_matches(['\r', '\n']).to_string();
    match variant {
        Variant::AsItIs => each(&str::to_string),
        Variant::CrLf | Variant::CrLfWrittenAsLf => each(&as_crlf),
        Variant::Mixed => each(&as_mixed),
        Variant::NoFinalEnding if n_pair.is_multiple_of(2) => each(&unended),
        Variant::NoFinalEnding => each(&|text| unended(&as_crlf(text))),
        Variant::OneFinalEnding if n_pair.is_multiple_of(2) => {
            Pair { old: unended(&pair.old), ..each(&str::to_string) }
        }
        Variant::OneFinalEnding => Pair { new: unended(&pair.new), ..each(&str::to_string) },
        Variant::MixedWithoutFinalEnding => each(&|text| unended(&as_mixed(text))),
    }
}

fn as_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn as_crlf(text: &str) -> String {
    as_lf(text).replace('\n', "\r\n")
}

/// Gives every line an ending that depends on its length, so that equal lines stay equal.
fn as_mixed(text: &str) -> String {
    let is_crlf = |line: &&str| line.len().is_multiple_of(3);
    let ended = |line: &str| if is_crlf(&line) { as_crlf(line) } else { line.to_string() };
    as_lf(text).split_inclusive('\n').map(ended).collect()
}

/// Whether the caller writes LF for CRLF; in a file without an ending `\n` would be ambiguous.
fn is_written_as_lf(variant: Variant, pair: &Pair) -> bool {
    variant == Variant::CrLfWrittenAsLf && pair.old.contains('\n')
}

/// One pair to replay.
struct Case<'a> {
    pair: &'a Pair,
    /// The caller writes LF for a file that has CRLF.
    is_written_as_lf: bool,
}

impl Case<'_> {
    /// The change as the caller sees it.
    fn written(&self) -> (String, String) {
        let Pair { old, new, .. } = self.pair;
        match self.is_written_as_lf {
            true => (as_lf(old), as_lf(new)),
            false => (old.clone(), new.clone()),
        }
    }

    /// Applies the hunks one by one, with a call each.
    fn replay_lines(&self, random: &mut Random, counts: &mut Counts) {
        let (old, new) = self.written();
        let (mut current, new) = (lines(&old), lines(&new));
        let mut session = Session::new(self.pair);
        for step in steps(random, &current, &new) {
            let content = new[step.new.clone()].concat();
            let (tool, arguments) = self.line_call(random, &current, &step.old, content);
            *counts.calls.entry(tool).or_default() += 1;
            let answer = session.call(tool, arguments);
            current.splice(step.old, new[step.new].iter().copied());
            assert_eq!(answer["total_lines"], current.len(), "{}", self.pair.name);
        }
        session.check();
    }

    /// Applies all hunks in one call, each with enough context to be unique.
    fn replay_strings(&self, random: &mut Random, counts: &mut Counts) {
        let (old, new) = self.written();
        if old.is_empty() {
            // There is no string to replace.
            return;
        }
        let (mut staged, new) = (lines(&old), lines(&new));
        let mut edits = Vec::new();
        for step in steps(random, &staged, &new) {
            edits.push(unique_edit(&staged, &step.old, &new[step.new.clone()].concat()));
            staged.splice(step.old, new[step.new].iter().copied());
        }
        counts.n_edits += edits.len();
        *counts.calls.entry("multi_edit_text_file").or_default() += 1;
        let mut session = Session::new(self.pair);
        let answer = session.call("multi_edit_text_file", json!({"edits": edits}));
        assert_eq!(answer["applied_count"], edits.len(), "{}", self.pair.name);
        session.check();
    }

    /// Returns the `text.*` call that replaces `old` with `content`.
    fn line_call(
        &self,
        random: &mut Random,
        current: &[&str],
        old: &Range<usize>,
        content: String,
    ) -> (&'static str, Value) {
        if let Some(rest) = appended(current, old, &content) {
            return ("text_append", json!({"content": rest}));
        }
        // Text without a line break is not literal.
        let is_safe =
            current.get(old.start).is_some_and(|line| line.contains('\n') || self.is_written_as_lf);
        if old.is_empty() && is_safe {
            let anchor = current[old.start];
            let line = old.start as i64 + 1;
            let line = if random.below(3) == 0 { line - current.len() as i64 - 1 } else { line };
            return ("text_insert", json!({"line": line, "anchor": anchor, "content": content}));
        }
        let first = if is_safe { old.start } else { old.start.saturating_sub(1) };
        let past = old.end.max(old.start + 1).min(current.len());
        let (before, after) = (&current[first..old.start], &current[old.end..past]);
        let lines = spelled(random, first as i64, past as i64, current.len() as i64);
        let new = format!("{}{content}{}", before.concat(), after.concat());
        ("text_replace", json!({"lines": lines, "old": current[first..past].concat(), "new": new}))
    }
}

/// Returns the text to append if the change is an append: after the last line, which may need an
/// ending first. Appended lines get the ending of the last line that has one, also the last line if
/// the file ends with one.
fn appended<'a>(current: &[&str], old: &Range<usize>, content: &'a str) -> Option<&'a str> {
    let ending = current.iter().rev().find_map(|line| endings::ending(line));
    let is_literal = |text: &&str| {
        let mut own = lines(text).into_iter().filter_map(endings::ending);
        ending.is_none_or(|ending| own.all(|own| own == ending))
    };
    let last = current.last().copied().unwrap_or_default();
    if old.start == current.len() {
        let is_whole = content.ends_with('\n') || current.is_empty();
        return Some(content).filter(is_literal).filter(|_| is_whole);
    }
    if *old != (current.len() - 1..current.len()) || last.ends_with('\n') {
        return None;
    }
    let rest = content.strip_prefix(last)?.strip_prefix(ending.unwrap_or("\n"))?;
    Some(rest).filter(is_literal).filter(|rest| !rest.is_empty())
}

/// Returns the hunks in the order of application, each at its position at that time: from the
/// bottom up, or from the top down.
fn steps(random: &mut Random, old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let mut hunks = hunks(old, new);
    if let [first, .., last] = &hunks[..]
        && hunks.len() > MAX_HUNKS
    {
        let (old, new) = (first.old.start..last.old.end, first.new.start..last.new.end);
        hunks = vec![Hunk { old, new }];
    }
    if random.below(2) == 0 {
        hunks.reverse();
        return hunks;
    }
    // Everything above is already applied, so a hunk is where the new text has it.
    let moved = |Hunk { old, new }: Hunk| Hunk { old: new.start..new.start + old.len(), new };
    hunks.into_iter().map(moved).collect()
}

/// Returns the range from `first` up to `past`, indices from 0, in one of its spellings.
fn spelled(random: &mut Random, first: i64, past: i64, n_lines: i64) -> [i64; 2] {
    let start = if random.below(3) == 0 { first - n_lines } else { first + 1 };
    let end = match random.below(3) {
        0 if past == n_lines => 0,
        1 if past < n_lines => past - n_lines,
        _ => past + 1,
    };
    [start, end]
}

/// Replaces the lines `old` with `content`, as a string that occurs once in the staged text.
fn unique_edit(staged: &[&str], old: &Range<usize>, content: &str) -> Value {
    let text = staged.concat();
    let mut n_context = usize::from(old.is_empty());
    loop {
        let first = old.start.saturating_sub(n_context);
        let past = (old.end + n_context).min(staged.len());
        let old_string = staged[first..past].concat();
        let is_whole = first == 0 && past == staged.len();
        let is_literal = old_string.contains('\n');
        if is_whole || is_literal && is_unique(&text, &old_string) {
            let (before, after) = (&staged[first..old.start], &staged[old.end..past]);
            let new_string = format!("{}{content}{}", before.concat(), after.concat());
            return json!({"old_string": old_string, "new_string": new_string});
        }
        n_context = 2 * n_context + 1;
    }
}

/// Whether a string that occurs in a text occurs once, counting overlapping matches and ignoring
/// line endings.
fn is_unique(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (as_lf(text), as_lf(wanted));
    text.find(&wanted) == text.rfind(&wanted)
}

/// One file in memory, changed call by call.
struct Session<'a> {
    pair: &'a Pair,
    store: Arc<MemoryStore>,
    calls: Calls,
    hash: String,
}

impl<'a> Session<'a> {
    fn new(pair: &'a Pair) -> Session<'a> {
        let root = Path::new("/test");
        let nodes = [(FILE.into(), Node::File(pair.old.clone().into_bytes()))].into();
        let (calls, store) = in_memory(root, nodes, 1 << 20);
        Session { pair, store, calls, hash: Digest::of(pair.old.as_bytes()).to_string() }
    }

    /// Makes a call with the hash that the last one returned.
    fn call(&mut self, tool: &str, arguments: Value) -> Map<String, Value> {
        let Value::Object(mut arguments) = arguments else { unreachable!() };
        arguments.insert("path".into(), FILE.into());
        match tool {
            "text_read" => None,
            "multi_edit_text_file" => {
                arguments.insert("expected_hash".into(), self.hash.as_str().into())
            }
            _ => arguments.insert("hash".into(), self.hash.as_str().into()),
        };
        let described = Value::from(arguments.clone());
        let answer =
            self.calls.call(self.calls.served().find(tool).unwrap(), arguments, &Call::default());
        let answer = answer.unwrap_or_else(|error| {
            panic!(
                "{}: {tool} {described}: {error} {:?}",
                self.pair.name,
                error.hint(self.calls.served())
            )
        });
        self.hash = answer.structured["hash"].as_str().unwrap().to_string();
        answer.object().into_owned()
    }

    /// Checks that the file is the new version, and that a read returns it.
    fn check(mut self) {
        let read = self.call("text_read", json!({}));
        assert_eq!(read["content"], self.pair.new.as_str(), "{}", self.pair.name);
        let Some(Node::File(found)) = self.store.nodes().remove(Path::new(FILE)) else {
            panic!("{}: the file is gone", self.pair.name)
        };
        let found = String::from_utf8(found).unwrap();
        if found != self.pair.new {
            let place =
                found.bytes().zip(self.pair.new.bytes()).take_while(|(a, b)| a == b).count();
            panic!("{}: differs at byte {place}", self.pair.name);
        }
        assert_eq!(self.hash, Digest::of(found.as_bytes()).to_string(), "{}", self.pair.name);
    }
}
