//! Exact strings that give way to others.

use crate::edits::Edits;
use crate::error::{Error, Result};
use crate::find::{MatchKind, find};
use crate::line;
use crate::nearest::nearest;
use crate::plan::Plan;

/// One string for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    old: String,
    new: String,
}

impl Replacement {
    /// Refuses an empty `old` and a `new` that is no change.
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
pub fn string(text: &str, replacement: &Replacement) -> Result<Plan> {
    let mut staged = Staged::new(text);
    staged.replace(replacement)?;
    Ok(staged.plan)
}

/// Plans replacements that apply one after another, all or none. Each searches the whole text, so
/// that many of them take long: `go_on` is asked before each and ends the plan with its error.
pub fn strings(
    text: &str,
    replacements: &[Replacement],
    go_on: impl Fn() -> Result<()>,
) -> Result<Plan> {
    let mut staged = Staged::new(text);
    for (index, replacement) in replacements.iter().enumerate() {
        go_on()?;
        if let Err(error) = staged.replace(replacement) {
            return Err(explain(text, replacements, index, error, go_on));
        }
    }
    Ok(staged.plan)
}

/// The text as the replacements so far leave it.
struct Staged {
    text: String,
    plan: Plan,
}

impl Staged {
    fn new(text: &str) -> Staged {
        let plan =
            Plan { edits: Edits::none(text), line_ranges: Vec::new(), kind: MatchKind::Exact };
        Staged { text: text.to_string(), plan }
    }

    fn replace(&mut self, replacement: &Replacement) -> Result<()> {
        let Replacement { old, new } = replacement;
        let Some(found) = find(&self.text, old) else {
            return Err(Error::StringNotFound {
                old_string: old.clone(),
                nearest: nearest(&self.text, old),
            });
        };
        if found.n_matches > 1 {
            let lines =
                found.places.iter().map(|place| line::range_of(&self.text, place).start).collect();
            return Err(Error::AmbiguousString {
                n_matches: found.n_matches,
                old_string: old.clone(),
                lines,
            });
        }
        let place = found.places[0].clone();
        let is_literal =
            new.contains("\r\n") || (old.contains('\n') && found.kind == MatchKind::Exact);
        let new = if is_literal || !new.contains('\n') {
            new.clone()
        } else {
            new.replace('\n', line::ending_at(&self.text, place.start).as_str())
        };
        self.plan.line_ranges.push(line::range_of(&self.text, &place));
        if found.kind == MatchKind::Eol {
            self.plan.kind = MatchKind::Eol;
        }
        self.plan.edits.then(place.clone(), &new);
        self.text.replace_range(place, &new);
        Ok(())
    }
}

/// Tells a string that an earlier edit took away from one that never stood there.
fn explain(
    text: &str,
    replacements: &[Replacement],
    index: usize,
    error: Error,
    go_on: impl Fn() -> Result<()>,
) -> Error {
    let old = &replacements[index].old;
    let never_stood = !matches!(error, Error::StringNotFound { .. }) || find(text, old).is_none();
    if !never_stood {
        let mut staged = Staged::new(text);
        for (prior_index, prior) in replacements[..index].iter().enumerate() {
            if let Err(error) = go_on() {
                return error;
            }
            if staged.replace(prior).is_err() {
                break;
            }
            if find(&staged.text, old).is_none() {
                if prior.old != *old {
                    return Error::ConflictingEdits { index, prior_index };
                }
                break;
            }
        }
    }
    Error::InEdit { index, source: Box::new(error) }
}

#[cfg(test)]
mod tests;
