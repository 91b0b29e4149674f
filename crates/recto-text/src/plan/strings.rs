//! Plans replacements of exact strings.

use std::ops::Range;

use crate::edits::Edits;
use crate::error::{Error, Result};
use crate::find::{MatchKind, Needle, find};
use crate::line::{self, LineRange};
use crate::nearest::{Meant, Nearest, nearest};
use crate::plan::{Plan, TextPart, endings, independent};

/// A string and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    old: String,
    new: String,
}

impl Replacement {
    /// Returns the string to replace.
    pub fn old(&self) -> &str {
        &self.old
    }

    /// Returns the string to find.
    pub fn needle(&self) -> Needle<'_> {
        self.old.as_str().into()
    }

    /// Returns the replacement.
    pub fn new_text(&self) -> &str {
        &self.new
    }

    /// Creates a replacement. Rejects an empty `old`, and a `new` that equals `old`.
    pub fn parse(old: String, new: String) -> Result<Replacement> {
        if old.is_empty() {
            return Err(Error::EmptyOldString);
        }
        if old == new {
            return Err(Error::IdenticalStrings);
        }
        Ok(Replacement { old, new })
    }
}

/// Plans one replacement.
pub fn string<'a>(part: impl Into<TextPart<'a>>, replacement: &Replacement) -> Result<Plan> {
    let part = part.into();
    if let Some((_, error)) = part.far {
        return Err(error.clone());
    }
    let mut staged = Staged::new(part);
    staged.replace(replacement)?;
    Ok(staged.plan)
}

/// Plans replacements that apply one after another, all or none. Each may search the whole text, so
/// `go_on` is called before each, and its error ends the plan.
pub fn strings<'a, E: From<Error>>(
    part: impl Into<TextPart<'a>>,
    replacements: &[Replacement],
    go_on: impl Fn() -> Result<(), E>,
) -> Result<Plan, E> {
    let part = part.into();
    match independent::plan(part, replacements) {
        Some(plan) if part.far.is_none() => Ok(plan),
        _ => one_by_one(part, replacements, go_on),
    }
}

pub(super) fn one_by_one<E: From<Error>>(
    part: TextPart<'_>,
    replacements: &[Replacement],
    go_on: impl Fn() -> Result<(), E>,
) -> Result<Plan, E> {
    let mut staged = Staged::new(part);
    for (index, replacement) in replacements.iter().enumerate() {
        go_on()?;
        if let Some((_, error)) = part.far.filter(|(far, _)| *far == index) {
            let error = match error {
                Error::TooFarApart { .. } => error.clone(),
                error => Error::InEdit { index, source: Box::new(error.clone()) },
            };
            return Err(error.into());
        }
        if let Err(error) = staged.replace(replacement) {
            return Err(explain(part, replacements, index, error, go_on)?.into());
        }
    }
    Ok(staged.plan)
}

/// The text with the replacements so far applied.
struct Staged<'a> {
    part: TextPart<'a>,
    text: String,
    plan: Plan,
}

impl<'a> Staged<'a> {
    fn new(part: TextPart<'a>) -> Staged<'a> {
        let edits = Edits::none(part.text);
        let plan = Plan { edits, line_ranges: Vec::new(), kind: MatchKind::Exact };
        Staged { part, text: part.text.to_string(), plan }
    }

    /// Returns the lines of a range, counted from the start of the whole text.
    fn lines(&self, place: &Range<usize>) -> LineRange {
        let LineRange { start, end } = line::range_of(&self.text, place);
        LineRange { start: start + self.part.lines_before, end: end + self.part.lines_before }
    }

    fn replace(&mut self, replacement: &Replacement) -> Result<()> {
        let Replacement { old, new } = replacement;
        let Some(found) = find(&self.text, old.as_str()) else {
            // The closest match in a part need not be the closest in the whole text.
            let nearest = match self.part.is_whole() {
                true => nearest(&self.text, old, Meant::Text),
                false => Some(Nearest::unknown()),
            };
            return Err(Error::StringNotFound { old_string: old.clone(), nearest });
        };
        if found.n_matches > 1 {
            let lines = found.places.iter().map(|place| self.lines(place).start).collect();
            return Err(Error::AmbiguousString {
                n_matches: found.n_matches,
                old_string: old.clone(),
                lines,
                n_lines: None,
            });
        }
        let place = found.places[0].clone();
        let staged = TextPart { text: &self.text, ..self.part };
        let kind = MatchKind::of(&self.text[place.clone()], old);
        let new = endings::of_replacement(staged, &place, old, new);
        let lines = self.lines(&place);
        self.plan.line_ranges.push(lines);
        self.plan.kind = self.plan.kind.max(kind);
        self.plan.edits.then(place.clone(), &new);
        self.text.replace_range(place, &new);
        Ok(())
    }
}

/// Distinguishes a string that an earlier edit removed from one that never occurred.
fn explain<E>(
    part: TextPart<'_>,
    replacements: &[Replacement],
    index: usize,
    error: Error,
    go_on: impl Fn() -> Result<(), E>,
) -> Result<Error, E> {
    let old = &replacements[index].old;
    let never_occurred =
        !matches!(error, Error::StringNotFound { .. }) || find(part.text, old.as_str()).is_none();
    if !never_occurred {
        let mut staged = Staged::new(part);
        for (prior_index, prior) in replacements[..index].iter().enumerate() {
            go_on()?;
            if staged.replace(prior).is_err() {
                break;
            }
            if find(&staged.text, old.as_str()).is_none() {
                if prior.old != *old {
                    return Ok(Error::ConflictingEdits { index, prior_index });
                }
                let nearest = Some(Nearest::replaced_by(prior_index));
                let error = Error::StringNotFound { old_string: old.clone(), nearest };
                return Ok(Error::InEdit { index, source: Box::new(error) });
            }
        }
    }
    Ok(Error::InEdit { index, source: Box::new(error) })
}

#[cfg(test)]
mod tests;
