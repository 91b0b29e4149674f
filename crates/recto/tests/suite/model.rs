//! Random sequences of calls on the tools and on a plain reference implementation, written from
//! the documentation alone: after every call both must give the same answer and have the same bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_store::MemoryStore;
use recto_store::memory::Node;
use recto_tools::call::Calls;
use recto_tools::tools::{self, Tool, Toolset};
use serde_json::{Map, Value};

mod call;
mod files;
mod generated;
mod lines;
mod strings;

use call::{Action, Call};
use files::{File, Files, ROOT};
use generated::Memory;

use crate::in_process::in_memory;
use crate::random::Random;

/// How often each outcome must have occurred in 2,000 sequences, so that the test covers it.
const AT_LEAST: usize = 200;

/// How often each tool succeeded and each error code occurred.
#[derive(Debug, Default)]
struct Counts {
    n_calls: usize,
    successes: BTreeMap<&'static str, usize>,
    codes: BTreeMap<i32, usize>,
    matched_by_eol: usize,
    changes_since: usize,
}

impl Counts {
    fn add(&mut self, tool: &'static str, found: &ToolResult) {
        self.n_calls += 1;
        match found {
            Ok(answer) => {
                *self.successes.entry(tool).or_default() += 1;
                self.matched_by_eol += usize::from(answer.get("match") == Some(&"eol".into()));
                self.changes_since += usize::from(answer.contains_key("changes"));
            }
            Err(code) => *self.codes.entry(*code).or_default() += 1,
        }
    }
}

/// The answer of a tool, or its error code.
type ToolResult = Result<Map<String, Value>, i32>;

/// Everything below the root: directories, and files with their bytes in readable form.
type Tree = BTreeMap<String, Option<String>>;

#[test]
fn every_sequence_of_calls_agrees_with_the_reference() {
    check_sequences(2_000);
}

#[test]
#[ignore = "long: 20,000 sequences"]
fn every_sequence_of_calls_agrees_with_the_reference_long() {
    check_sequences(20_000);
}

fn check_sequences(n_sequences: u64) {
    let mut counts = Counts::default();
    for seed in 1..=n_sequences {
        let mut random = Random::new(seed);
        let mut session = Session::new(&mut random);
        for n_call in 1..=random.below(12) + 1 {
            let step = session.step(&mut random, &mut counts);
            step.unwrap_or_else(|difference| panic!("seed {seed}, call {n_call}: {difference}"));
        }
    }
    println!("{counts:#?}");
    let is_modelled = |tool: &&&Tool| {
        matches!(tool.toolset, Toolset::Edit | Toolset::Text) && tool.name != "read_text_file"
    };
    for tool in tools::ALL.iter().filter(is_modelled) {
        let n_successes = counts.successes.get(tool.name).copied().unwrap_or(0);
        assert!(n_successes >= AT_LEAST, "{} succeeded {n_successes} times", tool.name);
    }
    for code in [-32001, -32006, -32011, -32013, -32014, -32015, -32600] {
        let n_answers = counts.codes.get(&code).copied().unwrap_or(0);
        assert!(n_answers >= AT_LEAST, "{code} was answered {n_answers} times");
    }
    assert!(counts.matched_by_eol >= AT_LEAST / 4, "{} by eol", counts.matched_by_eol);
    assert!(counts.changes_since >= AT_LEAST / 4, "{} changes", counts.changes_since);
}

/// The tools and the reference implementation.
struct Session {
    model: Files,
    store: Arc<MemoryStore>,
    calls: Calls,
    /// Every version that ever existed, in order, and its text.
    hashes: Vec<String>,
    texts: HashMap<String, String>,
    /// Versions that a read has returned.
    read: HashSet<String>,
}

impl Session {
    fn new(random: &mut Random) -> Session {
        let max_read_bytes = if random.one_in(4) { 1 + random.below(20) } else { 1 << 20 };
        let mut model = Files { max_read_bytes, ..Files::default() };
        model.folders.extend(["".to_string(), "in".to_string()]);
        for path in ["a", "b", "in/c"] {
            model.files.insert(path.into(), generated::file(random));
        }
        let root = Path::new(ROOT);
        let mut nodes: BTreeMap<PathBuf, Node> = model
            .files
            .iter()
            .map(|(path, file)| (root.join(path), Node::File(file.bytes())))
            .collect();
        nodes.insert(root.join("in"), Node::Folder);
        let (calls, store) = in_memory(root, nodes, max_read_bytes + recto_tools::budget::HEAD);
        let (hashes, texts, read) = Default::default();
        let mut session = Session { model, store, calls, hashes, texts, read };
        session.remember();
        session
    }

    /// Makes one call on both sides and returns the difference, if there is one.
    fn step(&mut self, random: &mut Random, counts: &mut Counts) -> Result<(), String> {
        let known = Memory { files: &self.model, hashes: &self.hashes };
        let call = generated::call(random, &known);
        let tool = call.action.tool();
        let before = self.model.clone();
        let arguments = generated::respelled(random, call.arguments());
        let (arguments, expected) = if random.one_in(25) {
            (generated::broken(random, tool, arguments), Err(-32600))
        } else {
            (arguments, self.model.run(&call))
        };
        let described = format!("{tool} {}", Value::from(arguments.clone()));
        let answer = self.calls.call(
            self.calls.served().find(tool).unwrap(),
            arguments,
            &recto_tools::Call::default(),
        );
        let found: ToolResult =
            answer.map(|answer| answer.object().into_owned()).map_err(|error| error.code());

        counts.add(tool, &found);
        let (tree, wanted) = (self.stored(), occurs_in(&self.model));
        let is_untouched = expected.is_ok() || tree == occurs_in(&before);
        if !self.agrees(&call, &expected, &found) || tree != wanted || !is_untouched {
            return Err(format!(
                "\n{described}\non        {:?}\nexpected  {expected:?}\nfound     {found:?}\n\
                 should be {wanted:?}\nis        {tree:?}",
                before.files,
            ));
        }
        if let (Ok(found), Action::Read { .. }) = (&found, &call.action) {
            self.read.insert(found["hash"].as_str().unwrap().to_string());
        }
        self.remember();
        Ok(())
    }

    /// Whether both sides gave the same answer.
    fn agrees(&self, call: &Call, expected: &Result<Value, i32>, found: &ToolResult) -> bool {
        match (expected, found) {
            (Err(code), Err(found)) => code == found,
            (Ok(expected), Ok(found)) if found.contains_key("changes") => {
                self.lists_changes(call, expected, found)
            }
            (Ok(expected), Ok(found)) => {
                has_members(expected, found) && !self.owes_changes(call, found)
            }
            _ => false,
        }
    }

    /// Returns the files of the store, by paths from the root.
    fn stored(&self) -> Tree {
        let relative = |path: PathBuf| path.strip_prefix(ROOT).unwrap().to_str().unwrap().into();
        let nodes = self.store.nodes().into_iter();
        nodes
            .map(|(path, node)| match node {
                Node::File(bytes) => (relative(path), Some(bytes.escape_ascii().to_string())),
                Node::Folder => (relative(path), None),
            })
            .collect()
    }

    fn remember(&mut self) {
        for file in self.model.files.values() {
            let hash = file.hash();
            if let (Some(text), false) = (file.text(), self.texts.contains_key(&hash)) {
                self.texts.insert(hash.clone(), text.to_string());
                self.hashes.push(hash);
            }
        }
    }

    /// Whether the answer to a `since` had to be changes and is not. Changes that are too large for
    /// a small answer are replaced by a page.
    fn owes_changes(&self, call: &Call, found: &Map<String, Value>) -> bool {
        let Action::Read { since: Some(since), .. } = &call.action else { return false };
        let is_answer =
            ["unchanged", "has_more", "cut_line"].iter().any(|key| found.contains_key(*key));
        self.model.max_read_bytes > 20 && self.read.contains(since) && !is_answer
    }

    /// Whether the changes are lines of the new text, in order, and all other lines that the call
    /// asks for were in the old text in that order.
    fn lists_changes(&self, call: &Call, expected: &Value, found: &Map<String, Value>) -> bool {
        let Action::Read { lines, since: Some(since) } = &call.action else { return false };
        let Some(old) = self.texts.get(since) else { return false };
        let new = lines::lines(&self.texts[expected["hash"].as_str().unwrap()]);
        let n_lines = new.len().max(1) as i64;
        let asked = lines::asked(lines.unwrap_or([0, 0]), n_lines);
        let asked = asked.map_or(0..0, |(first, past)| first as usize - 1..past as usize - 1);
        let mut kept = Vec::new();
        let mut next = 0;
        for change in found["changes"].as_array().unwrap() {
            let start = change["start"].as_u64().unwrap() as usize - 1;
            let end = change["end"].as_u64().unwrap() as usize - 1;
            if start < next || end < start || end > new.len() {
                return false;
            }
            if change["content"] != lines::joined(&new[start..end]) {
                return false;
            }
            kept.extend(next..start);
            next = end;
        }
        kept.extend(next..new.len());
        kept.retain(|line| asked.contains(line));
        let mut old = lines::lines(old).into_iter();
        let stood_before = kept.iter().all(|line| old.any(|other| other == new[*line]));
        stood_before
            && found["hash"] == expected["hash"]
            && found["total_lines"] == expected["total_lines"]
    }
}

/// Whether an answer has these members; null means that it must not have one. A list may be
/// shortened if the answer says by how much.
fn has_members(expected: &Value, found: &Map<String, Value>) -> bool {
    let is_found = |(name, expected): (&String, &Value)| {
        let value = found.get(name).unwrap_or(&Value::Null);
        match (found.get(&format!("{name}_omitted")), expected, value) {
            (Some(n_omitted), Value::Array(expected), Value::Array(value)) => {
                expected.starts_with(value) && *n_omitted == expected.len() - value.len()
            }
            _ => value == expected,
        }
    };
    expected.as_object().unwrap().iter().all(is_found)
}

fn occurs_in(model: &Files) -> Tree {
    let shown = |file: &File| file.bytes().escape_ascii().to_string();
    let files = model.files.iter().map(|(path, file)| (path.clone(), Some(shown(file))));
    files.chain(model.folders.iter().map(|path| (path.clone(), None))).collect()
}
