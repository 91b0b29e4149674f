//! Real changes to files with each kind of line ending, by strings with each kind of line break.
//!
//! The reference computes the file after an edit from the rules: an exact match is replaced
//! literally; otherwise unchanged lines keep their endings, and new lines take those of the lines
//! that they replace.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use recto_store::memory::Node;
use recto_tools::call::Call;
use recto_tools::tools::Answer;
use serde_json::{Map, Value, json};

use super::hunks::lines;
use super::pairs::{self, Pair};
use super::{FILE, as_crlf, as_lf, as_mixed, long_pairs, steps};
use crate::in_process::in_memory;
use crate::random::Random;

/// How both versions of a file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stored {
    Lf,
    CrLf,
    Mixed,
    Bom,
}

/// The line breaks in the strings of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strings {
    AsStored,
    Lf,
    CrLf,
}

const STORED: [Stored; 4] = [Stored::Lf, Stored::CrLf, Stored::Mixed, Stored::Bom];
const STRINGS: [Strings; 3] = [Strings::AsStored, Strings::Lf, Strings::CrLf];

impl Stored {
    fn bom(self) -> &'static str {
        if self == Stored::Bom { "\u{feff}" } else { "" }
    }

    fn text(self, text: &str) -> String {
        match self {
            Stored::Lf => as_lf(text),
            Stored::CrLf | Stored::Bom => as_crlf(text),
            Stored::Mixed => as_mixed(text),
        }
    }
}

impl Strings {
    fn text(self, text: &str) -> String {
        match self {
            Strings::AsStored => text.to_string(),
            Strings::Lf => as_lf(text),
            Strings::CrLf => as_crlf(text),
        }
    }
}

/// What was replayed.
#[derive(Debug, Default)]
struct Counts {
    n_pairs: usize,
    calls: BTreeMap<(Stored, Strings), usize>,
    n_edits: usize,
    /// Edits whose string differs from the file in its line breaks.
    n_tolerant: usize,
    applied: BTreeMap<&'static str, usize>,
}

#[test]
fn real_changes_keep_line_endings_with_any_kind_of_strings() {
    check(pairs::commits().into_iter().step_by(2).collect());
}

#[test]
#[ignore = "long: the whole history of this repository, or of the one in RECTO_REPLAY"]
fn real_changes_keep_line_endings_with_any_kind_of_strings_long() {
    check(long_pairs());
}

/// Replays every pair in each form. Other programs apply some of the diffs.
fn check(pairs: Vec<Pair>) {
    // Coprime with the number of forms, so that each form gets its turn.
    const EVERY: usize = 11;
    let mut counts = Counts::default();
    let mut random = Random::new(0xe01);
    let folder = tempfile::tempdir().unwrap();
    let mut n_calls = 0;
    for pair in pairs.iter().filter(|pair| !pair.old.is_empty()) {
        counts.n_pairs += 1;
        for stored in STORED {
            for strings in STRINGS {
                let replay = Replay { pair, stored, strings };
                let Some(called) = replay.run(&mut random, &mut counts) else { continue };
                n_calls += 1;
                if n_calls % EVERY == 0 {
                    called.check_diff(folder.path(), &replay, &mut counts);
                }
            }
        }
    }
    println!("{counts:#?}");
    assert!(counts.n_pairs >= 100 && counts.calls.len() == STORED.len() * STRINGS.len());
    assert!(counts.n_tolerant > counts.n_edits / 10);
    assert!(counts.applied["git"] > n_calls / EVERY / 2);
}

/// One change with one kind of file and of strings.
struct Replay<'a> {
    pair: &'a Pair,
    stored: Stored,
    strings: Strings,
}

/// An edit in terms of lines, and its strings.
struct Edit {
    lines: Range<usize>,
    old: String,
    new: String,
}

struct Called {
    before: String,
    after: String,
    answer: Answer,
}

impl Replay<'_> {
    /// Makes one call and compares the file with the reference. Returns `None` if there is no
    /// change in this form.
    fn run(&self, random: &mut Random, counts: &mut Counts) -> Option<Called> {
        let Replay { pair, stored, strings } = *self;
        let (old, new) = (stored.text(&pair.old), stored.text(&pair.new));
        let new_lines = lines(&new);
        let mut staged: Vec<String> = lines(&old).into_iter().map(str::to_string).collect();
        let mut sent = Vec::new();
        let hunks = steps(random, &lines(&old), &new_lines);
        for hunk in hunks {
            let edit = unique_edit(&staged, &hunk.old, &new_lines[hunk.new].concat(), strings);
            let region = staged[edit.lines.clone()].concat();
            counts.n_tolerant += usize::from(region != edit.old);
            let replaced = replaced(&staged, &edit);
            staged.splice(edit.lines.clone(), replaced);
            sent.push(json!({"old_string": edit.old, "new_string": edit.new}));
        }
        let expected = staged.concat();
        // The reference changes the text as the history did.
        assert_eq!(as_lf(&expected), as_lf(&new), "{}", self.name());
        if strings == Strings::AsStored {
            assert_eq!(expected, new, "{}", self.name());
        }
        if old == expected {
            return None;
        }
        counts.n_edits += sent.len();
        *counts.calls.entry((stored, strings)).or_default() += 1;
        let bom = stored.bom();
        let (before, expected) = (format!("{bom}{old}"), format!("{bom}{expected}"));
        let (answer, after) = self.call(&before, sent);
        if after != expected {
            let n_equal = after.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
            panic!("{}: differs at byte {n_equal}", self.name());
        }
        Some(Called { before, after, answer })
    }

    fn name(&self) -> String {
        format!("{} stored as {:?}, strings {:?}", self.pair.name, self.stored, self.strings)
    }

    /// Edits a file in memory; one edit is made by `edit_text_file`.
    fn call(&self, before: &str, mut edits: Vec<Value>) -> (Answer, String) {
        let nodes = [(FILE.into(), Node::File(before.as_bytes().to_vec()))].into();
        let (calls, store) = in_memory(Path::new("/test"), nodes, 1 << 20);
        let (tool, mut arguments): (_, Map<String, Value>) = match edits.len() {
            1 => ("edit_text_file", edits.remove(0).as_object().unwrap().clone()),
            _ => (
                "multi_edit_text_file",
                [("edits".to_string(), edits.into())].into_iter().collect(),
            ),
        };
        arguments.insert("path".into(), FILE.into());
        let described = Value::from(arguments.clone());
        let tool = calls.served().find(tool).unwrap();
        let answer = calls.call(tool, arguments, &Call::default());
        let answer = answer.unwrap_or_else(|error| panic!("{}: {described}: {error}", self.name()));
        let Some(Node::File(after)) = store.nodes().remove(Path::new(FILE)) else {
            panic!("{}: the file is gone", self.name())
        };
        (answer, String::from_utf8(after).unwrap())
    }
}

/// Replaces the lines `old` with `content`, by a string that occurs once if line endings are ignored.
fn unique_edit(staged: &[String], old: &Range<usize>, content: &str, strings: Strings) -> Edit {
    let text = as_lf(&staged.concat());
    let mut n_context = usize::from(old.is_empty());
    loop {
        let first = old.start.saturating_sub(n_context);
        let past = (old.end + n_context).min(staged.len());
        let region = staged[first..past].concat();
        let wanted = as_lf(&region);
        let is_unique = text.find(&wanted) == text.rfind(&wanted);
        if first == 0 && past == staged.len() || wanted.contains('\n') && is_unique {
            let (before, after) = (&staged[first..old.start], &staged[old.end..past]);
            let new = format!("{}{content}{}", before.concat(), after.concat());
            return Edit {
                lines: first..past,
                old: strings.text(&region),
                new: strings.text(&new),
            };
        }
        n_context = 2 * n_context + 1;
    }
}

/// Returns the lines that an edit puts in place of its lines.
fn replaced(staged: &[String], edit: &Edit) -> Vec<String> {
    let region = &staged[edit.lines.clone()];
    let new: Vec<&str> = lines(&edit.new);
    let is_literal = region.concat() == edit.old || !edit.old.contains('\n');
    if is_literal {
        return new.into_iter().map(str::to_string).collect();
    }
    let is_same = |(stored, new): &(&String, &&str)| as_lf(stored) == as_lf(new);
    let n_head = region.iter().zip(&new).take_while(is_same).count();
    let tails = region[n_head..].iter().rev().zip(new[n_head..].iter().rev());
    let n_tail = tails.take_while(is_same).count();
    let (gone, tail) = region[n_head..].split_at(region.len() - n_head - n_tail);
    // The line before the change, or else any other line with an ending.
    let at = edit.lines.start + n_head;
    let near = staged[..at].iter().rev().chain(&staged[at..]).find_map(|line| ending(line));
    let in_place = |(idx, line): (usize, &&str)| {
        let replaced = gone.get(idx).or(gone.last()).and_then(|line| ending(line));
        match (ending(line), replaced.or(near)) {
            (Some(own), Some(stored)) => format!("{}{stored}", line.strip_suffix(own).unwrap()),
            _ => line.to_string(),
        }
    };
    let between = new[n_head..new.len() - n_tail].iter().enumerate().map(in_place);
    region[..n_head].iter().cloned().chain(between).chain(tail.iter().cloned()).collect()
}

/// Returns the ending of a line.
pub fn ending(line: &str) -> Option<&'static str> {
    ["\r\n", "\n"].into_iter().find(|ending| line.ends_with(ending))
}

impl Called {
    /// Checks that other programs apply the diff, if it is complete.
    fn check_diff(&self, folder: &Path, replay: &Replay<'_>, counts: &mut Counts) {
        let structured = self.answer.object();
        if structured.contains_key("diff_shortened") {
            *counts.applied.entry("shortened").or_default() += 1;
            return;
        }
        let patch = folder.join("change.diff");
        std::fs::write(&patch, structured["diff"].as_str().unwrap()).unwrap();
        let programs: [(&str, &[&str]); 2] = [
            ("git", &["apply", "-p0", "--whitespace=nowarn"]),
            ("patch", &["--quiet", "--binary", "-p0", "-i"]),
        ];
        for (program, arguments) in programs {
            std::fs::write(folder.join("file"), &self.before).unwrap();
            let applied =
                Command::new(program).args(arguments).arg(&patch).current_dir(folder).output();
            let Ok(applied) = applied else {
                assert_ne!(program, "git", "git is needed to test this");
                continue;
            };
            assert!(applied.status.success(), "{}, {program}: {applied:?}", replay.name());
            let found = std::fs::read_to_string(folder.join("file")).unwrap();
            assert!(found == self.after, "{}, {program}", replay.name());
            *counts.applied.entry(program).or_default() += 1;
        }
    }
}
