//! The text of a diff, within bounds.

use crate::quote::is_active;
use std::fmt::Write;
use std::ops::Range;

use memchr::memrchr_iter;

use super::{Bounds, LineChange, OldSide, Texts};
use crate::edits::{common_prefix, common_suffix};
use crate::line::{self, LineRange};
use crate::quote::LineNumbers;
use crate::size::Size;

/// The length of a line, in characters, beyond which a diff shows an excerpt.
pub const MAX_LINE_CHARS: usize = 2000;

const N_CONTEXT: usize = 3;

/// The characters that an excerpt shows before and after a change.
const N_AROUND: usize = 60;

/// The characters that an excerpt shows of a change; of a longer change, both ends.
const N_CHANGED: usize = 160;

/// The maximum size of the line that names omitted hunks, and the maximum number of names.
const MAX_REST_BYTES: usize = 400;
const MAX_NAMED: usize = 20;

/// The text does not fit the bounds.
struct TooLarge;

type Fits = Result<(), TooLarge>;

/// Returns the text of a diff, and whether it is shortened.
pub fn diff(
    name: &str,
    old_side: OldSide,
    texts: &Texts<'_>,
    changes: &[LineChange],
    bounds: Bounds,
) -> (String, bool) {
    let hunks = hunks(changes);
    if hunks.is_empty() {
        return (String::new(), false);
    }
    let renderer = Renderer { texts, is_exact: true };
    let mut out = Limited::new(bounds);
    let is_complete = texts.is_whole_lines
        && hunks.len() <= bounds.max_hunks
        && out.push(&header(name, old_side)).is_ok()
        && hunks.iter().all(|hunk| renderer.hunk(&mut out, hunk).is_ok());
    if is_complete {
        return (out.text, false);
    }
    (shortened(texts, &hunks, bounds), true)
}

/// Joins changes that are close to each other.
fn hunks(changes: &[LineChange]) -> Vec<&[LineChange]> {
    let is_near = |one: &LineChange, next: &LineChange| {
        next.before.lines.start - one.before.lines.end <= 2 * N_CONTEXT
    };
    changes.chunk_by(is_near).collect()
}

/// Returns the whole hunks that fit, or else the start of the first, and names the rest.
fn shortened(texts: &Texts<'_>, hunks: &[&[LineChange]], bounds: Bounds) -> String {
    let renderer = Renderer { texts, is_exact: false };
    let Size { bytes, json } = bounds.max_size;
    let n_reserved = MAX_REST_BYTES.min(bytes.min(json) / 4);
    let reserved = Size { bytes: n_reserved, json: n_reserved };
    let mut out = Limited::new(bounds);
    out.left = out.left.minus(reserved).expect("a quarter is less than the whole");
    let mut rest: Vec<&[LineChange]> = Vec::new();
    for (idx, hunk) in hunks.iter().enumerate() {
        let undo = out.mark();
        if idx >= bounds.max_hunks || renderer.hunk(&mut out, hunk).is_err() {
            out.reset(undo);
            rest.push(hunk);
        }
    }
    if out.text.is_empty() && bounds.max_hunks > 0 {
        rest[0] = renderer.start_of_hunk(&mut out, rest[0]);
    }
    rest.retain(|hunk| !hunk.is_empty());
    out.left = out.left.plus(reserved);
    let ranges: Vec<_> = rest.iter().map(|hunk| lines_of(texts, hunk)).collect();
    name_the_rest(&mut out, &ranges);
    out.text
}

/// Returns the lines of a hunk in the new text. Deleted lines are named by the line after them.
fn lines_of(texts: &Texts<'_>, hunk: &[LineChange]) -> LineRange {
    let (first, last) = (&hunk[0].after.lines, &hunk[hunk.len() - 1].after.lines);
    let start = texts.lines_before + first.start + 1;
    LineRange { start, end: start.max(texts.lines_before + last.end) }
}

/// Writes a line such as `[3 more hunks: lines 120-140, 300, 512-530]`.
fn name_the_rest(out: &mut Limited, rest: &[LineRange]) {
    if rest.is_empty() {
        return;
    }
    let hunks = if rest.len() == 1 { "hunk" } else { "hunks" };
    let named = |n_named: usize| {
        let lines = LineNumbers(&rest[..n_named]);
        let dots = if n_named < rest.len() { ", …" } else { "" };
        match n_named {
            0 => format!("[{} more {hunks}]\n", rest.len()),
            _ => format!("[{} more {hunks}: {lines}{dots}]\n", rest.len()),
        }
    };
    let mut lines = (0..=rest.len().min(MAX_NAMED)).rev().map(named);
    lines.find(|line| line.len() <= MAX_REST_BYTES && out.push(line).is_ok());
}

/// Text of a limited size.
struct Limited {
    text: String,
    left: Size,
}

impl Limited {
    fn new(bounds: Bounds) -> Limited {
        Limited { text: String::new(), left: bounds.max_size }
    }

    fn push(&mut self, text: &str) -> Fits {
        if text.len() > self.left.bytes {
            return Err(TooLarge);
        }
        self.left = self.left.minus(Size::of(text)).ok_or(TooLarge)?;
        self.text.push_str(text);
        Ok(())
    }

    fn mark(&self) -> (usize, Size) {
        (self.text.len(), self.left)
    }

    fn reset(&mut self, (n_bytes, left): (usize, Size)) {
        self.text.truncate(n_bytes);
        self.left = left;
    }

    /// Returns how many bytes certainly fit, if none of them is a control character.
    fn n_left(&self) -> usize {
        self.left.bytes.min(self.left.json)
    }
}

/// Lines of one side of a change, and the lines of the other side.
#[derive(Clone, Copy)]
struct Side<'a> {
    mark: &'static str,
    text: &'a str,
    range: &'a Range<usize>,
    other: &'a str,
}

struct Renderer<'a> {
    texts: &'a Texts<'a>,
    /// Whether lines must be complete.
    is_exact: bool,
}

impl Renderer<'_> {
    /// Writes changes as one hunk with context.
    fn hunk(&self, out: &mut Limited, changes: &[LineChange]) -> Fits {
        let (mut shown_to, tail_end) = self.hunk_header(out, changes)?;
        for change in changes {
            self.context(out, shown_to..change.before.bytes.start)?;
            for side in self.sides(change) {
                self.lines(out, side)?;
            }
            shown_to = change.before.bytes.end;
        }
        self.context(out, shown_to..tail_end)
    }

    /// Writes the first lines of both sides of the first change that does not fit. Returns the
    /// changes after it.
    fn start_of_hunk<'c>(&self, out: &mut Limited, changes: &'c [LineChange]) -> &'c [LineChange] {
        const MORE: usize = "[18446744073709551615 more removed lines]\n".len();
        let Ok((mut shown_to, _)) = self.hunk_header(out, changes) else { return changes };
        for (idx, change) in changes.iter().enumerate() {
            let undo = out.mark();
            let is_whole = self.context(out, shown_to..change.before.bytes.start).is_ok()
                && self.sides(change).iter().all(|side| self.lines(out, *side).is_ok());
            shown_to = change.before.bytes.end;
            if is_whole {
                continue;
            }
            out.reset(undo);
            let [removed, added] = self.sides(change);
            let room = out.n_left().saturating_sub(2 * MORE);
            for (side, n_kept) in [(removed, room / 2 + 2 * MORE), (added, MORE)] {
                self.some_lines(out, side, n_kept);
            }
            return &changes[idx + 1..];
        }
        &[]
    }

    /// Writes lines while `n_kept` bytes stay free, and counts the others.
    fn some_lines(&self, out: &mut Limited, side: Side<'_>, n_kept: usize) {
        let shown_to = self.lines_while(out, side, n_kept);
        let n_more = line::count(&side.text[shown_to..side.range.end]);
        if n_more > 0 {
            let what = if side.mark == "-" { "removed" } else { "added" };
            let lines = if n_more == 1 { "line" } else { "lines" };
            // Without space for the count, only the flag says that the diff is shortened.
            let _ = out.push(&format!("[{n_more} more {what} {lines}]\n"));
        }
    }

    /// Returns both sides of a change.
    fn sides<'s>(&'s self, change: &'s LineChange) -> [Side<'s>; 2] {
        let Texts { before, after, .. } = *self.texts;
        let (old, new) = (&change.before.bytes, &change.after.bytes);
        let removed = Side { mark: "-", text: before, range: old, other: &after[new.clone()] };
        let added = Side { mark: "+", text: after, range: new, other: &before[old.clone()] };
        [removed, added]
    }

    /// Writes the header of a hunk. Returns where its context starts and ends.
    fn hunk_header(
        &self,
        out: &mut Limited,
        changes: &[LineChange],
    ) -> Result<(usize, usize), TooLarge> {
        let Texts { before, lines_before: n_earlier, .. } = *self.texts;
        let (first, last) = (&changes[0], &changes[changes.len() - 1]);
        let (head_start, n_head) = lines_before(before, first.before.bytes.start);
        let (tail_end, n_tail) = lines_after(before, last.before.bytes.end);
        let n_before = last.before.lines.end + n_tail - (first.before.lines.start - n_head);
        let n_after = last.after.lines.end + n_tail - (first.after.lines.start - n_head);
        let old = range(n_earlier + first.before.lines.start - n_head, n_before);
        let new = range(n_earlier + first.after.lines.start - n_head, n_after);
        out.push(&format!("@@ -{old} +{new} @@\n"))?;
        Ok((head_start, tail_end))
    }

    fn context(&self, out: &mut Limited, range: Range<usize>) -> Fits {
        self.lines(out, Side { mark: " ", text: self.texts.before, range: &range, other: "" })
    }

    fn lines(&self, out: &mut Limited, side: Side<'_>) -> Fits {
        let is_complete = self.lines_while(out, side, 0) == side.range.end;
        is_complete.then_some(()).ok_or(TooLarge)
    }

    /// Writes lines while `n_kept` bytes stay free. Returns the end of the last one.
    fn lines_while(&self, out: &mut Limited, side: Side<'_>, n_kept: usize) -> usize {
        // Lines keep their order, so the nth long line replaces the nth long line.
        let mut partners = line::lines(side.other).filter(|line| is_long(line));
        let mut shown_to = side.range.start;
        for line in line::lines(&side.text[side.range.clone()]) {
            let undo = out.mark();
            let written = match is_long(line) {
                false => self.line(out, side, shown_to, line),
                true if self.is_exact => Err(TooLarge),
                true => self.long_line(out, side.mark, line, partners.next().unwrap_or("")),
            };
            if written.is_err() || out.n_left() < n_kept {
                out.reset(undo);
                break;
            }
            shown_to += line.len();
        }
        shown_to
    }

    /// Writes the line at an offset.
    fn line(&self, out: &mut Limited, side: Side<'_>, offset: usize, line: &str) -> Fits {
        let is_part = !self.texts.is_whole_lines;
        out.push(side.mark)?;
        out.push(if is_part && offset == 0 { "…" } else { "" })?;
        out.push(line)?;
        match line.ends_with('\n') {
            true => Ok(()),
            false if is_part => out.push("…\n"),
            false => out.push("\n\\ No newline at end of file\n"),
        }
    }

    fn long_line(&self, out: &mut Limited, mark: &str, line: &str, partner: &str) -> Fits {
        out.push(mark)?;
        out.push(&excerpts(line, partner, self.texts.is_whole_lines))?;
        out.push("\n")
    }
}

fn is_long(line: &str) -> bool {
    line.len() > MAX_LINE_CHARS && line::without_ending(line).chars().nth(MAX_LINE_CHARS).is_some()
}

/// Returns the parts of a long line around its differences from `partner`, each with the column of
/// its first character.
fn excerpts(line: &str, partner: &str, columns_known: bool) -> String {
    let (line, partner) = (line::without_ending(line), line::without_ending(partner));
    let n_head = common_prefix(line, partner);
    let n_tail = common_suffix(&line[n_head..], &partner[n_head..]);
    let changed = n_head..line.len() - n_tail;
    let (start, end) = (back(line, changed.start, N_AROUND), forth(line, changed.end, N_AROUND));
    let is_short = line[changed.clone()].chars().nth(N_CHANGED).is_none();
    let (first, second) = match (is_short, partner.is_empty()) {
        (true, _) => (start..end, None),
        (false, true) => (0..forth(line, 0, N_CHANGED), None),
        (false, false) => {
            let tail = back(line, changed.end, N_CHANGED / 2)..end;
            (start..forth(line, changed.start, N_CHANGED / 2), Some(tail))
        }
    };
    let mut shown = String::new();
    for part in [Some(first), second].into_iter().flatten() {
        let gap = if shown.is_empty() { "" } else { " " };
        if columns_known {
            let column = 1 + line[..part.start].chars().count();
            write!(shown, "{gap}[column {column}] ").expect("writing to a string cannot fail");
        }
        let dots = |is_cut: bool| if is_cut { "…" } else { "" };
        shown.push_str(dots(part.start > 0));
        shown.push_str(&line[part.clone()]);
        shown.push_str(dots(part.end < line.len()));
    }
    shown
}

/// Returns the offset of up to `n_chars` characters before `offset`.
fn back(text: &str, offset: usize, n_chars: usize) -> usize {
    text[..offset].char_indices().rev().take(n_chars).last().map_or(offset, |(at, _)| at)
}

/// Returns the offset after up to `n_chars` characters from `offset`.
fn forth(text: &str, offset: usize, n_chars: usize) -> usize {
    text[offset..].char_indices().nth(n_chars).map_or(text.len(), |(at, _)| offset + at)
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

/// Returns a range: `3,2`, `3` for one line, or `2,0` for no lines after line 2.
fn range(line_idx: usize, n_lines: usize) -> String {
    match n_lines {
        0 => format!("{line_idx},0"),
        1 => format!("{}", line_idx + 1),
        _ => format!("{},{n_lines}", line_idx + 1),
    }
}

fn header(name: &str, old_side: OldSide) -> String {
    let header = header_name(name);
    let old_header = match old_side {
        OldSide::File => header.as_str(),
        OldSide::Nothing => "/dev/null",
    };
    format!("--- {old_header}\n+++ {header}\n")
}

/// Quotes a name for `patch` and `git`: a name with spaces needs a tab after it; control
/// characters, quotes and backslashes need a C string.
pub fn header_name(name: &str) -> String {
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
