//! Describes the line endings of changed lines, which a diff does not show.

use memchr::memmem;

use super::{LineChange, Texts};
use crate::line::{self, LineRange};
use crate::quote::LineNumbers;

/// The maximum number of line ranges to name.
const MAX_NAMED: usize = 5;

/// The endings of lines: how many have each, and the first ranges of lines with it.
#[derive(Default)]
struct Tally {
    lf: Lines,
    crlf: Lines,
}

#[derive(Default)]
struct Lines {
    n_lines: usize,
    n_ranges: usize,
    ranges: Vec<LineRange>,
}

impl Lines {
    fn add(&mut self, line: usize) {
        self.n_lines += 1;
        match self.ranges.last_mut() {
            Some(range) if range.end + 1 == line => range.end = line,
            _ => {
                self.n_ranges += 1;
                if self.n_ranges <= MAX_NAMED {
                    self.ranges.push(LineRange { start: line, end: line });
                }
            }
        }
    }
}

impl Tally {
    /// Counts the endings of lines, of which the first has this number.
    fn add(&mut self, first_line: usize, lines: &str) {
        for (number, line) in (first_line..).zip(line::lines(lines)) {
            match line.strip_suffix('\n') {
                Some(line) if line.ends_with('\r') => self.crlf.add(number),
                Some(_) => self.lf.add(number),
                None => {}
            }
        }
    }

    /// Returns the name of the ending that every line has.
    fn only(&self) -> Option<&'static str> {
        match (self.lf.n_lines, self.crlf.n_lines) {
            (1.., 0) => Some("LF"),
            (0, 1..) => Some("CRLF"),
            _ => None,
        }
    }
}

/// Returns the endings of the added lines, or `None` if they and the rest of the file have LF.
pub fn describe(texts: &Texts<'_>, changes: &[LineChange]) -> Option<String> {
    let (mut old, mut new) = (Tally::default(), Tally::default());
    for change in changes {
        old.add(1 + change.before.lines.start, &texts.before[change.before.bytes.clone()]);
        new.add(
            1 + texts.lines_before + change.after.lines.start,
            &texts.after[change.after.bytes.clone()],
        );
    }
    let had_crlf = texts.has_other_crlf || old.crlf.n_lines > 0;
    if !had_crlf && !line::has_crlf(texts.after.as_bytes()) {
        return None;
    }
    if let Some(ending) = new.only() {
        let lines = match new.lf.n_lines + new.crlf.n_lines {
            1 => "the changed line ends",
            _ => "the changed lines end",
        };
        let before = old.only().filter(|before| *before != ending);
        let before = before.map(|before| format!(" (before: {before})")).unwrap_or_default();
        return Some(format!("{lines} with {ending}{before}"));
    }
    if new.lf.n_lines == 0 {
        return None;
    }
    let (few, few_name, many_name) = match new.lf.n_lines <= new.crlf.n_lines {
        true => (&new.lf, "LF", "CRLF"),
        false => (&new.crlf, "CRLF", "LF"),
    };
    if few.n_ranges > MAX_NAMED {
        let (n_lf, n_crlf) = (new.lf.n_lines, new.crlf.n_lines);
        return Some(format!("changed lines: {n_lf} LF, {n_crlf} CRLF"));
    }
    Some(format!("changed lines: {} {few_name}, others {many_name}", LineNumbers(&few.ranges)))
}

/// Returns the name of a text's line endings, or `None` for a text without any.
pub fn style(text: &str) -> Option<&'static str> {
    if !line::has_crlf(text.as_bytes()) {
        return text.contains('\n').then_some("LF");
    }
    let n_crlf = memmem::find_iter(text.as_bytes(), b"\r\n").count();
    let n_all = line::n_endings(text);
    Some(if n_crlf == n_all { "CRLF" } else { "mixed LF and CRLF" })
}
