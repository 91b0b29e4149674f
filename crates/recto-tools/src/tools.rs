//! The tools: one file each, all of the same shape.
//!
//! A tool turns checked arguments into a request, reads, decides, computes, writes once, and
//! reports. Until that write nothing has changed, so a refusal costs nothing. Protocols are not
//! known here.

mod edit;
mod paths;
mod read;
mod report;
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

mod edit_text_file;
mod multi_edit_text_file;
mod read_text_file;
mod write_text_file;

use std::path::Path;

use recto_store::{Context, Revisions, Store, WriteStore};
use serde_json::{Map, Value, json};

pub use crate::answer::{Answer, Change};
pub use crate::arguments::{Arguments, Kind, Param, as_integer, schema};

use crate::error::Result;
use crate::served::Served;
use crate::versions::Versions;

/// A group of tools that are switched on together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Exact strings, absolute paths.
    Edit,
    /// Verified edits: version, line and the text that stands there.
    Text,
    /// Looking around: globs, lines, matches, revisions, tables.
    Files,
}

impl Toolset {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Toolset::Edit => "edit",
            Toolset::Text => "text",
            Toolset::Files => "files",
        }
    }
}

/// The arguments that say which file a call is about, or which files.
pub const SUBJECTS: [&str; 3] = ["path", "file_path", "pattern"];

/// What a tool does to files, as clients want to know before they let it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Changes only what the caller proved to know.
    Changes,
    /// May discard what the caller has not seen.
    Overwrites,
}

/// One tool.
pub struct Tool {
    /// The name on the wire.
    pub name: &'static str,
    /// A name for people.
    pub title: &'static str,
    /// The group it belongs to.
    pub toolset: Toolset,
    /// What it does, for the model that decides whether to call it.
    pub description: &'static str,
    /// What it takes.
    pub params: &'static [Param],
    /// The JSON schema of its structured answer.
    pub output: fn() -> Value,
    /// Runs one call.
    pub run: Run,
}

/// How a tool runs. What it may do to files is part of it: a tool that reads has nothing to write
/// with.
#[derive(Clone, Copy)]
pub enum Run {
    /// Changes nothing.
    Reads(fn(&ReadEnv<'_>, Arguments) -> Result<Answer>),
    /// Changes only what the caller proved to know.
    Changes(fn(&WriteEnv<'_>, Arguments) -> Result<Answer>),
    /// May discard what the caller has not seen.
    Overwrites(fn(&WriteEnv<'_>, Arguments) -> Result<Answer>),
}

impl Tool {
    /// The JSON schema of its arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        schema(self.params)
    }

    /// Returns the JSON schema of its structured answer, with the notes that every answer may have.
    pub fn output_schema(&self) -> Map<String, Value> {
        let mut schema = (self.output)();
        schema["properties"]["notes"] = json!({"type": "array"});
        schema.as_object().cloned().expect("a schema is an object")
    }

    /// Returns what it does to files.
    pub fn effect(&self) -> Effect {
        match self.run {
            Run::Reads(_) => Effect::Reads,
            Run::Changes(_) => Effect::Changes,
            Run::Overwrites(_) => Effect::Overwrites,
        }
    }

    /// Checks the arguments and runs one call.
    pub fn call(&self, env: &WriteEnv<'_>, arguments: Map<String, Value>) -> Result<Answer> {
        let arguments = Arguments::check(self.params, arguments)?;
        match self.run {
            Run::Reads(run) => run(&env.to_read(), arguments),
            Run::Changes(run) | Run::Overwrites(run) => run(env, arguments),
        }
    }
}

impl Kind {
    /// What an argument of this kind looks like, for people.
    pub fn describe(self) -> String {
        match self {
            Kind::String | Kind::NumberOrString | Kind::Text => "string".into(),
            Kind::Integer { minimum: Some(minimum) } => format!("integer ≥ {minimum}"),
            Kind::Integer { minimum: None } => "integer".into(),
            Kind::Word(words) => words.join(" or "),
            Kind::Lines => "[integer, integer]".into(),
            Kind::Boolean => "boolean".into(),
            Kind::Hash => "string, 12 hex digits".into(),
            Kind::Objects(_) => "array of objects".into(),
        }
    }
}

/// What a tool works with.
pub struct Env<'a, S: ?Sized> {
    /// Where the files are.
    pub store: &'a S,
    /// Where older versions of them are.
    pub revisions: &'a dyn Revisions,
    /// The call.
    pub context: &'a Context,
    /// Where relative paths start.
    pub root: &'a Path,
    /// The most bytes of text that a read returns.
    pub max_read_bytes: usize,
    /// Texts that were read or written lately.
    pub versions: &'a Versions,
    /// The tools that an answer may name.
    pub served: &'a Served,
}

/// What a tool that reads works with.
pub type ReadEnv<'a> = Env<'a, dyn Store + 'a>;

/// What a tool that writes works with.
pub type WriteEnv<'a> = Env<'a, dyn WriteStore + 'a>;

impl<'a> WriteEnv<'a> {
    /// Returns the same without the ability to write.
    fn to_read(&self) -> ReadEnv<'a> {
        let Env { store, revisions, context, root, max_read_bytes, versions, served } = *self;
        Env { store, revisions, context, root, max_read_bytes, versions, served }
    }
}

/// Every tool, in the order in which they are listed.
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
];

/// Finds a tool by its name, with dots or underscores.
pub fn find(name: &str) -> Option<&'static Tool> {
    ALL.iter().copied().find(|tool| tool.name == name || underscored(tool.name) == name)
}

/// A tool's name for clients that refuse dots.
pub fn underscored(name: &str) -> String {
    name.replace('.', "_")
}
