//! Truncates arguments and answers, so that an editor can keep thousands of them.
//!
//! Long strings are truncated first, then long lists; a marker shows how much is missing. The result
//! depends on the value only, not on the order of its members, so that equal values stay equal.

use std::io;

use serde_json::{Map, Value};

use recto_tools::tools::SUBJECTS;

/// The maximum size of a truncated value as JSON.
pub const MAX_BYTES: usize = 10 << 10;

/// Members that contain the file's path, which is not truncated.
const PATHS: &[&str] = &SUBJECTS;

/// Longer paths are truncated; no file can have one.
const MAX_PATH: usize = 4096;

/// The limits to try, in order, until the value fits.
const TRIES: &[Limits] = &[
    Limits { n_chars: 8192, n_items: usize::MAX, depth: 32 },
    Limits { n_chars: 4096, n_items: usize::MAX, depth: 32 },
    Limits { n_chars: 2048, n_items: usize::MAX, depth: 32 },
    Limits { n_chars: 1024, n_items: usize::MAX, depth: 32 },
    Limits { n_chars: 512, n_items: 256, depth: 32 },
    Limits { n_chars: 256, n_items: 128, depth: 16 },
    Limits { n_chars: 128, n_items: 64, depth: 8 },
    Limits { n_chars: 64, n_items: 32, depth: 4 },
    Limits { n_chars: 32, n_items: 8, depth: 2 },
    // This always fits: one path and one marker.
    Limits { n_chars: 32, n_items: 0, depth: 1 },
];

#[derive(Debug, Clone, Copy)]
struct Limits {
    n_chars: usize,
    n_items: usize,
    depth: usize,
}

/// Truncates an object to at most [`MAX_BYTES`] of JSON.
pub fn cut(object: &Map<String, Value>) -> Value {
    if n_bytes(object) <= MAX_BYTES {
        return Value::Object(object.clone());
    }
    let mut shown = Value::Null;
    for limits in TRIES {
        shown = cut_object(object, *limits, true);
        if n_bytes(&shown) <= MAX_BYTES {
            break;
        }
    }
    shown
}

/// Truncates a text to `n_chars` characters and appends how many are missing.
pub fn cut_text(text: &str, n_chars: usize) -> String {
    match text.char_indices().nth(n_chars) {
        None => text.to_string(),
        Some((end, _)) => {
            let n_more = text[end..].chars().count();
            let unit = if n_more == 1 { "character" } else { "characters" };
            format!("{}… (+{n_more} {unit})", &text[..end])
        }
    }
}

/// Returns the length of a value as JSON.
pub fn n_bytes(value: &impl serde::Serialize) -> usize {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).expect("JSON values can be written as JSON");
    counter.0
}

fn cut_value(value: &Value, limits: Limits) -> Value {
    match value {
        Value::String(text) => cut_text(text, limits.n_chars).into(),
        Value::Array(items) if limits.depth == 0 => mark(items.len(), "item").into(),
        Value::Object(members) if limits.depth == 0 => mark(members.len(), "member").into(),
        Value::Array(items) => {
            let deeper = Limits { depth: limits.depth - 1, ..limits };
            let n_kept = items.len().min(limits.n_items);
            let mut kept: Vec<Value> =
                items[..n_kept].iter().map(|item| cut_value(item, deeper)).collect();
            if n_kept < items.len() {
                kept.push(mark(items.len() - n_kept, "item").into());
            }
            kept.into()
        }
        Value::Object(members) => cut_object(members, limits, false),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn cut_object(members: &Map<String, Value>, limits: Limits, keeps_paths: bool) -> Value {
    let deeper = Limits { depth: limits.depth - 1, ..limits };
    let mut kept = Map::new();
    let mut n_left_out = 0;
    let mut n_members = 0;
    for (name, value) in members {
        let is_path = keeps_paths && PATHS.contains(&name.as_str());
        if is_path && kept.keys().all(|name| !PATHS.contains(&name.as_str())) && is_short(value) {
            kept.insert(name.clone(), value.clone());
        } else if n_members < limits.n_items {
            kept.insert(cut_text(name, limits.n_chars), cut_value(value, deeper));
            n_members += 1;
        } else {
            n_left_out += 1;
        }
    }
    if n_left_out > 0 {
        kept.insert("…".into(), mark(n_left_out, "member").into());
    }
    kept.into()
}

fn is_short(path: &Value) -> bool {
    matches!(path, Value::String(text) if text.len() <= MAX_PATH && n_bytes(path) <= MAX_PATH)
}

fn mark(n_more: usize, unit: &str) -> String {
    format!("… (+{n_more} {unit}{})", if n_more == 1 { "" } else { "s" })
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
