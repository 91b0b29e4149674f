//! The git ignore rules that apply to each directory of a walk.
//!
//! They come from the `.gitignore` of each directory and the `.git/info/exclude` of each
//! repository. The innermost matching rule decides, and a nested repository starts over. The user's
//! global excludes are not read, because they are outside the roots.

pub mod linked;
pub(crate) mod rules;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use recto_platform::{FileKind, Handle};
use rules::RuleSet;

use crate::limits;

/// The maximum size of a rules file; the rest is ignored.
const MAX_RULES: usize = limits::IGNORE_RULES;

/// The rules of one directory, linked to those of its parents.
#[derive(Debug)]
pub struct RuleLevel {
    set: RuleSet,
    /// The length of the directory's path, in bytes.
    n_above: usize,
    above: Option<Arc<RuleLevel>>,
}

/// The rules that apply in a directory, or `None`.
pub type ActiveRules = Option<Arc<RuleLevel>>;

/// Returns whether git ignores a path, which is relative to the root of the walk.
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

/// The rules files that exist in a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleFiles {
    /// `.gitignore`
    pub rules: bool,
    /// `.git`, which starts a repository.
    pub repository: bool,
}

/// Returns the rules inside a directory whose path has `n_above` bytes. `linked` reads the rules of
/// a repository whose `.git` is a file.
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

/// Reads a regular file without following a link in any component of its path.
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
    // Drop an incomplete last rule, which would match other files.
    if n_read == MAX_RULES {
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        text.truncate(end);
    }
    Some(text)
}
