//! `text.replace`: whole lines for others, where the caller says they stand.

use crate::error::Result;
use recto_text::line_range::Interval;
use recto_text::plan::anchored::{self, FileText};

use super::edit::{HASH, PATH, Target, edit};
use super::report;
use super::{Answer, Arguments, Kind, Param, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "text.replace",
    title: "Replace lines",
    toolset: Toolset::Text,
    description: "Replace whole lines. old must stand inside lines exactly once; nothing is \
        changed unless hash, lines and old all fit the file. Returns the new hash.",
    params: &[
        PATH,
        HASH,
        Param::required("lines", Kind::Lines, "[start, end), where old stands; may be wider"),
        Param::required("old", Kind::String, "The lines that stand there; \"\" is one blank line"),
        Param::required("new", Kind::String, "The lines to put there; \"\" removes"),
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
