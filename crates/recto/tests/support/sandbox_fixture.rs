//! A test directory with files inside and outside its root, and the `check` function that attacks
//! it.
//!
//! Files inside contain "inside" and files outside "outside", so that every edit of a table would
//! work on either if nothing confined the server.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use recto_text::quote::Quoted;
use serde_json::{Map, Value, json};

use crate::client::{Actual, Client, Revision, run};
use crate::confinement::Confinement;
use crate::test_dir::TestDir;

pub const INSIDE: &str = "inside\n";
pub const OUTSIDE: &str = "outside\n";

/// The time limit of one call, far above what any call should take.
const MAX_WAIT: Duration = Duration::from_secs(15);

pub const TOOLS: [&str; 4] =
    ["read_text_file", "edit_text_file", "multi_edit_text_file", "write_text_file"];

/// The expected answer of all four tools for a path.
#[derive(Debug, Clone)]
pub enum Expected {
    /// The error for a path outside, with the roots as a hint.
    Outside,
    /// Reads work; changes are rejected, because the file is inside `.git`.
    ReadableGit,
    /// The file does not exist and cannot be created, because it is inside `.git`.
    MissingGit,
    /// Reads work; the system denies changes.
    Readable,
    /// Reads work; the system denies changes in the file's directory.
    ReadableInReadOnlyDir,
    /// Reads work; changes are rejected, because another user owns the file.
    ReadableForeign,
    /// The system denies everything.
    Closed,
    /// The file does not exist, and the system denies creating it.
    CannotCreate,
    /// The path is neither a file nor a directory.
    NotAFile,
    /// The path is a directory.
    Directory,
    /// The file does not exist; a write creates the named one.
    Missing(PathBuf),
    /// The parent directory does not exist; a write names it.
    NoParent,
    /// A link to a file whose directory does not exist; a write names that directory.
    LinkWithoutParent(&'static str),
    /// A path that no file can have.
    Impossible,
    /// Rejected, with whichever code fits.
    Refused,
    /// Every tool works on the named file and on no other.
    Opens(PathBuf),
}

use Expected::*;

/// See [`Expected::Opens`].
pub fn opens(target: impl Into<PathBuf>) -> Expected {
    Opens(target.into())
}

/// See [`Expected::Missing`].
pub fn missing(target: impl Into<PathBuf>) -> Expected {
    Missing(target.into())
}

/// One path and its expected answer. Paths that do not start with `/` are below the fixture.
pub type Row = (String, Expected);

/// Expands rows for a target that exists and one that does not: `{t}` is its name.
pub fn outside(paths: &[&str]) -> Vec<Row> {
    let names = ["secret.txt", "missing.txt"];
    let row = |path: &&str, name: &str| (path.replace("{t}", name), Outside);
    let mut rows: Vec<Row> = Vec::new();
    for path in paths {
        let n_names = if path.contains("{t}") { 2 } else { 1 };
        rows.extend(names[..n_names].iter().map(|name| row(path, name)));
    }
    rows
}

/// Converts literal rows.
pub fn rows<const N: usize>(rows: [(&str, Expected); N]) -> Vec<Row> {
    rows.into_iter().map(|(path, expected)| (path.to_string(), expected)).collect()
}

/// A test directory with files inside and outside the root.
pub struct SandboxFixture(TestDir);

impl Deref for SandboxFixture {
    type Target = TestDir;

    fn deref(&self) -> &TestDir {
        &self.0
    }
}

impl SandboxFixture {
    pub fn new() -> SandboxFixture {
        let fixture = SandboxFixture(TestDir::new());
        fixture.file("root/inside.txt").file("root/sub/inside.txt").file("root/sub/deep/f.txt");
        for folder in ["", "outside/", "outside/deep/", "root-sibling/", "roo/"] {
            fixture.file(&format!("{folder}secret.txt"));
        }
        fixture
    }

    /// Writes a file, and its parent directories, with the text of its side.
    pub fn file(&self, below: &str) -> &SandboxFixture {
        let is_inside = ["root/", "second/"].iter().any(|root| below.starts_with(root));
        self.file_with(below, if is_inside { INSIDE } else { OUTSIDE })
    }

    pub fn file_with(&self, below: &str, text: &str) -> &SandboxFixture {
        self.0.file(below, text);
        self
    }

    /// Makes a link; `{base}` in its target is the test directory.
    pub fn link(&self, below: &str, target: &str) -> &SandboxFixture {
        self.0.link(below, target);
        self
    }

    /// Checks a table against a server of `root`.
    pub fn check(&self, options: &[&str], rows: &[Row]) {
        self.check_roots(&["root"], options, rows);
    }

    /// Checks a table against a server of several roots, under every kind of confinement.
    pub fn check_roots(&self, roots: &[&str], options: &[&str], rows: &[Row]) {
        let roots: Vec<String> = roots.iter().map(|root| self.spelled(root)).collect();
        let mut arguments: Vec<String> =
            options.iter().map(|option| option.replace("{base}", &self.spelled(""))).collect();
        for root in &roots[1..] {
            arguments.extend(["--root".to_string(), root.clone()]);
        }
        // A hint names the canonical roots.
        let real = |root: &String| std::fs::canonicalize(root).unwrap().display().to_string();
        let real_roots: Vec<String> = roots.iter().map(real).collect();
        for confinement in Confinement::ALL {
            let command = confinement.serve(Path::new(&roots[0]), &arguments);
            run(async {
                let client = Client::start_command(command.into(), Revision::Handshake).await;
                self.check_with(client, &real_roots, rows).await;
            });
        }
    }

    /// Checks a table through a client that is already running.
    pub async fn check_with(&self, client: Client, roots: &[String], rows: &[Row]) {
        let mut failures = Vec::new();
        for (path, expected) in rows {
            for tool in TOOLS {
                if let Err(failure) = self.attack(&client, roots, tool, path, expected).await {
                    let shown = Quoted(path).to_string();
                    failures.push(format!("{tool} {shown:?}, {expected:?}:\n  {failure}"));
                }
            }
        }
        client.stop().await;
        let n_calls = rows.len() * TOOLS.len();
        assert!(
            failures.is_empty(),
            "{} of {n_calls} calls\n\n{}",
            failures.len(),
            failures.join("\n")
        );
    }

    /// Makes one call and compares its answer and every file afterwards.
    async fn attack(
        &self,
        client: &Client,
        roots: &[String],
        tool: &str,
        path: &str,
        expected: &Expected,
    ) -> Result<(), String> {
        let path = self.spelled(path);
        let before = Snapshot::take(&self.path(""));
        let call = client.call(tool, arguments(tool, &path));
        let answer = tokio::time::timeout(MAX_WAIT, call).await;
        let actual = answer.map_err(|_| format!("no answer within {MAX_WAIT:?}"))?;
        let changed = before.changed(&Snapshot::take(&self.path("")));
        let now = |path: &PathBuf| std::fs::read_to_string(self.path(path)).unwrap_or_default();
        let texts: Vec<String> = changed.iter().map(now).collect();
        before.restore(&self.path(""), &changed);
        if !changed.is_empty() {
            // The session must know the restored version to overwrite it.
            client.call("read_text_file", arguments("read_text_file", &path)).await;
        }
        let found: String = format!("{actual:?}").chars().take(300).collect();
        let no_change = || match &changed[..] {
            [] => Ok(()),
            changed => Err(format!("it changed {changed:?}")),
        };
        match expected.answer(tool, &path, roots) {
            Answer::Error { code, message, hint } => {
                let Actual::Error { code: was, message: text, hint: told } = &actual else {
                    return Err(format!("expected {code} {message:?}\n  found {found}"));
                };
                // A hint may name what is at the path instead of a file, or what is near it, but nothing
                // outside the roots.
                let is_inside =
                    |hint: &String| !hint.contains("secret") && !hint.contains("outside");
                let is_told = match expected {
                    NotAFile => true,
                    _ if code == -32001 => told.as_ref().is_none_or(is_inside),
                    _ => *told == hint,
                };
                if (*was, text, is_told) != (code, &message, true) {
                    return Err(format!("expected {code} {message:?} {hint:?}\n  found {found}"));
                }
                no_change()
            }
            Answer::AnyError => match &actual {
                Actual::Error { code: -32003..=-32001 | -32600, .. } => no_change(),
                _ => Err(format!("expected a refusal\n  found {found}")),
            },
            Answer::Read => match &actual {
                Actual::Answer { structured, .. } if structured["content"] == INSIDE => no_change(),
                _ => Err(format!("expected {INSIDE:?}\n  found {found}")),
            },
            Answer::Change { target, text } => match &actual {
                Actual::Answer { .. } if changed == [target] && texts == [text] => Ok(()),
                _ => Err(format!(
                    "expected {target:?} to hold {text:?}\n  found {changed:?} {texts:?} {found}"
                )),
            },
        }
    }
}

/// Returns arguments that would work on any file of the fixture.
pub fn arguments(tool: &str, path: &str) -> Map<String, Value> {
    let edit = json!({"old_string": "side", "new_string": "-edited"});
    let arguments = match tool {
        "read_text_file" => json!({"path": path}),
        "write_text_file" => json!({"path": path, "content": "written\n"}),
        "edit_text_file" => json!({"path": path, "old_string": "side", "new_string": "-edited"}),
        "multi_edit_text_file" => json!({"path": path, "edits": [edit]}),
        other => panic!("no such tool: {other}"),
    };
    let Value::Object(arguments) = arguments else { unreachable!() };
    arguments
}

enum Answer<'a> {
    Error { code: i32, message: String, hint: Option<String> },
    AnyError,
    Read,
    Change { target: &'a Path, text: &'static str },
}

impl Expected {
    fn answer(&self, tool: &str, path: &str, roots: &[String]) -> Answer<'_> {
        let shown = Quoted(path);
        let error = |code, message| Answer::Error { code, message, hint: None };
        let denied = |hint: Option<String>| Answer::Error {
            code: -32002,
            message: format!("Permission denied: {shown}"),
            hint,
        };
        let git_hint = "Writing inside .git is not permitted; the user can start recto with \
                        --allow-git-writes.";
        let in_git = || denied(Some(git_hint.into()));
        let not_found = || error(-32001, format!("File not found: {shown}"));
        let is_read = tool == "read_text_file";
        let is_write = tool == "write_text_file";
        let text = if is_write { "written\n" } else { "in-edited\n" };
        match self {
            Outside => denied(Some(format!(
                "Only files under these roots are accessible: {}",
                roots.join(", ")
            ))),
            Opens(_) | Readable | ReadableGit | ReadableForeign | ReadableInReadOnlyDir
                if is_read =>
            {
                Answer::Read
            }
            Opens(target) => Answer::Change { target, text },
            Readable | Closed => denied(None),
            ReadableGit => in_git(),
            ReadableInReadOnlyDir => denied(Some(
                "The directory is not writable; edits replace the file, so write permission on the \
                 directory is required."
                    .into(),
            )),
            ReadableForeign => denied(Some(
                "The file belongs to another user or group; edits replace the file, which would \
                 change its owner."
                    .into(),
            )),
            CannotCreate if is_write => denied(None),
            CannotCreate => not_found(),
            MissingGit if is_read => not_found(),
            MissingGit => in_git(),
            NotAFile => error(-32003, format!("{shown} is not a file")),
            Directory if is_write => error(-32003, format!("{shown} is a directory")),
            Directory => Answer::Error {
                code: -32003,
                message: format!("{shown} is not a file"),
                hint: Some("It is a directory.".into()),
            },
            Missing(target) if is_write => Answer::Change { target, text },
            NoParent | LinkWithoutParent(_) if is_write => {
                let parent = match self {
                    LinkWithoutParent(below) => format!("{}/{below}", roots[0]),
                    _ => Path::new(path).parent().unwrap().display().to_string(),
                };
                let message = format!("Parent directory not found: {}", Quoted(&parent));
                let hint = "A parent directory does not exist; check the path.";
                Answer::Error { code: -32001, message, hint: Some(hint.into()) }
            }
            Missing(_) | NoParent | LinkWithoutParent(_) => not_found(),
            Impossible => error(
                -32600,
                format!("Path is too long for the file system: {shown}"),
            ),
            Refused => Answer::AnyError,
        }
    }
}

/// Everything below a directory: the kind of each entry, and for files whether they changed.
#[derive(PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, EntryState>);

#[derive(PartialEq, Eq)]
struct EntryState {
    mode: u32,
    /// Inode, modification time and text of a file; a directory's times change with its entries.
    identity: Option<(u64, i64, i64, Vec<u8>)>,
    target: Option<PathBuf>,
}

impl Snapshot {
    pub fn take(folder: &Path) -> Snapshot {
        let mut snapshot = Snapshot(BTreeMap::new());
        snapshot.add_below(folder, Path::new(""));
        snapshot
    }

    fn add_below(&mut self, base: &Path, below: &Path) {
        // A directory that the test made unreadable has nothing to compare.
        let Ok(entries) = std::fs::read_dir(base.join(below)) else { return };
        for entry in entries {
            let path = below.join(entry.unwrap().file_name());
            let status = std::fs::symlink_metadata(base.join(&path)).unwrap();
            let identity = || {
                // A huge file is compared by its times alone.
                let is_giant = status.len() > 1 << 20;
                let read = || std::fs::read(base.join(&path)).unwrap_or_default();
                let text = if is_giant { Vec::new() } else { read() };
                (status.ino(), status.ctime(), status.ctime_nsec(), text)
            };
            let seen = EntryState {
                mode: status.mode(),
                identity: status.is_file().then(identity),
                target: std::fs::read_link(base.join(&path)).ok(),
            };
            if status.is_dir() {
                self.add_below(base, &path);
            }
            self.0.insert(path, seen);
        }
    }

    /// Restores changed files and removes new ones.
    fn restore(&self, folder: &Path, changed: &[PathBuf]) {
        for path in changed {
            match self.0.get(path).and_then(|seen| seen.identity.as_ref()) {
                Some((.., text)) => std::fs::write(folder.join(path), text).unwrap(),
                None => std::fs::remove_file(folder.join(path)).unwrap(),
            }
        }
    }

    /// Returns the paths that were added, removed or changed.
    pub fn changed(&self, after: &Snapshot) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.0.keys().chain(after.0.keys()).collect();
        paths.sort();
        paths.dedup();
        let is_changed = |path: &&&PathBuf| self.0.get(**path) != after.0.get(**path);
        paths.iter().filter(is_changed).map(|path| path.to_path_buf()).collect()
    }
}
