//! One file as HTML: its header, its hunks with their actions, and what is in conflict.

use std::path::Path;
use std::sync::Arc;

use recto_journal::undo::{HunkId, Reason, Rejected};
use recto_journal::undo_files::Unread;
use recto_journal::{Change, Kind};
use recto_tables::Request;
use recto_text::encoding::Encoding;

use super::diff_html;
use super::html::Html;
use super::model::{Model, ReviewedFile};
use super::nav_html::{count, state, time};
use super::query;
use super::rows::{self, Block, Row, RowKind};
use super::view::{FileConflict, FileView, Item, ItemState, Layout, ShownForm};

/// How many items are sent at once.
const PAGE: usize = 40;

/// The most rows of a table preview.
const TABLE_ROWS: usize = 10;

/// The most bytes of a table preview.
const TABLE_BYTES: usize = 4000;

/// The most lines of a text in a conflict.
const CONFLICT_LINES: usize = 40;

/// Files that are also shown as a table.
const TABLES: [&str; 10] =
    ["csv", "tsv", "parquet", "xlsx", "xlsb", "xls", "ods", "ndjson", "jsonl", "db"];

/// How a file is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileStyle {
    /// Old and new lines next to each other.
    pub is_split: bool,
    /// Without buttons, for a file that is only read.
    pub is_static: bool,
    /// Unchanged lines can be shown.
    pub opens_gaps: bool,
    /// How many items are shown; 0 for a page of them.
    pub n_items: usize,
}

/// Appends the header of a file.
pub fn header(
    html: &mut Html,
    model: &Model,
    file: &ReviewedFile,
    view: &FileView,
    style: FileStyle,
) {
    let counts = view.counts();
    html.raw("<header class=\"fh\"><h2><bdi>");
    html.text(model.shown(&file.path).display()).raw("</bdi></h2><p>");
    html.text(match (view.exists_without, view.content.is_some()) {
        (false, true) => "created",
        (true, false) => "removed",
        _ => "changed",
    });
    let moved = file.changes.iter().filter_map(|id| model.change(*id));
    if moved.into_iter().any(|change| change.kind == Kind::Move) {
        html.raw(", moved");
    }
    html.raw(" · <ins>+").text(counts.n_added).raw("</ins> <del>−").text(counts.n_removed);
    html.raw("</del> · ").text(count(file.changes.len(), "change"));
    let form = match view.form {
        ShownForm::Text(Encoding::Utf8) => None,
        ShownForm::Text(encoding) => Some(encoding.name()),
        ShownForm::Binary => Some("binary"),
        ShownForm::Large => Some("large"),
        ShownForm::Unread => Some("too large to review"),
    };
    if let Some(form) = form {
        html.raw(" · ").text(form);
    }
    html.raw(" ");
    state(html, counts.state());
    html.raw("</p>");
    if !style.is_static {
        html.raw("<div class=\"acts\">");
        let has_open = counts.n_open > 0;
        button(html, "keep", "Keep file", "A", has_open);
        button(html, "undo", "Undo file", "U", has_open || counts.n_kept > 0);
        button(html, "redo", "Undo the undo", "Z", counts.n_undone > 0);
        html.raw("</div>");
    }
    html.raw("</header>");
}

fn button(
    html: &mut Html,
    act: &'static str,
    label: &'static str,
    key: &'static str,
    is_usable: bool,
) {
    html.raw("<button type=\"button\"").attribute("data-act", act);
    html.raw(if is_usable { ">" } else { " disabled>" });
    html.raw(label).raw(" <kbd>").raw(key).raw("</kbd></button>");
}

/// Appends the items of a file, from one on.
pub fn items(
    html: &mut Html,
    model: &Model,
    view: &FileView,
    path: &Path,
    from: usize,
    style: FileStyle,
) {
    if from == 0 {
        for FileConflict { rejected, is_kept } in &view.conflicts {
            html.raw(if *is_kept {
                "<section class=\"h kept conflict\""
            } else {
                "<section class=\"h conflict\""
            });
            html.raw(" role=\"group\" tabindex=\"-1\"");
            html.attribute("data-ids", query::hunk(&rejected.hunk));
            html.attribute("aria-label", format!("conflict of change {}", rejected.hunk.change));
            html.raw("><header>");
            html.raw("<span class=\"at\">change ").text(rejected.hunk.change).raw("</span>");
            state(html, if *is_kept { "kept" } else { "conflict" });
            if !style.is_static {
                actions(html, if *is_kept { ItemState::Kept } else { ItemState::Open });
            }
            html.raw("</header>");
            conflict(html, model, rejected);
            html.raw("</section>");
        }
        table(html, view, path);
    }
    if view.form == ShownForm::Unread {
        html.raw("<p class=\"note\">").text(Unread::TooLarge).raw(".</p>");
    }
    let to = from.saturating_add(if style.n_items > 0 { style.n_items } else { PAGE });
    if !matches!(view.form, ShownForm::Text(_)) {
        for item in &view.items[from.min(view.items.len())..to.min(view.items.len())] {
            open_item(html, model, item, &[], style);
            opaque(html, view, item);
            html.raw("</section>");
        }
    }
    let mut n_items = 0;
    for block in rows::blocks(view, path) {
        let is_here = (from..to).contains(&n_items)
            || (n_items == view.items.len() && n_items.saturating_sub(1) < to && n_items > from);
        match block {
            Block::Item { index, rows } => {
                n_items += 1;
                if (from..to).contains(&index) {
                    open_item(html, model, &view.items[index], &rows, style);
                    diff_html::rows(html, &rows, style.is_split);
                    html.raw("</section>");
                }
            }
            Block::Context(rows) if is_here => diff_html::rows(html, &rows, style.is_split),
            Block::Gap { lines, shift } if is_here => gap(html, &lines, shift, style),
            _ => {}
        }
    }
    if view.items.len() > to {
        html.raw("<div class=\"more\"").attribute("data-from", to).raw(">Loading…</div>");
    }
}

fn gap(html: &mut Html, lines: &std::ops::Range<usize>, shift: isize, style: FileStyle) {
    if !style.opens_gaps {
        html.raw("<p class=\"gap\">").text(count(lines.len(), "unchanged line")).raw("</p>");
        return;
    }
    html.raw("<button type=\"button\" class=\"gap\"").attribute("data-a", lines.start);
    html.attribute("data-b", lines.end).attribute("data-d", shift).raw(">");
    html.text(count(lines.len(), "unchanged line")).raw("</button>");
}

fn open_item(html: &mut Html, model: &Model, item: &Item, rows: &[Row], style: FileStyle) {
    let ids: Vec<String> = item.hunks.iter().map(query::hunk).collect();
    html.raw("<section class=\"h ").raw(item.state.name()).raw("\" role=\"group\" tabindex=\"-1\"");
    let label = format!("{}, {}", place(rows), item.state.name());
    html.attribute("data-ids", ids.join(",")).attribute("aria-label", label);
    html.raw("><header><span class=\"at\">").text(place(rows)).raw("</span><span class=\"who\">");
    let mut changes: Vec<u64> = item.hunks.iter().map(|id| id.change).collect();
    changes.dedup();
    html.raw(if item.state == ItemState::Undone { "undone by " } else { "" });
    html.text(match changes.as_slice() {
        [0] => "not recorded".to_string(),
        [id] => format!("change {id}"),
        ids => format!("{} changes", ids.len()),
    });
    let newest = changes.first().and_then(|id| model.change(*id));
    if item.layout == Layout::Foreign {
        html.raw(" by ").text(newest.map_or("another program".into(), who));
    }
    if let Some(change) = newest {
        html.raw(", <time").attribute("data-time", change.time).raw(">");
        html.text(time(change.time)).raw("</time>");
    }
    html.raw("</span>");
    match item.state {
        ItemState::Foreign => {
            html.raw("<span class=\"st foreign\">not by this session</span>");
        }
        other => state(html, other.name()),
    }
    if !style.is_static {
        actions(html, item.state);
    }
    html.raw("</header>");
}

fn actions(html: &mut Html, state: ItemState) {
    html.raw("<span class=\"acts\">");
    match state {
        ItemState::Open => {
            button(html, "keep", "Keep", "a", true);
            button(html, "undo", "Undo", "u", true);
        }
        ItemState::Kept => {
            button(html, "reopen", "Reopen", "a", true);
            button(html, "undo", "Undo", "u", true);
        }
        ItemState::Undone => button(html, "redo", "Undo the undo", "z", true),
        ItemState::Foreign => {}
    }
    html.raw("</span>");
}

/// Returns the lines of an item, such as `lines 3–5`.
fn place(rows: &[Row]) -> String {
    let changed = |side: usize| {
        let rows = rows.iter().filter(|row| row.kind != RowKind::Same);
        rows.filter_map(move |row| row.numbers[side])
    };
    let side = if changed(1).next().is_some() { 1 } else { 0 };
    match (changed(side).min(), changed(side).max()) {
        (Some(first), Some(last)) if first == last => format!("line {first}"),
        (Some(first), Some(last)) => format!("lines {first}–{last}"),
        _ => "whole file".into(),
    }
}

/// Appends an item that is not shown as text.
fn opaque(html: &mut Html, view: &FileView, item: &Item) {
    let [old, new] = view.sides(item).map(<[u8]>::len);
    html.raw("<p class=\"note\">");
    html.text(match view.form {
        ShownForm::Large => "The file is too large to show. ",
        _ => "Binary content. ",
    });
    html.text(format!("{old} bytes became {new} bytes.")).raw("</p>");
}

/// Appends a preview of a table.
fn table(html: &mut Html, view: &FileView, path: &Path) {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let Some(content) = view.content.as_ref().filter(|_| TABLES.contains(&&*extension)) else {
        return;
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let request = Request::new(&name, TABLE_ROWS, TABLE_BYTES);
    let Ok(table) = recto_tables::preview(Arc::new(content.clone()), &request) else { return };
    html.raw("<details class=\"table\"><summary>Table as it is now</summary><div><table><tr>");
    for column in &table.columns {
        html.raw("<th>").text(&column.name).raw(" <small>").text(&column.kind).raw("</small></th>");
    }
    html.raw("</tr>");
    for row in &table.rows {
        html.raw("<tr>");
        for value in row {
            html.raw("<td>").text(cell(value)).raw("</td>");
        }
        html.raw("</tr>");
    }
    html.raw("</table></div></details>");
}

fn cell(value: &recto_tables::Value) -> String {
    match value.clone().to_json() {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Returns who made a change.
fn who(change: &Change) -> String {
    match &change.session {
        _ if change.kind == Kind::Foreign => "another program".into(),
        Some(session) if session.client.is_empty() => session.name.clone(),
        Some(session) if session.name.is_empty() => session.client.clone(),
        Some(session) => format!("{} ({})", session.client, session.name),
        None => "an unknown client".into(),
    }
}

/// Appends why a hunk cannot be undone: both texts, and who wrote the later one.
pub fn conflict(html: &mut Html, model: &Model, rejected: &Rejected) {
    let Rejected { hunk, reason } = rejected;
    let by = match reason {
        Reason::Overlapped { by } => by.as_slice(),
        _ => &[],
    };
    html.raw("<p class=\"note\">").text(match reason {
        Reason::NoSuchHunk => "There is no such hunk.".into(),
        Reason::NotRecorded => "Its content was not stored, so it cannot be undone.".into(),
        Reason::AlreadyUndone { by } => format!("Change {by} has undone it already."),
        Reason::NameTaken => "A file with this name exists again.".into(),
        Reason::Unknown { .. } => {
            "The file was changed since, and the content of that change was not stored.".into()
        }
        Reason::Overlapped { .. } => "A later change overlaps this one.".to_string(),
    });
    html.raw("</p>");
    text(html, model, *hunk, "This change");
    for id in by {
        let who = match model.change(id.change) {
            Some(change) => {
                let kept = if model.kept.contains(id) { ", kept" } else { "" };
                format!("Change {} by {}, {}{kept}", id.change, who(change), time(change.time))
            }
            None => "A change by another program".into(),
        };
        text(html, model, *id, &who);
    }
}

/// Appends what a hunk replaced.
fn text(html: &mut Html, model: &Model, id: HunkId, title: &str) {
    html.raw("<h3>").text(title).raw("</h3>");
    let hunks = model.reader().ok().and_then(|reader| reader.hunks(id.change).ok().flatten());
    let Some(hunk) = hunks.as_ref().and_then(|hunks| hunks.get(id.hunk as usize)) else {
        html.raw("<p class=\"note\">Its text is not stored.</p>");
        return;
    };
    let mut rows = Vec::new();
    for (kind, bytes) in [(RowKind::Removed, &hunk.removed), (RowKind::Added, &hunk.inserted)] {
        let text = String::from_utf8_lossy(bytes);
        let row = |line: &str| Row {
            kind,
            numbers: [None; 2],
            text: line.to_string(),
            ending: None,
            marks: Vec::new(),
            colours: Vec::new(),
        };
        rows.extend(text.lines().take(CONFLICT_LINES).map(row));
    }
    diff_html::rows(html, &rows, false);
}

/// Appends the changes of a session in a file, one by one, oldest first.
pub fn changes(
    html: &mut Html,
    model: &Model,
    file: &ReviewedFile,
    from: usize,
    style: FileStyle,
) -> Result<(), String> {
    let failed = |error: recto_journal::Error| error.to_string();
    let reader = model.reader()?;
    let content = recto_journal::undo_files::read(&model.store, &file.path);
    let content = content.map_err(|cause| cause.to_string())?;
    let steps = reader.steps(&file.path, content.as_deref()).map_err(failed)?;
    let undone = recto_journal::undo::undone(&steps);
    let decided = |id: HunkId| match undone.get(&id) {
        Some(undo) => (ItemState::Undone, vec![*undo]),
        None if model.kept.contains(&id) => (ItemState::Kept, vec![id]),
        None => (ItemState::Open, vec![id]),
    };
    let to = from.saturating_add(if style.n_items > 0 { style.n_items } else { PAGE / 2 });
    for id in file.changes.iter().skip(from).take(to - from) {
        let Some(change) = model.change(*id) else { continue };
        html.raw("<h3 class=\"change\">Change ").text(id).raw(" · ").text(change.kind.name());
        html.raw(" · <time").attribute("data-time", change.time).raw(">");
        html.text(time(change.time)).raw("</time></h3>");
        let Some(hunks) = reader.hunks(*id).map_err(failed)? else {
            html.raw("<p class=\"note\">The content of this change was not stored.</p>");
            continue;
        };
        match reader.content_after(*id).map_err(failed)? {
            Some(after) => {
                let view = FileView::of_change(change, after, &hunks, decided);
                let n_items = usize::MAX;
                let style = FileStyle { n_items, opens_gaps: false, ..style };
                items(html, model, &view, &file.path, 0, style);
            }
            None => {
                for number in 0..hunks.len() as u32 {
                    text(html, model, HunkId { change: *id, hunk: number }, "Only this is stored");
                }
            }
        }
    }
    if file.changes.len() > to {
        html.raw("<div class=\"more\"").attribute("data-from", to).raw(">Loading…</div>");
    }
    Ok(())
}
