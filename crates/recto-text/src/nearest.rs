//! Evidence for a miss: the lines closest to a string that does not occur in a text, and the
//! differences. The result is only a hint and is never used as a match.
//!
//! Lines are compared by shared trigrams, ignoring whitespace, case and typographic look-alikes. One
//! pass over the text with a table of fixed size keeps a miss cheap on large files. `align` finds the
//! differences and `show` describes them.

mod align;
mod show;

use std::fmt;

use crate::find::find;
use crate::line;
use crate::quote::has_no_shape;

/// The maximum number of characters of a description.
pub const MAX_CHARS: usize = 900;

/// The maximum bytes of text that are searched. A miss in a larger file is rare, and a hint is not
/// worth more than a tenth of a second.
const MAX_SEARCHED: usize = 16 << 20;

/// The maximum number of wanted lines that vote for a position, and the characters used of each.
const MAX_VOTERS: usize = 16;
const MAX_VOTER_CHARS: usize = 400;

/// The minimum share of common trigrams for a line to vote.
const MIN_SIMILARITY: f32 = 0.4;

/// The description of the closest lines, or of why there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest(String);

impl Nearest {
    /// Returns the description for a file that was not searched completely.
    pub fn unknown() -> Nearest {
        let shown = "The file is too large to search for similar text. \
                     Read the lines and copy the text exactly.";
        Nearest(shown.into())
    }

    /// Returns the description for a string that occurs, but not as a whole word.
    pub fn part_of_words() -> Nearest {
        Nearest("It occurs only as a part of longer words; whole_word excludes those.".into())
    }

    /// Returns the description for a string that an earlier edit of the same call replaced.
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

/// The kind of text that a wanted string is.
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
    /// Returns the name of its argument.
    pub fn argument(self) -> &'static str {
        match self {
            Meant::Text => "old_string",
            Meant::Lines => "old",
            Meant::Line => "anchor",
        }
    }
}

/// Finds the lines of `text` that are closest to `wanted`, or `None` if nothing is similar enough.
pub fn nearest(text: &str, wanted: &str, meant: Meant) -> Option<Nearest> {
    let is_cut = text.len() > MAX_SEARCHED;
    let text = &text[..text.floor_char_boundary(MAX_SEARCHED)];
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

/// Describes a string that would match without line numbers or escape sequences.
fn misquoted(text: &str, wanted: &str, meant: Meant) -> Option<String> {
    let unescaped = wanted.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    let readings = [
        (without_line_numbers(wanted), "includes line numbers, which are not in the file"),
        (Some(unescaped), "contains \\n, \\t or \\\" as escape sequences; send the characters"),
    ];
    for (reading, reason) in readings {
        let reading = reading.filter(|reading| !reading.trim().is_empty() && reading != wanted);
        if let Some(found) = reading.and_then(|reading| find(text, reading.as_str())) {
            let lines = line::range_of(text, &found.places[0]);
            return Some(format!("Closest: {lines}. {} {reason}.", meant.argument()));
        }
    }
    None
}

/// Removes `12\t`, `12→`, `12: ` or `12| ` from every line, if every line has one.
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

/// The position with the most votes.
struct Votes {
    /// The 0-based line where the wanted string would start.
    line_idx: usize,
    /// Another line with about as many votes.
    also: Option<usize>,
}

fn vote(text: &str, wanted: &[&str], meant: Meant) -> Option<Votes> {
    let table = Table::new(wanted);
    if table.voters.is_empty() {
        return None;
    }
    // The votes for each line as the start of the wanted string.
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
    // Lines after a missing or an extra line vote for the adjacent start.
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

/// Maps the hash of a trigram to a bit mask of the voters that contain it.
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
        // Long lines identify a position better than short ones.
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

    /// Returns the similarity of a line to each voter, from 0 to 1.
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
            // A fragment may be part of a much longer line.
            let contained = if is_fragment { 0.8 * hits / voter.n_trigrams as f32 } else { 0.0 };
            *similarity = shared.max(contained).min(1.0);
        }
        similarities
    }
}

/// Returns hashes of the trigrams of a line, with markers for its ends, ignoring blanks.
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

/// Whether a character is invisible.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || has_no_shape(c)
}

/// Maps look-alikes and upper case to one common character.
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
