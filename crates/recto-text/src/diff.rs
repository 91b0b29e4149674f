//! Unified diffs that `git apply` and `patch` accept.
//!
//! The edits are known, so only the lines they touch are compared; the rest of a large file is
//! scanned once to count its lines.

use crate::quote::is_active;
use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use memchr::{memchr_iter, memrchr_iter};

use crate::edits::Edits;
use crate::line;

/// The largest diff, in bytes. A larger one is omitted.
pub const MAX_DIFF_BYTES: usize = 4 << 20;

const N_CONTEXT: usize = 3;

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

/// Returns the diff from `before` to `after`, or `None` if it is larger than [`MAX_DIFF_BYTES`].
/// Equal texts have an empty diff.
///
/// `edits` must turn `before` into `after`.
pub fn unified(
    name: &str,
    old_side: OldSide,
    before: &str,
    after: &str,
    edits: &Edits,
) -> Option<String> {
    unified_part(name, old_side, before, after, edits, 0)
}

/// Returns the diff of a part of a text that follows `lines_before` other lines. The part must have
/// three lines on either side of every edit, unless the text starts or ends there.
pub fn unified_part(
    name: &str,
    old_side: OldSide,
    before: &str,
    after: &str,
    edits: &Edits,
    lines_before: usize,
) -> Option<String> {
    let changes = changed_lines(before, after, edits);
    if changes.is_empty() {
        return Some(String::new());
    }
    let mut out = String::new();
    let header = header_name(name);
    let old_header = match old_side {
        OldSide::File => header.as_str(),
        OldSide::Nothing => "/dev/null",
    };
    out.push_str(&format!("--- {old_header}\n+++ {header}\n"));
    let mut rest = changes.as_slice();
    while !rest.is_empty() {
        let is_near = |pair: &[LineChange]| {
            pair[1].before.lines.start - pair[0].before.lines.end <= 2 * N_CONTEXT
        };
        let n_joined = 1 + rest.windows(2).take_while(|pair| is_near(pair)).count();
        let (hunk, later) = rest.split_at(n_joined);
        write_hunk(&mut out, before, after, hunk, lines_before);
        if out.len() > MAX_DIFF_BYTES {
            return None;
        }
        rest = later;
    }
    Some(out)
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
        let start = line::start_of(before, edit.range.start);
        let after_start = edit.range.start.strict_add_signed(n_grown);
        let after_end = after_start + edit.text.len();
        n_grown += edit.text.len() as isize - edit.range.len() as isize;
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

/// Writes changes that are close to each other as one hunk with context. `n_earlier` lines precede
/// both texts.
fn write_hunk(
    out: &mut String,
    before: &str,
    after: &str,
    changes: &[LineChange],
    n_earlier: usize,
) {
    let (first, last) = (&changes[0], &changes[changes.len() - 1]);
    let (head_start, n_head) = lines_before(before, first.before.bytes.start);
    let (tail_end, n_tail) = lines_after(before, last.before.bytes.end);
    let n_before = last.before.lines.end + n_tail - (first.before.lines.start - n_head);
    let n_after = last.after.lines.end + n_tail - (first.after.lines.start - n_head);
    out.push_str("@@ -");
    write_range(out, n_earlier + first.before.lines.start - n_head, n_before);
    out.push_str(" +");
    write_range(out, n_earlier + first.after.lines.start - n_head, n_after);
    out.push_str(" @@\n");

    let mut shown_to = head_start;
    for change in changes {
        write_lines(out, ' ', &before[shown_to..change.before.bytes.start]);
        write_lines(out, '-', &before[change.before.bytes.clone()]);
        write_lines(out, '+', &after[change.after.bytes.clone()]);
        shown_to = change.before.bytes.end;
    }
    write_lines(out, ' ', &before[shown_to..tail_end]);
}

/// Returns the start and number of up to three lines before `offset`, a line start.
fn lines_before(text: &str, offset: usize) -> (usize, usize) {
    let (mut start, mut n_lines) = (offset, 0);
    while start > 0 && n_lines < N_CONTEXT {
        start = memrchr_iter(b'\n', &text.as_bytes()[..start - 1])
            .next()
            .map_or(0, |newline| newline + 1);
        n_lines += 1;
    }
    (start, n_lines)
}

/// Returns the end and number of up to three lines after `offset`.
fn lines_after(text: &str, offset: usize) -> (usize, usize) {
    let (mut end, mut n_lines) = (offset, 0);
    while end < text.len() && n_lines < N_CONTEXT {
        end = line::end_of(text, end);
        n_lines += 1;
    }
    (end, n_lines)
}

/// Writes a range: `3,2`, `3` for one line, or `2,0` for no lines after line 2.
fn write_range(out: &mut String, line_idx: usize, n_lines: usize) {
    let written = match n_lines {
        0 => write!(out, "{line_idx},0"),
        1 => write!(out, "{}", line_idx + 1),
        _ => write!(out, "{},{n_lines}", line_idx + 1),
    };
    written.expect("writing to a string cannot fail");
}

fn write_lines(out: &mut String, mark: char, lines: &str) {
    for line in line::lines(lines) {
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Quotes a name for `patch` and `git`: a name with spaces needs a tab after it; control
/// characters, quotes and backslashes need a C string.
fn header_name(name: &str) -> String {
    let needs_quotes = |c: char| is_active(c) || c == '"' || c == '\\';
    if !name.contains(needs_quotes) {
        return if name.contains(' ') { format!("{name}\t") } else { name.to_string() };
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if is_active(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    quoted.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
