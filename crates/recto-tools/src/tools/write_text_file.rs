//! `write_text_file`: a whole file, created or overwritten.

use std::sync::Arc;

use recto_text::diff::OldSide;
use recto_text::edits::Edits;
use recto_text::{Digest, Document, Error, Result};
use serde_json::{Value, json};

use super::edit::{ABSOLUTE_PATH, DRY_RUN, EXPECTED_HASH, Target, stands};
use super::report::with_flags;
use super::{Answer, Arguments, Change, Context, Effect, Kind, Param, Tool, Toolset};
use recto_store::{Purpose, WriteError, Written};

pub static TOOL: Tool = Tool {
    name: "write_text_file",
    title: "Write file",
    toolset: Toolset::Edit,
    description: "Create a text file or overwrite it with new content, all or nothing. Its \
        encoding is kept. The folder must exist. To change part of a file use edit_text_file.",
    params: &[
        ABSOLUTE_PATH,
        Param::required("content", Kind::Text, "Complete new content"),
        EXPECTED_HASH,
        DRY_RUN,
    ],
    output,
    effect: Effect::Overwrites,
    run,
};

struct Request {
    target: Target,
    content: String,
}

fn request(context: &Context<'_>, mut arguments: Arguments) -> Result<Request> {
    let target = Target::parse(context, &mut arguments)?;
    Ok(Request { target, content: arguments.string("content") })
}

/// What a write did, or would do.
struct Outcome {
    diff: Option<String>,
    n_bytes: usize,
    digest: Digest,
    is_new: bool,
    is_unchanged: bool,
    written: Written,
    change: Option<Change>,
}

fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, content } = request(context, arguments)?;
    let outcome = target.attempt(|| write(context, &target, &content))?;
    Ok(report(&target, &outcome))
}

fn write(context: &Context<'_>, target: &Target, content: &str) -> Result<Outcome, WriteError> {
    let mut held = context.store.hold(&target.path, Purpose::Change, context.caller)?;
    let stored = held.read()?;
    let new = Document::new("").expect("no text is UTF-8");
    let is_new = stored.is_none();
    let mut is_binary = false;
    let (before_bytes, before) = match stored {
        None if target.expected.is_some() => {
            return Err(Error::FileNotFound { path: target.path.to_string() }.into());
        }
        None => (Vec::new(), new),
        Some(bytes) => {
            let parsed = Document::parse(bytes.clone());
            let text = parsed.as_ref().ok().map(Document::text);
            target.check_version(context, Digest::of(&bytes), text)?;
            is_binary = parsed.is_err();
            // What is not text has no encoding to keep, and no diff.
            (bytes, parsed.unwrap_or(new))
        }
    };
    let after = before.with_text(content).map_err(|error| target.not_encodable(&before, error))?;
    let is_unchanged = !is_new && before_bytes == after.bytes();
    if is_new && target.is_dry_run {
        held.check_creatable()?;
    }
    let mut written = Written::default();
    let mut diff = None;
    if target.is_dry_run && !is_binary {
        let edits = Edits::whole(before.text(), after.text());
        let old_side = if is_new { OldSide::Nothing } else { OldSide::File };
        diff = target.diff(old_side, before.text(), after.text(), &edits);
    } else if target.is_dry_run {
        // Nothing to show, nothing to write.
    } else if is_new {
        written = held.create(after.bytes())?;
    } else if !is_unchanged {
        written = held.replace(&before_bytes, after.bytes())?;
    }
    let after = Arc::new(stands(context, &mut written, after));
    let (n_bytes, digest) = (after.bytes().len(), after.digest());
    if !target.is_dry_run {
        context.versions.remember(digest, &after);
    }
    let change = (!is_unchanged && !target.is_dry_run).then(|| Change {
        path: target.path.as_path().to_path_buf(),
        before: (!is_new && !is_binary).then(|| Arc::new(before)),
        after: Some(after),
    });
    Ok(Outcome { diff, n_bytes, digest, is_new, is_unchanged, written, change })
}

fn report(target: &Target, outcome: &Outcome) -> Answer {
    let &Outcome { n_bytes, digest, is_new, is_unchanged, .. } = outcome;
    let mut structured = json!({
        "success": true,
        "bytes_written": n_bytes,
        "created": is_new,
        "hash": digest.to_string(),
    });
    let what = match (is_new, is_unchanged) {
        (true, _) => "created",
        (false, true) => "unchanged: the file already has this content",
        (false, false) => "overwritten",
    };
    let unit = if n_bytes == 1 { "byte" } else { "bytes" };
    let mut remarks = vec![format!("{what}, {n_bytes} {unit}, hash {digest}")];
    if is_unchanged {
        structured["unchanged"] = true.into();
    }
    if outcome.written.broke_hard_links {
        structured["hard_links_broken"] = true.into();
        remarks.push("other hard links keep the old content".into());
    }
    if !target.is_dry_run {
        let text = vec![remarks.join(", ")];
        return Answer::new(text, structured).with_change(outcome.change.clone());
    }
    structured["dry_run"] = true.into();
    match &outcome.diff {
        Some(diff) => structured["diff"] = diff.as_str().into(),
        None => structured["diff_omitted"] = true.into(),
    }
    let diff = outcome.diff.clone().unwrap_or_else(|| "there is no diff to show".into());
    Answer::new(
        vec![diff, format!("dry run, nothing written; would be {}", remarks.join(", "))],
        structured,
    )
}

fn output() -> Value {
    with_flags(json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "bytes_written": {"type": "integer"},
            "created": {"type": "boolean"},
            "hash": {"type": "string"},
            "diff": {"type": "string"},
        },
        "required": ["success", "bytes_written", "created", "hash"],
    }))
}
