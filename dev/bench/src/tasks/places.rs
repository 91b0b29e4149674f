//! The places of a text among numbered lines, and strings that name each of them alone.

/// The most lines that are added to a place to tell it from others.
const MAX_AROUND: usize = 12;

/// A numbered line of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub line: usize,
    pub text: String,
}

impl Row {
    /// Parses a line such as `  7<tab>text`.
    pub fn parse(line: &str) -> Option<Row> {
        let (number, text) = line.split_once('\t')?;
        Some(Row { line: number.trim().parse().ok()?, text: text.to_string() })
    }
}

/// Replaces every occurrence of a text, or only those that are not part of a longer identifier.
/// Returns the new text and the number of replacements.
pub fn replace(text: &str, old: &str, new: &str, is_whole_word: bool) -> (String, usize) {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (mut replaced, mut end, mut n_places) = (String::new(), 0, 0);
    for (start, found) in text.match_indices(old) {
        let is_longer = is_part(text[..start].chars().next_back())
            || is_part(text[start + found.len()..].chars().next());
        if !(is_whole_word && is_longer) {
            replaced.push_str(&text[end..start]);
            replaced.push_str(new);
            end = start + found.len();
            n_places += 1;
        }
    }
    replaced.push_str(&text[end..]);
    (replaced, n_places)
}

/// Returns edits (old and new text) that together replace a text wherever it occurs in these rows.
/// Each old text occurs once, and none overlaps another. `None` if the rows show too little around a
/// place to tell it from others.
pub fn unique_edits(
    rows: &[Row],
    old: &str,
    new: &str,
    is_whole_word: bool,
) -> Option<Vec<(String, String)>> {
    // Lines that are not shown do not contain the text, so an old text that occurs once among these
    // rows occurs once in the file.
    let mut shown = String::new();
    for (index, row) in rows.iter().enumerate() {
        if index > 0 && rows[index - 1].line + 1 != row.line {
            shown.push('\0');
        }
        shown.push_str(&row.text);
        shown.push('\n');
    }
    let is_place = |row: &Row| replace(&row.text, old, new, is_whole_word).1 > 0;
    let mut edits = Vec::new();
    let mut free = 0;
    for place in 0..rows.len() {
        if place < free || !is_place(&rows[place]) {
            continue;
        }
        let mut windows =
            (0..MAX_AROUND).flat_map(|n| (0..=n).map(move |before| (before, n - before)));
        let (window, end) = windows.find_map(|(before, after)| {
            let start = place.checked_sub(before).filter(|start| *start >= free)?;
            let window = rows.get(start..=place + after)?;
            if window.windows(2).any(|pair| pair[0].line + 1 != pair[1].line) {
                return None;
            }
            let lines: Vec<_> = window.iter().map(|row| &*row.text).collect();
            let window = lines.join("\n");
            let is_unique = shown.matches(&window).count() == 1;
            is_unique.then_some((window, place + after + 1))
        })?;
        let changed = replace(&window, old, new, is_whole_word).0;
        edits.push((window, changed));
        free = end;
    }
    Some(edits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rows(lines: &[(usize, &str)]) -> Vec<Row> {
        lines.iter().map(|&(line, text)| Row { line, text: text.into() }).collect()
    }

    #[test]
    fn whole_words_leave_longer_identifiers_alone() {
        assert_eq!(replace("Ab aAb Ab_ Ab::Ab", "Ab", "x", true), ("x aAb Ab_ x::x".into(), 3));
        assert_eq!(replace("Ab aAb", "Ab", "x", false), ("x ax".into(), 2));
    }

    #[test]
    fn a_place_is_named_by_as_few_lines_as_possible() {
        let rows = rows(&[(1, "a"), (2, "old,"), (7, "b"), (8, "old,"), (9, "old;")]);
        let edits = unique_edits(&rows, "old", "new", true).unwrap();
        let expected = [("a\nold,", "a\nnew,"), ("old,\nold;", "new,\nnew;")];
        assert_eq!(edits, expected.map(|(old, new)| (old.to_string(), new.to_string())));
    }

    #[test]
    fn places_that_look_alike_are_not_named() {
        let rows = rows(&[(1, "a"), (2, "old"), (7, "a"), (8, "old")]);
        assert_eq!(unique_edits(&rows, "old", "new", true), None);
    }
}
