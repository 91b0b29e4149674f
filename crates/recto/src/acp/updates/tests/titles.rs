//! The titles of every tool with the arguments that agents send.

use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn titles_kinds_and_locations() {
    let mut table = String::new();
    for (tool, arguments) in [
        ("read_text_file", json!({"path": "/p/src/main.rs"})),
        ("read_text_file", json!({"path": "/p/src/main.rs", "line": 10, "limit": 10})),
        ("read_text_file", json!({"path": "/p/a", "line": "10", "limit": null})),
        ("read_text_file", json!({"path": "/p/a", "limit": 5})),
        ("read_text_file", json!({"path": "/p/a", "line": 3, "limit": 1})),
        ("read_text_file", json!({"path": "/elsewhere/a", "line": 0})),
        ("read_text_file", json!({"path": "/p"})),
        ("read_text_file", json!({"path": 5})),
        ("read_text_file", json!({})),
        ("write_text_file", json!({"path": "/p/notes.md", "content": "x"})),
        ("write_text_file", json!({"path": "/p/notes.md", "content": "x", "dry_run": true})),
        ("edit_text_file", json!({"path": "/p/a", "old_string": "a", "new_string": "b"})),
        ("multi_edit_text_file", json!({"path": "/p/config.toml", "edits": [{}, {}, {}]})),
        ("multi_edit_text_file", json!({"path": "/p/config.toml", "edits": "[]"})),
        ("text_read", json!({"path": "a.txt"})),
        ("text_read", json!({"path": "./a.txt", "lines": [1, 0]})),
        ("text_read", json!({"path": "a.txt", "lines": [3, "6"]})),
        ("text_read", json!({"path": "a.txt", "lines": [7, 8]})),
        ("text_read", json!({"path": "a.txt", "lines": [7, 0]})),
        ("text_read", json!({"path": "a.txt", "lines": [-20, 0]})),
        ("text_read", json!({"path": "a.txt", "lines": [-20, -1]})),
        ("text_read", json!({"path": "a.txt", "lines": [5, 5]})),
        ("text_read", json!({"path": "a.txt", "since": "0123456789ab"})),
        ("text_replace", json!({"path": "a.py", "lines": [4, 6], "old": "a", "new": "b"})),
        ("text_insert", json!({"path": "a.py", "line": 12, "anchor": "", "content": "x"})),
        ("text_insert", json!({"path": "a.py", "line": -1})),
        ("text_insert", json!({"path": "a.py", "line": -3})),
        ("text_append", json!({"path": "log.txt", "content": "x"})),
        ("file_create", json!({"path": "new/a.txt", "content": ""})),
        ("file_remove", json!({"path": "old.txt"})),
        ("ListFiles", json!({"pattern": "src/**/*.rs"})),
        ("ListFiles", json!({"pattern": "/p/src/*.rs", "commit": "HEAD~3"})),
        ("ReadLines", json!({"file_path": "a.rs"})),
        ("ReadLines", json!({"file_path": "a.rs", "lines": 5})),
        ("ReadLines", json!({"file_path": "a.rs", "lines": "2-4"})),
        ("ReadLines", json!({"file_path": "a.rs", "lines": "-20"})),
        ("ReadLines", json!({"file_path": "a.rs", "lines": "1,3,5-7 +/-2", "commit": "v1.0"})),
        ("ReadLines", json!({"file_path": "a.rs", "match": "needle"})),
        ("ReadLines", json!({"file_path": "a.rs", "match": ""})),
        ("ReadLines", json!({"file_path": "src/**/*.rs", "match": "two\nlines"})),
        ("ReadLines", json!({"file_path": "src/*.rs", "lines": "1-5", "commit": "HEAD~3"})),
        ("ReadAsTable", json!({"file_path": "data.csv"})),
        ("ReadAsTable", json!({"file_path": "data.csv", "commit": "main"})),
        ("text_read", json!({"path": "a\u{202e}b\t\u{7f}\u{85}"})),
        ("text_read", json!({"path": "nul\0"})),
        ("text_read", json!({"path": ""})),
        ("text_read", json!({"path": format!("{}/end.rs", "deep/".repeat(40))})),
    ] {
        let update = begin(tool, arguments);
        let (kind, title) = (update["kind"].as_str().unwrap(), update["title"].as_str().unwrap());
        assert_eq!((&update["name"], &update["status"]), (&tool.into(), &"pending".into()));
        table.push_str(&format!("{kind:6} {title} | {}\n", title::visible(&locations(&update))));
    }
    expect![[r#"
        read   Read src/main.rs | /p/src/main.rs
        read   Read src/main.rs (lines 10–19) | /p/src/main.rs:10
        read   Read a (from line 10) | /p/a:10
        read   Read a (lines 1–5) | /p/a
        read   Read a (line 3) | /p/a:3
        read   Read /elsewhere/a | /elsewhere/a
        read   Read . | /p
        read   Read file | 
        read   Read file | 
        edit   Write notes.md | /p/notes.md
        edit   Write notes.md (dry run) | /p/notes.md
        edit   Edit a | /p/a
        edit   Edit config.toml (3 edits) | /p/config.toml
        edit   Edit config.toml | /p/config.toml
        read   Read a.txt | /p/a.txt
        read   Read a.txt | /p/a.txt:1
        read   Read a.txt (lines 3–5) | /p/a.txt:3
        read   Read a.txt (line 7) | /p/a.txt:7
        read   Read a.txt (from line 7) | /p/a.txt:7
        read   Read a.txt (last 20 lines) | /p/a.txt
        read   Read a.txt (lines [-20, -1)) | /p/a.txt
        read   Read a.txt (lines [5, 5)) | /p/a.txt:5
        read   Read a.txt (changes) | /p/a.txt
        edit   Edit a.py (lines 4–5) | /p/a.py:4
        edit   Insert into a.py (line 12) | /p/a.py:12
        edit   Insert into a.py (before the last line) | /p/a.py
        edit   Insert into a.py (line 3 from the end) | /p/a.py
        edit   Append to log.txt | /p/log.txt
        edit   Create new/a.txt | /p/new/a.txt
        delete Remove old.txt | /p/old.txt
        search List src/**/*.rs | 
        search List src/*.rs at HEAD~3 | 
        read   Read a.rs | /p/a.rs
        read   Read a.rs (line 5) | /p/a.rs
        read   Read a.rs (lines 2–4) | /p/a.rs
        read   Read a.rs (first 20 lines) | /p/a.rs
        read   Read a.rs at v1.0 (lines 1,3,5-7 +/-2) | /p/a.rs
        search Search "needle" in a.rs | /p/a.rs
        read   Read a.rs | /p/a.rs
        search Search "two␊lines" in src/**/*.rs | 
        search Read src/*.rs at HEAD~3 (lines 1–5) | 
        read   Preview data.csv | /p/data.csv
        read   Preview data.csv at main | /p/data.csv
        read   Read a<U+202E>b␉␡<U+0085> | /p/a<U+202E>b␉␡<U+0085>
        read   Read nul␀ | 
        read   Read lines | 
        read   Read …ep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/end.rs | /p/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/end.rs
    "#]].assert_eq(&table);
}
