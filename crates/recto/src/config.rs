//! The options of the command line, checked.

use std::path::PathBuf;

use recto_store::local::HiddenPaths;
use recto_tools::Names;
use recto_tools::tools::{self, Effect, Tool};

use crate::landlock::LandlockMode;

/// The options that every command shares.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folders that are served.
    pub roots: Vec<PathBuf>,
    /// Whether the kernel is to enforce them as well.
    pub landlock: LandlockMode,
    /// Paths that answer as if they lay outside.
    pub hidden: HiddenPaths,
    /// Git directories outside the roots that may be read.
    pub git_dirs: Vec<PathBuf>,
    /// Toolsets or single tools, all if empty.
    pub tools: Vec<String>,
    /// Whether every tool that changes something is left out.
    pub is_read_only: bool,
    /// Whether `.git` folders may be written.
    pub allows_git_writes: bool,
    /// The most bytes of text that a read returns.
    pub max_read_bytes: usize,
    /// Whether a write is answered only once it would survive a power cut.
    pub is_durable: bool,
    /// How answers and names look on the wire.
    pub wire: Wire,
}

/// How answers and names look on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// Which halves of a result are sent.
    pub results: Results,
    /// How failures travel.
    pub errors: Errors,
    /// How tools are spelled.
    pub names: Names,
}

/// Which halves of a result are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Results {
    /// Text for models and structured content for programs.
    #[default]
    Both,
    /// Text only.
    Text,
    /// Structured content, and its JSON as the text.
    Structured,
}

/// How failures travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Errors {
    /// As results that a model reads.
    #[default]
    Result,
    /// As JSON-RPC errors with the contract's codes.
    Jsonrpc,
}

/// How tools are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ToolNames {
    /// As they are.
    #[default]
    Dotted,
    /// With underscores instead of dots.
    Underscore,
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
    /// The tools that are to be served, in their listed order.
    pub fn tools(&self) -> Result<Vec<&'static Tool>, String> {
        for name in &self.tools {
            let is_known = tools::find(name).is_some()
                || tools::ALL.iter().any(|tool| tool.toolset.name() == name);
            if !is_known {
                let known: Vec<_> = tools::ALL.iter().map(|tool| tool.name).collect();
                return Err(format!(
                    "no toolset or tool is called {name}; there are the toolsets edit, text and files, and the tools {}",
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
