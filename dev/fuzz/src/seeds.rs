//! First inputs for every target, from the contracts and from files of other tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::tables::NAMES;

/// Returns the root of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns inputs by target.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds = Vec::new();
    for tool in recto_tools::tools::ALL {
        let path = top().join(format!("contracts/{}.toml", tool.name));
        let text = fs::read_to_string(path).expect("every tool has its contract");
        let table: toml::Table = text.parse().expect("contracts are TOML");
        let rows = table["case"].as_array().expect("a contract has rows");
        rows.iter().for_each(|row| of_row(tool.name, row, &mut seeds));
    }
    for folder in ["messy", "parquet", "parquet/odd", "sheets", "sqlite"] {
        let path = top().join("crates/recto-tables/tests").join(folder);
        let mut files: Vec<PathBuf> = fs::read_dir(path)
            .expect("the tables' tests have files")
            .map(|entry| entry.expect("the directory is readable").path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        for file in files {
            let bytes = fs::read(&file).expect("a file can be read");
            let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or("");
            let name = NAMES.iter().position(|name| name.rsplit('.').next() == Some(ending));
            let name = name.unwrap_or(NAMES.len() - 3) as u8;
            seeds.push(("document", [b"a\0\x03\x09\0b\0", bytes.as_slice()].concat()));
            seeds.push(("tables", [&[name, 0], bytes.as_slice()].concat()));
        }
    }
    seeds
}

fn of_row(tool: &str, row: &toml::Value, seeds: &mut Vec<(&'static str, Vec<u8>)>) {
    let arguments: Value = match (row.get("call"), row.get("call_json")) {
        (Some(call), _) => serde_json::to_value(call).expect("TOML can be written as JSON"),
        (None, Some(json)) => {
            let json = json.as_str().expect("JSON is written as a string");
            serde_json::from_str(json).expect("rows contain JSON")
        }
        (None, None) => return,
    };
    let files: BTreeMap<String, String> = match row.get("files") {
        Some(toml::Value::Table(files)) => files
            .iter()
            .filter_map(|(path, content)| Some((path.clone(), content.as_str()?.to_string())))
            .collect(),
        _ => BTreeMap::new(),
    };
    let scene = json!({"files": files, "calls": [{"tool": tool, "arguments": arguments}]});
    seeds.push(("tools", scene.to_string().into_bytes()));
    of_messages(tool, &arguments, seeds);

    let text = |name: &str| match &arguments[name] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let end = |index: usize| arguments["lines"][index].as_i64().unwrap_or(0);
    let content = files.values().next().cloned().unwrap_or_default();
    seeds.push(("document", format!("{}\0\x03\x05\0{content}x\0{content}", text("match")).into()));
    seeds.push(("lines", format!("{}\0{}\02\0{}\0{}", text("lines"), 9, end(0), end(1)).into()));
    let edit = match tool {
        "edit_text_file" => format!("s\0{}\0{}", text("old_string"), text("new_string")),
        "multi_edit_text_file" => {
            let edits = arguments["edits"].as_array().cloned().unwrap_or_default();
            let pair = |edit: &Value| {
                let side = |name: &str| edit[name].as_str().unwrap_or_default().to_string();
                format!("\0{}\0{}", side("old_string"), side("new_string"))
            };
            format!("s{}", edits.iter().map(pair).collect::<String>())
        }
        "text_replace" => format!("r\0{}\0{}\0{}\0{}", end(0), end(1), text("old"), text("new")),
        "text_insert" => {
            format!("i\0{}\0{}\0{}", text("line"), text("before"), text("content"))
        }
        "text_append" => format!("a\0{}", text("content")),
        _ => format!("f\0\x02\x03\0{}\0\n", content.lines().next().unwrap_or("a")),
    };
    seeds.push(("edits", format!("{content}\0{edit}").into()));
    for name in ["path", "pattern", "file_path", "glob"] {
        let pattern = text(name);
        if !pattern.is_empty() {
            let path = files.keys().next().map_or("a/b.txt", String::as_str);
            seeds.push(("git", format!("g{pattern}\0{path}").into()));
            seeds.push(("git", format!("l{pattern}\0{path}").into()));
            seeds.push(("git", format!("i{pattern}\0{path}").into()));
        }
    }
    if !text("commit").is_empty() {
        seeds.push(("git", format!("r{}", text("commit")).into()));
    }
    for (path, content) in &files {
        if path.ends_with(".gitignore") {
            seeds.push(("git", format!("i{content}\0a/b.o").into()));
        }
    }
}

/// Adds a call as a client sends it, and as an agent reports it to an editor.
fn of_messages(tool: &str, arguments: &Value, seeds: &mut Vec<(&'static str, Vec<u8>)>) {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    seeds.push(("mcp", format!("\u{7f}\u{10}{request}\n").into()));
    let update_message = |update: Value| {
        let params = json!({"sessionId": "s", "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
    };
    let raw = json!({"server": "recto", "tool": tool, "arguments": arguments});
    let begun =
        update_message(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "rawInput": raw,
        "title": format!("mcp.recto.{tool}"), "status": "in_progress"}));
    let ours = json!({"sessionUpdate": "tool_call", "toolCallId": "recto-call-1", "name": tool,
        "title": "t", "kind": "read", "status": "pending", "rawInput": arguments});
    let ended = update_message(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}),
    );
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission",
        "params": {"sessionId": "s", "options": [], "toolCall": {"toolCallId": "1"}}});
    seeds.push(("acp", format!("a{begun}\na{asked}\nr{ours}\na{ended}\n").into()));
}
