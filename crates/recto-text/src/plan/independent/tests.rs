//! The one-pass plan equals the sequential plan.

#![allow(clippy::unwrap_used)]

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::super::strings::one_by_one;
use super::*;

/// Returns a word that usually occurs once.
fn word(n: usize) -> String {
    format!("w{n:02}z")
}

/// A text of words in order, sometimes one twice, with lines of different lengths.
fn text() -> impl Strategy<Value = String> {
    let end = prop_oneof![5 => Just("\n"), 1 => Just("\r\n"), 2 => Just(" ")];
    let word = (0usize..400, 4usize..12, end);
    proptest::collection::vec(word, 60).prop_map(|words| {
        let mut text = String::new();
        for (place, (number, n_filler, end)) in words.into_iter().enumerate() {
            text.push_str(&self::word(if number < 2 { number } else { place }));
            text.push_str(&" ab".repeat(n_filler));
            text.push_str(end);
        }
        text
    })
}

/// Replacements of some of the words, in any order.
fn replacements() -> impl Strategy<Value = Vec<Replacement>> {
    let new = prop_oneof![
        20 => "[xy]{0,6}",
        4 => Just("x\ny".to_string()),
        4 => Just("x\r\ny\n".to_string()),
        1 => (0usize..60).prop_map(word),
        1 => (0usize..60).prop_map(|n| word(n)[..3].to_string()),
    ];
    let olds = proptest::sample::subsequence((0..60).collect::<Vec<_>>(), 8..14).prop_shuffle();
    let details = proptest::collection::vec((0usize..9, new), 14);
    (olds, details).prop_map(|(olds, details)| {
        let edits = olds.into_iter().zip(details).map(|(n, (kind, new))| {
            let old = match kind {
                0 => format!("{} ab", word(n)),
                1 => format!("ab\n{}", word(n)),
                _ => word(n),
            };
            Replacement::parse(old, new)
        });
        edits.filter_map(Result::ok).collect()
    })
}

#[test]
fn one_pass_plans_equal_sequential_plans() {
    let n_planned = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(3_000));
    let checked =
        runner.run(&(text(), replacements(), 0usize..3), |(text, replacements, lines_before)| {
            let part = TextPart {
                text: &text,
                lines_before,
                lines_after: lines_before,
                ..text.as_str().into()
            };
            if let Some(plan) = plan(part, &replacements) {
                n_planned.set(n_planned.get() + 1);
                let expected = one_by_one::<crate::Error>(part, &replacements, || Ok(()));
                prop_assert_eq!(Ok(plan), expected);
            }
            Ok(())
        });
    checked.unwrap();
    // Otherwise the test proves nothing.
    assert!(n_planned.get() > 200, "only {} were planned at once", n_planned.get());
}

#[test]
fn order_dependent_replacements_are_not_planned() {
    let filler = "-".repeat(40);
    let words: Vec<String> = (0..10).map(word).collect();
    let text = words.join(&filler);
    let edits = |special: (usize, &str, &str)| -> Vec<Replacement> {
        let edit = |(index, word): (usize, &String)| match index == special.0 {
            true => Replacement::parse(special.1.into(), special.2.into()).unwrap(),
            false => Replacement::parse(word.clone(), "new".into()).unwrap(),
        };
        words.iter().enumerate().map(edit).collect()
    };
    let is_planned = |special| plan(text.as_str().into(), &edits(special)).is_some();
    assert!(is_planned((9, "w09z", "x")));
    // New text that contains a later string, alone or with its surroundings.
    assert!(!is_planned((0, "w00z", "w05z")));
    assert!(!is_planned((0, "w00z-", "w05z")));
    // A later edit that creates an earlier string is harmless.
    assert!(is_planned((9, "w09z", "w05z")));
    // Missing, duplicate, too close, too short.
    assert!(!is_planned((3, "w99z", "x")));
    assert!(!is_planned((3, "----", "x")));
    assert!(!is_planned((3, "w02z-", "x")));
    assert!(!is_planned((3, "w03", "x")));
}
