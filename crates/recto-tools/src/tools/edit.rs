//! The one way from a plan to a changed file, shared by every tool that edits.
//!
//! Holds the file, reads it, plans, writes once. What others change in between is noticed at the
//! write: a caller that named a version is told, for one that did not the plan is made again.

use std::sync::Arc;

use recto_text::diff::{ChangedLines, OldSide, changes, unified, unified_part};
use recto_text::document::Unencodable;
use recto_text::edits::Edits;
use recto_text::error::Instead;
use recto_text::line::{self, LineRange};
use recto_text::plan::{Part, Plan};
use recto_text::{Digest, Document, Error, Result};

use super::{Arguments, Change, Context, Kind, Param};
use recto_store::path::AbsPath;
use recto_store::{Excerpt, Held, Purpose, Where, WriteError, Written};

/// How often a plan is made again for a file that keeps moving.
const MAX_ATTEMPTS: usize = 10;

pub const ABSOLUTE_PATH: Param = Param::required("path", Kind::String, "Absolute path");

pub const PATH: Param = Param::required("path", Kind::String, "The file");

pub const HASH: Param = Param::required("hash", Kind::Hash, "From the last read or change");

pub const EXPECTED_HASH: Param = Param::optional(
    "expected_hash",
    Kind::Hash,
    "hash of an earlier read; refused if the file changed",
);

pub const DRY_RUN: Param =
    Param::optional("dry_run", Kind::Boolean, "Show the diff, change nothing");

/// Which file to change, and on what conditions.
pub struct Target {
    pub path: AbsPath,
    pub expected: Option<Digest>,
    pub is_dry_run: bool,
}

impl Target {
    /// The target of the edit toolset: an absolute path, the version if the caller likes.
    pub fn parse(context: &Context<'_>, arguments: &mut Arguments) -> Result<Target> {
        let is_dry_run = arguments.boolean("dry_run");
        let expected = arguments.hash("expected_hash");
        let path = AbsPath::parse_beside(arguments.string("path"), context.root)?;
        Ok(Target { path, expected, is_dry_run })
    }

    /// The target of the text toolset: any path, and always the version.
    pub fn parse_verified(context: &Context<'_>, arguments: &mut Arguments) -> Result<Target> {
        let expected = arguments.hash("hash");
        let path = AbsPath::resolve("path", arguments.string("path"), context.root)?;
        Ok(Target { path, expected, is_dry_run: false })
    }

    /// Refuses a version other than the one the caller named. `text` is what stands there now,
    /// if it is text.
    pub fn check_version(
        &self,
        context: &Context<'_>,
        now: Digest,
        text: Option<&str>,
    ) -> Result<()> {
        match self.expected.filter(|expected| *expected != now) {
            Some(expected) => Err(self.stale(context, expected, now, text)),
            None => Ok(()),
        }
    }

    /// The contract's error for a version other than the one the caller named.
    pub fn stale(
        &self,
        context: &Context<'_>,
        expected: Digest,
        now: Digest,
        text: Option<&str>,
    ) -> Error {
        let old = context.versions.get(expected);
        let changed = old.zip(text).map(|(old, text)| changed_lines(old.text(), text));
        let path = self.path.to_string();
        Error::Stale { path, expected, now, changed: changed.unwrap_or_default() }
    }

    /// Tries until the file holds still; what moved under a named version is stale.
    pub fn attempt<T>(&self, mut change: impl FnMut() -> Result<T, WriteError>) -> Result<T> {
        for _ in 0..MAX_ATTEMPTS {
            match change() {
                Ok(done) => return Ok(done),
                // With a named version the next attempt finds the other one and says so.
                Err(WriteError::Moved) => {}
                Err(WriteError::Failed(error)) => return Err(error),
            }
        }
        Err(Error::Unstable { path: self.path.to_string() })
    }

    /// The diff, or `None` where it is too large to show.
    pub fn diff(
        &self,
        old_side: OldSide,
        before: &str,
        after: &str,
        edits: &Edits,
    ) -> Option<String> {
        unified(self.path.file_name(), old_side, before, after, edits)
    }

    /// The contract's error for text that a file cannot hold.
    pub fn not_encodable(&self, document: &Document, error: Unencodable) -> Error {
        not_encodable(document.encoding().name(), &self.path, error)
    }
}

/// The contract's error for text that a file in some encoding cannot hold.
pub fn not_encodable(encoding: &'static str, path: &AbsPath, error: Unencodable) -> Error {
    match error {
        Unencodable::Character(character) => Error::NotEncodable { encoding, character },
        Unencodable::ReadsDifferently => Error::NotReadable { encoding, path: path.to_string() },
    }
}

/// What an edit did, or would do.
pub struct Edited {
    pub plan: Plan,
    /// `None` where it is too large to show.
    pub diff: Option<String>,
    /// How many lines the file has after the edit.
    pub total_lines: usize,
    /// Its version.
    pub digest: Digest,
    pub is_unchanged: bool,
    pub written: Written,
    /// What became of the file, where something did.
    pub change: Option<Change>,
}

/// Changes a file by a plan that is made for its text, or for the part of it around `place`.
/// `blame` may say which part of the request an encoding refuses.
pub fn edit(
    context: &Context<'_>,
    target: &Target,
    place: Where<'_>,
    plan: impl Fn(Part<'_>) -> Result<Plan>,
    blame: impl Fn(&Document, Error) -> Error,
) -> Result<Edited> {
    target.attempt(|| {
        let mut held = context
            .store
            .hold(&target.path, Purpose::Change, context.caller)
            .map_err(|error| as_edit_error(target, error))?;
        let excerpt = held.excerpt(&place).map_err(|error| as_edit_error(target, error))?;
        // A line may start with what would be a BOM at the start of a file.
        let lines = excerpt.and_then(|excerpt| Some((Document::new(&excerpt.text).ok()?, excerpt)));
        match lines {
            Some(lines) => edit_excerpt(context, target, &mut *held, lines, &plan, &blame),
            None => edit_whole(context, target, &mut *held, &plan, &blame),
        }
    })
}

fn edit_whole(
    context: &Context<'_>,
    target: &Target,
    held: &mut dyn Held,
    plan: impl Fn(Part<'_>) -> Result<Plan>,
    blame: impl Fn(&Document, Error) -> Error,
) -> Result<Edited, WriteError> {
    let Some(bytes) = held.read().map_err(|error| as_edit_error(target, error))? else {
        return Err(Error::FileNotFound { path: target.path.to_string() }.into());
    };
    let before = Document::parse(bytes).map_err(|bytes| Error::BinaryFile {
        verb: "edit",
        path: target.path.to_string(),
        hash: Some(Digest::of(&bytes)),
    })?;
    target.check_version(context, before.digest(), Some(before.text()))?;
    let plan = plan(before.text().into())?;
    context.caller.cancel.check()?;
    let after = before
        .with_text(&plan.edits.apply(before.text()))
        .map_err(|error| blame(&before, target.not_encodable(&before, error)))?;
    let diff = target.diff(OldSide::File, before.text(), after.text(), &plan.edits);
    let is_unchanged = before.bytes() == after.bytes();
    let mut written = Written::default();
    if !is_unchanged && !target.is_dry_run {
        written = held.replace(before.bytes(), after.bytes())?;
    }
    let after = stands(context, &mut written, after);
    let digest = after.digest();
    let after = Arc::new(after);
    if !target.is_dry_run {
        context.versions.remember(digest, &after);
    }
    let change = (!is_unchanged && !target.is_dry_run).then(|| Change {
        path: target.path.as_path().to_path_buf(),
        before: Some(Arc::new(before)),
        after: Some(after.clone()),
    });
    let total_lines = line::count(after.text());
    Ok(Edited { plan, diff, total_lines, digest, is_unchanged, written, change })
}

/// Changes some lines of a file that is too large to be held.
fn edit_excerpt(
    context: &Context<'_>,
    target: &Target,
    held: &mut dyn Held,
    (before, excerpt): (Document, Excerpt),
    plan: impl Fn(Part<'_>) -> Result<Plan>,
    blame: impl Fn(&Document, Error) -> Error,
) -> Result<Edited, WriteError> {
    target.check_version(context, excerpt.digest, None)?;
    let Excerpt { lines_before, lines_after, .. } = excerpt;
    let far = excerpt.far.as_ref();
    let plan = plan(Part { text: before.text(), lines_before, lines_after, far })?;
    context.caller.cancel.check()?;
    let after = before
        .with_text(&plan.edits.apply(before.text()))
        .map_err(|error| blame(&before, target.not_encodable(&before, error)))?;
    let name = target.path.file_name();
    let (old, new) = (before.text(), after.text());
    let diff = excerpt
        .is_whole_lines
        .then(|| unified_part(name, OldSide::File, old, new, &plan.edits, lines_before))
        .flatten();
    let is_unchanged = before.text() == after.text();
    let (mut digest, mut written) = (excerpt.digest, Written::default());
    if !is_unchanged {
        digest = held.digest_with(&excerpt, after.text())?;
        if !target.is_dry_run {
            written = held.replace_excerpt(&excerpt, after.text(), digest)?;
        }
    }
    let total_lines = lines_before + line::count(after.text()) + lines_after;
    Ok(Edited { plan, diff, total_lines, digest, is_unchanged, written, change: None })
}

/// What a file holds after a write, which an editor may have changed again.
pub fn stands(context: &Context<'_>, written: &mut Written, after: Document) -> Document {
    match written.stands.take().map(Document::parse) {
        Some(Ok(stands)) => {
            context.caller.remarks.add("the editor changed the text while saving it");
            stands
        }
        _ => after,
    }
}

/// Which lines are other lines now, the first few.
fn changed_lines(old: &str, new: &str) -> Vec<LineRange> {
    const MAX_SHOWN: usize = 8;
    let as_lines = |change: ChangedLines| LineRange {
        start: change.lines.start + 1,
        end: change.lines.end.max(change.lines.start + 1),
    };
    changes(old, new).into_iter().take(MAX_SHOWN).map(as_lines).collect()
}

/// A change needs a file: a folder is none, and where the folder is missing so is the file.
pub fn as_edit_error(target: &Target, error: Error) -> Error {
    match error {
        Error::IsDirectory { path } => Error::NotAFile { path, instead: Instead::Folder },
        Error::ParentNotFound { .. } => Error::FileNotFound { path: target.path.to_string() },
        error => error,
    }
}
