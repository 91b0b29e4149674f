//! The line endings of new text.

use std::ops::Range;

use super::TextPart;
use crate::find::MatchKind;
use crate::line::{self, Ending};

/// The line endings around a match. Where a line has none, that of the nearest earlier line counts.
pub trait Near {
    /// Returns the last line ending before the match.
    fn before_start(&self) -> Option<Ending>;

    /// Returns the ending of the line in which the match starts.
    fn at_start(&self) -> Option<Ending>;

    /// Returns the ending of the line in which the match ends.
    fn at_end(&self) -> Option<Ending>;
}

/// A place in a text.
impl Near for (TextPart<'_>, &Range<usize>) {
    fn before_start(&self) -> Option<Ending> {
        self.0.ending_before(self.1.start)
    }

    fn at_start(&self) -> Option<Ending> {
        self.0.ending_at(self.1.start)
    }

    fn at_end(&self) -> Option<Ending> {
        self.0.ending_at(self.1.end)
    }
}

/// Returns `new` with the line endings that it gets when it replaces a match of `old`.
///
/// If `old` contains a line break and the match is exact, `new` is literal. If the match is
/// tolerant, the endings are decided line by line. If `old` contains no line break, every line break
/// takes the ending of the line in which the match starts.
pub fn of_replacement(near: &dyn Near, matched: &str, old: &str, new: &str) -> String {
    if !new.contains('\n') {
        return new.to_string();
    }
    if !old.contains('\n') {
        return with_ending(new, near.at_start());
    }
    match MatchKind::of(matched, old) {
        MatchKind::Exact => new.to_string(),
        MatchKind::Eol => by_line(near, matched, old, new),
    }
}

/// Returns a text with this ending for every line break, or unchanged if there is none.
pub fn with_ending(text: &str, ending: Option<Ending>) -> String {
    let Some(ending) = ending else { return text.to_string() };
    let folded = text.replace("\r\n", "\n");
    match ending {
        Ending::Lf => folded,
        Ending::CrLf => folded.replace('\n', ending.as_str()),
    }
}

/// Returns `new` with the endings of the lines that it replaces, which `old` matched with other
/// endings.
///
/// Leading and trailing lines that are equal in `old` and `new` keep their endings. Between them, the
/// k-th new line takes the ending of the k-th replaced line, and further ones that of the last. If
/// no line is replaced, they take the ending of the line before.
pub fn by_line(near: &dyn Near, matched: &str, old: &str, new: &str) -> String {
    let stored: Vec<&str> = line::lines(matched).collect();
    let old: Vec<&str> = line::lines(old).collect();
    let new: Vec<&str> = line::lines(new).collect();
    let is_same = |(one, other): &(&&str, &&str)| {
        one.ends_with('\n') == other.ends_with('\n')
            && line::without_ending(one) == line::without_ending(other)
    };
    let n_head = old.iter().zip(&new).take_while(is_same).count();
    let (old, rest) = (&old[n_head..], &new[n_head..]);
    let n_tail = old.iter().rev().zip(rest.iter().rev()).take_while(is_same).count();
    let replaced = &stored[n_head..stored.len() - n_tail];
    let of_stored = |line: &str| line::ending(line).or_else(|| near.at_end());
    let inherited = match (replaced.last(), n_head) {
        (Some(last), _) => of_stored(last),
        (None, 0) => near.before_start().or_else(|| near.at_start()),
        (None, n_head) => of_stored(stored[n_head - 1]),
    };
    let mut spelled = stored[..n_head].concat();
    for (index, line) in rest[..rest.len() - n_tail].iter().enumerate() {
        let ending = replaced.get(index).map_or(inherited, |line| of_stored(line));
        spelled.push_str(&with_ending(line, ending));
    }
    spelled + &stored[stored.len() - n_tail..].concat()
}
