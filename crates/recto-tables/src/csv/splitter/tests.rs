//! Tests of `csv::splitter`.

use super::{Dialect, Escape, ParsedLine};

const COMMA: Dialect =
    Dialect { delimiter: Some(b','), quote: Some(b'"'), escape: Escape::Doubled, comment: None };

fn records(dialect: Dialect, text: &str) -> String {
    let mut shown = Vec::new();
    let mut rest = text;
    loop {
        let mut fields = Vec::new();
        let next = match dialect.split(rest, true, &mut fields) {
            ParsedLine::Record(next) => {
                let fields: Vec<String> = fields.iter().map(|field| format!("{field:?}")).collect();
                shown.push(fields.join(" "));
                next
            }
            ParsedLine::Blank(next) => {
                shown.push("blank".into());
                next
            }
            ParsedLine::Comment(next) => {
                shown.push("comment".into());
                next
            }
            ParsedLine::Incomplete => panic!("incomplete although the text is the last"),
            ParsedLine::End => return shown.join("; "),
        };
        rest = &rest[next..];
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(records(COMMA, text), expected, "{text:?}");
}

#[test]
fn splits_at_every_line_ending() {
    check("a,b\nc,d\r\ne,f\rg,h", r#""a" "b"; "c" "d"; "e" "f"; "g" "h""#);
}

#[test]
fn keeps_empty_fields() {
    check("a,,\n,", r#""a" "" ""; "" """#);
}

#[test]
fn reads_quoted_delimiters_and_line_endings() {
    check("\"a,b\",\"c\nd\"\ne,f", r#""a,b" "c\nd"; "e" "f""#);
}

#[test]
fn reads_doubled_quotes() {
    check("\"a\"\"b\",\"\"\"\"\n", r#""a\"b" "\"""#);
}

#[test]
fn reads_backslashes_where_the_dialect_has_them() {
    let dialect = Dialect { escape: Escape::Backslash, ..COMMA };
    assert_eq!(records(dialect, r#""a\"b","c\\","d\n""#), r#""a\"b" "c\\" "d\\n""#);
    check(r#""C:\dir\",1"#, r#""C:\\dir\\" "1""#);
}

#[test]
fn allows_spaces_around_quotes() {
    check("a, \"b,c\" ,d\n", r#""a" "b,c" "d""#);
}

#[test]
fn an_unclosed_quote_is_a_character() {
    check("a,\"b\nc,d", r#""a" "\"b"; "c" "d""#);
    check("5\" pipe,1\n", r#""5\" pipe" "1""#);
}

#[test]
fn quotes_inside_a_quoted_field_are_characters() {
    check("\"the \"big\" one\",1\n", r#""the \"big\" one" "1""#);
    check("\"x\"y,2\nz,3", r#""\"x\"y" "2"; "z" "3""#);
}

#[test]
fn recognises_blank_lines_and_comments() {
    check("\n  \na", r#"blank; blank; "a""#);
    let dialect = Dialect { comment: Some(b'#'), ..COMMA };
    assert_eq!(records(dialect, "# a,b\n\"#\",#\n"), r##"comment; "#" "#""##);
}

#[test]
fn asks_for_more_text_instead_of_guessing() {
    for text in ["a", "a,b", "a,b\r", "\"a\nb", "\"a\"", "\"a\" ", "  ", "a,\""] {
        let mut fields = Vec::new();
        assert_eq!(COMMA.split(text, false, &mut fields), ParsedLine::Incomplete, "{text:?}");
    }
}

#[test]
fn reads_lines_where_there_is_no_delimiter() {
    let dialect = Dialect { delimiter: None, ..COMMA };
    assert_eq!(records(dialect, "a,b\n\"c\nd\"\n"), r#""a,b"; "c\nd""#);
}

/// The records do not depend on how the text is cut into pieces.
#[test]
fn does_not_depend_on_where_the_text_is_cut() {
    let text = "a,\"b\r\n\"\"c\"\r\n\"x\"y,2\rd,\"e\n";
    let expected = records(COMMA, text);
    for cut in 0..text.len() {
        let mut fields = Vec::new();
        let ParsedLine::Record(next) = COMMA.split(&text[..cut], false, &mut fields) else {
            continue;
        };
        let mut whole = Vec::new();
        assert_eq!(COMMA.split(text, true, &mut whole), ParsedLine::Record(next), "{cut}");
        assert_eq!(fields, whole, "{cut}");
    }
    assert_eq!(expected, r#""a" "b\r\n\"c"; "\"x\"y" "2"; "d" "\"e""#);
}

#[test]
fn consecutive_spaces_are_one_delimiter() {
    let spaces = Dialect { delimiter: Some(b' '), ..COMMA };
    assert_eq!(records(spaces, "  1   2 \r\n3 4"), r#""1" "2"; "3" "4""#);
    assert_eq!(records(spaces, "\"a b\"  \"\" x\n"), r#""a b" "" "x""#);
    assert_eq!(records(spaces, "1  \n  \n 2"), r#""1"; blank; "2""#);
    let mut fields = Vec::new();
    for text in ["  ", " 1", "1  ", "1  2"] {
        assert_eq!(spaces.split(text, false, &mut fields), ParsedLine::Incomplete, "{text:?}");
    }
}
