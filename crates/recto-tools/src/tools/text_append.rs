//! `text_append`: adds text after the last line.

use crate::error::{Error, Result};
use recto_text::plan::anchored;

use super::edit::{HASH, PATH, Target, edit};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "text_append",
    title: "Append text",
    toolset: Toolset::Text,
    description: "Add text after the last line, on a new line. Returns the new hash.",
    params: &[PATH, HASH, Param::required("content", ParamKind::Text, "Text to add")],
    output: report::verified_schema,
    run: Run::Changes(run),
};

struct Request {
    target: Target,
    content: String,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse_verified(env, &mut arguments)?;
    let content = arguments.string("content");
    if content.is_empty() {
        return Err(Error::EmptyText { name: "content" });
    }
    Ok(Request { target, content })
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, content } = request(env, arguments)?;
    let edited = edit(
        env,
        &target,
        Where::End,
        |part| Ok::<_, Error>(anchored::append(part, &content)),
        |_, error| error,
    )?;
    Ok(report::verified(&edited, "text appended"))
}
