//! What a call would do to each file, and a digest of it.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::{FileStep, read_all};
use recto_text::plan::{self, Growth, Plan, Replacement, TextPart};
use recto_text::{Digest, Document, Tag};

use super::super::edit::{Target, as_edit_error, not_encodable};
use super::super::multi_edit_text_file::in_edit;
use super::super::paths::relative;
use super::super::{FileChange, WriteEnv};
use super::matching::matching;
use super::needed::Needed;
use super::{Action, FileRequest, Request, Subject, reject};
use crate::error::{Error, Result};
use crate::limits;

/// A file with its content before and after the call.
pub struct PlannedFile {
    pub target: Target,
    pub move_to: Option<AbsPath>,
    pub before: Option<Content>,
    pub after: Content,
    /// What the edits replace.
    pub plan: Option<Plan>,
}

/// The content of a file.
pub enum Content {
    Text(Arc<Document>),
    Binary(Vec<u8>),
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Content::Text(document) => document.bytes(),
            Content::Binary(bytes) => bytes,
        }
    }

    pub fn document(&self) -> Option<&Arc<Document>> {
        match self {
            Content::Text(document) => Some(document),
            Content::Binary(_) => None,
        }
    }

    pub fn digest(&self) -> Digest {
        match self {
            Content::Text(document) => document.digest(),
            Content::Binary(bytes) => Digest::of(bytes),
        }
    }
}

impl PlannedFile {
    /// Whether the call changes anything about it.
    pub fn is_changed(&self) -> bool {
        self.move_to.is_some()
            || self.before.as_ref().is_none_or(|before| before.bytes() != self.after.bytes())
    }

    /// Returns the step of a transaction.
    pub fn step(&self) -> FileStep<'_> {
        FileStep {
            path: &self.target.path,
            before: self.before.as_ref().map(Content::bytes),
            after: Some(self.after.bytes()),
            move_to: self.move_to.as_ref(),
            is_link: false,
            metadata: None,
            undoes: &[],
        }
    }

    /// Returns the path after the call.
    pub fn path(&self) -> &AbsPath {
        self.move_to.as_ref().unwrap_or(&self.target.path)
    }

    /// Returns the change for clients that show it to a user.
    pub fn change(&self) -> FileChange {
        FileChange {
            path: self.path().as_path().to_path_buf(),
            moved_from: self.move_to.as_ref().map(|_| self.target.path.as_path().to_path_buf()),
            before: self.before.as_ref().and_then(Content::document).cloned(),
            after: self.after.document().cloned(),
        }
    }

    /// Returns an error with the file that it is about.
    pub fn failed(&self, env: &WriteEnv<'_>, error: Error) -> Error {
        in_file(env, &self.target.path, error)
    }
}

/// Returns an error that names its file. Errors of the store name it themselves.
pub fn in_file(env: &WriteEnv<'_>, path: &AbsPath, error: Error) -> Error {
    match error {
        Error::Store(StoreError::FileNotFound { path: given }) => {
            let nearby = env.store.nearby(path, env.context);
            Error::Missing { path: given, argument: "path", nearby }
        }
        Error::Text(_) => {
            let path = path.as_str();
            let path = relative(&env.to_read(), path).unwrap_or(path).to_string();
            Error::InFile { path, source: Box::new(error) }
        }
        error => error,
    }
}

/// Plans all files. Fails with the errors of all of them.
pub fn plan_all(env: &WriteEnv<'_>, request: &Request) -> Result<Vec<PlannedFile>> {
    let mut planner = Planner { env, needed: Needed::default(), is_dry_run: request.is_dry_run };
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for change in &request.changes {
        match &change.subject {
            Subject::Path(path) => match planner.one(path, change) {
                Ok(file) => files.push(file),
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => failures.push(in_file(env, path, error)),
            },
            Subject::Glob(glob) => match planner.glob(glob, change) {
                Ok(found) => files.extend(found),
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => failures.push(error),
            },
        }
    }
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    for (index, file) in files.iter().enumerate() {
        for path in [Some(&file.target.path), file.move_to.as_ref()].into_iter().flatten() {
            let real = env.store.real_path(path, env.context);
            let real = real.unwrap_or_else(|| path.as_path().to_path_buf());
            if let Some(other) = known.insert(real, index) {
                let other = files[other].target.path.as_str();
                let cause = format!("it is the same file as {other}");
                failures.push(StoreError::NotTogether { path: path.to_string(), cause }.into());
            }
        }
    }
    reject(failures)?;
    let (n, limit) = (files.len(), recto_store::limits::TRANSACTION_FILES);
    if n > limit {
        let (n, limit) = (n as u64, limit as u64);
        return Err(StoreError::TooMany { what: "files", n, limit }.into());
    }
    Ok(files)
}

/// Returns a digest of what a call would do.
pub fn digest(env: &WriteEnv<'_>, files: &[PlannedFile]) -> Tag {
    let env = &env.to_read();
    let shown = |path: &AbsPath| {
        let path = path.as_path().display().to_string();
        relative(env, &path).unwrap_or(&path).to_string()
    };
    let mut text = String::new();
    for file in files {
        let before = file.before.as_ref().map(|before| before.digest().to_string());
        let to = file.move_to.as_ref().map(shown).unwrap_or_default();
        let path = shown(&file.target.path);
        let (before, after) = (before.unwrap_or_default(), file.after.digest());
        text.push_str(&format!("{path}\0{before}\0{after}\0{to}\0"));
    }
    Tag::of(text.as_bytes())
}

struct Planner<'a> {
    env: &'a WriteEnv<'a>,
    needed: Needed,
    is_dry_run: bool,
}

impl Planner<'_> {
    fn one(&mut self, path: &AbsPath, change: &FileRequest) -> Result<PlannedFile> {
        let env = self.env;
        let target = Target::of(path.clone(), change.expected, self.is_dry_run);
        let move_to = change.move_to.clone();
        let replacements = match &change.action {
            Action::Create(text) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                let after = Document::new(text);
                let after = after.map_err(|error| not_encodable("UTF-8", path, error))?;
                self.needed.add_bytes(path, after.bytes().len() as u64, env.context)?;
                let after = Content::Text(Arc::new(after));
                return Ok(PlannedFile { target, move_to, before: None, after, plan: None });
            }
            Action::Keep => None,
            Action::Edit(replacements) => Some(replacements),
        };
        let bytes = self.read(path).map_err(|error| as_edit_error(&target, error))?;
        let before = match Document::parse(bytes) {
            Ok(document) => Content::Text(Arc::new(document)),
            Err(bytes) if replacements.is_none() => Content::Binary(bytes),
            Err(bytes) => {
                let (path, hash) = (path.to_string(), Some(Digest::of(&bytes)));
                return Err(StoreError::BinaryFile { verb: "edit", path, hash }.into());
            }
        };
        let text = before.document().map(|document| document.text());
        target.check_version(env, || before.digest(), text)?;
        let (Some(replacements), Content::Text(document)) = (replacements, &before) else {
            let after = match &before {
                Content::Text(document) => Content::Text(document.clone()),
                Content::Binary(bytes) => Content::Binary(bytes.clone()),
            };
            return Ok(PlannedFile { target, move_to, before: Some(before), after, plan: None });
        };
        let (plan, after) = edited(env, &target, document, replacements, &mut self.needed)?;
        let (before, plan) = (Some(before), Some(plan));
        Ok(PlannedFile { target, move_to, before, after: Content::Text(after), plan })
    }

    /// Plans all files that match a pattern and contain the text of an edit.
    fn glob(&mut self, glob: &str, change: &FileRequest) -> Result<Vec<PlannedFile>> {
        let env = self.env;
        let Action::Edit(replacements) = &change.action else { return Ok(Vec::new()) };
        // Each file may contain the text of some of the edits, also after earlier ones.
        let replacements: Vec<_> =
            replacements.iter().cloned().map(Replacement::optional).collect();
        let (mut files, mut failures) = (Vec::new(), Vec::new());
        for (path, document) in matching(env, glob, &replacements, &mut self.needed)? {
            let target = Target::of(path, None, self.is_dry_run);
            match edited(env, &target, &document, &replacements, &mut self.needed) {
                Ok((plan, after)) => files.push(PlannedFile {
                    target,
                    move_to: None,
                    before: Some(Content::Text(document)),
                    after: Content::Text(after),
                    plan: Some(plan),
                }),
                Err(error) => failures.push(in_file(env, &target.path, error)),
            }
        }
        reject(failures)?;
        match files.is_empty() {
            true => Err(Error::NoneWithText { glob: glob.to_string() }),
            false => Ok(files),
        }
    }

    fn read(&mut self, path: &AbsPath) -> recto_store::Result<Vec<u8>> {
        let file = self.env.store.open_stored(path, self.env.context)?;
        self.needed.add_bytes(path, file.size(), self.env.context)?;
        read_all(&*file)
    }
}

fn edited(
    env: &WriteEnv<'_>,
    target: &Target,
    before: &Document,
    replacements: &[Replacement],
    needed: &mut Needed,
) -> Result<(Plan, Arc<Document>)> {
    let first_failure = OnceCell::new();
    let has_time = || first_failure.get_or_init(Instant::now).elapsed() < limits::FAILURES_TIME;
    let part = TextPart::from(before.text());
    let last_growth = Cell::new(Growth::default());
    let may_grow = |growth| -> Result<()> {
        env.context.cancel.check()?;
        last_growth.set(growth);
        needed.check_growth(&target.path, growth, env.context)
    };
    let plan = plan::strings(part, replacements, may_grow, has_time)?;
    needed.add_growth(last_growth.get());
    let after = before.with_text(&plan.edits.apply(before.text()));
    let after = after
        .map_err(|error| in_edit(replacements, before, target.not_encodable(before, error)))?;
    Ok((plan, Arc::new(after)))
}
