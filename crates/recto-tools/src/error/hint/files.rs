//! Hints about files that do not exist, or that must be read before they are overwritten.

use recto_store::Nearby;
use recto_store::error::Error as StoreError;
use recto_text::Digest;
use recto_text::line::LineRange;
use recto_text::quote::{Differing, Quoted};
use serde_json::{Map, Value};

use super::super::{ChangedText, Error};
use super::{Hint, NextCall, everything_below, store_hint};
use crate::served::Served;

const NO_HOME: &str = "~ is not expanded; send the absolute path. ";

/// Returns the hint for a path that does not exist.
pub fn missing_hint(error: &Error, served: &Served) -> Option<Hint> {
    let hint = match error {
        Error::Missing { path, argument, nearby } => {
            let home = if path.starts_with('~') { NO_HOME } else { "" };
            return nearby_hint(home, argument, nearby, served);
        }
        Error::NotAbsolute { path, argument, nearby } => {
            let is_home = path.starts_with('~');
            let advice = if is_home { NO_HOME } else { "Pass an absolute path. " };
            return nearby_hint(advice, argument, nearby, served);
        }
        Error::MissingAt { path, argument, nearby, .. } if !nearby.files.is_empty() => {
            return nearby_hint("", argument, nearby, served);
        }
        Error::MissingParent { parent } => match served.name("file_create") {
            Some(tool) => Hint {
                text: format!(
                    "A parent directory does not exist; {tool} creates it with the file."
                ),
                next: Some(NextCall { tool: Some("file_create"), arguments: Map::new() }),
            },
            None => {
                return store_hint(&StoreError::ParentNotFound { parent: parent.clone() }, served);
            }
        },
        Error::NothingToOverwrite { nearby, .. } => {
            let meant = nearby.files.first();
            let meant = meant.map(|file| format!(" Or did you mean {}?", Quoted(file)));
            let text =
                format!("To create the file, omit expected_hash.{}", meant.unwrap_or_default());
            let arguments = Map::from_iter([("expected_hash".to_string(), Value::Null)]);
            Hint { text, next: Some(NextCall { tool: None, arguments }) }
        }
        Error::MissingAt { .. } => not_in_revision_hint(served),
        _ => return None,
    };
    Some(hint)
}

/// Returns the hint for a file that must be read before it is overwritten.
pub fn unseen_hint(
    path: &str,
    seen: Digest,
    changed: Option<&ChangedText>,
    served: &Served,
) -> Hint {
    let mut text = "Nothing was written.".to_string();
    if let Some(ChangedText { ranges, lines }) = changed {
        let ranges: Vec<String> = ranges.iter().map(LineRange::to_string).collect();
        text.push_str(&format!(" Changed since then: {}.", ranges.join(", ")));
        for (line, content) in lines {
            text.push_str(&format!("\n{line}: {}", Differing(content, "")));
        }
        text.push('\n');
    } else {
        text.push(' ');
    }
    let (tool, name) = match (changed, served.name("text_read"), served.name("read_text_file")) {
        (Some(_), Some(_), _) | (None, Some(_), None) => ("text_read", "path"),
        (_, _, Some(_)) => ("read_text_file", "path"),
        _ => ("ReadLines", "file_path"),
    };
    let Some(published) = served.name(tool) else {
        return format!("{text}Read the file before overwriting it.").into();
    };
    let mut arguments = Map::from_iter([(name.to_string(), path.into())]);
    let mut since = String::new();
    if tool == "text_read" {
        since = format!(" and since {seen}");
        arguments.insert("since".into(), seen.to_string().into());
    }
    let text = format!("{text}Read it with {published}{since}, then retry.");
    Hint { text, next: Some(NextCall { tool: Some(tool), arguments }) }
}

/// Returns the hint for a file that is to be overwritten without a session.
pub fn unversioned_hint(path: &str, served: &Served) -> Hint {
    let text =
        "Nothing was written. Without a session, recto does not know which version you read.";
    let tools = [("read_text_file", "path"), ("text_read", "path"), ("ReadLines", "file_path")];
    let found = tools.into_iter().find_map(|(tool, name)| Some((tool, name, served.name(tool)?)));
    let Some((tool, name, published)) = found else {
        return format!("{text} Retry with the hash of that version as expected_hash.").into();
    };
    let text =
        format!("{text} Read it with {published}, then retry with its hash as expected_hash.");
    let arguments = Map::from_iter([(name.to_string(), path.into())]);
    Hint { text, next: Some(NextCall { tool: Some(tool), arguments }) }
}

pub fn not_in_revision_hint(served: &Served) -> Hint {
    let list = served.name("ListFiles");
    let list = list.map(|tool| format!("; {tool} with the same commit lists the files"));
    let list = list.unwrap_or_default();
    format!("With commit, relative paths start at the repository root{list}.").into()
}

/// Returns the hint for a path that does not exist, after other advice.
fn nearby_hint(advice: &str, argument: &str, nearby: &Nearby, served: &Served) -> Option<Hint> {
    if let [meant, others @ ..] = nearby.files.as_slice() {
        let others: Vec<String> = others.iter().map(|file| Quoted(file).to_string()).collect();
        let or = match others.as_slice() {
            [] => String::new(),
            others => format!(" Or {}?", others.join(" or ")),
        };
        let text = format!("{advice}Did you mean {}?{or}", Quoted(meant));
        let arguments = Map::from_iter([(argument.to_string(), meant.as_str().into())]);
        return Some(Hint { text, next: Some(NextCall { tool: None, arguments }) });
    }
    let Some(folder) = &nearby.folder else {
        return (!advice.is_empty()).then(|| advice.trim_end().into());
    };
    let exists = format!("{advice}The deepest directory that exists is {}", Quoted(folder));
    let Some(tool) = served.name("ListFiles") else { return Some(format!("{exists}.").into()) };
    let pattern = everything_below(folder);
    let shown = Quoted(&pattern);
    let text = format!("{exists}; {tool} with pattern {shown} lists its files.");
    let arguments = Map::from_iter([("pattern".to_string(), pattern.into())]);
    Some(Hint { text, next: Some(NextCall { tool: Some("ListFiles"), arguments }) })
}

/// Returns the hint for several rejected files: that of the first, then the other errors with theirs.
pub fn several_files_hint(failures: &[Error], served: &Served) -> String {
    let of = |error: &Error| {
        let hint = error.hint(served).map(|hint| hint.text).unwrap_or_default();
        let starts = ["Nothing was changed. ", "Nothing was written. "];
        starts.iter().fold(hint, |hint, start| hint.trim_start_matches(start).to_string())
    };
    let mut hint = format!("Nothing was changed; {} problems. ", failures.len());
    hint.push_str(&of(&failures[0]));
    for failure in &failures[1..] {
        hint.push_str(&format!("\nAlso: {failure}"));
        let advice = of(failure);
        if !advice.is_empty() {
            hint.push_str(&format!("\n{advice}"));
        }
    }
    hint
}

/// Returns the hint for an error about one of several files.
pub fn in_file_hint(source: &Error, served: &Served) -> String {
    let hint = source.hint(served).map(|hint| hint.text).unwrap_or_default();
    match hint.starts_with("Nothing") {
        true => hint,
        false => format!("Nothing was changed. {hint}"),
    }
}
