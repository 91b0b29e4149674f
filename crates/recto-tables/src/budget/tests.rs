//! Tests of `budget`.

use super::{Budget, cut};

#[test]
fn cuts_between_characters() {
    assert_eq!(cut("äöüß", 2), "äö… (+2 characters)");
}

#[test]
fn keeps_a_table_that_fits() {
    assert_eq!(cut("äöüß", 4), "äöüß");
}

#[test]
fn admits_the_first_row_whatever_its_size() {
    let mut budget = Budget::new(10, 5);
    assert!(budget.admits(1_000, 1));
    assert!(!budget.admits(1, 1));
}

#[test]
fn admits_no_later_row_after_one_that_did_not_fit() {
    let mut budget = Budget::new(10, 20);
    assert!(budget.admits(5, 1));
    assert!(!budget.admits(50, 1));
    assert!(!budget.admits(1, 1));
    assert!(budget.is_spent());
}
