//! The contract tables with an editor as the store: the editor has the files of the row, the disk
//! something stale under the same names.

use recto::caller::Caller;
use recto::glob::Glob;
use serde_json::Value;

use super::desk::{Desk, make_old};
use super::script::{Habits, ScriptedEditor};
use crate::case::{Actual, Case, cases, count};
use crate::tree::Tree;

const STALE: &str = "stale\n";

const UNSAVED: &str = "the editor has unsaved changes; this is its text, the file on disk differs";

const ON_DISK: &str = "searched on the disk: what is unsaved in the editor is not seen";

/// Runs the rows of a tool that are about text. Returns how many those are, and what fails.
pub fn run(tool: &str) -> (usize, Vec<String>) {
    let mut failures = Vec::new();
    let mut n_run = 0;
    for case in cases(tool) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let case = case(&root);
        if why_not(&case).is_some() {
            continue;
        }
        n_run += 1;
        failures.extend(check(tool, &case, folder).err());
    }
    println!("{tool}: {n_run} of {} rows with an editor", count(tool));
    (n_run, failures)
}

/// Why a row has no meaning for an editor.
fn why_not(case: &Case) -> Option<&'static str> {
    let is = |name: &str, value: &str| case.arguments.get(name) == Some(&Value::from(value));
    if case.is_for_disk_only {
        Some("links, modes, commits and the like are the disk's")
    } else if case.before.texts().is_none() || case.after.texts().is_none() {
        Some("an editor has text, not bytes")
    } else if is("encoding", "base64") {
        Some("bytes go to the disk")
    } else {
        None
    }
}

/// Whether a row is about the disk, also where an editor is connected: what is removed is removed
/// there, many files are listed and searched there. The disk then has what the editor has.
fn is_about_disk(tool: &str, case: &Case) -> bool {
    let file_path = case.arguments.get("file_path").and_then(Value::as_str).unwrap_or_default();
    match tool {
        "file.remove" | "ListFiles" => true,
        "ReadLines" => Glob::is_glob(file_path),
        _ => false,
    }
}

fn check(tool: &str, case: &Case, folder: tempfile::TempDir) -> Result<(), String> {
    let root = folder.path().canonicalize().unwrap();
    let is_stale = !is_about_disk(tool, case);
    let before = if is_stale { case.before.with_texts(STALE) } else { case.before.clone() };
    before.write(&root);
    let desk = Desk::at(folder, ScriptedEditor::new(Habits::default()), &case.options);
    for (name, text) in case.before.texts().unwrap() {
        let path = root.join(name);
        make_old(&path);
        desk.editor.open(&path, &text);
    }
    let mut actual = desk.call_with(tool, case.arguments.clone(), &Caller::default());
    if let Actual::Answer { structured, text } = &mut actual
        && is_stale
    {
        let is_still_nowhere = structured["created"] == true && structured["dry_run"] == true;
        let remarks = structured.as_object_mut().unwrap().remove("remarks");
        if is_still_nowhere && remarks.is_none() {
            // Neither the disk nor the editor has it.
        } else if remarks != Some(vec![UNSAVED].into()) || text.pop().as_deref() != Some(UNSAVED) {
            return Err(format!("{}: says {remarks:?} of a stale disk", case.name));
        }
    }
    if let Actual::Answer { structured, text } = &mut actual
        && !is_stale
        && tool == "ReadLines"
        && structured["files"].as_u64() > Some(0)
    {
        let remarks = structured.as_object_mut().unwrap().remove("remarks");
        if remarks != Some(vec![ON_DISK].into()) || text.pop().as_deref() != Some(ON_DISK) {
            return Err(format!("{}: says {remarks:?} of a search", case.name));
        }
    }
    let disk = Tree::read(&root, &case.after);
    let expected = if is_stale { before.with_folders(&case.after) } else { case.after.clone() };
    if disk != expected {
        return Err(format!("{}: the disk holds {disk:?}", case.name));
    }
    if !is_stale {
        return case.check(actual, disk);
    }
    let buffers = desk.editor.buffers().clone();
    let below = |path: std::path::PathBuf| path.strip_prefix(&root).unwrap().to_path_buf();
    let texts = buffers.into_iter().map(|(path, text)| (below(path), text)).collect();
    case.check(actual, disk.with_files(texts))
}
