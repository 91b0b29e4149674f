//! What git ignores, seen from inside a walk: the rules of every folder on the way down.
//!
//! `.gitignore` in each folder and `.git/info/exclude` of each repository count, the innermost
//! rule that says something decides, and a repository inside another starts anew. The person's
//! own excludes outside the roots are not read, as nothing there is.

pub mod linked;
pub(crate) mod rules;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use recto_platform::{FileKind, Handle};
use rules::RuleSet;

use crate::limits;

/// The most of a file with rules that is read.
const MAX_RULES: usize = limits::IGNORE_RULES;

/// The rules of one folder, and those of the folders above it.
#[derive(Debug)]
pub struct RuleLevel {
    set: RuleSet,
    /// How many bytes of a path lie above the folder.
    n_above: usize,
    above: Option<Arc<RuleLevel>>,
}

/// The rules that hold in a folder, none where nobody made any.
pub type ActiveRules = Option<Arc<RuleLevel>>;

/// Whether git ignores a path, which is relative to where the walk's first folder lies.
pub fn is_ignored(rules: &ActiveRules, path: &Path, is_dir: bool) -> bool {
    let path = path.as_os_str().as_bytes();
    let mut rules = rules.as_ref();
    while let Some(level) = rules {
        let below = &path[level.n_above.min(path.len())..];
        if let Some(is_ignored) = level.set.decide(below, is_dir) {
            return is_ignored;
        }
        rules = level.above.as_ref();
    }
    false
}

/// Which files with rules a folder holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleFiles {
    /// `.gitignore`
    pub rules: bool,
    /// `.git`, so that a repository starts here.
    pub repository: bool,
}

/// The rules in force inside a folder, whose own path ends after `n_above` bytes. `linked` finds
/// those of a repository whose `.git` is a file.
pub fn enter(
    above: &ActiveRules,
    dir: &Handle,
    n_above: usize,
    present: RuleFiles,
    linked: impl FnOnce() -> Option<RuleSet>,
) -> ActiveRules {
    let mut rules = above.clone();
    if present.repository {
        rules = read(dir, ".git/info/exclude")
            .or_else(linked)
            .map(|set| Arc::new(RuleLevel { set, n_above, above: None }));
    }
    if present.rules
        && let Some(set) = read(dir, ".gitignore")
    {
        rules = Some(Arc::new(RuleLevel { set, n_above, above: rules }));
    }
    rules
}

fn read(dir: &Handle, path: &str) -> Option<RuleSet> {
    parse(&bytes(dir, path)?)
}

fn parse(text: &[u8]) -> Option<RuleSet> {
    Some(RuleSet::parse(text)).filter(|set| !set.is_empty())
}

/// Reads a regular file without following a link at any part of its name.
fn bytes(dir: &Handle, path: &str) -> Option<Vec<u8>> {
    let mut handle = None;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let here = handle.as_ref().unwrap_or(dir);
        let opened = match parts.peek() {
            Some(_) => recto_platform::open_path_at(here, part),
            None => recto_platform::open_file_at(here, part),
        };
        handle = Some(opened.ok()?);
    }
    let handle = handle?;
    let status = handle.status().ok()?;
    if status.kind() != FileKind::File {
        return None;
    }
    let mut text = vec![0; MAX_RULES.min(status.size as usize + 1)];
    let mut n_read = 0;
    while n_read < text.len() {
        match handle.read_at(&mut text[n_read..], n_read as u64) {
            Ok(0) | Err(_) => break,
            Ok(n) => n_read += n,
        }
    }
    text.truncate(n_read);
    // Half a rule would be another rule.
    if n_read == MAX_RULES {
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        text.truncate(end);
    }
    Some(text)
}
