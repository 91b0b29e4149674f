//! Finds strings in a text that arrives in pieces, without keeping the text.
//!
//! The results are the same as those of [`super::find`].

use std::ops::Range;

use super::{Haystack, MAX_CHAR, MAX_PLACES, Needle, Search};

/// A search for several strings at once.
pub struct StreamFinder<'a> {
    needles: Vec<(Search<'a>, StreamMatches)>,
    /// The end of the earlier pieces, as much as a match could span, and the last piece.
    window: Vec<u8>,
    /// The offset of the window in the text.
    offset: u64,
    /// How many bytes of the window were searched before.
    n_searched: usize,
    /// The longest match, plus the character before it.
    n_back: usize,
}

/// The matches of a string in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamMatches {
    /// The number of matches.
    pub n_matches: usize,
    /// The ranges of the first few.
    pub first_few: Vec<Range<u64>>,
    /// The range from the start of the first to the end of the last.
    pub span: Option<Range<u64>>,
}

impl StreamMatches {
    fn add(&mut self, place: Range<u64>) {
        self.n_matches += 1;
        let start = self.span.as_ref().map_or(place.start, |span| span.start);
        self.span = Some(start..place.end);
        if self.first_few.len() < MAX_PLACES {
            self.first_few.push(place);
        }
    }
}

impl<'a> StreamFinder<'a> {
    /// Starts a search for strings that are not empty.
    pub fn new(needles: &[Needle<'a>]) -> StreamFinder<'a> {
        let n_reach = needles.iter().map(Needle::reach).max().unwrap_or_default();
        let search = |needle: &Needle<'a>| (Search::new(*needle), StreamMatches::default());
        StreamFinder {
            needles: needles.iter().map(search).collect(),
            window: Vec::new(),
            offset: 0,
            n_searched: 0,
            n_back: n_reach + MAX_CHAR,
        }
    }

    /// Searches the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.window.extend_from_slice(piece);
        // The last bytes are searched later: a `\r` may be the start of a line ending, and a word
        // may continue.
        let mut end = self.window.len().saturating_sub(MAX_CHAR);
        if end > 0 && self.window[end - 1] == b'\r' {
            end -= 1;
        }
        self.search(end.max(self.n_searched));
    }

    /// Returns the matches of each string.
    pub fn finish(mut self) -> Vec<StreamMatches> {
        self.search(self.window.len());
        self.needles.into_iter().map(|(_, found)| found).collect()
    }

    fn search(&mut self, end: usize) {
        let window = Haystack { bytes: &self.window[..end], ..Haystack::new(&self.window) };
        for (search, found) in &mut self.needles {
            search.for_each(&window, |place| {
                // A match that ends in the part searched before was already found.
                if place.end > self.n_searched {
                    found.add(self.offset + place.start as u64..self.offset + place.end as u64);
                }
            });
        }
        let n_gone = end.saturating_sub(self.n_back);
        self.window.drain(..n_gone);
        self.offset += n_gone as u64;
        self.n_searched = end - n_gone;
    }
}
