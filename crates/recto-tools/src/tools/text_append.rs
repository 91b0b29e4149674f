//! `text.append`: text after the last line.

use recto_text::plan::anchored;
use recto_text::{Error, Result};

use super::edit::{HASH, PATH, Target, edit};
use super::report;
use super::{Answer, Arguments, Context, Effect, Kind, Param, Tool, Toolset};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "text.append",
    title: "Append text",
    toolset: Toolset::Text,
    description: "Add text after the last line, on a line of its own. Returns the new hash.",
    params: &[PATH, HASH, Param::required("content", Kind::Text, "The text to add")],
    output: report::verified_schema,
    effect: Effect::Changes,
    run,
};

struct Request {
    target: Target,
    content: String,
}

fn request(context: &Context<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse_verified(context, &mut arguments)?;
    let content = arguments.string("content");
    if content.is_empty() {
        return Err(Error::EmptyText { name: "content" });
    }
    Ok(Request { target, content })
}

fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, content } = request(context, arguments)?;
    let edited = edit(
        context,
        &target,
        Where::End,
        |part| Ok(anchored::append(part, &content)),
        |_, error| error,
    )?;
    Ok(report::verified(&edited, "text appended"))
}
