//! Tests of `diff`.

#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

use super::render::header_name;

fn edited(before: &str, after: &str, edits: &Edits, bounds: Bounds) -> UnifiedDiff {
    unified("f", OldSide::File, &Texts::whole(before, after, edits), bounds)
}

fn diff(before: &str, after: &str) -> String {
    edited(before, after, &Edits::whole(before, after), Bounds::NONE).text
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
    assert_eq!(edited(&before, &after, &near, Bounds::NONE).text.matches("@@ ").count(), 1);
    let mut far = Edits::none(&before);
    far.then(0..1, "A");
    far.then(16..17, "B"); // line 9: seven
    let after = far.apply(&before);
    assert_eq!(edited(&before, &after, &far, Bounds::NONE).text.matches("@@ ").count(), 2);
}

#[test]
fn equal_texts_have_no_diff() {
    assert_eq!(diff("a\n", "a\n"), "");
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
        let diff = edited(&before, &after, &edits, Bounds::NONE).text;
        prop_assert_eq!(apply(&before, &diff), after);
    }
}

fn bounded(before: &str, after: &str, max_hunks: usize, max_bytes: usize) -> UnifiedDiff {
    let max_size = Size { bytes: max_bytes, json: max_bytes };
    let bounds = Bounds { max_hunks, max_size };
    edited(before, after, &Edits::whole(before, after), bounds)
}

fn check_shortened(before: &str, after: &str, max_hunks: usize, max_bytes: usize, text: Expect) {
    let diff = bounded(before, after, max_hunks, max_bytes);
    assert!(diff.is_shortened);
    assert!(Size::of(&diff.text).json <= max_bytes, "{}", diff.text);
    text.assert_eq(&diff.text);
}

/// Returns numbered lines, with these ones changed.
fn numbered(changed: &[usize]) -> String {
    let line = |n: usize| if changed.contains(&n) { format!("{n}!\n") } else { format!("{n}\n") };
    (1..=200).map(line).collect()
}

#[test]
fn whole_hunks_are_kept_and_the_rest_is_named() {
    let (before, after) = (numbered(&[]), numbered(&[2, 20, 21, 60, 80, 82, 84]));
    check_shortened(
        &before,
        &after,
        1,
        4000,
        expect![[r#"
        @@ -1,5 +1,5 @@
         1
        -2
        +2!
         3
         4
         5
        [3 more hunks: lines 20-21, 60, 80-84]
    "#]],
    );
    check_shortened(
        &before,
        &after,
        usize::MAX,
        200,
        expect![[r#"
        @@ -1,5 +1,5 @@
         1
        -2
        +2!
         3
         4
         5
        @@ -17,8 +17,8 @@
         17
         18
         19
        -20
        -21
        +20!
        +21!
         22
         23
         24
        [2 more hunks: lines 60, 80-84]
    "#]],
    );
    check_shortened(
        &before,
        &after,
        0,
        4000,
        expect![[r#"
        [4 more hunks: lines 2, 20-21, 60, 80-84]
    "#]],
    );
}

#[test]
fn a_hunk_that_does_not_fit_does_not_hide_a_later_one() {
    let many: Vec<usize> = (50..150).collect();
    let (before, after) = (numbered(&[]), numbered(&[&many[..], &[190]].concat()));
    check_shortened(
        &before,
        &after,
        usize::MAX,
        300,
        expect![[r#"
        @@ -187,7 +187,7 @@
         187
         188
         189
        -190
        +190!
         191
         192
         193
        [1 more hunk: lines 50-149]
    "#]],
    );
}

#[test]
fn a_single_hunk_over_the_bound_shows_the_start_of_both_sides() {
    let (before, after) = (numbered(&[]), numbered(&(1..=100).collect::<Vec<_>>()));
    let after = after.replace("104\n", "changed\n");
    check_shortened(
        &before,
        &after,
        usize::MAX,
        250,
        expect![[r#"
            @@ -1,107 +1,107 @@
            -1
            -2
            -3
            -4
            -5
            -6
            -7
            -8
            -9
            -10
            [90 more removed lines]
            +1!
            +2!
            +3!
            +4!
            +5!
            +6!
            +7!
            +8!
            +9!
            +10!
            +11!
            [89 more added lines]
            [1 more hunk: line 104]
        "#]],
    );
}

#[test]
fn at_most_twenty_hunks_are_named() {
    let changed: Vec<usize> = (1..=200).step_by(8).collect();
    let diff = bounded(&numbered(&[]), &numbered(&changed), 0, 4000);
    assert!(diff.text.starts_with("[25 more hunks: lines 1, 9, "), "{}", diff.text);
    assert!(diff.text.ends_with(", 153, …]\n"), "{}", diff.text);
}

#[test]
fn a_long_line_is_shown_as_an_excerpt_around_the_change() {
    let around = |changed: &str| {
        format!("{}\n{}{changed}{}\n", "c".repeat(2001), "ä".repeat(3000), "b".repeat(3000))
    };
    check_shortened(
        &around("old"),
        &around("new"),
        usize::MAX,
        4000,
        expect![[r#"
        @@ -1,2 +1,2 @@
         [column 1] cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc…
        -[column 2941] …ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääoldbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…
        +[column 2941] …äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääänewbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…
    "#]],
    );
    // Both ends of a long change.
    let far = |changed: &str| format!("{changed}{}{changed}", around("").replace('\n', ""));
    let diff = bounded(&far("1"), &far("2"), usize::MAX, 4000);
    assert_eq!(diff.text.matches("[column ").count(), 4, "{}", diff.text);
    assert!(diff.text.contains("+[column 1] 2ccc") && diff.text.ends_with("b2\n"), "{}", diff.text);
    // A short line before it is not its counterpart.
    let diff = bounded(&around("old"), &format!("short\n{}", around("new")), usize::MAX, 4000);
    assert!(diff.text.contains("änewb"), "{}", diff.text);
    // 2,000 characters are shown whole.
    let exact = "ä".repeat(2000);
    assert!(!bounded(&format!("{exact}\n"), &format!("{exact}\r\n"), 1, 20_000).is_shortened);
}

#[test]
fn a_part_of_a_line_is_marked() {
    let (before, after) = ("xxxoldyyy", "xxxnewyyy");
    let edits = &Edits::whole(before, after);
    let whole = Texts::whole(before, after, edits);
    let texts = Texts { lines_before: 6, is_whole_lines: false, ..whole };
    let diff = unified("f", OldSide::File, &texts, Bounds::NONE);
    assert!(diff.is_shortened);
    assert_eq!(diff.text, "@@ -7 +7 @@\n-…xxxoldyyy…\n+…xxxnewyyy…\n");
}

#[test]
fn the_endings_of_changed_lines_are_described() {
    for (before, after, expected) in [
        ("a\nb\n", "a\nB\n", None),
        ("a\nb", "a\nB", None),
        ("a\r\nb\r\n", "a\r\nB\r\n", Some("the changed line ends with CRLF")),
        ("a\r\nb\r\n", "A\r\nB\r\n", Some("the changed lines end with CRLF")),
        ("a\r\nb\n", "a\r\nB\n", Some("the changed line ends with LF")),
        ("a\r\n", "a\n", Some("the changed line ends with LF (before: CRLF)")),
        ("a\n", "a\r\n", Some("the changed line ends with CRLF (before: LF)")),
        ("a\r\nb\r\nc\r\n", "A\r\nB\nC\r\n", Some("changed lines: line 2 LF, others CRLF")),
        ("a\nb\n", "A\nB\nC\nD\r\nE\r\n", Some("changed lines: lines 4-5 CRLF, others LF")),
        ("a\r\nb\r\n", "a\r\n", None),
        ("a\r\nb", "a\r\nB", None),
    ] {
        let diff = edited(before, after, &Edits::whole(before, after), Bounds::NONE);
        assert_eq!(diff.endings.as_deref(), expected, "{before:?} {after:?}");
    }
    let mixed = "x\ny\r\n".repeat(6);
    let diff = edited("\n", &mixed, &Edits::whole("\n", &mixed), Bounds::NONE);
    assert_eq!(diff.endings.as_deref(), Some("changed lines: 6 LF, 6 CRLF"));
}

proptest! {
    #[test]
    fn a_shortened_diff_is_within_its_bounds(
        before in "([ab\t]{0,4}\r?\n){0,60}",
        after in "([ab\t]{0,4}\r?\n){0,60}",
        max_hunks in 0usize..6,
        max_bytes in 0usize..600,
    ) {
        let diff = bounded(&before, &after, max_hunks, max_bytes);
        prop_assert!(Size::of(&diff.text).json <= max_bytes, "{}", diff.text);
        prop_assert!(diff.text.matches("@@ ").count() <= 2 * max_hunks);
        if !diff.is_shortened {
            prop_assert_eq!(apply(&before, &diff.text), after);
        }
    }
}
