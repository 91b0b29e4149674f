//! The tools: one file each, all of the same shape.
//!
//! A tool turns checked arguments into a request, reads, decides, computes, writes once, and
//! reports. Until that write nothing has changed, so a refusal costs nothing. Protocols are not
//! known here.

mod edit;
mod read;
mod report;
mod rows;

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

use recto_text::Result;
use serde_json::{Map, Value};

pub use crate::answer::{Answer, Change};
pub use crate::arguments::{Arguments, Kind, Param, as_integer, schema};

use crate::versions::Versions;
use recto_store::caller::Caller;
use recto_store::{Revisions, WriteStore};

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
    /// What it does to files.
    pub effect: Effect,
    /// Runs one call.
    pub run: fn(&Context<'_>, Arguments) -> Result<Answer>,
}

impl Tool {
    /// The JSON schema of its arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        schema(self.params)
    }

    /// Checks the arguments and runs one call.
    pub fn call(&self, context: &Context<'_>, arguments: Map<String, Value>) -> Result<Answer> {
        (self.run)(context, Arguments::check(self.params, arguments)?)
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

/// What a call works with.
pub struct Context<'a> {
    /// Where the files are.
    pub store: &'a dyn WriteStore,
    /// Where older versions of them are.
    pub revisions: &'a dyn Revisions,
    /// On whose behalf.
    pub caller: &'a Caller,
    /// Where relative paths start.
    pub root: &'a Path,
    /// The most bytes of text that a read returns.
    pub max_read_bytes: usize,
    /// What was seen lately.
    pub versions: &'a Versions,
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
