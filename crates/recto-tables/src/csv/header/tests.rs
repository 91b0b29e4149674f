//! Cases of `csv::header`.

use super::super::dialect::detect;
use super::Layout;

/// The header, or `-`, and how many records stand above the values.
fn check(text: &str, header: &str, n_skipped: usize) {
    let layout = Layout::find(text, &detect(text, true, None));
    let found = layout.header.map_or("-".into(), |names| names.join("|"));
    assert_eq!((found.as_str(), layout.n_skipped), (header, n_skipped), "{text:?}");
}

#[test]
fn takes_text_above_other_types_for_a_header() {
    check("a,b\n1,x\n2,y\n", "a|b", 1);
    check("1,x\n2,y\n", "-", 0);
    check("2024-01-01,x\n2024-01-02,y\n", "-", 0);
}

#[test]
fn takes_a_day_above_timestamps_for_a_value() {
    check("1,2024-01-31\n2,2024-02-29 23:59\n", "-", 0);
    check("1,2024-01-31\n2,2024-02-29 23:59\n3,2024-03-01 08:30\n4,2024-03-02\n", "-", 0);
    check("1,2024-02-29 23:59\n2,2024-03-01\n3,2024-03-02\n", "-", 0);
    check("id,at\n1,2024-01-31\n2,2024-02-29 23:59\n3,2024-03-01 08:30\n", "id|at", 1);
}

#[test]
fn takes_text_above_text_for_a_header() {
    check("a,b\nx,y\n", "a|b", 1);
    check("name\nAda\n", "name", 1);
    check("a,b\n", "a|b", 1);
}

#[test]
fn takes_words_that_occur_again_for_values() {
    check("red,apple\nred,cherry\n", "-", 0);
    check("Ada\nGrace\nAda\n", "-", 0);
}

#[test]
fn takes_a_placeholder_for_a_missing_value() {
    check("N/A,5\n3,4\n5,6\n", "-", 0);
}

#[test]
fn takes_years_above_other_numbers_for_names() {
    check("k,2019,2020\na,1,2\n", "k|2019|2020", 1);
    check("k,2019\na,2020\n", "-", 0);
}

#[test]
fn takes_delimiters_without_names_for_a_header_or_a_title() {
    check(",\n1,2\n3,4\n", "|", 1);
    check(",,\n1,2,3\n", "-", 1);
}

#[test]
fn leaves_the_row_names_without_a_name() {
    check("a,b\n1,x,3\n2,y,6\n", "|a|b", 1);
    check("a,b\n1,x,\n2,y,\n", "a|b", 1);
}

#[test]
fn takes_fractions_above_counts_for_names() {
    check(",1.5,2.5,3.5\n9.4,0,1,0\n", "|1.5|2.5|3.5", 1);
    check("1.5,2.5\n2,3\n", "-", 0);
}

#[test]
fn skips_titles() {
    check("Title\na,b\n1,2\n3,4\n", "a|b", 2);
    check("Title,,\n,,\na,b,c\n1,2,3\n", "a|b|c", 3);
    check("sep=,\na,b\n1,2\n", "a|b", 2);
}

#[test]
fn finds_a_header_in_a_comment() {
    check("#a\tb\n1\t2\n3\t4\n", "#a|b", 0);
    check("# a,b\n1,2\n3,4\n", "a|b", 0);
    check("# x, y\na,b\n1,2\n", "a|b", 1);
}

#[test]
fn allows_a_header_that_is_too_short() {
    check("a,b\n1,2,3,4\n4,5,6,7\n7,8,9,0\n", "a|b", 1);
}
