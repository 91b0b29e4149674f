//! Builds what a command needs from its options: stores, git revisions, Landlock rules, calls.

use std::path::PathBuf;
use std::sync::Arc;

use recto_journal::StateDir;
use recto_store::editor::Editor;
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::{Context, GitRevisions, LocalStore, Store, Workspace, WriteStore};
use recto_tools::Served;
use recto_tools::call::{Calls, Witness};
use recto_tools::tools::Effect;

use crate::config::{Config, JournalMode};
use crate::journal::{self, OpenJournal};
use crate::landlock::{self, AllowedPaths};

/// Restricts this thread, and threads it starts later, to the roots. Reports every problem that
/// would prevent a server from starting first.
pub fn apply_landlock(config: &Config) -> Result<landlock::Enforcement, String> {
    check(config)?;
    // Reads the number of processors from files that Landlock then makes inaccessible.
    recto_store::limits::n_threads();
    let mut allowed_paths = allowed_paths(config)?;
    // Creates it: only a directory that exists can be allowed.
    allowed_paths.writable.extend(state_dir(config)?.map(|dir| dir.path().to_path_buf()));
    allowed_paths.restrict_thread(config.landlock)
}

/// Creates the state directory, if changes are recorded and it can be created.
fn state_dir(config: &Config) -> Result<Option<StateDir>, String> {
    match can_write(config)? && config.journal.mode != JournalMode::Off {
        true => Ok(journal::state_dir(&config.journal).ok()),
        false => Ok(None),
    }
}

/// Returns the journal for the changes of this process. Nothing is opened before the first change.
pub fn journal(config: &Config, command: &str) -> Result<OpenJournal, String> {
    match can_write(config)? {
        true => Ok(OpenJournal::new(&config.journal, command)),
        false => Ok(OpenJournal::default()),
    }
}

fn can_write(config: &Config) -> Result<bool, String> {
    Ok(config.tools()?.iter().any(|tool| tool.effect() != Effect::Reads))
}

/// Returns the directories that the selected tools need.
pub fn allowed_paths(config: &Config) -> Result<AllowedPaths, String> {
    let can_write = can_write(config)?;
    let mut allowed_paths =
        AllowedPaths { readable: config.git_dirs.clone(), writable: Vec::new() };
    match can_write {
        true => allowed_paths.writable.extend(config.roots.iter().cloned()),
        false => allowed_paths.readable.extend(config.roots.iter().cloned()),
    }
    Ok(allowed_paths)
}

/// Opens the roots and returns the handler of calls.
pub fn open(config: &Config, journal: &OpenJournal) -> Result<Calls, String> {
    let store = open_recorded(config, journal)?;
    Ok(calls(config, store.clone(), store)?.with_changes(journal.changes()))
}

/// Like [`open`], for directories inside the roots only. Patterns of hidden paths still start from
/// the roots.
pub fn open_part(
    config: &Config,
    journal: &OpenJournal,
    parts: &[PathBuf],
) -> Result<Calls, String> {
    let whole = open_disk(config)?;
    for part in parts {
        let real = part.canonicalize().map_err(|error| format!("{}: {error}", part.display()))?;
        let path = AbsPath::of(real.clone(), real.display().to_string());
        let is_inside = whole.roots().contains(&real)
            // Not for a hidden directory either.
            || whole.real_path(&path, &Context::default()).as_ref() == Some(&real);
        if !is_inside || !real.is_dir() {
            return Err(format!("{} is not a directory inside the roots", part.display()));
        }
    }
    let hidden = config.hidden.clone().starting_from(whole.roots());
    open(&Config { roots: parts.to_vec(), hidden, ..config.clone() }, journal)
}

/// Like [`open`], but uses the editor's text of files that are open there, and reports every call
/// to it.
pub fn open_with_editor(
    config: &Config,
    journal: &OpenJournal,
    editor: Arc<dyn Editor>,
    witness: Arc<dyn Witness>,
) -> Result<Calls, String> {
    let disk = open_recorded(config, journal)?;
    let workspace = Arc::new(Workspace::new(disk.clone(), editor));
    let calls = calls(config, workspace, disk)?.with_changes(journal.changes());
    Ok(calls.with_witness(witness))
}

/// Opens the roots, and records every change.
fn open_recorded(config: &Config, journal: &OpenJournal) -> Result<Arc<LocalStore>, String> {
    Ok(Arc::new(open_store(config)?.with_recording(journal.recording())))
}

/// Opens the roots.
pub fn open_disk(config: &Config) -> Result<Arc<LocalStore>, String> {
    open_store(config).map(Arc::new)
}

fn open_store(config: &Config) -> Result<LocalStore, String> {
    LocalStore::open(Options {
        roots: config.roots.clone(),
        hidden: config.hidden.clone(),
        allows_git_writes: config.allows_git_writes,
        is_durable: config.is_durable,
    })
    .map_err(|error| error.to_string())
}

/// Reports problems that would prevent a server from starting.
pub fn check(config: &Config) -> Result<(), String> {
    config.tools()?;
    check_git_dirs(config)?;
    open_disk(config).map(drop)
}

fn check_git_dirs(config: &Config) -> Result<(), String> {
    match config.git_dirs.iter().find(|git_dir| !git_dir.is_dir()) {
        Some(git_dir) => Err(format!("--git-dir: {} is not a directory", git_dir.display())),
        None => Ok(()),
    }
}

fn calls(
    config: &Config,
    store: Arc<dyn WriteStore>,
    disk: Arc<LocalStore>,
) -> Result<Calls, String> {
    let mut roots = disk.roots().into_iter();
    let root = roots.next().unwrap_or_default();
    let more_roots = roots.collect();
    check_git_dirs(config)?;
    let revisions = Arc::new(GitRevisions::new(disk, config.git_dirs.clone()));
    let wire = config.wire.for_client(None);
    let served = Served::new(config.tools()?, wire.names);
    let calls = Calls::new(store, revisions, served, root, wire.delivery);
    Ok(calls.with_more_roots(more_roots))
}
