//! `edit_text_file`: replaces one exact string.

use crate::delivery::Delivery;
use crate::error::Result;
use recto_text::error::Error as TextError;
use recto_text::line::LineRange;
use recto_text::plan::{self, Found, Plan, Replacement, TextPart};
use recto_text::quote::LineNumbers;
use serde_json::{Value, json};

use super::edit::{ABSOLUTE_PATH, DRY_RUN, EXPECTED_HASH, EditRequest, Target, edit};
use super::report;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::Where;

/// How many ranges of lines an answer lists.
const MAX_RANGES: usize = 80;

pub const REPLACE_ALL: Param =
    Param::optional("replace_all", ParamKind::Boolean, "Replace every match");

pub const WHOLE_WORD: Param =
    Param::optional("whole_word", ParamKind::Boolean, "Only whole identifiers");

pub static TOOL: Tool = Tool {
    name: "edit_text_file",
    title: "Edit file",
    toolset: Toolset::Edit,
    description: "Replace an exact string in a text file. It must match one place, unless \
        replace_all is set. For several edits use multi_edit_text_file.",
    params: &[
        ABSOLUTE_PATH,
        Param::required("old_string", ParamKind::Text, "Exact text, without line numbers"),
        Param::required("new_string", ParamKind::Text, "Replacement; \"\" deletes"),
        REPLACE_ALL,
        WHOLE_WORD,
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
    Ok(Request { target, replacement: replacement(&mut arguments)? })
}

/// Parses what an edit replaces.
pub fn replacement(arguments: &mut Arguments) -> Result<Replacement, TextError> {
    let (old, new) = (arguments.string("old_string"), arguments.string("new_string"));
    let replacement = Replacement::parse(old, new)?;
    let replacement = replacement.everywhere(arguments.boolean("replace_all"));
    Ok(replacement.whole_words(arguments.boolean("whole_word")))
}

impl EditRequest for Request {
    fn place(&self) -> Where<'_> {
        Where::Strings(std::slice::from_ref(&self.replacement))
    }

    fn plan(&self, env: &WriteEnv<'_>, part: TextPart<'_>) -> Result<Plan> {
        plan::string(part, &self.replacement, |growth| self.target.may_grow(env, growth))
    }
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    let edited = edit(env, &request.target, &request)?;
    let found = &edited.plan.found[0];
    let LineRange { start, end } = found.hull();
    let mut structured = json!({"success": true, "line_range": {"start": start, "end": end}});
    let mut what = "1 edit".to_string();
    if request.replacement.replaces_all() {
        add_places(&mut structured, found, env.delivery);
        what = shown_places(found, env.delivery);
    }
    Ok(report::edited(&request.target, &edited, structured, &what))
}

/// Adds the places of an edit that replaces all of them to its object, with the lines in the form that
/// ReadLines takes.
pub fn add_places(structured: &mut Value, found: &Found, delivery: Delivery) {
    let (lines, n_omitted) = first_lines(found, delivery);
    structured["replacements"] = found.n_places.into();
    let shown = LineNumbers(lines).to_string();
    structured["lines"] = shown.trim_start_matches(char::is_alphabetic).replace(' ', "").into();
    if n_omitted > 0 {
        structured["lines_omitted"] = n_omitted.into();
    }
}

/// Describes the places of an edit that replaces all of them.
fn shown_places(found: &Found, delivery: Delivery) -> String {
    let (lines, n_omitted) = first_lines(found, delivery);
    let replacements = if found.n_places == 1 { "replacement" } else { "replacements" };
    let more = if n_omitted > 0 { format!(" and {n_omitted} more") } else { String::new() };
    format!("{} {replacements} in {}{more}", found.n_places, LineNumbers(lines))
}

/// Returns the first lines of an edit, and the number of ranges that were left out.
fn first_lines(found: &Found, delivery: Delivery) -> (&[LineRange], usize) {
    let mut n_left = delivery.max_bytes / 8;
    let fits = |range: &&LineRange| {
        let left = n_left.checked_sub(range_bytes(range));
        left.inspect(|left| n_left = *left).is_some()
    };
    let n_shown = found.lines.iter().take(MAX_RANGES).take_while(fits).count();
    (&found.lines[..n_shown], found.lines.len() - n_shown)
}

/// Returns the bytes of a range in a list such as `3, 5-9`.
fn range_bytes(LineRange { start, end }: &LineRange) -> usize {
    format!("{start}-{end}, ").len()
}

/// Returns the bytes of an object that [`add_places`] adds to it at most.
pub fn places_bytes(found: &Found) -> usize {
    const FIELDS: usize = r#""replacements":123456,"lines":"","lines_omitted":123456,"#.len();
    FIELDS + found.lines.iter().take(MAX_RANGES).map(range_bytes).sum::<usize>()
}

fn output() -> Value {
    let mut schema = report::schema(json!({
        "line_range": {
            "type": "object",
            "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
            "required": ["start", "end"],
        },
    }));
    add_places_schema(&mut schema);
    schema
}

/// Adds the members that an edit which replaces all places has.
pub fn add_places_schema(schema: &mut Value) {
    schema["properties"]["replacements"] = json!({"type": "integer"});
    schema["properties"]["lines"] = json!({"type": "string"});
    schema["properties"]["lines_omitted"] = json!({"type": "integer"});
}
