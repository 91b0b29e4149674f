//! A divided text behaves like an undivided one.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::super::endings::of_replacement;
use super::*;

type Step = (String, String, bool, bool);

/// Applies steps to a text in chunks of this size: what was found by each step, and the result.
fn edited(text: &str, steps: &[Step], n_bytes: usize) -> (Vec<(usize, Vec<LineRange>)>, String) {
    let needle = |(old, _, is_whole_word, _): &'_ Step| (old.clone(), *is_whole_word);
    let needles: Vec<(String, bool)> = steps.iter().map(needle).collect();
    let needles = needles
        .iter()
        .map(|(string, is_whole_word)| Needle { string, is_whole_word: *is_whole_word });
    let mut staged = Staged::with_chunks(text.into(), needles.clone(), n_bytes);
    let mut found = Vec::new();
    for (needle, (old, new, _, replaces_all)) in needles.zip(steps) {
        let mut all = Vec::new();
        staged.for_each(needle, |place| all.push(place));
        let places = match (*replaces_all, &all[..]) {
            (true, _) => staged.find_all(needle, all.len()).unwrap(),
            (false, [place]) => vec![place.clone()],
            (false, _) => Vec::new(),
        };
        let shown = all.iter().zip(staged.lines(&all));
        let shown: Vec<Occurrence> =
            shown.map(|(place, lines)| staged.occurrence(place, lines.start)).collect();
        assert!(shown.iter().all(|shown| shown.column.is_some() || shown.text.len() <= 400));
        found.push((all.len(), staged.lines(&places)));
        staged.replace(&places, |near, matched| of_replacement(near, matched, old, new));
    }
    let after = staged.whole().into_owned();
    assert_eq!(staged.into_edits().apply(text), after);
    (found, after)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let old = prop_oneof!["[ab\r\n]{1,3}", "[abä]{1,2}", "[ab]{0,2}\r?\n[abä]{0,9}\n?"];
    let step = (old, "[abä\r\n]{0,4}", any::<bool>(), any::<bool>());
    proptest::collection::vec(step, 1..8)
        .prop_map(|steps| steps.into_iter().filter(|step| !step.0.is_empty()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn chunks_do_not_change_the_result(
        text in "[abä_ ]{0,9}([abä]{0,3}\r?\n){0,12}[ab]{0,9}",
        steps in steps(),
        n_bytes in 1usize..12,
    ) {
        prop_assert_eq!(edited(&text, &steps, n_bytes), edited(&text, &steps, usize::MAX));
    }
}
