//! `read_text_file`: reads a text file or a range of its lines.

use crate::budget::Budget;
use crate::error::{Error, Result};
use recto_text::window::Window;
use serde_json::{Value, json};

use super::edit::ABSOLUTE_PATH;
use super::read::{self, Read};
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use recto_store::VersionedPage;
use recto_store::path::AbsPath;

pub static TOOL: Tool = Tool {
    name: "read_text_file",
    title: "Read file",
    toolset: Toolset::Edit,
    description: "Read exact text to copy into edits, and its hash. If the text is cut, set \
        line to next_line.",
    params: &[
        ABSOLUTE_PATH,
        Param::optional("line", ParamKind::Integer { minimum: Some(1) }, "First line, 1-based"),
        Param::optional("limit", ParamKind::Integer { minimum: Some(1) }, "Maximum lines"),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    path: AbsPath,
    window: Window,
}

fn request(env: &ReadEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let path = AbsPath::parse_beside(arguments.string("path"), env.root)?;
    let line = arguments.integer("line").unwrap_or(1);
    let first_line = u64::try_from(line).ok().filter(|line| *line > 0);
    let limit = arguments.integer("limit").unwrap_or(i64::MAX);
    let max_lines = u64::try_from(limit).ok().filter(|limit| *limit > 0);
    let first_line = first_line.ok_or(Error::InvalidLine { line })?;
    let max_lines = max_lines.ok_or(Error::InvalidLimit { limit })?;
    let max_size = Budget::content(env.delivery).left();
    Ok(Request { path, window: Window::lines(first_line, max_lines, max_size) })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let VersionedPage { page, digest } = match read::text(env, &request.path)? {
        Read::Whole(document, digest) => {
            VersionedPage { page: request.window.page(document.text()), digest }
        }
        Read::Paged(pages) => pages.page(request.window)?,
    };
    let position = read::position(env, &page, digest);
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
    let structured = json!({"content": null, "_meta": meta});
    let answer = Answer::new(position, structured).with_version(digest);
    Ok(answer.with_content_in("content", page.content))
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
