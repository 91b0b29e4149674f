//! Aligns wanted lines with lines of the file and classifies their differences.

use super::{Meant, fold, is_blank};

/// The kind of a difference, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    None,
    Whitespace,
    LookAlikes,
    Case,
    Words,
}

/// One step of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignStep<'a> {
    /// A line of the file and the wanted line aligned with it.
    Pair { line_idx: usize, file: &'a str, want: &'a str, difference: Difference },
    /// A line that only the file has.
    FileOnly { line_idx: usize, file: &'a str },
    /// A line that only the wanted string has.
    WantOnly { want: &'a str },
}

/// Aligns wanted lines with lines of the file at the lowest cost. Lines of the file before and after
/// them cost nothing. `first_line_idx` is the 0-based number of `file[0]`.
pub fn align<'a>(
    file: &[&'a str],
    wanted: &[&'a str],
    first_line_idx: usize,
    meant: Meant,
) -> Vec<AlignStep<'a>> {
    let (n_file, n_wanted) = (file.len(), wanted.len());
    let width = n_file + 1;
    // The lowest cost of aligning a number of wanted lines with a number of lines of the file.
    let mut costs = vec![0u32; (n_wanted + 1) * width];
    let pair = |want_idx: usize, file_idx: usize| {
        let is_text = meant == Meant::Text;
        let (is_first, is_last) = (want_idx == 0 && is_text, want_idx + 1 == n_wanted && is_text);
        let part = quoted_part(file[file_idx], wanted[want_idx], is_first, is_last);
        (part, difference(part, wanted[want_idx]))
    };
    for want_idx in 1..=n_wanted {
        for file_idx in 0..=n_file {
            let mut cost =
                costs[(want_idx - 1) * width + file_idx] + want_only(wanted[want_idx - 1]);
            if file_idx > 0 {
                let (part, difference) = pair(want_idx - 1, file_idx - 1);
                let pair_cost = cost_of(difference, part, wanted[want_idx - 1]);
                cost = cost.min(costs[(want_idx - 1) * width + file_idx - 1] + pair_cost);
                let skip = file_only(file[file_idx - 1], want_idx == n_wanted);
                cost = cost.min(costs[want_idx * width + file_idx - 1] + skip);
            }
            costs[want_idx * width + file_idx] = cost;
        }
    }

    let mut steps = Vec::new();
    let (mut want_idx, mut file_idx) = (n_wanted, n_file);
    while want_idx > 0 {
        let cost = costs[want_idx * width + file_idx];
        if file_idx > 0 {
            let (part, difference) = pair(want_idx - 1, file_idx - 1);
            let want = wanted[want_idx - 1];
            let line_idx = first_line_idx + file_idx - 1;
            let is_after_all = want_idx == n_wanted;
            let skip = file_only(file[file_idx - 1], is_after_all);
            if cost == costs[want_idx * width + file_idx - 1] + skip {
                if !is_after_all {
                    steps.push(AlignStep::FileOnly { line_idx, file: file[file_idx - 1] });
                }
                file_idx -= 1;
                continue;
            }
            if cost
                == costs[(want_idx - 1) * width + file_idx - 1] + cost_of(difference, part, want)
            {
                steps.push(AlignStep::Pair { line_idx, file: part, want, difference });
                (want_idx, file_idx) = (want_idx - 1, file_idx - 1);
                continue;
            }
        }
        steps.push(AlignStep::WantOnly { want: wanted[want_idx - 1] });
        want_idx -= 1;
    }
    steps.reverse();
    steps
}

/// A line that one side lacks costs as much as a very different line, a blank line slightly more than
/// a whitespace difference.
const GAP: u32 = 60;
const BLANK_GAP: u32 = 20;

/// Skipping a wanted line costs more than skipping a line of the file to find it later.
fn want_only(want: &str) -> u32 {
    if want.trim().is_empty() { BLANK_GAP } else { GAP + 1 }
}

fn file_only(file: &str, is_after_all: bool) -> u32 {
    match is_after_all {
        true => 0,
        false if file.trim().is_empty() => BLANK_GAP,
        false => GAP,
    }
}

fn cost_of(difference: Difference, file: &str, want: &str) -> u32 {
    match difference {
        Difference::None => 0,
        Difference::Whitespace | Difference::LookAlikes | Difference::Case => 10,
        Difference::Words => match differing_share(file, want) {
            share if share <= 0.5 => 20 + (50.0 * share) as u32,
            _ => 3 * GAP,
        },
    }
}

/// Returns the share of characters outside the common prefix and suffix, ignoring blanks. In edited
/// lines it is less than half.
fn differing_share(file: &str, want: &str) -> f32 {
    let solid = |text: &'_ str| text.chars().filter(|c| !is_blank(*c)).map(fold).collect();
    let (file, want): (Vec<char>, Vec<char>) = (solid(file), solid(want));
    let n_head = file.iter().zip(&want).take_while(|(a, b)| a == b).count();
    let n_tail = file.iter().rev().zip(want.iter().rev()).take_while(|(a, b)| a == b).count();
    let n_longer = file.len().max(want.len()).max(1);
    n_longer.saturating_sub(n_head + n_tail) as f32 / n_longer as f32
}

/// Classifies the difference between two lines. The wanted line may end early if it is the last line
/// of a text.
pub fn difference_behind(file: &str, want: &str, is_last: bool) -> Difference {
    difference(quoted_part(file, want, false, is_last), want)
}

fn difference(file: &str, want: &str) -> Difference {
    let is_same = |is_left_out: fn(char) -> bool, map: fn(char) -> char| {
        let solid = |text| str::chars(text).filter(|c| !is_left_out(*c)).map(map);
        solid(file).eq(solid(want))
    };
    if file == want {
        Difference::None
    } else if is_same(char::is_whitespace, |c| c) {
        Difference::Whitespace
    } else if is_same(is_blank, |c| if c.is_alphabetic() { c } else { fold(c) }) {
        Difference::LookAlikes
    } else if is_same(is_blank, fold) {
        Difference::Case
    } else {
        Difference::Words
    }
}

/// Returns the part of a line that corresponds to a wanted line: the first wanted line may start, and
/// the last one may end, in the middle of a line.
fn quoted_part<'a>(line: &'a str, want: &str, is_first: bool, is_last: bool) -> &'a str {
    if !is_first && !is_last {
        return line;
    }
    match solid_part(line, want, is_first, is_last) {
        Some(part) => part,
        None if is_first && is_last => resembling_part(line, want),
        None => line,
    }
}

/// The maximum number of characters of a line that are compared with a fragment.
const MAX_ALIGNED: usize = 200_000;

/// The maximum number of characters of a fragment that are compared.
const MAX_FRAGMENT: usize = 400;

/// Returns the part that differs from `want` only in whitespace, case or look-alikes.
fn solid_part<'a>(line: &'a str, want: &str, is_first: bool, is_last: bool) -> Option<&'a str> {
    let solid = |text: &str| -> Vec<(usize, char)> {
        let solid = text.char_indices().filter(|(_, c)| !is_blank(*c));
        solid.take(MAX_ALIGNED).map(|(at, c)| (at, fold(c))).collect()
    };
    let (file, wanted) = (solid(line), solid(want));
    let is_long_fragment = is_first && is_last && wanted.len() > MAX_FRAGMENT;
    if wanted.is_empty() || wanted.len() > file.len() || is_long_fragment {
        return None;
    }
    let matches = |at: &usize| file[*at..].iter().zip(&wanted).all(|(a, b)| a.1 == b.1);
    let last_start = file.len() - wanted.len();
    let found = match (is_first, is_last) {
        (true, true) => (0..=last_start).find(matches)?,
        (true, false) => Some(last_start).filter(matches)?,
        (false, _) => Some(0).filter(matches)?,
    };
    let mut start = if is_first { file[found].0 } else { 0 };
    let mut end = if is_last {
        file.get(found + wanted.len()).map_or(line.len(), |(at, _)| *at)
    } else {
        line.len()
    };
    // The part includes surrounding whitespace only if `want` has some.
    if is_first && want.starts_with(char::is_whitespace) {
        start = line[..start].trim_end().len();
    }
    if is_last && !want.ends_with(char::is_whitespace) {
        end = start + line[start..end].trim_end().len();
    }
    Some(&line[start..end])
}

/// Returns the part of a line at the offset where most character pairs of a fragment match.
fn resembling_part<'a>(line: &'a str, want: &str) -> &'a str {
    let file: Vec<char> = line.chars().take(MAX_ALIGNED).map(fold).collect();
    let wanted: Vec<char> = want.chars().take(MAX_FRAGMENT).map(fold).collect();
    let mut first_place = std::collections::HashMap::new();
    for (at, pair) in wanted.windows(2).enumerate() {
        first_place.entry([pair[0], pair[1]]).or_insert(at);
    }
    let mut votes = vec![0u32; file.len() + wanted.len() + 1];
    for (at, pair) in file.windows(2).enumerate() {
        if let Some(place) = first_place.get(&[pair[0], pair[1]]) {
            votes[at + wanted.len() - place] += 1;
        }
    }
    let best = (0..votes.len()).max_by_key(|index| (votes[*index], std::cmp::Reverse(*index)));
    let start = best.unwrap_or(0).saturating_sub(wanted.len());
    let end = (start + want.chars().count()).min(file.len());
    // Insertions and deletions shift the ends, so look nearby for the ends of the fragment.
    let by_distance = [0, -1, 1, -2, 2, -3, 3];
    let near = |place: usize, is_it: &dyn Fn(usize) -> bool| {
        let places = by_distance.iter().filter_map(|by| place.checked_add_signed(*by));
        places.into_iter().find(|place| is_it(*place)).unwrap_or(place)
    };
    let head = &wanted[..wanted.len().min(2)];
    let start = near(start, &|at| file.get(at..).is_some_and(|rest| rest.starts_with(head)));
    let is_whole = wanted.len() == want.chars().count();
    let tail = &wanted[wanted.len() - head.len()..];
    let is_end = |at: usize| file.get(start..at).is_some_and(|part| part.ends_with(tail));
    let end = if is_whole { near(end, &is_end) } else { end }.max(start);
    let place_of = |n: usize| line.char_indices().nth(n).map_or(line.len(), |(at, _)| at);
    &line[place_of(start)..place_of(end)]
}
