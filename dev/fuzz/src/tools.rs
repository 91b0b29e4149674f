//! Checks any arguments for any tool: the result is a bounded answer or an error code of the
//! contract, never a bug in recto, and a rejected call changes nothing.
//!
//! An input is a JSON object with `files` and `calls`, or any bytes, from which [`made`] makes
//! calls that are nearly valid.

mod made;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto::acp::updates;
use recto_store::MemoryStore;
use recto_store::memory::Node;
use recto_tools::call::{Call, Calls, Witnessed};
use recto_tools::delivery::{AnswerForm, Delivery};
use recto_tools::tools::{self, Answer, Effect, Tool};
use recto_tools::{Error, Result, Served};
use serde_json::{Map, Value};

/// The root of every case.
pub const ROOT: &str = "/test";

/// The most bytes of text that a read returns.
const MAX_READ: usize = 256 << 10;

/// The most bytes of an answer to a call on files as small as these.
const MAX_ANSWER: usize = 2 << 20;

/// The most bytes of an error, whatever it quotes.
const MAX_REJECTION: usize = 8 << 10;

type Files = BTreeMap<PathBuf, Node>;

/// Checks one input.
pub fn check(input: &[u8]) {
    match serde_json::from_slice(input) {
        Ok(Value::Object(scene)) => check_scene(&scene),
        _ => made::check(input),
    }
}

fn check_scene(scene: &Map<String, Value>) {
    let mut world = World::new(match scene.get("files") {
        Some(Value::Object(files)) => files.iter().filter_map(file).collect(),
        _ => made::files(),
    });
    for call in scene.get("calls").and_then(Value::as_array).into_iter().flatten().take(4) {
        let tool = call.get("tool").and_then(Value::as_str).and_then(tools::find);
        let arguments = call.get("arguments").and_then(Value::as_object);
        if let (Some(tool), Some(arguments)) = (tool, arguments) {
            world.call(tool, arguments.clone());
        }
    }
}

/// Returns a file's text, or its bytes as numbers.
fn file((path, content): (&String, &Value)) -> Option<(PathBuf, Node)> {
    let bytes = match content {
        Value::String(text) => text.clone().into_bytes(),
        Value::Array(bytes) => bytes.iter().map(|byte| byte.as_u64().unwrap_or(0) as u8).collect(),
        _ => return None,
    };
    let is_plain = !path.is_empty()
        && path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'));
    is_plain.then(|| (Path::new(ROOT).join(path), Node::File(bytes)))
}

/// Files, and tools that work on them.
struct World {
    store: Arc<MemoryStore>,
    calls: Calls,
}

impl World {
    fn new(files: Files) -> World {
        let mut nodes = Files::new();
        for (path, node) in files {
            for folder in path.ancestors().skip(1).filter(|folder| folder.starts_with(ROOT)) {
                nodes.insert(folder.to_path_buf(), Node::Folder);
            }
            // A directory that contains a file stays a directory.
            nodes.entry(path).or_insert(node);
        }
        let store = Arc::new(MemoryStore::new(Path::new(ROOT), nodes, |_| false));
        let delivery = Delivery { form: AnswerForm::Both, max_bytes: MAX_READ };
        let calls = Calls::new(store.clone(), store.clone(), Served::all(), ROOT.into(), delivery);
        World { store, calls }
    }

    fn files(&self) -> Files {
        let mut files = self.store.nodes();
        files.retain(|_, node| matches!(node, Node::File(_)));
        files
    }

    fn call(&mut self, tool: &'static Tool, arguments: Map<String, Value>) {
        let before = self.files();
        let result = self.calls.call(tool, arguments.clone(), &Call::default());
        let is_rehearsal = arguments.get("dry_run").is_some_and(|flag| flag == true);
        if result.is_err() || tool.effect() == Effect::Reads || is_rehearsal {
            assert!(self.files() == before, "{} changed a file: {result:?}", tool.name);
        }
        match &result {
            Ok(answer) => check_answer(tool, answer),
            Err(error) => check_rejection(tool, error, self.calls.served()),
        }
        let (root, served) = (Path::new(ROOT), self.calls.served());
        let call = Witnessed { tool, arguments: &arguments, id: None, root, served };
        check_shown(&call, &result);
    }
}

fn check_answer(tool: &Tool, answer: &Answer) {
    let n_text: usize = answer.blocks().map(str::len).sum();
    let object = answer.object();
    let n_structured = updates::n_bytes(&object);
    assert!(n_text <= MAX_ANSWER, "{}: {n_text} bytes of text", tool.name);
    assert!(n_structured <= MAX_ANSWER, "{}: {n_structured} bytes", tool.name);
    let schema = tool.output_schema();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a schema names its members");
        assert!(object.contains_key(name), "{}: without {name}", tool.name);
    }
    for (name, value) in &*object {
        let is_right = match schema["properties"][name]["type"].as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("integer") => value.is_u64() || value.is_i64(),
            Some("boolean") => value.is_boolean(),
            _ => false,
        };
        assert!(is_right, "{}: {name} is {value}", tool.name);
    }
}

fn check_rejection(tool: &Tool, error: &Error, served: &Served) {
    let code = error.code();
    let is_in_contract =
        code == -32600 || (-32006..=-32001).contains(&code) || (-32021..=-32010).contains(&code);
    assert!(is_in_contract, "{}: {code} {error}", tool.name);
    let n_bytes = error.to_string().len() + error.hint(served).map_or(0, |hint| hint.text.len());
    assert!(n_bytes <= MAX_REJECTION, "{}: {n_bytes} bytes of rejection", tool.name);
}

/// Checks the updates that an editor would show.
fn check_shown(call: &Witnessed<'_>, result: &Result<Answer>) {
    let _ = updates::preview(call);
    let started = updates::started("id", call);
    let finished = updates::finished("id", call, result);
    for update in [&started, &finished] {
        let title = update["title"].as_str().expect("every card has a title");
        assert!(title.chars().count() <= updates::MAX_TITLE, "{title}");
        assert!(!title.chars().any(char::is_control), "{title:?}");
        for raw in ["rawInput", "rawOutput"] {
            assert!(updates::n_bytes(&update[raw]) <= updates::MAX_BYTES, "{raw}");
        }
    }
}
