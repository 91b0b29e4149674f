//! Checks edits of any text: bytes outside them stay, applying the diff gives the new text, an
//! excerpt gives the same result as the whole, and pieces are searched like the whole.
//!
//! An input is a text, a letter for the operation (`s`trings, `r`eplace, `i`nsert, `a`ppend,
//! `f`ind), and its parameters.

mod model;

use std::ops::Range;

use recto_text::diff::{Bounds, OldSide, Texts, changes, unified};
use recto_text::edits::{Edit, Edits};
use recto_text::find::{MAX_PLACES, Needle, StreamFinder, find};
use recto_text::line_range::{Interval, line_to_change};
use recto_text::plan::anchored::{self, FileText};
use recto_text::plan::{self, Growth, Plan, Replacement, TextPart};
use recto_text::{Error, Result, line};
use recto_tools::Served;

use crate::fields::{Fields, pieces};

/// The number of lines of an excerpt around an edit.
const N_AROUND: usize = 3;

/// The memory for what edits add, at most.
const MAX_GROWTH: usize = 1 << 20;

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut fields = Fields::new(input);
    let text = fields.text();
    match fields.bytes().first() {
        Some(b'r') => check_replace(&text, fields),
        Some(b'i') => check_insert(&text, fields),
        Some(b'a') => {
            let content = fields.text();
            let last = line::count(&text);
            // A last line without an ending gets one.
            let lines = last.saturating_sub(1)..last;
            check_plan(&text, Ok(anchored::append(&*text, &content)), lines, |part| {
                Ok(anchored::append(part, &content))
            });
        }
        Some(b'f') => check_find(&text, fields),
        _ => check_strings(&text, fields),
    }
}

fn check_replace(text: &str, mut fields: Fields<'_>) {
    let lines = Interval { start: fields.number(), end: fields.number() };
    let (old, new) = (fields.text(), fields.text());
    let replace =
        |part: TextPart<'_>| anchored::replace(FileText { path: "f", part }, lines, &old, &new);
    if let Ok(within) = lines.to_change("f", line::count(text)) {
        check_plan(text, replace(text.into()), within, replace);
    } else {
        assert!(replace(text.into()).is_err());
    }
}

fn check_insert(text: &str, mut fields: Fields<'_>) {
    let number = fields.number();
    let (anchor, content) = (fields.text(), fields.text());
    let insert = |part: TextPart<'_>| {
        anchored::insert(FileText { path: "f", part }, number, &anchor, &content)
    };
    match line_to_change(number, "f", line::count(text)) {
        Ok(line_idx) => check_plan(text, insert(text.into()), line_idx..line_idx + 1, insert),
        Err(_) => assert!(insert(text.into()).is_err() || (text.is_empty() && number == 1)),
    }
}

fn check_strings(text: &str, mut fields: Fields<'_>) {
    let mut replacements = Vec::new();
    while fields.has_more() && replacements.len() < 8 {
        let (old, new) = (fields.text().into_owned(), fields.text().into_owned());
        let (replaces_all, is_whole_word) = (old.len() % 3 == 2, new.len() % 5 == 4);
        let replacement = Replacement::parse(old, new);
        let replacement = replacement
            .map(|replacement| replacement.everywhere(replaces_all).whole_words(is_whole_word));
        replacements.extend(replacement);
    }
    let strings = |part: TextPart<'_>| plan::strings(part, &replacements, may_grow, || true);
    let planned = strings(text.into());
    if matches!(planned, Err(Error::TooMuchAtOnce { .. })) {
        return;
    }
    check_steps(text, &replacements, &planned);
    let mut hull = None;
    for edit in planned.iter().flat_map(|plan| plan.edits.iter()) {
        let start = hull.map_or(edit.range.start, |(start, _)| start);
        hull = Some((start, edit.range.end));
    }
    if let Some((start, end)) = hull {
        let first = line::count(&text[..line::start_of(text, start)]);
        let last = line::count(&text[..line::end_of(text, end)]);
        check_plan(text, planned, first..last, strings);
    }
}

/// Rejects edits that multiply the text, as tools do for lack of memory.
fn may_grow(growth: Growth) -> Result<()> {
    let Growth { n_added, n_places } = growth;
    match growth.n_memory() <= MAX_GROWTH {
        true => Ok(()),
        false => Err(Error::TooMuchAtOnce { n_places, n_added }),
    }
}

/// Checks that edits made one by one give the same result as all at once.
fn check_steps(text: &str, replacements: &[Replacement], planned: &Result<Plan>) {
    let mut staged = text.to_string();
    for replacement in replacements {
        check_found(&staged, replacement.needle().string);
        match plan::string(&*staged, replacement, |_| Ok::<(), Error>(())) {
            Ok(plan) => staged = plan.edits.apply(&staged),
            Err(error) => {
                assert_short(&error);
                let failed = planned.as_ref().expect_err("one of them fails");
                return assert_short(failed);
            }
        }
    }
    let plan = planned.as_ref().expect("none of them fails");
    assert_eq!(plan.edits.apply(text), staged);
    assert_eq!(plan.found.len(), replacements.len());
}

/// Checks that an error is short, whatever it quotes.
fn assert_short(error: &Error) {
    let message = error.to_string();
    let hint = recto_tools::Error::from(error.clone()).hint(&Served::all());
    let hint = hint.map(|hint| hint.text).unwrap_or_default();
    assert!(message.len() < 8 << 10 && hint.len() < 8 << 10, "{} {}", message.len(), hint.len());
}

fn check_find(text: &str, mut fields: Fields<'_>) {
    let sizes = fields.bytes();
    let mut needles = Vec::new();
    while fields.has_more() && needles.len() < 4 {
        needles.push(fields.text());
    }
    let needles: Vec<&str> =
        needles.iter().map(|needle| &**needle).filter(|needle| !needle.is_empty()).collect();
    let is_whole_word = sizes.len() % 2 == 1;
    let words = needles.iter().map(|string| Needle { string, is_whole_word });
    let words: Vec<Needle<'_>> = words.collect();
    let mut stream = StreamFinder::new(&words);
    pieces(text.as_bytes(), sizes).into_iter().for_each(|piece| stream.push(piece));
    for (needle, streamed) in words.into_iter().zip(stream.finish()) {
        let found = find(text, needle);
        let places = found.iter().flat_map(|found| &found.places);
        let places: Vec<Range<u64>> =
            places.map(|place| place.start as u64..place.end as u64).collect();
        let n_matches = found.as_ref().map_or(0, |found| found.n_matches);
        assert_eq!((streamed.n_matches, streamed.first_few), (n_matches, places), "{needle:?}");
        check_found(text, needle.string);
    }
}

fn check_found(text: &str, needle: &str) {
    let expected = model::find(text, needle);
    let found = find(text, needle);
    assert_eq!(found.as_ref().map_or(0, |found| found.n_matches), expected.len());
    let places = found.map_or(Vec::new(), |found| found.places);
    assert_eq!(places, expected[..expected.len().min(MAX_PLACES)], "{needle:?} in {text:?}");
}

/// Checks the invariants of every plan; `lines` are the lines that it changes, from 0.
fn check_plan(
    text: &str,
    planned: Result<Plan>,
    lines: Range<usize>,
    plan_part: impl Fn(TextPart<'_>) -> Result<Plan>,
) {
    let plan = match planned {
        Ok(plan) => plan,
        Err(error) => return assert_short(&error),
    };
    let after = plan.edits.apply(text);
    check_edits(text, &after, &plan.edits);
    let whole = Texts::whole(text, &after, &plan.edits);
    let diff = unified("f", OldSide::File, &whole, Bounds::NONE);
    if !diff.is_shortened {
        assert_eq!(model::patched(text, &diff.text), after, "{}", diff.text);
    }
    check_changes(text, &after);

    // The same on an excerpt.
    let n_lines = line::count(text);
    let lines_before = lines.start.saturating_sub(N_AROUND);
    let end = (lines.end + N_AROUND).min(n_lines);
    let offset = |line_idx: usize| line::lines(text).take(line_idx).map(str::len).sum::<usize>();
    let (from, to) = (offset(lines_before), offset(end));
    let part =
        TextPart { lines_before, lines_after: n_lines - end, ..TextPart::from(&text[from..to]) };
    let in_part = plan_part(part).expect("an excerpt with all matches has the same plan");
    let moved = |edit: &Edit| Edit {
        range: edit.range.start + from..edit.range.end + from,
        text: edit.text.clone(),
    };
    let moved: Vec<Edit> = in_part.edits.iter().map(moved).collect();
    assert_eq!(moved, plan.edits.iter().cloned().collect::<Vec<_>>());
    assert_eq!((&in_part.found, in_part.kind), (&plan.found, plan.kind));
    let part_after = in_part.edits.apply(part.text);
    let whole = Texts::whole(part.text, &part_after, &in_part.edits);
    let texts = Texts { lines_before, has_other_crlf: text.contains("\r\n"), ..whole };
    let part_diff = unified("f", OldSide::File, &texts, Bounds::NONE);
    assert_eq!((part_diff.text, part_diff.is_shortened), (diff.text, diff.is_shortened));
}

fn check_edits(before: &str, after: &str, edits: &Edits) {
    let (mut kept_from, mut n_after) = (0, 0);
    for edit in edits.iter() {
        let kept = &before[kept_from..edit.range.start];
        assert_eq!(&after[n_after..n_after + kept.len()], kept);
        n_after += kept.len();
        assert_eq!(&after[n_after..n_after + edit.text.len()], edit.text);
        n_after += edit.text.len();
        kept_from = edit.range.end;
    }
    assert_eq!(&after[n_after..], &before[kept_from..]);
    assert_eq!(Edits::whole(before, after).apply(before), after);
}

/// Checks that unchanged lines are the same on both sides.
fn check_changes(before: &str, after: &str) {
    let old: Vec<&str> = line::lines(before).collect();
    let new: Vec<&str> = line::lines(after).collect();
    let (mut old_at, mut new_at) = (0, 0);
    for change in changes(before, after) {
        assert_eq!(old[old_at..change.old_lines.start], new[new_at..change.lines.start]);
        assert_eq!(new[change.lines.clone()].concat(), after[change.bytes.clone()]);
        (old_at, new_at) = (change.old_lines.end, change.lines.end);
    }
    assert_eq!(old[old_at..], new[new_at..]);
}
