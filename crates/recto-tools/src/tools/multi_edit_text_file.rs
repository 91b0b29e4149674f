//! `multi_edit_text_file`: replaces several exact strings, all or none.

use std::cell::OnceCell;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::limits;
use recto_text::Document;
use recto_text::error::Error as TextError;
use recto_text::line::LineRange;
use recto_text::plan::{self, Plan, Replacement, TextPart};
use serde_json::{Value, json};

use super::edit::{ABSOLUTE_PATH, DRY_RUN, EXPECTED_HASH, EditRequest, Target, edit};
use super::edit_text_file::{add_places, add_places_schema, replacement};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

pub static TOOL: Tool = Tool {
    name: "multi_edit_text_file",
    title: "Edit file",
    toolset: Toolset::Edit,
    description: "Replace several exact strings in one text file, in order; nothing is written \
        unless all match.",
    params: &[
        ABSOLUTE_PATH,
        Param::required(
            "edits",
            ParamKind::Objects(&[
                Param::required("old_string", ParamKind::Text, "Exact text"),
                Param::required("new_string", ParamKind::Text, "Replacement; \"\" deletes"),
                Param::optional("replace_all", ParamKind::Boolean, ""),
                Param::optional("whole_word", ParamKind::Boolean, ""),
            ]),
            "In order",
        ),
        EXPECTED_HASH,
        DRY_RUN,
    ],
    output,
    run: Run::Changes(run),
};

struct Request {
    target: Target,
    replacements: Vec<Replacement>,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse(env, &mut arguments)?;
    let (mut replacements, mut failures) = (Vec::new(), Vec::new());
    for (index, mut edit) in arguments.objects("edits").into_iter().enumerate() {
        match replacement(&mut edit) {
            Ok(replacement) => replacements.push(replacement),
            Err(error) => failures.push(TextError::InEdit { index, source: Box::new(error) }),
        }
    }
    if let Some(error) = TextError::several(failures, 0, 0) {
        return Err(error.into());
    }
    if replacements.is_empty() {
        return Err(Error::NoEdits);
    }
    Ok(Request { target, replacements })
}

impl EditRequest for Request {
    fn place(&self) -> Where<'_> {
        Where::Strings(&self.replacements)
    }

    fn plan(&self, env: &WriteEnv<'_>, part: TextPart<'_>) -> Result<Plan> {
        let first_failure = OnceCell::new();
        let has_time = || first_failure.get_or_init(Instant::now).elapsed() < limits::FAILURES_TIME;
        let may_grow = |growth| self.target.may_grow(env, growth);
        plan::strings(part, &self.replacements, may_grow, has_time)
    }

    fn blame(&self, document: &Document, error: TextError) -> TextError {
        in_edit(&self.replacements, document, error)
    }
}

/// Names the edit whose new text the encoding rejects.
pub fn in_edit(edits: &[Replacement], document: &Document, error: TextError) -> TextError {
    let is_rejected = |edit: &Replacement| document.encoding().encode(edit.new_text()).is_err();
    match edits.iter().position(is_rejected) {
        Some(index) if matches!(error, TextError::NotEncodable { .. }) => {
            TextError::InEdit { index, source: Box::new(error) }
        }
        _ => error,
    }
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let edited = edit(env, &request.target, &request)?;
    let Request { target, replacements } = &request;
    let found = edited.plan.found.iter().zip(replacements).enumerate();
    let line_ranges = found.map(|(index, (found, replacement))| {
        let LineRange { start, end } = found.hull();
        let mut lines = json!({"edit_index": index, "start": start, "end": end});
        if replacement.replaces_all() {
            add_places(&mut lines, found, env.delivery);
        }
        lines
    });
    let line_ranges: Vec<Value> = line_ranges.collect();
    let n_edits = replacements.len();
    let mut structured = json!({"success": true, "applied_count": n_edits});
    report::list(&mut structured, "line_ranges", line_ranges, env.delivery);
    let mut what = if n_edits == 1 { "1 edit".to_string() } else { format!("{n_edits} edits") };
    if replacements.iter().any(Replacement::replaces_all) {
        let n_places: usize = edited.plan.found.iter().map(|found| found.n_places).sum();
        what.push_str(&format!(" in {n_places} place{}", if n_places == 1 { "" } else { "s" }));
    }
    Ok(report::edited(target, &edited, structured, &what))
}

fn output() -> Value {
    let mut lines = json!({
        "type": "object",
        "properties": {
            "edit_index": {"type": "integer"},
            "start": {"type": "integer"},
            "end": {"type": "integer"},
        },
        "required": ["edit_index", "start", "end"],
    });
    add_places_schema(&mut lines);
    let mut schema = report::schema(json!({
        "applied_count": {"type": "integer"},
        "line_ranges": {"type": "array", "items": lines},
    }));
    schema["properties"]["line_ranges_omitted"] = json!({"type": "integer"});
    schema
}
