//! How an edit is reported: the diff, and one line about the version.

use serde_json::{Value, json};

use super::Answer;
use super::edit::{Edited, Target};

/// The answer of a tool that edits. `structured` holds what is the tool's own.
pub fn edited(target: &Target, edited: &Edited, mut structured: Value, what: &str) -> Answer {
    let digest = edited.digest;
    structured["match"] = edited.plan.kind.as_str().into();
    structured["hash"] = digest.to_string().into();
    match &edited.diff {
        Some(diff) => structured["diff"] = diff.as_str().into(),
        None => {
            structured["diff"] = "".into();
            structured["diff_omitted"] = true.into();
        }
    }
    let mut remarks = Vec::new();
    if edited.is_unchanged {
        structured["unchanged"] = true.into();
        remarks.push("unchanged: the file already has this text".to_string());
    } else if !target.is_dry_run {
        remarks.push(format!("{what} written"));
    }
    if target.is_dry_run {
        structured["dry_run"] = true.into();
        remarks.push(format!("dry run, {what} not written"));
    }
    if edited.plan.kind == recto_text::find::MatchKind::Eol {
        remarks.push("matched with other line endings".into());
    }
    if edited.diff.is_none() {
        remarks.push("the diff is too large to show".into());
    }
    if edited.written.broke_hard_links {
        structured["hard_links_broken"] = true.into();
        remarks.push("other hard links keep the old content".into());
    }
    remarks.push(format!("hash {digest}"));
    let diff = edited.diff.clone().unwrap_or_default();
    Answer::new(vec![diff, remarks.join(", ")], structured)
}

/// The output schema of a tool that edits, with what is the tool's own.
pub fn schema(own: Value) -> Value {
    let Value::Object(own) = own else { unreachable!("properties are an object") };
    let mut required = vec!["success", "diff", "match", "hash"];
    required.extend(own.keys().map(String::as_str));
    let mut schema = json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "diff": {"type": "string"},
            "match": {"type": "string"},
            "hash": {"type": "string"},
        },
        "required": required,
    });
    for (name, property) in own {
        schema["properties"][name] = property;
    }
    schema
}
