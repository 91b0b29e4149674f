//! The path from a plan to a changed file, shared by every tool that edits.
//!
//! Holds the file, reads it, plans, writes once. The write detects a change by another process. The
//! call then fails if the caller named a version, and otherwise plans again.

use std::borrow::Cow;
use std::sync::Arc;

use recto_store::error::{Error as StoreError, Instead};
use recto_store::path::AbsPath;
use recto_store::{
    Excerpt, ExcerptSnapshot, FileContent, Hold, Note, Snapshot, Where, Whole, WriteError,
    WriteStore, Written,
};
use recto_text::diff::{ChangedLines, OldSide, Texts, UnifiedDiff, changes, unified};
use recto_text::document::Unencodable;
use recto_text::edits::Edits;
use recto_text::error::Error as TextError;
use recto_text::line::{self, LineRange};
use recto_text::plan::{Found, Plan, TextPart};
use recto_text::{Digest, Document};

use super::report::diff_bounds;
use super::{Arguments, FileChange, Param, ParamKind, WriteEnv};
use crate::error::{Error, Result};

/// The maximum number of attempts on a file that keeps changing.
const MAX_ATTEMPTS: usize = 10;

pub const ABSOLUTE_PATH: Param = Param::required("path", ParamKind::String, "Absolute path");

pub const PATH: Param = Param::required("path", ParamKind::String, "File path");

pub const HASH: Param = Param::required("hash", ParamKind::Hash, "From a read or edit");

pub const EXPECTED_HASH: Param =
    Param::optional("expected_hash", ParamKind::Hash, "hash from a read; detects changes");

pub const DRY_RUN: Param = Param::optional("dry_run", ParamKind::Boolean, "Only return the diff");

/// The file to change, and the conditions.
pub struct Target {
    pub path: AbsPath,
    pub expected: Option<Digest>,
    pub is_dry_run: bool,
}

/// Why an attempt to change a file failed.
pub enum Attempt<'a> {
    /// The store failed, or requests another attempt.
    Write(WriteError<'a>),
    /// The call is rejected.
    Rejected(Error),
}

impl<'a> From<WriteError<'a>> for Attempt<'a> {
    fn from(error: WriteError<'a>) -> Self {
        Attempt::Write(error)
    }
}

impl<E: Into<Error>> From<E> for Attempt<'_> {
    fn from(error: E) -> Self {
        Attempt::Rejected(error.into())
    }
}

impl Target {
    /// Parses the target of the edit toolset: an absolute path and an optional version.
    pub fn parse(env: &WriteEnv<'_>, arguments: &mut Arguments) -> Result<Target> {
        let is_dry_run = arguments.boolean("dry_run");
        let expected = arguments.hash("expected_hash");
        let path = AbsPath::parse_beside(arguments.string("path"), env.root)?;
        Ok(Target { path, expected, is_dry_run })
    }

    /// Parses the target of the text toolset: any path and a required version.
    pub fn parse_verified(env: &WriteEnv<'_>, arguments: &mut Arguments) -> Result<Target> {
        let expected = arguments.hash("hash");
        let path = AbsPath::resolve("path", arguments.string("path"), env.root)?;
        Ok(Target { path, expected, is_dry_run: false })
    }

    /// Rejects a version other than the one the caller named. `text` is the current content, if it
    /// is text.
    pub fn check_version(&self, env: &WriteEnv<'_>, now: Digest, text: Option<&str>) -> Result<()> {
        match self.expected.filter(|expected| *expected != now) {
            Some(expected) => Err(self.stale(env, expected, now, text)),
            None => Ok(()),
        }
    }

    /// Returns the error for a version other than the one the caller named.
    pub fn stale(
        &self,
        env: &WriteEnv<'_>,
        expected: Digest,
        now: Digest,
        text: Option<&str>,
    ) -> Error {
        let old = env.versions.get(expected);
        let changed = old.zip(text).map(|(old, text)| changed_lines(old.text(), text));
        let path = self.path.to_string();
        Error::Stale { path, expected, now, changed: changed.unwrap_or_default() }
    }

    /// Repeats `change` until the file is unchanged between read and write. If the caller named a
    /// version, the next attempt finds a different one and rejects the call.
    pub fn attempt<'a, T>(
        &self,
        env: &WriteEnv<'a>,
        mut change: impl FnMut(&'a dyn WriteStore) -> Result<T, Attempt<'a>>,
    ) -> Result<T> {
        let mut store = env.store;
        for _ in 0..MAX_ATTEMPTS {
            match change(store) {
                Ok(done) => return Ok(done),
                Err(Attempt::Write(WriteError::Conflict)) => {}
                Err(Attempt::Write(WriteError::Restart(other))) => store = other,
                Err(Attempt::Write(WriteError::Failed(error))) => return Err(error.into()),
                Err(Attempt::Rejected(error)) => return Err(error),
            }
        }
        Err(StoreError::Unstable { path: self.path.to_string() }.into())
    }

    /// Returns the diff between two documents in the same encoding, for an answer that lists `found`.
    pub fn diff(
        &self,
        env: &WriteEnv<'_>,
        old_side: OldSide,
        (before, after): (&Document, &Document),
        edits: &Edits,
        found: &[Found],
    ) -> UnifiedDiff {
        // Other programs see the BOM as a part of the first line.
        let n_bom = before.text_with_bom().len() - before.text().len();
        let edits = &*with_bom(edits, n_bom);
        let (before, after) = (before.text_with_bom(), after.text_with_bom());
        let texts = Texts { before, after, edits, lines_before: 0, is_whole_lines: true };
        let bounds = diff_bounds(env.delivery, found);
        unified(self.path.file_name(), old_side, &texts, bounds)
    }

    /// Returns the contract's error for text that the file's encoding cannot represent.
    pub fn not_encodable(&self, document: &Document, error: Unencodable) -> TextError {
        not_encodable(document.encoding().name(), &self.path, error)
    }
}

/// Returns the contract's error for text that an encoding cannot represent.
pub fn not_encodable(encoding: &'static str, path: &AbsPath, error: Unencodable) -> TextError {
    match error {
        Unencodable::Character(character) => TextError::NotEncodable { encoding, character },
        Unencodable::ReadsDifferently => {
            TextError::NotReadable { encoding, path: path.to_string() }
        }
    }
}

/// The result of an edit or of a dry run.
pub struct Edited {
    pub plan: Plan,
    pub diff: UnifiedDiff,
    /// The number of lines after the edit.
    pub total_lines: usize,
    /// The version after the edit.
    pub digest: Digest,
    pub is_unchanged: bool,
    pub written: Written,
    /// The change to the file, if it was written.
    pub change: Option<FileChange>,
}

/// Changes a file by a plan for its text, or for the part of it around `place`. `blame` may name the
/// part of the request that the encoding rejects.
pub fn edit<E: Into<Error>>(
    env: &WriteEnv<'_>,
    target: &Target,
    place: Where<'_>,
    plan: impl Fn(TextPart<'_>) -> Result<Plan, E>,
    blame: impl Fn(&Document, TextError) -> TextError,
) -> Result<Edited> {
    let edit = Edit { env, target, plan, blame };
    target.attempt(env, |store| {
        let held = store.hold(&target.path, env.context);
        let Hold::File(held) = held.map_err(|error| as_edit_error(target, error))? else {
            return Err(StoreError::FileNotFound { path: target.path.to_string() }.into());
        };
        let snapshot = held.snapshot(&place).map_err(|error| match error {
            WriteError::Failed(error) => WriteError::Failed(as_edit_error(target, error)),
            error => error,
        })?;
        match snapshot {
            Snapshot::Whole(file) => edit.whole(file),
            Snapshot::Excerpt(snapshot) => edit.excerpt(snapshot),
        }
    })
}

/// One call of a tool that edits.
struct Edit<'a, P, B> {
    env: &'a WriteEnv<'a>,
    target: &'a Target,
    plan: P,
    blame: B,
}

impl<E, P, B> Edit<'_, P, B>
where
    E: Into<Error>,
    P: Fn(TextPart<'_>) -> Result<Plan, E>,
    B: Fn(&Document, TextError) -> TextError,
{
    fn whole<'s>(&self, file: Whole<'s>) -> Result<Edited, Attempt<'s>> {
        let Edit { env, target, .. } = self;
        let before = match file.content() {
            FileContent::Text(document) => document.clone(),
            FileContent::Binary(bytes) => {
                let (path, hash) = (target.path.to_string(), Some(Digest::of(bytes)));
                return Err(StoreError::BinaryFile { verb: "edit", path, hash }.into());
            }
        };
        target.check_version(env, before.digest(), Some(before.text()))?;
        let (plan, after) = self.planned(before.text().into(), &before)?;
        let diff = target.diff(env, OldSide::File, (&before, &after), &plan.edits, &plan.found);
        let is_unchanged = before.bytes() == after.bytes();
        let mut written = Written::default();
        if !is_unchanged && !target.is_dry_run {
            written = file.replace(&after)?;
        }
        let after = Arc::new(content_after(env, &mut written, after));
        let digest = after.digest();
        if !target.is_dry_run {
            env.versions.remember(digest, &after);
        }
        let total_lines = line::count(after.text());
        let change = (!is_unchanged && !target.is_dry_run).then(|| FileChange {
            path: target.path.as_path().to_path_buf(),
            before: Some(before),
            after: Some(after),
        });
        Ok(Edited { plan, diff, total_lines, digest, is_unchanged, written, change })
    }

    /// Changes some lines of a file that is too large to load.
    fn excerpt<'s>(&self, snapshot: ExcerptSnapshot<'s>) -> Result<Edited, Attempt<'s>> {
        let Edit { env, target, .. } = self;
        let Excerpt { lines: before, lines_before, lines_after, is_cut, ending, .. } =
            snapshot.excerpt();
        let (lines_before, lines_after) = (*lines_before, *lines_after);
        let mut digest = snapshot.excerpt().digest;
        target.check_version(env, digest, None)?;
        let far = snapshot.excerpt().far.as_ref();
        let (text, is_cut, ending) = (before.text(), *is_cut, *ending);
        let part = TextPart { text, lines_before, lines_after, is_cut, ending, far };
        let (plan, after) = self.planned(part, before)?;
        let (old, new) = (before.text(), after.text());
        let diff = self.diff_of_excerpt(snapshot.excerpt(), new, &plan);
        let is_unchanged = old == new;
        let total_lines = lines_before + line::count(new) + lines_after;
        let mut written = Written::default();
        if !is_unchanged {
            digest = snapshot.digest_with(new)?;
            if !target.is_dry_run {
                written = snapshot.replace(new, digest)?;
            }
        }
        Ok(Edited { plan, diff, total_lines, digest, is_unchanged, written, change: None })
    }

    /// Returns the diff of an excerpt that `after` replaces.
    fn diff_of_excerpt(&self, excerpt: &Excerpt, after: &str, plan: &Plan) -> UnifiedDiff {
        let Edit { env, target, .. } = self;
        let &Excerpt { lines_before, is_cut, start, .. } = excerpt;
        let is_whole_lines = is_cut == [false; 2];
        // Bytes before the first line are a BOM, which other programs see as a part of that line.
        let bom = if is_whole_lines && lines_before == 0 && start > 0 { "\u{feff}" } else { "" };
        let [before, after] = [excerpt.lines.text(), after].map(|text| match bom {
            "" => Cow::Borrowed(text),
            bom => Cow::Owned(format!("{bom}{text}")),
        });
        let edits = &*with_bom(&plan.edits, bom.len());
        let texts = Texts { before: &before, after: &after, edits, lines_before, is_whole_lines };
        let bounds = diff_bounds(env.delivery, &plan.found);
        unified(target.path.file_name(), OldSide::File, &texts, bounds)
    }

    /// Returns the plan for a part of a file and the resulting text.
    fn planned(&self, part: TextPart<'_>, before: &Document) -> Result<(Plan, Document)> {
        let plan = (self.plan)(part).map_err(Into::into)?;
        self.env.context.cancel.check()?;
        let after = before.with_text(&plan.edits.apply(before.text()));
        let after = after
            .map_err(|error| (self.blame)(before, self.target.not_encodable(before, error)))?;
        Ok((plan, after))
    }
}

/// Returns the content of a file after a write, which an editor may have changed while saving.
pub fn content_after(env: &WriteEnv<'_>, written: &mut Written, after: Document) -> Document {
    match written.content_after.take().map(Document::parse) {
        Some(Ok(saved)) => {
            env.context.notes.add(Note::ChangedOnSave);
            saved
        }
        _ => after,
    }
}

/// Returns the same edits for a text with its BOM.
fn with_bom(edits: &Edits, n_bom: usize) -> Cow<'_, Edits> {
    match n_bom {
        0 => Cow::Borrowed(edits),
        _ => Cow::Owned(edits.moved(n_bom)),
    }
}

/// Returns the first few ranges of changed lines.
pub fn changed_lines(old: &str, new: &str) -> Vec<LineRange> {
    const MAX_SHOWN: usize = 8;
    let as_lines = |change: ChangedLines| LineRange {
        start: change.lines.start + 1,
        end: change.lines.end.max(change.lines.start + 1),
    };
    changes(old, new).into_iter().take(MAX_SHOWN).map(as_lines).collect()
}

/// Turns errors about directories into the errors of a tool that requires an existing file.
pub fn as_edit_error(target: &Target, error: StoreError) -> StoreError {
    match error {
        StoreError::IsDirectory { path } => StoreError::NotAFile { path, instead: Instead::Folder },
        StoreError::ParentNotFound { .. } => {
            StoreError::FileNotFound { path: target.path.to_string() }
        }
        error => error,
    }
}
