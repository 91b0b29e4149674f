//! `text_replace`: replaces whole lines whose position and text the caller names.

use crate::error::Result;
use recto_text::diff::ChangedLines;
use recto_text::line;
use recto_text::line_range::Interval;
use recto_text::plan::anchored::{self, FileText};
use recto_text::plan::{Plan, TextPart};
use serde_json::{Map, Value, json};

use super::edit::{EditRequest, HASH, PATH, Target, edit, moved_lines, old_count};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "text_replace",
    title: "Replace lines",
    toolset: Toolset::Text,
    description: "Replace or delete whole lines. old must match exactly one place within \
        lines. Nothing is written unless hash, lines and old match. Returns the new hash.",
    params: &[
        PATH,
        HASH,
        Param::required("lines", ParamKind::Lines, "[start, end) containing old"),
        Param::required("old", ParamKind::String, "Current lines, exact; \"\" is one blank line"),
        Param::required("new", ParamKind::String, "Replacement lines; \"\" deletes"),
    ],
    output: report::verified_schema,
    run: Run::Changes(run),
};

struct Request {
    target: Target,
    lines: Interval,
    old: String,
    new: String,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse_verified(env, &mut arguments)?;
    let lines = arguments.lines("lines").expect("required arguments are checked to be there");
    Ok(Request { target, lines, old: arguments.string("old"), new: arguments.string("new") })
}

impl Request {
    fn plan_in(&self, part: TextPart<'_>, lines: Interval) -> Result<Plan> {
        let source = FileText { path: self.target.path.as_str(), part };
        Ok(anchored::replace(source, lines, &self.old, &self.new)?)
    }
}

impl EditRequest for Request {
    fn place(&self) -> Where<'_> {
        Where::Lines(self.lines)
    }

    fn plan(&self, _: &WriteEnv<'_>, part: TextPart<'_>) -> Result<Plan> {
        self.plan_in(part, self.lines)
    }

    fn moved(&self, part: TextPart<'_>, changes: &[ChangedLines]) -> Option<Map<String, Value>> {
        let n_lines = old_count(changes, line::count(part.text));
        let lines = moved_lines(changes, self.lines.to_change("", n_lines).ok()?)?;
        let lines = Interval { start: lines.start as i64 + 1, end: lines.end as i64 + 1 };
        self.plan_in(part, lines).ok()?;
        Some(Map::from_iter([("lines".into(), json!([lines.start, lines.end]))]))
    }
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let edited = edit(env, &request.target, &request)?;
    let mut answer = report::verified(&edited, "lines replaced");
    answer.structured.insert("match".into(), edited.plan.kind.as_str().into());
    Ok(answer)
}
