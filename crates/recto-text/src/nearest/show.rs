//! Describes the closest lines: their position, the kind of difference, and the first few lines that
//! differ, truncated around the difference.

use super::Meant;
use super::align::{AlignStep, Difference, align, difference_behind};
use crate::line::{self, LineRange};
use crate::quote::{has_no_shape, unseen_difference};

/// The maximum number of differing lines that are shown.
const MAX_SHOWN: usize = 3;

/// The maximum number of wanted lines that are compared. A caller needs the first differences.
const MAX_COMPARED: usize = 60;

/// The number of extra lines of the file that are compared around the position.
const MARGIN: usize = 3;

/// The maximum characters of a line that are shown, and how many of them precede the difference.
const MAX_LINE: usize = 110;
const BEFORE_DIFFERENCE: usize = 40;

/// Describes the differences between `wanted` and the text around a 0-based line.
pub fn place(
    text: &str,
    line_idx: usize,
    also: Option<usize>,
    wanted: &[&str],
    meant: Meant,
) -> String {
    let n_equal = line::lines(text)
        .skip(line_idx)
        .zip(wanted)
        .take_while(|(line, want)| line::without_ending(line) == **want)
        .count();
    // The beginning of a long text often matches.
    let n_skipped = if wanted.len() > MAX_COMPARED { n_equal.saturating_sub(MARGIN) } else { 0 };
    let first = (line_idx + n_skipped).saturating_sub(MARGIN);
    let all = wanted;
    let wanted = &wanted[n_skipped..];
    // Lines that are not compared may differ in any way.
    let n_cut = wanted.len().saturating_sub(MAX_COMPARED);
    let wanted = &wanted[..wanted.len() - n_cut];
    let n_lines = line_idx + n_skipped - first + wanted.len() + MARGIN;
    let file: Vec<&str> =
        line::lines(text).skip(first).take(n_lines).map(line::without_ending).collect();
    let steps = align(&file, wanted, first, meant);
    let behind = &all[all.len() - n_cut..];
    let behind = Behind::find(text, &steps, behind, meant).unwrap_or_default();
    let is_cut = n_cut > behind.n_lines;

    let numbers = || {
        steps.iter().filter_map(|step| match step {
            AlignStep::Pair { line_idx, .. } => Some(line_idx + 1),
            AlignStep::FileOnly { .. } | AlignStep::WantOnly { .. } => None,
        })
    };
    let start = if n_skipped > 0 { None } else { numbers().next() }.unwrap_or(line_idx + 1);
    let end = numbers().next_back().unwrap_or(start) + behind.n_lines;
    let mut shown = format!("Closest: {}", LineRange { start, end });
    shown.push_str(match steps.iter().map(kind).max().unwrap_or(Difference::Words) {
        // If whole lines are wanted, a prefix of a line is a different line.
        Difference::None if meant == Meant::Text => " (differs only in line endings)",
        Difference::None => "",
        Difference::Whitespace if is_cut => " (· space, ⇥ tab)",
        _ if is_cut => "",
        Difference::Whitespace if !steps.iter().any(differs_in_whitespace) => {
            " (differs only in blank lines)"
        }
        Difference::Whitespace => " (differs only in whitespace: · space, ⇥ tab)",
        Difference::LookAlikes => " (differs only in look-alike characters)",
        Difference::Case => " (differs only in case)",
        Difference::Words => "",
    });
    let differing: Vec<&AlignStep<'_>> =
        steps.iter().filter(|step| kind(step) != Difference::None).collect();
    for step in differing.iter().take(MAX_SHOWN) {
        shown.push('\n');
        shown.push_str(&describe(step, text, meant));
    }
    let n_more = differing.len().saturating_sub(MAX_SHOWN) + behind.n_differing;
    if n_more > 0 {
        let lines = if n_more == 1 { "line differs" } else { "lines differ" };
        shown.push_str(&format!("\n{n_more} more {lines}."));
    }
    if let Some(also) = also {
        shown.push_str(&format!("\nAlso close: line {}.", also + 1));
    }
    shown.push_str("\nCopy the text exactly as it is in the file.");
    shown
}

/// Lines after the aligned ones.
#[derive(Default)]
struct Behind {
    n_lines: usize,
    n_differing: usize,
}

impl Behind {
    /// Compares the lines after a block that differs only in whitespace. Returns `None` if they differ
    /// otherwise and would have to be aligned.
    fn find(text: &str, steps: &[AlignStep<'_>], wanted: &[&str], meant: Meant) -> Option<Behind> {
        let is_alike = |step: &AlignStep<'_>| matches!(step, AlignStep::Pair { difference, .. } if *difference <= Difference::Whitespace);
        let Some(AlignStep::Pair { line_idx: last_idx, .. }) = steps.last() else { return None };
        if !steps.iter().all(is_alike) {
            return None;
        }
        let mut lines = line::lines(text).skip(last_idx + 1);
        let mut n_differing = 0;
        for (at, want) in wanted.iter().enumerate() {
            let is_last = at + 1 == wanted.len() && meant == Meant::Text;
            match difference_behind(line::without_ending(lines.next()?), want, is_last) {
                Difference::None => {}
                Difference::Whitespace => n_differing += 1,
                _ => return None,
            }
        }
        Some(Behind { n_lines: wanted.len(), n_differing })
    }
}

/// Truncates a text and marks the truncation.
pub fn at_most(max_chars: usize, text: String) -> String {
    match text.char_indices().nth(max_chars) {
        None => text,
        Some(_) => text.chars().take(max_chars - 1).chain(['…']).collect(),
    }
}

/// Whether two lines differ in whitespace.
fn differs_in_whitespace(step: &AlignStep<'_>) -> bool {
    matches!(step, AlignStep::Pair { difference: Difference::Whitespace, .. })
}

fn kind(step: &AlignStep<'_>) -> Difference {
    match step {
        AlignStep::Pair { difference, .. } => *difference,
        AlignStep::FileOnly { file: line, .. } | AlignStep::WantOnly { want: line } => {
            if line.trim().is_empty() { Difference::Whitespace } else { Difference::Words }
        }
    }
}

fn describe(step: &AlignStep<'_>, text: &str, meant: Meant) -> String {
    match step {
        AlignStep::Pair { line_idx, file, want, difference } => {
            let number = line_idx + 1;
            let n_equal = file.chars().zip(want.chars()).take_while(|(a, b)| a == b).count();
            let start = n_equal.saturating_sub(BEFORE_DIFFERENCE);
            let is_whitespace = *difference == Difference::Whitespace;
            let [file_line, want_line] =
                [file, want].map(|line| visible(line, start, is_whitespace));
            let shown = format!("{number} file: {file_line}\n{number} want: {want_line}");
            match unseen_difference(file, want) {
                Some(unseen) => format!("{shown}\n{unseen}"),
                None => shown,
            }
        }
        AlignStep::FileOnly { line_idx, file } => {
            let (number, argument) = (line_idx + 1, meant.argument());
            format!("{number} file: {}  (not in {argument})", visible_line(file))
        }
        AlignStep::WantOnly { want } => {
            let shown = visible_line(want);
            match whereabouts(text, want) {
                _ if want.trim().is_empty() => format!("want: {shown}  (missing here)"),
                Some(line_idx) => format!("want: {shown}  (found at line {})", line_idx + 1),
                None => format!("want: {shown}  (not in the file)"),
            }
        }
    }
}

/// Returns the 0-based line with this text, ignoring surrounding whitespace.
fn whereabouts(text: &str, want: &str) -> Option<usize> {
    line::lines(text).position(|line| line.trim() == want.trim())
}

fn visible_line(line: &str) -> String {
    if line.trim().is_empty() { "a blank line".into() } else { visible(line, 0, false) }
}

/// Returns the visible form of a line from a character on, truncated.
fn visible(line: &str, start: usize, shows_whitespace: bool) -> String {
    let mut shown = String::from(if start > 0 { "…" } else { "" });
    let mut rest = line.chars().skip(start);
    shown.extend(rest.by_ref().take(MAX_LINE).map(|c| visible_char(c, shows_whitespace)));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

fn visible_char(c: char, shows_whitespace: bool) -> char {
    match c {
        ' ' if shows_whitespace => '·',
        '\t' if shows_whitespace => '⇥',
        '\t' => ' ',
        '\r' => '␍',
        '\u{a0}' => '⍽',
        c if c.is_control() || has_no_shape(c) => '�',
        c => c,
    }
}
