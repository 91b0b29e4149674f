//! Numbered lines of one file, selected by the caller and limited by a budget.
//!
//! Ranges are applied first, then the search for a string, then the context around matches. A file
//! that is too large to load is read in pages.

mod next;

use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use crate::budget::Budget;
use crate::error::{Error, Result};
use recto_text::line_spec::{LineSpec, merge};
use recto_text::search::{Hits, LineMatches, Needle, Search};
use recto_text::size::fitting;
use recto_text::window::{Page, Window};
use recto_text::{Digest, Document, Size, line};

pub use next::NextLines;

use super::row::{Cut, Excerpt, Row};
use crate::limits;
use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::{Pages, Text, VersionedPage};

/// The maximum number of matching lines that a search collects from one file.
const MAX_HITS: usize = limits::HITS;

/// The longest `lines` argument that an answer repeats.
pub const MAX_LINES_ARGUMENT: usize = 120;

/// The requested lines of a file.
#[derive(Clone)]
pub struct Wanted {
    /// `None` selects all lines.
    pub lines: Option<LineSpec>,
    /// The number of context lines before and after.
    pub context: u64,
    /// What the lines must match.
    pub needle: Option<Needle>,
    /// Whether lines that match are only counted.
    pub is_count: bool,
    /// The first character of the only line, from 1.
    pub column: Option<u64>,
}

/// The limits of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The size of all rows.
    pub budget: Budget,
    /// Total rows.
    pub max_rows: usize,
    /// The size of one line.
    pub max_line: Size,
}

/// The requested lines of one file.
#[derive(Debug)]
pub struct FileRows {
    pub rows: Vec<Row>,
    pub total_lines: u64,
    /// `None` if lines were only counted.
    pub digest: Option<Digest>,
    /// How to get the remaining lines.
    pub next: Option<NextLines>,
    /// The number of matching lines that the search collected.
    pub n_hits: u64,
    /// Whether the search was stopped.
    pub is_stopped: bool,
    /// Whether only the start of some line was searched.
    pub is_partial: bool,
    /// The text, if it was read whole.
    pub document: Option<Arc<Document>>,
}

impl FileRows {
    /// Drops rows beyond the limits and returns whether any were dropped. Each row also takes
    /// `more` bytes.
    pub fn cut(&mut self, max_rows: usize, budget: &mut Budget, more: Size) -> bool {
        let n_rows = self.rows.len();
        let rows = self.rows.iter().take(max_rows);
        let n_fitting = rows.take_while(|row| budget.spend(row.size(self.total_lines).plus(more)));
        let n_fitting = n_fitting.count();
        self.rows.truncate(n_fitting);
        n_fitting < n_rows
    }
}

/// Reads the requested lines of a file. `path` is for messages; `stop` ends a search.
pub fn read(
    text: Text<'_>,
    path: &AbsPath,
    wanted: &Wanted,
    limits: Limits,
    stop: &dyn Fn() -> bool,
) -> Result<FileRows> {
    let mut reader: Box<dyn Reader + '_> = match text {
        Text::Whole(document) => {
            Box::new(InMemory { document: Arc::new(document), line: 0, offset: 0 })
        }
        Text::Paged(pages) => Box::new(Paged::open(pages, path)?),
    };
    let total_lines = reader.total_lines();
    let chosen = wanted.choose(&mut *reader, total_lines, stop)?;
    let Wanted { needle, column, .. } = wanted;
    if let Some(column) = column
        && chosen.ranges.iter().map(|range| range.end - range.start).sum::<u64>() > 1
    {
        return Err(column_without_line(*column));
    }
    let (needle, column) = (needle.as_ref(), *column);
    let mut taken = Taken { rows: Vec::new(), limits, total_lines, needle, column };
    let mut next = None;
    for (index, range) in chosen.ranges.iter().enumerate() {
        let reached = reader.take(range.clone(), &mut taken)?;
        if reached < range.end {
            let left = once(reached..range.end).chain(chosen.ranges[index + 1..].iter().cloned());
            next = Some(wanted.rest(reached, left.collect(), total_lines));
            break;
        }
    }
    if next.is_none()
        && let Some(reached) = chosen.reached
        && reached < total_lines
    {
        next = Some(wanted.rest(reached, Vec::new(), total_lines));
    }
    let (rows, n_hits) = (taken.rows, chosen.n_hits);
    let digest = (!wanted.is_count).then(|| reader.digest());
    let document = reader.document();
    let Chosen { is_stopped, is_partial, .. } = chosen;
    Ok(FileRows { rows, total_lines, digest, next, n_hits, is_stopped, is_partial, document })
}

/// Returns the error for a column that does not belong to exactly one line.
pub fn column_without_line(column: u64) -> Error {
    Error::WrongArgument {
        name: "column".into(),
        expected: "used with one line of one file, such as lines 5".into(),
        value: column.to_string(),
    }
}

/// The lines to return.
struct Chosen {
    /// 0-based, sorted and disjoint.
    ranges: Vec<Range<u64>>,
    /// The number of matching lines.
    n_hits: u64,
    /// The line that the search reached, 0-based, if it ended early.
    reached: Option<u64>,
    is_stopped: bool,
    is_partial: bool,
}

impl Wanted {
    fn choose(
        &self,
        reader: &mut dyn Reader,
        total_lines: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Chosen> {
        let from = self.lines.as_ref().map_or(0, |lines| lines.from() - 1);
        let Some(needle) = &self.needle else {
            let ranges = after(from, self.named(total_lines, self.context));
            let (is_stopped, is_partial) = (false, false);
            return Ok(Chosen { ranges, n_hits: 0, reached: None, is_stopped, is_partial });
        };
        // Skip hits whose context was already returned.
        let within = after(from.saturating_sub(self.context), self.named(total_lines, 0));
        let hits = reader.search(&Search {
            needle,
            within,
            max_hits: (!self.is_count).then_some(MAX_HITS),
            stop,
        })?;
        let around = |line: &u64| {
            let start = (line - 1).saturating_sub(self.context);
            start..line.saturating_add(self.context).min(total_lines)
        };
        let ranges = after(from, merge(hits.lines.iter().map(around).collect()));
        let n_hits = match self.is_count {
            true => hits.n_lines,
            false => hits.lines.iter().filter(|line| **line > from).count() as u64,
        };
        let at_limit = || ranges.last().map_or(0, |range| range.end);
        let reached = hits.stopped_at.or_else(|| hits.has_more.then(at_limit));
        let (is_stopped, is_partial) = (hits.stopped_at.is_some(), hits.is_partial);
        Ok(Chosen { n_hits, reached, is_stopped, is_partial, ranges })
    }

    /// Returns the lines that the caller named, extended by `n_more` on both sides.
    fn named(&self, total_lines: u64, n_more: u64) -> Vec<Range<u64>> {
        match &self.lines {
            Some(lines) => lines.resolve(total_lines, n_more),
            None => once(0..total_lines).filter(|range| !range.is_empty()).collect(),
        }
    }

    /// Returns how to get the remaining lines. `reached` is 0-based.
    fn rest(&self, reached: u64, left: Vec<Range<u64>>, total_lines: u64) -> NextLines {
        let from = LineSpec::from_line(self.lines.as_ref(), reached + 1);
        let spelled = [self.spell(reached, left, total_lines), Some(from)];
        match spelled.into_iter().flatten().find(|lines| lines.len() <= MAX_LINES_ARGUMENT) {
            Some(lines) => NextLines::Lines(lines),
            None => NextLines::SameFrom(reached + 1),
        }
    }

    /// Returns the remaining lines as ranges, unless context around them would repeat lines.
    fn spell(&self, reached: u64, left: Vec<Range<u64>>, total_lines: u64) -> Option<String> {
        let left = match &self.needle {
            _ if self.context > 0 => return None,
            None => left,
            // The search continues in the named lines.
            Some(_) => after(reached, self.named(total_lines, 0)),
        };
        let spelled = |range: Range<u64>| match (range.start + 1, range.end) {
            (first, last) if last == total_lines => format!("{first}-"),
            (first, last) if first == last => format!("{first}"),
            (first, last) => format!("{first}-{last}"),
        };
        // A longer list would not be repeated.
        let left = left.into_iter().take(MAX_LINES_ARGUMENT);
        Some(left.map(spelled).collect::<Vec<_>>().join(","))
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
    limits: Limits,
    total_lines: u64,
    /// The string that was searched.
    needle: Option<&'a Needle>,
    /// The first character of the line.
    column: Option<u64>,
}

impl Taken<'_> {
    /// Adds a line, or returns false if the budget is used up.
    fn add(&mut self, index: u64, line: &str) -> bool {
        let line = line::without_ending(line);
        let whole = Excerpt { text: line, first_column: 1, has_more: false, matches: None };
        let n_shown = self.max_line().fitting(line.as_bytes());
        if n_shown == line.len() && self.column.is_none() {
            return self.add_excerpt(index, whole);
        }
        let matches = self.needle.and_then(|needle| needle.find_in(line));
        let n_shown = self.max_part(matches).fitting(line.as_bytes());
        let first_column = self.first_column(matches, n_shown);
        let text = line.char_indices().nth((first_column - 1) as usize);
        let text = text.map_or("", |(start, _)| &line[start..]);
        self.add_excerpt(index, Excerpt { text, first_column, matches, ..whole })
    }

    /// Returns the largest part of the next line that is shown. The first line of a page is cut to
    /// fit; a later one starts the next page.
    fn max_line(&self) -> Size {
        let Limits { max_line, budget, .. } = self.limits;
        if !self.rows.is_empty() {
            return max_line;
        }
        // `…` at both ends, and how to continue.
        let overhead = Row::overhead(self.total_lines, true).plus(Size::of("……"));
        let left = budget.left().minus(overhead).unwrap_or_default();
        match self.column {
            Some(_) => left,
            None => {
                Size { bytes: left.bytes.min(max_line.bytes), json: left.json.min(max_line.json) }
            }
        }
    }

    /// Returns the size of the part that is shown of a line that is too long: of one with a match,
    /// only the text around it.
    fn max_part(&self, matches: Option<LineMatches>) -> Size {
        const AROUND_MATCH: usize = limits::LINE_OF_MANY;
        let Size { bytes, json } = self.max_line();
        match matches.filter(|_| self.column.is_none()) {
            Some(_) => Size { bytes: bytes.min(AROUND_MATCH), json: json.min(2 * AROUND_MATCH) },
            None => Size { bytes, json },
        }
    }

    /// Adds a part of a line, or returns false if the budget is used up.
    fn add_excerpt(&mut self, index: u64, excerpt: Excerpt<'_>) -> bool {
        if self.rows.len() >= self.limits.max_rows {
            return false;
        }
        let Excerpt { text, first_column, has_more, matches } = excerpt;
        let kept = fitting(text, self.max_part(matches));
        let has_more = has_more || kept.len() < text.len();
        let next_column = has_more.then(|| first_column + kept.chars().count() as u64);
        let is_excerpt = first_column > 1 && self.column.is_none();
        let content = if is_excerpt { format!("…{kept}") } else { kept.into() };
        let cut = (is_excerpt || has_more).then_some(Cut { next_column, matches });
        let row = Row { line: index + 1, content, cut };
        let is_added = self.limits.budget.spend(row.size(self.total_lines));
        if is_added {
            self.rows.push(row);
        }
        is_added
    }

    /// Returns the first character to show of a line: shortly before the first match, if that is
    /// not in the first `n_shown` bytes.
    fn first_column(&self, matches: Option<LineMatches>, n_shown: usize) -> u64 {
        match (self.column, matches) {
            (Some(column), _) => column,
            (None, Some(LineMatches { column, end, .. })) if end > n_shown as u64 => {
                // In JSON, a character can take as many bytes as eight of most texts.
                column.saturating_sub(self.max_part(matches).bytes as u64 / 8).max(1)
            }
            (None, _) => 1,
        }
    }
}

/// A file from which ranges of lines are read in order.
trait Reader {
    fn total_lines(&self) -> u64;
    fn digest(&self) -> Digest;
    /// Returns the text, if it was read whole.
    fn document(&self) -> Option<Arc<Document>>;
    fn search(&mut self, search: &Search<'_>) -> Result<Hits>;
    /// Reads lines until the budget is used up; returns the 0-based line it reached.
    fn take(&mut self, range: Range<u64>, taken: &mut Taken<'_>) -> Result<u64>;
}

/// A text in memory.
struct InMemory {
    document: Arc<Document>,
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

    fn document(&self) -> Option<Arc<Document>> {
        Some(self.document.clone())
    }

    fn search(&mut self, search: &Search<'_>) -> Result<Hits> {
        Ok(search.hits(self.document.text()))
    }

    fn take(&mut self, range: Range<u64>, taken: &mut Taken<'_>) -> Result<u64> {
        for line in line::lines(&self.document.text()[self.offset..]) {
            let is_wanted = self.line >= range.start;
            if self.line >= range.end || (is_wanted && !taken.add(self.line, line)) {
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
        let wide = Window::lines(first_line, u64::MAX, Size::utf8(PAGE));
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

    /// Adds a part of a line that may be longer than a page.
    fn take_part(&mut self, index: u64, taken: &mut Taken<'_>) -> Result<bool> {
        let matches = match taken.needle {
            Some(needle) => self.pages.find_in_line(needle, index)?,
            None => None,
        };
        // A character takes at most six times as many bytes in JSON.
        let n_shown = taken.max_part(matches).bytes / 6;
        let first_column = taken.first_column(matches, n_shown);
        let mut max_size = Size::utf8(PAGE);
        max_size.bytes = max_size.bytes.max(taken.max_line().bytes);
        let window = Window { first_column, ..Window::lines(index + 1, 1, max_size) };
        let VersionedPage { page, digest } = self.pages.page(window)?;
        self.check(digest)?;
        let text = line::without_ending(&page.content);
        let excerpt = Excerpt { text, first_column, has_more: page.is_cut, matches };
        Ok(taken.add_excerpt(index, excerpt))
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

    fn document(&self) -> Option<Arc<Document>> {
        None
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
            if self.page.is_cut || taken.column.is_some() {
                if !self.take_part(index, taken)? {
                    return Ok(index);
                }
                index += 1;
                continue;
            }
            let n_before = (index + 1 - self.page.first_line) as usize;
            let start = index;
            for line in line::lines(&self.page.content).skip(n_before) {
                if index == range.end || !taken.add(index, line) {
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
