//! What the choices in a conflict undo.

use serde_json::json;

use super::page::reviewed;

#[test]
fn undo_both_leaves_the_rest_of_the_later_change() {
    let reviewed = reviewed();
    let before = reviewed.text("f.txt");
    let first = reviewed.edits("f.txt", &[("line 3\n", "first writer\n")]);
    let edits = [("first writer\n", "second writer\n"), ("line 20\n", "twenty\n")];
    let second = reviewed.edits("f.txt", &edits);
    let page = reviewed.review();
    page.act(json!({"act": "keep", "s": second, "ids": ["2.1"]}));
    let undo = json!({"act": "undo", "s": first, "ids": ["1.0"], "with_dependents": true});
    assert_eq!(page.act(undo)["n_hunks"], 2);
    assert_eq!(reviewed.text("f.txt"), before.replace("line 20", "twenty"));
    // On the command line, the later change is undone as a whole.
    reviewed.ok(&["undo", "3"]);
    reviewed.ok(&["undo", "1", "--with-dependents"]);
    assert_eq!(reviewed.text("f.txt"), before);
}

#[test]
fn a_conflict_says_that_the_later_change_is_kept() {
    let reviewed = reviewed();
    let first = reviewed.edits("f.txt", &[("line 3\n", "first writer\n")]);
    let second = reviewed.edits("f.txt", &[("first writer\n", "second writer\n")]);
    let page = reviewed.review();
    page.act(json!({"act": "keep", "s": second, "ids": ["2.0"]}));
    let rejected = page.act(json!({"act": "undo", "s": first, "ids": ["1.0"]}));
    assert!(rejected["conflict"].as_str().unwrap().contains(", kept</h3>"), "{rejected}");
}

#[test]
fn the_rest_of_a_file_with_a_conflict_is_undone() {
    let reviewed = reviewed();
    let edits = [("line 3\n", "first writer\n"), ("line 20\n", "twenty\n")];
    let session = reviewed.edits("f.txt", &edits);
    reviewed.edit("f.txt", "first writer\n", "second writer\n");
    let page = reviewed.review();
    let undo = json!({"act": "undo", "s": session, "f": "f.txt"});
    assert_eq!(page.act(undo.clone())["rest"], true);
    assert!(reviewed.text("f.txt").contains("twenty"));
    let mut rest = undo.clone();
    rest["partial"] = true.into();
    assert_eq!(page.act(rest)["n_hunks"], 1);
    let text = reviewed.text("f.txt");
    assert!(text.contains("second writer") && text.contains("line 20"), "{text}");
    // Nothing but the conflict is left.
    assert_eq!(page.act(undo)["rest"], false);
}
