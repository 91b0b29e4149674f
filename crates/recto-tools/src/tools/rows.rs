//! Numbered lines of one file, selected by the caller and limited by a budget.
//!
//! Ranges are applied first, then the search for a string, then the context around matches. A file
//! that is too large to load is read in pages.

use std::iter::once;
use std::ops::Range;

use crate::error::Result;
use recto_text::line_spec::{LineSpec, merge};
use recto_text::search::{Hits, Needle, Search};
use recto_text::window::{Page, Window};
use recto_text::{Digest, Document, Size, line};

use crate::limits;
use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::{Pages, Text, VersionedPage};

/// The maximum number of matching lines that a search collects from one file.
const MAX_HITS: usize = limits::HITS;

/// The cost of a row beyond its text, in bytes.
const ROW_OVERHEAD: usize = 32;

/// The requested lines of a file.
pub struct Wanted {
    /// `None` selects all lines.
    pub lines: Option<LineSpec>,
    /// The number of context lines before and after.
    pub context: u64,
    /// A string that the lines must contain.
    pub needle: Option<Needle>,
}

/// The limits of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Total bytes.
    pub max_bytes: usize,
    /// Total rows.
    pub max_rows: usize,
    /// Bytes of one line.
    pub max_line: usize,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The line number, 1-based.
    pub line: u64,
    /// The text without its line ending.
    pub content: String,
    /// Whether the text is truncated.
    pub is_cut: bool,
}

/// The requested lines of one file.
#[derive(Debug)]
pub struct FileRows {
    pub rows: Vec<Row>,
    pub total_lines: u64,
    pub digest: Digest,
    /// The remaining lines, as a caller would write them.
    pub next: Option<String>,
    /// The number of matching lines that the search collected.
    pub n_hits: u64,
    /// The cost of the rows.
    pub n_bytes: usize,
}

impl FileRows {
    /// Drops rows beyond the limits and returns whether any were dropped.
    pub fn cut(&mut self, max_rows: usize, max_bytes: usize) -> bool {
        let mut n_bytes = 0;
        let n_fitting = self.rows.iter().take(max_rows).take_while(|row| {
            n_bytes += row.content.len() + ROW_OVERHEAD;
            n_bytes <= max_bytes
        });
        let (n_fitting, n_rows) = (n_fitting.count(), self.rows.len());
        self.rows.truncate(n_fitting);
        self.n_bytes = self.rows.iter().map(|row| row.content.len() + ROW_OVERHEAD).sum();
        n_fitting < n_rows
    }
}

/// Reads the requested lines of a file. `path` is for messages.
pub fn read(text: Text<'_>, path: &AbsPath, wanted: &Wanted, budget: Budget) -> Result<FileRows> {
    let mut reader: Box<dyn Reader + '_> = match text {
        Text::Whole(document) => Box::new(InMemory { document, line: 0, offset: 0 }),
        Text::Paged(pages) => Box::new(Paged::open(pages, path)?),
    };
    let total_lines = reader.total_lines();
    let chosen = wanted.choose(&mut *reader, total_lines)?;
    let needle = wanted.needle.as_ref();
    let mut taken = Taken { rows: Vec::new(), n_bytes: 0, budget, needle };
    let mut next = None;
    for (index, range) in chosen.ranges.iter().enumerate() {
        let reached = reader.take(range.clone(), &mut taken)?;
        if reached < range.end {
            let left = once(reached..range.end).chain(chosen.ranges[index + 1..].iter().cloned());
            next = Some(wanted.rest(reached, left.collect(), total_lines));
            break;
        }
    }
    if next.is_none() && chosen.has_more {
        let reached = chosen.ranges.last().map_or(0, |range| range.end);
        next = Some(wanted.rest(reached, Vec::new(), total_lines));
    }
    let Taken { rows, n_bytes, .. } = taken;
    let n_hits = chosen.n_hits;
    Ok(FileRows { rows, total_lines, digest: reader.digest(), next, n_hits, n_bytes })
}

/// The lines to return.
struct Chosen {
    /// 0-based, sorted and disjoint.
    ranges: Vec<Range<u64>>,
    /// The number of matching lines.
    n_hits: u64,
    /// Whether the search stopped at its limit.
    has_more: bool,
}

impl Wanted {
    fn choose(&self, reader: &mut dyn Reader, total_lines: u64) -> Result<Chosen> {
        let from = self.lines.as_ref().map_or(0, |lines| lines.from() - 1);
        let Some(needle) = &self.needle else {
            let ranges = after(from, self.named(total_lines, self.context));
            return Ok(Chosen { ranges, n_hits: 0, has_more: false });
        };
        // Skip hits whose context was already returned.
        let within = after(from.saturating_sub(self.context), self.named(total_lines, 0));
        let hits = reader.search(&Search { needle, within, max_hits: MAX_HITS })?;
        let around = |line: &u64| {
            let start = (line - 1).saturating_sub(self.context);
            start..line.saturating_add(self.context).min(total_lines)
        };
        let ranges = after(from, merge(hits.lines.iter().map(around).collect()));
        let n_hits = hits.lines.iter().filter(|line| **line > from).count() as u64;
        Ok(Chosen { ranges, n_hits, has_more: hits.has_more })
    }

    /// Returns the lines that the caller named, extended by `n_more` on both sides.
    fn named(&self, total_lines: u64, n_more: u64) -> Vec<Range<u64>> {
        match &self.lines {
            Some(lines) => lines.resolve(total_lines, n_more),
            None => once(0..total_lines).filter(|range| !range.is_empty()).collect(),
        }
    }

    /// Returns the `lines` argument for the remaining lines. `reached` is 0-based.
    fn rest(&self, reached: u64, left: Vec<Range<u64>>, total_lines: u64) -> String {
        let left = match &self.needle {
            // Context around the remaining lines would repeat returned lines.
            _ if self.context > 0 => return LineSpec::from_line(self.lines.as_ref(), reached + 1),
            None => left,
            // The search continues in the named lines.
            Some(_) => after(reached, self.named(total_lines, 0)),
        };
        let spelled = |range: Range<u64>| match (range.start + 1, range.end) {
            (first, last) if last == total_lines => format!("{first}-"),
            (first, last) if first == last => format!("{first}"),
            (first, last) => format!("{first}-{last}"),
        };
        match left.len() {
            0..=50 => left.into_iter().map(spelled).collect::<Vec<_>>().join(","),
            // A long list of ranges costs more than it helps.
            _ => LineSpec::from_line(self.lines.as_ref(), reached + 1),
        }
    }
}

/// Returns the parts of ranges from a line on.
fn after(line: u64, ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let left = ranges.into_iter().map(|range| range.start.max(line)..range.end);
    left.filter(|range| !range.is_empty()).collect()
}

/// Collects rows within a budget.
struct Taken<'a> {
    rows: Vec<Row>,
    n_bytes: usize,
    budget: Budget,
    /// The string that was searched.
    needle: Option<&'a Needle>,
}

impl Taken<'_> {
    /// Adds a line, or returns false if the budget is used up. The first line is always added.
    fn add(&mut self, index: u64, line: &str, is_cut: bool) -> bool {
        let content = line::without_ending(line);
        let start = self.first_shown(content);
        let kept = &content[start..];
        let kept = &kept[..kept.floor_char_boundary(self.budget.max_line)];
        let n_bytes = self.n_bytes + kept.len() + ROW_OVERHEAD;
        let has_room = self.rows.len() < self.budget.max_rows && n_bytes <= self.budget.max_bytes;
        if !self.rows.is_empty() && !has_room {
            return false;
        }
        self.n_bytes = n_bytes;
        let is_cut = is_cut || kept.len() < content.len();
        let content = if start > 0 { format!("…{kept}") } else { kept.into() };
        self.rows.push(Row { line: index + 1, content, is_cut });
        true
    }

    /// Returns the offset at which a line is shown: in a long line, shortly before the match.
    fn first_shown(&self, content: &str) -> usize {
        let max_line = self.budget.max_line;
        if content.len() <= max_line {
            return 0;
        }
        match self.needle.and_then(|needle| needle.find(content)) {
            Some(found) if found.end > max_line => {
                content.floor_char_boundary(found.start.saturating_sub(max_line / 4))
            }
            _ => 0,
        }
    }
}

/// A file from which ranges of lines are read in order.
trait Reader {
    fn total_lines(&self) -> u64;
    fn digest(&self) -> Digest;
    fn search(&mut self, search: &Search<'_>) -> Result<Hits>;
    /// Reads lines until the budget is used up; returns the 0-based line it reached.
    fn take(&mut self, range: Range<u64>, taken: &mut Taken<'_>) -> Result<u64>;
}

/// A text in memory.
struct InMemory {
    document: Document,
    /// The current 0-based line and its offset.
    line: u64,
    offset: usize,
}

impl Reader for InMemory {
    fn total_lines(&self) -> u64 {
        line::count(self.document.text()) as u64
    }

    fn digest(&self) -> Digest {
        self.document.digest()
    }

    fn search(&mut self, search: &Search<'_>) -> Result<Hits> {
        Ok(search.hits(self.document.text()))
    }

    fn take(&mut self, range: Range<u64>, taken: &mut Taken<'_>) -> Result<u64> {
        for line in line::lines(&self.document.text()[self.offset..]) {
            let is_wanted = self.line >= range.start;
            if self.line >= range.end || (is_wanted && !taken.add(self.line, line, false)) {
                break;
            }
            self.line += 1;
            self.offset += line.len();
        }
        Ok(self.line)
    }
}

/// A text that is read in pages. Keeps the last page, because requested lines are often adjacent.
struct Paged<'a> {
    pages: Box<dyn Pages + 'a>,
    path: &'a AbsPath,
    digest: Digest,
    total_lines: u64,
    page: Page,
}

/// The maximum bytes of one page.
const PAGE: usize = 64 << 10;

impl<'a> Paged<'a> {
    fn open(pages: Box<dyn Pages + 'a>, path: &'a AbsPath) -> Result<Paged<'a>> {
        let count_only = Window::COUNT;
        let VersionedPage { page, digest } = pages.page(count_only)?;
        Ok(Paged { pages, path, digest, total_lines: page.total_lines, page })
    }

    /// Loads the page that starts at a 0-based line, unless the current page contains the line.
    fn load(&mut self, index: u64, end: u64) -> Result<()> {
        let first_line = index + 1;
        let held = self.page.first_line..self.page.first_line + self.page.n_lines;
        if held.contains(&first_line) {
            return Ok(());
        }
        let wide = Window { first_line, max_lines: u64::MAX, max_size: Size::utf8(PAGE) };
        let exact = Window { max_lines: end - index, ..wide };
        let VersionedPage { page, digest } = match self.pages.page(wide) {
            // The bytes after the requested lines may be binary.
            Err(StoreError::BinaryFile { .. }) => self.pages.page(exact)?,
            read => read?,
        };
        self.check(digest)?;
        self.page = page;
        Ok(())
    }

    fn check(&self, digest: Digest) -> Result<()> {
        match digest == self.digest {
            true => Ok(()),
            false => Err(StoreError::Unstable { path: self.path.to_string() }.into()),
        }
    }
}

impl Reader for Paged<'_> {
    fn total_lines(&self) -> u64 {
        self.total_lines
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn search(&mut self, search: &Search<'_>) -> Result<Hits> {
        let found = self.pages.search(search)?;
        self.check(found.digest)?;
        Ok(found.hits)
    }

    fn take(&mut self, range: Range<u64>, taken: &mut Taken<'_>) -> Result<u64> {
        let mut index = range.start;
        while index < range.end {
            self.load(index, range.end)?;
            let n_before = (index + 1 - self.page.first_line) as usize;
            let start = index;
            for line in line::lines(&self.page.content).skip(n_before) {
                if index == range.end || !taken.add(index, line, self.page.is_cut) {
                    return Ok(index);
                }
                index += 1;
            }
            if index == start {
                // The page should contain lines, so the file has changed.
                return Err(StoreError::Unstable { path: self.path.to_string() }.into());
            }
        }
        Ok(index)
    }
}
