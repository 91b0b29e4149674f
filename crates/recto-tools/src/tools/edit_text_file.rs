//! `edit_text_file`: replaces one exact string.

use crate::error::Result;
use recto_text::plan::{self, Replacement};
use serde_json::{Value, json};

use super::edit::{ABSOLUTE_PATH, DRY_RUN, EXPECTED_HASH, Target, edit};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "edit_text_file",
    title: "Edit file",
    toolset: Toolset::Edit,
    description: "Replace one exact string in a text file. old_string must match exactly one \
        place; add surrounding lines to make it unique. Returns the diff. For several \
        edits use multi_edit_text_file.",
    params: &[
        ABSOLUTE_PATH,
        Param::required("old_string", ParamKind::Text, "Exact text, without line numbers"),
        Param::required("new_string", ParamKind::Text, "Replacement; \"\" deletes"),
        EXPECTED_HASH,
        DRY_RUN,
    ],
    output,
    run: Run::Changes(run),
};

struct Request {
    target: Target,
    replacement: Replacement,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse(env, &mut arguments)?;
    let (old, new) = (arguments.string("old_string"), arguments.string("new_string"));
    Ok(Request { target, replacement: Replacement::parse(old, new)? })
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, replacement } = request(env, arguments)?;
    let place = Where::Strings(vec![replacement.needle()]);
    let edited =
        edit(env, &target, place, |part| plan::string(part, &replacement), |_, error| error)?;
    let lines = edited.plan.line_ranges[0];
    let structured = json!({
        "success": true,
        "line_range": {"start": lines.start, "end": lines.end},
    });
    Ok(report::edited(&target, &edited, structured, "1 edit"))
}

fn output() -> Value {
    report::schema(json!({
        "line_range": {
            "type": "object",
            "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
            "required": ["start", "end"],
        },
    }))
}
