//! A session as one HTML file that is only read, and everything as JSON.

use recto_journal::SessionName;
use recto_journal::undo::HunkId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::file_html::{self, FileStyle};
use super::html::Html;
use super::model::{Model, ReviewedSession};
use super::nav_html::{NO_SESSION, count, link, time};
use super::view::{FileView, Item, ShownForm};
use super::{STYLE, query, rows};

/// Returns a session as one file without script and without any other file. Paths are relative.
pub fn page(model: &Model, session: &ReviewedSession) -> Result<String, String> {
    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta");
    html.attribute("http-equiv", "Content-Security-Policy");
    let hash = base64(&Sha256::digest(STYLE));
    html.attribute("content", format!("default-src 'none'; style-src 'sha256-{hash}'"));
    html.raw("><meta name=\"viewport\" content=\"width=device-width\"><title>")
        .text(&session.client);
    html.raw(" · recto review</title><style>").raw(STYLE).raw("</style></head>");
    html.raw("<body class=\"export\"><main id=\"main\"><h1>").text(&session.client).raw("</h1><p>");
    let name = session.name.as_ref().map(SessionName::as_str);
    html.text(name.unwrap_or(NO_SESSION)).raw(" · ").text(time(session.start)).raw(" to ");
    html.text(time(session.last)).raw(" UTC · ").text(count(session.files.len(), "file"));
    html.raw(" · ").text(count(session.n_changes, "change"));
    html.raw(
        "</p><p class=\"warn\">This file contains parts of the files that were changed. Check that \
         they may be shared before you attach it.</p><nav><ul>",
    );
    for file in &session.files {
        let shown = model.shown(&file.path);
        let id = link(&session.key, shown);
        html.raw("<li><a").attribute("href", &id).raw(">").text(shown.display()).raw("</a></li>");
    }
    html.raw("</ul></nav>");
    let style = FileStyle { is_static: true, n_items: usize::MAX, ..FileStyle::default() };
    for file in &session.files {
        let id = link(&session.key, model.shown(&file.path));
        html.raw("<article").attribute("id", id.trim_start_matches('#')).raw(">");
        match model.view(file) {
            Ok(view) => {
                file_html::header(&mut html, model, file, &view, style);
                file_html::items(&mut html, model, &view, &file.path, 0, style);
            }
            Err(why) => {
                html.raw("<h2>").text(model.shown(&file.path).display());
                html.raw("</h2><p class=\"note\">").text(why).raw("</p>");
            }
        }
        html.raw("</article>");
    }
    html.raw("</main></body></html>\n");
    Ok(html.into_string())
}

/// Returns sessions with their files and hunks.
pub fn value(model: &Model, sessions: &[&ReviewedSession]) -> Value {
    let of_session = |session: &&ReviewedSession| {
        let files: Vec<Value> = session
            .files
            .iter()
            .map(|file| {
                let path = model.shown(&file.path).to_string_lossy();
                match model.view(file) {
                    Ok(view) => {
                        let counts = view.counts();
                        let hunks: Vec<Value> =
                            view.items.iter().map(|item| of_item(&view, item)).collect();
                        let conflicts: Vec<String> = view
                            .conflicts
                            .iter()
                            .map(|it| query::hunk(&it.rejected.hunk))
                            .collect();
                        json!({
                            "path": path,
                            "changes": file.changes,
                            "state": counts.state(),
                            "added": counts.n_added,
                            "removed": counts.n_removed,
                            "hunks": hunks,
                            "conflicts": conflicts,
                        })
                    }
                    Err(why) => json!({"path": path, "changes": file.changes, "error": why}),
                }
            })
            .collect();
        json!({
            "session": session.name.as_ref().map(SessionName::as_str),
            "client": session.client,
            "start": session.start,
            "last": session.last,
            "files": files,
        })
    };
    json!({
        "root": model.root.to_string_lossy(),
        "changes_elsewhere": model.n_elsewhere,
        "sessions": sessions.iter().map(of_session).collect::<Vec<_>>(),
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for index in 0..4 {
            out.push(match index <= chunk.len() {
                true => DIGITS[number >> (18 - 6 * index) & 63] as char,
                false => '=',
            });
        }
    }
    out
}

fn of_item(view: &FileView, item: &Item) -> Value {
    let ids: Vec<String> = item.hunks.iter().map(|id: &HunkId| query::hunk(id)).collect();
    let mut value = json!({"ids": ids, "state": item.state.name()});
    if let ShownForm::Text(encoding) = view.form {
        let [old, new] = view.sides(item).map(|bytes| rows::decode(encoding, bytes));
        value["old"] = old.into();
        value["new"] = new.into();
    }
    value
}
