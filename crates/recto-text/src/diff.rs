//! Unified diffs that `git apply` and `patch` accept, unless they are shortened to fit an answer.
//!
//! The edits are known, so only the lines they touch are compared; the rest of a large file is
//! scanned once to count its lines.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use memchr::memchr_iter;

use crate::edits::Edits;
use crate::line;
use crate::size::Size;

mod endings;
mod render;

pub use endings::style as ending_style;
pub use render::{MAX_LINE_CHARS, header_name};

/// Above this number of line pairs, lines are not compared, because repetitive text would take
/// minutes. The whole region is then one change, which is also a valid diff.
const MAX_COMPARED: usize = 100_000_000;

/// The old side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldSide {
    /// The file before the change.
    File,
    /// Nothing: the file is new.
    Nothing,
}

/// Two versions of a text, or of a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    /// The old version.
    pub before: &'a str,
    /// The new version.
    pub after: &'a str,
    /// The edits that turn `before` into `after`.
    pub edits: &'a Edits,
    /// How many lines precede both texts.
    pub lines_before: usize,
    /// Whether both texts start and end at line boundaries. A part then has three lines on either
    /// side of every edit, unless the whole text starts or ends there.
    pub is_whole_lines: bool,
    /// Whether a line that is not in the texts ends with CRLF.
    pub has_other_crlf: bool,
}

impl<'a> Texts<'a> {
    /// Returns two versions of a whole text.
    pub fn whole(before: &'a str, after: &'a str, edits: &'a Edits) -> Texts<'a> {
        let (lines_before, is_whole_lines, has_other_crlf) = (0, true, false);
        Texts { before, after, edits, lines_before, is_whole_lines, has_other_crlf }
    }
}

/// Bounds on a diff. Lines over [`MAX_LINE_CHARS`] characters are always shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of hunks.
    pub max_hunks: usize,
    /// The maximum size.
    pub max_size: Size,
}

impl Bounds {
    /// No bounds but on the length of a line.
    pub const NONE: Bounds = Bounds { max_hunks: usize::MAX, max_size: Size::utf8(usize::MAX) };
}

/// A diff to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// The hunks, or nothing for equal texts. A shortened diff has no header, so that `git apply`
    /// rejects it, and names the hunks that it omits.
    pub text: String,
    /// Whether hunks or parts of lines are omitted.
    pub is_shortened: bool,
    /// The line endings of the changed lines, if not every line ends with LF.
    pub endings: Option<String>,
}

/// Returns the diff of a file with this name.
pub fn unified(name: &str, old_side: OldSide, texts: &Texts<'_>, bounds: Bounds) -> UnifiedDiff {
    let changes = changed_lines(texts.before, texts.after, texts.edits);
    let endings = endings::describe(texts, &changes);
    let (text, is_shortened) = render::diff(name, old_side, texts, &changes, bounds);
    UnifiedDiff { text, is_shortened, endings }
}

/// Lines that replaced other lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The removed lines of the old text, as indices from 0; empty if lines were only added.
    pub old_lines: Range<usize>,
    /// The added lines of the new text, as indices from 0; empty if lines were only removed.
    pub lines: Range<usize>,
    /// Their bytes in the new text.
    pub bytes: Range<usize>,
}

/// Returns the changed lines from `before` to `after`.
pub fn changes(before: &str, after: &str) -> Vec<ChangedLines> {
    let changes = changed_lines(before, after, &Edits::whole(before, after));
    let as_changed = |change: LineChange| ChangedLines {
        old_lines: change.before.lines,
        lines: change.after.lines,
        bytes: change.after.bytes,
    };
    changes.into_iter().map(as_changed).collect()
}

/// Consecutive lines of one side: their indices from 0, and their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    lines: Range<usize>,
    bytes: Range<usize>,
}

/// Lines and their replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineChange {
    before: Span,
    after: Span,
}

/// Widens the edits to whole lines, joins those that share a line, and compares inside each.
fn changed_lines(before: &str, after: &str, edits: &Edits) -> Vec<LineChange> {
    let mut regions: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut n_grown = 0isize;
    for edit in edits.iter() {
        let after_start = edit.range.start.strict_add_signed(n_grown);
        let after_end = after_start + edit.text.len();
        n_grown += edit.text.len() as isize - edit.range.len() as isize;
        if let Some((last, last_after)) = regions.last_mut()
            && edit.range.end < last.end
        {
            // In a line that is known: a long line with many edits is not searched for each of them.
            last_after.end = last.end.strict_add_signed(n_grown);
            continue;
        }
        let start = match regions.last() {
            Some((last, _)) if edit.range.start < last.end => last.start,
            _ => line::start_of(before, edit.range.start),
        };
        let ends_at_a_line_end =
            is_line_start(before, edit.range.end) && is_line_start(after, after_end);
        let end =
            if ends_at_a_line_end { edit.range.end } else { line::end_of(before, edit.range.end) };
        match regions.last_mut() {
            Some((last, last_after)) if start <= last.end => {
                last.end = last.end.max(end);
                last_after.end = last.end.strict_add_signed(n_grown);
            }
            _ => {
                let after_line_start = after_start - (edit.range.start - start);
                regions.push((start..end, after_line_start..end.strict_add_signed(n_grown)));
            }
        }
    }

    let mut changes = Vec::new();
    let (mut before_cursor, mut after_cursor) = (LineCursor::default(), LineCursor::default());
    for (before_region, after_region) in regions {
        before_cursor.go_to(before, before_region.start);
        after_cursor.go_to(after, after_region.start);
        compare(
            (&before[before_region], before_cursor),
            (&after[after_region], after_cursor),
            &mut changes,
        );
    }
    changes
}

/// The offset of a line start and the number of lines before it.
#[derive(Debug, Clone, Copy, Default)]
struct LineCursor {
    line_idx: usize,
    offset: usize,
}

impl LineCursor {
    fn go_to(&mut self, text: &str, offset: usize) {
        self.line_idx += memchr_iter(b'\n', &text.as_bytes()[self.offset..offset]).count();
        self.offset = offset;
    }
}

fn is_line_start(text: &str, offset: usize) -> bool {
    offset == 0 || text.as_bytes()[offset - 1] == b'\n'
}

fn compare(
    (before, before_cursor): (&str, LineCursor),
    (after, after_cursor): (&str, LineCursor),
    changes: &mut Vec<LineChange>,
) {
    let (n_before, n_after) = (line::count(before), line::count(after));
    if n_before.saturating_mul(n_after) > MAX_COMPARED {
        let whole = |cursor: LineCursor, n_lines: usize, n_bytes: usize| Span {
            lines: cursor.line_idx..cursor.line_idx + n_lines,
            bytes: cursor.offset..cursor.offset + n_bytes,
        };
        changes.push(LineChange {
            before: whole(before_cursor, n_before, before.len()),
            after: whole(after_cursor, n_after, after.len()),
        });
        return;
    }
    let mut input = InternedInput::default();
    input.update_before(line::lines(before));
    input.update_after(line::lines(after));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let before_offsets = line_offsets(before);
    let after_offsets = line_offsets(after);
    for hunk in diff.hunks() {
        changes.push(LineChange {
            before: span(before_cursor, &before_offsets, hunk.before),
            after: span(after_cursor, &after_offsets, hunk.after),
        });
    }
}

/// Returns the start of each line, and the end of the last one.
fn line_offsets(text: &str) -> Vec<usize> {
    let mut offsets = vec![0];
    offsets.extend(line::lines(text).scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    }));
    offsets
}

fn span(cursor: LineCursor, offsets: &[usize], lines: Range<u32>) -> Span {
    let (start, end) = (lines.start as usize, lines.end as usize);
    Span {
        lines: cursor.line_idx + start..cursor.line_idx + end,
        bytes: cursor.offset + offsets[start]..cursor.offset + offsets[end],
    }
}

#[cfg(test)]
mod tests;
