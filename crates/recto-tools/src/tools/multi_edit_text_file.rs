//! `multi_edit_text_file`: replaces several exact strings, all or none.

use crate::error::{Error, Result};
use recto_text::Document;
use recto_text::error::Error as TextError;
use recto_text::plan::{self, Replacement};
use serde_json::{Value, json};

use super::edit::{ABSOLUTE_PATH, DRY_RUN, EXPECTED_HASH, Target, edit};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "multi_edit_text_file",
    title: "Edit file",
    toolset: Toolset::Edit,
    description: "Replace several exact strings in one text file. Edits apply in order; \
        nothing is written unless all succeed. Returns the diff.",
    params: &[
        ABSOLUTE_PATH,
        Param::required(
            "edits",
            ParamKind::Objects(&[
                Param::required("old_string", ParamKind::Text, "Exact text; must match one place"),
                Param::required("new_string", ParamKind::Text, "Replacement; \"\" deletes"),
            ]),
            "Edits, in order",
        ),
        EXPECTED_HASH,
        DRY_RUN,
    ],
    output,
    run: Run::Changes(run),
};

struct Request {
    target: Target,
    edits: Vec<Edit>,
}

struct Edit {
    new: String,
    replacement: Replacement,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse(env, &mut arguments)?;
    let mut edits = Vec::new();
    for (index, mut edit) in arguments.objects("edits").into_iter().enumerate() {
        let (old, new) = (edit.string("old_string"), edit.string("new_string"));
        let replacement = Replacement::parse(old, new.clone())
            .map_err(|error| TextError::InEdit { index, source: Box::new(error) })?;
        edits.push(Edit { new, replacement });
    }
    if edits.is_empty() {
        return Err(Error::NoEdits);
    }
    Ok(Request { target, edits })
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, edits } = request(env, arguments)?;
    let replacements: Vec<_> = edits.iter().map(|edit| edit.replacement.clone()).collect();
    let edited = edit(
        env,
        &target,
        Where::Strings(replacements.iter().map(Replacement::needle).collect()),
        |part| plan::strings::<Error>(part, &replacements, || Ok(env.context.cancel.check()?)),
        |document, error| blame(&edits, document, error),
    )?;
    let line_ranges: Vec<_> = edited
        .plan
        .line_ranges
        .iter()
        .enumerate()
        .map(|(index, lines)| json!({"edit_index": index, "start": lines.start, "end": lines.end}))
        .collect();
    let mut structured = json!({"success": true, "applied_count": line_ranges.len()});
    report::list(&mut structured, "line_ranges", line_ranges, env.delivery);
    let n_edits = edits.len();
    let what = if n_edits == 1 { "1 edit".to_string() } else { format!("{n_edits} edits") };
    Ok(report::edited(&target, &edited, structured, &what))
}

/// Names the edit whose text the encoding cannot represent.
fn blame(edits: &[Edit], document: &Document, error: TextError) -> TextError {
    let is_refused = |edit: &Edit| document.encoding().encode(&edit.new).is_err();
    match edits.iter().position(is_refused) {
        Some(index) if matches!(error, TextError::NotEncodable { .. }) => {
            TextError::InEdit { index, source: Box::new(error) }
        }
        _ => error,
    }
}

fn output() -> Value {
    let mut schema = report::schema(json!({
        "applied_count": {"type": "integer"},
        "line_ranges": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "edit_index": {"type": "integer"},
                    "start": {"type": "integer"},
                    "end": {"type": "integer"},
                },
                "required": ["edit_index", "start", "end"],
            },
        },
    }));
    schema["properties"]["line_ranges_omitted"] = json!({"type": "integer"});
    schema
}
