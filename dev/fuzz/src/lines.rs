//! Checks the two line grammars: a string gives lines of the file or an error, two integers give a
//! range inside it or an error.
//!
//! An input is a specification, the number of lines, the number of context lines, and the two ends
//! of an interval.

use std::ops::Range;

use recto_text::line_range::{Interval, line_to_change};
use recto_text::line_spec::LineSpec;

use crate::fields::Fields;

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut fields = Fields::new(input);
    let spec = fields.text();
    let (n_lines, n_more) = (fields.number() as u64, fields.number() as u64);
    let interval = Interval { start: fields.number(), end: fields.number() };
    if let Ok(parsed) = LineSpec::parse(&spec) {
        for n_lines in [0, 1, 7, n_lines, u64::MAX] {
            check_spec(&parsed, n_lines, n_more);
        }
    }
    for n_lines in [0, 1, 7, n_lines, u64::MAX] {
        check_interval(interval, n_lines);
    }
}

fn check_spec(spec: &LineSpec, n_lines: u64, n_more: u64) {
    let lines = spec.resolve(n_lines, 0);
    let wider = spec.resolve(n_lines, n_more);
    for ranges in [&lines, &wider] {
        let is_inside = |range: &Range<u64>| range.start < range.end && range.end <= n_lines;
        assert!(ranges.iter().all(is_inside), "{ranges:?} of {n_lines} for {spec:?}");
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
    }
    let is_inside = |range: &Range<u64>| {
        wider.iter().any(|wide| wide.start <= range.start && range.end <= wide.end)
    };
    assert!(lines.iter().all(is_inside), "{lines:?} in {wider:?}");
    let next = LineSpec::from_line(Some(spec), 3);
    let read = LineSpec::parse(&next).expect("the continuation that an answer suggests is valid");
    assert_eq!((read.from(), read.resolve(n_lines, n_more)), (3, wider));
}

/// Checks the rule: 0 is open, negative numbers count from the end, reads clamp.
fn check_interval(interval: Interval, n_lines: u64) {
    let n = i128::from(n_lines.min(i64::MAX as u64 - 1));
    let counted = |line: i64| if line < 0 { n + 1 + i128::from(line) } else { i128::from(line) };
    let start = if interval.start == 0 { 1 } else { counted(interval.start).max(1) };
    let end = if interval.end == 0 { n + 1 } else { counted(interval.end).clamp(1, n + 1) };
    match interval.to_read("f", n_lines) {
        Ok(range) if n == 0 => assert_eq!(range, 0..0),
        Ok(range) => {
            assert!(start < end && start <= n);
            assert_eq!((i128::from(range.start), i128::from(range.end)), (start - 1, end - 1));
        }
        Err(_) => assert!(start >= end || start > n, "{interval:?} of {n_lines}"),
    }
    let Ok(n_lines) = usize::try_from(n_lines) else { return };
    if let Ok(range) = interval.to_change("f", n_lines) {
        let read = interval.to_read("f", n_lines as u64).expect("what can be changed can be read");
        assert_eq!(range, read.start as usize..read.end as usize);
        assert!(range.start < range.end && range.end <= n_lines);
    }
    if let Ok(line_idx) = line_to_change(interval.start, "f", n_lines) {
        assert!(line_idx < n_lines && interval.start != 0);
        assert_eq!(line_idx as i128, counted(interval.start) - 1);
    }
}
