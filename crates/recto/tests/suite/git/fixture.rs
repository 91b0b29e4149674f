//! Repositories made by git, and the store that reads them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use recto_store::Context;
use recto_store::Error;
use recto_store::git::GitRevisions;
use recto_store::glob::Glob;
use recto_store::local::{HiddenPaths, Options};
use recto_store::path::AbsPath;
use recto_store::{ListRequest, Listing, LocalStore, Revisions};
use tempfile::TempDir;

/// A directory for several repositories, without links in its path.
pub struct RepoDir {
    _folder: TempDir,
    pub path: PathBuf,
}

impl RepoDir {
    pub fn new() -> RepoDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        RepoDir { _folder: folder, path }
    }

    /// Creates an empty repository in it.
    pub fn repository(&self, name: &str) -> Git {
        self.repository_with(name, &[])
    }

    pub fn repository_with(&self, name: &str, options: &[&str]) -> Git {
        let git = Git { top: self.path.join(name) };
        std::fs::create_dir_all(&git.top).unwrap();
        git.run(&[&["init", "--quiet", "--initial-branch=main"], options].concat());
        git
    }

    /// Creates a repository with one commit of some files.
    pub fn with_files(&self, name: &str, files: &[(&str, &str)]) -> Git {
        let git = self.repository(name);
        for (path, text) in files {
            git.write(path, text);
        }
        git.commit("first");
        git
    }
}

/// A repository, and git to work with it.
pub struct Git {
    pub top: PathBuf,
}

impl Git {
    pub fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    pub fn write(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
        let path = self.top.join(Path::new(name.as_ref()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn commit(&self, message: &str) -> String {
        self.run(&["add", "--all"]);
        self.run(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.run(&["rev-parse", "HEAD"])
    }

    /// Returns git's output; git must succeed.
    pub fn run(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.bytes(arguments)).unwrap().trim_end().into()
    }

    pub fn bytes(&self, arguments: &[&str]) -> Vec<u8> {
        self.try_bytes(arguments, b"").unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = self.try_bytes(arguments, input);
        let output = output.unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        String::from_utf8(output).unwrap().trim_end().into()
    }

    pub fn try_bytes(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(&self.top)
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "Test"),
                    (format!("GIT_{who}_EMAIL"), "test@example.com"),
                    (format!("GIT_{who}_DATE"), "2024-01-02T03:04:05Z"),
                ]
            }))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
        let output = child.wait_with_output().unwrap();
        let _ = feeder.join();
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Returns the entries of `git ls-tree -r`: type and id by path.
    pub fn tree(&self, revision: &str) -> BTreeMap<Vec<u8>, (String, String)> {
        let listed = self.bytes(&["ls-tree", "-r", "-z", revision]);
        let entry = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let about = String::from_utf8(line[..tab].to_vec()).unwrap();
            let about: Vec<&str> = about.split(' ').collect();
            (line[tab + 1..].to_vec(), (about[1].into(), about[2].into()))
        };
        listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(entry).collect()
    }
}

/// A store over some roots.
pub struct Served {
    pub revisions: GitRevisions,
    pub caller: Context,
}

/// A store of the files on disk.
pub fn store(roots: &[&Path]) -> LocalStore {
    store_with(roots, &[])
}

fn store_with(roots: &[&Path], hidden: &[&str]) -> LocalStore {
    let hidden: Vec<String> = hidden.iter().map(|pattern| pattern.to_string()).collect();
    let store = LocalStore::open(Options {
        roots: roots.iter().map(|path| path.to_path_buf()).collect(),
        hidden: HiddenPaths::parse(&hidden).unwrap(),
        allows_git_writes: false,
        is_durable: false,
    });
    store.unwrap()
}

pub fn serve(roots: &[&Path]) -> Served {
    serve_with(roots, &[], &[])
}

pub fn serve_with(roots: &[&Path], git_dirs: &[&Path], hidden: &[&str]) -> Served {
    let git_dirs = git_dirs.iter().map(|path| path.to_path_buf()).collect();
    let revisions = GitRevisions::new(Arc::new(store_with(roots, hidden)), git_dirs);
    Served { revisions, caller: Context::default() }
}

impl Served {
    /// Returns the stored bytes of a file at a revision.
    pub fn read(&self, revision: &str, path: &str) -> Result<Vec<u8>, Error> {
        let at = self.revisions.at(revision, path, &self.caller)?;
        let file = at.store.open(&at.path, &self.caller)?;
        let mut bytes = vec![0; file.size() as usize];
        let mut n_read = 0;
        while n_read < bytes.len() {
            n_read += file.read_at(&mut bytes[n_read..], n_read as u64)?;
        }
        assert_eq!(file.read_at(&mut [0; 8], n_read as u64)?, 0);
        Ok(bytes)
    }

    /// Returns the same as text, for comparison.
    pub fn text(&self, revision: &str, path: &str) -> String {
        match self.read(revision, path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("{} {error}", recto_tools::Error::from(error.clone()).code()),
        }
    }

    pub fn list(&self, revision: &str, folder: &str, glob: &Glob) -> Result<Listing, Error> {
        let at = self.revisions.at(revision, folder, &self.caller)?;
        let limit = 1_000_000;
        let request = ListRequest { folder: &at.path, glob, shows_ignored: false, limit };
        at.store.list(&request, &self.caller)
    }

    /// Returns everything at a revision.
    pub fn all(&self, revision: &str, folder: &str) -> Result<Listing, Error> {
        self.list(revision, folder, &Glob::parse("**").unwrap().1.showing_hidden())
    }

    /// Returns the error for a path, with its hint.
    pub fn refusal(&self, revision: &str, path: &str) -> String {
        match self.read(revision, path) {
            Ok(_) => panic!("{path} at {revision} was read"),
            Err(error) => with_hint(error),
        }
    }
}

/// An error and its hint.
pub fn with_hint(error: Error) -> String {
    let error = recto_tools::Error::from(error);
    let hint = error.hint(&recto_tools::Served::all()).map(|hint| hint.text);
    format!("{error} | {}", hint.unwrap_or_default())
}

pub fn absolute(path: &Path) -> AbsPath {
    AbsPath::parse(path.to_str().unwrap().into()).unwrap()
}
