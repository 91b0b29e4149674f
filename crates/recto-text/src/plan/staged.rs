//! A text that is edited many times.
//!
//! The text is divided into chunks. An edit moves only the bytes of its chunk, and a search inspects
//! only the chunks that contain a few bytes of the string. Otherwise, thousands of edits of a large
//! text would move and search all of it thousands of times.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use super::TextPart;
use super::endings::Near;
use super::keys::{Key, Keys};
use crate::edits::{Edit, Edits};
use crate::error::Occurrence;
use crate::find::{Haystack, MAX_CHAR, Needle, Search};
use crate::line::{self, Ending, LineRange};

/// The size of a chunk. A text up to the size of a few chunks is not divided.
const CHUNK: usize = 4 << 10;
const MAX_UNDIVIDED: usize = 16 * CHUNK;

/// With fewer strings, an undivided text is searched faster.
const MIN_NEEDLES: usize = 8;

/// The bytes after a chunk in which a key that starts in the chunk can end.
const KEY_REACH: usize = 2 * super::keys::MAX_KEY;

/// A text with the edits so far applied.
pub struct Staged<'a> {
    part: TextPart<'a>,
    /// At least one. A `\r\n` is never divided between two of them.
    chunks: Vec<Chunk<'a>>,
    /// The chunks that contain a key of a string; `None` if there is only one chunk.
    keys: Option<Keys>,
}

struct Chunk<'a> {
    text: Cow<'a, str>,
    /// The offset in the original text, if nothing was changed.
    origin: usize,
    /// From the original chunk to `text`.
    edits: Edits,
    /// Not counted if there is only one chunk.
    n_endings: usize,
    /// The chunk that this one was joined to. It is empty then.
    joined_to: Option<usize>,
}

/// A match. It starts in a chunk and may extend beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    chunk: usize,
    /// Relative to the start of the chunk.
    range: Range<usize>,
}

impl Place {
    /// Returns the length of the match in bytes.
    pub fn n_bytes(&self) -> usize {
        self.range.len()
    }
}

impl<'a> Staged<'a> {
    /// Divides a text so that these strings are found quickly.
    pub fn new<'n>(
        part: TextPart<'a>,
        needles: impl ExactSizeIterator<Item = Needle<'n>>,
    ) -> Staged<'a> {
        let is_divided = needles.len() >= MIN_NEEDLES && part.text.len() > MAX_UNDIVIDED;
        Staged::with_chunks(part, needles, if is_divided { CHUNK } else { usize::MAX })
    }

    fn with_chunks<'n>(
        part: TextPart<'a>,
        needles: impl Iterator<Item = Needle<'n>>,
        n_bytes: usize,
    ) -> Staged<'a> {
        let mut chunks = Vec::new();
        let mut rest = part.text;
        while rest.len() > n_bytes {
            let mut end = rest.ceil_char_boundary(n_bytes);
            if rest[..end].ends_with('\r') && rest[end..].starts_with('\n') {
                end += 1;
            }
            let (text, later) = rest.split_at(end);
            chunks.push(Chunk::new(text, part.text.len() - rest.len()));
            rest = later;
        }
        chunks.push(Chunk::new(rest, part.text.len() - rest.len()));
        let keys = (chunks.len() > 1).then(|| Keys::new(needles));
        let mut staged = Staged { part, chunks, keys };
        if staged.keys.is_some() {
            for chunk in 0..staged.chunks.len() {
                let Chunk { text, n_endings, .. } = &mut staged.chunks[chunk];
                *n_endings = line::n_endings(text);
                let n_bytes = text.len();
                staged.register(chunk, 0..n_bytes);
            }
        }
        staged
    }

    /// Returns the edits from the original text.
    pub fn into_edits(self) -> Edits {
        let mut edits = Edits::none("");
        self.chunks.into_iter().for_each(|chunk| edits.append(chunk.edits));
        edits
    }

    /// Visits every match of a string in order.
    pub fn for_each(&self, needle: Needle<'_>, mut visit: impl FnMut(Place)) {
        let search = Search::new(needle);
        // A match at the end of a part is not known to be a whole word. The part contains more than
        // the matches of the whole text.
        let is_cut = [self.part.is_cut[0], self.part.is_cut[1] || self.part.lines_after > 0];
        let search_in = |chunk: usize| {
            let n_bytes = self.chunks[chunk].text.len();
            let (window, n_before) = self.window(chunk, needle.reach() + MAX_CHAR);
            let window = Haystack::new(&window).cut(is_cut);
            search.for_each(&window, |place| {
                if (n_before..n_before + n_bytes).contains(&place.start) {
                    let range = place.start - n_before..place.end - n_before;
                    visit(Place { chunk, range });
                }
            });
        };
        match self.keys.as_ref().and_then(|keys| keys.chunks_with(Key::of(needle)?)) {
            None => (0..self.chunks.len()).for_each(search_in),
            Some(chunks) => self.starts(chunks, needle.reach()).into_iter().for_each(search_in),
        }
    }

    /// Returns the chunks in which a match of `n_bytes` can start if one of `with_key` contains its
    /// key.
    fn starts(&self, with_key: &[usize], n_bytes: usize) -> Vec<usize> {
        let mut chunks = Vec::with_capacity(2 * with_key.len());
        for id in with_key {
            let mut chunk = self.owner(*id);
            chunks.push(chunk);
            let mut n_before = 0;
            while chunk > 0 && n_before < n_bytes {
                chunk -= 1;
                n_before += self.chunks[chunk].text.len();
                chunks.push(chunk);
            }
        }
        chunks.sort_unstable();
        chunks.dedup();
        chunks
    }

    /// Returns every match that does not overlap an earlier one, or `None` if there are more than
    /// `max`.
    pub fn find_all(&self, needle: Needle<'_>, max: usize) -> Option<Vec<Place>> {
        let mut places: Vec<Place> = Vec::new();
        let (mut end, mut is_too_many) = ((0, 0), false);
        self.for_each(needle, |place| {
            if is_too_many || end > (place.chunk, place.range.start) {
                return;
            }
            is_too_many = places.len() == max;
            end = self.within(place.chunk, place.range.end);
            places.push(place);
        });
        (!is_too_many).then_some(places)
    }

    /// Whether a string occurs.
    pub fn contains(&self, needle: Needle<'_>) -> bool {
        let mut is_found = false;
        self.for_each(needle, |_| is_found = true);
        is_found
    }

    /// Returns the text of a match.
    pub fn text(&self, place: &Place) -> Cow<'_, str> {
        let chunk = &self.chunks[place.chunk].text;
        match chunk.get(place.range.clone()) {
            Some(text) => Cow::Borrowed(text),
            None => {
                let mut text = chunk[place.range.start..].to_string();
                for later in &self.chunks[place.chunk + 1..] {
                    let n_missing = place.range.len() - text.len();
                    text.push_str(&later.text[..n_missing.min(later.text.len())]);
                }
                Cow::Owned(text)
            }
        }
    }

    /// Returns the whole text.
    pub fn whole(&self) -> Cow<'_, str> {
        match &self.chunks[..] {
            [chunk] => Cow::Borrowed(&chunk.text),
            chunks => chunks.iter().map(|chunk| &*chunk.text).collect(),
        }
    }

    /// Returns the lines of matches that are in order.
    pub fn lines(&self, places: &[Place]) -> Vec<LineRange> {
        let (mut chunk, mut offset, mut n_lines) = (0, 0, self.part.lines_before);
        let line_range = |place: &Place| {
            // Whole chunks are skipped by their counts.
            while chunk < place.chunk {
                n_lines += match offset {
                    0 => self.chunks[chunk].n_endings,
                    offset => line::n_endings(&self.chunks[chunk].text[offset..]),
                };
                (chunk, offset) = (chunk + 1, 0);
            }
            n_lines += line::n_endings(&self.chunks[chunk].text[offset..place.range.start]);
            offset = place.range.start;
            // A final `\n` belongs to its line.
            let text = self.text(place);
            let n_more = line::n_endings(&text) - usize::from(text.ends_with('\n'));
            LineRange { start: n_lines + 1, end: n_lines + 1 + n_more }
        };
        places.iter().map(line_range).collect()
    }

    /// Describes a match for an error.
    pub fn occurrence(&self, place: &Place, line: usize) -> Occurrence {
        const N_SHOWN: usize = Occurrence::MAX_BYTES;
        let (mut head, mut n_chars) = (String::new(), 0);
        for (index, chunk) in self.chunks[..=place.chunk].iter().enumerate().rev() {
            let end = if index == place.chunk { place.range.start } else { chunk.text.len() };
            let start = line::start_of(&chunk.text, end);
            let text = &chunk.text[start..end];
            n_chars += text.chars().count();
            if head.len() < N_SHOWN {
                let n_skipped = text.ceil_char_boundary(text.len().saturating_sub(N_SHOWN));
                head.insert_str(0, &text[n_skipped..]);
            }
            if start > 0 {
                break;
            }
        }
        let mut rest = String::new();
        let mut start = place.range.start;
        for chunk in &self.chunks[place.chunk..] {
            let text = &chunk.text[start..];
            rest.push_str(&text[..text.floor_char_boundary(N_SHOWN)]);
            start = 0;
            if rest.contains('\n') || rest.len() >= N_SHOWN / 2 {
                break;
            }
        }
        Occurrence::new(line, Some(n_chars), &head, &rest)
    }

    /// Replaces matches that are in order and do not overlap, each with its own text.
    pub fn replace(
        &mut self,
        places: &[Place],
        mut new_text: impl FnMut(&dyn Near, &str) -> String,
    ) {
        let known = Cell::new(None);
        let edits = places.iter().map(|place| Edit {
            range: place.range.clone(),
            text: new_text(&At { staged: self, place, known: &known }, &self.text(place)),
        });
        let mut edits: Vec<Edit> = edits.collect();
        // From the end, so that the places before stay valid.
        let mut rest = places;
        while let Some(&Place { chunk, ref range }) = rest.last() {
            while self.chunks[chunk].text.len() < range.end {
                self.join_next(chunk);
            }
            rest = &rest[..rest.partition_point(|place| place.chunk < chunk)];
            self.apply(chunk, edits.split_off(rest.len()));
        }
    }

    fn apply(&mut self, chunk: usize, mut new: Vec<Edit>) {
        let is_divided = self.keys.is_some();
        let Chunk { text, edits, n_endings, .. } = &mut self.chunks[chunk];
        let changed;
        if let [edit] = &mut new[..] {
            let Edit { range, text: new } = edit;
            if is_divided {
                *n_endings -= line::n_endings(&text[range.clone()]);
                *n_endings += line::n_endings(new);
            }
            edits.then(range.clone(), new);
            text.to_mut().replace_range(range.clone(), new);
            changed = range.start..range.start + new.len();
        } else {
            let new = Edits::sorted(text, new);
            let after = new.apply(text);
            edits.compose(text, new);
            *n_endings = if is_divided { line::n_endings(&after) } else { 0 };
            changed = 0..after.len();
            *text = Cow::Owned(after);
        }
        if is_divided {
            self.repair(chunk, changed);
        }
    }

    /// Restores what must be true for a chunk after an edit: `\r\n` is in one chunk, and keys in and
    /// around the new text are registered.
    fn repair(&mut self, mut chunk: usize, mut changed: Range<usize>) {
        if let Some(before) = self.non_empty_before(chunk)
            && self.chunks[before].text.ends_with('\r')
            && self.text_from(chunk).starts_with('\n')
        {
            let n_before = self.chunks[before].text.len();
            while self.owner(chunk) != before {
                self.join_next(before);
            }
            chunk = before;
            changed = n_before + changed.start..n_before + changed.end;
        }
        while self.chunks[chunk].text.ends_with('\r') && self.text_from(chunk + 1).starts_with('\n')
        {
            self.join_next(chunk);
        }
        let start = changed.start.saturating_sub(KEY_REACH);
        self.register(chunk, start..changed.end);
        // A key may start in an earlier chunk.
        let (mut n_before, mut earlier) = (changed.start, chunk);
        while n_before < KEY_REACH && earlier > 0 {
            earlier -= 1;
            let n_bytes = self.chunks[earlier].text.len();
            n_before += n_bytes;
            self.register(earlier, n_bytes.saturating_sub(KEY_REACH)..n_bytes);
        }
    }

    /// Registers the keys that start in part of a chunk.
    fn register(&mut self, chunk: usize, part: Range<usize>) {
        let Some(mut keys) = self.keys.take() else { return };
        let (window, n_before) = self.window(chunk, KEY_REACH);
        let end = (n_before + part.end + KEY_REACH).min(window.len());
        keys.register(chunk, &window[n_before + part.start..end]);
        self.keys = Some(keys);
    }

    /// Returns a chunk with the character before it and this many bytes after it, and the number of
    /// bytes before it.
    fn window(&self, chunk: usize, n_after: usize) -> (Cow<'_, [u8]>, usize) {
        let text = &self.chunks[chunk].text;
        if self.chunks.len() == 1 {
            return (Cow::Borrowed(text.as_bytes()), 0);
        }
        let n_later = self.chunks[chunk + 1..].iter();
        let n_later = n_later.scan(0, |n_bytes, chunk| {
            let is_needed = *n_bytes < n_after;
            *n_bytes += chunk.text.len();
            is_needed.then_some(())
        });
        let around = chunk.saturating_sub(1)..chunk + 1 + n_later.count();
        if self.chunks[around.clone()].iter().all(Chunk::is_unchanged) {
            let origin = self.chunks[chunk].origin;
            let n_before = MAX_CHAR.min(origin);
            let end = (origin + text.len() + n_after).min(self.part.text.len());
            return (Cow::Borrowed(&self.part.text.as_bytes()[origin - n_before..end]), n_before);
        }
        let mut head: &[u8] = b"";
        if let Some(before) = self.non_empty_before(chunk) {
            let before = self.chunks[before].text.as_bytes();
            head = &before[before.len().saturating_sub(MAX_CHAR)..];
        }
        let mut window = [head, text.as_bytes()].concat();
        let n_wanted = window.len() + n_after;
        for later in &self.chunks[chunk + 1..around.end] {
            let n_missing = n_wanted - window.len();
            window.extend_from_slice(&later.text.as_bytes()[..n_missing.min(later.text.len())]);
        }
        (Cow::Owned(window), head.len())
    }

    /// Joins a chunk with the next one.
    fn join_next(&mut self, chunk: usize) {
        let next = (chunk + 1..self.chunks.len()).find(|id| self.chunks[*id].joined_to.is_none());
        let next = next.expect("a match ends in the text");
        let gone = Chunk {
            text: Cow::Owned(String::new()),
            edits: Edits::none(""),
            n_endings: 0,
            origin: 0,
            joined_to: Some(chunk),
        };
        let Chunk { text, edits, n_endings, .. } = std::mem::replace(&mut self.chunks[next], gone);
        let chunk = &mut self.chunks[chunk];
        chunk.text.to_mut().push_str(&text);
        chunk.edits.append(edits);
        chunk.n_endings += n_endings;
    }

    fn owner(&self, mut chunk: usize) -> usize {
        while let Some(owner) = self.chunks[chunk].joined_to {
            chunk = owner;
        }
        chunk
    }

    fn non_empty_before(&self, chunk: usize) -> Option<usize> {
        (0..chunk).rev().find(|id| !self.chunks[*id].text.is_empty())
    }

    /// Returns the text of the first chunk from `chunk` on that is not empty.
    fn text_from(&self, chunk: usize) -> &str {
        let mut chunks = self.chunks[chunk..].iter();
        chunks.find(|chunk| !chunk.text.is_empty()).map_or("", |chunk| &chunk.text)
    }

    /// Returns an offset that may be beyond a chunk as one inside a chunk, or at its end.
    fn within(&self, mut chunk: usize, mut offset: usize) -> (usize, usize) {
        while offset > self.chunks[chunk].text.len() {
            offset -= self.chunks[chunk].text.len();
            chunk += 1;
        }
        (chunk, offset)
    }

    fn ending_before(&self, (chunk, offset): (usize, usize)) -> Option<Ending> {
        let here = line::ending_before(&self.chunks[chunk].text, offset);
        let earlier = || {
            let found = self.chunks[..chunk].iter().rev().find(|chunk| chunk.n_endings > 0)?;
            line::ending_before(&found.text, found.text.len())
        };
        here.or_else(earlier).or(self.part.ending)
    }

    fn ending_at(&self, (chunk, offset): (usize, usize)) -> Option<Ending> {
        let first = |text: &str| line::ending(&text[..line::end_of(text, 0)]);
        let here = first(&self.chunks[chunk].text[offset..]);
        let later = || {
            let found = self.chunks[chunk + 1..].iter().find(|chunk| chunk.n_endings > 0)?;
            first(&found.text)
        };
        here.or_else(later).or_else(|| self.ending_before((chunk, offset)))
    }
}

impl<'a> Chunk<'a> {
    fn new(text: &'a str, origin: usize) -> Chunk<'a> {
        let edits = Edits::none(text);
        Chunk { text: Cow::Borrowed(text), origin, edits, n_endings: 0, joined_to: None }
    }

    fn is_unchanged(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }
}

/// A match with the text around it.
struct At<'a> {
    staged: &'a Staged<'a>,
    place: &'a Place,
    /// The line in which the last match started, so that a long line with many matches is searched
    /// for its ending once.
    known: &'a Cell<Option<KnownLine>>,
}

/// A part of a line, up to its end or the end of the chunk.
#[derive(Clone, Copy)]
struct KnownLine {
    chunk: usize,
    start: usize,
    end: usize,
    ending: Option<Ending>,
}

impl Near for At<'_> {
    fn before_start(&self) -> Option<Ending> {
        self.staged.ending_before((self.place.chunk, self.place.range.start))
    }

    fn at_start(&self) -> Option<Ending> {
        let (chunk, start) = (self.place.chunk, self.place.range.start);
        let is_in =
            |line: &KnownLine| line.chunk == chunk && (line.start..line.end).contains(&start);
        let line = self.known.get().filter(is_in).unwrap_or_else(|| {
            let end = line::end_of(&self.staged.chunks[chunk].text, start);
            let ending = self.staged.ending_at((chunk, start));
            KnownLine { chunk, start, end, ending }
        });
        self.known.set(Some(line));
        line.ending
    }

    fn at_end(&self) -> Option<Ending> {
        self.staged.ending_at(self.staged.within(self.place.chunk, self.place.range.end))
    }
}

#[cfg(test)]
mod tests;
