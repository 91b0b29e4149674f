//! `text_insert`: inserts lines before a line whose text the caller names.

use crate::error::{Error, Result};
use recto_text::diff::ChangedLines;
use recto_text::line;
use recto_text::line_range::line_to_change;
use recto_text::plan::anchored::{self, FileText};
use recto_text::plan::{Plan, TextPart};
use serde_json::{Map, Value};

use super::edit::{EditRequest, HASH, PATH, Target, edit, moved_lines, old_count};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "text_insert",
    title: "Insert lines",
    toolset: Toolset::Text,
    description: "Insert lines before the line whose text is anchor. Returns the new hash.",
    params: &[
        PATH,
        HASH,
        Param::required(
            "line",
            ParamKind::Integer { minimum: None },
            "Line to insert before; -1 is the last",
        ),
        Param::required("anchor", ParamKind::String, "Exact text of that line"),
        Param::required("content", ParamKind::String, "Lines to insert"),
    ],
    output: report::verified_schema,
    run: Run::Changes(run),
};

struct Request {
    target: Target,
    line: i64,
    anchor: String,
    content: String,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse_verified(env, &mut arguments)?;
    let line = arguments.integer("line").expect("required arguments are checked to be there");
    let (anchor, content) = (arguments.string("anchor"), arguments.string("content"));
    if matches!(content.as_str(), "" | "\u{feff}") {
        return Err(Error::EmptyText { name: "content" });
    }
    Ok(Request { target, line, anchor, content })
}

impl Request {
    fn plan_before(&self, part: TextPart<'_>, line: i64) -> Result<Plan> {
        let source = FileText { path: self.target.path.as_str(), part };
        Ok(anchored::insert(source, line, &self.anchor, &self.content)?)
    }
}

impl EditRequest for Request {
    fn place(&self) -> Where<'_> {
        Where::Line(self.line)
    }

    fn plan(&self, _: &WriteEnv<'_>, part: TextPart<'_>) -> Result<Plan> {
        self.plan_before(part, self.line)
    }

    fn moved(&self, part: TextPart<'_>, changes: &[ChangedLines]) -> Option<Map<String, Value>> {
        let n_lines = old_count(changes, line::count(part.text));
        let line_idx = line_to_change(self.line, "", n_lines).ok()?;
        let line = moved_lines(changes, line_idx..line_idx + 1)?.start as i64 + 1;
        self.plan_before(part, line).ok()?;
        Some(Map::from_iter([("line".into(), line.into())]))
    }
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let edited = edit(env, &request.target, &request)?;
    let mut answer = report::verified(&edited, "lines inserted");
    answer.structured.insert("match".into(), edited.plan.kind.as_str().into());
    Ok(answer)
}
