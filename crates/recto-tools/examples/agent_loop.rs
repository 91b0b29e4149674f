//! An agent: a model that calls tools until it has done its task. A scripted model takes the place
//! of a real one, so that the example runs without a network. It makes a mistake on purpose and
//! follows the hint of the error.
//!
//! `cargo run -p recto-tools --example agent_loop`
#![allow(clippy::print_stdout, reason = "the example shows the conversation")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use recto_store::GitRevisions;
use recto_store::local::{LocalStore, Options};
use recto_tools::budget::ErrorText;
use recto_tools::{AnswerForm, Call, Calls, Delivery, Served};
use serde_json::{Map, Value, json};

/// The maximum number of turns.
const MAX_TURNS: usize = 20;

/// Answers are text for the model, of at most this size.
const DELIVERY: Delivery = Delivery { form: AnswerForm::Text, max_bytes: 40_000 };

/// What a model does next.
enum Turn {
    /// Calls a tool.
    Call(String, Map<String, Value>),
    /// Ends with a text for the user.
    Done(String),
}

/// A result of a tool, as a model gets it.
struct ToolResult {
    text: String,
    is_error: bool,
}

/// A model. A real one would send `tools` and the conversation to an API.
trait Model {
    fn next(&mut self, tools: &[Value], last: Option<&ToolResult>) -> Turn;
}

/// Returns definitions in the form that most model APIs expect.
fn definitions(served: &Served) -> Vec<Value> {
    let definition = |tool: &&'static recto_tools::Tool| {
        json!({
            "name": served.name(tool.name),
            "description": tool.description,
            "input_schema": tool.input_schema(),
        })
    };
    served.tools().iter().map(definition).collect()
}

/// Opens a directory. Nothing outside it can be read or changed.
fn open(root: &Path) -> std::io::Result<Calls> {
    let root = root.canonicalize()?;
    let disk = Arc::new(LocalStore::open(Options {
        roots: vec![root.clone()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    })?);
    let revisions = Arc::new(GitRevisions::new(disk.clone(), Vec::new()));
    Ok(Calls::new(disk, revisions, Served::all(), root, DELIVERY))
}

/// Runs one call. An error is text for the model as well: its hint says what to send next.
fn run(calls: &Calls, name: &str, arguments: Map<String, Value>) -> ToolResult {
    let Some(tool) = calls.served().find(name) else {
        return ToolResult { text: format!("Unknown tool: {name}"), is_error: true };
    };
    match calls.call(tool, arguments, &Call::default()) {
        Ok(answer) => {
            let text = answer.blocks().collect::<Vec<_>>().join("\n");
            ToolResult { text, is_error: false }
        }
        Err(error) => {
            let text = ErrorText::new(&error, calls.served(), DELIVERY);
            ToolResult { text: text.block(), is_error: true }
        }
    }
}

/// Lets a model work until it is done, and returns its last text.
fn work(model: &mut dyn Model, calls: &Calls) -> Result<String, String> {
    let tools = definitions(calls.served());
    let mut last = None;
    for _ in 0..MAX_TURNS {
        match model.next(&tools, last.as_ref()) {
            Turn::Done(text) => return Ok(text),
            Turn::Call(name, arguments) => {
                println!("> {name} {}", Value::Object(arguments.clone()));
                let result = run(calls, &name, arguments);
                println!("{}\n", result.text);
                last = Some(result);
            }
        }
    }
    Err(format!("not done after {MAX_TURNS} turns"))
}

/// Renames a function, and guesses its definition wrongly at first.
struct Scripted {
    path: String,
    n_turns: usize,
}

impl Model for Scripted {
    fn next(&mut self, tools: &[Value], last: Option<&ToolResult>) -> Turn {
        self.n_turns += 1;
        let edit = |old: &str, new: &str| {
            let arguments = json!({"path": self.path, "old_string": old, "new_string": new});
            Turn::Call("edit_text_file".into(), arguments.as_object().cloned().unwrap_or_default())
        };
        match (self.n_turns, last) {
            (1, _) if tools.iter().any(|tool| tool["name"] == "ReadLines") => {
                let search = json!({"file_path": "**/*.rs", "match": "fn greet"});
                Turn::Call("ReadLines".into(), search.as_object().cloned().unwrap_or_default())
            }
            (2, Some(found)) if found.text.contains("fn greet") => {
                edit("fn greet() {", "fn welcome() {")
            }
            // The error names the line that comes closest.
            (3, Some(missed)) if missed.is_error && missed.text.contains("Closest: line 1") => {
                edit("fn greet(name: &str) {", "fn welcome(name: &str) {")
            }
            (4, Some(edited)) if !edited.is_error => Turn::Done("Renamed greet.".into()),
            (_, last) => Turn::Done(format!("Failed: {:?}", last.map(|last| &last.text))),
        }
    }
}

/// Runs the example in a directory, and returns the text for the user and the file afterwards.
fn example(root: &Path) -> Result<(String, String), Box<dyn Error>> {
    let path = root.canonicalize()?.join("main.rs");
    std::fs::write(&path, "fn greet(name: &str) {\n    println!(\"Hello, {name}\");\n}\n")?;
    let mut model = Scripted { path: path.display().to_string(), n_turns: 0 };
    let text = work(&mut model, &open(root)?)?;
    Ok((text, std::fs::read_to_string(path)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (text, file) = example(tempfile::tempdir()?.path())?;
    println!("{text}\n\n{file}");
    Ok(())
}

#[test]
fn the_model_follows_the_hint_and_edits_the_file() -> Result<(), Box<dyn Error>> {
    let (text, file) = example(tempfile::tempdir()?.path())?;
    assert_eq!(text, "Renamed greet.");
    assert!(file.starts_with("fn welcome(name: &str) {\n"), "{file}");
    Ok(())
}
