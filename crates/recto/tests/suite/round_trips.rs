//! Files in many encodings: a change inserts exactly the requested text, and a second change that
//! undoes it restores every byte.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::Actual;
use crate::test_dir::{Session, TestDir};

const ADDED: &str = "Zq";

/// Returns the contract tables, which contain unusual text, and the project's own texts.
fn files() -> Vec<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates/recto-tables/tests/messy", "contracts", "docs", "docs/decisions", "."];
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(project.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        // In a linked work tree `.git` is a file that must not be written.
        .filter(|path| path.is_file() && !path.ends_with(".git"))
        .collect();
    files.sort();
    files
}

/// One file that is changed repeatedly.
struct File<'a> {
    session: &'a Session,
    name: &'a str,
    path: PathBuf,
    before: Vec<u8>,
}

impl File<'_> {
    /// Makes a change with the current hash.
    fn change(&self, tool: &str, hash: &mut Value, mut arguments: Value) {
        arguments["path"] = self.name.into();
        arguments["hash"] = hash.take();
        *hash = self.session.answer(tool, arguments)["hash"].take();
    }

    fn check_back(&self, tool: &str) {
        let now = std::fs::read(&self.path).unwrap();
        assert!(now == self.before, "{tool} did not leave {} as it was", self.name);
    }

    /// Whether the file is the original with a few bytes inserted in one place.
    fn check_added(&self, tool: &str) {
        let (before, now) = (&self.before, std::fs::read(&self.path).unwrap());
        let n_added = now.len() - before.len();
        let n_same = before.iter().zip(&now).take_while(|(one, other)| one == other).count();
        assert!((2..=8).contains(&n_added), "{tool} added {n_added} bytes to {}", self.name);
        assert!(before[n_same..] == now[n_same + n_added..], "{tool} of {}", self.name);
    }
}

#[test]
fn inserting_and_removing_text_restores_every_byte() {
    let dir = TestDir::new();
    let session = dir.serve(&["--durability", "rename", "--max-answer-bytes", "16777216"]);
    let (mut n_changed, mut n_refused) = (0, 0);
    for source in files() {
        let name = source.file_name().unwrap().to_str().unwrap();
        let before = std::fs::read(&source).unwrap();
        dir.file(&format!("root/{name}"), &before);
        let path = dir.path(format!("root/{name}"));
        let file = File { session: &session, name, path, before };
        let Actual::Answer { mut structured, .. } =
            session.call("text_read", json!({"path": name}))
        else {
            n_refused += 1;
            continue;
        };
        let content = structured["content"].take();
        let content = content.as_str().unwrap();
        let mut hash = structured["hash"].take();
        let lines: Vec<&str> = content.lines().collect();
        let filled = |at: &usize| !lines[*at].trim().is_empty();
        let Some(at) = (lines.len() / 2..lines.len()).find(filled) else { continue };
        let (line, added) = (lines[at], format!("{}{ADDED}", lines[at]));
        let range = json!([at + 1, at + 2]);

        file.change("text_replace", &mut hash, json!({"lines": range, "old": line, "new": added}));
        file.check_added("text_replace");
        file.change("text_replace", &mut hash, json!({"lines": range, "old": added, "new": line}));
        file.check_back("text_replace");

        let insert = json!({"line": at + 1, "anchor": line, "content": ADDED});
        file.change("text_insert", &mut hash, insert);
        file.check_added("text_insert");
        file.change("text_replace", &mut hash, json!({"lines": range, "old": ADDED, "new": ""}));
        file.check_back("text_insert");

        let path = file.path.to_str().unwrap();
        if content.matches(line).count() == 1 {
            let edit = |old: &str, new: &str| {
                let arguments = json!({"path": path, "old_string": old, "new_string": new});
                session.answer("edit_text_file", arguments);
            };
            edit(line, &added);
            file.check_added("edit_text_file");
            edit(&added, line);
            file.check_back("edit_text_file");
        }
        let whole = session.answer("read_text_file", json!({"path": path}))["content"].take();
        session.answer("write_text_file", json!({"path": path, "content": whole}));
        file.check_back("write_text_file");
        n_changed += 1;
    }
    assert!(n_changed > 250 && n_refused < 20, "{n_changed} changed, {n_refused} refused");
}
