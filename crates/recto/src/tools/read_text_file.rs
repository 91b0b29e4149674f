//! `read_text_file`: a text file, whole or by lines.

use recto_text::window::{Page, Window};
use recto_text::{Digest, Error, Result};
use serde_json::{Value, json};

use super::{Answer, Arguments, Context, Effect, Kind, Param, Tool, Toolset};
use crate::path::AbsPath;

pub static TOOL: Tool = Tool {
    name: "read_text_file",
    title: "Read file",
    toolset: Toolset::Edit,
    description: "Read a text file, whole or by lines. The text is returned exactly as stored. \
        Long files are cut at a line end: go on from next_line.",
    params: &[
        Param::required("path", Kind::String, "Absolute path to the file"),
        Param::optional("line", Kind::Integer { minimum: 1 }, "First line to return, from 1"),
        Param::optional("limit", Kind::Integer { minimum: 1 }, "How many lines to return"),
    ],
    output,
    effect: Effect::Reads,
    run,
};

struct Request {
    path: AbsPath,
    window: Window,
}

fn request(context: &Context<'_>, mut arguments: Arguments) -> Result<Request> {
    let path = AbsPath::parse(arguments.string("path"))?;
    let line = arguments.integer("line").unwrap_or(1);
    let first_line = u64::try_from(line).ok().filter(|line| *line > 0);
    let limit = arguments.integer("limit").unwrap_or(i64::MAX);
    let max_lines = u64::try_from(limit).ok().filter(|limit| *limit > 0);
    let window = Window {
        first_line: first_line.ok_or(Error::InvalidLine { line })?,
        max_lines: max_lines.ok_or(Error::InvalidLimit { limit })?,
        max_bytes: context.max_read_bytes,
    };
    Ok(Request { path, window })
}

fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(context, arguments)?;
    let read = context.store.page(&request.path, request.window, context.caller)?;
    let (page, digest) = (read.page, read.digest);
    let position = position(&page, digest, context.max_read_bytes);
    let mut meta = json!({
        "total_lines": page.total_lines,
        "returned_lines": page.n_lines,
        "has_more": page.next_line().is_some(),
        "hash": digest.to_string(),
    });
    if let Some(next_line) = page.next_line() {
        meta["next_line"] = next_line.into();
    }
    if page.is_cut {
        meta["cut_line"] = page.first_line.into();
    }
    let structured = json!({"content": page.content.clone(), "_meta": meta});
    Ok(Answer::new(vec![page.content, position], structured))
}

/// One line that says what part this is and of which version.
fn position(page: &Page, digest: Digest, max_read_bytes: usize) -> String {
    let Page { first_line, n_lines, total_lines, is_cut, .. } = *page;
    let lines = |n: u64| if n == 1 { "1 line".to_string() } else { format!("{n} lines") };
    let part = if total_lines == 0 {
        "empty file".to_string()
    } else if n_lines == 0 {
        format!("no line {first_line}, the file has {}", lines(total_lines))
    } else if n_lines == total_lines && !is_cut {
        lines(total_lines)
    } else if n_lines == 1 {
        format!("line {first_line} of {total_lines}")
    } else {
        format!("lines {first_line}-{} of {total_lines}", first_line + n_lines - 1)
    };
    let next = page.next_line().map(|line| format!(", next line {line}")).unwrap_or_default();
    let cut = if is_cut {
        format!(", line {first_line} cut at {max_read_bytes} bytes (--max-read-bytes)")
    } else {
        String::new()
    };
    format!("{part}{next}{cut}, hash {digest}")
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "_meta": {
                "type": "object",
                "properties": {
                    "total_lines": {"type": "integer"},
                    "returned_lines": {"type": "integer"},
                    "has_more": {"type": "boolean"},
                    "next_line": {"type": "integer"},
                    "hash": {"type": "string"},
                    "cut_line": {"type": "integer"},
                },
                "required": ["total_lines", "returned_lines", "has_more", "hash"],
            },
        },
        "required": ["content", "_meta"],
    })
}
