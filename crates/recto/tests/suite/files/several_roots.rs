//! Searches of a relative path that exists only in a later root.

use serde_json::json;

use crate::client::Actual;
use crate::test_dir::{TestDir, rows, said};

#[test]
fn a_search_of_a_file_finds_it_in_a_later_root() {
    let dir = TestDir::new();
    dir.file("root/a.txt", "hit\n").file("other/sub/b.txt", "no\nhit\n").file("third/c.txt", "hit");
    let (other, third) = (dir.spelled("other"), dir.spelled("third"));
    let session = dir.serve(&["--root", &other, "--root", &third]);
    for (path, found, line) in [("sub/b.txt", "other/sub/b.txt", 2), ("./c.txt", "third/c.txt", 1)]
    {
        for needle in ["match", "regex"] {
            let answer = session.answer("ReadLines", json!({"file_path": path, needle: "hit"}));
            assert_eq!(rows(&answer), [(dir.spelled(found), line, "hit".to_string())], "{path}");
            assert_eq!(answer["files"], 1, "{path}");
        }
    }
    let answer = session.answer("ReadLines", json!({"file_path": "c.txt", "match": "missing"}));
    assert_eq!((rows(&answer).len(), &answer["files"]), (0, &json!(1)));
    // The session has seen the file that it found, and may overwrite it.
    let found = dir.spelled("other/sub/b.txt");
    session.answer("write_text_file", json!({"path": found, "content": "new\n"}));
    let answer = session.call("ReadLines", json!({"file_path": "d.txt", "match": "hit"}));
    assert!(matches!(answer, Actual::Error { .. }), "{answer:?}");
    assert!(said(&answer).contains("File not found: d.txt"), "{answer:?}");
}

#[test]
fn a_search_finds_files_and_directories_of_the_same_name() {
    let dir = TestDir::new();
    dir.file("root/name/a.txt", "hit\n").file("other/name", "hit\n").file("third/name", "hit\n");
    // A file that is named is searched although it is ignored.
    dir.file("other/.gitignore", "name\n").folder("other/.git");
    let (other, third) = (dir.spelled("other"), dir.spelled("third"));
    let session = dir.serve(&["--root", &other, "--root", &third]);
    let answer = session.answer("ReadLines", json!({"file_path": "name", "match": "hit"}));
    let found: Vec<String> = rows(&answer).into_iter().map(|(path, ..)| path).collect();
    let expected = ["other/name", "root/name/a.txt", "third/name"].map(|path| dir.spelled(path));
    assert_eq!(found, expected, "{answer}");
}
