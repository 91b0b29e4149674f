//! The lines of a file view: numbered, compared inside items, with the words that differ and colours.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use recto_text::encoding::Encoding;
use recto_text::line_diff::{LineDiff, Replaced, is_comparable, n_lines};

use super::colours::{Colour, Colours};
use super::view::{FileView, Item, Layout, ShownForm};
use super::words;

/// The lines of context around an item.
const CONTEXT: usize = 3;

/// Gaps with fewer lines are shown.
const MIN_GAP: usize = 4;

/// The time for the colours of one file. The rest of it stays plain.
const COLOUR_TIME: Duration = Duration::from_millis(30);

/// A piece of a file view.
pub enum Block {
    /// Lines that did not change and are not shown: from this line on, counted from 0 in the file as it
    /// is now, and what to add for the number in the old file.
    Gap {
        /// The lines.
        lines: Range<usize>,
        /// What to add.
        shift: isize,
    },
    /// Lines around items.
    Context(Vec<Row>),
    /// An item.
    Item {
        /// Its index.
        index: usize,
        /// Its lines.
        rows: Vec<Row>,
    },
}

/// A line.
#[derive(Debug, Clone)]
pub struct Row {
    /// Whether it changed.
    pub kind: RowKind,
    /// Its numbers in the old and the new file, counted from 1.
    pub numbers: [Option<usize>; 2],
    /// The text without its ending.
    pub text: String,
    /// The name of the ending, if it changed or is missing.
    pub ending: Option<&'static str>,
    /// What changed in the line.
    pub marks: Vec<Range<usize>>,
    /// Its colours.
    pub colours: Vec<(Range<usize>, Colour)>,
}

/// Whether a line changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// It is the same on both sides.
    Same,
    /// It is only on the old side.
    Removed,
    /// It is only on the new side.
    Added,
}

/// Builds the lines of a file view, from its start.
struct Builder<'a> {
    encoding: Encoding,
    content: &'a [u8],
    /// Where the next line starts.
    at: usize,
    /// Its number, counted from 0.
    line: usize,
    /// What to add for the old file.
    shift: isize,
    colours: Colours,
    end: Instant,
    blocks: Vec<Block>,
}

/// Returns the view as lines. Empty if it is not shown as text.
pub fn blocks(view: &FileView, path: &Path) -> Vec<Block> {
    let ShownForm::Text(encoding) = view.form else { return Vec::new() };
    let content = view.content.as_deref().unwrap_or_default();
    let mut builder = Builder {
        encoding,
        content,
        at: 0,
        line: 0,
        shift: 0,
        colours: Colours::of(path),
        end: Instant::now() + COLOUR_TIME,
        blocks: Vec::new(),
    };
    for (index, item) in view.items.iter().enumerate() {
        builder.context(item.now.start, index > 0, true);
        builder.item(view, index, item);
    }
    builder.context(content.len(), !view.items.is_empty(), false);
    builder.blocks
}

/// Returns some lines of a file, for a gap.
pub fn lines(view: &FileView, path: &Path, lines: Range<usize>, shift: isize) -> Vec<Row> {
    let ShownForm::Text(encoding) = view.form else { return Vec::new() };
    let text = decode(encoding, view.content.as_deref().unwrap_or_default());
    let mut colours = Colours::of(path);
    let end = Instant::now() + COLOUR_TIME;
    let mut rows = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate().take(lines.end) {
        let coloured = coloured(&mut colours, end, line);
        if number >= lines.start {
            let old = number.checked_add_signed(shift).map(|number| number + 1);
            rows.push(row(RowKind::Same, [old, Some(number + 1)], line, coloured));
        }
    }
    rows
}

impl Builder<'_> {
    /// Adds the lines up to an offset, of which only those next to items are shown.
    fn context(&mut self, end: usize, is_after_item: bool, is_before_item: bool) {
        let bytes = self.content.get(self.at..end).unwrap_or_default();
        self.at = end;
        let text = decode(self.encoding, bytes);
        let n_lines = n_lines(text.as_bytes());
        let n_head = if is_after_item { CONTEXT } else { 0 };
        let n_tail = if is_before_item { CONTEXT } else { 0 };
        let is_gap = n_lines >= n_head + n_tail + MIN_GAP;
        let gap = if is_gap { n_head..n_lines - n_tail } else { 0..0 };
        let mut rows = Vec::new();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let coloured = coloured(&mut self.colours, self.end, line);
            let number = self.line + index;
            if is_gap && index == gap.start {
                self.add_context(&mut rows);
                let lines = number..number + gap.len();
                self.blocks.push(Block::Gap { lines, shift: self.shift });
            }
            if !gap.contains(&index) {
                let old = number.checked_add_signed(self.shift).map(|number| number + 1);
                rows.push(row(RowKind::Same, [old, Some(number + 1)], line, coloured));
            }
        }
        self.add_context(&mut rows);
        self.line += n_lines;
    }

    fn add_context(&mut self, rows: &mut Vec<Row>) {
        if !rows.is_empty() {
            self.blocks.push(Block::Context(std::mem::take(rows)));
        }
    }

    fn item(&mut self, view: &FileView, index: usize, item: &Item) {
        let [old, new] = view.sides(item).map(|bytes| decode(self.encoding, bytes));
        let (olds, news): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let mut of_old = self.colours.clone();
        let mut of_new = self.colours.clone();
        let end = self.end;
        let colour = |lines: &[&str], colours: &mut Colours| -> Vec<_> {
            lines.iter().map(|line| coloured(colours, end, line)).collect()
        };
        let (colours_old, colours_new) = (colour(&olds, &mut of_old), colour(&news, &mut of_new));
        let changes = match is_comparable(old.as_bytes(), new.as_bytes()) {
            true => LineDiff::new(old.as_bytes(), new.as_bytes()).changes().to_vec(),
            false => vec![Replaced { before: 0..olds.len(), after: 0..news.len() }],
        };
        let start = [self.line.checked_add_signed(self.shift).unwrap_or(0), self.line];
        let numbers = |old: Option<usize>, new: Option<usize>| {
            let at = |side: usize, index: Option<usize>| Some(start[side] + index? + 1);
            match item.layout {
                Layout::Made => [at(0, old), at(1, new)],
                Layout::Undone => [at(0, old), at(1, old)],
                Layout::Foreign => [at(0, new), at(1, new)],
            }
        };
        let shows_endings =
            endings(&olds) != endings(&news) && !olds.is_empty() && !news.is_empty();
        let ending = |line: &str| match line {
            line if !line.ends_with('\n') => Some("no newline"),
            line if line.ends_with("\r\n") => shows_endings.then_some("CRLF"),
            _ => shows_endings.then_some("LF"),
        };
        let mut rows = Vec::new();
        let mut at = [0, 0];
        let rest = Replaced { before: olds.len()..olds.len(), after: news.len()..news.len() };
        for Replaced { before, after } in changes.iter().chain([&rest]) {
            while at[0] < before.start && at[1] < after.start {
                let colours = colours_new[at[1]].clone();
                let numbers = numbers(Some(at[0]), Some(at[1]));
                rows.push(row(RowKind::Same, numbers, news[at[1]], colours));
                at = at.map(|line| line + 1);
            }
            let first = rows.len();
            for index in before.clone() {
                let numbers = numbers(Some(index), None);
                let mut row =
                    row(RowKind::Removed, numbers, olds[index], colours_old[index].clone());
                row.ending = ending(olds[index]);
                rows.push(row);
            }
            let first_new = rows.len();
            for index in after.clone() {
                let numbers = numbers(None, Some(index));
                let mut row = row(RowKind::Added, numbers, news[index], colours_new[index].clone());
                row.ending = ending(news[index]);
                rows.push(row);
            }
            for pair in 0..before.len().min(after.len()) {
                let [old, new] = [first + pair, first_new + pair];
                let [removed, added] = words::differing(&rows[old].text, &rows[new].text);
                (rows[old].marks, rows[new].marks) = (removed, added);
            }
            at = [before.end, after.end];
        }
        let n_shown = if item.layout == Layout::Undone { olds.len() } else { news.len() };
        self.colours = if item.layout == Layout::Undone { of_old } else { of_new };
        self.line += n_shown;
        if item.layout == Layout::Made {
            self.shift += olds.len() as isize - news.len() as isize;
        }
        self.at = item.now.end;
        self.blocks.push(Block::Item { index, rows });
    }
}

fn row(
    kind: RowKind,
    numbers: [Option<usize>; 2],
    line: &str,
    colours: Vec<(Range<usize>, Colour)>,
) -> Row {
    let text = trimmed(line).to_string();
    Row { kind, numbers, text, ending: None, marks: Vec::new(), colours }
}

fn trimmed(line: &str) -> &str {
    line.strip_suffix("\r\n").or(line.strip_suffix('\n')).unwrap_or(line)
}

fn coloured(colours: &mut Colours, end: Instant, line: &str) -> Vec<(Range<usize>, Colour)> {
    if Instant::now() < end { colours.line(trimmed(line)) } else { Vec::new() }
}

/// Returns whether there are lines that end with LF, and with CRLF.
fn endings(lines: &[&str]) -> (bool, bool) {
    let is_crlf = |line: &&&str| line.ends_with("\r\n");
    let n_crlf = lines.iter().filter(is_crlf).count();
    let n_ended = lines.iter().filter(|line| line.ends_with('\n')).count();
    (n_ended > n_crlf, n_crlf > 0)
}

/// Decodes a part of a file.
pub fn decode(encoding: Encoding, bytes: &[u8]) -> String {
    let bom = encoding.bom();
    let text = match bytes.starts_with(bom) {
        true => encoding.decode(bytes),
        false => encoding.decode(&[bom, bytes].concat()),
    };
    text.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
}
