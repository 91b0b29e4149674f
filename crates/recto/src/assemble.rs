//! Builds what a command needs from its options: stores, git revisions, Landlock rules, calls.

use std::path::PathBuf;
use std::sync::Arc;

use recto_store::editor::Editor;
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::{Context, GitRevisions, LocalStore, Store, Workspace, WriteStore};
use recto_tools::Served;
use recto_tools::call::{Calls, Witness};
use recto_tools::tools::Effect;

use crate::config::Config;
use crate::landlock::{self, AllowedPaths};

/// Restricts this thread, and threads it starts later, to the roots. Reports every problem that
/// would prevent a server from starting first.
pub fn apply_landlock(config: &Config) -> Result<landlock::Enforcement, String> {
    check(config)?;
    // Reads the number of processors from files that Landlock then makes inaccessible.
    recto_store::limits::n_threads();
    allowed_paths(config)?.restrict_thread(config.landlock)
}

/// Returns the directories that the selected tools need.
pub fn allowed_paths(config: &Config) -> Result<AllowedPaths, String> {
    let can_write = config.tools()?.iter().any(|tool| tool.effect() != Effect::Reads);
    let mut allowed_paths =
        AllowedPaths { readable: config.git_dirs.clone(), writable: Vec::new() };
    match can_write {
        true => allowed_paths.writable.extend(config.roots.iter().cloned()),
        false => allowed_paths.readable.extend(config.roots.iter().cloned()),
    }
    Ok(allowed_paths)
}

/// Opens the roots and returns the handler of calls.
pub fn open(config: &Config) -> Result<Calls, String> {
    let store = open_disk(config)?;
    calls(config, store.clone(), store)
}

/// Like [`open`], for directories inside the roots only. Patterns of hidden paths still start from
/// the roots.
pub fn open_part(config: &Config, parts: &[PathBuf]) -> Result<Calls, String> {
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
    open(&Config { roots: parts.to_vec(), hidden, ..config.clone() })
}

/// Like [`open`], but uses the editor's text of files that are open there, and reports every call
/// to it.
pub fn open_with_editor(
    config: &Config,
    editor: Arc<dyn Editor>,
    witness: Arc<dyn Witness>,
) -> Result<Calls, String> {
    let disk = open_disk(config)?;
    let workspace = Arc::new(Workspace::new(disk.clone(), editor));
    Ok(calls(config, workspace, disk)?.with_witness(witness))
}

/// Opens the roots.
pub fn open_disk(config: &Config) -> Result<Arc<LocalStore>, String> {
    let store = LocalStore::open(Options {
        roots: config.roots.clone(),
        hidden: config.hidden.clone(),
        allows_git_writes: config.allows_git_writes,
        is_durable: config.is_durable,
    })
    .map_err(|error| error.to_string())?;
    Ok(Arc::new(store))
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
