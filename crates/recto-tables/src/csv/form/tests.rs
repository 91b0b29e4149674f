//! Tests of `csv::form`.

use super::{counts_on, is_alike, is_value};

#[test]
fn distinguishes_values_from_names() {
    let values = [
        "ada@example.org",
        "https://example.org",
        "git+ssh://host/x",
        "6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "00731",
        " TRUE ",
        "False",
    ];
    let names = [
        "",
        "0",
        "7",
        "@",
        "name",
        "user@host",
        "@example.org",
        "a@b@c.de",
        "a@.de",
        "a@1.2",
        "://",
        "x://",
        "ratio a://b",
        "6f9619ff-8b86-d011-b42d-00c04fc964f",
        "6f9619ff-8b86-d011-b42d_00c04fc964ff",
        "0x10",
        "t",
        "no",
    ];
    for text in values {
        assert!(is_value(text), "{text:?}");
    }
    for text in names {
        assert!(!is_value(text), "{text:?}");
    }
}

#[test]
fn recognises_the_same_notation() {
    check(is_alike, "a@example.org", "b@example.com", true);
    check(is_alike, "x://a", " https://b/c", true);
    check(is_alike, "007", "12", true);
    check(is_alike, "a@example.org", "a", false);
    check(is_alike, "a@example.org", "https://example.org", false);
    check(is_alike, "name", "name", false);
    check(is_alike, "", "", false);
}

#[test]
fn recognises_numbered_values() {
    check(counts_on, "ORD-7", "ORD-12", true);
    check(counts_on, "v1", " v22", true);
    check(counts_on, "$7.50", "$1.00", true);
    check(counts_on, "9 km", "10 km", true);
    check(counts_on, "é1", "é2", true);
    check(counts_on, "c1", "v1", false);
    check(counts_on, "ORD-7", "ord-7", false);
    check(counts_on, "v1", "v", false);
    check(counts_on, "v1", "v1.5", false);
    check(counts_on, "name", "name", false);
    check(counts_on, "", "", false);
}

/// Checks both orders of the texts.
fn check(is_so: fn(&str, &str) -> bool, one: &str, other: &str, is_expected: bool) {
    assert_eq!(is_so(one, other), is_expected, "{one:?} {other:?}");
    assert_eq!(is_so(other, one), is_expected, "{other:?} {one:?}");
}
