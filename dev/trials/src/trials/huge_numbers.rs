//! Extreme numbers for every integer argument of a server's tools: each call must be answered, and
//! the server must keep running.

use std::time::Duration;

use recto_dev::process::megabytes;
use recto_dev::servers::Server;
use serde_json::{Map, Value, json};

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "huge-numbers",
    rows: &[("huge and negative numbers for every integer of every tool", "all answered")],
    run,
};

fn numbers() -> Vec<Value> {
    vec![
        json!(1_000_000_000_000_000_u64),
        json!(i64::MAX),
        json!(1_u64 << 63),
        json!(u64::MAX),
        json!(-1),
        json!(-1_000_000_000_000_000_i64),
        json!(i64::MIN),
        json!(0),
        json!(1e300),
        json!(u32::MAX),
        json!("1000000000000000"),
    ]
}

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.csv");
    let text: String = (0..1000).map(|n| format!("line,{n}\n")).collect();
    let mut session = Session::open(server, folder.path())?;
    let list = session.client.request("tools/list", json!({}))?.1.result()?;
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    let mut n_calls = 0;
    for tool in &tools {
        let name = tool["name"].as_str().unwrap_or_default();
        for argument in integer_arguments(&tool["inputSchema"]) {
            for number in numbers() {
                std::fs::write(&path, &text)?;
                let mut arguments = required(&tool["inputSchema"], folder.path());
                argument.put(&mut arguments, &number);
                n_calls += 1;
                let reply = session.call(name, Value::Object(arguments));
                if let Err(error) = reply {
                    let result = format!("{error} at {name}.{} = {number}", argument.name);
                    return Ok(vec![Cell::new(false, result)]);
                }
            }
        }
    }
    let is_alive = session.client.is_alive(Duration::from_secs(5));
    let peak = megabytes(session.client.process_id(), "VmHWM")?;
    let result = format!("{n_calls} calls answered, peak {peak:.0} MB");
    Ok(vec![Cell::new(is_alive && n_calls > 0 && peak < 128.0, result)])
}

/// An integer among a tool's arguments.
struct IntegerArgument {
    name: String,
    /// Whether it is an array of two.
    is_pair: bool,
}

impl IntegerArgument {
    fn put(&self, arguments: &mut Map<String, Value>, number: &Value) {
        let value = if self.is_pair { json!([number, number]) } else { number.clone() };
        arguments.insert(self.name.clone(), value);
    }
}

/// Returns the integers on the first level of a schema. Line numbers written as text count too.
fn integer_arguments(schema: &Value) -> Vec<IntegerArgument> {
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let has_type = |schema: &Value, name: &str| {
        schema["type"] == name
            || schema["type"].as_array().is_some_and(|types| types.iter().any(|t| t == name))
    };
    let mut integer_arguments = Vec::new();
    for (name, property) in properties {
        let is_number = has_type(property, "integer") || has_type(property, "number");
        if is_number || name == "lines" {
            integer_arguments
                .push(IntegerArgument { name: name.clone(), is_pair: has_type(property, "array") });
        }
    }
    integer_arguments
}

/// Returns a valid value for each required argument of a tool.
fn required(schema: &Value, folder: &std::path::Path) -> Map<String, Value> {
    let path = folder.join("f.csv");
    let names = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sample = |name: &str| match name {
        "path" | "file_path" => json!(path),
        "paths" => json!([path]),
        "lines" => json!([1, 2]),
        "hash" => json!("0123456789ab"),
        "pattern" => json!("*"),
        "output_path" | "destination" | "target_zip_file" => json!(folder.join("made")),
        "root_path" | "source" | "input_directory" => json!(folder),
        "edits" => {
            json!([{"oldText": "line,1\n", "newText": "one\n", "old_string": "line,1\n", "new_string": "one\n"}])
        }
        _ => json!("line,1"),
    };
    let names = names.iter().filter_map(Value::as_str);
    names.map(|name| (name.to_string(), sample(name))).collect()
}
