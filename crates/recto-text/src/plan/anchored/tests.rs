//! Tests of `anchored`.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn source(text: &str) -> FileText<'_> {
    FileText { path: "f", part: text.into() }
}

/// Returns the new text, or the message.
fn shown(text: &str, plan: Result<Plan>) -> Result<String, String> {
    plan.map(|plan| plan.edits.apply(text)).map_err(|error| error.to_string())
}

fn check_replace(text: &str, lines: [i64; 2], old: &str, new: &str, expected: Result<&str, &str>) {
    let spec = Interval { start: lines[0], end: lines[1] };
    let found = shown(text, replace(source(text), spec, old, new));
    let expected = expected.map(str::to_string).map_err(str::to_string);
    assert_eq!(found, expected, "{lines:?} {old:?} -> {new:?} in {text:?}");
}

fn check_insert(text: &str, line: i64, anchor: &str, content: &str, expected: Result<&str, &str>) {
    let found = shown(text, insert(source(text), line, anchor, content));
    let expected = expected.map(str::to_string).map_err(str::to_string);
    assert_eq!(found, expected, "{line} {anchor:?} + {content:?} in {text:?}");
}

#[test]
fn whole_lines_stay_whole_lines() {
    check_replace("a\nb\nc\n", [2, 3], "b", "x", Ok("a\nx\nc\n"));
    check_replace("a\nb\nc\n", [2, 3], "b\n", "x", Ok("a\nx\nc\n"));
    check_replace("a\nb\nc\n", [2, 3], "b", "x\n", Ok("a\nx\nc\n"));
    check_replace("a\nb\nc\n", [2, 3], "b\n", "x\ny\n", Ok("a\nx\ny\nc\n"));
    check_replace("a\nb\nc\n", [2, 3], "b", "", Ok("a\nc\n"));
    check_replace("a\nb\nc\n", [2, 3], "b", "\n", Ok("a\n\nc\n"));
    check_replace("a\nb\nc\n", [1, 4], "b\nc", "x", Ok("a\nx\n"));
    check_replace("a\n\nc\n", [2, 3], "", "x", Ok("a\nx\nc\n"));
    check_replace("a\n\nc\n", [2, 3], "", "", Ok("a\nc\n"));
}

#[test]
fn the_end_of_the_file_is_literal_if_unambiguous() {
    // No final ending: the new text is literal.
    check_replace("a\nb", [2, 3], "b", "x", Ok("a\nx"));
    check_replace("a\nb", [2, 3], "b", "x\n", Ok("a\nx\n"));
    check_replace("a\nb", [2, 3], "b", "", Ok("a\n"));
    // A final ending that old includes can be removed.
    check_replace("a\nb\n", [2, 3], "b\n", "x", Ok("a\nx"));
    // A final ending that old omits stays.
    check_replace("a\nb\n", [2, 3], "b", "x", Ok("a\nx\n"));
    check_replace("a\nb\n", [2, 3], "b", "", Ok("a\n"));
    // An ending that the file lacks does not match.
    check_replace("a\nb", [2, 3], "b\n", "x\n", Err("Line 2 contains \"b\", not \"b\\n\""));
}

#[test]
fn new_text_takes_the_endings_of_the_file() {
    check_replace("a\r\nb\r\nc\r\n", [2, 3], "b", "x\ny", Ok("a\r\nx\r\ny\r\nc\r\n"));
    check_replace("a\r\nb\r\n", [2, 3], "b\n", "x\ny\n", Ok("a\r\nx\r\ny\r\n"));
    check_replace("a\r\nb\r\n", [2, 3], "b\r\n", "x\ny\n", Ok("a\r\nx\ny\n"));
    check_replace("a\nb\n", [1, 2], "a", "x\r\ny", Ok("x\ny\nb\n"));
    check_replace("a", [1, 2], "a", "x\r\ny", Ok("x\r\ny"));
    // An ending that neither side includes stays, even with mixed endings.
    check_replace("a\nb\r\nc\n", [1, 3], "a\nb", "x", Ok("x\r\nc\n"));
    // After a tolerant match, each line takes the ending of the line that it replaces.
    check_replace("a\r\nb\nc\n", [1, 3], "a\nb", "x\ny\n", Ok("x\r\ny\nc\n"));
    check_replace("a\r\nb\nc\n", [1, 3], "a\nb", "a\nx\ny", Ok("a\r\nx\ny\nc\n"));
    check_replace("a\r\nb\nc\n", [1, 3], "a\nb", "x", Ok("x\nc\n"));
    check_replace("a\r\nb\nc\n", [1, 3], "a\nb\n", "x\n", Ok("x\r\nc\n"));
    check_insert("a\r\nb", 2, "b", "x", Ok("a\r\nx\r\nb"));
    check_insert("a\r\nb\n", 1, "a", "x\ny\n", Ok("x\r\ny\r\na\r\nb\n"));
    check_insert("a\r\nb\n", 1, "a\r\n", "x\n", Ok("x\na\r\nb\n"));
}

#[test]
fn inserts_before_the_named_line() {
    check_insert("a\nb\n", 1, "a", "x", Ok("x\na\nb\n"));
    check_insert("a\nb\n", -1, "b\n", "x\n", Ok("a\nx\nb\n"));
    check_insert("", 1, "", "x", Ok("x\n"));
    check_insert("a", 1, "a", "x", Ok("x\na"));
    check_insert("a\nb\n", 2, "a", "x", Err("Line 2 contains \"b\", not \"a\""));
    check_insert("a\n", 2, "", "x", Err("Line 2 is not in the file: f has 1 line"));
    check_insert("a\n", 0, "a", "x", Err("Line 0 is not in the file: f has 1 line"));
    check_insert("", 1, "x", "y", Err("Line 1 contains \"\", not \"x\""));
    check_insert("", 2, "", "y", Err("Line 2 is not in the file: f has 0 lines"));
}

#[test]
fn appends_on_its_own_line() {
    for (text, after) in
        [("", "x\n"), ("a\n", "a\nx\n"), ("a", "a\nx\n"), ("a\r\nb", "a\r\nb\r\nx\r\n")]
    {
        assert_eq!(append(text, "x\n").edits.apply(text), after);
    }
    for (text, after) in
        [("", "x"), ("a\n", "a\nx\n"), ("a", "a\nx"), ("a\nb\r\n", "a\nb\r\nx\r\n")]
    {
        assert_eq!(append(text, "x").edits.apply(text), after);
    }
}

#[test]
fn a_mismatch_reports_the_actual_text() {
    check_replace("a\nb\nc\n", [2, 3], "x", "y", Err("Line 2 contains \"b\", not \"x\""));
    check_replace("a\nb\nc\n", [1, 3], "a\nx", "y", Err("Line 2 contains \"b\", not \"x\""));
    check_replace("a\nb\nc\n", [0, 0], "x", "y", Err("Lines 1-3 do not contain \"x\""));
    check_replace(
        "a\nb\nc\n",
        [1, 2],
        "a\nb",
        "y",
        Err("The range covers 1 of the 2 lines of old"),
    );
    check_replace("a\nb\na\n", [0, 0], "a", "y", Err("String appears 2 times (must be unique): a"));
    check_replace(
        "a\na\na\n",
        [0, 0],
        "a\na",
        "y",
        Err("String appears 2 times (must be unique): a\na"),
    );
    check_replace("ab\n", [1, 2], "a", "y", Err("Line 1 contains \"ab\", not \"a\""));
}

proptest! {
    /// The search agrees with trying every line.
    #[test]
    fn lines_are_found_at_every_occurrence(
        text in "([ab]?(\n|\r\n)){0,12}[ab]?",
        wanted in "([ab]?(\n|\r\n)){0,3}[ab]?",
        ends in (0usize..14, 0usize..14),
    ) {
        let table = LineTable::new(TextPart::from(text.as_str()));
        let wanted: Vec<&str> = line::lines(&wanted).collect();
        prop_assume!(!wanted.is_empty());
        let (start, end) = (ends.0.min(table.count()), ends.1.min(table.count()));
        let within = start..end.max(start);
        let kind = |start: usize| {
            let kinds = wanted.iter().enumerate();
            let mut kinds = kinds.map(|(index, want)| matches(table.line(start + index), want));
            kinds.try_fold(MatchKind::Exact, |worst, kind| Some(worst.max(kind?)))
        };
        let starts = within.start..(within.end + 1).saturating_sub(wanted.len()).max(within.start);
        let expected: Vec<usize> = starts.filter(|start| kind(*start).is_some()).collect();
        let found = table.find(&wanted, within);
        prop_assert_eq!(&found, &expected);
        for start in found {
            prop_assert_eq!(Some(table.kind(&wanted, start)), kind(start));
        }
    }
}
