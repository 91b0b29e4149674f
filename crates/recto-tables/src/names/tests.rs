//! Tests of `names`.

use super::unique;

fn check<const N: usize>(names: [&str; N], expected: [&str; N]) {
    assert_eq!(unique(names, N), expected);
}

#[test]
fn numbers_duplicate_names() {
    check(["a", "a", "a"], ["a", "a_1", "a_2"]);
}

#[test]
fn avoids_names_that_already_look_numbered() {
    check(["a", "a_1", "a"], ["a", "a_1", "a_1_1"]);
}

#[test]
fn numbers_columns_without_a_name() {
    check(["a", " ", ""], ["a", "column1", "column2"]);
}

#[test]
fn pads_the_numbers_of_many_columns() {
    assert_eq!(unique([""; 12], 12)[3], "column03");
    assert_eq!(unique([""; 4], 12)[3], "column03");
}

#[test]
fn cuts_a_long_name_and_says_by_how_much() {
    let (fits, long) = ("ä".repeat(200), "ä".repeat(203));
    let cut = format!("{fits}… (+3 characters)");
    check([&fits, &long], [&fits, &cut]);
}

#[test]
fn trims_and_keeps_case() {
    check([" a ", "A"], ["a", "A"]);
}
