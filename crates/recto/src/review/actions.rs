//! What a user does: keep, undo, undo the undo. Undo is that of `recto undo`.

use recto_journal::Kind;
use recto_journal::undo::{Dependents, HunkId};
use recto_journal::undo_files::{
    self, Cause, NoChange, PlanOptions, Rejection, Selection, Target, Undoer, WrittenFiles,
};
use recto_store::WriteStore;
use serde::Deserialize;
use serde_json::{Value, json};

use super::file_html;
use super::html::Html;
use super::model::Model;
use super::query;
use super::view::ItemState;

/// The name under which undos are recorded.
const CLIENT: &str = "recto review";

/// A request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// What to do.
    act: Act,
    /// The session.
    s: String,
    /// The file, percent-encoded; all files of the session if missing.
    f: Option<String>,
    /// The hunks; all of the file or session if missing.
    ids: Option<Vec<String>>,
    /// Also undo later changes that overlap.
    #[serde(default)]
    with_dependents: bool,
    /// Undo what can be undone.
    #[serde(default)]
    partial: bool,
    /// Also undo hunks that are kept.
    #[serde(default)]
    with_kept: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Act {
    Keep,
    Reopen,
    Undo,
    Redo,
}

/// Does what a request asks for. Returns what was done, or what is in the way.
pub fn act(model: &mut Model, action: &Action) -> Result<Value, String> {
    model.refresh()?;
    let is_whole = action.ids.is_none() && action.f.is_none();
    if is_whole && matches!(action.act, Act::Undo | Act::Redo) {
        let session = model.session(&action.s).ok_or("there is no such session")?;
        let name = session.name.clone().ok_or("these changes belong to no session")?;
        if action.act == Act::Undo {
            return undo(model, &Selection::Session(name), action);
        }
    }
    let hunks = match &action.ids {
        Some(ids) => {
            let parsed: Option<Vec<HunkId>> = ids.iter().map(|id| query::parse_hunk(id)).collect();
            parsed.ok_or("a hunk is written as change.hunk")?
        }
        None => selected(model, action)?,
    };
    if hunks.is_empty() {
        return Ok(json!({"n_hunks": 0, "n_files": 0}));
    }
    match action.act {
        Act::Keep | Act::Reopen => {
            model.keep(&hunks, action.act == Act::Keep)?;
            Ok(json!({"n_hunks": hunks.len()}))
        }
        Act::Undo | Act::Redo => undo(model, &Selection::Hunks(hunks), action),
    }
}

/// Returns the hunks of a file or a session that an action concerns.
fn selected(model: &Model, action: &Action) -> Result<Vec<HunkId>, String> {
    let session = model.session(&action.s).ok_or("there is no such session")?;
    let path = action.f.as_ref().map(|it| query::path(&model.root, &query::decode(it)));
    let mut hunks = Vec::new();
    for file in &session.files {
        if path.as_ref().is_some_and(|path| *path != file.path) {
            continue;
        }
        let view = model.view(file)?;
        let is_concerned = |state: ItemState| match (action.act, state) {
            (Act::Keep | Act::Undo, ItemState::Open) => true,
            (Act::Undo, ItemState::Kept) => action.with_kept,
            (Act::Reopen, ItemState::Kept) | (Act::Redo, ItemState::Undone) => true,
            _ => false,
        };
        let items = view.items.into_iter().filter(|item| is_concerned(item.state));
        hunks.extend(items.flat_map(|item| item.hunks));
        if matches!(action.act, Act::Keep | Act::Undo) {
            let conflicts = view.conflicts.iter().filter(|it| action.with_kept || !it.is_kept);
            hunks.extend(conflicts.map(|conflict| conflict.rejected.hunk));
        }
    }
    Ok(hunks)
}

fn undo(model: &mut Model, what: &Selection, action: &Action) -> Result<Value, String> {
    let failed = |error: recto_journal::Error| error.to_string();
    model.store.recover();
    let reader = model.reader()?;
    let last = model.last_id();
    let is_session = matches!(what, Selection::Session(_));
    let select = || -> Result<Vec<Target>, String> {
        let targets = undo_files::select(reader, what).map_err(failed)?;
        targets.map_err(|NoChange(id)| format!("there is no change {id}"))
    };
    let client = (CLIENT.to_string(), env!("CARGO_PKG_VERSION").to_string());
    let undoer = Undoer { reader, store: &model.store, root: &model.root, client };
    let options = PlanOptions {
        // Not the rest of the later change, which the dialog does not show.
        dependents: match action.with_dependents {
            true => Dependents::UndoHunks,
            false => Dependents::Reject,
        },
        is_partial: action.partial,
        // Another page may have redone it.
        skips_undone: action.ids.is_none() || action.act == Act::Redo,
        skips_kept: is_session && !action.with_kept,
    };
    let (mut plans, mut rejections) = (Vec::new(), Vec::new());
    for target in select()? {
        let (plan, rejected) = undoer.plan(target, options).map_err(failed)?;
        plans.extend(plan);
        // The page shows the part of a session below the directory.
        let is_shown = |it: &Rejection| !is_session || !matches!(it.cause, Cause::Outside);
        rejections.extend(rejected.into_iter().filter(is_shown));
    }
    let mut html = Html::default();
    for rejection in &rejections {
        html.raw("<h2><bdi>").text(model.shown(&rejection.path).display()).raw("</bdi></h2>");
        match &rejection.cause {
            Cause::Hunk(rejected) => file_html::conflict(&mut html, model, rejected),
            Cause::Outside => {
                html.raw("<p class=\"note\">The file is outside the reviewed directory.</p>");
            }
            Cause::File(cause) => {
                html.raw("<p class=\"note\">").text(cause).raw("</p>");
            }
        }
    }
    if !rejections.is_empty() && (!action.partial || plans.is_empty()) {
        let mut has_rest = !plans.is_empty();
        if !has_rest && !action.partial {
            // The rest may be in the files with the conflicts.
            let options = PlanOptions { is_partial: true, ..options };
            for target in select()? {
                has_rest |= undoer.plan(target, options).map_err(failed)?.0.is_some();
            }
        }
        let conflict = html.into_string();
        return Ok(
            json!({"conflict": conflict, "n_conflicts": rejections.len(), "rest": has_rest}),
        );
    }
    let WrittenFiles { written, failed } = undoer.write_all(&plans, action.partial);
    for (path, error) in &failed {
        html.raw("<h2><bdi>").text(model.shown(path).display());
        html.raw("</bdi></h2><p class=\"note\">").text(error).raw("</p>");
    }
    let hunks: Vec<String> =
        written.iter().flat_map(|plan| plan.undone()).map(query::hunk).collect();
    let (n_files, n_conflicts) = (written.len(), rejections.len() + failed.len());
    model.refresh()?;
    let mut done = json!({
        "n_hunks": hunks.len(),
        "hunks": hunks,
        "n_files": n_files,
        "undos": model.undos_since(last),
    });
    if n_conflicts > 0 {
        done["conflict"] = html.into_string().into();
        done["n_conflicts"] = n_conflicts.into();
    }
    Ok(done)
}

impl Model {
    /// Returns the parts of the undos that this page made since a change.
    fn undos_since(&self, last: u64) -> Vec<String> {
        let is_own = |client: &str| client == CLIENT;
        let mut ids: Vec<HunkId> = Vec::new();
        for change in self.changes_since(last) {
            let is_own = change.session.as_ref().is_some_and(|session| is_own(&session.client));
            if is_own && change.kind == Kind::Undo {
                let hunk = |hunk| HunkId { change: change.id, hunk };
                ids.extend((0..change.undoes.len() as u32).map(hunk));
            }
        }
        ids.sort_unstable();
        ids.iter().map(query::hunk).collect()
    }
}
