//! What the commands that read the journal share.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use recto_journal::{Change, Kind, Reader, State, StateDir};
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::record::Recording;
use recto_store::{Context, Hold, LocalStore, WriteStore};
use recto_text::line_diff::LineDiff;
use recto_text::quote::Escaped;
use recto_text::{Document, Size};

use super::options::StateDirOption;
use super::print::print;
use crate::log::Moment;

/// The lines of context in a diff.
const CONTEXT: usize = 3;

/// The most text of one diff.
const MAX_DIFF: Size = Size { bytes: 16 << 20, json: usize::MAX };

/// The most files that are inspected because a process was killed.
const MAX_SETTLED: usize = 1000;

/// Returns the state directory, if something was recorded there.
pub fn state_dir(option: &StateDirOption) -> Result<StateDir, String> {
    let path = StateDir::locate(option.state_dir.as_deref());
    let path = path.ok_or("there is no home directory; name the journal's with --state-dir")?;
    StateDir::find(&path)
        .filter(|dir| dir.database().exists())
        .ok_or_else(|| format!("no changes are recorded in {}", path.display()))
}

/// Opens the journal, and judges changes of killed processes by what is in their files.
pub fn open(option: &StateDirOption) -> Result<Reader, String> {
    let dir = state_dir(option)?;
    let reader = Reader::open(&dir).map_err(|error| error.to_string())?;
    let mut reader = reader.ok_or("no changes are recorded")?;
    settle(&mut reader).map_err(|error| error.to_string())?;
    Ok(reader)
}

fn settle(reader: &mut Reader) -> recto_journal::Result<()> {
    let mut files: Vec<(PathBuf, PathBuf)> =
        reader.unsettled()?.into_iter().map(|change| (change.root, change.path)).collect();
    files.sort();
    files.dedup();
    for (root, path) in files.into_iter().take(MAX_SETTLED) {
        // A root that no longer exists, or a file that cannot be locked, stays as it is.
        let Ok(store) = store(&root, Recording::default()) else { continue };
        let (context, path) = (Context::default(), abs(&path));
        let Ok(hold) = store.hold(&path, &context) else { continue };
        match hold {
            Hold::Vacant(_slot) => reader.settle(path.as_path(), None)?,
            Hold::File(file) => {
                if let Ok(file) = file.whole() {
                    reader.settle(path.as_path(), Some(file.content().bytes()))?;
                }
            }
        }
    }
    Ok(())
}

/// Opens a root.
pub fn store(root: &Path, recording: Recording) -> Result<LocalStore, String> {
    let options = Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: true,
        is_durable: true,
    };
    let store = LocalStore::open(options).map_err(|error| error.to_string())?;
    Ok(store.with_recording(recording))
}

/// Returns a recorded path, which is absolute.
pub fn abs(path: &Path) -> AbsPath {
    AbsPath::of(path.to_path_buf(), path.display().to_string())
}

/// Returns a path that the user named, with links resolved up to the part that does not exist.
pub fn real_path(path: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let path = std::path::absolute(path).map_err(failed)?;
    let name = |path: &Path| path.file_name().map(PathBuf::from);
    match (path.canonicalize(), path.parent().map(Path::canonicalize), name(&path)) {
        (Ok(path), ..) => Ok(path),
        (Err(_), Some(Ok(parent)), Some(name)) => Ok(parent.join(name)),
        _ => Ok(path),
    }
}

/// Returns a path relative to the working directory, if it is below it.
pub fn shown(path: &Path) -> String {
    static HERE: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::current_dir().and_then(|here| here.canonicalize()).ok());
    let below = HERE.as_ref().and_then(|here| path.strip_prefix(here).ok());
    let path = below.filter(|path| !path.as_os_str().is_empty()).unwrap_or(path);
    Escaped(&path.display().to_string()).to_string()
}

/// Returns the path of a change, and the old and the new one of a move.
pub fn shown_names(change: &Change) -> String {
    match change.moved_names() {
        Some([old, new]) => format!("{} -> {}", shown(old), shown(new)),
        None => shown(&change.path),
    }
}

/// Returns the time of a change in UTC.
pub fn time(change: &Change) -> String {
    let time = moment(change.time).to_string();
    time.get(..19).unwrap_or(&time).replace('T', " ")
}

/// Returns a time in milliseconds since 1970.
pub fn moment(time: i64) -> Moment {
    Moment(UNIX_EPOCH + Duration::from_millis(u64::try_from(time).unwrap_or(0)))
}

/// Returns who made a change.
pub fn who(change: &Change) -> String {
    let who = match &change.session {
        _ if change.kind == Kind::Foreign => "not by recto".to_string(),
        None => "unknown".to_string(),
        Some(session) if session.client.is_empty() => session.name.clone(),
        Some(session) if session.name.is_empty() => {
            format!("{} {} (session unknown)", session.client, session.version)
        }
        Some(session) => format!("{} {} ({})", session.client, session.version, session.name),
    };
    Escaped(&who).to_string()
}

/// Returns the title of the turn in which a change was made, and its model.
pub fn turn(change: &Change) -> Option<String> {
    let title = change.turn.title.as_ref().map(|title| format!("\"{}\"", Escaped(title)));
    let model = change.turn.model.as_ref().map(|model| format!("[{}]", Escaped(model)));
    let turn: Vec<String> = title.into_iter().chain(model).collect();
    (!turn.is_empty()).then(|| turn.join(" "))
}

/// Returns what is unusual about a change.
pub fn notes(change: &Change) -> String {
    let mut notes = Vec::new();
    if change.state != State::Done {
        notes.push(change.state.name());
    }
    if change.is_in_editor {
        notes.push("in editor");
    }
    if !change.has_content && change.kind != Kind::Foreign && change.moved.is_none() {
        notes.push("content not stored");
    }
    if notes.is_empty() { String::new() } else { format!(" [{}]", notes.join(", ")) }
}

/// Returns the difference between two versions of a file.
pub fn diff(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let name = shown(path);
    let side = |content: Option<&[u8]>, prefix| match content {
        Some(_) => format!("{prefix}/{name}"),
        None => "/dev/null".to_string(),
    };
    let mut out = format!("--- {}\n+++ {}\n", side(before, "a"), side(after, "b"));
    let text = |content: Option<&[u8]>| Document::parse(content.unwrap_or_default().to_vec());
    match (text(before), text(after)) {
        (Ok(before), Ok(after)) => {
            let (before, after) = (before.text(), after.text());
            let mut hunks = String::new();
            let diff = LineDiff::new(before.as_bytes(), after.as_bytes());
            diff.write_hunks(&mut hunks, CONTEXT, MAX_DIFF);
            out.push_str(&hunks);
        }
        _ => out.push_str("Binary files differ\n"),
    }
    out
}

/// Prints text, on a terminal in colour and with a pager, as git does.
pub fn page(text: &str) -> Result<(), String> {
    if !std::io::stdout().is_terminal() {
        return print(text);
    }
    let text = if std::env::var_os("NO_COLOR").is_some() { text.into() } else { coloured(text) };
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".into());
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return print(&text) };
    // A reader that quits early is not an error.
    let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    match child.wait() {
        Ok(status) if status.code() == Some(127) => print(&text),
        _ => Ok(()),
    }
}

fn coloured(text: &str) -> String {
    let line = |line: &str| {
        let colour = match line.as_bytes() {
            [b'+', ..] => "32",
            [b'-', ..] => "31",
            [b'@', b'@', ..] => "36",
            [b'c', b'h', b'a', b'n', b'g', b'e', b' ', ..] => "33",
            _ => return format!("{line}\n"),
        };
        format!("\x1b[{colour}m{line}\x1b[m\n")
    };
    text.lines().map(line).collect()
}
