//! `text_read`: reads lines of a text with its version, or the changes since another version.

use std::ops::Range;

use crate::budget::{Budget, json_size};
use crate::error::Result;
use recto_text::diff::changes;
use recto_text::line::{self, LineRange};
use recto_text::line_range::Interval;
use recto_text::quote::Lines;
use recto_text::window::{Page, Window};
use recto_text::{Digest, Document, Size, Tag};
use serde_json::{Value, json};

use super::read::{self, Read};
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use recto_store::VersionedPage;
use recto_store::path::AbsPath;

pub static TOOL: Tool = Tool {
    name: "text_read",
    title: "Read lines",
    toolset: Toolset::Text,
    description: "Read text or a range of lines, with the hash that the text tools require.",
    params: &[
        Param::required("path", ParamKind::String, "Absolute or relative path"),
        Param::optional(
            "lines",
            ParamKind::Lines,
            "[start, end), 1-based: [5, 8] is lines 5-7; -1 is the last line, 0 is open: [-20, 0] \
             is the last 20",
        ),
        Param::optional("since", ParamKind::Hash, "Earlier hash: return only what changed"),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    path: AbsPath,
    lines: Option<Interval>,
    since: Option<Tag>,
}

fn request(env: &ReadEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let since = arguments.hash("since");
    let lines = arguments.lines("lines");
    let path = AbsPath::resolve("path", arguments.string("path"), env.root)?;
    Ok(Request { path, lines, since })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let lines = request.lines.unwrap_or(Interval::ALL);
    let window = |n_lines: u64| -> Result<Window> {
        let range = lines.to_read(request.path.as_str(), n_lines)?;
        let max_size = Budget::content(env.delivery).left();
        Ok(Window::lines(range.start + 1, range.end - range.start, max_size))
    };
    let is_since =
        |now| request.since.is_some_and(|since| env.is_version(&request.path, since, now));
    let (document, digest) = match read::text(env, &request.path)? {
        Read::Whole(document, digest) => (document, digest),
        Read::Paged(pages) => {
            let counted = pages.page(Window::COUNT)?;
            if is_since(counted.digest) {
                return Ok(unchanged(counted.digest, counted.page.total_lines));
            }
            let window = window(counted.page.total_lines)?;
            return Ok(report(env, &request, window, pages.page(window)?));
        }
    };
    let n_lines = line::count(document.text()) as u64;
    if is_since(digest) {
        return Ok(unchanged(digest, n_lines));
    }
    let window = window(n_lines)?;
    if let Some(since) = request.since
        && let Some(old) = env.versions.get(since)
        && let Some(answer) = changed(env, &request, window, &old, &document, digest)
    {
        return Ok(answer);
    }
    let page = window.page(document.text());
    Ok(report(env, &request, window, VersionedPage { page, digest }))
}

fn report(env: &ReadEnv<'_>, request: &Request, window: Window, read: VersionedPage) -> Answer {
    let VersionedPage { page, digest } = read;
    let Page { n_lines, total_lines, first_line, is_cut, .. } = page;
    let mut structured = json!({
        "content": null,
        "hash": digest.to_string(),
        "total_lines": total_lines,
    });
    let n_asked = window.max_lines.min(total_lines.saturating_sub(first_line - 1));
    let has_more = n_lines < n_asked;
    if request.lines.is_some() || has_more || is_cut {
        structured["start"] = first_line.into();
    }
    if has_more {
        structured["has_more"] = true.into();
        structured["next"] = (first_line + n_lines).into();
    }
    if is_cut {
        structured["cut_line"] = first_line.into();
    }
    let position = read::position(env, &page, digest);
    let answer = Answer::new(position, structured).with_version(digest);
    answer.with_content_in("content", page.content)
}

fn unchanged(digest: Digest, n_lines: u64) -> Answer {
    let structured = json!({"unchanged": true, "hash": digest.to_string(), "total_lines": n_lines});
    let head = format!("unchanged, {}, hash {digest}", Lines(n_lines));
    Answer::new(head, structured).with_version(digest)
}

/// Returns the changes since `old` that touch the window, or `None` if they exceed the size of one
/// answer.
fn changed(
    env: &ReadEnv<'_>,
    request: &Request,
    window: Window,
    old: &Document,
    new: &Document,
    digest: Digest,
) -> Option<Answer> {
    let asked = window.first_line as usize - 1..(window.first_line + window.max_lines) as usize - 1;
    let mut budget = Budget::content(env.delivery);
    let n_lines = line::count(new.text()) as u64;
    let mut text = String::new();
    let mut list = Vec::new();
    for change in changes(old.text(), new.text()) {
        // Lines that were removed touch the lines on both sides.
        let is_outside = match change.lines.is_empty() {
            true => change.lines.start < asked.start || change.lines.start > asked.end,
            false => change.lines.end <= asked.start || change.lines.start >= asked.end,
        };
        if is_outside && request.lines.is_some() {
            continue;
        }
        let content = &new.text()[change.bytes];
        let (start, end) = (change.lines.start + 1, change.lines.end + 1);
        let lines = |lines: &Range<usize>| LineRange { start: lines.start + 1, end: lines.end };
        let (was, now) = (lines(&change.old_lines), lines(&change.lines));
        let mut shown = match (change.old_lines.is_empty(), change.lines.is_empty()) {
            (true, _) => format!("added, now {now}:\n{content}"),
            (_, true) => format!("removed, formerly {was}, before what is now line {start}\n"),
            (false, false) => format!("changed, formerly {was}, now {now}:\n{content}"),
        };
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
        // `removed` lets a program reconstruct the new text from the old one.
        let n_removed = change.old_lines.len();
        let value = json!({"start": start, "end": end, "content": content, "removed": n_removed});
        if !budget.spend(Size { bytes: shown.len(), json: json_size(&value) }) {
            return None;
        }
        text.push_str(&shown);
        list.push(value);
    }
    let structured = json!({"changes": &list, "hash": digest.to_string(), "total_lines": n_lines});
    let mut head = format!("{}, hash {digest}", Lines(n_lines));
    if list.is_empty() {
        let lines = LineRange { start: asked.start + 1, end: asked.end };
        head = format!("{lines} unchanged, {head}");
    }
    Some(Answer::new(head, structured).with_version(digest).with_content(text))
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "hash": {"type": "string"},
            "total_lines": {"type": "integer"},
            "start": {"type": "integer"},
            "has_more": {"type": "boolean"},
            "next": {"type": "integer"},
            "cut_line": {"type": "integer"},
            "unchanged": {"type": "boolean"},
            "changes": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["hash", "total_lines"],
    })
}
