//! Plans replacements of exact strings.

use crate::error::{Error, Result};
use crate::find::{MAX_PLACES, MatchKind, Needle};
use crate::line;
use crate::nearest::{Meant, Nearest, nearest};
use crate::plan::staged::{Place, Staged};
use crate::plan::{Found, Plan, TextPart, endings};

/// How many places of one string can be replaced at once.
pub const MAX_REPLACED: usize = 1_000_000;

/// How often new text exists while a file is changed: in the plan, as the text with it, encoded, and
/// compared.
const COPIES: usize = 4;

/// The memory of one replaced place, apart from its text.
const PLACE_BYTES: usize = 160;

/// What a plan adds to the original text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Growth {
    /// How many bytes the text gains.
    pub n_added: usize,
    /// How many places are replaced.
    pub n_places: usize,
}

impl Growth {
    /// Returns about how much memory the change needs beyond that for the original text.
    pub fn n_memory(self) -> usize {
        let n_places = self.n_places.saturating_mul(PLACE_BYTES);
        self.n_added.saturating_mul(COPIES).saturating_add(n_places)
    }
}

/// A string and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    old: String,
    new: String,
    replaces_all: bool,
    is_whole_word: bool,
    is_optional: bool,
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
        let (replaces_all, is_whole_word, is_optional) = (false, false, false);
        Ok(Replacement { old, new, replaces_all, is_whole_word, is_optional })
    }

    /// Replaces every occurrence that does not overlap an earlier one.
    pub fn everywhere(self, replaces_all: bool) -> Replacement {
        Replacement { replaces_all, ..self }
    }

    /// Matches only where no word continues before or after the string.
    pub fn whole_words(self, is_whole_word: bool) -> Replacement {
        Replacement { is_whole_word, ..self }
    }

    /// Is left out among others if the string does not occur, also not in the original text.
    pub fn optional(self) -> Replacement {
        Replacement { is_optional: true, ..self }
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

/// Plans one replacement. `may_grow` is called before it is applied, and its error ends the plan.
pub fn string<'a, E: From<Error>>(
    part: impl Into<TextPart<'a>>,
    replacement: &Replacement,
    may_grow: impl Fn(Growth) -> Result<(), E>,
) -> Result<Plan, E> {
    let mut plan = Planned::new(part.into(), std::slice::from_ref(replacement));
    if let Some((_, error)) = plan.part.far {
        return Err(error.clone().into());
    }
    let places = plan.places(replacement).map_err(|miss| plan.describe(replacement, &miss))?;
    may_grow(plan.growth_with(replacement, &places))?;
    plan.replace(replacement, &places);
    Ok(plan.finish())
}

/// Plans replacements that apply one after another, all or none, except optional ones. Each may search the whole text and
/// add to it, so `may_grow` is called before each search and each replacement, and its error ends the
/// plan.
///
/// If some are rejected, the others are tried on the text without them, to report all of them, while
/// `has_time`. It is called first when one is rejected.
pub fn strings<'a, E: From<Error>>(
    part: impl Into<TextPart<'a>>,
    replacements: &[Replacement],
    may_grow: impl Fn(Growth) -> Result<(), E>,
    has_time: impl Fn() -> bool,
) -> Result<Plan, E> {
    let part = part.into();
    let mut plan = Planned::new(part, replacements);
    let (mut failures, mut failed) = (Vec::new(), Vec::new());
    let mut n_tried = 0;
    for (index, replacement) in replacements.iter().enumerate() {
        may_grow(plan.growth())?;
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
        match plan.places(replacement) {
            Ok(places) => {
                may_grow(plan.growth_with(replacement, &places))?;
                plan.replace(replacement, &places);
            }
            Err(Miss::NotFound) if replacement.is_optional && !occurs(part, replacement) => {}
            Err(miss) => {
                if failed.is_empty() {
                    has_time();
                }
                if failures.len() < Error::MAX_DESCRIBED {
                    let prior = Prior { replacements, failed: &failed };
                    failures.push(prior.explain(&plan, index, &miss, &may_grow));
                }
                failed.push(index);
            }
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
    n_places: usize,
    /// The length of the text, at most.
    n_bytes: usize,
}

/// Why a string was not replaced.
enum Miss {
    NotFound,
    /// It occurs this often.
    Ambiguous(usize),
    /// It occurs more often than can be replaced at once.
    TooMany,
}

impl<'a> Planned<'a> {
    fn new(part: TextPart<'a>, replacements: &[Replacement]) -> Planned<'a> {
        let text = Staged::new(part, replacements.iter().map(Replacement::needle));
        let n_bytes = part.text.len();
        Planned { part, text, found: Vec::new(), kind: MatchKind::Exact, n_places: 0, n_bytes }
    }

    fn finish(self) -> Plan {
        Plan { edits: self.text.into_edits(), found: self.found, kind: self.kind }
    }

    /// Returns the places that a replacement replaces.
    fn places(&self, replacement: &Replacement) -> Result<Vec<Place>, Miss> {
        let mut places = Vec::new();
        if replacement.replaces_all {
            let found = self.text.find_all(replacement.needle(), MAX_REPLACED);
            places = found.ok_or(Miss::TooMany)?;
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
        if places.is_empty() { Err(Miss::NotFound) } else { Ok(places) }
    }

    /// Replaces the places of a replacement.
    fn replace(&mut self, replacement: &Replacement, places: &[Place]) {
        let Replacement { old, new, replaces_all, .. } = replacement;
        self.n_places += places.len();
        self.n_bytes = self.n_bytes_with(replacement, places);
        self.found.push(Found::new(&self.text.lines(places), *replaces_all));
        let mut kind = self.kind;
        self.text.replace(places, |near, matched| {
            kind = kind.max(MatchKind::of(matched, old));
            endings::of_replacement(near, matched, old, new)
        });
        self.kind = kind;
    }

    /// Returns the growth so far.
    fn growth(&self) -> Growth {
        self.growth_to(self.n_bytes, self.n_places)
    }

    /// Returns the growth after a replacement.
    fn growth_with(&self, replacement: &Replacement, places: &[Place]) -> Growth {
        let n_bytes = self.n_bytes_with(replacement, places);
        self.growth_to(n_bytes, self.n_places + places.len())
    }

    fn growth_to(&self, n_bytes: usize, n_places: usize) -> Growth {
        Growth { n_added: n_bytes.saturating_sub(self.part.text.len()), n_places }
    }

    /// Returns the length of the text after a replacement, at most: each line break of the new text
    /// may become two bytes.
    fn n_bytes_with(&self, replacement: &Replacement, places: &[Place]) -> usize {
        let n_old: usize = places.iter().map(Place::n_bytes).sum();
        let n_new = replacement.new.len() + line::n_endings(&replacement.new);
        (self.n_bytes - n_old).saturating_add(n_new.saturating_mul(places.len()))
    }

    /// Returns the error for a string that was not replaced, with the evidence.
    fn describe(&self, replacement: &Replacement, miss: &Miss) -> Error {
        let old_string = replacement.old.clone();
        match miss {
            Miss::TooMany => Error::TooManyToReplace { old_string },
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

/// Whether the string of a replacement occurs in a text before any edit.
fn occurs(part: TextPart<'_>, replacement: &Replacement) -> bool {
    let original = Staged::new(part, [replacement.needle()].into_iter());
    original.contains(replacement.needle())
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
        may_grow: impl Fn(Growth) -> Result<(), E>,
    ) -> Error {
        let replacement = &self.replacements[index];
        let in_edit = |source: Error| Error::InEdit { index, source: Box::new(source) };
        if matches!(miss, Miss::NotFound) && index > 0 && occurs(plan.part, replacement) {
            let mut text = Planned::new(plan.part, self.replacements);
            for (prior_index, prior) in self.replacements[..index].iter().enumerate() {
                if self.failed.binary_search(&prior_index).is_ok() {
                    continue;
                }
                let Ok(places) = text.places(prior) else { break };
                // A second text that is as large.
                let Growth { n_added, n_places } = plan.growth();
                let twice = Growth { n_added: 2 * n_added, n_places: 2 * n_places };
                if may_grow(twice).is_err() {
                    break;
                }
                text.replace(prior, &places);
                if !text.text.contains(replacement.needle()) {
                    if prior.old != replacement.old {
                        return Error::ConflictingEdits { index, prior_index };
                    }
                    return in_edit(Error::StringNotFound {
                        old_string: replacement.old.clone(),
                        nearest: Some(Nearest::replaced_by(prior_index)),
                    });
                }
            }
        }
        in_edit(plan.describe(replacement, miss))
    }
}

#[cfg(test)]
mod tests;
