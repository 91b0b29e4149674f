//! Rows of the contract tables: files before, call, answer or error, files after.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::Actual;
use crate::tree::Tree;

/// The root in the tables.
pub const ROOT: &str = "/test";

#[derive(Deserialize)]
struct Table {
    case: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub name: String,
    /// The numbered test case of the contract that this row covers.
    pub from: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    only: Option<String>,
    /// The commits of a repository at the root, tagged v1, v2 and so on; `files` are written over
    /// the work tree afterwards. Such a row runs on disk only.
    #[serde(default)]
    commits: Vec<BTreeMap<String, toml::Value>>,
    #[serde(default)]
    files: BTreeMap<String, toml::Value>,
    /// What happens in the same session before the call: calls, and changes by another process.
    #[serde(default)]
    earlier: Vec<EarlierStep>,
    call: Option<toml::Value>,
    call_json: Option<String>,
    answer: Option<toml::Value>,
    /// The same as JSON, which supports null.
    answer_json: Option<String>,
    text: Option<Vec<toml::Value>>,
    pub error: Option<ExpectedError>,
    #[serde(default)]
    after: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EarlierStep {
    tool: Option<String>,
    call: Option<toml::Value>,
    #[serde(default)]
    files: BTreeMap<String, toml::Value>,
}

/// Something that happens before the call of a row.
pub enum Step {
    Call { tool: String, arguments: Map<String, Value> },
    Change(Tree),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedError {
    pub code: i32,
    pub message: String,
    pub hint: Option<String>,
    /// Text that neither the message nor the hint contains.
    pub without: Option<String>,
}

/// A row with the real root substituted.
pub struct Case {
    pub options: Vec<String>,
    pub is_for_disk_only: bool,
    /// The work tree at each commit.
    pub commits: Vec<Tree>,
    pub before: Tree,
    pub after: Tree,
    pub earlier: Vec<Step>,
    pub arguments: Map<String, Value>,
    pub expected: Expected,
}

pub enum Expected {
    Answer { structured: Value, text: Option<Vec<String>> },
    Error(ExpectedError),
}

/// Reads the rows of a tool's table.
pub fn rows(tool: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../contracts/{tool}.toml"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let table: Table =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table.case
}

impl Row {
    /// Whether the row needs a repository.
    pub fn has_commits(&self) -> bool {
        !self.commits.is_empty()
    }

    /// Substitutes the real root.
    pub fn at(&self, root: &Path) -> Case {
        let root = root.to_str().unwrap();
        let with_root = |text: &str| text.replace(ROOT, root);
        let mut before = Tree::default();
        let mut commits = Vec::new();
        for files in &self.commits {
            before.update(files);
            commits.push(before.clone());
        }
        before.update(&self.files);
        let mut after = before.clone();
        let mut earlier = Vec::new();
        for EarlierStep { tool, call, files } in &self.earlier {
            let arguments = call.as_ref().map(|call| resolve(call, root));
            earlier.push(match (tool, arguments) {
                (Some(tool), Some(Value::Object(arguments))) => {
                    Step::Call { tool: tool.clone(), arguments }
                }
                (None, None) => {
                    let mut changed = Tree::default();
                    changed.update(files);
                    after.update(files);
                    Step::Change(changed)
                }
                _ => panic!("{}: a step is a tool with a call, or files", self.name),
            });
        }
        after.update(&self.after);
        let arguments = match (&self.call, &self.call_json) {
            (Some(call), None) => resolve(call, root),
            (None, Some(json)) => serde_json::from_str(&with_root(json)).unwrap(),
            _ => panic!("{}: one of call and call_json", self.name),
        };
        let Value::Object(arguments) = arguments else {
            panic!("{}: arguments are an object", self.name)
        };
        let block = |text: &toml::Value| resolve(text, root).as_str().unwrap().to_string();
        let answer = self.answer.as_ref().map(|answer| resolve(answer, root));
        let answer_json =
            self.answer_json.as_ref().map(|json| serde_json::from_str(&with_root(json)).unwrap());
        let expected = match (answer.or(answer_json), &self.error) {
            (Some(structured), None) => Expected::Answer {
                structured,
                text: self.text.as_ref().map(|blocks| blocks.iter().map(block).collect()),
            },
            (None, Some(error)) => Expected::Error(ExpectedError {
                code: error.code,
                message: with_root(&error.message),
                hint: error.hint.as_deref().map(with_root),
                without: error.without.clone(),
            }),
            _ => panic!("{}: one of answer and error", self.name),
        };
        Case {
            options: self.options.iter().map(|option| with_root(option)).collect(),
            is_for_disk_only: self.only.as_deref() == Some("disk") || !commits.is_empty(),
            commits,
            before,
            after,
            earlier,
            arguments,
            expected,
        }
    }
}

impl Case {
    /// Compares an answer and the files after the call with the row.
    pub fn check(&self, actual: Actual, tree: Tree) -> Result<(), String> {
        let matches = match (&self.expected, &actual) {
            (
                Expected::Answer { structured, text },
                Actual::Answer { structured: found, text: blocks },
            ) => {
                is_like(structured, found)
                    && text.as_ref().is_none_or(|text| are_like(text, blocks))
            }
            (Expected::Error(expected), Actual::Error { code, message, hint }) => {
                let has_hint = expected
                    .hint
                    .as_ref()
                    .is_none_or(|part| hint.as_ref().is_some_and(|hint| hint.contains(part)));
                let shows = |part: &String| format!("{message} {hint:?}").contains(part);
                expected.code == *code
                    && expected.message == *message
                    && has_hint
                    && !expected.without.as_ref().is_some_and(shows)
            }
            _ => false,
        };
        if !matches {
            let expected = match &self.expected {
                Expected::Answer { structured, text } => format!("{structured} {text:?}"),
                Expected::Error(error) => format!("{error:?}"),
            };
            return Err(format!("expected {expected}\nfound    {actual:?}"));
        }
        let is_same = match self.commits.as_slice() {
            [] => tree == self.after,
            // Tables do not list the contents of `.git`.
            _ => tree.clone().without_git() == self.after.clone().without_git(),
        };
        if !is_same {
            return Err(format!("files after: expected {:?}\nfound {tree:?}", self.after));
        }
        Ok(())
    }
}

/// Compares values; `"*"` matches any single value.
fn is_like(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(star), _) if star == "*" => true,
        (Value::Object(expected), Value::Object(found)) => {
            expected.len() == found.len()
                && expected
                    .iter()
                    .all(|(key, value)| found.get(key).is_some_and(|found| is_like(value, found)))
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(one, other)| is_like(one, other))
        }
        _ => expected == found,
    }
}

fn are_like(expected: &[String], found: &[String]) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).all(|(one, other)| one == "*" || one == other)
}

/// Converts TOML to JSON, substitutes the root and expands repetitions.
fn resolve(value: &toml::Value, root: &str) -> Value {
    match value {
        toml::Value::String(text) => text.replace(ROOT, root).into(),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        toml::Value::Array(items) => items.iter().map(|item| resolve(item, root)).collect(),
        toml::Value::Table(table) => match (repeated(table), numbered(table)) {
            (Some(text), _) => text.into(),
            (None, Some(rows)) => rows,
            (None, None) => {
                table.iter().map(|(key, value)| (key.clone(), resolve(value, root))).collect()
            }
        },
        toml::Value::Datetime(_) => panic!("no tool accepts dates"),
    }
}

/// Expands `{ repeat = "line {n}\n", times = 3 }`, with an optional `head` before and `tail` after.
pub fn repeated(table: &toml::Table) -> Option<String> {
    let text = table.get("repeat")?.as_str()?;
    let times = table.get("times")?.as_integer()?;
    let end = |name: &str| table.get(name).map_or("", |text| text.as_str().unwrap());
    let repeated: String = (1..=times).map(|n| text.replace("{n}", &n.to_string())).collect();
    Some(format!("{}{repeated}{}", end("head"), end("tail")))
}

/// Expands `{ repeat = "line {n}", numbers = [2, 3] }` to rows with these line numbers.
fn numbered(table: &toml::Table) -> Option<Value> {
    let text = table.get("repeat")?.as_str()?;
    let numbers = table.get("numbers")?.as_array()?;
    let row = |number: &toml::Value| {
        let number = number.as_integer().unwrap();
        json!({"line_number": number, "content": text.replace("{n}", &number.to_string())})
    };
    Some(numbers.iter().map(row).collect())
}
