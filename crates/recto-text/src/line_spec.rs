//! Line specifications: `12`, `5-9`, `+10-`, `3 +/-2`, and lists of those.
//!
//! Ranges are inclusive, clamped to the file, merged and sorted. Any other syntax is an error.

use std::ops::Range;

use crate::error::{Error, Result};

/// The grammar, as text for callers.
pub const GRAMMAR: &str = "N, A-B or A...B, -N (first N), A- (to the end), +N (N-th from the end, \
    so +10- is the last ten), with commas between, each with optional context: 5 +/-2, 5 -3, 5 +3, \
    5 -3+1";

/// A line specification, which is resolved for a given number of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSpec {
    parts: Vec<SpecRange>,
    /// The ranges as written by the caller.
    spelled: String,
    /// The first line to return, from 1; earlier ones were already returned.
    from: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SpecRange {
    first: Bound,
    last: Bound,
    n_before: u64,
    n_after: u64,
}

/// One end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Counted from 1.
    FromStart(u64),
    /// Counted from the end; 1 is the last line.
    FromEnd(u64),
}

impl LineSpec {
    /// Parses a specification. One that an answer gives for the next page ends with ` from N`.
    pub fn parse(text: &str) -> Result<LineSpec> {
        let wrong = || Error::BadLineSpec { lines: text.into() };
        let (text, from) = match text.split_once(" from ") {
            Some((text, from)) => (text, parse_number(from.trim()).ok_or_else(wrong)?),
            None => (text, 1),
        };
        let parts: Option<Vec<SpecRange>> =
            text.split(',').map(|part| SpecRange::parse(part.trim())).collect();
        let parts = parts.ok_or_else(wrong)?;
        if parts.iter().any(|part| part.reversed().is_some()) {
            return Err(wrong());
        }
        Ok(LineSpec { parts, spelled: text.into(), from })
    }

    /// Returns the specification of the same lines without those before `line`, from 1.
    pub fn from_line(lines: Option<&LineSpec>, line: u64) -> String {
        format!("{} from {line}", lines.map_or("1-", |lines| &lines.spelled))
    }

    /// Returns the first line to return, from 1.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Returns the lines in a file of `n_lines` as sorted, disjoint ranges from 0, each widened by
    /// `n_more` lines on both sides.
    pub fn resolve(&self, n_lines: u64, n_more: u64) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        // In an empty file, a range could otherwise resolve to an empty one instead of none.
        let parts = if n_lines == 0 { &[][..] } else { &self.parts };
        for part in parts {
            let (first, last) = (part.first.resolve(n_lines), part.last.resolve(n_lines));
            // A range that is empty or outside the file has no lines, even with context.
            if first > last || first > i128::from(n_lines) || last < 1 {
                continue;
            }
            let first = first - i128::from(part.n_before) - i128::from(n_more);
            let last = last + i128::from(part.n_after) + i128::from(n_more);
            let (first, last) = (first.max(1), last.min(i128::from(n_lines)));
            ranges.push(first as u64 - 1..last as u64);
        }
        merge(ranges)
    }
}

/// Sorts ranges and joins overlapping and adjacent ones.
pub fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the first reversed range, corrected.
pub fn reversed(text: &str) -> Option<String> {
    text.split(',').find_map(|part| SpecRange::parse(part.trim())?.reversed())
}

impl SpecRange {
    /// Returns the corrected range if its end is before its start.
    fn reversed(&self) -> Option<String> {
        match (self.first, self.last) {
            (Bound::FromStart(first), Bound::FromStart(last)) if first > last => {
                Some(format!("{last}-{first}"))
            }
            (Bound::FromEnd(first), Bound::FromEnd(last)) if first < last => {
                Some(format!("+{last}-+{first}"))
            }
            // The order depends on the file.
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<SpecRange> {
        let (range, context) = match text.find([' ', '\t']) {
            Some(at) => (&text[..at], text[at..].trim_start()),
            // `+/-` is unambiguous, so it needs no space.
            None => {
                text.find("+/-").filter(|at| *at > 0).map_or((text, ""), |at| text.split_at(at))
            }
        };
        let (n_before, n_after) = parse_context(context)?;
        let (first, last) = parse_range(range)?;
        Some(SpecRange { first, last, n_before, n_after })
    }
}

/// Parses `N`, `A-B`, `A...B`, `A-`, `A...`, `-N` or `...N`.
fn parse_range(text: &str) -> Option<(Bound, Bound)> {
    if let Some(count) = text.strip_prefix("...").or_else(|| text.strip_prefix('-')) {
        return Some((Bound::FromStart(1), Bound::FromStart(parse_number(count)?)));
    }
    let Some((first, last)) = text.split_once("...").or_else(|| text.split_once('-')) else {
        let bound = Bound::parse(text)?;
        return Some((bound, bound));
    };
    let first = Bound::parse(first)?;
    let last = if last.is_empty() { Bound::FromEnd(1) } else { Bound::parse(last)? };
    // A range such as `+3-2` is more likely a mistake for `+3 -2`, or for the last lines.
    let is_mixed = matches!((first, last), (Bound::FromEnd(_), Bound::FromStart(_)));
    (!is_mixed).then_some((first, last))
}

/// Parses `+/-C`, `-B`, `+A`, `-B+A` or an empty string: the number of lines before and after.
fn parse_context(text: &str) -> Option<(u64, u64)> {
    if text.is_empty() {
        return Some((0, 0));
    }
    if let Some(both) = text.strip_prefix("+/-") {
        let both = parse_count(both)?;
        return Some((both, both));
    }
    if let Some(after) = text.strip_prefix('+') {
        return Some((0, parse_count(after)?));
    }
    let rest = text.strip_prefix('-')?;
    match rest.split_once('+') {
        Some((before, after)) => Some((parse_count(before)?, parse_count(after)?)),
        None => Some((parse_count(rest)?, 0)),
    }
}

impl Bound {
    fn parse(text: &str) -> Option<Bound> {
        match text.strip_prefix('+') {
            Some(number) => parse_number(number).map(Bound::FromEnd),
            None => parse_number(text).map(Bound::FromStart),
        }
    }

    /// Returns the line, from 1. It is less than 1 if it would be before the first line.
    fn resolve(self, n_lines: u64) -> i128 {
        match self {
            Bound::FromStart(line) => line.into(),
            Bound::FromEnd(line) => i128::from(n_lines) + 1 - i128::from(line),
        }
    }
}

/// Parses a line number, which is not 0. Values above 64 bits saturate.
fn parse_number(text: &str) -> Option<u64> {
    parse_count(text).filter(|number| *number > 0)
}

fn parse_count(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
