//! Tasks of a coding agent, done by scripts with one or two builds of recto: how many calls and
//! tokens each takes. The final bytes must be the expected ones.
//!
//! A task's tokens are the characters of the arguments of its calls and of the text of the answers,
//! divided by four.

mod agent;
mod generated;
mod places;
mod scripts;
mod sources;
mod wrong_edits;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use recto_dev::table::{Table, grouped};
use tempfile::TempDir;

use crate::Result;
use agent::Cost;
use scripts::{TASKS, Task};
use sources::Sources;

/// Which tasks are done, and whether their calls are printed.
#[derive(Default)]
pub struct Selection {
    /// Part of the names of the tasks.
    pub name: Option<String>,
    pub is_traced: bool,
}

/// Does the tasks with each build, the one to compare with first, and prints the table. A wrong
/// result or an exceeded bound is an error.
pub fn run(recto: &Path, beside: Option<PathBuf>, selection: &Selection) -> Result<()> {
    let sources = Sources::fetch()?;
    let beside = beside.map(|path| path.canonicalize()).transpose()?;
    let mut builds = Vec::from_iter(beside.as_deref().map(|path| ("old", path)));
    builds.push(("new", recto));
    let headings = ["calls", "tokens"].into_iter();
    let headings =
        headings.flat_map(|what| builds.iter().map(move |(name, _)| format!("{what}, {name}")));
    let headings = ["task".to_string()].into_iter().chain(headings).chain(["goal".to_string()]);
    let mut table = Table::of_numbers(headings);
    let mut failures = Vec::new();
    for task in TASKS {
        if selection.name.as_ref().is_some_and(|name| !task.name.contains(&**name)) {
            continue;
        }
        eprintln!("{}", task.name);
        let dir = TempDir::with_prefix("recto-bench-")?;
        let dir_path = dir.path().canonicalize()?;
        let expected = dir_path.join("expected");
        fs::create_dir(&expected)?;
        (task.prepare)(&sources, &expected)?;
        (task.expect)(&expected).map_err(|error| format!("{}: {error}", task.name))?;
        let mut costs = Vec::new();
        for (name, build) in &builds {
            let root = dir_path.join(name);
            fs::create_dir(&root)?;
            (task.prepare)(&sources, &root)?;
            let played = task.play(build, &root, selection.is_traced);
            let played = played.and_then(|cost| compare(&expected, &root).map(|()| cost));
            let is_new = *name == "new";
            match played {
                Ok(cost) if is_new && task.bound.is_some_and(|bound| cost.n_tokens() > bound) => {
                    failures.push(format!("{}: {} tokens", task.name, cost.n_tokens()));
                    costs.push(Some(cost));
                }
                Ok(cost) => costs.push(Some(cost)),
                Err(error) => {
                    failures.push(format!("{}, {name}: {error}", task.name));
                    costs.push(None);
                }
            }
            fs::remove_dir_all(&root)?;
        }
        table.add(cells(task, &costs));
        dir.close()?;
    }
    println!("{table}");
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}

fn cells(task: &Task, costs: &[Option<Cost>]) -> Vec<String> {
    let shown = |number: fn(Cost) -> usize| {
        let cell =
            move |cost: &Option<Cost>| cost.map_or("fails".into(), |cost| grouped(number(cost)));
        costs.iter().map(cell)
    };
    let goal = task.bound.map(|bound| format!("≤ {} tokens", grouped(bound))).unwrap_or_default();
    let cells = shown(|cost| cost.n_calls).chain(shown(Cost::n_tokens));
    [task.name.to_string()].into_iter().chain(cells).chain([goal]).collect()
}

/// Returns an error unless two trees have the same files with the same bytes.
fn compare(expected: &Path, actual: &Path) -> Result<()> {
    let (expected, actual) = (files(expected)?, files(actual)?);
    for (path, file) in &expected {
        let other = actual.get(path).ok_or_else(|| format!("{path} is missing"))?;
        if fs::read(file)? != fs::read(other)? {
            return Err(format!("{path} has other bytes than expected").into());
        }
    }
    match actual.keys().find(|path| !expected.contains_key(*path)) {
        Some(path) => Err(format!("{path} was created").into()),
        None => Ok(()),
    }
}

/// Returns the files of a tree by their paths in it, without those of git.
fn files(root: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    let mut dirs = vec![root.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            if path.is_dir() && path.ends_with(".git") {
                continue;
            } else if path.is_dir() {
                dirs.push(path);
            } else {
                files.insert(path.strip_prefix(root)?.display().to_string(), path);
            }
        }
    }
    Ok(files)
}
