//! Plans replacements of exact strings.

use crate::error::{Error, Result};
use crate::find::{MAX_PLACES, MatchKind, Needle};
use crate::nearest::{Meant, Nearest, nearest};
use crate::plan::staged::Staged;
use crate::plan::{Found, Plan, TextPart, endings};

/// A string and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    old: String,
    new: String,
    replaces_all: bool,
    is_whole_word: bool,
}

impl Replacement {
    /// Creates a replacement of a string that must occur once. Rejects an empty `old`, and a `new`
    /// that equals `old`.
    pub fn parse(old: String, new: String) -> Result<Replacement> {
        if old.is_empty() {
            return Err(Error::EmptyOldString);
        }
        if old == new {
            return Err(Error::IdenticalStrings);
        }
        Ok(Replacement { old, new, replaces_all: false, is_whole_word: false })
    }

    /// Replaces every occurrence that does not overlap an earlier one.
    pub fn everywhere(self, replaces_all: bool) -> Replacement {
        Replacement { replaces_all, ..self }
    }

    /// Matches only where no word continues before or after the string.
    pub fn whole_words(self, is_whole_word: bool) -> Replacement {
        Replacement { is_whole_word, ..self }
    }

    /// Returns the string to find.
    pub fn needle(&self) -> Needle<'_> {
        Needle { string: &self.old, is_whole_word: self.is_whole_word }
    }

    /// Returns the replacement.
    pub fn new_text(&self) -> &str {
        &self.new
    }

    /// Whether every occurrence is replaced.
    pub fn replaces_all(&self) -> bool {
        self.replaces_all
    }
}

/// Plans one replacement.
pub fn string<'a>(part: impl Into<TextPart<'a>>, replacement: &Replacement) -> Result<Plan> {
    let mut plan = Planned::new(part.into(), std::slice::from_ref(replacement));
    if let Some((_, error)) = plan.part.far {
        return Err(error.clone());
    }
    plan.replace(replacement).map_err(|miss| plan.describe(replacement, &miss))?;
    Ok(plan.finish())
}

/// Plans replacements that apply one after another, all or none. Each may search the whole text, so
/// `go_on` is called before each, and its error ends the plan.
///
/// If some are rejected, the others are tried on the text without them, to report all of them, while
/// `has_time`. It is called first when one is rejected.
pub fn strings<'a, E: From<Error>>(
    part: impl Into<TextPart<'a>>,
    replacements: &[Replacement],
    go_on: impl Fn() -> Result<(), E>,
    has_time: impl Fn() -> bool,
) -> Result<Plan, E> {
    let part = part.into();
    let mut plan = Planned::new(part, replacements);
    let (mut failures, mut failed) = (Vec::new(), Vec::new());
    let mut n_tried = 0;
    for (index, replacement) in replacements.iter().enumerate() {
        go_on()?;
        if !failed.is_empty() && !has_time() {
            break;
        }
        n_tried += 1;
        if let Some((_, error)) = part.far.filter(|(far, _)| *far == index) {
            failures.push(match error {
                Error::TooFarApart { .. } => error.clone(),
                error => Error::InEdit { index, source: Box::new(error.clone()) },
            });
            failed.push(index);
            // The part need not contain the later strings.
            break;
        }
        if let Err(miss) = plan.replace(replacement) {
            if failed.is_empty() {
                has_time();
            }
            if failures.len() < Error::MAX_DESCRIBED {
                let prior = Prior { replacements, failed: &failed };
                failures.push(prior.explain(&plan, index, &miss, &go_on)?);
            }
            failed.push(index);
        }
    }
    let n_undescribed = failed.len() - failures.len();
    match Error::several(failures, n_undescribed, replacements.len() - n_tried) {
        Some(error) => Err(error.into()),
        None => Ok(plan.finish()),
    }
}

/// The text with the replacements so far applied, and their places.
struct Planned<'a> {
    part: TextPart<'a>,
    text: Staged<'a>,
    found: Vec<Found>,
    kind: MatchKind,
}

/// Why a string was not replaced.
enum Miss {
    NotFound,
    /// It occurs this often.
    Ambiguous(usize),
}

impl<'a> Planned<'a> {
    fn new(part: TextPart<'a>, replacements: &[Replacement]) -> Planned<'a> {
        let text = Staged::new(part, replacements.iter().map(Replacement::needle));
        Planned { part, text, found: Vec::new(), kind: MatchKind::Exact }
    }

    fn finish(self) -> Plan {
        Plan { edits: self.text.into_edits(), found: self.found, kind: self.kind }
    }

    fn replace(&mut self, replacement: &Replacement) -> Result<(), Miss> {
        let Replacement { old, new, replaces_all, .. } = replacement;
        let mut places = Vec::new();
        if *replaces_all {
            places = self.text.find_all(replacement.needle());
        } else {
            let mut n_matches = 0;
            self.text.for_each(replacement.needle(), |place| {
                n_matches += 1;
                if n_matches == 1 {
                    places.push(place);
                }
            });
            if n_matches > 1 {
                return Err(Miss::Ambiguous(n_matches));
            }
        }
        if places.is_empty() {
            return Err(Miss::NotFound);
        }
        self.found.push(Found::new(&self.text.lines(&places), *replaces_all));
        let mut kind = self.kind;
        self.text.replace(places, |near, matched| {
            kind = kind.max(MatchKind::of(matched, old));
            endings::of_replacement(near, matched, old, new)
        });
        self.kind = kind;
        Ok(())
    }

    /// Returns the error for a string that was not replaced, with the evidence.
    fn describe(&self, replacement: &Replacement, miss: &Miss) -> Error {
        let old_string = replacement.old.clone();
        match miss {
            Miss::Ambiguous(n_matches) => {
                let mut places = Vec::new();
                self.text.for_each(replacement.needle(), |place| {
                    if places.len() < MAX_PLACES {
                        places.push(place);
                    }
                });
                let lines = self.text.lines(&places);
                let places = places.iter().zip(lines);
                let places =
                    places.map(|(place, lines)| self.text.occurrence(place, lines.start)).collect();
                Error::AmbiguousString { n_matches: *n_matches, old_string, places, n_lines: None }
            }
            Miss::NotFound => {
                // The closest match in a part need not be the closest in the whole text.
                let nearest = match self.part.is_whole() {
                    _ if replacement.is_whole_word
                        && self.text.contains(old_string.as_str().into()) =>
                    {
                        Some(Nearest::part_of_words())
                    }
                    true => nearest(&self.text.whole(), &old_string, Meant::Text),
                    false => Some(Nearest::unknown()),
                };
                Error::StringNotFound { old_string, nearest }
            }
        }
    }
}

/// The edits of a call, and those that were rejected.
struct Prior<'a> {
    replacements: &'a [Replacement],
    failed: &'a [usize],
}

impl Prior<'_> {
    /// Returns the error for a rejected edit. Distinguishes a string that an earlier edit removed
    /// from one that never occurred.
    fn explain<E>(
        &self,
        plan: &Planned<'_>,
        index: usize,
        miss: &Miss,
        go_on: impl Fn() -> Result<(), E>,
    ) -> Result<Error, E> {
        let replacement = &self.replacements[index];
        let in_edit = |source: Error| Error::InEdit { index, source: Box::new(source) };
        let original = || Staged::new(plan.part, [replacement.needle()].into_iter());
        let occurred = || original().contains(replacement.needle());
        if matches!(miss, Miss::NotFound) && index > 0 && occurred() {
            let mut text = Planned::new(plan.part, self.replacements);
            for (prior_index, prior) in self.replacements[..index].iter().enumerate() {
                if self.failed.binary_search(&prior_index).is_ok() {
                    continue;
                }
                go_on()?;
                if text.replace(prior).is_err() {
                    break;
                }
                if !text.text.contains(replacement.needle()) {
                    if prior.old != replacement.old {
                        return Ok(Error::ConflictingEdits { index, prior_index });
                    }
                    return Ok(in_edit(Error::StringNotFound {
                        old_string: replacement.old.clone(),
                        nearest: Some(Nearest::replaced_by(prior_index)),
                    }));
                }
            }
        }
        Ok(in_edit(plan.describe(replacement, miss)))
    }
}

#[cfg(test)]
mod tests;
