//! `write_text_file`: creates or overwrites a whole file.

use std::sync::Arc;

use crate::error::{ChangedText, Error, Result};
use recto_text::diff::{OldSide, UnifiedDiff, changes, ending_style};
use recto_text::{Digest, Document};
use serde_json::{Value, json};

use super::edit::{
    ABSOLUTE_PATH, Attempt, DRY_RUN, EXPECTED_HASH, Target, changed_lines, changed_on_save,
    not_encodable,
};
use super::report::{diff_notes, with_flags};
use super::restore::{FROM_COMMIT, FROM_PATH, Source};
use super::{Answer, Arguments, FileChange, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::error::Error as StoreError;
use recto_store::{FileContent, Hold, Slot, Whole, Written};

pub static TOOL: Tool = Tool {
    name: "write_text_file",
    title: "Write file",
    toolset: Toolset::Edit,
    description: "Create a file or replace its whole content, keeping its encoding. The directory \
        must exist. To change part of it use edit_text_file.",
    params: &[
        ABSOLUTE_PATH,
        Param::optional("content", ParamKind::Text, "Whole new text"),
        FROM_COMMIT,
        FROM_PATH,
        EXPECTED_HASH,
        DRY_RUN,
    ],
    output,
    run: Run::Overwrites(run),
};

struct Request {
    target: Target,
    source: Source,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let source = Source::parse(&mut arguments, TOOL.params)?;
    Ok(Request { target: Target::parse(env, &mut arguments)?, source })
}

/// The new content.
enum NewContent {
    /// Text, to be stored in the encoding of the file.
    Text(String),
    /// The content of another version, to be stored unchanged.
    Stored(FileContent),
}

impl NewContent {
    /// Returns the content to store in place of `before`.
    fn replacing(&self, target: &Target, before: Option<&Document>) -> Result<FileContent> {
        let text = match self {
            NewContent::Text(text) => text,
            NewContent::Stored(FileContent::Text(document)) => {
                return Ok(FileContent::Text(document.clone()));
            }
            NewContent::Stored(FileContent::Binary(bytes)) => {
                return Ok(FileContent::Binary(bytes.clone()));
            }
        };
        let encoded_as = before.map_or("UTF-8", |before| before.encoding().name());
        let after = match before {
            Some(before) => before.with_text(text),
            None => Document::new(text),
        };
        let after = after.map_err(|error| not_encodable(encoded_as, &target.path, error))?;
        Ok(FileContent::Text(Arc::new(after)))
    }
}

/// The result of a write or of a dry run.
struct Outcome {
    /// The diff of a dry run, unless the file was binary.
    diff: Option<UnifiedDiff>,
    /// How the line endings change.
    endings: Option<String>,
    n_bytes: usize,
    digest: Digest,
    is_new: bool,
    is_unchanged: bool,
    written: Written,
    change: Option<FileChange>,
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { target, source } = request(env, arguments)?;
    let content = match source {
        Source::Given(text) => NewContent::Text(text),
        Source::Revision(revision) => NewContent::Stored(revision.read(env, &target.path)?),
    };
    let outcome = target.run(env, |env| {
        target.attempt(env, |store| match store.hold(&target.path, env.context)? {
            Hold::Vacant(slot) => create(env, &target, slot, &content),
            Hold::File(held) => overwrite(env, &target, held.whole()?, &content),
        })
    })?;
    Ok(report(&target, &outcome))
}

fn create<'s>(
    env: &WriteEnv<'_>,
    target: &Target,
    slot: Box<dyn Slot + '_>,
    content: &NewContent,
) -> Result<Outcome, Attempt<'s>> {
    if target.expected.is_some() {
        return Err(StoreError::FileNotFound { path: target.path.to_string() }.into());
    }
    let after = content.replacing(target, None)?;
    let (mut diff, mut written) = (None, Written::default());
    match (target.is_dry_run, &after) {
        (true, after) => {
            slot.check()?;
            let empty = Document::new("").expect("the empty text is UTF-8");
            diff = after
                .document()
                .map(|after| target.whole_diff(env, OldSide::Nothing, &empty, after));
        }
        (false, FileContent::Text(document)) => written = slot.create_text(document)?,
        (false, FileContent::Binary(bytes)) => written = slot.create_bytes(bytes)?,
    }
    let outcome = Outcome { diff, is_new: true, ..Outcome::of(env, target, None, written, after) };
    Ok(outcome)
}

fn overwrite<'s>(
    env: &WriteEnv<'_>,
    target: &Target,
    file: Whole<'s>,
    content: &NewContent,
) -> Result<Outcome, Attempt<'s>> {
    let before = file.content().document().cloned();
    let text = before.as_deref().map(Document::text);
    target.check_version(env, || Digest::of(file.content().bytes()), text)?;
    // A binary file has no encoding to keep and no diff.
    let after = content.replacing(target, before.as_deref())?;
    let is_unchanged = file.content().bytes() == after.bytes();
    if !is_unchanged && !target.is_dry_run && target.expected.is_none() {
        check_seen(env, target, file.content())?;
    }
    let (mut diff, mut written) = (None, Written::default());
    if target.is_dry_run {
        let both = before.as_deref().zip(after.document());
        diff = both.map(|(before, after)| target.whole_diff(env, OldSide::File, before, after));
    } else if !is_unchanged {
        written = file.replace_bytes(after.bytes())?;
    }
    let outcome = Outcome::of(env, target, before, written, after);
    let change = outcome.change.filter(|_| !is_unchanged);
    Ok(Outcome { diff, is_unchanged, change, ..outcome })
}

/// Describes the change if both texts have line endings, but not the same ones.
fn change_of_endings(before: &str, after: &str) -> Option<String> {
    let (before, after) = (ending_style(before)?, ending_style(after)?);
    (before != after).then(|| format!("line endings change from {before} to {after}"))
}

/// Rejects a file whose current version is not the one that the session has last seen. A file that it
/// has never seen is overwritten, but without a session none is.
fn check_seen(env: &WriteEnv<'_>, target: &Target, now: &FileContent) -> Result<()> {
    if !env.has_session {
        return Err(Error::Unversioned { path: target.path.to_string() });
    }
    let Some(seen) = env.last_seen(&target.path) else { return Ok(()) };
    if seen == Digest::of(now.bytes()) {
        return Ok(());
    }
    let (old, new) = (env.versions.get(seen.tag()), now.document());
    let changed = old.zip(new).map(|(old, new)| changed_text(old.text(), new.text()));
    Err(Error::Unseen { path: target.path.to_string(), seen, changed })
}

/// Returns the first changed lines of a text.
fn changed_text(old: &str, new: &str) -> ChangedText {
    const MAX_LINES: usize = 10;
    let lines = changes(old, new).into_iter().flat_map(|change| {
        let texts = new[change.bytes].split_inclusive('\n').map(String::from);
        change.lines.map(|idx| idx + 1).zip(texts)
    });
    ChangedText { ranges: changed_lines(old, new), lines: lines.take(MAX_LINES).collect() }
}

impl Outcome {
    /// Returns the fields that every write has: the new version and the change.
    fn of(
        env: &WriteEnv<'_>,
        target: &Target,
        before: Option<Arc<Document>>,
        mut written: Written,
        after: FileContent,
    ) -> Outcome {
        let saved = changed_on_save(env, &mut written);
        let after = saved.map_or(after, |saved| FileContent::Text(Arc::new(saved)));
        let (n_bytes, digest) = (after.bytes().len(), Digest::of(after.bytes()));
        let after = after.document().cloned();
        let both = before.as_deref().zip(after.as_deref());
        let endings =
            both.and_then(|(before, after)| change_of_endings(before.text(), after.text()));
        if let Some(after) = after.as_ref().filter(|_| !target.is_dry_run) {
            env.versions.remember(digest, after);
        }
        let path = target.path.as_path().to_path_buf();
        let change = FileChange { path, moved_from: None, before, after };
        let change = (!target.is_dry_run).then_some(change);
        let (is_new, is_unchanged) = (false, false);
        Outcome { diff: None, endings, n_bytes, digest, is_new, is_unchanged, written, change }
    }
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
    let of_what = if target.is_dry_run { " of the proposed text" } else { "" };
    let mut notes = vec![format!("{what}, {n_bytes} {unit}, hash{of_what} {digest}")];
    if is_unchanged {
        structured["unchanged"] = true.into();
    }
    if outcome.written.broke_hard_links {
        structured["hard_links_broken"] = true.into();
        notes.push("other hard links keep the old content".into());
    }
    if let Some(endings) = &outcome.endings {
        structured["notes"] = json!([endings]);
        notes.push(endings.clone());
    }
    if !target.is_dry_run {
        let head = notes.join(", ");
        let answer = Answer::new(head, structured).with_version(digest);
        return answer.with_change(outcome.change.clone());
    }
    structured["dry_run"] = true.into();
    let Some(diff) = &outcome.diff else {
        let note = "no diff, because the file is binary";
        structured["notes"] = json!([note]);
        notes.push(note.into());
        return Answer::new(dry_run_head(&notes), structured);
    };
    structured["diff"] = diff.text.as_str().into();
    if diff.is_shortened {
        structured["diff_shortened"] = true.into();
    }
    let is_repeated =
        |note: &String| outcome.endings.is_some() && diff.endings.as_ref() == Some(note);
    notes.extend(diff_notes(diff).filter(|note| !is_repeated(note)));
    Answer::new(dry_run_head(&notes), structured).with_content(diff.text.clone())
}

fn dry_run_head(notes: &[String]) -> String {
    format!("dry run, nothing written; would be {}", notes.join(", "))
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
