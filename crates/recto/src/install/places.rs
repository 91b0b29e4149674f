//! Where clients keep their files on this machine.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::client::{Client, ConfigFile, Place};

/// The directories and variables that determine where files are.
pub struct Surroundings {
    /// The home directory.
    pub home: PathBuf,
    /// The project.
    pub project: PathBuf,
    /// Whether files are where macOS has them.
    pub is_mac: bool,
    /// The variables of the environment.
    pub variable: fn(&str) -> Option<OsString>,
}

/// Whose settings to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for all projects.
    User,
    /// The project's.
    Project,
}

impl Scope {
    /// Returns the word that clients use for it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

impl Surroundings {
    /// Returns those of this process.
    pub fn current() -> Result<Surroundings, String> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        let home = home.ok_or("HOME is not set")?;
        let project = std::env::current_dir().and_then(|here| here.canonicalize());
        let project = project.map_err(|error| format!("working directory: {error}"))?;
        let is_mac = cfg!(target_os = "macos");
        let variable = |name: &str| std::env::var_os(name);
        Ok(Surroundings { home: home.into(), project, is_mac, variable })
    }

    /// Returns the path of a place. `None` if a variable that it needs is not set.
    pub fn path(&self, place: Place) -> Option<PathBuf> {
        let named = |variable: &str| {
            let value = (self.variable)(variable).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let config = || {
            let named = named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            named.unwrap_or_else(|| self.home.join(".config"))
        };
        Some(match place {
            Place::Home(path) => self.home.join(path),
            Place::Variable(variable, otherwise, path) => {
                let base = named(variable).unwrap_or_else(|| self.home.join(otherwise));
                base.join(path)
            }
            Place::File(variable) => named(variable)?,
            Place::Config(path) => config().join(path),
            Place::Application(path) if self.is_mac => {
                self.home.join("Library/Application Support").join(path)
            }
            Place::Application(path) => config().join(path),
            Place::Project(path) => self.project.join(path),
        })
    }

    /// Returns the directory for recto's records of what it changed.
    pub fn records(&self) -> PathBuf {
        let named = (self.variable)("XDG_STATE_HOME").map(PathBuf::from);
        let base = named.filter(|path| path.is_absolute());
        base.unwrap_or_else(|| self.home.join(".local/state")).join("recto/install")
    }

    /// Finds a program on the PATH.
    pub fn on_path(&self, program: &str) -> Option<PathBuf> {
        let path = (self.variable)("PATH")?;
        let is_program = |path: &PathBuf| {
            path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program))
            .find(is_program)
    }

    /// Whether a client is installed: one of its programs or directories exists.
    pub fn has(&self, client: &Client) -> bool {
        client.programs.iter().any(|program| self.on_path(program).is_some())
            || client.traces.iter().any(|trace| self.path(*trace).is_some_and(|it| it.exists()))
    }

    /// Returns the paths that a file may have, in order.
    pub fn paths(&self, file: &ConfigFile) -> Vec<PathBuf> {
        file.places.iter().filter_map(|place| self.path(*place)).collect()
    }

    /// Shows a path with `~` for the home directory.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}
