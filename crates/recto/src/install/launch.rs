//! How a client starts recto.

use std::path::{Path, PathBuf};

use recto_tools::Names;
use recto_tools::tools::{Effect, Tool};
use serde_json::Value;

use super::client::{DefaultRoot, Member};
use super::places::{Scope, Surroundings};

/// The program and the arguments of an entry.
#[derive(Clone)]
pub struct Launch {
    /// The absolute path of the program.
    pub program: String,
    /// The directories to serve.
    pub roots: Vec<String>,
    /// The options that select tools, as the user passed them.
    pub options: Vec<String>,
    /// The tools that they select.
    pub served: Vec<&'static Tool>,
    /// A server that runs already, with the members of the client's entry for it.
    pub http: Option<(String, &'static [(&'static str, Member)])>,
}

impl Launch {
    /// Returns the arguments of the MCP server.
    pub fn server_arguments(&self) -> Vec<String> {
        let roots = self.roots.iter().cloned();
        let options = self.options.iter().cloned();
        std::iter::once("serve".to_string()).chain(roots).chain(options).collect()
    }

    /// Returns the entry for a server that runs already.
    pub fn http_entry(&self) -> Value {
        let (url, members) = self.http.as_ref().map_or(("", &[][..]), |(url, it)| (url, *it));
        let pair = |(key, member): &(&str, Member)| (key.to_string(), member.value(url));
        Value::Object(members.iter().map(pair).collect())
    }

    /// Returns the arguments of the ACP agent.
    pub fn agent_arguments(&self) -> Vec<String> {
        std::iter::once("codex".to_string()).chain(self.options.iter().cloned()).collect()
    }

    /// Returns Claude Code's rules that allow the tools that only read.
    pub fn reading_rules(&self) -> Vec<String> {
        let reads = self.served.iter().filter(|tool| tool.effect() == Effect::Reads);
        reads.map(|tool| format!("mcp__recto__{}", Names::Underscore.spell(tool))).collect()
    }
}

/// Returns the directories that a client serves: those that the user named, or its default.
pub fn roots(
    named: &[PathBuf],
    default: DefaultRoot,
    scope: Scope,
    around: &Surroundings,
) -> Result<Vec<String>, String> {
    let absolute = |root: &PathBuf| {
        let real = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        match real.is_dir() {
            true => text(&real),
            false => Err(format!("{} is not a directory", root.display())),
        }
    };
    if !named.is_empty() {
        return named.iter().map(absolute).collect();
    }
    let home = around.home.canonicalize().unwrap_or_else(|_| around.home.clone());
    let is_unsafe = around.project == Path::new("/") || around.project == home;
    match default {
        DefaultRoot::WorkingDirectory => Ok(vec![".".into()]),
        DefaultRoot::Variable(name) => Ok(vec![name.into()]),
        DefaultRoot::ProjectVariable(name) if scope == Scope::Project => Ok(vec![name.into()]),
        DefaultRoot::Fixed | DefaultRoot::ProjectVariable(_) if is_unsafe => Err(
            "it starts servers in any directory, so it needs one to serve: run recto install in \
                 the project, or pass --root DIR"
                .into(),
        ),
        DefaultRoot::Fixed | DefaultRoot::ProjectVariable(_) => Ok(vec![text(&around.project)?]),
    }
}

/// Returns the path of this program: as found on the PATH, which an upgrade keeps, else as started.
pub fn this_program(around: &Surroundings) -> Result<String, String> {
    let started = std::env::current_exe().map_err(|error| format!("cannot find recto: {error}"))?;
    let is_same = |found: &PathBuf| found.canonicalize().ok() == started.canonicalize().ok();
    text(&around.on_path("recto").filter(is_same).unwrap_or(started))
}

fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_string())
}
