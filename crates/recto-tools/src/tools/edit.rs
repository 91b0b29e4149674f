//! The path from a plan to a changed file, shared by every tool that edits.
//!
//! Holds the file, reads it, plans, writes once. The write detects a change by another process. The
//! call then fails if the caller named a version, and otherwise plans again.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use recto_store::error::{Denial, Error as StoreError, Instead};
use recto_store::memory_budget::Unavailable;
use recto_store::path::AbsPath;
use recto_store::preview::PreviewStore;
use recto_store::{
    Excerpt, ExcerptSnapshot, FileContent, Hold, Note, Snapshot, Where, Whole, WriteError,
    WriteStore, Written,
};
use recto_text::diff::{Bounds, ChangedLines, OldSide, Texts, UnifiedDiff, changes, unified};
use recto_text::document::Unencodable;
use recto_text::edits::Edits;
use recto_text::error::Error as TextError;
use recto_text::line::{self, LineRange};
use recto_text::plan::{Found, Growth, Plan, TextPart};
use recto_text::{Digest, Document, Tag};

use super::report::diff_bounds;
use serde_json::{Map, Value};

use super::{Arguments, FileChange, Param, ParamKind, WriteEnv};
use crate::error::{Error, Result};

/// The maximum number of attempts on a file that keeps changing.
pub const MAX_ATTEMPTS: usize = 10;

pub const ABSOLUTE_PATH: Param = Param::required("path", ParamKind::String, "Absolute path");

pub const PATH: Param = Param::required("path", ParamKind::String, "File");

pub const HASH: Param = Param::required("hash", ParamKind::Hash, "From a read or edit");

pub const EXPECTED_HASH: Param =
    Param::optional("expected_hash", ParamKind::Hash, "From a read; detects changes");

pub const DRY_RUN: Param = Param::optional("dry_run", ParamKind::Boolean, "Only return the diff");

/// The file to change, and the conditions.
pub struct Target {
    pub path: AbsPath,
    pub expected: Option<Tag>,
    /// The name of the argument that `expected` is from.
    hash_name: &'static str,
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
        let hash_name = EXPECTED_HASH.name;
        let expected = arguments.hash(hash_name);
        let path = AbsPath::parse_beside(arguments.string("path"), env.root)?;
        Ok(Target { path, expected, hash_name, is_dry_run })
    }

    /// Parses the target of the text toolset: any path and a required version.
    pub fn parse_verified(env: &WriteEnv<'_>, arguments: &mut Arguments) -> Result<Target> {
        let hash_name = HASH.name;
        let expected = arguments.hash(hash_name);
        let path = AbsPath::resolve("path", arguments.string("path"), env.root)?;
        Ok(Target { path, expected, hash_name, is_dry_run: false })
    }

    /// Returns the target for a file of a call that names several.
    pub fn of(path: AbsPath, expected: Option<Tag>, is_dry_run: bool) -> Target {
        Target { path, expected, hash_name: HASH.name, is_dry_run }
    }

    /// Rejects a version other than the one the caller named. `text` is the current content, if it
    /// is text.
    pub fn check_version(
        &self,
        env: &WriteEnv<'_>,
        now: impl FnOnce() -> Digest,
        text: Option<&str>,
    ) -> Result<()> {
        let Some(expected) = self.expected else { return Ok(()) };
        let now = now();
        match env.is_version(&self.path, expected, now) {
            true => Ok(()),
            false => Err(self.stale(env, expected, now, text)),
        }
    }

    /// Returns the error for a version other than the one the caller named.
    pub fn stale(
        &self,
        env: &WriteEnv<'_>,
        expected: Tag,
        now: Digest,
        text: Option<&str>,
    ) -> Error {
        let old = env.versions.get(expected);
        let changed = old.zip(text).map(|(old, text)| changed_lines(old.text(), text));
        let path = self.path.to_string();
        let changed = changed.unwrap_or_default();
        Error::Stale { path, expected, now, changed, retry: None }
    }

    /// Runs a call. A dry run needs only permission to read, also where the client's sandbox is
    /// read-only.
    pub fn run<T>(
        &self,
        env: &WriteEnv<'_>,
        call: impl Fn(&WriteEnv<'_>) -> Result<T>,
    ) -> Result<T> {
        let is_denied = |error: &Error| {
            use StoreError::PermissionDenied;
            let Error::Store(PermissionDenied { reason, .. }) = error else { return false };
            *reason == Denial::ClientSandbox
        };
        match call(env) {
            Err(error) if self.is_dry_run && is_denied(&error) => {
                let preview = PreviewStore(env.store);
                call(&WriteEnv { store: &preview, ..*env })
            }
            result => result,
        }
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
                Err(Attempt::Rejected(error)) => {
                    let is_busy = matches!(error, Error::Store(StoreError::MemoryBusy { .. }));
                    match env.context.wait_for_lacking_memory() {
                        Some(waited) if is_busy => {
                            waited.map_err(|reason| reason.for_file(&self.path, 0))?;
                        }
                        _ => return Err(error),
                    }
                }
            }
        }
        Err(StoreError::Unstable { path: self.path.to_string() }.into())
    }

    /// Rejects a plan that adds too much text, and reserves memory for another. [`Target::attempt`]
    /// waits for memory that is missing.
    pub fn may_grow(&self, env: &WriteEnv<'_>, growth: Growth) -> Result<()> {
        env.context.cancel.check()?;
        let kept = env.context.try_keep_added_memory(growth.n_memory());
        kept.map_err(|reason| too_much_at_once(reason, growth, &self.path))
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
        self.diff_within(old_side, (before, after), edits, diff_bounds(env.delivery, found))
    }

    /// Returns the diff between two documents in the same encoding, within bounds.
    pub fn diff_within(
        &self,
        old_side: OldSide,
        (before, after): (&Document, &Document),
        edits: &Edits,
        bounds: Bounds,
    ) -> UnifiedDiff {
        // Other programs see the BOM as a part of the first line.
        let n_bom = before.text_with_bom().len() - before.text().len();
        let edits = &*with_bom(edits, n_bom);
        let texts = Texts::whole(before.text_with_bom(), after.text_with_bom(), edits);
        unified(self.path.file_name(), old_side, &texts, bounds)
    }

    /// Returns the diff between two documents in any encoding.
    pub fn whole_diff(
        &self,
        env: &WriteEnv<'_>,
        old_side: OldSide,
        before: &Document,
        after: &Document,
    ) -> UnifiedDiff {
        let (before, after) = (before.text_with_bom(), after.text_with_bom());
        let edits = Edits::whole(before, after);
        let texts = Texts::whole(before, after, &edits);
        unified(self.path.file_name(), old_side, &texts, diff_bounds(env.delivery, &[]))
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
    pub is_dry_run: bool,
    pub written: Written,
    /// The change to the file, if it was written.
    pub change: Option<FileChange>,
}

/// What a tool changes in a file.
pub trait EditRequest {
    /// Returns where the change is, for a file that is too large to read whole.
    fn place(&self) -> Where<'_>;

    /// Plans the change of a text, or of the part of it around the place.
    fn plan(&self, env: &WriteEnv<'_>, part: TextPart<'_>) -> Result<Plan>;

    /// Names the part of the request that the encoding rejects.
    fn blame(&self, _document: &Document, error: TextError) -> TextError {
        error
    }

    /// Returns the arguments, apart from the hash, with which the same change can be made to another
    /// version than the caller read, if the text that the caller names is unchanged. `changes` lead
    /// to the current version, if the caller's is known.
    fn retry(
        &self,
        env: &WriteEnv<'_>,
        part: TextPart<'_>,
        changes: Option<&[ChangedLines]>,
    ) -> Option<Map<String, Value>> {
        let moved = changes.and_then(|changes| self.moved(part, changes));
        moved.or_else(|| self.plan(env, part).ok().map(|_| Map::new()))
    }

    /// Returns the arguments that name the place to which changes moved the text, if the request
    /// names a place and the change can be made there.
    fn moved(&self, _part: TextPart<'_>, _changes: &[ChangedLines]) -> Option<Map<String, Value>> {
        None
    }
}

/// Changes a file as a tool requests.
pub fn edit(env: &WriteEnv<'_>, target: &Target, request: &impl EditRequest) -> Result<Edited> {
    target.run(env, |env| edit_once(env, target, request))
}

fn edit_once(env: &WriteEnv<'_>, target: &Target, request: &impl EditRequest) -> Result<Edited> {
    let edit = Edit { env, target, request };
    target.attempt(env, |store| {
        let held = store.hold(&target.path, env.context);
        let Hold::File(held) = held.map_err(|error| as_edit_error(target, error))? else {
            return Err(StoreError::FileNotFound { path: target.path.to_string() }.into());
        };
        let snapshot = held.snapshot(&request.place()).map_err(|error| match error {
            WriteError::Failed(error) => WriteError::Failed(as_edit_error(target, error)),
            error => error,
        })?;
        match snapshot {
            Snapshot::Whole(file) => edit.whole(file),
            Snapshot::Excerpt(snapshot) => edit.excerpt(snapshot),
        }
    })
}

/// Returns where lines of an old version are now, counted from 0, if none of them changed.
pub fn moved_lines(changes: &[ChangedLines], lines: Range<usize>) -> Option<Range<usize>> {
    let mut n_moved = 0isize;
    for ChangedLines { old_lines, lines: new_lines, .. } in changes {
        if old_lines.start < lines.end && old_lines.end > lines.start {
            return None;
        }
        if old_lines.end <= lines.start {
            n_moved += new_lines.len() as isize - old_lines.len() as isize;
        }
    }
    Some(lines.start.strict_add_signed(n_moved)..lines.end.strict_add_signed(n_moved))
}

/// Returns the number of lines before changes that lead to `n_lines`.
pub fn old_count(changes: &[ChangedLines], n_lines: usize) -> usize {
    changes
        .iter()
        .fold(n_lines, |n_lines, change| n_lines + change.old_lines.len() - change.lines.len())
}

/// One call of a tool that edits.
struct Edit<'a, R> {
    env: &'a WriteEnv<'a>,
    target: &'a Target,
    request: &'a R,
}

impl<R: EditRequest> Edit<'_, R> {
    fn whole<'s>(&self, file: Whole<'s>) -> Result<Edited, Attempt<'s>> {
        let Edit { env, target, .. } = self;
        let before = match file.content() {
            FileContent::Text(document) => document.clone(),
            FileContent::Binary(bytes) => {
                let (path, hash) = (target.path.to_string(), Some(Digest::of(bytes)));
                return Err(StoreError::BinaryFile { verb: "edit", path, hash }.into());
            }
        };
        let part = TextPart::from(before.text());
        self.check_version(|| before.digest(), part)?;
        let (plan, after) = self.planned(part, &before)?;
        let diff = target.diff(env, OldSide::File, (&before, &after), &plan.edits, &plan.found);
        let is_unchanged = before.bytes() == after.bytes();
        let mut written = Written::default();
        if !is_unchanged && !target.is_dry_run {
            written = file.replace(&after)?;
        }
        let after = Arc::new(changed_on_save(env, &mut written).unwrap_or(after));
        let digest = after.digest();
        if !target.is_dry_run {
            env.versions.remember(digest, &after);
        }
        let total_lines = line::count(after.text());
        let change = (!is_unchanged && !target.is_dry_run).then(|| FileChange {
            path: target.path.as_path().to_path_buf(),
            moved_from: None,
            before: Some(before),
            after: Some(after),
        });
        let is_dry_run = target.is_dry_run;
        Ok(Edited { plan, diff, total_lines, digest, is_unchanged, is_dry_run, written, change })
    }

    /// Changes some lines of a file that is too large to load.
    fn excerpt<'s>(&self, snapshot: ExcerptSnapshot<'s>) -> Result<Edited, Attempt<'s>> {
        let Edit { target, .. } = self;
        let Excerpt { lines: before, lines_before, lines_after, is_cut, ending, .. } =
            snapshot.excerpt();
        let (lines_before, lines_after) = (*lines_before, *lines_after);
        let mut digest = snapshot.excerpt().digest;
        let far = snapshot.excerpt().far.as_ref();
        let (text, is_cut, ending) = (before.text(), *is_cut, *ending);
        let part = TextPart { text, lines_before, lines_after, is_cut, ending, far };
        self.check_version(|| digest, part)?;
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
        let (is_dry_run, change) = (target.is_dry_run, None);
        Ok(Edited { plan, diff, total_lines, digest, is_unchanged, is_dry_run, written, change })
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
        let whole = Texts::whole(&before, &after, edits);
        let has_other_crlf = excerpt.has_crlf;
        let texts = Texts { lines_before, is_whole_lines, has_other_crlf, ..whole };
        let bounds = diff_bounds(env.delivery, &plan.found);
        unified(target.path.file_name(), OldSide::File, &texts, bounds)
    }

    /// Rejects a version other than the one that the caller named, with the arguments to retry with.
    fn check_version(&self, now: impl FnOnce() -> Digest, part: TextPart<'_>) -> Result<()> {
        let Edit { env, target, request } = self;
        let is_part = part.lines_before > 0 || part.lines_after > 0 || part.is_cut != [false; 2];
        let text = (!is_part).then_some(part.text);
        let Err(mut error) = target.check_version(env, now, text) else { return Ok(()) };
        // A retry with the same hash would be rejected again.
        if let Error::Stale { expected, now, retry, .. } = &mut error
            && *expected != now.tag()
        {
            let old = env.versions.get(*expected).zip(text);
            let changes = old.map(|(old, text)| changes(old.text(), text));
            *retry = request.retry(env, part, changes.as_deref()).map(Box::new);
            if let Some(retry) = retry {
                retry.insert(target.hash_name.into(), now.to_string().into());
            }
        }
        Err(error)
    }

    /// Returns the plan for a part of a file and the resulting text.
    fn planned(&self, part: TextPart<'_>, before: &Document) -> Result<(Plan, Document)> {
        let plan = self.request.plan(self.env, part)?;
        self.env.context.cancel.check()?;
        let after = before.with_text(&plan.edits.apply(before.text()));
        let after = after.map_err(|error| {
            self.request.blame(before, self.target.not_encodable(before, error))
        })?;
        Ok((plan, after))
    }
}

/// Returns the text that an editor saved instead of the one that it got.
pub fn changed_on_save(env: &WriteEnv<'_>, written: &mut Written) -> Option<Document> {
    let saved = Document::parse(written.content_after.take()?).ok()?;
    env.context.notes.add(Note::ChangedOnSave);
    Some(saved)
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

/// Returns the error for edits for whose growth no memory is available.
pub fn too_much_at_once(reason: Unavailable, growth: Growth, path: &AbsPath) -> Error {
    let Growth { n_added, n_places } = growth;
    match reason {
        Unavailable::TooMuch => TextError::TooMuchAtOnce { n_places, n_added }.into(),
        reason => reason.for_file(path, 0).into(),
    }
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
