//! The documented rules for exact strings, in the plainest code.

use std::ops::Range;

use super::lines::{Match, ending_near, line_by_line, lines, spelled};

/// The result of one edit or several.
pub struct Edited {
    pub text: String,
    pub how: Match,
    /// Where each `old_string` was just before its edit: lines from 1, inclusive.
    pub line_ranges: Vec<(usize, usize)>,
}

/// A replacement of one string by another.
pub type Edit = (String, String);

/// "Edits apply one after another to the staged text."
pub fn edit_all(text: &str, edits: &[Edit]) -> Result<Edited, i32> {
    let mut staged = vec![text.to_string()];
    let mut edited = Edited { text: String::new(), how: Match::Exact, line_ranges: Vec::new() };
    for (index, edit) in edits.iter().enumerate() {
        let before = &staged[index];
        match edit_one(before, edit) {
            Ok((after, how, line_range)) => {
                if how == Match::Eol {
                    edited.how = Match::Eol;
                }
                edited.line_ranges.push(line_range);
                staged.push(after);
            }
            Err(-32010) => return Err(not_found(&staged, edits, &edit.0)),
            Err(code) => return Err(code),
        }
    }
    edited.text = staged.pop().unwrap();
    Ok(edited)
}

type EditedOnce = (String, Match, (usize, usize));

fn edit_one(text: &str, (old, new): &Edit) -> Result<EditedOnce, i32> {
    let place = match &find(text, old)[..] {
        [] => return Err(-32010),
        [only] => only.clone(),
        _ => return Err(-32011),
    };
    let how = if text[place.clone()] == **old { Match::Exact } else { Match::Eol };
    let line_of = |offset: usize| text[..offset].matches('\n').count();
    let (first_line, last_line) = (line_of(place.start), line_of_last(text, &place));
    let stored = lines(text);
    let new = match how {
        _ if !old.contains('\n') => spelled(new, ending_near(&stored, first_line)),
        Match::Exact => new.clone(),
        Match::Eol => {
            let matched: Vec<_> =
                (first_line..=last_line).map(|index| ending_near(&stored, index)).collect();
            let before = first_line.checked_sub(1).and_then(|index| ending_near(&stored, index));
            line_by_line(old, new, &matched, before)
        }
    };
    let after = format!("{}{new}{}", &text[..place.start], &text[place.end..]);
    Ok((after, how, (first_line + 1, last_line + 1)))
}

/// "`line_range.end` is the line of the last character; a final `\n` belongs to its line."
fn line_of_last(text: &str, place: &Range<usize>) -> usize {
    let without_last = &text.as_bytes()[..place.end - 1];
    without_last.iter().filter(|byte| **byte == b'\n').count()
}

/// -32012 is for an `old_string` that occurs in the original, does not occur in the staged text
/// because edit j changed it, and is not edit j's own `old_string`; j is the first edit after which
/// the string no longer occurs.
fn not_found(staged: &[String], edits: &[Edit], old: &str) -> i32 {
    let occurs = |text: &String| !find(text, old).is_empty();
    if !occurs(&staged[0]) {
        return -32010;
    }
    let j = (0..).find(|j| !occurs(&staged[j + 1])).unwrap();
    if edits[j].0 == old { -32010 } else { -32012 }
}

/// "Overlapping occurrences count. In a string with a line break, `\n` and `\r\n` match each other
/// both ways; a match never starts between `\r` and `\n`."
pub fn find(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for (at, _) in text.char_indices() {
        let is_inside_ending = text[at..].starts_with('\n') && text[..at].ends_with('\r');
        if text[at..].starts_with(wanted) && !is_inside_ending {
            places.push(at..at + wanted.len());
        }
    }
    if !wanted.contains('\n') {
        return places;
    }
    let (text, wanted) = (symbols(text), symbols(wanted));
    for window in text.windows(wanted.len()) {
        let place = window[0].0.start..window[window.len() - 1].0.end;
        let is_match = window.iter().zip(&wanted).all(|(one, other)| one.1 == other.1);
        if is_match && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns characters and their positions, with every line ending as one `\n`.
fn symbols(text: &str) -> Vec<(Range<usize>, char)> {
    let mut symbols: Vec<(Range<usize>, char)> = Vec::new();
    for (at, character) in text.char_indices() {
        match symbols.last_mut() {
            Some(last) if character == '\n' && last.1 == '\r' => {
                *last = (last.0.start..at + 1, '\n')
            }
            _ => symbols.push((at..at + character.len_utf8(), character)),
        }
    }
    symbols
}
