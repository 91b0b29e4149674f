//! Tests of `nearest`.

#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const CODE: &str = "\
fn main() {
\tlet name = \"world\";
\tlet greeting = format!(\"Hello, {name}!\");
\tprintln!(\"{greeting}\");
}

fn helper(value: usize) -> usize {
\tlet doubled = value * 2;
\tdoubled + 1
}
";

fn check(text: &str, wanted: &str, expected: Expect) {
    assert_eq!(find(text, wanted), None, "{wanted:?} must be a miss");
    let shown =
        nearest(text, wanted, Meant::Text).map_or("nothing".into(), |nearest| nearest.to_string());
    expected.assert_eq(&shown);
}

#[test]
fn names_whitespace() {
    check(
        CODE,
        "    let doubled = value * 2;",
        expect![[r#"
        Closest: line 8 (differs only in whitespace: · space, ⇥ tab)
        8 file: ⇥let·doubled·=·value·*·2;
        8 want: ····let·doubled·=·value·*·2;
        Copy the text exactly as it is in the file."#]],
    );
    check(
        CODE,
        "fn  main() {\n\tlet name",
        expect![[r#"
        Closest: lines 1-2 (differs only in whitespace: · space, ⇥ tab)
        1 file: fn·main()·{
        1 want: fn··main()·{
        Copy the text exactly as it is in the file."#]],
    );
    check(
        "a \nb\n",
        "a\nb",
        expect![[r#"
        Closest: lines 1-2 (differs only in whitespace: · space, ⇥ tab)
        1 file: a·
        1 want: a
        Copy the text exactly as it is in the file."#]],
    );
    check(
        "let a = 1;\nlet b = 2;\n",
        "let a = 1; \nlet b = 2;\n",
        expect![[r#"
        Closest: lines 1-2 (differs only in whitespace: · space, ⇥ tab)
        1 file: let·a·=·1;
        1 want: let·a·=·1;·
        Copy the text exactly as it is in the file."#]],
    );
    check(
        "foo(bar, 1)\n",
        "foo(bar,\u{a0}1)",
        expect![[r#"
        Closest: line 1 (differs only in whitespace: · space, ⇥ tab)
        1 file: foo(bar,·1)
        1 want: foo(bar,⍽1)
        After "foo(bar,": file U+0020, want U+00A0.
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn names_case_and_look_alikes() {
    check(
        "Hello World\n",
        "hello world",
        expect![[r#"
        Closest: line 1 (differs only in case)
        1 file: Hello World
        1 want: hello world
        Copy the text exactly as it is in the file."#]],
    );
    check(
        CODE,
        "let name = “world”;",
        expect![[r#"
        Closest: line 2 (differs only in look-alike characters)
        2 file: let name = "world";
        2 want: let name = “world”;
        After "let name = ": file U+0022, want U+201C.
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn names_characters_that_cannot_be_seen() {
    check(
        "let foo\u{200b}bar = 1;\n",
        "foobar = 1",
        expect![[r#"
            Closest: line 1 (differs only in look-alike characters)
            1 file: foo�bar = 1
            1 want: foobar = 1
            After "foo": file U+200B, want nothing.
            Copy the text exactly as it is in the file."#]],
    );
    check(
        "fn cafe\u{301}() {}\n",
        "fn caf\u{e9}() {}",
        expect![[r#"
            Closest: line 1
            1 file: fn café() {}
            1 want: fn café() {}
            After "fn caf": file U+0065 U+0301, want U+00E9.
            Copy the text exactly as it is in the file."#]],
    );
    check(
        "price:\u{202f}10\u{a0}EUR\n",
        "price: 10 EUR",
        expect![[r#"
            Closest: line 1 (differs only in whitespace: · space, ⇥ tab)
            1 file: price: 10⍽EUR
            1 want: price:·10·EUR
            After "price:": file U+202F, want U+0020.
            Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn says_nothing_of_what_is_not_compared() {
    let lines: Vec<String> = (0..200).map(|row| format!("row {row} has these words")).collect();
    let mut wanted = lines[10..180].to_vec();
    wanted[30] = wanted[30].to_uppercase();
    wanted[160] = "row 170 has quite different words".into();
    check(
        &lines.join("\n"),
        &wanted.join("\n"),
        expect![[r#"
        Closest: lines 11-97
        41 file: row 40 has these words
        41 want: ROW 40 HAS THESE WORDS
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn shows_the_lines_that_differ_in_a_block() {
    let typo = "fn main() {\n\tlet name = \"world\";\n\tlet greting = format!(\"Hello, {name}!\");\n\tprintln!(\"{greeting}\");\n}\n";
    check(
        CODE,
        typo,
        expect![[r#"
        Closest: lines 1-5
        3 file:  let greeting = format!("Hello, {name}!");
        3 want:  let greting = format!("Hello, {name}!");
        Copy the text exactly as it is in the file."#]],
    );
    check(
        CODE,
        "fn helper(value: usize) -> usize {\n\n\tlet doubled = value * 2;\n\tdoubled + 1\n}\n",
        expect![[r#"
            Closest: lines 7-10 (differs only in blank lines)
            want: a blank line  (missing here)
            Copy the text exactly as it is in the file."#]],
    );
    check(
        CODE,
        "\tlet name = \"world\";\n\tprintln!(\"{greeting}\");\n}",
        expect![[r#"
        Closest: lines 2-5
        3 file:  let greeting = format!("Hello, {name}!");  (not in old_string)
        Copy the text exactly as it is in the file."#]],
    );
    check(
        CODE,
        "fn garbled {\n\tlet doubled = value * 2;\n\tdoubled + 1\n}",
        expect![[r#"
        Closest: lines 8-10
        want: fn garbled {  (not in the file)
        Copy the text exactly as it is in the file."#]],
    );
    check(
        CODE,
        "\tdoubled + 1\n}\n\nfn next() {}\n",
        expect![[r#"
        Closest: lines 9-10
        want: a blank line  (missing here)
        want: fn next() {}  (not in the file)
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn a_blank_line_too_few_is_whitespace() {
    check(
        "def a():\n    pass\n\n\ndef b():\n    pass\n",
        "    pass\n\ndef b():",
        expect![[r#"
        Closest: lines 2-5 (differs only in blank lines)
        4 file: a blank line  (not in old_string)
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn a_line_that_stands_further_on_is_not_said_to_be_missing() {
    let shown = nearest("a\nb\nb\nc\n", "a\nc", Meant::Lines);
    expect![[r#"
        Closest: line 1
        want: c  (found at line 4)
        Also close: line 3.
        Copy the text exactly as it is in the file."#]]
    .assert_eq(&shown.map_or_else(String::new, |shown| shown.to_string()));
}

#[test]
fn a_line_is_found_though_blanks_differ_too() {
    check(
        "    let a = compute(5000, \"abc\");\n    let b = compute(5001, \"abc\");\n",
        "   let a = compute(5000, \"abd\");\n    let b = compute(5001, \"abc\");",
        expect![[r#"
            Closest: lines 1-2
            1 file:     let a = compute(5000, "abc");
            1 want:    let a = compute(5000, "abd");
            Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn a_long_block_that_differs_only_in_whitespace_is_said_to() {
    let block = |range: std::ops::Range<usize>, indent: &str| -> String {
        range.map(|n| format!("{indent}line {n} = foo({n});\n")).collect()
    };
    let text = block(0..200, "    ");
    check(
        &text,
        &block(10..100, "\t"),
        expect![[r#"
        Closest: lines 11-100 (differs only in whitespace: · space, ⇥ tab)
        11 file: ····line·10·=·foo(10);
        11 want: ⇥line·10·=·foo(10);
        12 file: ····line·11·=·foo(11);
        12 want: ⇥line·11·=·foo(11);
        13 file: ····line·12·=·foo(12);
        13 want: ⇥line·12·=·foo(12);
        87 more lines differ.
        Copy the text exactly as it is in the file."#]],
    );
    let other = block(10..90, "\t") + "another ending\n";
    check(
        &text,
        &other,
        expect![[r#"
        Closest: lines 11-70 (· space, ⇥ tab)
        11 file: ····line·10·=·foo(10);
        11 want: ⇥line·10·=·foo(10);
        12 file: ····line·11·=·foo(11);
        12 want: ⇥line·11·=·foo(11);
        13 file: ····line·12·=·foo(12);
        13 want: ⇥line·12·=·foo(12);
        57 more lines differ.
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn recognises_what_does_not_belong() {
    check(
        CODE,
        "     8\t\tlet doubled = value * 2;\n     9\t\tdoubled + 1\n",
        expect!["Closest: lines 8-9. old_string includes line numbers, which are not in the file."],
    );
    check(
        "a = 1\nb = 2\n",
        "1: a = 1\n2: b = 2",
        expect!["Closest: lines 1-2. old_string includes line numbers, which are not in the file."],
    );
    check(
        CODE,
        "\\tdoubled + 1\\n}",
        expect![[
            r#"Closest: lines 9-10. old_string contains \n, \t or \" as escape sequences; send the characters."#
        ]],
    );
}

#[test]
fn shows_a_fragment_from_its_first_character_to_its_last() {
    check(
        "cafe\u{301} is open\n",
        "caf\u{e9} is open",
        expect![[r#"
        Closest: line 1
        1 file: café is open
        1 want: café is open
        After "caf": file U+0065 U+0301, want U+00E9.
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn shows_the_part_of_a_long_line() {
    let line = format!(
        "{}the quick brown fox jumps over the lazy dog{}",
        "x ".repeat(300),
        " y".repeat(300)
    );
    check(
        &line,
        "the quick brown fix jumps over",
        expect![[r#"
        Closest: line 1
        1 file: the quick brown fox jumps over
        1 want: the quick brown fix jumps over
        Copy the text exactly as it is in the file."#]],
    );
    let long = format!("{}MIDDLE{}", "word ".repeat(50), " tail".repeat(50));
    check(
        &long,
        &long.replace("MIDDLE", "MUDDLE"),
        expect![[r#"
        Closest: line 1
        1 file: …ord word word word word word word word MIDDLE tail tail tail tail tail tail tail tail tail tail tail tail tail…
        1 want: …ord word word word word word word word MUDDLE tail tail tail tail tail tail tail tail tail tail tail tail tail…
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn names_another_place_that_is_as_close() {
    check(
        "let x = 1;\na\nb\nlet x = 1;\n",
        "let x = 2;",
        expect![[r#"
        Closest: line 1
        1 file: let x = 1;
        1 want: let x = 2;
        Also close: line 4.
        Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn says_nothing_where_nothing_is_similar() {
    for (text, wanted) in
        [("", "a"), ("abc\n", "xyz"), (CODE, "   \n\t"), ("\n\n\n", "something else")]
    {
        assert_eq!(nearest(text, wanted, Meant::Text), None, "{wanted:?}");
    }
    let large = format!("{}\n", "x".repeat(999)).repeat(17 << 10);
    assert_eq!(nearest(&large, "something else", Meant::Text), Some(Nearest::unknown()));
}

#[test]
fn huge_inputs_are_no_trouble() {
    let lines: String = (0..10_000).map(|n| format!("let value_{n} = compute({n});\n")).collect();
    let shown =
        nearest(&lines, "let value_7123 = compute(7124);", Meant::Text).unwrap().to_string();
    assert!(shown.starts_with("Closest: line 7124\n"), "{shown}");
    let long = "ab ".repeat(500_000);
    assert!(nearest(&long, &"ab  ".repeat(300_000), Meant::Text).is_some());
    assert!(nearest(&lines, &lines[1..].replace("value", "walue"), Meant::Text).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_is_shown_is_short_and_plain(
        text in "(\\PC|[ab \t\r\n\u{0}\u{1b}é你🦀]){0,80}",
        wanted in "(\\PC|[ab \t\r\né你🦀]){1,40}",
    ) {
        if let Some(nearest) = nearest(&text, &wanted, Meant::Text) {
            let shown = nearest.to_string();
            prop_assert!(shown.chars().count() <= MAX_CHARS);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown);
        }
    }
}

#[test]
fn shows_what_differs_far_from_the_beginning() {
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    check(
        &text,
        &text.replace("81", "eighty-one"),
        expect![[r#"
            Closest: lines 1-100
            want: line eighty-one  (not in the file)
            81 file: line 81  (not in old_string)
            Copy the text exactly as it is in the file."#]],
    );
}

#[test]
fn does_not_take_a_part_of_a_line_for_the_line() {
    let shown = |text, wanted| nearest(text, wanted, Meant::Lines).unwrap().to_string();
    expect![[r#"
        Closest: line 2 (differs only in whitespace: · space, ⇥ tab)
        2 file: ····return·1
        2 want: return·1
        Copy the text exactly as it is in the file."#]]
    .assert_eq(&shown("def f():\n    return 1\n", "return 1"));
    expect![[r#"
        Closest: line 1
        1 file:     return 1 + 2
        1 want:     return 1
        Copy the text exactly as it is in the file."#]]
    .assert_eq(&shown("    return 1 + 2\n", "    return 1"));
}
