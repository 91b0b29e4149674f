//! Compares two versions of a file line by line, as git does: on bytes, with Myers' algorithm and
//! git's placement of changes in repeated lines.

use std::fmt::Write;
use std::ops::Range;

use crate::Size;
use imara_diff::{Algorithm, Diff, InternedInput};

/// The most lines of both versions together that are compared.
pub const MAX_LINES: usize = 2_000_000;

/// Git inspects this many bytes to decide whether a file is binary.
const N_INSPECTED: usize = 8000;

/// The unit in which git cuts a common end off before a comparison without context.
const BLOCK: usize = 1024;

/// Whether git treats a file as binary.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(N_INSPECTED)].contains(&0)
}

/// Lines of the old version and the lines that replaced them, as indices from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The removed lines; empty if lines were only added.
    pub before: Range<usize>,
    /// The added lines; empty if lines were only removed.
    pub after: Range<usize>,
}

/// The differences between two versions.
#[derive(Debug, Clone)]
pub struct LineDiff<'a> {
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    changes: Vec<Replaced>,
}

impl<'a> LineDiff<'a> {
    /// Compares two versions, which must be [comparable](is_comparable).
    pub fn new(before: &'a [u8], after: &'a [u8]) -> LineDiff<'a> {
        let (before, after) = (lines(before), lines(after));
        let changes = compare(&before, &after);
        LineDiff { before, after, changes }
    }

    /// Returns the changes, in order.
    pub fn changes(&self) -> &[Replaced] {
        &self.changes
    }

    /// Returns how many lines were added.
    pub fn n_added(&self) -> usize {
        self.changes.iter().map(|change| change.after.len()).sum()
    }

    /// Returns how many lines were removed.
    pub fn n_removed(&self) -> usize {
        self.changes.iter().map(|change| change.before.len()).sum()
    }

    /// Writes hunks of a unified diff with some lines of context, as long as they fit. Returns how many changes the written hunks contain.
    pub fn write_hunks(&self, out: &mut String, context: usize, max: Size) -> usize {
        let mut left = max;
        let mut n_written = 0;
        while let Some(first) = self.changes.get(n_written) {
            let rest = &self.changes[n_written..];
            let is_near = |pair: &&[Replaced]| {
                pair[1].before.start - pair[0].before.end <= context.saturating_mul(2)
            };
            let n_joined = 1 + rest.windows(2).take_while(is_near).count();
            let last = &rest[n_joined - 1];
            let before_hunk = out.len();
            self.write_hunk(out, &rest[..n_joined], (first, last), context);
            match left.minus(Size::of(&out[before_hunk..])) {
                Some(rest) => left = rest,
                None => {
                    out.truncate(before_hunk);
                    break;
                }
            }
            n_written += n_joined;
        }
        n_written
    }

    fn write_hunk(
        &self,
        out: &mut String,
        changes: &[Replaced],
        (first, last): (&Replaced, &Replaced),
        context: usize,
    ) {
        let n_head = context.min(first.before.start);
        let n_tail = context.min(self.before.len() - last.before.end);
        let mut at = first.before.start - n_head;
        let end = last.before.end + n_tail;
        let after = first.after.start - n_head..last.after.end + n_tail;
        out.push_str("@@ -");
        write_range(out, at..end);
        out.push_str(" +");
        write_range(out, after);
        out.push_str(" @@\n");
        for change in changes {
            write_lines(out, ' ', &self.before[at..change.before.start]);
            write_lines(out, '-', &self.before[change.before.clone()]);
            write_lines(out, '+', &self.after[change.after.clone()]);
            at = change.before.end;
        }
        write_lines(out, ' ', &self.before[at..end]);
    }
}

/// Returns the changes between two versions as `git blame` computes them: a common end is cut off
/// before the comparison, which can move a change in repeated lines.
pub fn changes_for_blame(before: &[u8], after: &[u8]) -> Vec<Replaced> {
    let n_common = common_end(before, after);
    let before = &before[..before.len() - n_common];
    let after = &after[..after.len() - n_common];
    match is_comparable(before, after) {
        true => compare(&lines(before), &lines(after)),
        false => vec![Replaced { before: 0..n_lines(before), after: 0..n_lines(after) }],
    }
}

/// Returns the number of lines.
pub fn n_lines(bytes: &[u8]) -> usize {
    let is_open = bytes.last().is_some_and(|last| *last != b'\n');
    memchr::memchr_iter(b'\n', bytes).count() + usize::from(is_open)
}

/// Whether two versions have few enough lines to be compared in bounded memory.
pub fn is_comparable(before: &[u8], after: &[u8]) -> bool {
    n_lines(before) + n_lines(after) <= MAX_LINES
}

/// Splits bytes into lines with their endings.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the length of the common end that is cut off: whole blocks, without their first line.
fn common_end(before: &[u8], after: &[u8]) -> usize {
    let blocks = before.rchunks_exact(BLOCK).zip(after.rchunks_exact(BLOCK));
    let n_equal = blocks.take_while(|(before, after)| before == after).count() * BLOCK;
    let end = &before[before.len() - n_equal..];
    let n_kept = memchr::memchr(b'\n', end).map_or(n_equal, |at| at + 1);
    n_equal - n_kept
}

fn compare<'a>(before: &[&'a [u8]], after: &[&'a [u8]]) -> Vec<Replaced> {
    let mut input: InternedInput<&[u8]> = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let as_lines = |range: Range<u32>| range.start as usize..range.end as usize;
    let hunks = diff.hunks();
    hunks
        .map(|hunk| Replaced { before: as_lines(hunk.before), after: as_lines(hunk.after) })
        .collect()
}

/// Writes the line numbers of a hunk. An empty range names the line before it.
fn write_range(out: &mut String, lines: Range<usize>) {
    let _ = match lines.len() {
        0 => write!(out, "{},0", lines.start),
        1 => write!(out, "{}", lines.start + 1),
        n_lines => write!(out, "{},{n_lines}", lines.start + 1),
    };
}

fn write_lines(out: &mut String, sign: char, lines: &[&[u8]]) {
    for line in lines {
        out.push(sign);
        out.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(before: &str, after: &str, context: usize) -> String {
        let mut out = String::new();
        let diff = LineDiff::new(before.as_bytes(), after.as_bytes());
        assert_eq!(
            diff.write_hunks(&mut out, context, Size::utf8(usize::MAX)),
            diff.changes().len()
        );
        out
    }

    #[test]
    fn hunks_have_the_requested_context() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\nx\n4\n5\n6\n7\ny\n9\n";
        assert_eq!(hunks(before, after, 0), "@@ -3 +3 @@\n-3\n+x\n@@ -8 +8 @@\n-8\n+y\n");
        assert_eq!(
            hunks(before, after, 1),
            "@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n@@ -7,3 +7,3 @@\n 7\n-8\n+y\n 9\n"
        );
        assert!(hunks(before, after, 2).starts_with("@@ -1,9 +1,9 @@\n"));
        assert!(hunks(before, after, usize::MAX).starts_with("@@ -1,9 +1,9 @@\n"));
    }

    #[test]
    fn empty_sides_and_a_missing_newline_are_shown_as_in_git() {
        assert_eq!(hunks("", "a\nb\n", 3), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(hunks("a\n", "", 3), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(hunks("a", "a\n", 3), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(hunks("a\n", "a\n", 3), "");
    }

    #[test]
    fn hunks_end_at_the_limit() {
        let before: String = (0..100).map(|n| format!("{n}\n")).collect();
        let after = before.replace("0\n", "x\n");
        let diff = LineDiff::new(before.as_bytes(), after.as_bytes());
        let mut out = "head\n".to_string();
        let n_written = diff.write_hunks(&mut out, 0, Size::utf8(60));
        assert!((1..10).contains(&n_written) && out.len() <= 65, "{n_written} {out}");
        assert!(out.starts_with("head\n@@ -1 +1 @@\n-0\n+x\n@@ -11 +11 @@\n"), "{out}");
    }

    #[test]
    fn a_common_end_is_cut_off_after_a_whole_line() {
        let end = "line of text\n".repeat(200);
        let (before, after) = (format!("a\n{end}"), format!("b\nc\n{end}"));
        let n_common = common_end(before.as_bytes(), after.as_bytes());
        assert!((1024..=end.len()).contains(&n_common));
        assert!(before[..before.len() - n_common].ends_with('\n'));
        assert_eq!(
            changes_for_blame(before.as_bytes(), after.as_bytes()),
            [Replaced { before: 0..1, after: 0..2 }]
        );
        assert_eq!(common_end(b"same", b"same"), 0);
    }
}
