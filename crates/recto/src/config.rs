//! The validated command-line options.

use std::path::PathBuf;

use recto_store::local::HiddenPaths;
use recto_tools::Names;
use recto_tools::delivery::{AnswerForm, Delivery};
use recto_tools::tools::{self, Effect, Tool, Toolset};

use crate::clients::{self, Client};
use crate::landlock::LandlockMode;

/// The options that all commands share.
#[derive(Debug, Clone)]
pub struct Config {
    /// The directories to serve.
    pub roots: Vec<PathBuf>,
    /// Whether Landlock restricts the process to them.
    pub landlock: LandlockMode,
    /// Paths that are treated as outside the roots.
    pub hidden: HiddenPaths,
    /// Git directories outside the roots that may be read.
    pub git_dirs: Vec<PathBuf>,
    /// Toolsets or single tools; all if empty.
    pub tools: Vec<String>,
    /// Whether tools that modify files are left out.
    pub is_read_only: bool,
    /// Whether `.git` directories may be written.
    pub allows_git_writes: bool,
    /// Whether a write is synced to disk before it is reported as done.
    pub is_durable: bool,
    /// Whether and where changes are recorded.
    pub journal: JournalConfig,
    /// The format of answers and names on the wire.
    pub wire: Wire,
}

/// Whether and where changes are recorded.
#[derive(Debug, Clone, Default)]
pub struct JournalConfig {
    /// Whether changes are recorded.
    pub mode: JournalMode,
    /// The directory of the journal, if it is not the default.
    pub state_dir: Option<PathBuf>,
    /// Patterns of files whose content is not stored.
    pub excluded: Vec<String>,
    /// Whether the model and the title of the turn are recorded.
    pub has_titles: bool,
}

/// Whether changes are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum JournalMode {
    /// Record changes; make a change that cannot be recorded, with a note
    #[default]
    On,
    /// Record nothing
    Off,
    /// Reject a change that cannot be recorded
    Required,
}

/// The format of answers and names on the wire. What is not set depends on the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// The client, if it is not to be recognized by the name that it reports.
    pub client: Option<&'static Client>,
    /// The parts of an answer to send.
    pub form: Option<AnswerForm>,
    /// The maximum bytes of an answer.
    pub max_answer_bytes: Option<usize>,
    /// The spelling of tool names.
    pub names: Option<Names>,
    /// How failed calls are reported.
    pub errors: Errors,
}

/// The format of answers and names for one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientWire {
    /// The row of the client table.
    pub client: &'static Client,
    /// The spelling of tool names.
    pub names: Names,
    /// How the client gets its answers.
    pub delivery: Delivery,
    /// How failed calls are reported.
    pub errors: Errors,
}

impl Wire {
    /// Returns the format for a client by the name that it reports. Options win over the table.
    pub fn for_client(&self, reported: Option<&str>) -> ClientWire {
        let client = self.client.or_else(|| clients::find(reported?)).unwrap_or(&clients::UNKNOWN);
        let form = self.form.unwrap_or(client.form);
        let max_bytes = self.max_answer_bytes.unwrap_or(client.max_answer_bytes);
        let names = self.names.unwrap_or(client.names);
        ClientWire { client, names, delivery: Delivery { form, max_bytes }, errors: self.errors }
    }
}

/// The parts of a result to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Results {
    /// Text for models and structured content for programs
    Both,
    /// Only text
    Text,
    /// Structured content, with its JSON as the text
    Structured,
}

/// How failed calls are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Errors {
    /// Tool results with `isError`, which a model reads
    #[default]
    Result,
    /// JSON-RPC errors with recto's error codes
    Jsonrpc,
}

/// The spelling of tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ToolNames {
    /// With underscores, as in text_read
    Underscore,
    /// With dots, as in text.read
    Dotted,
}

impl From<Results> for AnswerForm {
    fn from(results: Results) -> AnswerForm {
        match results {
            Results::Both => AnswerForm::Both,
            Results::Text => AnswerForm::Text,
            Results::Structured => AnswerForm::Structured,
        }
    }
}

impl From<ToolNames> for Names {
    fn from(names: ToolNames) -> Names {
        match names {
            ToolNames::Dotted => Names::Dotted,
            ToolNames::Underscore => Names::Underscore,
        }
    }
}

impl Config {
    /// Returns the selected tools in their listed order.
    pub fn tools(&self) -> Result<Vec<&'static Tool>, String> {
        if let Some(name) = self.tools.iter().find(|name| !tools::ALL.iter().any(names(name))) {
            let known: Vec<_> = tools::ALL.iter().map(|tool| tool.name).collect();
            return Err(format!(
                "unknown toolset or tool {name}; the toolsets are default, all, coding, edit, text, files, history, changes and undo, and the tools are {}",
                known.join(", ")
            ));
        }
        let is_chosen = |tool: &&&Tool| {
            let is_default = self.tools.is_empty() && names("default")(tool);
            is_default || self.tools.iter().any(|name| names(name)(tool))
        };
        let is_allowed = |tool: &&&Tool| !self.is_read_only || tool.effect() == Effect::Reads;
        Ok(tools::ALL.iter().filter(is_chosen).filter(is_allowed).copied().collect())
    }
}

/// The tools of the profile `coding`: one tool for each task.
const CODING: [&str; 9] = [
    "ListFiles",
    "ReadLines",
    "ReadAsTable",
    "read_text_file",
    "write_text_file",
    "edit_text_file",
    "multi_edit_text_file",
    "file_create",
    "file_remove",
];

/// Returns whether a name in `--tools` selects a tool.
fn names(name: &str) -> impl Fn(&&Tool) -> bool {
    move |tool| match name {
        "all" => true,
        "default" => tool.toolset != Toolset::Undo,
        "coding" => CODING.contains(&tool.name),
        name => {
            tool.toolset.name() == name
                || tools::find(name).is_some_and(|named| named.name == tool.name)
        }
    }
}
