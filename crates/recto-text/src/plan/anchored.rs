//! Plans changes of whole lines that the caller names by number and by their current text.

use std::ops::Range;

use crate::edits::Edits;
use crate::error::{Error, NamedAs, Occurrence, Result, Whereabouts};
use crate::find::{MAX_PLACES, MatchKind, find};
use crate::line::{self, Ending, LineRange};
use crate::line_range::{Interval, line_to_change};
use crate::nearest::{Meant, nearest};
use crate::plan::{Found, Plan, TextPart, endings};
use crate::quote::is_same_but_whitespace;

const BOM: char = '\u{feff}';

/// A file's text, with its path for messages.
#[derive(Debug, Clone, Copy)]
pub struct FileText<'a> {
    /// The path as the caller gave it.
    pub path: &'a str,
    /// The text, or the part of it that contains the lines.
    pub part: TextPart<'a>,
}

/// Plans to replace `old`, which must match exactly once inside `lines`, with `new`.
///
/// `old` and `new` may omit the ending of their last line; the existing ending then stays.
pub fn replace(source: FileText<'_>, lines: Interval, old: &str, new: &str) -> Result<Plan> {
    let text = source.part.text;
    let table = LineTable::new(source.part);
    let within = lines.to_change(source.path, table.total());
    let within = table.indices(within.map_err(|error| with_text(&table, lines, old, error))?);
    let occurs = |old: &str| !table.find(&lines_of(old), within.clone()).is_empty();
    let [old, new] = without_bom([old, new], occurs);
    let old_lines = lines_of(old);
    let places = table.find(&old_lines, within.clone());
    if places.is_empty() {
        return Err(mismatch(&table, &old_lines, within));
    }
    if places.len() > 1 {
        return Err(Error::AmbiguousString {
            n_matches: places.len(),
            old_string: old.into(),
            places: table.occurrences(&places),
            n_lines: Some(old_lines.len()),
        });
    }

    let found = places[0]..places[0] + old_lines.len();
    let range = table.bytes(found.clone());
    let kind = table.kind(&old_lines, found.start);
    let last = table.line(found.end - 1);
    let last_ending = &last[line::without_ending(last).len()..];
    let names_last_ending = old.ends_with('\n');
    // Whole lines stay whole lines, except where the text ends without a line ending.
    let is_free_end = range.end == text.len() && (last_ending.is_empty() || names_last_ending);
    let needs_ending = !new.is_empty() && !new.ends_with('\n') && !is_free_end;
    let added_ending = if needs_ending { last_ending } else { "" };
    let mut new = match (old.contains('\n'), kind) {
        (false, _) => endings::with_ending(new, source.part.ending_at(range.start)),
        (true, MatchKind::Exact) => new.to_string(),
        (true, MatchKind::Eol) if needs_ending => {
            let open = range.start..range.end - last_ending.len();
            let old = old_lines[..old_lines.len() - 1].concat()
                + line::without_ending(old_lines[old_lines.len() - 1]);
            endings::by_line(&(source.part, &open), &text[open.clone()], &old, new)
        }
        (true, MatchKind::Eol) if names_last_ending => {
            endings::by_line(&(source.part, &range), &text[range.clone()], old, new)
        }
        (true, MatchKind::Eol) => {
            let old = format!("{old}{last_ending}");
            endings::by_line(&(source.part, &range), &text[range.clone()], &old, new)
        }
    };
    new.push_str(added_ending);
    Ok(plan(text, range, &new, kind, table.numbers(found)))
}

/// Notes in the error for a range past the end whether `old` is in the lines that exist.
fn with_text(table: &LineTable<'_>, lines: Interval, old: &str, mut error: Error) -> Error {
    if let Error::NoSuchLine { path, named_as: NamedAs::End { has_text, .. }, .. } = &mut error {
        let rest = Interval { end: 0, ..lines }.to_change(path, table.total());
        *has_text =
            rest.is_ok_and(|rest| !table.find(&lines_of(old), table.indices(rest)).is_empty());
    }
    error
}

/// Plans to insert `content` as whole lines before line `number`, whose text must be `anchor`.
pub fn insert(source: FileText<'_>, number: i64, anchor: &str, content: &str) -> Result<Plan> {
    let text = source.part.text;
    let table = LineTable::new(source.part);
    let (line, line_idx) = if table.total() == 0 && number == 1 {
        ("", 0)
    } else {
        let line_idx = line_to_change(number, source.path, table.total())?;
        let line_idx = table.indices(line_idx..line_idx).start;
        (table.line(line_idx), line_idx)
    };
    let [anchor, content] =
        without_bom([anchor, content], |anchor| matches(line, anchor).is_some());
    let Some(kind) = matches(line, anchor) else {
        return Err(Error::TextMismatch {
            line: table.number(line_idx),
            found: line.into(),
            wanted: anchor.into(),
            whereabouts: whereabouts_of_anchor(&table, anchor, line_idx),
        });
    };
    let offset = table.offset(line_idx);
    let ending = source.part.ending_at(offset);
    let is_literal = anchor.contains('\n') && kind == MatchKind::Exact;
    let mut content = endings::with_ending(content, ending.filter(|_| !is_literal));
    if !content.ends_with('\n') {
        content.push_str(ending.unwrap_or(Ending::Lf).as_str());
    }
    Ok(plan(text, offset..offset, &content, kind, table.numbers(line_idx..line_idx + 1)))
}

/// Plans to append `content` after the last line, on its own line.
///
/// It ends with a line ending if the text does. An empty text gets the content as it is.
pub fn append<'a>(part: impl Into<TextPart<'a>>, content: &str) -> Plan {
    let part = part.into();
    let text = part.text;
    let ending = part.ending_before(text.len());
    let mut content = endings::with_ending(content, ending);
    let separator = ending.unwrap_or(Ending::Lf).as_str();
    if text.ends_with('\n') && !content.ends_with('\n') {
        content.push_str(separator);
    } else if !text.is_empty() && !text.ends_with('\n') {
        content.insert_str(0, separator);
    }
    let last = part.lines_before + line::count(text) + 1;
    let lines = LineRange { start: last, end: last };
    plan(text, text.len()..text.len(), &content, MatchKind::Exact, lines)
}

fn plan(text: &str, range: Range<usize>, new: &str, kind: MatchKind, lines: LineRange) -> Plan {
    let mut edits = Edits::none(text);
    edits.then(range, new);
    Plan { edits, found: vec![Found { is_all: false, n_places: 1, lines: vec![lines] }], kind }
}

/// Removes a leading U+FEFF from the text that a caller names and from the new text, because some
/// programs put one before any text. Keeps it if the file has a line that starts with it.
fn without_bom([named, new]: [&str; 2], occurs: impl Fn(&str) -> bool) -> [&str; 2] {
    if named.starts_with(BOM) && occurs(named) {
        return [named, new];
    }
    [named, new].map(|text| text.strip_prefix(BOM).unwrap_or(text))
}

fn lines_of(old: &str) -> Vec<&str> {
    if old.is_empty() { vec![""] } else { line::lines(old).collect() }
}

/// Compares a line of the file with one from the caller. The caller may omit the ending; if given,
/// the file must have one, in either form.
fn matches(line: &str, wanted: &str) -> Option<MatchKind> {
    let is_same_text = line::without_ending(line) == line::without_ending(wanted);
    if line == wanted || (is_same_text && !wanted.ends_with('\n')) {
        Some(MatchKind::Exact)
    } else if is_same_text && line.ends_with('\n') {
        Some(MatchKind::Eol)
    } else {
        None
    }
}

/// The lines of a text and their offsets.
struct LineTable<'a> {
    part: TextPart<'a>,
    /// The start of each line of the part, and the end of the last one.
    offsets: Vec<usize>,
}

impl<'a> LineTable<'a> {
    fn new(part: TextPart<'a>) -> LineTable<'a> {
        let text = part.text;
        let mut offsets = vec![0];
        offsets.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|newline| newline + 1));
        if offsets.last() != Some(&text.len()) {
            offsets.push(text.len());
        }
        LineTable { part, offsets }
    }

    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns how many lines the whole text has.
    fn total(&self) -> usize {
        self.part.lines_before + self.count() + self.part.lines_after
    }

    /// Converts lines of the whole text to lines of the part, which must contain them.
    fn indices(&self, lines: Range<usize>) -> Range<usize> {
        lines.start - self.part.lines_before..lines.end - self.part.lines_before
    }

    /// Returns the number of a line in the whole text, from 1.
    fn number(&self, line_idx: usize) -> usize {
        self.part.lines_before + line_idx + 1
    }

    fn numbers(&self, lines: Range<usize>) -> LineRange {
        LineRange { start: self.number(lines.start), end: self.number(lines.end) - 1 }
    }

    fn first_few(&self, places: &[usize]) -> Vec<usize> {
        places.iter().take(MAX_PLACES).map(|line_idx| self.number(*line_idx)).collect()
    }

    fn occurrences(&self, places: &[usize]) -> Vec<Occurrence> {
        let places = places.iter().take(MAX_PLACES);
        places
            .map(|place| Occurrence::new(self.number(*place), Some(0), "", self.line(*place)))
            .collect()
    }

    fn offset(&self, line_idx: usize) -> usize {
        self.offsets[line_idx]
    }

    fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        self.offsets[lines.start]..self.offsets[lines.end]
    }

    fn line(&self, line_idx: usize) -> &'a str {
        &self.part.text[self.bytes(line_idx..line_idx + 1)]
    }

    /// Returns the lines inside `within` at which `wanted` starts, with any line endings.
    fn find(&self, wanted: &[&str], within: Range<usize>) -> Vec<usize> {
        let Some((last, rest)) = wanted.split_last() else { return Vec::new() };
        // Only the last line may lack its ending.
        let is_end = |start: &usize| matches(self.line(start + rest.len()), last).is_some();
        let among = within.start..within.end.saturating_sub(1).max(within.start);
        let rest: Vec<&str> = rest.iter().map(|line| line::without_ending(line)).collect();
        let text_of = |line_idx| line::without_ending(self.line(line_idx));
        let mut places = occurrences(&rest, among, text_of);
        places.retain(|start| start + rest.len() < within.end && is_end(start));
        places
    }

    /// Returns how `wanted` matches the lines that start at `start`.
    fn kind(&self, wanted: &[&str], start: usize) -> MatchKind {
        let kinds = wanted.iter().zip(start..);
        let kinds = kinds.filter_map(|(wanted, line_idx)| matches(self.line(line_idx), wanted));
        kinds.max().unwrap_or(MatchKind::Exact)
    }
}

/// Finds a sequence of lines in linear time with the Knuth–Morris–Pratt algorithm, because files
/// can have thousands of equal lines. An empty sequence matches everywhere, including after the
/// last line.
fn occurrences<'a>(
    wanted: &[&str],
    among: Range<usize>,
    line: impl Fn(usize) -> &'a str,
) -> Vec<usize> {
    if wanted.is_empty() {
        return (among.start..=among.end).collect();
    }
    // For each line, the length of the longest proper prefix of `wanted` that ends there.
    let mut borders = vec![0; wanted.len()];
    let mut n_same = 0;
    for index in 1..wanted.len() {
        while n_same > 0 && wanted[n_same] != wanted[index] {
            n_same = borders[n_same - 1];
        }
        n_same += usize::from(wanted[n_same] == wanted[index]);
        borders[index] = n_same;
    }
    let mut places = Vec::new();
    let mut n_same = 0;
    for line_idx in among {
        let line = line(line_idx);
        while n_same > 0 && (n_same == wanted.len() || wanted[n_same] != line) {
            n_same = borders[n_same - 1];
        }
        n_same += usize::from(wanted[n_same] == line);
        if n_same == wanted.len() {
            places.push(line_idx + 1 - wanted.len());
        }
    }
    places
}

/// Returns the error for lines that do not match, with other occurrences of the text.
fn mismatch(table: &LineTable<'_>, old: &[&str], within: Range<usize>) -> Error {
    let starts = table.first_few(&table.find(old, 0..table.count()));
    let whereabouts = match starts.is_empty() {
        false => Whereabouts::Lines { starts, n_lines: old.len() },
        true => whereabouts(table, &old.concat(), within.clone(), Meant::Lines),
    };
    if within.len() > old.len() {
        return Error::TextNotInLines {
            lines: table.numbers(within),
            wanted: line::without_ending(old[0]).into(),
            whereabouts,
        };
    }
    let differs = |index: &usize| {
        let line_idx = within.start + index;
        line_idx >= table.count() || matches(table.line(line_idx), old[*index]).is_none()
    };
    let Some(index) = (0..old.len()).find(differs) else {
        return Error::RangeTooShort {
            line: table.number(within.start),
            n_covered: within.len(),
            n_lines: old.len(),
        };
    };
    let line_idx = within.start + index;
    Error::TextMismatch {
        line: table.number(line_idx),
        found: if line_idx < table.count() { table.line(line_idx).into() } else { String::new() },
        wanted: old[index].into(),
        whereabouts,
    }
}

fn whereabouts_of_anchor(table: &LineTable<'_>, anchor: &str, line_idx: usize) -> Whereabouts {
    if lines_of(anchor).len() > 1 {
        return Whereabouts::SeveralLines;
    }
    let lines = table.first_few(&table.find(&[anchor], 0..table.count()));
    if !lines.is_empty() {
        return Whereabouts::Line(lines);
    }
    let within = line_idx..(line_idx + 1).min(table.count());
    whereabouts(table, anchor, within, Meant::Line)
}

/// Locates a text that does not occur as whole lines.
fn whereabouts(
    table: &LineTable<'_>,
    wanted: &str,
    within: Range<usize>,
    meant: Meant,
) -> Whereabouts {
    if let Some(part) = part_of(table, wanted, within, meant) {
        return part;
    }
    // The closest match in a part need not be the closest in the whole text.
    if !table.part.is_whole() {
        return Whereabouts::Unknown;
    }
    match nearest(table.part.text, wanted, meant) {
        Some(nearest) => Whereabouts::Near(nearest),
        None => Whereabouts::Nowhere,
    }
}

/// Finds lines that contain a text and more, preferring those inside `within`. Returns `None` if
/// the rest of the lines is whitespace.
fn part_of(
    table: &LineTable<'_>,
    wanted: &str,
    within: Range<usize>,
    meant: Meant,
) -> Option<Whereabouts> {
    const MAX_SHOWN: usize = 100;
    let text = table.part.text;
    if wanted.trim().is_empty() {
        return None;
    }
    let within = table.bytes(within);
    let inside = find(&text[within.clone()], wanted).map(|found| {
        let place = &found.places[0];
        within.start + place.start..within.start + place.end
    });
    let place = inside.or_else(|| Some(find(text, wanted)?.places[0].clone()))?;
    let LineRange { start, end } = line::range_of(text, &place);
    let whole = &text[table.bytes(start - 1..end)];
    if is_same_but_whitespace(whole, wanted) {
        return None;
    }
    let line = line::without_ending(whole);
    let is_short = start == end && line.chars().nth(MAX_SHOWN).is_none();
    Some(Whereabouts::PartOf {
        lines: table.numbers(start - 1..end),
        line: is_short.then(|| line.into()),
        meant,
    })
}

#[cfg(test)]
mod tests;
