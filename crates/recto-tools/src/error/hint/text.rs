//! Hints after a text error: an edit that matches no place, several places, or another place.

use recto_text::error::{Error as TextError, NamedAs, Occurrence, Whereabouts};
use recto_text::line_spec;
use recto_text::nearest::Meant;
use recto_text::quote::{Differing, is_same_but_whitespace, unseen_difference};
use serde_json::json;

use super::Hint;
use crate::served::Served;

/// Returns the next step after `error`, if there is one.
pub fn hint(error: &TextError, served: &Served) -> Option<Hint> {
    let advice: Hint = match error {
        TextError::EmptyOldString | TextError::IdenticalStrings => return None,
        TextError::EmptyRange { meant: (start, end), .. } => {
            Hint::again("Did you mean {}?", "lines", json!([start, end]))
        }
        TextError::BadLineSpec { lines } => {
            let grammar = format!("Valid forms: {}.", line_spec::GRAMMAR);
            match line_spec::reversed(lines) {
                Some(meant) => Hint::again(
                    &format!("The range is reversed; did you mean {{}}? {grammar}"),
                    "lines",
                    meant.into(),
                ),
                None => grammar.into(),
            }
        }
        TextError::StringNotFound { nearest: Some(nearest), .. } => nearest.to_string().into(),
        TextError::StringNotFound { nearest: None, .. } => {
            "The file contains no similar text. Read it and copy the text exactly.".into()
        }
        TextError::AmbiguousString { places, n_matches, n_lines, .. } => {
            ambiguous_hint(places, *n_matches, *n_lines)
        }
        TextError::TooManyToReplace { .. } => "Nothing was changed. Use a longer old_string that matches fewer places, or change the file with a program.".into(),
        TextError::TooMuchAtOnce { .. } => "Nothing was changed. replace_all inserts the new text at every place, and later edits also match it there. Insert less, or use several calls.".into(),
        TextError::TooFarApart { .. } => "In a file this large, all strings of one call must be within 16 MiB of each other, and with replace_all all occurrences; split the edits into separate calls, each for one place.".into(),
        TextError::ConflictingEdits { prior_index, .. } => {
            format!("Edit {prior_index} already changed that text. Nothing was written; merge the two edits into one.").into()
        }
        TextError::InEdit { source, .. } => match hint(source, served) {
            Some(hint) => format!("Nothing was written. {hint}").into(),
            None => "Nothing was written.".into(),
        },
        TextError::Several { failures, n_failed, n_untried } => {
            several_hint(failures, *n_failed, *n_untried, served).into()
        }
        TextError::TextMismatch { found, wanted, whereabouts, .. } => {
            let mut hint = whereabouts_hint(whereabouts);
            if matches!(whereabouts, Whereabouts::Near(_) | Whereabouts::PartOf { .. }) {
                // This hint already shows the difference.
                return Some(hint);
            }
            if let Some(unseen) = unseen_difference(found, wanted) {
                hint.text.insert_str(0, &format!("{unseen} "));
            }
            if is_same_but_whitespace(found, wanted) {
                hint.text.insert_str(0, "The two texts differ only in whitespace. ");
            }
            hint
        }
        TextError::TextNotInLines { whereabouts, .. } => whereabouts_hint(whereabouts),
        TextError::RangeTooShort { line, n_lines, .. } => {
            Hint::again("Retry with lines {}.", "lines", json!([line, line + n_lines]))
        }
        TextError::LinePastEnd { .. } => {
            Hint::again("For the last lines, retry with lines {}.", "lines", json!([-20, 0]))
        }
        TextError::NoSuchLine { line, n_lines, named_as, .. } => {
            line_hint(*named_as, *line, *n_lines, served)
        }
        TextError::NotEncodable { character: '\0', .. } => {
            let instead = served.name("file_create");
            let instead = instead.map(|tool| format!("; for binary data use {tool} with encoding base64"));
            let instead = instead.unwrap_or_default();
            format!("Nothing was written. Text files cannot contain NUL{instead}.").into()
        }
        TextError::NotEncodable { .. } => "Nothing was written. Use only characters that the encoding supports, or convert the file to UTF-8 first.".into(),
        TextError::NotReadable { .. } => {
            "Nothing was written. Convert the file to UTF-8 first.".into()
        }
    };
    Some(advice)
}

fn whereabouts_hint(whereabouts: &Whereabouts) -> Hint {
    match whereabouts {
        Whereabouts::Lines { starts, n_lines } => match starts.as_slice() {
            [line] => Hint::again(
                &format!("Found at line {line}; retry with lines {{}}."),
                "lines",
                json!([line, line + n_lines]),
            ),
            starts => format!("Found at lines {}.", listed(starts)).into(),
        },
        Whereabouts::Line(lines) => match lines.as_slice() {
            [line] => Hint::again("Found at line {}; retry with line {}.", "line", json!(line)),
            lines => format!("Found at lines {}.", listed(lines)).into(),
        },
        Whereabouts::PartOf { lines, line, meant } => {
            let end = match meant {
                Meant::Lines => "; this tool replaces whole lines",
                Meant::Text | Meant::Line => "",
            };
            let whole = match line {
                Some(line) => format!("the whole line: {}", Differing(line, "")),
                None if lines.start == lines.end => "the whole line.".into(),
                None => "the whole lines.".into(),
            };
            format!("{} matches only part of {lines}{end}. Copy {whole}", meant.argument()).into()
        }
        Whereabouts::SeveralLines => {
            "anchor must be one line: the text of the line to insert before.".into()
        }
        Whereabouts::Near(nearest) => nearest.to_string().into(),
        Whereabouts::Nowhere => {
            "Not found anywhere in the file. Read the lines again and copy them exactly.".into()
        }
        Whereabouts::Unknown => "Read the lines again and copy them exactly.".into(),
    }
}

/// Returns the hint for a line number beyond a file of `n_lines`.
fn line_hint(named_as: NamedAs, line: i64, n_lines: usize, served: &Served) -> Hint {
    let append = served.name("text_append");
    let or_append = |text: &str| append.as_ref().map(|tool| text.replace("{}", tool));
    match (named_as, n_lines) {
        (NamedAs::Anchor, 0) => {
            let or_append = or_append(", or use {}").unwrap_or_default();
            format!("The file is empty; insert before line 1 with anchor \"\"{or_append}.").into()
        }
        (_, 0) => {
            let append = or_append("; use {}").unwrap_or_default();
            format!("The file is empty{append}.").into()
        }
        (NamedAs::Anchor, n_lines) => {
            let append = or_append(", or use {} to add at the end").unwrap_or_default();
            format!("Valid lines are 1 to {n_lines}. Use line 1 to insert at the top{append}.")
                .into()
        }
        (NamedAs::End { start, has_text }, n_lines) if line > 0 => {
            let mut hint = Hint::again(
                &format!(
                    "The end is exclusive; use {{}} or [{start}, 0] to include the last line."
                ),
                "lines",
                json!([start, n_lines + 1]),
            );
            if !has_text {
                hint.text.push_str(" These lines do not contain old; read them again.");
                hint.next = None;
            }
            hint
        }
        (_, n_lines) => {
            format!("Valid lines are 1 to {n_lines}, or -1 (the last) to -{n_lines}.").into()
        }
    }
}

/// Returns the hint for a string that occurs in several places.
fn ambiguous_hint(places: &[Occurrence], n_matches: usize, n_lines: Option<usize>) -> Hint {
    let mut shown = String::from("Matches start at:\n");
    // A line is shown once.
    for same in places.chunk_by(|one, other| (one.line, &one.text) == (other.line, &other.text)) {
        let Occurrence { line, text, .. } = &same[0];
        let columns: Vec<String> =
            same.iter().filter_map(|place| place.column).map(|column| column.to_string()).collect();
        let columns = match &columns[..] {
            [] => String::new(),
            [column] => format!(", column {column}"),
            columns => format!(", columns {}", columns.join(", ")),
        };
        shown.push_str(&format!("line {line}{columns}: {text}\n"));
    }
    if n_matches > places.len() {
        shown.push_str(&format!("and {} more\n", n_matches - places.len()));
    }
    let mut hint = match (n_lines, places) {
        (Some(n_lines), [Occurrence { line, .. }, ..]) => Hint::again(
            "Narrow lines to one of them, e.g. {}.",
            "lines",
            json!([line, line + n_lines]),
        ),
        _ => Hint::again(
            "Include surrounding text to match only one, or set replace_all to {}.",
            "replace_all",
            true.into(),
        ),
    };
    hint.text.insert_str(0, &shown);
    hint
}

/// The size of a hint up to which further errors have a hint of their own.
const MAX_SEVERAL: usize = 4 << 10;

/// Returns the hint for several rejected edits: that of the first, then the other errors with theirs.
fn several_hint(
    failures: &[TextError],
    n_failed: usize,
    n_untried: usize,
    served: &Served,
) -> String {
    let of = |error: &TextError| hint(error, served).map(|hint| hint.text).unwrap_or_default();
    let mut hint = of(&failures[0]);
    for failure in &failures[1..] {
        let advice = match failure {
            TextError::InEdit { source, .. } => of(source),
            failure => of(failure),
        };
        let is_shown = !advice.is_empty() && hint.len() + advice.len() <= MAX_SEVERAL;
        let advice = if is_shown { format!("\n{advice}") } else { String::new() };
        hint.push_str(&format!("\nAlso: {failure}{advice}"));
    }
    if n_failed > failures.len() {
        hint.push_str(&format!("\n{} more edits failed.", n_failed - failures.len()));
    }
    if n_untried > 0 {
        hint.push_str(&format!("\nThe last {n_untried} edits were not tried."));
    }
    hint
}

fn listed(lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    lines.join(", ")
}
