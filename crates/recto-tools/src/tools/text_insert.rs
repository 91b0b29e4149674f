//! `text_insert`: inserts lines before a line whose text the caller names.

use crate::error::{Error, Result};
use recto_text::plan::anchored::{self, FileText};

use super::edit::{HASH, PATH, Target, edit};
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

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, line, anchor, content } = request(env, arguments)?;
    let path = target.path.as_str();
    let edited = edit(
        env,
        &target,
        Where::Line(line),
        |part| anchored::insert(FileText { path, part }, line, &anchor, &content),
        |_, error| error,
    )?;
    let mut answer = report::verified(&edited, "lines inserted");
    answer.structured.insert("match".into(), edited.plan.kind.as_str().into());
    Ok(answer)
}
