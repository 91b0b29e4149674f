//! Tests of `csv::dialect`.

use super::super::splitter::Escape;
use super::detect;

/// Checks the delimiter, the number of columns and the number of records.
fn check(text: &str, expected: (Option<char>, usize, usize)) {
    let sample = detect(text, true, None);
    let delimiter = sample.dialect.delimiter.map(char::from);
    assert_eq!((delimiter, sample.n_columns, sample.records.len()), expected, "{text:?}");
}

#[test]
fn finds_the_delimiter() {
    check("a,b\n1,2\n", (Some(','), 2, 2));
    check("a;b\n1;2\n", (Some(';'), 2, 2));
    check("a\tb\n1\t2\n", (Some('\t'), 2, 2));
    check("a|b\n1|2\n", (Some('|'), 2, 2));
}

#[test]
fn prefers_the_delimiter_that_gives_values() {
    check("1,5;2,5\n3,5;4,5\n", (Some(';'), 2, 2));
    check("Doe, Jane;42\nRoe, Rick;43\n", (Some(';'), 2, 2));
    check("id,tags\n1,a;b\n2,c;d\n", (Some(','), 2, 3));
    check("k|v\n1|a,b\n2|c,d\n", (Some('|'), 2, 3));
}

#[test]
fn finds_no_delimiter_in_a_list() {
    check("name\nAda\nGrace\n", (None, 1, 3));
    check("Ada\nGrace\nLovelace, Ada\nJoan\nAnita\n", (None, 1, 5));
    check("\"a,b\"\n\"c,d\"\n", (None, 1, 2));
    check("", (None, 0, 0));
}

#[test]
fn finds_spaces_around_numbers_only() {
    check("a b c\n1 2 3\n4 5 6\n", (Some(' '), 3, 3));
    check("  1.5   2\n 10.5  12\n", (Some(' '), 2, 2));
    check("9 10 \n9 11\n", (Some(' '), 2, 2));
    check("x y kind\n1 2 red\n3 4 blue\n", (Some(' '), 3, 3));
    check("1 NA 3\n4 5 NaN\n", (Some(' '), 3, 2));
    check("\"mpg\" \"cyl\"\n\"Mazda RX4\" 21 6\n\"Datsun 710\" 22.8 4\n", (Some(' '), 3, 3));
    check("Chapter 1\nChapter 2\n", (None, 1, 2));
    check("one two 3\nfour five 6\nsix nine 7\n", (None, 1, 3));
    check("1 2 3\n4 5\n6 7 8\n", (None, 1, 3));
    check("at\n2024-01-01 12:00:00\n2024-01-02 12:00:00\n", (None, 1, 3));
}

#[test]
fn allows_short_and_long_records() {
    check("a,b,c\n1,2\n3,4,5\n6\n", (Some(','), 3, 4));
    check("a,b,c\n1,2\n3,4\n5,6\n", (Some(','), 3, 4));
    check("a,b\n1,2\n3,4,5\n6,7\n", (Some(','), 2, 4));
}

#[test]
fn reads_the_delimiter_that_a_spreadsheet_names() {
    check("sep=|\na,b|c,d\n", (Some('|'), 2, 2));
}

#[test]
fn distinguishes_comments_from_records() {
    check("# x, y\na,b\n1,2\n", (Some(','), 2, 2));
    check("a,b\n# x, y\n1,2\n", (Some(','), 2, 2));
    check("#a,b\n#c,d\n", (Some(','), 2, 2));
    check("a,b\n#1,x\n#2,y\n", (Some(','), 2, 3));
}

#[test]
fn finds_the_quote() {
    let quote = |text| detect(text, true, None).dialect.quote;
    assert_eq!(quote("a,b\n'x,y',1\n"), Some(b'\''));
    assert_eq!(quote("a,b\nit's,1\n"), Some(b'"'));
    assert_eq!(quote("a,b\n\"it's\",'1'\n"), Some(b'"'));
    assert_eq!(quote("a,b\n'',x\n1,y\n"), Some(b'"'));
    assert_eq!(quote("a,b\n'','x'\n"), Some(b'\''));
    assert_eq!(quote("a,b\n'''x''',1\n"), Some(b'\''));
}

#[test]
fn finds_the_escape() {
    let escape = |text| detect(text, true, None).dialect.escape;
    assert_eq!(escape("a,b\n\"x\\\"y\",1\n"), Escape::Backslash);
    assert_eq!(escape("a,b\n\"x\\\", y\",1\n"), Escape::Backslash);
    assert_eq!(escape("a,b\n\"c:\\\",1\n"), Escape::Doubled);
    assert_eq!(escape("a,b\n\"x\"\"y\",1\n"), Escape::Doubled);
}

#[test]
fn drops_no_record_that_starts_like_a_comment() {
    check("tag,count\n#rust,\ngo,12\npython,30\n", (Some(','), 2, 4));
    check("tag,count\n#rust,unknown\ngo,12\npython,30\n", (Some(','), 2, 4));
    check("tag,count,x\n#rust,n/a,?\ngo,12,3\npython,30,4\n", (Some(','), 3, 4));
    check("text,level\nx,1\n# Intro,1\n## Part,2\ny,2\nz,3\n", (Some(','), 2, 6));
    check("ch,n\na,1\nb,2\n#help,3\n# other,4\nc,5\nd,6\n", (Some(','), 2, 7));
    check("t,n\na,1\nb,2\n#12 is broken,3\n# a note\nc,5\nd,6\n", (Some(','), 2, 7));
    check("@UN\t5\n@EU\t50\nx\t7\n", (Some('\t'), 2, 3));
    check("@SQ\tSN:1\tLN:9\na\tb\tc\n1\t2\t3\n", (Some('\t'), 3, 2));
}

#[test]
fn keeps_decimal_commas_below_a_title() {
    check("Umsatz, netto\nA;1,5\nB;2,5\nC;3,5\n", (Some(';'), 2, 4));
    check("name,year\nA|x,1.5\nB|y,2.5\nC|z,3.5\n", (Some(','), 2, 4));
}
