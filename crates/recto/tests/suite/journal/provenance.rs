//! `recto blame` and `recto trace export`: who wrote which lines.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{Fixture, fixture};

impl Fixture {
    fn json_lines(&self, arguments: &[&str]) -> Vec<Value> {
        let out = self.ok(arguments);
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(&self.root).args(["-c", "user.name=A", "-c", "user.email=a@b"]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }
}

#[test]
fn blame_names_the_change_of_each_line() {
    let fixture = fixture();
    fixture.edit("b", "B");
    let text = format!("by the user\n{}", fixture.text());
    fs::write(fixture.root.join("f.txt"), text).unwrap();
    fixture.edit("d", "D\nE");
    let lines = fixture.json_lines(&["blame", "f.txt", "--json"]);
    let authors: Vec<_> =
        lines.iter().map(|line| (line["text"].as_str().unwrap(), &line["change"])).collect();
    let (none, first, last) = (Value::Null, json!(1), json!(3));
    let expected = [
        ("by the user", &none),
        ("a", &none),
        ("B", &first),
        ("c", &none),
        ("D", &last),
        ("E", &last),
    ];
    assert_eq!(authors, expected);
    assert_eq!(lines[0]["by"], "not by recto");
    assert_eq!(lines[2]["client"], "recto call");
    let table = fixture.ok(&["blame", "f.txt"]);
    assert!(table.contains("not by recto"), "{table}");
    assert!(table.lines().nth(2).unwrap().trim_start().starts_with("1  20"), "{table}");
    assert!(table.ends_with("6  E\n"), "{table}");
    // An undone change wrote nothing.
    fixture.ok(&["undo", "3"]);
    let lines = fixture.json_lines(&["blame", "f.txt", "--json"]);
    assert_eq!(lines.last().unwrap()["by"], "not by recto");
    assert_eq!(fixture.run(&["blame", "missing.txt"]).2, 2);
}

#[test]
fn trace_exports_the_lines_of_each_session() {
    let fixture = fixture();
    let session = fixture.serve(&[]);
    let path = fixture.root.join("f.txt");
    let edit = json!({"path": path, "old_string": "b", "new_string": "B\nB2"});
    session.call("edit_text_file", edit);
    drop(session);
    fixture.git(&["init", "-q"]);
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "one"]);
    // Lines that recto wrote later are not in the commit.
    fixture.edit("a", "A");
    fs::create_dir(fixture.root.join("dir")).unwrap();

    let head = fixture.git(&["rev-parse", "HEAD"]);
    let records = fixture.json_lines(&["trace", "export", "--commit", "HEAD"]);
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record["version"], "0.1.0");
    assert_eq!(record["vcs"], json!({"type": "git", "revision": head}));
    let ranges = |lines: [usize; 2]| json!([{"start_line": lines[0], "end_line": lines[1]}]);
    let file = |kind, lines| {
        let conversation = json!({"contributor": {"type": kind}, "ranges": ranges(lines)});
        json!([{"path": "f.txt", "conversations": [conversation]}])
    };
    assert_eq!(record["files"], file("ai", [2, 3]));
    assert_eq!(record["metadata"]["recto"]["changes"], json!([1]));
    let (id, tool) = (record["id"].as_str().unwrap(), &record["tool"]);
    let is_uuid = id.len() == 36 && &id[14..15] == "4" && &id[19..20] == "8";
    assert!(is_uuid && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]), "{id}");
    assert!(tool["name"].is_string() && tool["version"].is_string(), "{tool}");
    let time = record["timestamp"].as_str().unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");

    let records = fixture.json_lines(&["trace", "export"]);
    let mut files: Vec<&Value> = records.iter().map(|record| &record["files"]).collect();
    files.sort_by_key(|file| file.to_string());
    assert_eq!(files, [&file("ai", [2, 3]), &file("unknown", [1, 1])]);
    assert!(records.iter().all(|record| record.get("vcs").is_none()));

    // A commit that does not change the file has no record.
    fs::write(fixture.root.join("other.txt"), "x").unwrap();
    fixture.git(&["add", "other.txt"]);
    fixture.git(&["commit", "-qm", "two"]);
    assert_eq!(fixture.ok(&["trace", "export", "--commit", "HEAD"]), "");
    assert_eq!(fixture.run(&["trace", "export", "--commit", "nothing"]).2, 2);
}
