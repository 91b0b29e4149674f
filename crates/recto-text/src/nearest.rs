//! Evidence for a miss: the lines that come closest to a string which does not stand in a text,
//! and what differs. Nothing here ever matches; it only helps the caller to ask better.
//!
//! Lines are compared by the trigrams they share, whitespace, case and typographic look-alikes
//! aside. One pass over the text with a table of fixed size, so that a miss stays cheap on large
//! files. What differs at the place is found by `align` and put into words by `show`.

mod align;
mod show;

use std::fmt;

use crate::find::find;
use crate::line;
use crate::quote::has_no_shape;

/// At most this many characters are shown.
pub const MAX_CHARS: usize = 900;

/// How much of the text is looked at. A miss in a larger file is rare, and a hint is not worth
/// more than a tenth of a second.
const MAX_TEXT: usize = 16 << 20;

/// How many lines of the wanted string vote for a place, and how much of each: more only cost.
const MAX_VOTERS: usize = 16;
const MAX_VOTER_CHARS: usize = 400;

/// Below this share of common trigrams a line is no evidence.
const MIN_SIMILARITY: f32 = 0.4;

/// What comes closest, or why nothing does, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest(String);

impl Nearest {
    /// What is said where not all of a file was looked at.
    pub fn unknown() -> Nearest {
        let shown = "The file is too large to search for similar text. \
                     Read the lines and copy the text exactly.";
        Nearest(shown.into())
    }

    /// What is said of a string that an earlier edit of the same call replaced.
    pub fn replaced_by(edit_index: usize) -> Nearest {
        Nearest(format!(
            "Edit {edit_index} already replaced that text; remove one of the two edits."
        ))
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a wanted string stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// Any text, which may start and end in the middle of lines.
    Text,
    /// Whole lines.
    Lines,
    /// One whole line.
    Line,
}

impl Meant {
    /// The argument that it comes in.
    pub fn argument(self) -> &'static str {
        match self {
            Meant::Text => "old_string",
            Meant::Lines => "old",
            Meant::Line => "anchor",
        }
    }
}

/// Finds the lines of `text` that come closest to `wanted`, or `None` where nothing is similar
/// enough to help.
pub fn nearest(text: &str, wanted: &str, meant: Meant) -> Option<Nearest> {
    let is_cut = text.len() > MAX_TEXT;
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let shown = misquoted(text, wanted, meant).or_else(|| {
        let wanted_lines: Vec<&str> = line::lines(wanted).map(line::without_ending).collect();
        let votes = vote(text, &wanted_lines, meant)?;
        Some(show::place(text, votes.line_idx, votes.also, &wanted_lines, meant))
    });
    match shown {
        Some(shown) => Some(Nearest(show::at_most(MAX_CHARS, shown))),
        None => is_cut.then(Nearest::unknown),
    }
}

/// A string that stands there once something is taken off that never belonged to it.
fn misquoted(text: &str, wanted: &str, meant: Meant) -> Option<String> {
    let unescaped = wanted.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    let readings = [
        (without_line_numbers(wanted), "includes line numbers, which are not in the file"),
        (Some(unescaped), "contains \\n, \\t or \\\" as escape sequences; send the characters"),
    ];
    for (reading, reason) in readings {
        let reading = reading.filter(|reading| !reading.trim().is_empty() && reading != wanted);
        if let Some(found) = reading.and_then(|reading| find(text, &reading)) {
            let lines = line::range_of(text, &found.places[0]);
            return Some(format!("Closest: {lines}. {} {reason}.", meant.argument()));
        }
    }
    None
}

/// Takes `12\t`, `12→`, `12: ` or `12| ` off every line, if every line has one.
fn without_line_numbers(wanted: &str) -> Option<String> {
    let mut rest = String::with_capacity(wanted.len());
    for line in line::lines(wanted) {
        let number = line.trim_start();
        let mark = number.trim_start_matches(|c: char| c.is_ascii_digit());
        if mark.len() == number.len() {
            return None;
        }
        rest.push_str(match mark.strip_prefix(['\t', '→']) {
            Some(text) => text,
            None => {
                let text = mark.trim_start_matches(' ').strip_prefix([':', '|'])?;
                text.strip_prefix(' ').unwrap_or(text)
            }
        });
    }
    Some(rest)
}

/// The place that most lines speak for.
struct Votes {
    /// The line, from 0, where the wanted string would start.
    line_idx: usize,
    /// Another line that is as good a place.
    also: Option<usize>,
}

fn vote(text: &str, wanted: &[&str], meant: Meant) -> Option<Votes> {
    let table = Table::new(wanted);
    if table.voters.is_empty() {
        return None;
    }
    // The weight of each line as the start of the wanted string.
    let mut weights: Vec<f32> = Vec::new();
    let is_fragment = wanted.len() == 1 && meant == Meant::Text;
    for (line_idx, line) in line::lines(text).enumerate() {
        weights.push(0.0);
        let similarities = table.similarities(line::without_ending(line), is_fragment);
        for (voter, similarity) in table.voters.iter().zip(similarities) {
            if similarity >= MIN_SIMILARITY
                && let Some(start) = line_idx.checked_sub(voter.line_idx)
            {
                weights[start] += similarity;
            }
        }
    }
    // Lines behind one that is missing or too many vote for the neighbouring start.
    let at =
        |index: Option<usize>| index.and_then(|index| weights.get(index)).copied().unwrap_or(0.0);
    let joined = |index: usize| {
        let beside = at(index.checked_sub(1)).max(at(index.checked_add(1)));
        at(Some(index)) + if is_fragment { 0.0 } else { 0.5 * beside }
    };
    let ranked = |skip: Option<usize>| {
        let is_apart = |index: &usize| skip.is_none_or(|skip| index.abs_diff(skip) >= wanted.len());
        let better = |a: &usize, b: &usize| joined(*a).total_cmp(&joined(*b)).then(b.cmp(a));
        (0..weights.len()).filter(is_apart).max_by(better)
    };
    let best = ranked(None)?;
    if joined(best) < MIN_SIMILARITY * table.voters.len() as f32 {
        return None;
    }
    let also = ranked(Some(best)).filter(|also| joined(*also) >= 0.95 * joined(best));
    Some(Votes { line_idx: best, also })
}

/// Which voters have a trigram: one bit for each, by a hash of the trigram.
struct Table {
    masks: Vec<u16>,
    voters: Vec<Voter>,
}

struct Voter {
    line_idx: usize,
    n_trigrams: usize,
}

impl Table {
    fn new(wanted: &[&str]) -> Table {
        let mut candidates: Vec<(usize, Vec<u16>)> = wanted
            .iter()
            .enumerate()
            .take(1000)
            .map(|(line_idx, line)| (line_idx, trigrams(line).take(MAX_VOTER_CHARS).collect()))
            .filter(|(_, trigrams): &(usize, Vec<u16>)| !trigrams.is_empty())
            .collect();
        // Long lines say more about a place than short ones.
        candidates.sort_by_key(|(_, trigrams)| std::cmp::Reverse(trigrams.len()));
        candidates.truncate(MAX_VOTERS);
        let mut table = Table { masks: vec![0; 1 << 16], voters: Vec::new() };
        for (number, (line_idx, trigrams)) in candidates.into_iter().enumerate() {
            for trigram in &trigrams {
                table.masks[usize::from(*trigram)] |= 1 << number;
            }
            table.voters.push(Voter { line_idx, n_trigrams: trigrams.len() });
        }
        table
    }

    /// How much a line has in common with each voter, from 0 to 1.
    fn similarities(&self, line: &str, is_fragment: bool) -> [f32; MAX_VOTERS] {
        let mut hits = [0usize; MAX_VOTERS];
        let mut n_trigrams = 0;
        for trigram in trigrams(line) {
            n_trigrams += 1;
            let mut mask = self.masks[usize::from(trigram)];
            while mask != 0 {
                hits[mask.trailing_zeros() as usize] += 1;
                mask &= mask - 1;
            }
        }
        let mut similarities = [0.0; MAX_VOTERS];
        for ((similarity, hits), voter) in similarities.iter_mut().zip(hits).zip(&self.voters) {
            let hits = hits.min(voter.n_trigrams) as f32;
            let shared = 2.0 * hits / (n_trigrams + voter.n_trigrams) as f32;
            // A fragment may stand in a much longer line.
            let contained = if is_fragment { 0.8 * hits / voter.n_trigrams as f32 } else { 0.0 };
            *similarity = shared.max(contained).min(1.0);
        }
        similarities
    }
}

/// Hashes of three characters in a row, with marks for the line's ends, blanks left out.
fn trigrams(line: &str) -> impl Iterator<Item = u16> {
    let folded = line.chars().filter(|c| !is_blank(*c)).map(|c| u32::from(fold(c)));
    let mut window = [0u32, 1];
    let mut is_blank = true;
    folded.map(Some).chain([None]).filter_map(move |next| {
        is_blank &= next.is_none();
        let next = next.unwrap_or(2);
        let hash = window[0].wrapping_mul(0x9e37_79b1)
            ^ window[1].wrapping_mul(0x85eb_ca77)
            ^ next.wrapping_mul(0xc2b2_ae3d);
        window = [window[1], next];
        (!is_blank).then_some((hash.wrapping_mul(0x27d4_eb2f) >> 16) as u16)
    })
}

/// Whether there is nothing to see.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || has_no_shape(c)
}

/// The character that others are mistaken for.
fn fold(c: char) -> char {
    match c {
        '‘' | '’' | '‚' | '′' | '`' | '´' => '\'',
        '“' | '”' | '„' | '″' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
        c if c.is_ascii() => c.to_ascii_lowercase(),
        c => c.to_lowercase().next().unwrap_or(c),
    }
}

#[cfg(test)]
mod tests;
