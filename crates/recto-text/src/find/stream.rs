//! Finds strings in a text that arrives in pieces, without keeping the text.
//!
//! The results are the same as those of [`super::find`].

use std::ops::Range;

use super::{Folded, MAX_PLACES, for_each_exact, for_each_occurrence};

/// A search for several strings at once.
pub struct StreamFinder<'a> {
    needles: Vec<StreamNeedle<'a>>,
    /// The end of the earlier pieces, as much as a match could span, and the last piece.
    window: Vec<u8>,
    /// The offset of the window in the text.
    offset: u64,
    /// How many bytes of the window were searched before.
    n_searched: usize,
    /// The longest match, plus one byte to see whether it follows a `\r`.
    n_back: usize,
}

struct StreamNeedle<'a> {
    exact: &'a str,
    /// The string with `\n` for every `\r\n`, if it contains a line ending.
    folded: Option<Folded>,
    places: StreamMatches,
    folded_places: StreamMatches,
}

/// The matches of a string in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamMatches {
    /// The number of matches.
    pub n_matches: usize,
    /// The offsets of the first few.
    pub first_few: Vec<u64>,
    /// The range from the start of the first to the end of the last.
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
    /// Returns the most bytes that a match can have: each `\n` can match `\r\n`.
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

    /// Searches the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.window.extend_from_slice(piece);
        // A `\r` at the end may be the start of a line ending.
        let n_held_back = usize::from(self.window.last() == Some(&b'\r'));
        self.search(self.window.len() - n_held_back);
    }

    /// Returns the matches of each string: exact ones, and those with other line endings.
    pub fn finish(mut self) -> Vec<[StreamMatches; 2]> {
        self.search(self.window.len());
        self.needles.into_iter().map(|needle| [needle.places, needle.folded_places]).collect()
    }

    fn search(&mut self, end: usize) {
        let window = &self.window[..end];
        let offset = self.offset;
        // A match that ends in the part searched before was already found.
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
