//! The work that all servers do, and the check of their answers. A wrong answer has no time.

use std::fs;
use std::path::Path;

use recto_dev::client::text_of;
use serde_json::Value;

/// The number of lines of a page.
pub const N_LINES: usize = 20;

/// One piece of work.
pub enum Work<'a> {
    /// Reads a whole file.
    Read { path: &'a Path, content: &'a str },
    /// Reads lines from `first`, counted from 1.
    Page { path: &'a Path, first: usize, lines: &'a [String] },
    /// Reads the last lines.
    Last { path: &'a Path, n_lines_of_file: usize, lines: &'a [String] },
    /// Writes new content to a file.
    Write { path: &'a Path, content: &'a str },
    /// Replaces lines in a file, all or none.
    Edit { path: &'a Path, edits: &'a [Replaced], after: &'a str },
    /// Lists the files that end in `.rs`.
    List { folder: &'a Path, paths: &'a [String] },
}

/// A line to replace; its text occurs once in the file.
pub struct Replaced {
    /// Counted from 1.
    pub line: usize,
    pub old: String,
    pub new: String,
}

impl Work<'_> {
    /// Returns what is wrong with an answer.
    pub fn check(&self, result: &Value) -> Result<(), String> {
        match self {
            Work::Read { content, .. } => {
                let lines: Vec<_> = content.lines().collect();
                check_lines(&answer_text(result), &lines)
            }
            Work::Page { lines, .. } | Work::Last { lines, .. } => {
                check_lines(&answer_text(result), lines)
            }
            Work::Write { path, content } => check_file(path, content),
            Work::Edit { path, after, .. } => check_file(path, after),
            Work::List { paths, .. } => {
                let said = answer_text(result);
                let mut found: Vec<_> =
                    said.lines().map(str::trim).filter(|line| line.ends_with(".rs")).collect();
                found.sort_unstable();
                found.dedup();
                match found.iter().eq(paths.iter()) {
                    true => Ok(()),
                    false => Err(format!("{} paths instead of {}", found.len(), paths.len())),
                }
            }
        }
    }
}

/// Returns the text of an answer that a model reads. JSON in it is parsed, so that texts can be
/// compared.
fn answer_text(result: &Value) -> String {
    let text = text_of(result);
    let is_json = text.starts_with('{') || text.starts_with('[');
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if is_json => {
            let mut strings = String::new();
            collect(&value, &mut strings);
            strings
        }
        _ => text,
    }
}

fn collect(value: &Value, strings: &mut String) {
    match value {
        Value::String(string) => {
            strings.push_str(string);
            strings.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, strings)),
        Value::Object(values) => values.values().for_each(|value| collect(value, strings)),
        _ => {}
    }
}

/// Checks that every expected line occurs, in order and at the end of a line, because some servers
/// put a number before it, and that there is hardly more.
fn check_lines(said: &str, expected: &[impl AsRef<str>]) -> Result<(), String> {
    let mut lines = said.lines();
    let n_lines = said.lines().count();
    if n_lines > expected.len() + 10 {
        return Err(format!("{n_lines} lines instead of {}", expected.len()));
    }
    for (index, line) in expected.iter().enumerate() {
        if !lines.any(|found| found.trim_end().ends_with(line.as_ref().trim_end())) {
            return Err(format!("line {} of {} is not there", index + 1, expected.len()));
        }
    }
    Ok(())
}

fn check_file(path: &Path, expected: &str) -> Result<(), String> {
    match fs::read_to_string(path) {
        Ok(content) if content == expected => Ok(()),
        Ok(_) => Err("the file is not what it should be".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_lines_behind_numbers_and_misses_lines() {
        assert_eq!(check_lines("5|  a\n6|  b\n", &["  a", "  b"]), Ok(()));
        assert!(check_lines("5|  a\n6|  c\n", &["  a", "  b"]).is_err());
        assert!(check_lines("b\na\n", &["a", "b"]).is_err());
        assert!(check_lines(&"a\n".repeat(12), &["a"]).is_err());
    }

    #[test]
    fn looks_into_json() {
        let text = r#"{"f": {"ranges": [{"content": "a\nb\n"}]}}"#;
        let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
        assert_eq!(check_lines(&answer_text(&result), &["a", "b"]), Ok(()));
    }
}
