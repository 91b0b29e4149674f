//! `text.insert`: whole lines before one that the caller has seen.

use recto_text::plan::anchored::{self, Source};
use recto_text::{Error, Result};

use super::edit::{HASH, PATH, Target, edit};
use super::report;
use super::{Answer, Arguments, Context, Effect, Kind, Param, Tool, Toolset};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "text.insert",
    title: "Insert lines",
    toolset: Toolset::Text,
    description: "Insert whole lines before a line whose text is anchor. Returns the new hash.",
    params: &[
        PATH,
        HASH,
        Param::required(
            "line",
            Kind::Integer { minimum: None },
            "Insert before it; -1 is the last",
        ),
        Param::required("anchor", Kind::String, "The text of that line"),
        Param::required("content", Kind::String, "The lines to insert"),
    ],
    output: report::verified_schema,
    effect: Effect::Changes,
    run,
};

struct Request {
    target: Target,
    line: i64,
    anchor: String,
    content: String,
}

fn request(context: &Context<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse_verified(context, &mut arguments)?;
    let line = arguments.integer("line").expect("required arguments are checked to be there");
    let (anchor, content) = (arguments.string("anchor"), arguments.string("content"));
    if matches!(content.as_str(), "" | "\u{feff}") {
        return Err(Error::EmptyText { name: "content" });
    }
    Ok(Request { target, line, anchor, content })
}

fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, line, anchor, content } = request(context, arguments)?;
    let path = target.path.as_str();
    let edited = edit(
        context,
        &target,
        Where::Line(line),
        |part| anchored::insert(Source { path, part }, line, &anchor, &content),
        |_, error| error,
    )?;
    let mut answer = report::verified(&edited, "lines inserted");
    answer.structured.insert("match".into(), edited.plan.kind.as_str().into());
    Ok(answer)
}
