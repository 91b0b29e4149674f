//! Finds a string and applies a diff in the simplest way, slow and easy to review.

use std::ops::Range;

use recto_text::line;

/// Returns every match of a string, with any line endings if it contains a line break.
pub fn find(text: &str, needle: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_inside_ending = |at: usize| at > 0 && bytes[at - 1..].starts_with(b"\r\n");
    let mut places: Vec<Range<usize>> = (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(needle.as_bytes()) && !is_inside_ending(*at))
        .map(|at| at..at + needle.len())
        .collect();
    if !needle.contains('\n') {
        return places;
    }
    let (haystack, wanted) = (symbols(bytes), symbols(needle.as_bytes()));
    let end = |index: usize| haystack.get(index).map_or(bytes.len(), |symbol| symbol.0);
    let is_same = |window: &[(usize, u8)]| window.iter().zip(&wanted).all(|(a, b)| a.1 == b.1);
    let folded = haystack.windows(wanted.len()).enumerate().filter(|(_, window)| is_same(window));
    places.extend(folded.map(|(index, _)| end(index)..end(index + wanted.len())));
    places.sort_by_key(|place| (place.start, place.end));
    places.dedup();
    places
}

/// Returns the bytes of a text and their positions, with `\r\n` as one.
fn symbols(bytes: &[u8]) -> Vec<(usize, u8)> {
    let is_dropped = |at: usize| bytes[at..].starts_with(b"\r\n");
    let mut symbols: Vec<(usize, u8)> = Vec::new();
    for (at, byte) in bytes.iter().enumerate().filter(|(at, _)| !is_dropped(*at)) {
        let start = if at > 0 && is_dropped(at - 1) { at - 1 } else { at };
        symbols.push((start, *byte));
    }
    symbols
}

/// Applies a unified diff and checks every line of it.
pub fn patched(before: &str, diff: &str) -> String {
    let old: Vec<&str> = line::lines(before).collect();
    let mut after = String::new();
    let mut at = 0;
    let mut rows = diff.split_inclusive('\n').peekable();
    while let Some(row) = rows.next() {
        if row.starts_with("--- ") || row.starts_with("+++ ") {
            continue;
        }
        let (start, n_old, n_new) = hunk(row);
        let first = if n_old == 0 { start } else { start - 1 };
        after.extend(old[at..first].iter().copied());
        at = first;
        let (mut n_gone, mut n_come) = (0, 0);
        while n_gone < n_old || n_come < n_new || rows.peek().is_some_and(|row| is_mark(row)) {
            let row = rows.next().expect("a hunk has as many lines as its header says");
            let mut content = &row[1..];
            if rows.peek().is_some_and(|next| is_mark(next)) {
                rows.next();
                content = content.strip_suffix('\n').expect("every row ends");
            }
            let kind = &row[..1];
            if kind != "+" {
                assert_eq!(old[at], content, "a removed or context line matches the old text");
                (at, n_gone) = (at + 1, n_gone + 1);
            }
            if kind != "-" {
                after.push_str(content);
                n_come += 1;
            }
        }
        assert_eq!((n_gone, n_come), (n_old, n_new), "{row}");
    }
    after.extend(old[at..].iter().copied());
    after
}

fn is_mark(row: &str) -> bool {
    row.starts_with('\\')
}

/// Parses `@@ -3,2 +3 @@` into its start and the number of lines before and after.
fn hunk(row: &str) -> (usize, usize, usize) {
    let mut words = row.split(' ').skip(1);
    let mut range = |sign| {
        let word = words.next().and_then(|word: &str| word.strip_prefix(sign));
        let word = word.unwrap_or_else(|| panic!("{row:?} begins no hunk"));
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        let number = |text: &str| text.parse().expect("a hunk has numbers");
        (number(start), number(count))
    };
    let ((start, n_old), (_, n_new)) = (range('-'), range('+'));
    (start, n_old, n_new)
}
