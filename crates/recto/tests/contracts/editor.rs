//! Runs a row with an editor as the store: the editor has the row's files, and the disk has stale
//! text under the same names.

use recto_store::Context;
use recto_store::glob::Glob;
use serde_json::{Value, json};

use crate::client::Actual;
use crate::row::{Case, Row, Step};
use crate::scripted_editor::{EditorFixture, Habits, ScriptedEditor, make_old};
use crate::tree::Tree;

const STALE: &str = "stale\n";

const UNSAVED: &str =
    "the editor has unsaved changes; this is the editor's text, and the file on disk differs";

const ON_DISK: &str = "searched the files on disk; unsaved changes in the editor are not included";

/// Whether a row is only about text: an editor has no links, modes, commits or binary files.
pub fn applies(tool: &str, case: &Case) -> bool {
    !case.is_for_disk_only
        // Files with unsaved text are rejected.
        && tool != "changes_apply"
        && case.before.texts().is_some()
        && case.after.texts().is_some()
        && case.arguments.get("encoding") != Some(&Value::from("base64"))
}

/// Whether a tool uses the disk even if an editor is connected, as tools that remove, list and
/// search do. The disk then has the same text as the editor.
fn is_about_disk(tool: &str, case: &Case) -> bool {
    let file_path = case.arguments.get("file_path").and_then(Value::as_str).unwrap_or_default();
    match tool {
        "file_remove" | "ListFiles" => true,
        "ReadLines" => Glob::is_glob(file_path) || case.before.has_directory(file_path),
        _ => false,
    }
}

pub fn check(tool: &str, row: &Row) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let case = row.at(&root);
    let is_stale = !is_about_disk(tool, &case);
    let before = if is_stale { case.before.with_texts(STALE) } else { case.before.clone() };
    before.write(&root);
    let fixture = EditorFixture::at(folder, ScriptedEditor::new(Habits::default()), &case.options);
    for (name, text) in case.before.texts().unwrap() {
        let path = root.join(name);
        make_old(&path);
        fixture.editor.open(&path, &text);
    }
    for step in &case.earlier {
        match step {
            Step::Call { tool, arguments } => {
                fixture.call_with(tool, arguments.clone(), &Context::default());
            }
            Step::Change(tree) => {
                if !is_stale {
                    tree.write(&root);
                }
                for (name, text) in tree.texts().unwrap() {
                    fixture.editor.open(&root.join(name), &text);
                }
            }
        }
    }
    let mut actual = fixture.call_with(tool, case.arguments.clone(), &Context::default());
    crate::check_schema(tool, &actual)?;
    if let Actual::Answer { structured, text } = &mut actual
        && is_stale
    {
        let is_still_nowhere = structured["created"] == true && structured["dry_run"] == true;
        // A row names the notes of the tool, which precede the note on the editor.
        let mut notes = structured.as_object_mut().unwrap().remove("notes");
        let last = notes.as_mut().and_then(|notes| notes.as_array_mut()?.pop());
        if is_still_nowhere && last.is_none() {
            // The file exists neither on disk nor in the editor, so there is nothing to note.
        } else if last != Some(UNSAVED.into()) || !drop_note(text, UNSAVED) {
            return Err(format!("the last note on a stale disk is {last:?}"));
        }
        if let Some(notes) = notes.filter(|notes| *notes != json!([])) {
            structured["notes"] = notes;
        }
    }
    if let Actual::Answer { structured, text } = &mut actual
        && !is_stale
        && tool == "ReadLines"
        && structured["files"].as_u64() > Some(0)
    {
        let notes = structured.as_object_mut().unwrap().remove("notes");
        if notes != Some(vec![ON_DISK].into()) || !drop_note(text, ON_DISK) {
            return Err(format!("the notes on a search are {notes:?}"));
        }
    }
    let disk = Tree::read(&root, &case.after);
    let expected = if is_stale { before.with_directories(&case.after) } else { case.after.clone() };
    if disk != expected {
        return Err(format!("the files on disk are {disk:?}"));
    }
    if !is_stale {
        return case.check(actual, disk);
    }
    let buffers = fixture.editor.buffers().clone();
    let below = |path: std::path::PathBuf| path.strip_prefix(&root).unwrap().to_path_buf();
    let texts = buffers.into_iter().map(|(path, text)| (below(path), text)).collect();
    case.check(actual, disk.with_files(texts))
}

/// Removes a note from the end of an answer's first block, and returns whether it was there.
fn drop_note(text: &mut [String], note: &str) -> bool {
    let head = text[0].strip_suffix(&format!("; {note}")).map(String::from);
    head.map(|head| text[0] = head).is_some()
}
