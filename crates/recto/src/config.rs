//! What the command line decides, checked.

use std::path::PathBuf;
use std::sync::Arc;

use recto_tools::{Names, Served};

use crate::wall::{self, Openings, Wish};
use recto_store::editor::Editor;
use recto_store::local::{HiddenPaths, Options};
use recto_store::workspace::Workspace;
use recto_store::{GitRevisions, LocalStore, WriteStore};
use recto_tools::call::{Calls, Witness};
use recto_tools::tools::{self, Effect, Tool};

/// Everything that a command is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folders that are served.
    pub roots: Vec<PathBuf>,
    /// Whether the kernel is to enforce them as well.
    pub wall: Wish,
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

    /// Raises the second wall around the roots, for this thread and all that it starts later. What
    /// would keep a server from starting is told before it stands.
    pub fn raise_wall(&self) -> Result<wall::Status, String> {
        self.check()?;
        // The number of processors is read from files that the wall closes.
        recto_store::limits::n_threads();
        self.openings()?.close_the_rest(self.wall)
    }

    /// What the tools that are served need of the disk.
    pub fn openings(&self) -> Result<Openings, String> {
        let can_write = self.tools()?.iter().any(|tool| tool.effect() != Effect::Reads);
        let mut openings = Openings { readable: self.git_dirs.clone(), writable: Vec::new() };
        match can_write {
            true => openings.writable.extend(self.roots.iter().cloned()),
            false => openings.readable.extend(self.roots.iter().cloned()),
        }
        Ok(openings)
    }

    /// Opens the store and gets ready for calls.
    pub fn open(&self) -> Result<Calls, String> {
        let store = self.open_disk()?;
        self.calls(store.clone(), store)
    }

    /// The same, but through an editor where it has the files, and in its person's sight.
    pub fn open_with_editor(
        &self,
        editor: Arc<dyn Editor>,
        witness: Arc<dyn Witness>,
    ) -> Result<Calls, String> {
        let disk = self.open_disk()?;
        let workspace = Arc::new(Workspace::new(disk.clone(), editor));
        Ok(self.calls(workspace, disk)?.with_witness(witness))
    }

    /// Opens the roots.
    pub fn open_disk(&self) -> Result<Arc<LocalStore>, String> {
        let store = LocalStore::open(Options {
            roots: self.roots.clone(),
            hidden: self.hidden.clone(),
            allows_git_writes: self.allows_git_writes,
            is_durable: self.is_durable,
        })
        .map_err(|error| error.to_string())?;
        Ok(Arc::new(store))
    }

    /// Finds whatever would keep a server from starting, without starting one.
    pub fn check(&self) -> Result<(), String> {
        self.tools()?;
        self.check_git_dirs()?;
        self.open_disk().map(drop)
    }

    fn check_git_dirs(&self) -> Result<(), String> {
        match self.git_dirs.iter().find(|git_dir| !git_dir.is_dir()) {
            Some(git_dir) => Err(format!("--git-dir: {} is not a folder", git_dir.display())),
            None => Ok(()),
        }
    }

    fn calls(&self, store: Arc<dyn WriteStore>, disk: Arc<LocalStore>) -> Result<Calls, String> {
        let root = disk.roots().into_iter().next().unwrap_or_default();
        self.check_git_dirs()?;
        let revisions = Arc::new(GitRevisions::new(disk, self.git_dirs.clone()));
        let served = Served::new(self.tools()?, self.wire.names);
        Ok(Calls::new(store, revisions, served, root, self.max_read_bytes))
    }
}
