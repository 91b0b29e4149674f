//! recto and the servers that it is compared with: where they are installed and how they start.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// A server, which determines the tools that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// recto.
    Recto,
    /// The TypeScript server of the protocol's authors.
    Official,
    /// rust-mcp-filesystem.
    RustMcp,
    /// mcp-text-editor.
    TextEditor,
}

/// A server, as installed by `dev/support/install-peers`.
pub struct Server {
    /// Which one it is.
    pub kind: ServerKind,
    /// Its name and version.
    pub name: String,
    program: PathBuf,
}

impl Server {
    /// Returns recto and its peers in the order in which tables show them. The tools of
    /// mcp-text-editor differ between its versions, so the caller chooses one.
    pub fn all(recto: &Path, text_editor: &str) -> [Server; 4] {
        let peer = |kind, name, version, program| Server {
            kind,
            name: format!("{name} {version}"),
            program: folder_of_peers().join(format!("{name}-{version}/{program}")),
        };
        let official = "node_modules/.bin/mcp-server-filesystem";
        let rust_mcp = "bin/rust-mcp-filesystem";
        [
            Server::recto("recto", recto),
            peer(ServerKind::Official, "official", "2026.8.31", official),
            peer(ServerKind::RustMcp, "rust-mcp-filesystem", "0.4.5", rust_mcp),
            peer(ServerKind::TextEditor, "mcp-text-editor", text_editor, "bin/mcp-text-editor"),
        ]
    }

    /// Returns a build of recto.
    pub fn recto(name: &str, program: &Path) -> Server {
        Server { kind: ServerKind::Recto, name: name.into(), program: program.to_path_buf() }
    }

    /// Returns a command that runs the program without arguments.
    pub fn run(&self) -> Command {
        Command::new(&self.program)
    }

    /// Returns whether the program exists.
    pub fn is_installed(&self) -> bool {
        self.program.exists()
    }

    /// Returns the command that serves a directory for reading and writing, with default settings but
    /// for the size of answers: the other servers have no limit. The old name of the option also works
    /// with older builds.
    pub fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        match self.kind {
            ServerKind::Recto => {
                command.arg("serve").arg(root).args(["--max-read-bytes", "4194304"])
            }
            ServerKind::Official => command.arg(root),
            ServerKind::RustMcp => command.arg("--allow-write").arg(root),
            // It has no roots.
            ServerKind::TextEditor => command.current_dir(root),
        };
        command.stderr(Stdio::null());
        command
    }
}

/// Returns the directory of the installed peers.
pub fn folder_of_peers() -> PathBuf {
    if let Some(folder) = std::env::var_os("RECTO_PEERS") {
        return folder.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("recto/peers")
}

/// Returns the recto that the user named, or else the release build in the target directory of the
/// running program, which is built if it does not exist.
pub fn find_recto(named: Option<PathBuf>) -> Result<PathBuf> {
    let recto = match named {
        Some(path) => path,
        None => release_build()?,
    };
    let at = |error| format!("{}: {error}", recto.display());
    let age = recto.metadata().and_then(|metadata| metadata.modified()).map_err(at)?.elapsed();
    let minutes = age.map_or(0, |age| age.as_secs() / 60);
    eprintln!("using {}, built {minutes} minutes ago", recto.display());
    Ok(recto.canonicalize().map_err(at)?)
}

fn release_build() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).ok_or("not in a target directory")?;
    let recto = target.join("release/recto");
    if !recto.exists() {
        eprintln!("{} does not exist; building it", recto.display());
        let mut build = Command::new("cargo");
        build.args(["build", "--release", "-p", "recto", "--target-dir"]).arg(target);
        if !build.status()?.success() || !recto.exists() {
            return Err("recto could not be built; name a built one with --recto".into());
        }
    }
    Ok(recto)
}
