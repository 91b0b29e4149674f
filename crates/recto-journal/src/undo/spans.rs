//! Where the bytes of a file come from.
//!
//! A [`SpanList`] describes the content of a file as spans of bytes, each inserted by one hunk or
//! there before the first. A hunk takes spans out and puts its own in. Undoing it puts the same spans
//! back, so bytes keep their identity however often a change is undone and redone.
//!
//! A hunk that inserts nothing leaves a mark, a span without bytes, to which removed bytes can return.
//! Text that is inserted exactly at a mark makes the order of the two ambiguous, and so breaks it.

use std::ops::Range;

/// The hunk that inserted a span: its number, or a number that no hunk has.
type Origin = usize;

/// Bytes that were there before the first change. Their number is not known, so the span never ends.
const BASE: Span = Span { origin: usize::MAX, start: 0, n_bytes: u64::MAX / 2 };

/// Some of the bytes that one hunk inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    origin: Origin,
    start: u64,
    n_bytes: u64,
}

/// The content of a file as spans.
#[derive(Debug, Clone)]
pub struct SpanList {
    spans: Vec<Span>,
    /// How often the content became unknown.
    n_forgotten: usize,
}

/// What one hunk did to the spans.
#[derive(Debug, Clone, Default)]
pub struct Touched {
    /// What it put in. Never empty: without bytes it is a mark.
    inserted: Vec<Span>,
    /// What it took out: bytes and the marks between them, or only the marks at its place.
    removed: Vec<Span>,
}

impl Default for SpanList {
    fn default() -> SpanList {
        SpanList { spans: vec![BASE], n_forgotten: 0 }
    }
}

impl SpanList {
    /// Replaces all bytes by unknown ones.
    pub fn forget(&mut self) {
        self.n_forgotten += 1;
        self.spans = vec![Span { origin: usize::MAX - self.n_forgotten, ..BASE }];
    }

    /// Returns whether bytes come from content that was unknown after a change.
    pub fn is_forgotten(&self, origin: Origin) -> bool {
        (1..=self.n_forgotten).contains(&(BASE.origin - origin))
    }

    /// Returns the hunks of all spans in order, with the numbers of bytes.
    pub fn iter(&self) -> impl Iterator<Item = (Origin, u64)> {
        self.spans.iter().map(|span| (span.origin, span.n_bytes))
    }

    /// Replaces a range of bytes by bytes of a hunk.
    pub fn replace(&mut self, range: Range<u64>, origin: Origin, n_bytes: u64) -> Touched {
        let mut first = self.split(range.start);
        let n_marks = self.spans[first..].iter().take_while(|span| span.n_bytes == 0).count();
        first += n_marks;
        let inserted = vec![Span { origin, start: 0, n_bytes }];
        let range = match range.is_empty() {
            true => first - n_marks..first,
            false => first..self.split(range.end),
        };
        let removed = self.spans.splice(range, inserted.iter().copied()).collect();
        Touched { inserted, removed }
    }

    /// Takes out what a hunk put in and puts back what it took out, as the hunk `origin`. Returns the
    /// offset of the bytes, or `None` if they are not all there, one after another.
    pub fn undo(&mut self, touched: &Touched, origin: Origin) -> Option<(u64, Touched)> {
        let range = self.locate(&touched.inserted)?;
        let at = self.spans[..range.start].iter().map(|span| span.n_bytes).sum();
        let mut inserted = touched.removed.clone();
        if inserted.is_empty() {
            inserted.push(Span { origin, start: 0, n_bytes: 0 });
        }
        let removed = self.spans.splice(range, inserted.iter().copied()).collect();
        Some((at, Touched { inserted, removed }))
    }

    /// Returns the hunks whose bytes are between the bytes of one.
    pub fn between(&self, touched: &Touched) -> Vec<Origin> {
        let is_own = |span: &Span| span.n_bytes > 0 && touched.has_inserted(span);
        let first = self.spans.iter().position(is_own).unwrap_or(0);
        let end = self.spans.iter().rposition(is_own).unwrap_or(0);
        let others = self.spans.get(first..end).unwrap_or_default().iter();
        others.filter(|span| span.n_bytes > 0 && !is_own(span)).map(|span| span.origin).collect()
    }

    /// Returns the index of the first span at an offset, where a span now starts.
    fn split(&mut self, offset: u64) -> usize {
        let mut at = 0;
        for index in 0..self.spans.len() {
            if at == offset {
                return index;
            }
            let span = self.spans[index];
            if offset < at + span.n_bytes {
                self.split_span(index, offset - at);
                return index + 1;
            }
            at += span.n_bytes;
        }
        self.spans.len()
    }

    fn split_span(&mut self, index: usize, n_first: u64) {
        let Span { origin, start, n_bytes } = self.spans[index];
        self.spans[index].n_bytes = n_first;
        let rest = Span { origin, start: start + n_first, n_bytes: n_bytes - n_first };
        self.spans.insert(index + 1, rest);
    }

    /// Returns the indices of spans that together are these. Other marks between them do not matter.
    fn locate(&mut self, wanted: &[Span]) -> Option<Range<usize>> {
        let mut bytes = wanted.iter().filter(|span| span.n_bytes > 0).peekable();
        let Some(first) = bytes.peek() else {
            let is_wanted = |span: &Span| span.n_bytes == 0 && wanted.contains(span);
            let at = self.spans.iter().position(is_wanted)?;
            let n_marks = self.spans[at..].iter().take_while(|span| is_wanted(span)).count();
            return Some(at..at + n_marks);
        };
        let starts_in = |span: &Span| span.n_bytes > 0 && span.contains(first.origin, first.start);
        let mut start = self.spans.iter().position(starts_in)?;
        let n_before = first.start - self.spans[start].start;
        if n_before > 0 {
            self.split_span(start, n_before);
            start += 1;
        }
        let mut index = start;
        for wanted in bytes {
            let mut n_found = 0;
            while n_found < wanted.n_bytes {
                let span = *self.spans.get(index)?;
                let n_left = wanted.n_bytes - n_found;
                if span.n_bytes > 0 {
                    let expected = (wanted.origin, wanted.start + n_found);
                    if (span.origin, span.start) != expected {
                        return None;
                    }
                    if span.n_bytes > n_left {
                        self.split_span(index, n_left);
                    }
                    n_found += span.n_bytes.min(n_left);
                }
                index += 1;
            }
        }
        Some(start..index)
    }
}

impl Span {
    fn contains(&self, origin: Origin, offset: u64) -> bool {
        self.origin == origin && (self.start..self.end()).contains(&offset)
    }

    fn end(&self) -> u64 {
        self.start + self.n_bytes
    }

    fn overlaps(&self, other: &Span) -> bool {
        let is_same_mark = self.n_bytes == 0 && other.n_bytes == 0;
        let both = self.start.max(other.start)..self.end().min(other.end());
        self.origin == other.origin && (is_same_mark || !both.is_empty())
    }
}

impl Touched {
    /// Returns whether this hunk took out bytes or the mark of an earlier one.
    pub fn takes_from(&self, earlier: &Touched) -> bool {
        self.removed.iter().any(|span| earlier.has_inserted(span))
    }

    /// Returns whether this hunk put in some of the bytes of a hunk.
    pub fn has_inserted_bytes_of(&self, origin: Origin) -> bool {
        self.inserted.iter().any(|span| span.origin == origin && span.n_bytes > 0)
    }

    fn has_inserted(&self, span: &Span) -> bool {
        self.inserted.iter().any(|own| own.overlaps(span))
    }
}
