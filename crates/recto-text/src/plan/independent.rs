//! Plans independent replacements in one pass over the text.
//!
//! The general algorithm applies replacements one after another, and each searches the whole text
//! as the earlier ones left it. If every search string occurs exactly once, the places are too far
//! apart to affect each other, and no new text creates another occurrence, then the order does not
//! matter and one pass finds them all. Other cases, including errors, use the general algorithm.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use super::strings::Replacement;
use super::{Plan, TextPart, endings};
use crate::edits::{Edit, Edits};
use crate::find::MatchKind;
use crate::line::{self, LineRange};

/// With fewer, the general algorithm is as fast; with more, counting lines would be quadratic.
const N_REPLACEMENTS: Range<usize> = 8..1000;

/// How many bytes of a string are compared before the whole string.
const N_KEY: usize = 4;

/// Plans replacements if their order does not matter.
pub fn plan(part: TextPart<'_>, replacements: &[Replacement]) -> Option<Plan> {
    if !N_REPLACEMENTS.contains(&replacements.len()) {
        return None;
    }
    let olds: Vec<&str> = replacements.iter().map(Replacement::old).collect();
    // Only the general algorithm matches other line endings.
    let is_tolerant = |old: &&str| old.contains("\r\n") || has_crlf(part.text);
    if olds.iter().any(|old| old.contains('\n') && is_tolerant(old)) {
        return None;
    }
    let needles = Needles::new(&olds)?;
    let starts = needles.find_each_once(part.text.as_bytes())?;
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by_key(|index| starts[*index]);

    let reach = olds.iter().map(|old| old.len()).max()?;
    let mut edits: Vec<Option<Edit>> = vec![None; olds.len()];
    let mut lines = vec![0; olds.len()];
    let (mut n_lines, mut counted_to) = (0, 0);
    for (position, &index) in order.iter().enumerate() {
        let range = starts[index]..starts[index] + olds[index].len();
        let next = order.get(position + 1).map_or(part.text.len(), |next| starts[*next]);
        // Another string could span the end of this match and the start of the next.
        if position + 1 < order.len() && range.end + 2 * reach > next {
            return None;
        }
        let text = new_text(part.text, &replacements[index], &range, next)?;
        if needles.occurs_in(&surroundings(part.text, &range, &text, reach), index) {
            return None;
        }
        n_lines += memchr_iter(b'\n', &part.text.as_bytes()[counted_to..range.start]).count();
        counted_to = range.start;
        lines[index] = n_lines;
        edits[index] = Some(Edit { range, text });
    }

    let edits: Vec<Edit> = edits.into_iter().flatten().collect();
    let line_ranges = (0..edits.len())
        .map(|index| {
            let line = lines[index] as isize
                + lines_moved(&edits[..index], &olds, edits[index].range.start);
            let LineRange { start, end } = line::range_of(olds[index], &(0..olds[index].len()));
            let start = start.strict_add_signed(line) + part.lines_before;
            let end = end.strict_add_signed(line) + part.lines_before;
            LineRange { start, end }
        })
        .collect();
    let sorted = order.iter().map(|index| edits[*index].clone()).collect();
    Some(Plan { edits: Edits::sorted(part.text, sorted), line_ranges, kind: MatchKind::Exact })
}

/// Returns the new text with the line endings of its location, or `None` if the next line ending,
/// which decides, is at or after the next match.
fn new_text(
    text: &str,
    replacement: &Replacement,
    range: &Range<usize>,
    next: usize,
) -> Option<String> {
    let new = replacement.new_text();
    if replacement.old().contains('\n') || !new.contains('\n') {
        return Some(new.to_string());
    }
    memchr(b'\n', &text.as_bytes()[range.start..next])?;
    Some(endings::with_ending(new, line::ending_at(text, range.start)))
}

fn has_crlf(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"\r\n").is_some()
}

/// Returns the text around a replacement after it is applied, as far as a string could extend.
fn surroundings(text: &str, range: &Range<usize>, new: &str, reach: usize) -> Vec<u8> {
    let bytes = text.as_bytes();
    let head = &bytes[range.start.saturating_sub(reach)..range.start];
    let tail = &bytes[range.end..(range.end + reach).min(bytes.len())];
    [head, new.as_bytes(), tail].concat()
}

/// Returns by how many lines earlier edits moved an offset.
fn lines_moved(earlier: &[Edit], olds: &[&str], place: usize) -> isize {
    let n_endings = |text: &str| memchr_iter(b'\n', text.as_bytes()).count() as isize;
    let before = earlier.iter().zip(olds).filter(|(edit, _)| edit.range.start < place);
    before.map(|(edit, old)| n_endings(&edit.text) - n_endings(old)).sum()
}

/// Strings to search for, indexed by four bytes of each.
struct Needles<'a> {
    olds: &'a [&'a str],
    /// Four bytes, the index of their string and their offset in it, sorted.
    keys: Vec<(u32, usize, usize)>,
    /// The hashes of the keys, as a bit set.
    filter: Box<[u64; 1 << 10]>,
}

impl<'a> Needles<'a> {
    /// Indexes the strings. Returns `None` if one is too short or starts with a line ending.
    fn new(olds: &'a [&'a str]) -> Option<Needles<'a>> {
        let mut needles =
            Needles { olds, keys: Vec::with_capacity(olds.len()), filter: Box::new([0; 1 << 10]) };
        for (index, old) in olds.iter().enumerate() {
            // A match must not start inside `\r\n`; only the general algorithm checks that.
            if old.starts_with('\n') {
                return None;
            }
            let offset = rarest(old.as_bytes())?;
            let key = key_at(old.as_bytes(), offset);
            needles.keys.push((key, index, offset));
            let bit = bit_of(key);
            needles.filter[bit / 64] |= 1 << (bit % 64);
        }
        needles.keys.sort_unstable();
        Some(needles)
    }

    /// Returns the offset of each string, if each occurs exactly once.
    fn find_each_once(&self, text: &[u8]) -> Option<Vec<usize>> {
        let mut starts = vec![None; self.olds.len()];
        let mut is_once = true;
        self.for_each(text, |index, start| {
            is_once &= starts[index].replace(start).is_none();
            is_once
        })?;
        if is_once { starts.into_iter().collect() } else { None }
    }

    /// Whether a text contains a string with an index greater than `index`.
    fn occurs_in(&self, text: &[u8], index: usize) -> bool {
        let mut occurs = false;
        let visited = self.for_each(text, |found, _| {
            occurs |= found > index;
            !occurs
        });
        occurs || visited.is_none()
    }

    /// Visits the occurrences of all strings until `visit` returns false. Returns `None` if the
    /// keys are so common that the general algorithm is faster.
    fn for_each(&self, text: &[u8], mut visit: impl FnMut(usize, usize) -> bool) -> Option<()> {
        let mut n_tries = 1024 + text.len() / 8;
        let mut windows = text.array_windows();
        while let Some(window) = windows.next() {
            let key = u32::from_le_bytes(*window);
            let bit = bit_of(key);
            if self.filter[bit / 64] & (1 << (bit % 64)) == 0 {
                continue;
            }
            let at = text.len() - N_KEY - windows.len();
            let first = self.keys.partition_point(|(other, ..)| *other < key);
            for (_, index, offset) in
                self.keys[first..].iter().take_while(|(other, ..)| *other == key)
            {
                n_tries = n_tries.checked_sub(1)?;
                let Some(start) = at.checked_sub(*offset) else { continue };
                if text[start..].starts_with(self.olds[*index].as_bytes()) && !visit(*index, start)
                {
                    return Some(());
                }
            }
        }
        Some(())
    }
}

/// Returns the offset of the four bytes that are probably the rarest in a text.
fn rarest(old: &[u8]) -> Option<usize> {
    let rarity = |byte: &u8| match byte {
        b' ' | b'\n' | b'\r' | b'\t' => 0,
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'l' => 1,
        b'a'..=b'z' | b'(' | b')' | b',' | b'.' | b';' | b'"' | b'_' | b'=' => 2,
        _ => 3,
    };
    let score = |offset: &usize| old[*offset..offset + N_KEY].iter().map(rarity).sum::<u32>();
    (0..(old.len() + 1).checked_sub(N_KEY)?).max_by_key(score)
}

fn key_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(*bytes[offset..].first_chunk().expect("there are four bytes"))
}

/// Returns the bit of a key in the filter, by Knuth's multiplicative hash.
fn bit_of(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

#[cfg(test)]
mod tests;
