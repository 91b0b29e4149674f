//! The lines of a large file that a change needs, found in one pass over all of it.
//!
//! Only UTF-8 is looked at this way. Where the pass finds that the rest of the file matters,
//! there is no excerpt, and the file has to be held.

use std::ops::Range;

use crate::error::Result;
use memchr::{memchr, memchr_iter, memmem, memrchr_iter};
use recto_text::Document;
use recto_text::digest::Digester;
use recto_text::encoding::Encoding;
use recto_text::find::{StreamFinder, StreamMatches};
use recto_text::line_range::line_to_change;

use super::index::{Index, PIECE};
use super::read::OpenFile;
use crate::context::Context;
use crate::limits;
use crate::path::AbsPath;
use crate::{Excerpt, Where};

/// The longest excerpt.
const MAX_EXCERPT: u64 = limits::EXCERPT;

/// How many lines are taken on either side: more than a diff shows.
const N_AROUND: u64 = 16;

/// How far is looked for where a line starts or ends.
const MAX_LINE: usize = 1 << 20;

/// A large file that is held for a change.
pub struct Pass<'a> {
    pub file: &'a OpenFile,
    pub path: &'a AbsPath,
    pub context: &'a Context,
}

/// What the pass told.
struct Survey {
    index: Index,
    strings: Vec<[StreamMatches; 2]>,
    has_crlf: bool,
}

/// How far edits of strings can reach together.
fn reach_of(strings: &[&str]) -> u64 {
    strings.iter().map(|string| StreamFinder::reach(string) as u64).sum()
}

impl Pass<'_> {
    /// The lines that a change needs, or `None` where the whole file is needed.
    pub fn excerpt(&self, place: &Where<'_>) -> Result<Option<Excerpt>> {
        let Some(survey) = self.survey(place)? else { return Ok(None) };
        let total_lines = survey.index.total_lines as usize;
        let lines = match place {
            Where::Strings(strings) => return self.around_strings(&survey, strings),
            Where::Lines(lines) => lines.to_change("", total_lines).ok(),
            Where::Line(line) => {
                line_to_change(*line, "", total_lines).ok().map(|line| line..line + 1)
            }
            Where::End => None,
        };
        // Lines that are not there are refused by the plan, once the version was looked at.
        let lines = lines.unwrap_or(total_lines..total_lines);
        let lines = lines.start as u64..lines.end as u64;
        let Some(start) = self.line_start(&survey, lines.start)? else { return Ok(None) };
        let Some(end) = self.line_start(&survey, lines.end)? else { return Ok(None) };
        self.around(&survey, start..end)
    }

    /// Looks at everything once; `None` where it is not UTF-8 throughout.
    fn survey(&self, place: &Where<'_>) -> Result<Option<Survey>> {
        let mut strings = match place {
            Where::Strings(strings) => StreamFinder::new(strings),
            Where::Lines(_) | Where::Line(_) | Where::End => StreamFinder::new(&[]),
        };
        let mut digester = Digester::default();
        let mut lines_before = Vec::new();
        let (mut n_bytes, mut n_endings, mut last) = (0, 0, b'\n');
        let mut encoding = Encoding::Utf8;
        let mut has_crlf = false;
        // The first bytes of a character whose last ones are in the next piece.
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
        Ok(Some(Survey { index, strings: strings.finish(), has_crlf }))
    }

    fn around_strings(&self, survey: &Survey, strings: &[&str]) -> Result<Option<Excerpt>> {
        // One string is found with other line endings only where it is not found exactly. With
        // several, one may be found so once another edit has taken the exact one away.
        let is_looked_at = |[exact, _]: &[StreamMatches; 2], is_folded: usize| {
            is_folded == 0 || strings.len() > 1 || exact.n_matches == 0
        };
        let mut span: Option<Range<u64>> = None;
        let mut far = None;
        for (index, places) in survey.strings.iter().enumerate() {
            let mut wider = span.clone();
            for (is_folded, kind) in places.iter().enumerate() {
                if let Some(found) = kind.span.clone().filter(|_| is_looked_at(places, is_folded)) {
                    let all = wider.get_or_insert_with(|| found.clone());
                    *all = all.start.min(found.start)..all.end.max(found.end);
                }
            }
            if wider.as_ref().is_some_and(|span| span.end - span.start > MAX_EXCERPT) {
                far = Some((index, self.too_far(survey, strings, index, span.as_ref())?));
                break;
            }
            span = wider;
        }
        let excerpt = self.around_span(survey, span, 1 + reach_of(strings))?;
        Ok(excerpt.map(|excerpt| Excerpt { far, ..excerpt }))
    }

    fn around_span(
        &self,
        survey: &Survey,
        span: Option<Range<u64>>,
        reach: u64,
    ) -> Result<Option<Excerpt>> {
        let Some(span) = span else {
            let start = survey.n_bom();
            return match self.around(survey, start..start)? {
                Some(excerpt) => Ok(Some(excerpt)),
                None => self.excerpt_of(survey, start, Vec::new()),
            };
        };
        // What an edit puts there may make a string together with what stands beside it, and what
        // is put there then the next one.
        let start = span.start.saturating_sub(reach).max(survey.n_bom());
        let end = (span.end + reach).min(survey.index.n_bytes);
        match self.around(survey, start..end)? {
            Some(excerpt) => Ok(Some(excerpt)),
            None => self.inside_line(survey, start..end),
        }
    }

    /// Some bytes of lines that are too long to be taken whole. Which line ending new lines get
    /// there would be for the end of the line to say, so that there must be one kind only.
    fn inside_line(&self, survey: &Survey, bytes: Range<u64>) -> Result<Option<Excerpt>> {
        if survey.has_crlf {
            return Ok(None);
        }
        let text = self.read(bytes.clone())?;
        // Characters that are cut at the ends are left out; they are no part of a match.
        let is_inside = |byte: &u8| (*byte as i8) < -0x40;
        let n_head = text.iter().take(3).take_while(|byte| is_inside(byte)).count();
        let n_kept = match std::str::from_utf8(&text[n_head..]) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let start = bytes.start + n_head as u64;
        let excerpt = self.excerpt_of(survey, start, text[n_head..n_head + n_kept].to_vec())?;
        Ok(excerpt.map(|excerpt| Excerpt { is_whole_lines: false, ..excerpt }))
    }

    /// What is to be said about a string that stands far from those before it, or in places far
    /// apart. Two places that no edit before it can change are too many; one is only too far away.
    fn too_far(
        &self,
        survey: &Survey,
        strings: &[&str],
        index: usize,
        before: Option<&Range<u64>>,
    ) -> Result<recto_text::Error> {
        let old_string = strings[index];
        let [exact, folded] = &survey.strings[index];
        let places = if exact.n_matches > 0 { exact } else { folded };
        // The first edit changes what stands in the file, each later one may reach beyond.
        let margin = reach_of(strings.get(1..index).unwrap_or_default());
        let is_untouched = |start: &&u64| {
            before.is_none_or(|before| {
                let end = **start + reach_of(&[old_string]);
                **start >= before.end + margin || end + margin <= before.start
            })
        };
        // Where one is made that is exact, others do not count.
        let is_certain = exact.n_matches > 0 || before.is_none();
        if !is_certain || places.first_few.iter().filter(is_untouched).count() < 2 {
            return Ok(recto_text::Error::TooFarApart {
                path: self.path.to_string(),
                n_bytes: survey.index.n_bytes,
            });
        }
        let lines = places.first_few.iter().map(|offset| {
            Ok(usize::try_from(self.line_at(survey, *offset)? + 1).unwrap_or(usize::MAX))
        });
        Ok(recto_text::Error::AmbiguousString {
            n_matches: places.n_matches,
            old_string: old_string.to_string(),
            lines: lines.collect::<Result<_>>()?,
            n_lines: None,
        })
    }

    /// Some bytes, widened to whole lines and some more.
    fn around(&self, survey: &Survey, bytes: Range<u64>) -> Result<Option<Excerpt>> {
        let Some(start) = self.lines_back(survey, bytes.start)? else { return Ok(None) };
        let Some(end) = self.lines_on(survey, bytes.end)? else { return Ok(None) };
        if end - start > MAX_EXCERPT + 2 * MAX_LINE as u64 {
            return Ok(None);
        }
        let text = self.read(start..end)?;
        self.excerpt_of(survey, start, text)
    }

    fn excerpt_of(&self, survey: &Survey, start: u64, text: Vec<u8>) -> Result<Option<Excerpt>> {
        let Ok(text) = String::from_utf8(text) else { return Ok(None) };
        // A line may start with what would be a BOM at the start of a file.
        let Ok(lines) = Document::new(&text) else { return Ok(None) };
        let lines_before = self.line_at(survey, start)?;
        let n_lines = recto_text::line::count(&text) as u64;
        Ok(Some(Excerpt {
            lines,
            start,
            lines_before: lines_before as usize,
            // A file that grew since is noticed later.
            lines_after: survey.index.total_lines.saturating_sub(lines_before + n_lines) as usize,
            n_bytes: survey.index.n_bytes,
            digest: survey.index.digest,
            is_whole_lines: true,
            far: None,
        }))
    }

    /// Where a line starts, from 0; the one after the last starts at the end.
    fn line_start(&self, survey: &Survey, line: u64) -> Result<Option<u64>> {
        if line >= survey.index.total_lines {
            return Ok(Some(survey.index.n_bytes));
        }
        let (mut offset, mut at_line) = survey.index.start_of(line);
        offset = offset.max(survey.n_bom());
        while at_line < line {
            let piece = self.read(offset..(offset + PIECE as u64).min(survey.index.n_bytes))?;
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
        // The place lies in the line or at its start.
        Ok(Some(offset))
    }

    /// Which line a byte stands in, from 0.
    fn line_at(&self, survey: &Survey, offset: u64) -> Result<u64> {
        let piece = (offset / PIECE as u64) as usize;
        let Some(lines_before) = survey.index.lines_before.get(piece) else {
            return Ok(survey.index.total_lines);
        };
        let head = self.read((piece * PIECE) as u64..offset)?;
        Ok(lines_before + memchr_iter(b'\n', &head).count() as u64)
    }

    /// A line start some lines before a byte.
    fn lines_back(&self, survey: &Survey, offset: u64) -> Result<Option<u64>> {
        let from = offset.saturating_sub(MAX_LINE as u64).max(survey.n_bom()).min(offset);
        let head = self.read(from..offset)?;
        match memrchr_iter(b'\n', &head).nth(N_AROUND as usize) {
            Some(newline) => Ok(Some(from + newline as u64 + 1)),
            None if from == survey.n_bom() => Ok(Some(from)),
            // Fewer lines are enough, as long as there are some.
            None => match memchr_iter(b'\n', &head).next() {
                Some(newline) if memchr_iter(b'\n', &head).nth(4).is_some() => {
                    Ok(Some(from + newline as u64 + 1))
                }
                _ => Ok(None),
            },
        }
    }

    /// A line end some lines behind a byte.
    fn lines_on(&self, survey: &Survey, offset: u64) -> Result<Option<u64>> {
        let to = (offset + MAX_LINE as u64).min(survey.index.n_bytes);
        let tail = self.read(offset..to)?;
        match memchr_iter(b'\n', &tail).nth(N_AROUND as usize) {
            Some(newline) => Ok(Some(offset + newline as u64 + 1)),
            None if to == survey.index.n_bytes => Ok(Some(to)),
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

impl Survey {
    fn n_bom(&self) -> u64 {
        self.index.encoding.bom().len() as u64
    }
}

/// Whether a piece goes on with UTF-8. Keeps the beginning of a character that it ends with.
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
