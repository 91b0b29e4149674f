//! The arguments of a call as typed in a shell, and the directory that the call needs.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use recto_store::glob::Glob;
use recto_tools::tools::{ParamKind, SUBJECTS, Tool};
use serde_json::{Map, Value};

/// Parses the words after the tool: a JSON object, `-` for one on stdin, or `key=value` pairs.
/// Relative paths in pairs are resolved against `here`; JSON is passed on as it is.
pub fn parse(tool: &Tool, words: &[String], here: &Path) -> Result<Map<String, Value>, String> {
    match words {
        [word] if word == "-" => object(&stdin()?),
        [word] if word.starts_with(['{', '[']) => object(word),
        pairs => from_pairs(tool, pairs, here),
    }
}

fn object(json: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(json) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments must be a JSON object".into()),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}

fn stdin() -> Result<String, String> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    Ok(text)
}

fn from_pairs(tool: &Tool, pairs: &[String], here: &Path) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for pair in pairs {
        let (key, text) = pair.split_once('=').ok_or_else(|| {
            format!("{pair:?} is not an argument; pass key=value pairs or one JSON object")
        })?;
        let value = match SUBJECTS.contains(&key) {
            true => text.into(),
            false => {
                value(tool, key, read_value(text).map_err(|error| format!("{key}: {error}"))?)?
            }
        };
        if arguments.insert(key.into(), value).is_some() {
            return Err(format!("{key} is given twice"));
        }
    }
    let has_commit = arguments.contains_key("commit");
    for key in SUBJECTS {
        if let Some(Value::String(text)) = arguments.get_mut(key)
            && !is_like(key, text, has_commit)
        {
            *text = absolute(key, text, here)?;
        }
    }
    Ok(arguments)
}

/// Returns a value as typed, or the content of a file for `@FILE` and of stdin for `-`.
fn read_value(text: &str) -> Result<String, String> {
    match text.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => Ok(rest.into()),
        Some(file) => fs::read_to_string(file).map_err(|error| {
            format!("cannot read {file}: {error}; write @@ for a value that starts with @")
        }),
        None if text == "-" => stdin(),
        None => Ok(text.into()),
    }
}

/// Converts a value to the declared type. The tool rejects unknown keys and values of another type.
fn value(tool: &Tool, key: &str, text: String) -> Result<Value, String> {
    match tool.params.iter().find(|param| param.name == key).map(|param| param.kind) {
        Some(ParamKind::Objects(_)) => {
            serde_json::from_str(&text).map_err(|error| format!("{key} is not valid JSON: {error}"))
        }
        Some(ParamKind::Integer { .. } | ParamKind::Boolean | ParamKind::Lines) => {
            Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
        }
        _ => Ok(Value::String(text)),
    }
}

/// Whether a pattern is an SQL LIKE pattern, which matches paths from the top of a repository.
fn is_like(key: &str, text: &str, has_commit: bool) -> bool {
    has_commit && key == "pattern" && text.contains('%')
}

/// Prepends the working directory, which has no links in it, so that `..` can be taken off its end.
fn absolute(key: &str, mut text: &str, mut here: &Path) -> Result<String, String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(text.into());
    }
    loop {
        let (first, rest) = text.split_once('/').unwrap_or((text, ""));
        match first {
            ".." => here = here.parent().unwrap_or(here),
            "." => {}
            _ => break,
        }
        text = rest;
    }
    let here = here.to_str().ok_or("the path of the working directory is not UTF-8")?;
    // Only the caller's part is a pattern.
    let is_special = |c: char| is_pattern(key, text) && r"\*?[]{}".contains(c);
    let escaped = here.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c]));
    let here: String = escaped.collect();
    Ok(if text.is_empty() { here } else { format!("{}/{text}", here.trim_end_matches('/')) })
}

fn is_pattern(key: &str, text: &str) -> bool {
    key == "pattern" || (key == "file_path" && Glob::is_glob(text))
}

/// Returns the directory to serve if no root is named: the directory of the file, or the literal
/// start of a pattern. With a pattern or a commit, it is the repository around that, because git
/// ignore rules and objects are read from there.
pub fn root(arguments: &Map<String, Value>, here: &Path) -> PathBuf {
    let subject = SUBJECTS.iter().find_map(|key| Some((*key, arguments.get(*key)?.as_str()?)));
    let (folder, is_pattern) = match subject {
        // A relative path in JSON starts at the root.
        Some((key, text)) if text.starts_with('/') => match Glob::parse(text) {
            Ok((folder, _)) if is_pattern(key, text) => (folder.into(), true),
            _ => (Path::new(text).parent().unwrap_or(Path::new("/")).to_path_buf(), false),
        },
        _ => (here.to_path_buf(), false),
    };
    let mut folder =
        folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(here).to_path_buf();
    if folder.components().any(|part| part == Component::ParentDir) {
        folder = folder.canonicalize().unwrap_or(folder);
    }
    if is_pattern || arguments.get("commit").is_some_and(|commit| !commit.is_null()) {
        let top = folder.ancestors().find(|folder| folder.join(".git").exists());
        return top.unwrap_or(&folder).to_path_buf();
    }
    folder
}
