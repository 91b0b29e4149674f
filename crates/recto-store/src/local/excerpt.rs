//! Finds the lines of a large file that a change needs, in one pass over the file.
//!
//! Only UTF-8 files are supported. If the change depends on the rest of the file, there is no
//! excerpt and the caller has to read the whole file.

use std::ops::Range;

use crate::error::Result;
use memchr::{memchr, memchr_iter, memmem, memrchr_iter};
use recto_text::Document;
use recto_text::digest::Digester;
use recto_text::encoding::Encoding;
use recto_text::error::Occurrence;
use recto_text::find::{Needle, StreamFinder, StreamMatches};
use recto_text::line::Ending;
use recto_text::line_range::line_to_change;
use recto_text::plan::Replacement;

use super::index::{Index, PIECE};
use super::read::OpenFile;
use crate::context::Context;
use crate::limits;
use crate::path::AbsPath;
use crate::{Excerpt, Where};

/// The maximum size of an excerpt.
const MAX_EXCERPT: u64 = limits::EXCERPT;

/// The number of context lines on either side, more than a diff shows.
const CONTEXT_LINES: u64 = 16;

/// The most bytes of a character, which decides whether a word ends.
const MAX_CHAR: u64 = 4;

/// The maximum distance to search for the start or end of a line.
const MAX_LINE: usize = 1 << 20;

/// A scan of a large file that a call is about to change.
pub struct ExcerptScan<'a> {
    pub file: &'a OpenFile,
    pub path: &'a AbsPath,
    pub context: &'a Context,
}

/// The result of a scan.
struct ScanResult {
    index: Index,
    strings: Vec<StreamMatches>,
    has_crlf: bool,
    has_line_breaks: bool,
}

/// Returns how far edits of these strings can reach together.
fn reach_of(strings: &[Replacement]) -> u64 {
    strings.iter().map(|string| string.needle().reach() as u64).sum()
}

impl ExcerptScan<'_> {
    /// Returns the lines that a change needs, or `None` if it needs the whole file.
    pub fn excerpt(&self, wanted: &Where<'_>) -> Result<Option<Excerpt>> {
        let Some(scan) = self.scan(wanted)? else { return Ok(None) };
        let total_lines = scan.index.total_lines as usize;
        let lines = match wanted {
            Where::Strings(strings) => return self.around_strings(&scan, strings),
            Where::Lines(lines) => lines.to_change("", total_lines).ok(),
            Where::Line(line) => {
                line_to_change(*line, "", total_lines).ok().map(|line| line..line + 1)
            }
            Where::End => None,
        };
        // The plan rejects lines that do not exist, after it has checked the version.
        let lines = lines.unwrap_or(total_lines..total_lines);
        let lines = lines.start as u64..lines.end as u64;
        let Some(start) = self.line_start(&scan, lines.start)? else { return Ok(None) };
        let Some(end) = self.line_start(&scan, lines.end)? else { return Ok(None) };
        self.around(&scan, start..end)
    }

    /// Scans the file once. Returns `None` if it is not valid UTF-8.
    fn scan(&self, wanted: &Where<'_>) -> Result<Option<ScanResult>> {
        let mut strings = match wanted {
            Where::Strings(strings) => {
                let needles: Vec<Needle<'_>> = strings.iter().map(Replacement::needle).collect();
                StreamFinder::new(&needles)
            }
            Where::Lines(_) | Where::Line(_) | Where::End => StreamFinder::new(&[]),
        };
        let mut digester = Digester::default();
        let mut lines_before = Vec::new();
        let (mut n_bytes, mut n_endings, mut last) = (0, 0, b'\n');
        let mut encoding = Encoding::Utf8;
        let mut has_crlf = false;
        // The first bytes of a character that continues in the next piece.
        let mut unfinished = Vec::new();
        let mut buffer = vec![0; PIECE];
        loop {
            self.context.cancel.check()?;
            let n_read = self.file.read_at(self.path, &mut buffer, n_bytes)?;
            let piece = &buffer[..n_read];
            if n_bytes == 0 {
                match Encoding::sniff(piece) {
                    Some(found @ (Encoding::Utf8 | Encoding::Utf8Bom)) => encoding = found,
                    _ => return Ok(None),
                }
            }
            if memchr(0, piece).is_some() || !is_utf8(&mut unfinished, piece) {
                return Ok(None);
            }
            digester.push(piece);
            strings.push(piece);
            has_crlf = has_crlf
                || (last == b'\r' && piece.first() == Some(&b'\n'))
                || memmem::find(piece, b"\r\n").is_some();
            if let Some(byte) = piece.last() {
                lines_before.push(n_endings);
                n_endings += memchr_iter(b'\n', piece).count() as u64;
                last = *byte;
            }
            n_bytes += n_read as u64;
            if n_read < PIECE {
                break;
            }
        }
        if !unfinished.is_empty() {
            return Ok(None);
        }
        let is_open = last != b'\n' && n_bytes > encoding.bom().len() as u64;
        let total_lines = n_endings + u64::from(is_open);
        let digest = digester.finish();
        let index = Index { encoding, digest, n_bytes, total_lines, lines_before };
        let has_line_breaks = n_endings > 0;
        Ok(Some(ScanResult { index, strings: strings.finish(), has_crlf, has_line_breaks }))
    }

    fn around_strings(
        &self,
        scan: &ScanResult,
        strings: &[Replacement],
    ) -> Result<Option<Excerpt>> {
        let mut span: Option<Range<u64>> = None;
        let mut far = None;
        for (index, places) in scan.strings.iter().enumerate() {
            let Some(found) = places.span.clone() else { continue };
            let all = span.clone().unwrap_or_else(|| found.clone());
            let wider = all.start.min(found.start)..all.end.max(found.end);
            if wider.end - wider.start > MAX_EXCERPT {
                far = Some((index, self.too_far(scan, strings, index, span.as_ref())?));
                break;
            }
            span = Some(wider);
        }
        let excerpt = self.around_span(scan, span, MAX_CHAR + reach_of(strings))?;
        Ok(excerpt.map(|excerpt| Excerpt { far, ..excerpt }))
    }

    fn around_span(
        &self,
        scan: &ScanResult,
        span: Option<Range<u64>>,
        reach: u64,
    ) -> Result<Option<Excerpt>> {
        let Some(span) = span else {
            let start = scan.n_bom();
            return match self.around(scan, start..start)? {
                Some(excerpt) => Ok(Some(excerpt)),
                None => self.excerpt_of(scan, start, Vec::new()),
            };
        };
        // Inserted text may form a match together with adjacent text, and so may the text that is
        // inserted there next.
        let start = span.start.saturating_sub(reach).max(scan.n_bom());
        let end = (span.end + reach).min(scan.index.n_bytes);
        match self.around(scan, start..end)? {
            Some(excerpt) => Ok(Some(excerpt)),
            None => self.inside_line(scan, start..end),
        }
    }

    /// Returns an excerpt of lines that are too long to be included whole. Returns `None` for a
    /// file with CRLF, because the excerpt lacks the line ending that inserted lines would copy.
    fn inside_line(&self, scan: &ScanResult, bytes: Range<u64>) -> Result<Option<Excerpt>> {
        if scan.has_crlf {
            return Ok(None);
        }
        let text = self.read(bytes.clone())?;
        // Skip characters that the range cuts, which are not part of a match.
        let is_inside = |byte: &u8| (*byte as i8) < -0x40;
        let n_head = text.iter().take(3).take_while(|byte| is_inside(byte)).count();
        let n_kept = match std::str::from_utf8(&text[n_head..]) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let start = bytes.start + n_head as u64;
        let excerpt = self.excerpt_of(scan, start, text[n_head..n_head + n_kept].to_vec())?;
        let ending = scan.has_line_breaks.then_some(Ending::Lf);
        let is_cut = [start > scan.n_bom(), start + (n_kept as u64) < scan.index.n_bytes];
        Ok(excerpt.map(|excerpt| Excerpt { is_cut, ending, ..excerpt }))
    }

    /// Returns the error for a string whose matches are too far apart, or too far from earlier
    /// edits. It is ambiguous only if two of its matches are out of their reach.
    fn too_far(
        &self,
        scan: &ScanResult,
        strings: &[Replacement],
        index: usize,
        before: Option<&Range<u64>>,
    ) -> Result<recto_text::Error> {
        let places = &scan.strings[index];
        // The first edit changes text of the file; each later one may reach beyond.
        let margin = reach_of(strings.get(1..index).unwrap_or_default());
        let is_untouched = |place: &&Range<u64>| {
            before.is_none_or(|before| {
                place.start >= before.end + margin || place.end + margin <= before.start
            })
        };
        let is_ambiguous = !strings[index].replaces_all();
        if !is_ambiguous || places.first_few.iter().filter(is_untouched).count() < 2 {
            return Ok(recto_text::Error::TooFarApart {
                path: self.path.to_string(),
                n_bytes: scan.index.n_bytes,
            });
        }
        let occurrences = places.first_few.iter().map(|place| self.occurrence(scan, place.start));
        Ok(recto_text::Error::AmbiguousString {
            n_matches: places.n_matches,
            old_string: strings[index].needle().string.to_string(),
            places: occurrences.collect::<Result<_>>()?,
            n_lines: None,
        })
    }

    /// Describes an occurrence for an error.
    fn occurrence(&self, scan: &ScanResult, start: u64) -> Result<Occurrence> {
        let line = usize::try_from(self.line_at(scan, start)? + 1).unwrap_or(usize::MAX);
        let n_shown = Occurrence::MAX_BYTES as u64;
        let from = start.saturating_sub(n_shown).max(scan.n_bom());
        let [head, rest] = [from..start, start..(start + n_shown).min(scan.index.n_bytes)];
        let [head, rest] = [self.read(head)?, self.read(rest)?];
        let [head, rest] = [&head, &rest].map(|bytes| String::from_utf8_lossy(bytes));
        // The line may start before the text that was read.
        let in_line = head.rsplit('\n').next().filter(|line| line.len() < head.len());
        let in_line = in_line.or((from == scan.n_bom()).then_some(&*head));
        let n_chars = in_line.map(|head| head.chars().count());
        Ok(Occurrence::new(line, n_chars, &head, &rest))
    }

    /// Widens a range to whole lines with context.
    fn around(&self, scan: &ScanResult, bytes: Range<u64>) -> Result<Option<Excerpt>> {
        let Some(start) = self.context_start(scan, bytes.start)? else { return Ok(None) };
        let Some(end) = self.context_end(scan, bytes.end)? else { return Ok(None) };
        if end - start > MAX_EXCERPT + 2 * MAX_LINE as u64 {
            return Ok(None);
        }
        let text = self.read(start..end)?;
        self.excerpt_of(scan, start, text)
    }

    fn excerpt_of(&self, scan: &ScanResult, start: u64, text: Vec<u8>) -> Result<Option<Excerpt>> {
        let Ok(text) = String::from_utf8(text) else { return Ok(None) };
        // A line may start with bytes that would be a BOM at the start of a file.
        let Ok(lines) = Document::new(&text) else { return Ok(None) };
        let lines_before = self.line_at(scan, start)?;
        let n_lines = recto_text::line::count(&text) as u64;
        Ok(Some(Excerpt {
            lines,
            start,
            lines_before: lines_before as usize,
            // The write protocol detects a file that grew since.
            lines_after: scan.index.total_lines.saturating_sub(lines_before + n_lines) as usize,
            is_cut: [false; 2],
            ending: None,
            has_crlf: scan.has_crlf,
            n_bytes: scan.index.n_bytes,
            digest: scan.index.digest,
            far: None,
        }))
    }

    /// Returns the offset of a 0-based line, or the end of the file for the line after the last.
    fn line_start(&self, scan: &ScanResult, line: u64) -> Result<Option<u64>> {
        if line >= scan.index.total_lines {
            return Ok(Some(scan.index.n_bytes));
        }
        let (mut offset, mut at_line) = scan.index.start_of(line);
        offset = offset.max(scan.n_bom());
        while at_line < line {
            let piece = self.read(offset..(offset + PIECE as u64).min(scan.index.n_bytes))?;
            let n_wanted = (line - at_line) as usize;
            match memchr_iter(b'\n', &piece).nth(n_wanted - 1) {
                Some(newline) => return Ok(Some(offset + newline as u64 + 1)),
                None if piece.is_empty() => return Ok(None),
                None => {
                    at_line += memchr_iter(b'\n', &piece).count() as u64;
                    offset += piece.len() as u64;
                }
            }
        }
        // The offset is in the line or at its start.
        Ok(Some(offset))
    }

    /// Returns the 0-based line that contains a byte.
    fn line_at(&self, scan: &ScanResult, offset: u64) -> Result<u64> {
        let piece = (offset / PIECE as u64) as usize;
        let Some(lines_before) = scan.index.lines_before.get(piece) else {
            return Ok(scan.index.total_lines);
        };
        let head = self.read((piece * PIECE) as u64..offset)?;
        Ok(lines_before + memchr_iter(b'\n', &head).count() as u64)
    }

    /// Returns the start of a line some lines before a byte.
    fn context_start(&self, scan: &ScanResult, offset: u64) -> Result<Option<u64>> {
        let from = offset.saturating_sub(MAX_LINE as u64).max(scan.n_bom()).min(offset);
        let head = self.read(from..offset)?;
        match memrchr_iter(b'\n', &head).nth(CONTEXT_LINES as usize) {
            Some(newline) => Ok(Some(from + newline as u64 + 1)),
            None if from == scan.n_bom() => Ok(Some(from)),
            // Fewer context lines are enough.
            None => match memchr_iter(b'\n', &head).next() {
                Some(newline) if memchr_iter(b'\n', &head).nth(4).is_some() => {
                    Ok(Some(from + newline as u64 + 1))
                }
                _ => Ok(None),
            },
        }
    }

    /// Returns the end of a line some lines after a byte.
    fn context_end(&self, scan: &ScanResult, offset: u64) -> Result<Option<u64>> {
        let to = (offset + MAX_LINE as u64).min(scan.index.n_bytes);
        let tail = self.read(offset..to)?;
        match memchr_iter(b'\n', &tail).nth(CONTEXT_LINES as usize) {
            Some(newline) => Ok(Some(offset + newline as u64 + 1)),
            None if to == scan.index.n_bytes => Ok(Some(to)),
            None => match memrchr_iter(b'\n', &tail).next() {
                Some(newline) if memchr_iter(b'\n', &tail).nth(4).is_some() => {
                    Ok(Some(offset + newline as u64 + 1))
                }
                _ => Ok(None),
            },
        }
    }

    fn read(&self, bytes: Range<u64>) -> Result<Vec<u8>> {
        self.context.cancel.check()?;
        let mut buffer = vec![0; (bytes.end - bytes.start) as usize];
        let n_read = self.file.read_at(self.path, &mut buffer, bytes.start)?;
        buffer.truncate(n_read);
        Ok(buffer)
    }
}

impl ScanResult {
    fn n_bom(&self) -> u64 {
        self.index.encoding.bom().len() as u64
    }
}

/// Returns whether a piece continues valid UTF-8, and keeps a character cut at its end.
fn is_utf8(unfinished: &mut Vec<u8>, mut piece: &[u8]) -> bool {
    while !unfinished.is_empty() {
        let Some((byte, rest)) = piece.split_first() else { return true };
        unfinished.push(*byte);
        piece = rest;
        match std::str::from_utf8(unfinished) {
            Ok(_) => unfinished.clear(),
            Err(error) if error.error_len().is_some() => return false,
            Err(_) => {}
        }
    }
    match std::str::from_utf8(piece) {
        Ok(_) => true,
        Err(error) => {
            unfinished.extend_from_slice(&piece[error.valid_up_to()..]);
            error.error_len().is_none()
        }
    }
}
