//! The content of a file that a call writes: given as text, or taken from a revision.

use std::sync::Arc;

use recto_store::path::AbsPath;
use recto_store::{FileContent, Note, RevisionFile};
use recto_text::Document;

use super::{Arguments, Param, ParamKind, WriteEnv};
use crate::arguments::known;
use crate::error::{Error, Result};

pub const FROM_COMMIT: Param =
    Param::optional("from_commit", ParamKind::NumberOrString, "Or copy from this git revision");

pub const FROM_PATH: Param = Param::optional("from_path", ParamKind::String, "Default: path");

/// Where the content comes from.
pub enum Source {
    Given(String),
    Revision(RevisionSource),
}

/// A file at a revision.
pub struct RevisionSource {
    commit: String,
    /// `None` is the path of the file to write.
    path: Option<String>,
}

impl Source {
    /// Takes `content`, or `from_commit` with an optional `from_path`.
    pub fn parse(arguments: &mut Arguments, params: &[Param]) -> Result<Source> {
        let content = arguments.optional_string("content");
        let commit = arguments.optional_string(FROM_COMMIT.name);
        let path = arguments.optional_string(FROM_PATH.name);
        let wrong = |name: &str, expected: &'static str, value: String| {
            let value = format!("{value:?}");
            Err(Error::WrongArgument { name: name.into(), expected: expected.into(), value })
        };
        match (content, commit, path) {
            (Some(_), Some(commit), _) => wrong(FROM_COMMIT.name, "used without content", commit),
            (_, None, Some(path)) => wrong(FROM_PATH.name, "used with from_commit", path),
            (Some(content), None, None) => Ok(Source::Given(content)),
            (None, Some(commit), path) => Ok(Source::Revision(RevisionSource { commit, path })),
            (None, None, None) => {
                Err(Error::MissingArgument { name: "content".into(), known: known("", params) })
            }
        }
    }
}

impl RevisionSource {
    /// Reads the file, which is written to `target`.
    pub fn read(&self, env: &WriteEnv<'_>, target: &AbsPath) -> Result<FileContent> {
        let absolute = target.as_path().to_str().unwrap_or(target.as_str());
        let path = self.path.as_deref().unwrap_or(absolute);
        let file = env.revisions.file(&self.commit, path, env.context)?;
        let RevisionFile { bytes, is_executable } = file;
        if is_executable && !env.store.is_file(target, env.context).unwrap_or(true) {
            env.context.notes.add(Note::NotExecutable);
        }
        Ok(match Document::parse(bytes) {
            Ok(document) => FileContent::Text(Arc::new(document)),
            Err(bytes) => FileContent::Binary(bytes),
        })
    }
}
