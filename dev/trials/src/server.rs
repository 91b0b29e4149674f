//! The servers that are tried: where they are installed and how they are started.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::client::Session;

/// Which server it is, and so which tools it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// recto.
    Recto,
    /// The TypeScript server of the protocol's authors.
    Official,
    /// rust-mcp-filesystem.
    RustMcp,
    /// mcp-text-editor.
    TextEditor,
}

/// The headings of their columns.
pub const NAMES: [&str; 4] =
    ["recto", "official 2026.8.31", "rust-mcp-filesystem 0.4.5", "mcp-text-editor 1.2.2"];

/// Where the peers stand in the folder of peers.
const PEERS: [(Kind, &str); 3] = [
    (Kind::Official, "official-2026.8.31/node_modules/.bin/mcp-server-filesystem"),
    (Kind::RustMcp, "rust-mcp-filesystem-0.4.5/bin/rust-mcp-filesystem"),
    (Kind::TextEditor, "mcp-text-editor-1.2.2/bin/mcp-text-editor"),
];

/// A server that can be started.
pub struct Server {
    pub kind: Kind,
    pub name: &'static str,
    program: PathBuf,
}

impl Server {
    pub fn recto(program: PathBuf) -> Server {
        Server { kind: Kind::Recto, name: NAMES[0], program }
    }

    /// The command that serves one folder.
    pub fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        match self.kind {
            Kind::Recto => command.arg("serve").arg(root),
            Kind::Official => command.arg(root),
            Kind::RustMcp => command.arg("--allow-write").arg(root),
            Kind::TextEditor => command.current_dir(root),
        };
        command
    }

    /// A session with a server on a folder.
    pub fn open(&self, root: &Path) -> Result<Session> {
        self.open_with(root, &[])
    }

    /// The same with options that only recto has.
    pub fn open_with(&self, root: &Path, options: &[&str]) -> Result<Session> {
        let mut command = self.command(root);
        if self.kind == Kind::Recto {
            command.args(options);
        }
        let mut session = Session::start(self.kind, &mut command)?;
        session.initialize()?;
        Ok(session)
    }
}

/// The peers that are installed, in the order of their columns.
pub fn peers() -> Vec<Option<Server>> {
    let folder = folder_of_peers();
    let find = |(index, (kind, place)): (usize, (Kind, &str))| {
        let program = folder.as_ref()?.join(place);
        let name = NAMES[index + 1];
        program.exists().then_some(Server { kind, name, program })
    };
    PEERS.into_iter().enumerate().map(find).collect()
}

fn folder_of_peers() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("RECTO_PEERS") {
        return Some(folder.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
    Some(cache?.join("recto/peers"))
}
