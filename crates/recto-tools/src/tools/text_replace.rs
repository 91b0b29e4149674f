//! `text_replace`: replaces whole lines whose position and text the caller names.

use crate::error::Result;
use recto_text::line_range::Interval;
use recto_text::plan::anchored::{self, FileText};

use super::edit::{HASH, PATH, Target, edit};
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

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, lines, old, new } = request(env, arguments)?;
    let path = target.path.as_str();
    let edited = edit(
        env,
        &target,
        Where::Lines(lines),
        |part| anchored::replace(FileText { path, part }, lines, &old, &new),
        |_, error| error,
    )?;
    let mut answer = report::verified(&edited, "lines replaced");
    answer.structured.insert("match".into(), edited.plan.kind.as_str().into());
    Ok(answer)
}
