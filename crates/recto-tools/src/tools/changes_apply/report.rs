//! The answer: one line for each file, and the diffs that fit.

use recto_text::Tag;
use recto_text::diff::{Bounds, OldSide};
use recto_text::quote::{LineNumbers, OneLine};
use recto_text::size::Size;
use serde_json::{Value, json};

use super::super::edit::Target;
use super::super::edit_text_file::add_places;
use super::super::paths::relative;
use super::super::{Answer, WriteEnv, report};
use super::Request;
use super::plan::{Content, PlannedFile};
use crate::budget::Budget;

/// The most bytes of diffs if the call replaces many places, whose look the caller knows.
const MANY_PLACES: usize = 5;
const DIFF_OF_MANY: usize = 500;

pub fn answer(env: &WriteEnv<'_>, request: &Request, files: &[PlannedFile], plan: Tag) -> Answer {
    let n_places: usize = files.iter().map(n_places).sum();
    let n_files = files.len();
    let what = match (n_places, n_files) {
        (0, 1) => "1 file".to_string(),
        (0, _) => format!("{n_files} files"),
        _ => {
            let s = |n: usize| if n == 1 { "" } else { "s" };
            let (s_of_places, s_of_files) = (s(n_places), s(n_files));
            format!("{n_places} replacement{s_of_places} in {n_files} file{s_of_files}")
        }
    };
    let mut structured = json!({});
    let items = files.iter().map(|file| item(env, file)).collect();
    report::list(&mut structured, "files", items, env.delivery);
    let head = match request.is_dry_run {
        true => {
            structured["dry_run"] = true.into();
            structured["plan"] = plan.to_string().into();
            format!("dry run, {what} not written, plan {plan}")
        }
        false => format!("{what} written"),
    };
    let (mut content, n_omitted) = lines(env, files);
    if n_omitted > 0 {
        content.push_str(&format!("and {n_omitted} more files\n"));
    }
    // With a plan, the caller has seen the diff of the dry run.
    if request.plan.is_none() {
        let (diff, is_shortened) = diffs(env, files, n_places);
        if is_shortened {
            structured["diff_shortened"] = true.into();
        }
        content.push_str(&diff);
        structured["diff"] = diff.into();
    }
    let mut answer = Answer::new(head, structured).with_content(content);
    if !request.is_dry_run {
        for file in files {
            let digest = file.after.digest();
            if let Some(document) = file.after.document() {
                env.versions.remember(digest, document);
            }
            answer.seen.push((file.path().as_path().to_path_buf(), digest));
        }
        answer.changes =
            files.iter().filter(|file| file.is_changed()).map(PlannedFile::change).collect();
    }
    answer
}

fn n_places(file: &PlannedFile) -> usize {
    file.plan.iter().flat_map(|plan| &plan.found).map(|found| found.n_places).sum()
}

fn shown(env: &WriteEnv<'_>, path: &str) -> String {
    relative(&env.to_read(), path).unwrap_or(path).to_string()
}

fn item(env: &WriteEnv<'_>, file: &PlannedFile) -> Value {
    let path = shown(env, file.target.path.as_str());
    let mut item = json!({"path": path, "hash": file.after.digest().to_string()});
    match &file.plan {
        Some(plan) if let [found] = &plan.found[..] => add_places(&mut item, found, env.delivery),
        Some(_) => item["replacements"] = n_places(file).into(),
        None => {}
    }
    if let Some(to) = &file.move_to {
        item["moved_to"] = shown(env, to.as_str()).into();
    }
    if file.before.is_none() {
        item["created"] = true.into();
    }
    if !file.is_changed() {
        item["unchanged"] = true.into();
    }
    item
}

/// Returns a line for each file, within a part of the budget, and how many were left out.
fn lines(env: &WriteEnv<'_>, files: &[PlannedFile]) -> (String, usize) {
    let max = Budget::content(env.delivery).left().bytes / 2;
    let mut text = String::new();
    for (index, file) in files.iter().enumerate() {
        let line = line(env, file);
        if text.len() + line.len() > max {
            return (text, files.len() - index);
        }
        text.push_str(&line);
    }
    (text, 0)
}

fn line(env: &WriteEnv<'_>, file: &PlannedFile) -> String {
    const MAX_RANGES: usize = 80;
    let path = shown(env, file.target.path.as_str());
    let mut line = format!("{}: ", OneLine(&path));
    if !file.is_changed() {
        line.push_str("unchanged, ");
    } else if file.before.is_none() {
        line.push_str("created, ");
    }
    if let Some(plan) = &file.plan {
        let mut lines: Vec<_> =
            plan.found.iter().flat_map(|found| found.lines.iter().copied()).collect();
        lines.sort_by_key(|lines| lines.start);
        lines.dedup();
        let n_more = lines.len().saturating_sub(MAX_RANGES);
        lines.truncate(MAX_RANGES);
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        line.push_str(&format!("{} in {}{more}, ", n_places(file), LineNumbers(&lines)));
    }
    if let Some(to) = &file.move_to {
        line.push_str(&format!("moved to {}, ", OneLine(&shown(env, to.as_str()))));
    }
    line.push_str(&format!("hash {}\n", file.after.digest()));
    line
}

/// Returns the diffs of all files within what the lines leave, and whether they were shortened.
fn diffs(env: &WriteEnv<'_>, files: &[PlannedFile], n_places: usize) -> (String, bool) {
    let left = Budget::content(env.delivery).left();
    let mut left = Size { bytes: left.bytes / 2, json: left.json / 4 };
    let is_many = n_places > MANY_PLACES;
    if is_many {
        left.bytes = left.bytes.min(DIFF_OF_MANY);
    }
    let (mut text, mut is_shortened) = (String::new(), false);
    for file in files.iter().filter(|file| file.is_changed()) {
        let (Some(Content::Text(before)), Some(plan)) = (&file.before, &file.plan) else {
            continue;
        };
        let Content::Text(after) = &file.after else { continue };
        let max_hunks = if is_many { 1 } else { usize::MAX };
        let bounds = Bounds { max_hunks, max_size: left };
        let target: &Target = &file.target;
        let diff = target.diff_within(OldSide::File, (before, after), &plan.edits, bounds);
        is_shortened |= diff.is_shortened;
        let Some(rest) = left.minus(Size::of(&diff.text)) else {
            return (text, true);
        };
        left = rest;
        text.push_str(&diff.text);
    }
    (text, is_shortened)
}
