//! How the closest lines are shown: where they are, what kind of difference it is, and the first
//! few lines that differ, cut around the difference.

use super::Meant;
use super::align::{Difference, Step, align, difference_behind};
use crate::line::{self, LineRange};
use crate::quote::{has_no_shape, unseen_difference};

/// How many differing lines are shown.
const MAX_SHOWN: usize = 3;

/// How many wanted lines are compared. The first differences are what a caller needs.
const MAX_COMPARED: usize = 60;

/// How many lines of the file around the place are compared, for lines that are too many there.
const MARGIN: usize = 3;

/// How many characters of a line are shown, and how many of them before the difference.
const MAX_LINE: usize = 110;
const BEFORE_DIFFERENCE: usize = 40;

/// Describes the place around a line of the text, from 0, where `wanted` was most likely meant.
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
    // Of a long text the beginning may well be right.
    let n_skipped = if wanted.len() > MAX_COMPARED { n_equal.saturating_sub(MARGIN) } else { 0 };
    let first = (line_idx + n_skipped).saturating_sub(MARGIN);
    let all = wanted;
    let wanted = &wanted[n_skipped..];
    // What is not compared may differ in anything.
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
            Step::Pair { line_idx, .. } => Some(line_idx + 1),
            Step::FileOnly { .. } | Step::WantOnly { .. } => None,
        })
    };
    let start = if n_skipped > 0 { None } else { numbers().next() }.unwrap_or(line_idx + 1);
    let end = numbers().next_back().unwrap_or(start) + behind.n_lines;
    let mut shown = format!("Closest: {}", LineRange { start, end });
    shown.push_str(match steps.iter().map(kind).max().unwrap_or(Difference::Words) {
        // Where whole lines are meant, a line that is only begun is another line.
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
    let differing: Vec<&Step<'_>> =
        steps.iter().filter(|step| kind(step) != Difference::None).collect();
    for step in differing.iter().take(MAX_SHOWN) {
        shown.push('\n');
        shown.push_str(&describe(step, text, meant));
    }
    let n_more = differing.len().saturating_sub(MAX_SHOWN) + behind.n_differing;
    if n_more > 0 {
        shown.push_str(&format!("\n{n_more} more lines differ."));
    }
    if let Some(also) = also {
        shown.push_str(&format!("\nAlso close: line {}.", also + 1));
    }
    shown.push_str("\nCopy the text exactly as it is in the file.");
    shown
}

/// Lines behind those that are aligned.
#[derive(Default)]
struct Behind {
    n_lines: usize,
    n_differing: usize,
}

impl Behind {
    /// What comes behind a block that differs in nothing but whitespace, if it goes on so to its
    /// end: then the rest need not be aligned.
    fn find(text: &str, steps: &[Step<'_>], wanted: &[&str], meant: Meant) -> Option<Behind> {
        let is_alike = |step: &Step<'_>| matches!(step, Step::Pair { difference, .. } if *difference <= Difference::Whitespace);
        let Some(Step::Pair { line_idx: last_idx, .. }) = steps.last() else { return None };
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

/// Cuts at the end, visibly.
pub fn at_most(max_chars: usize, text: String) -> String {
    match text.char_indices().nth(max_chars) {
        None => text,
        Some(_) => text.chars().take(max_chars - 1).chain(['…']).collect(),
    }
}

/// Whether two lines differ in whitespace.
fn differs_in_whitespace(step: &Step<'_>) -> bool {
    matches!(step, Step::Pair { difference: Difference::Whitespace, .. })
}

fn kind(step: &Step<'_>) -> Difference {
    match step {
        Step::Pair { difference, .. } => *difference,
        Step::FileOnly { file: line, .. } | Step::WantOnly { want: line } => {
            if line.trim().is_empty() { Difference::Whitespace } else { Difference::Words }
        }
    }
}

fn describe(step: &Step<'_>, text: &str, meant: Meant) -> String {
    match step {
        Step::Pair { line_idx, file, want, difference } => {
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
        Step::FileOnly { line_idx, file } => {
            let (number, argument) = (line_idx + 1, meant.argument());
            format!("{number} file: {}  (not in {argument})", visible_line(file))
        }
        Step::WantOnly { want } => {
            let shown = visible_line(want);
            match whereabouts(text, want) {
                _ if want.trim().is_empty() => format!("want: {shown}  (missing here)"),
                Some(line_idx) => format!("want: {shown}  (found at line {})", line_idx + 1),
                None => format!("want: {shown}  (not in the file)"),
            }
        }
    }
}

/// The line that reads like that, from 0, blanks around it aside.
fn whereabouts(text: &str, want: &str) -> Option<usize> {
    line::lines(text).position(|line| line.trim() == want.trim())
}

fn visible_line(line: &str) -> String {
    if line.trim().is_empty() { "a blank line".into() } else { visible(line, 0, false) }
}

/// A line from a character on, as far as there is room.
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
