//! `text_append`: adds text after the last line.

use crate::error::{Error, Result};
use recto_text::diff::ChangedLines;
use recto_text::line;
use recto_text::plan::{Plan, TextPart, anchored};
use serde_json::{Map, Value};

use super::edit::{EditRequest, HASH, PATH, Target, edit};
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

impl EditRequest for Request {
    fn place(&self) -> Where<'_> {
        Where::End
    }

    fn plan(&self, _: &WriteEnv<'_>, part: TextPart<'_>) -> Result<Plan> {
        Ok(anchored::append(part, &self.content))
    }

    /// The caller names no text; the last line should be the one that was read.
    fn retry(
        &self,
        _: &WriteEnv<'_>,
        part: TextPart<'_>,
        changes: Option<&[ChangedLines]>,
    ) -> Option<Map<String, Value>> {
        let n_lines = line::count(part.text);
        let is_last = |change: &ChangedLines| change.lines.end >= n_lines;
        changes.filter(|changes| !changes.iter().any(is_last)).map(|_| Map::new())
    }
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let edited = edit(env, &request.target, &request)?;
    Ok(report::verified(&edited, "text appended"))
}
