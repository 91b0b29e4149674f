//! What a change replaced: hunks of bytes, found by comparing two contents line by line.
//!
//! Hunks are bytes and not text, so that undoing one restores exactly what was there in any encoding.
//! Their boundaries are line boundaries of the bytes, except that a binary file, a file that changes
//! its encoding and a very long difference are one hunk.

use std::ops::Range;

use recto_text::encoding::Encoding;
use recto_text::line_diff::{LineDiff, Replaced};

/// The longest difference that is compared line by line, if the lines that changed are not few.
const MAX_COMPARED: usize = 256 << 10;

/// The shortest difference in which lines are compared in step first.
const MIN_IN_STEP: usize = 16 << 10;

/// The most lines that differ in a comparison in step, if there is time for another one.
const MAX_IN_STEP: usize = 4;

/// How many lines after a difference are inspected for equal ones.
const LOOK_AHEAD: usize = 256;

/// How many equal lines end a difference.
const N_EQUAL: usize = 2;

/// The first bytes in which a NUL makes a file binary.
const N_INSPECTED: usize = 8000;

/// Bytes that replaced other bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Where the removed bytes start in the content before the change.
    pub offset: u64,
    /// The bytes before.
    pub removed: Vec<u8>,
    /// The bytes after.
    pub inserted: Vec<u8>,
}

/// All hunks of a change: sorted by offset, and separated by at least one byte that did not change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunks(Vec<Hunk>);

/// How the bytes of a file are to be read. Legacy encodings are not told apart, because no call
/// changes one into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// UTF-8 or ASCII.
    Utf8,
    /// An encoding with a byte order mark.
    Bom(Encoding),
    /// Text in another encoding.
    Legacy,
    /// Not text.
    Binary,
}

impl Form {
    /// Returns the form of some content.
    pub fn of(bytes: &[u8]) -> Form {
        // Much faster than the rest.
        if Encoding::is_plain_utf8(bytes) {
            return Form::Utf8;
        }
        if let Some(encoding) = Encoding::sniff(&bytes[..bytes.len().min(4)])
            && Encoding::has_bom(bytes)
        {
            return Form::Bom(encoding);
        }
        if bytes[..bytes.len().min(N_INSPECTED)].contains(&0) {
            return Form::Binary;
        }
        if str::from_utf8(bytes).is_ok() { Form::Utf8 } else { Form::Legacy }
    }

    /// Returns the name that is recorded.
    pub fn name(self) -> &'static str {
        match self {
            Form::Utf8 => "UTF-8",
            Form::Bom(encoding) => encoding.name(),
            Form::Legacy => "legacy",
            Form::Binary => "binary",
        }
    }

    /// Returns the number of bytes of which every length in this form is a multiple.
    fn unit(self) -> usize {
        match self {
            Form::Bom(encoding) if encoding.name().starts_with("UTF-16") => 2,
            _ => 1,
        }
    }
}

impl Hunks {
    /// Compares two contents.
    pub fn between(before: &[u8], after: &[u8]) -> Hunks {
        Hunks::between_forms(before, after, [before, after].map(Form::of))
    }

    /// Compares two contents whose forms are known.
    pub fn between_forms(before: &[u8], after: &[u8], [form, form_after]: [Form; 2]) -> Hunks {
        if before == after {
            return Hunks::default();
        }
        let is_empty = before.is_empty() || after.is_empty();
        if is_empty || form != form_after || form == Form::Binary {
            return Hunks::whole(before, after);
        }
        let hunks = Hunks::of_lines(before, after);
        // In UTF-16 a line feed's byte also occurs in other characters, so a boundary may be inside one.
        // That is harmless unless undoing one hunk of several would shift the rest by half a character.
        let unit = form.unit();
        let is_whole_units = |hunk: &Hunk| {
            hunk.removed.len().is_multiple_of(unit) && hunk.inserted.len().is_multiple_of(unit)
        };
        match hunks.0.iter().all(is_whole_units) {
            true => hunks,
            false => Hunks::whole(before, after),
        }
    }

    /// Returns one hunk that replaces everything.
    pub fn whole(before: &[u8], after: &[u8]) -> Hunks {
        Hunks(vec![Hunk { offset: 0, removed: before.to_vec(), inserted: after.to_vec() }])
    }

    /// Returns the hunks of a change of a range, at an offset in a file.
    pub fn in_range(start: u64, before: &[u8], after: &[u8]) -> Hunks {
        let mut hunks = Hunks::between(before, after);
        hunks.0.iter_mut().for_each(|hunk| hunk.offset += start);
        hunks
    }

    /// Collects hunks. Returns `None` if they are not in order or overlap.
    pub fn new(hunks: Vec<Hunk>) -> Option<Hunks> {
        let ends = hunks.iter().map(Hunk::end);
        let is_sorted = ends.zip(hunks.iter().skip(1)).all(|(end, next)| end <= next.offset);
        is_sorted.then_some(Hunks(hunks))
    }

    fn of_lines(before: &[u8], after: &[u8]) -> Hunks {
        let n_head = line_start(before, common_prefix(before, after));
        let n_tail = common_suffix(&before[n_head..], &after[n_head..]);
        let n_tail = n_tail - to_line_start(before, after, n_tail);
        let middle = &before[n_head..before.len() - n_tail];
        let middle_after = &after[n_head..after.len() - n_tail];
        let hunk = |removed: Range<usize>, inserted: Range<usize>| Hunk {
            offset: (n_head + removed.start) as u64,
            removed: middle[removed].to_vec(),
            inserted: middle_after[inserted].to_vec(),
        };
        if middle.is_empty() || middle_after.is_empty() {
            return Hunks(vec![hunk(0..middle.len(), 0..middle_after.len())]);
        }
        let (starts, starts_after) = (line_starts(middle), line_starts(middle_after));
        let bytes = |starts: &[usize], lines: &Range<usize>| starts[lines.start]..starts[lines.end];
        let n_bytes = middle.len().max(middle_after.len());
        let in_step = match n_bytes {
            0..MIN_IN_STEP => None,
            _ => in_step(middle, &starts, middle_after, &starts_after),
        };
        // Lines in step are not the best match if much differs.
        let is_small = |changes: &Vec<Replaced>| {
            let n_lines = changes.iter().map(|change| change.before.len() + change.after.len());
            n_bytes > MAX_COMPARED || n_lines.sum::<usize>() <= MAX_IN_STEP
        };
        let changes = match in_step.filter(is_small) {
            Some(changes) => changes,
            None if n_bytes <= MAX_COMPARED => {
                LineDiff::new(middle, middle_after).changes().to_vec()
            }
            None => return Hunks(vec![hunk(0..middle.len(), 0..middle_after.len())]),
        };
        let hunks = changes.iter().map(|change| {
            hunk(bytes(&starts, &change.before), bytes(&starts_after, &change.after))
        });
        Hunks(hunks.collect())
    }

    /// Returns the hunks in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Hunk> {
        self.0.iter()
    }

    /// Returns one hunk, counted from 0.
    pub fn get(&self, index: usize) -> Option<&Hunk> {
        self.0.get(index)
    }

    /// Returns the number of hunks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the content after the change, or `None` if `before` is not the content before it.
    pub fn apply(&self, before: &[u8]) -> Option<Vec<u8>> {
        let mut after = Vec::with_capacity(before.len());
        let mut at = 0;
        for hunk in &self.0 {
            let start = usize::try_from(hunk.offset).ok()?;
            after.extend_from_slice(before.get(at..start)?);
            at = start.checked_add(hunk.removed.len())?;
            (before.get(start..at)? == hunk.removed).then_some(())?;
            after.extend_from_slice(&hunk.inserted);
        }
        after.extend_from_slice(before.get(at..)?);
        Some(after)
    }

    /// Returns the change back.
    pub fn inverted(&self) -> Hunks {
        let mut shift = 0i64;
        let invert = |hunk: &Hunk| {
            let offset = hunk.offset.saturating_add_signed(shift);
            shift += hunk.inserted.len() as i64 - hunk.removed.len() as i64;
            Hunk { offset, removed: hunk.inserted.clone(), inserted: hunk.removed.clone() }
        };
        Hunks(self.0.iter().map(invert).collect())
    }

    /// Encodes the hunks for storage.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_number(&mut out, self.0.len() as u64);
        let mut at = 0;
        for hunk in &self.0 {
            push_number(&mut out, hunk.offset - at);
            push_number(&mut out, hunk.removed.len() as u64);
            push_number(&mut out, hunk.inserted.len() as u64);
            out.extend_from_slice(&hunk.removed);
            out.extend_from_slice(&hunk.inserted);
            at = hunk.end();
        }
        out
    }

    /// Decodes stored hunks. Returns `None` if they are damaged.
    pub fn decode(mut bytes: &[u8]) -> Option<Hunks> {
        let bytes = &mut bytes;
        let n_hunks = take_number(bytes)?;
        let (mut hunks, mut at) = (Vec::new(), 0u64);
        for _ in 0..n_hunks {
            let offset = at.checked_add(take_number(bytes)?)?;
            let (n_removed, n_inserted) = (take_number(bytes)?, take_number(bytes)?);
            let removed = take(bytes, n_removed)?.to_vec();
            let inserted = take(bytes, n_inserted)?.to_vec();
            let hunk = Hunk { offset, removed, inserted };
            at = hunk.end();
            hunks.push(hunk);
        }
        bytes.is_empty().then_some(Hunks(hunks))
    }
}

impl Hunk {
    /// Where the removed bytes end in the content before the change.
    pub fn end(&self) -> u64 {
        self.offset + self.removed.len() as u64
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], n: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(n).ok()?)?;
    *bytes = rest;
    Some(taken)
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    const PIECE: usize = 4096;
    let n_pieces = one.chunks(PIECE).zip(other.chunks(PIECE)).take_while(|(a, b)| a == b).count();
    let start = (n_pieces * PIECE).min(one.len()).min(other.len());
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}

fn common_suffix(one: &[u8], other: &[u8]) -> usize {
    const PIECE: usize = 4096;
    let pieces = one.rchunks(PIECE).zip(other.rchunks(PIECE));
    let n_pieces = pieces.take_while(|(a, b)| a == b).count();
    let n = (n_pieces * PIECE).min(one.len()).min(other.len());
    let rest = one[..one.len() - n].iter().rev().zip(other[..other.len() - n].iter().rev());
    n + rest.take_while(|(a, b)| a == b).count()
}

/// Returns the start of the line that contains an offset.
fn line_start(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// Returns by how much a common end must be shortened to start at the start of a line in both.
fn to_line_start(before: &[u8], after: &[u8], n_tail: usize) -> usize {
    let starts_line = |bytes: &[u8]| {
        let start = bytes.len() - n_tail;
        start == 0 || bytes[start - 1] == b'\n'
    };
    if starts_line(before) && starts_line(after) {
        return 0;
    }
    let tail = &before[before.len() - n_tail..];
    tail.iter().position(|byte| *byte == b'\n').map_or(n_tail, |end| end + 1)
}

/// Compares lines in step, which is much faster than a general comparison if few of them differ.
/// Returns `None` if a difference is longer than [`LOOK_AHEAD`].
fn in_step(
    before: &[u8],
    starts: &[usize],
    after: &[u8],
    starts_after: &[usize],
) -> Option<Vec<Replaced>> {
    let n_lines = [starts.len() - 1, starts_after.len() - 1];
    let is_equal = |[old, new]: [usize; 2]| {
        let old = before.get(starts[old]..starts[old + 1]);
        old == after.get(starts_after[new]..starts_after[new + 1])
    };
    let is_end = |at: [usize; 2]| at == n_lines;
    let is_inside = |at: [usize; 2]| at[0] < n_lines[0] && at[1] < n_lines[1];
    // Equal lines, or the end of both texts.
    let is_in_step = |at: [usize; 2]| {
        let mut next = (0..N_EQUAL).map(|n| [at[0] + n, at[1] + n]);
        next.all(|at| is_end(at) || (is_inside(at) && is_equal(at))) || is_end(at)
    };
    let mut changes = Vec::new();
    let mut at = [0, 0];
    while !is_end(at) {
        if is_inside(at) && is_equal(at) {
            at = at.map(|line| line + 1);
            continue;
        }
        // The nearest place first.
        let mut places = (1..=LOOK_AHEAD)
            .flat_map(|n| (0..=n).map(move |n_old| [at[0] + n_old, at[1] + n - n_old]));
        let is_valid = |to: &[usize; 2]| to[0] <= n_lines[0] && to[1] <= n_lines[1];
        let to = places.find(|to| is_valid(to) && is_in_step(*to))?;
        changes.push(Replaced { before: at[0]..to[0], after: at[1]..to[1] });
        at = to;
    }
    Some(changes)
}

/// Returns where each line starts, and the end.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = memchr::memchr_iter(b'\n', bytes);
    let mut starts: Vec<usize> = [0].into_iter().chain(ends.map(|at| at + 1)).collect();
    if starts.last() != Some(&bytes.len()) {
        starts.push(bytes.len());
    }
    starts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(before: &str, after: &str, hunks: &[(u64, &str, &str)]) {
        let found = Hunks::between(before.as_bytes(), after.as_bytes());
        let shown = |hunk: &Hunk| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (hunk.offset, text(&hunk.removed), text(&hunk.inserted))
        };
        let expected = hunks.iter().map(|(at, old, new)| (*at, old.to_string(), new.to_string()));
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(found.apply(before.as_bytes()).unwrap(), after.as_bytes());
        assert_eq!(found.inverted().apply(after.as_bytes()).unwrap(), before.as_bytes());
        assert_eq!(Hunks::decode(&found.encode()), Some(found));
    }

    #[test]
    fn hunks_are_whole_lines() {
        check("a\nb\nc\n", "a\nB\nc\n", &[(2, "b\n", "B\n")]);
        check("a\nb\nc\n", "a\nc\n", &[(2, "b\n", "")]);
        check("a\nc\n", "a\nb\nc\n", &[(2, "", "b\n")]);
        check("a\nb\nc\nd\n", "A\nb\nc\nD\n", &[(0, "a\n", "A\n"), (6, "d\n", "D\n")]);
        check("a\nb", "a\nb\n", &[(2, "b", "b\n")]);
        check("", "a\n", &[(0, "", "a\n")]);
        check("a\n", "", &[(0, "a\n", "")]);
        check("same", "same", &[]);
        check("xa\n", "a\n", &[(0, "xa\n", "a\n")]);
    }

    #[test]
    fn few_differences_in_a_long_text_are_separate_hunks() {
        let line = |n: usize| format!("line {n}\n");
        let before: String = (0..20_000).map(line).collect();
        let after: String = (0..20_000)
            .map(|n| match n {
                0 => "first\n".into(),
                9_000 => String::new(),
                15_000 => "new\n".repeat(100),
                19_999 => "last".into(),
                n => line(n),
            })
            .collect();
        let hunks = Hunks::between(before.as_bytes(), after.as_bytes());
        assert_eq!(hunks.apply(before.as_bytes()).as_deref(), Some(after.as_bytes()));
        assert_eq!(hunks.len(), 4);
        assert!(
            hunks.iter().map(|hunk| hunk.removed.len() + hunk.inserted.len()).sum::<usize>() < 500
        );
    }

    #[test]
    fn lines_in_step_are_compared_like_any_others() {
        let mut random = 1u64;
        let mut text = |n_words: u64| -> Vec<u8> {
            let mut word = || {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                [&b"a\n"[..], b"b\n", b"\n", b"long line\n", b"c"][(random >> 33) as usize % 5]
            };
            (0..n_words).flat_map(|_| word().to_vec()).collect()
        };
        for n in 0..3000 {
            let (before, after) = (text(n % 12), text(n % 9));
            let (starts, starts_after) = (line_starts(&before), line_starts(&after));
            let changes = in_step(&before, &starts, &after, &starts_after).unwrap();
            let (mut rebuilt, mut at) = (Vec::new(), 0);
            for Replaced { before: old, after: new } in &changes {
                // A line that did not change precedes every change but one at the start.
                assert!(old.start > at || at == 0, "{changes:?}");
                rebuilt.extend_from_slice(&before[starts[at]..starts[old.start]]);
                rebuilt.extend_from_slice(&after[starts_after[new.start]..starts_after[new.end]]);
                at = old.end;
            }
            rebuilt.extend_from_slice(&before[starts[at]..]);
            assert_eq!(rebuilt, after);
        }
    }

    #[test]
    fn a_binary_file_and_a_changed_encoding_are_one_hunk() {
        for (before, after) in [
            (&b"a\0\nb\nc\n"[..], &b"A\0\nb\nC\n"[..]),
            (b"a\nb\nc\n", b"\xef\xbb\xbfa\nb\nc\n"),
            (b"a\nb\nc\n", b"a\nb\n\xe9\n"),
        ] {
            let hunks = Hunks::between(before, after);
            assert_eq!(hunks, Hunks::whole(before, after));
        }
    }

    #[test]
    fn damaged_hunks_are_not_decoded() {
        let encoded = Hunks::between(b"a\nb\n", b"a\nB\n").encode();
        for n in 0..encoded.len() {
            assert_eq!(Hunks::decode(&encoded[..n]), None, "{n}");
        }
        assert_eq!(Hunks::decode(&[&encoded[..], b"x"].concat()), None);
        assert_eq!(Hunks::decode(&[0xff; 12]), None);
    }
}
