//! Finds strings in a text that comes in pieces, to know which part of it to look at.
//!
//! Where and how often is told as [`super::find`] would tell it; keeping the pieces is left to
//! others.

use std::ops::Range;

use super::{Folded, MAX_PLACES, for_each_exact, for_each_occurrence};

/// A search for several strings at once.
pub struct StreamFinder<'a> {
    needles: Vec<StreamNeedle<'a>>,
    /// The end of what came before, as far as a match could reach back, and the last piece.
    window: Vec<u8>,
    /// Where the window starts.
    offset: u64,
    /// How much of it was searched before.
    n_searched: usize,
    /// How far back a match can reach, and one byte more to see what it stands behind.
    n_back: usize,
}

struct StreamNeedle<'a> {
    exact: &'a str,
    /// The same with `\n` for every `\r\n`, where it has lines.
    folded: Option<Folded>,
    places: StreamMatches,
    folded_places: StreamMatches,
}

/// Where a string stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamMatches {
    /// How often.
    pub n_matches: usize,
    /// The first few starts.
    pub first_few: Vec<u64>,
    /// From the start of the first to the end of the last.
    pub span: Option<Range<u64>>,
}

impl StreamMatches {
    fn add(&mut self, place: Range<u64>) {
        self.n_matches += 1;
        if self.first_few.len() < MAX_PLACES {
            self.first_few.push(place.start);
        }
        let start = self.span.as_ref().map_or(place.start, |span| span.start);
        self.span = Some(start..place.end);
    }
}

impl<'a> StreamFinder<'a> {
    /// How many bytes a string can take: each `\n` of it may stand for two.
    pub fn reach(string: &str) -> usize {
        string.len() + string.matches('\n').count()
    }

    /// Starts a search for strings that are not empty.
    pub fn new(needles: &[&'a str]) -> StreamFinder<'a> {
        let needle = |exact: &&'a str| StreamNeedle {
            exact,
            folded: exact.contains('\n').then(|| Folded::new(exact.as_bytes())),
            places: StreamMatches::default(),
            folded_places: StreamMatches::default(),
        };
        let n_back =
            1 + needles.iter().map(|needle| StreamFinder::reach(needle)).max().unwrap_or_default();
        StreamFinder {
            needles: needles.iter().map(needle).collect(),
            window: Vec::new(),
            offset: 0,
            n_searched: 0,
            n_back,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.window.extend_from_slice(piece);
        // A `\r` at the end may be the first half of a line ending.
        let n_held_back = usize::from(self.window.last() == Some(&b'\r'));
        self.search(self.window.len() - n_held_back);
    }

    /// Where each string stands, exactly and with other line endings.
    pub fn finish(mut self) -> Vec<[StreamMatches; 2]> {
        self.search(self.window.len());
        self.needles.into_iter().map(|needle| [needle.places, needle.folded_places]).collect()
    }

    fn search(&mut self, end: usize) {
        let window = &self.window[..end];
        let offset = self.offset;
        // What ends in the part that was searched before was found before.
        let is_new = |place: &Range<usize>| place.end > self.n_searched;
        let absolute = |place: Range<usize>| offset + place.start as u64..offset + place.end as u64;
        let mut folded_window = None;
        for needle in &mut self.needles {
            for_each_exact(window, needle.exact.as_bytes(), |place| {
                if is_new(&place) {
                    needle.places.add(absolute(place));
                }
            });
            if let Some(folded) = &needle.folded {
                let window = folded_window.get_or_insert_with(|| Folded::new(window));
                for_each_occurrence(&window.bytes, &folded.bytes, |at| {
                    let place = window.unfold(at)..window.unfold(at + folded.bytes.len());
                    if is_new(&place) {
                        needle.folded_places.add(absolute(place));
                    }
                });
            }
        }
        let n_gone = end.saturating_sub(self.n_back);
        self.window.drain(..n_gone);
        self.offset += n_gone as u64;
        self.n_searched = end - n_gone;
    }
}
