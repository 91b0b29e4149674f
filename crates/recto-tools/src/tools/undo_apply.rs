//! `undo_apply`: undoes one recorded change of the session and keeps later ones.

use std::cell::OnceCell;
use std::sync::Arc;

use recto_store::path::AbsPath;
use recto_store::record::Origin;
use recto_store::{Context, Hold, Note, RemovedContent, WriteError, WriteStore};
use recto_text::diff::{OldSide, Texts, unified};
use recto_text::edits::Edits;
use recto_text::quote::Escaped;
use recto_text::{Digest, Document, Size};
use serde_json::{Value, json};

use super::edit::{DRY_RUN, MAX_ATTEMPTS, Target};
use super::report::{diff_bounds_beside, diff_notes, list};
use super::{Answer, Arguments, Env, FileChange, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use crate::budget::shortened;
use crate::error::{Error, Result};
use crate::recorded::{Obstacle, SessionChanges, UndoPlan};

pub static TOOL: Tool = Tool {
    name: "undo_apply",
    title: "Undo change",
    toolset: Toolset::Undo,
    description: "Undo one recorded change of this session. Later changes are kept; the call is \
        rejected if one overlaps. An undo is recorded and can be undone.",
    params: &[
        Param::required("change", ParamKind::Integer { minimum: Some(1) }, "From undo_list"),
        Param::optional(
            "with_dependents",
            ParamKind::Boolean,
            "Also undo later changes of this session that overlap",
        ),
        DRY_RUN,
    ],
    output,
    // It can remove a file that the session created.
    run: Run::Overwrites(run),
};

/// The bytes shown of a path.
const MAX_PATH: usize = 256;

/// Returns the recorded changes of the session.
pub fn session_changes<'a, S: ?Sized>(env: &Env<'a, S>) -> Result<Box<dyn SessionChanges + 'a>> {
    let none = |cause: &str| Error::NoChanges { cause: cause.into() };
    let changes = env.changes.ok_or_else(|| none("changes are not recorded here"))?;
    let own = changes.of_session(&env.context.origin.session);
    own.ok_or_else(|| none("this call does not belong to a known session"))
}

fn cannot_undo(change: u64, obstacle: Obstacle) -> Error {
    let Obstacle { cause, can_undo_dependents } = obstacle;
    Error::CannotUndo { change, cause, can_undo_dependents }
}

fn run(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Answer> {
    let number = arguments.integer("change").unwrap_or_default();
    let change = u64::try_from(number).ok().filter(|change| *change > 0);
    let change = change.ok_or_else(|| Error::WrongArgument {
        name: "change".into(),
        expected: "a number of 1 or more".into(),
        value: number.to_string(),
    })?;
    let with_dependents = arguments.boolean("with_dependents");
    let is_dry_run = arguments.boolean(DRY_RUN.name);
    let changes = session_changes(env)?;
    let rejected = |obstacle| cannot_undo(change, obstacle);
    let path = changes.path(change).map_err(rejected)?;
    let path = AbsPath::of(path.clone(), path.display().to_string());
    if env.store.real_path(&path, env.context).is_some_and(|real| real != path.as_path()) {
        return Err(rejected(Obstacle::new("a link now leads elsewhere")));
    }
    let target = Target::of(path, None, is_dry_run);
    // Each write has a context of its own, which lives as long as a store that asks for a restart.
    let contexts: [OnceCell<Context>; MAX_ATTEMPTS] = Default::default();
    let mut contexts = contexts.iter();
    let (before, plan) = target.attempt(env, |store| {
        let before = read(store, &target.path, env.context)?;
        let plan = changes.plan(change, before.as_deref(), with_dependents).map_err(rejected)?;
        if !is_dry_run {
            let context = contexts.next().expect("there is one for each attempt");
            let context = context.get_or_init(|| recording(env.context, &plan));
            write(store, &target.path, context, before.as_deref(), &plan)?;
        }
        Ok((before, plan))
    })?;
    Ok(report(env, &target.path, before, plan, is_dry_run))
}

/// Returns the context of a write that is recorded as this undo.
fn recording(context: &Context, plan: &UndoPlan) -> Context {
    let origin = Origin { undoes: plan.undoes.clone(), ..(*context.origin).clone() };
    Context { origin: Arc::new(origin), ..context.clone() }
}

/// Returns the content of a file as a change would find it: in an editor's buffer, or on disk.
fn read<'a>(
    store: &'a dyn WriteStore,
    path: &AbsPath,
    context: &'a Context,
) -> Result<Option<Vec<u8>>, WriteError<'a>> {
    if !store.is_file(path, context).unwrap_or(false) {
        return Ok(None);
    }
    match store.hold(path, context)? {
        Hold::Vacant(_) => Ok(None),
        Hold::File(file) => Ok(Some(file.whole()?.content().bytes().to_vec())),
    }
}

/// Writes a file, if it still has the content for which the undo was planned.
fn write<'a>(
    store: &'a dyn WriteStore,
    path: &AbsPath,
    context: &'a Context,
    before: Option<&[u8]>,
    plan: &UndoPlan,
) -> Result<(), WriteError<'a>> {
    match (before, &plan.content) {
        (None, None) => {}
        (None, Some(content)) => {
            let slot = store.hold_new(path, context)?;
            match Document::parse(content.clone()) {
                Ok(text) => slot.create_text(&text)?,
                Err(bytes) => slot.create_bytes(&bytes)?,
            };
            if plan.was_executable {
                context.notes.add(Note::NotExecutable);
            }
        }
        (Some(before), Some(content)) => {
            let Hold::File(file) = store.hold(path, context)? else {
                return Err(WriteError::Conflict);
            };
            let file = file.whole()?;
            if file.content().bytes() != before {
                return Err(WriteError::Conflict);
            }
            file.replace_bytes(content)?;
        }
        (Some(before), None) => {
            let removal = store.hold_to_remove(path, context)?;
            if !matches!(removal.content(), RemovedContent::Bytes(now) if now == before) {
                return Err(WriteError::Conflict);
            }
            removal.remove()?;
        }
    }
    Ok(())
}

fn report(
    env: &WriteEnv<'_>,
    path: &AbsPath,
    before: Option<Vec<u8>>,
    plan: UndoPlan,
    is_dry_run: bool,
) -> Answer {
    let mut undone: Vec<Value> = plan.undoes.iter().map(|(change, _)| (*change).into()).collect();
    undone.dedup();
    let is_new = before.is_none();
    let digest = plan.content.as_deref().map(Digest::of);
    let parse = |bytes: Option<Vec<u8>>| Document::parse(bytes?).ok().map(Arc::new);
    let (before, after) = (parse(before), parse(plan.content));
    let text = |document: &Option<Arc<Document>>| {
        document.as_ref().map(|document| document.text_with_bom().to_string()).unwrap_or_default()
    };
    let (old, new) = (text(&before), text(&after));
    let old_side = if is_new { OldSide::Nothing } else { OldSide::File };
    let edits = Edits::whole(&old, &new);
    let bounds = diff_bounds_beside(env.delivery, undone.len());
    let diff = unified(path.file_name(), old_side, &Texts::whole(&old, &new, &edits), bounds);
    let shown_path = shortened(path.to_string(), Size { bytes: MAX_PATH, json: MAX_PATH });
    let done = if is_dry_run { "dry run, not undone" } else { "undone" };
    let mut notes = vec![format!("{done}: {}", Escaped(&shown_path))];
    notes.extend(diff_notes(&diff));
    match digest {
        Some(digest) => notes.push(format!("hash {digest}")),
        None => notes.push("the file does not exist".into()),
    }
    let mut structured = json!({"path": shown_path});
    list(&mut structured, "undone", undone, env.delivery);
    structured["diff"] = diff.text.as_str().into();
    structured["hash"] = digest.map(|digest| digest.to_string()).into();
    let flags = [("diff_shortened", diff.is_shortened), ("dry_run", is_dry_run)];
    for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
        structured[name] = true.into();
    }
    let answer = Answer::new(notes.join(", "), structured).with_content(diff.text);
    if is_dry_run {
        return answer;
    }
    let path = path.as_path().to_path_buf();
    let seen = digest.map(|digest| (path.clone(), digest)).into_iter().collect();
    let change = FileChange { path, moved_from: None, before, after };
    Answer { seen, ..answer }.with_change(Some(change))
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "undone": {"type": "array"},
            "undone_omitted": {"type": "integer"},
            "diff": {"type": "string"},
            "diff_shortened": {"type": "boolean"},
            "dry_run": {"type": "boolean"},
            "hash": {"type": ["string", "null"]},
        },
        "required": ["path", "undone", "diff", "hash"],
    })
}
