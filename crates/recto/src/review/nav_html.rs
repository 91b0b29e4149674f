//! The list of sessions and their files as HTML.

use std::time::{Duration, UNIX_EPOCH};

use recto_journal::SessionName;

use super::html::Html;
use super::model::{FileFilter, Model};
use super::query;
use crate::log::Moment;

/// How many files are sent at once.
pub const PAGE: usize = 40;

/// The name of changes that belong to no session.
pub const NO_SESSION: &str = "without a session";

/// Returns the sessions. Their files are sent when they become visible.
pub fn sessions(model: &mut Model, filter: &FileFilter) -> Html {
    let mut html = Html::default();
    let keys: Vec<String> = model.sessions.iter().map(|session| session.key.clone()).collect();
    let mut n_listed = 0;
    for key in &keys {
        let listed = model.listed(key, filter);
        let n_files = listed.len();
        let Some(session) = model.session(key) else { continue };
        let Some(first) = listed.first().map(|index| &session.files[*index]) else { continue };
        n_listed += 1;
        html.raw("<section class=\"s\"").attribute("data-s", key).attribute("data-n", n_files);
        html.attribute("data-first", query::encode(model.shown(&first.path))).raw("><header>");
        html.raw("<button class=\"tw\" type=\"button\" aria-expanded=\"false\"><b>");
        html.text(if session.client.is_empty() { "unknown client" } else { &session.client });
        html.raw("</b><span class=\"when\">");
        let name = session.name.as_ref().map(SessionName::as_str);
        html.raw(match name {
            Some(name) if model.live.contains(name) => "<b class=\"live\">live</b> ",
            Some(_) => "ended ",
            None => "since ",
        });
        html.raw("<time").attribute("datetime", iso(session.start)).raw(">");
        html.text(time(session.start)).raw("</time></span><span class=\"sub\">");
        html.text(name.unwrap_or(NO_SESSION)).raw(" · ");
        html.text(count(n_files, "file")).raw(" · ").text(count(session.n_changes, "change"));
        html.raw("</span></button><span class=\"acts\">");
        let actions = [("keep", "Keep all"), ("undo", "Undo all"), ("redo", "Redo all")];
        // Changes without a session may be of several agents, so they are not undone together.
        let n_actions = if name.is_some() { actions.len() } else { 1 };
        for (act, label) in &actions[..n_actions] {
            html.raw("<button type=\"button\"").attribute("data-act", act).raw(">");
            html.text(label).raw("</button>");
        }
        html.raw("</span></header><div class=\"files\"></div></section>");
    }
    if n_listed == 0 {
        html.raw(match keys.is_empty() {
            true => {
                "<p class=\"note\">No changes are recorded below this directory yet. \
                 They appear here as agents make them.</p>"
            }
            false => "<p class=\"note\">No file matches.</p>",
        });
    }
    if model.n_elsewhere > 0 {
        html.raw("<p class=\"note\">").text(count(model.n_elsewhere, "change"));
        html.raw(" outside ").text(model.root.display()).raw(" not shown.</p>");
    }
    html
}

/// Returns some files of a session.
pub fn files(model: &mut Model, key: &str, filter: &FileFilter, from: usize) -> Html {
    let mut html = Html::default();
    let listed = model.listed(key, filter);
    for index in listed.into_iter().skip(from).take(PAGE) {
        let Some(session) = model.session(key) else { break };
        let path = session.files[index].path.clone();
        let counts = model.counts(key, &path);
        let shown = model.shown(&path);
        let (dir, base) = (shown.parent(), shown.file_name().unwrap_or_default());
        html.raw("<a class=\"f\"").attribute("href", link(key, shown));
        html.attribute("data-f", query::encode(shown)).attribute("title", shown.display());
        html.raw("><span class=\"p\"><bdi>");
        html.text(base.to_string_lossy()).raw("</bdi>");
        if let Some(dir) = dir.filter(|dir| !dir.as_os_str().is_empty()) {
            html.raw("<span class=\"dir\"><bdi>").text(dir.display()).raw("</bdi></span>");
        }
        html.raw("</span><span class=\"pm\"><ins>+").text(counts.n_added).raw("</ins> <del>−");
        html.text(counts.n_removed).raw("</del></span>");
        state(&mut html, if counts.n_conflicts > 0 { "conflict" } else { counts.state() });
        html.raw("</a>");
    }
    html
}

/// Appends the label of a state.
pub fn state(html: &mut Html, state: &'static str) {
    html.raw("<span class=\"st ").raw(state).raw("\">").raw(state).raw("</span>");
}

/// Returns the address of a file in a page.
pub fn link(session: &str, shown: &std::path::Path) -> String {
    format!("#/s/{}/f/{}", query::encode(session.as_ref()), query::encode(shown))
}

/// Returns a number of things.
pub fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Returns a time in milliseconds since 1970 as a date and a time in UTC.
pub fn time(millis: i64) -> String {
    iso(millis).get(..16).unwrap_or_default().replace('T', " ")
}

fn iso(millis: i64) -> String {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    Moment(UNIX_EPOCH + since).to_string()
}
