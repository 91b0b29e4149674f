//! The validated command-line options.

use std::path::PathBuf;

use recto_store::local::HiddenPaths;
use recto_tools::Names;
use recto_tools::delivery::{AnswerForm, Delivery};
use recto_tools::tools::{self, Effect, Tool};

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
    /// The maximum bytes of an answer.
    pub max_answer_bytes: usize,
    /// Whether a write is synced to disk before it is reported as done.
    pub is_durable: bool,
    /// The format of answers and names on the wire.
    pub wire: Wire,
}

/// The format of answers and names on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// The parts of a result to send.
    pub results: Results,
    /// How failed calls are reported.
    pub errors: Errors,
    /// The spelling of tool names.
    pub names: Names,
}

/// The parts of a result to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Results {
    /// Text for models and structured content for programs
    #[default]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ToolNames {
    /// With underscores, as in text_read
    #[default]
    Underscore,
    /// With dots, as in text.read
    Dotted,
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
    /// Returns how the client gets its answers.
    pub fn delivery(&self) -> Delivery {
        let form = match self.wire.results {
            Results::Both => AnswerForm::Both,
            Results::Text => AnswerForm::Text,
            Results::Structured => AnswerForm::Structured,
        };
        Delivery { form, max_bytes: self.max_answer_bytes }
    }

    /// Returns the selected tools in their listed order.
    pub fn tools(&self) -> Result<Vec<&'static Tool>, String> {
        for name in &self.tools {
            let is_known = tools::find(name).is_some()
                || tools::ALL.iter().any(|tool| tool.toolset.name() == name);
            if !is_known {
                let known: Vec<_> = tools::ALL.iter().map(|tool| tool.name).collect();
                return Err(format!(
                    "unknown toolset or tool {name}; the toolsets are edit, text and files, and the tools are {}",
                    known.join(", ")
                ));
            }
        }
        let is_chosen = |tool: &&&Tool| {
            self.tools.is_empty()
                || self.tools.iter().any(|name| {
                    tool.toolset.name() == name
                        || tools::find(name).is_some_and(|named| named.name == tool.name)
                })
        };
        let is_allowed = |tool: &&&Tool| !self.is_read_only || tool.effect() == Effect::Reads;
        Ok(tools::ALL.iter().filter(is_chosen).filter(is_allowed).copied().collect())
    }
}
