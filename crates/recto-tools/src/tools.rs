//! The tools, one module each, with the same structure.
//!
//! A tool turns checked arguments into a request, reads, plans, computes, writes once, and reports.
//! Nothing changes before that write, so a rejected call has no effect. Tools do not depend on
//! protocols.

mod edit;
mod paths;
mod read;
mod report;
mod restore;
mod row;
mod rows;
mod search;

mod file_create;
mod file_remove;
mod text_append;
mod text_insert;
mod text_read;
mod text_replace;

mod list_files;
mod read_as_table;
mod read_lines;

mod list_commits;
mod read_diff;

mod changes_apply;

mod undo_apply;
mod undo_list;

mod edit_text_file;
mod multi_edit_text_file;
mod read_text_file;
mod write_text_file;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use recto_store::path::AbsPath;
use recto_store::{Context, Revisions, Store, WriteStore};
use recto_text::{Digest, Tag};
use serde_json::{Map, Value, json};

pub use crate::answer::{Answer, FileChange};
pub use crate::arguments::{Arguments, Param, ParamKind, as_integer, schema};
pub(crate) use restore::FROM_PATH;

use crate::arguments;
use crate::delivery::Delivery;
use crate::error::Result;
use crate::recorded::RecordedChanges;
use crate::seen::Seen;
use crate::served::Served;
use crate::versions::{Returned, Versions};

/// A group of tools that are enabled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Edits by exact strings, with absolute paths.
    Edit,
    /// Verified edits: the caller names the version, the lines and their text.
    Text,
    /// Finding and searching files: globs, lines, matches, revisions, tables.
    Files,
    /// Commits and what they change.
    History,
    /// Changes of several files together.
    Changes,
    /// Undo of recorded changes.
    Undo,
}

impl Toolset {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Toolset::Edit => "edit",
            Toolset::Text => "text",
            Toolset::Files => "files",
            Toolset::History => "history",
            Toolset::Changes => "changes",
            Toolset::Undo => "undo",
        }
    }
}

/// The arguments that name the files of a call.
pub const SUBJECTS: [&str; 3] = ["path", "file_path", "pattern"];

/// The effect of a tool on files, which clients show before they permit a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Does not discard content that the caller has not seen.
    Changes,
    /// Can overwrite or remove a whole file.
    Overwrites,
}

/// One tool.
pub struct Tool {
    /// The name in the protocol.
    pub name: &'static str,
    /// The name that clients show to users.
    pub title: &'static str,
    /// The group it belongs to.
    pub toolset: Toolset,
    /// The description by which a model decides whether to call the tool.
    pub description: &'static str,
    /// The declared arguments.
    pub params: &'static [Param],
    /// The JSON schema of its structured answer.
    pub output: fn() -> Value,
    /// Runs one call.
    pub run: Run,
}

/// The function that runs a tool. Its type limits the effect: a tool that reads gets a store without
/// write methods.
#[derive(Clone, Copy)]
pub enum Run {
    /// Changes nothing.
    Reads(fn(&ReadEnv<'_>, Arguments) -> Result<Answer>),
    /// Does not discard content that the caller has not seen.
    Changes(fn(&WriteEnv<'_>, Arguments) -> Result<Answer>),
    /// Can overwrite or remove a whole file.
    Overwrites(fn(&WriteEnv<'_>, Arguments) -> Result<Answer>),
}

impl Tool {
    /// Returns the name with a dot, such as `text.read`, if the tool has such a name.
    pub fn dotted_name(&self) -> Cow<'static, str> {
        match self.toolset {
            Toolset::Text => self.name.replacen('_', ".", 1).into(),
            Toolset::Edit
            | Toolset::Files
            | Toolset::History
            | Toolset::Changes
            | Toolset::Undo => self.name.into(),
        }
    }

    /// Whether it only reads one file, which is usually quick.
    pub fn reads_one_file(&self) -> bool {
        let is_of_files = matches!(self.toolset, Toolset::Edit | Toolset::Text);
        is_of_files && matches!(self.run, Run::Reads(_))
    }

    /// Returns the JSON schema of its arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        schema(self.params)
    }

    /// Returns the JSON schema of its structured answer, with the notes that every answer may have.
    pub fn output_schema(&self) -> Map<String, Value> {
        let mut schema = (self.output)();
        schema["properties"]["notes"] = json!({"type": "array"});
        schema.as_object().cloned().expect("a schema is an object")
    }

    /// Returns the effect on files.
    pub fn effect(&self) -> Effect {
        match self.run {
            Run::Reads(_) => Effect::Reads,
            Run::Changes(_) => Effect::Changes,
            Run::Overwrites(_) => Effect::Overwrites,
        }
    }

    /// Returns arguments in the declared form; see [`arguments::normalized`].
    pub fn normalized(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        arguments::normalized(self.params, arguments)
    }

    /// Checks normalized arguments and runs one call.
    pub fn call(&self, env: &WriteEnv<'_>, arguments: Map<String, Value>) -> Result<Answer> {
        let arguments = Arguments::check(self.params, arguments)?;
        match self.run {
            Run::Reads(run) => run(&env.to_read(), arguments),
            Run::Changes(run) | Run::Overwrites(run) => run(env, arguments),
        }
    }
}

impl ParamKind {
    /// Returns a description of this type for users.
    pub fn describe(self) -> String {
        match self {
            ParamKind::String | ParamKind::NumberOrString | ParamKind::Text => "string".into(),
            ParamKind::Integer { minimum: Some(minimum) } => format!("integer ≥ {minimum}"),
            ParamKind::Integer { minimum: None } => "integer".into(),
            ParamKind::Word(words) => words.join(" or "),
            ParamKind::Lines => "[integer, integer]".into(),
            ParamKind::Strings => "array of strings".into(),
            ParamKind::Boolean => "boolean".into(),
            ParamKind::Hash => "string, 12 hex digits".into(),
            ParamKind::Objects(_) => "array of objects".into(),
        }
    }
}

/// The environment of a call.
pub struct Env<'a, S: ?Sized> {
    /// The files.
    pub store: &'a S,
    /// Older versions of the files.
    pub revisions: &'a dyn Revisions,
    /// The recorded changes, if changes are recorded.
    pub changes: Option<&'a dyn RecordedChanges>,
    /// The context of the call.
    pub context: &'a Context,
    /// The base of relative paths.
    pub root: &'a Path,
    /// The other roots, which relative patterns also cover.
    pub more_roots: &'a [PathBuf],
    /// How the client gets its answers.
    pub delivery: Delivery,
    /// Texts that were recently read or written.
    pub versions: &'a Versions,
    /// The versions that the session has last seen.
    pub seen: &'a Seen,
    /// Whether what the caller has seen is recorded at all.
    pub has_session: bool,
    /// The tools that an answer may name.
    pub served: &'a Served,
}

impl<S: Store + ?Sized> Env<'_, S> {
    /// Whether a file is still the version that a caller names. If this process has returned content
    /// under that tag, the file must have the same content.
    pub fn is_version(&self, path: &AbsPath, tag: Tag, now: Digest) -> bool {
        tag == now.tag()
            && match self.versions.returned(tag) {
                None => true,
                Some(Returned::One(returned)) => returned == now,
                Some(Returned::Several) => self.last_seen(path) == Some(now),
            }
    }

    /// Returns the version of a file that the session has last seen.
    pub fn last_seen(&self, path: &AbsPath) -> Option<Digest> {
        self.seen.last(path.as_path(), |path| {
            let path = AbsPath::of(path.to_path_buf(), String::new());
            self.store.real_path(&path, self.context)
        })
    }
}

/// The environment of a tool that reads.
pub type ReadEnv<'a> = Env<'a, dyn Store + 'a>;

/// The environment of a tool that writes.
pub type WriteEnv<'a> = Env<'a, dyn WriteStore + 'a>;

impl<'a> WriteEnv<'a> {
    /// Returns the same environment without the ability to write.
    fn to_read(&self) -> ReadEnv<'a> {
        let &Env { store, revisions, changes, context, root, more_roots, .. } = self;
        let &Env { delivery, versions, seen, has_session, served, .. } = self;
        Env {
            store,
            revisions,
            changes,
            context,
            root,
            more_roots,
            delivery,
            versions,
            seen,
            has_session,
            served,
        }
    }
}

/// Every tool, in the order of the listing.
pub static ALL: &[&Tool] = &[
    &read_text_file::TOOL,
    &write_text_file::TOOL,
    &edit_text_file::TOOL,
    &multi_edit_text_file::TOOL,
    &text_read::TOOL,
    &text_replace::TOOL,
    &text_insert::TOOL,
    &text_append::TOOL,
    &file_create::TOOL,
    &file_remove::TOOL,
    &list_files::TOOL,
    &read_lines::TOOL,
    &read_as_table::TOOL,
    &list_commits::TOOL,
    &read_diff::TOOL,
    &changes_apply::TOOL,
    &undo_list::TOOL,
    &undo_apply::TOOL,
];

/// Finds a tool by its name, with dots or underscores.
pub fn find(name: &str) -> Option<&'static Tool> {
    ALL.iter().copied().find(|tool| tool.name == name || tool.dotted_name() == name)
}
