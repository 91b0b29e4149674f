//! Tests of `diff`.

#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn diff(before: &str, after: &str) -> String {
    unified("f", OldSide::File, before, after, &Edits::whole(before, after)).unwrap()
}

fn check(before: &str, after: &str, expected: Expect) {
    expected.assert_eq(&diff(before, after).replace('\r', "␍"));
}

#[test]
fn shows_a_change_with_three_lines_of_context() {
    check(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        "1\n2\n3\n4\nX\n6\n7\n8\n9\n",
        expect![[r#"
        --- f
        +++ f
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +X
         6
         7
         8
    "#]],
    );
}

#[test]
fn keeps_the_endings_of_the_file() {
    check(
        "a\r\nb\r\n",
        "a\r\nc\r\n",
        expect![[r#"
        --- f
        +++ f
        @@ -1,2 +1,2 @@
         a␍
        -b␍
        +c␍
    "#]],
    );
}

#[test]
fn marks_a_missing_final_newline() {
    check(
        "a",
        "a\n",
        expect![[r#"
        --- f
        +++ f
        @@ -1 +1 @@
        -a
        \ No newline at end of file
        +a
    "#]],
    );
    check(
        "a\nb",
        "x\nb",
        expect![[r#"
        --- f
        +++ f
        @@ -1,2 +1,2 @@
        -a
        +x
         b
        \ No newline at end of file
    "#]],
    );
}

#[test]
fn writes_empty_ranges_as_git_does() {
    check(
        "",
        "a\n",
        expect![[r#"
        --- f
        +++ f
        @@ -0,0 +1 @@
        +a
    "#]],
    );
    check(
        "a\nb\n",
        "",
        expect![[r#"
        --- f
        +++ f
        @@ -1,2 +0,0 @@
        -a
        -b
    "#]],
    );
}

#[test]
fn only_close_changes_share_a_hunk() {
    let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let mut near = Edits::none(&before);
    near.then(0..1, "A"); // line 1
    near.then(14..15, "B"); // line 8: six lines between
    let after = near.apply(&before);
    assert_eq!(
        unified("f", OldSide::File, &before, &after, &near).unwrap().matches("@@ ").count(),
        1
    );
    let mut far = Edits::none(&before);
    far.then(0..1, "A");
    far.then(16..17, "B"); // line 9: seven
    let after = far.apply(&before);
    assert_eq!(
        unified("f", OldSide::File, &before, &after, &far).unwrap().matches("@@ ").count(),
        2
    );
}

#[test]
fn equal_texts_have_no_diff() {
    assert_eq!(diff("a\n", "a\n"), "");
}

#[test]
fn a_diff_above_the_limit_is_omitted() {
    let (before, after) = ("a\n".repeat(MAX_DIFF_BYTES / 3), "b\n".repeat(MAX_DIFF_BYTES / 3));
    assert_eq!(unified("f", OldSide::File, &before, &after, &Edits::whole(&before, &after)), None);
}

#[test]
fn names_are_quoted_for_patch() {
    for (name, header) in
        [("a b", "a b\t"), ("a\"b", "\"a\\\"b\""), ("a\nb", "\"a\\nb\""), ("ä", "ä")]
    {
        assert_eq!(header_name(name), header);
    }
}

/// Applies a diff with an independent implementation.
fn apply(before: &str, diff: &str) -> String {
    let old: Vec<&str> = line::lines(before).collect();
    let (mut after, mut old_idx) = (String::new(), 0);
    let mut lines = line::lines(diff).peekable();
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix("@@ -") {
            let range = header.split_once(' ').unwrap().0;
            let (start, n_lines) = range.split_once(',').unwrap_or((range, "1"));
            let start: usize = start.parse().unwrap();
            let start = if n_lines == "0" { start } else { start - 1 };
            after.extend(old[old_idx..start].iter().copied());
            old_idx = start;
            continue;
        }
        if line.starts_with("---") || line.starts_with("+++") || line.starts_with('\\') {
            continue;
        }
        let has_no_ending = lines.peek().is_some_and(|next| next.starts_with('\\'));
        let text = if has_no_ending { line[1..].strip_suffix('\n').unwrap() } else { &line[1..] };
        if !line.starts_with('+') {
            assert_eq!(old[old_idx], text);
            old_idx += 1;
        }
        if !line.starts_with('-') {
            after.push_str(text);
        }
    }
    after.extend(old[old_idx..].iter().copied());
    after
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn applying_a_diff_gives_the_new_text(
        before in "([ab]\r?\n){0,30}[ab]{0,2}",
        steps in proptest::collection::vec((0usize..90, 1usize..9, "[bc\n]{0,5}"), 1..6),
    ) {
        let mut edits = Edits::none(&before);
        let mut after = before.clone();
        for (start, length, new) in steps {
            let range = start.min(after.len())..(start + length).min(after.len());
            if !range.is_empty() {
                edits.then(range.clone(), &new);
                after.replace_range(range, &new);
            }
        }
        let diff = unified("f", OldSide::File, &before, &after, &edits).unwrap();
        prop_assert_eq!(apply(&before, &diff), after);
    }
}
