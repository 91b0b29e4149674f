//! References: branches, tags and others, loose and packed, and their reflogs.

use std::collections::HashSet;
use std::path::Path;

use gix_hash::ObjectId;
use memchr::memmem;

use super::git_dir_access::{GitError, broken};
use super::repository::Repository;
use crate::context::Context;

/// The largest file of one reference, in bytes.
const MAX_REFERENCE: u64 = 64 << 10;

/// The longest chain of symbolic references.
const MAX_DEPTH: usize = 5;

const MAX_LOG: u64 = 64 << 20;

/// Prefixes and suffixes that complete a short name, in the order in which git tries them.
const SEARCH_ORDER: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// The content of a reference.
enum RefTarget {
    Id(ObjectId),
    Name(String),
}

/// One entry of a reflog.
pub struct LogEntry {
    /// The id before the change.
    pub old: ObjectId,
    /// The id after the change.
    pub new: ObjectId,
    /// The reason for the change.
    pub message: String,
}

/// The references of a repository, for one call.
pub struct Refs<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The call.
    pub context: &'a Context,
}

impl Refs<'_> {
    /// Returns the full name of a short one, and its id.
    pub fn find(&self, short: &str) -> Result<Option<(String, ObjectId)>, GitError> {
        for (before, after) in SEARCH_ORDER {
            let name = format!("{before}{short}{after}");
            if let Some(id) = self.id(&name)? {
                return Ok(Some((name, id)));
            }
        }
        Ok(None)
    }

    /// Returns the id of a full name.
    pub fn id(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let mut name = name.to_string();
        for _ in 0..=MAX_DEPTH {
            match self.target(&name)? {
                Some(RefTarget::Id(id)) => return Ok(Some(id)),
                Some(RefTarget::Name(next)) => name = next,
                None => return Ok(None),
            }
        }
        Err(broken("its symbolic references form a cycle"))
    }

    /// Returns the full name of the branch that is checked out, or `None` if HEAD is detached.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        match self.target("HEAD")? {
            Some(RefTarget::Name(name)) => Ok(Some(name)),
            _ => Ok(None),
        }
    }

    /// Returns the ids of HEAD and of all references, each once.
    pub fn all(&self) -> Result<Vec<ObjectId>, GitError> {
        const MAX_REFERENCES: usize = 100_000;
        let (mut ids, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |id: Option<ObjectId>| ids.extend(id.filter(|id| seen.insert(*id)));
        add(self.id("HEAD")?);
        // A file replaces the packed reference of the same name.
        let mut loose = HashSet::new();
        let mut ahead = vec!["refs".to_string()];
        let mut n_names = 0;
        while let Some(folder) = ahead.pop() {
            let common = &self.repository.common_dir;
            let names =
                self.repository.access.names(common, &folder, MAX_REFERENCES, self.context)?;
            n_names += names.len();
            if n_names > MAX_REFERENCES {
                return Err(broken("it has too many references"));
            }
            for name in names.iter().filter_map(|name| name.to_str()) {
                self.context.cancel.check()?;
                let name = format!("{folder}/{name}");
                match is_name(&name).then(|| self.loose(&name)).transpose()?.flatten() {
                    Some(target) => {
                        // The target of a symbolic one is also found.
                        if let RefTarget::Id(id) = target {
                            add(Some(id));
                        }
                        loose.insert(name);
                    }
                    None if is_name(&name) => ahead.push(name),
                    None => {}
                }
            }
        }
        let mut n_packed = 0;
        for line in self.packed()?.split(|byte| *byte == b'\n') {
            let Ok(line) = str::from_utf8(line) else { continue };
            let (id, name) = line.split_once(' ').unwrap_or((line, ""));
            let id = self.parse_id(id);
            n_packed += usize::from(id.is_some());
            add(id.filter(|_| !loose.contains(name)));
        }
        if n_packed > 10 * MAX_REFERENCES {
            return Err(broken("it has too many references"));
        }
        Ok(ids)
    }

    /// Returns the upstream of a branch. Both are full names.
    pub fn upstream(&self, branch: &str) -> Option<String> {
        let config = &self.repository.config;
        let section = format!("branch.{}", branch.strip_prefix("refs/heads/")?);
        let (remote, merge) = (config.value(&section, "remote")?, config.value(&section, "merge")?);
        if remote == "." {
            return Some(merge.into());
        }
        let section = format!("remote.{remote}");
        let fetched = config.values(&section, "fetch").filter_map(|spec| {
            let (from, to) = spec.trim_start_matches('+').split_once(':')?;
            match (from.split_once('*'), to.split_once('*')) {
                (Some((start, end)), Some((to_start, to_end))) => {
                    let name = merge.strip_prefix(start)?.strip_suffix(end)?;
                    Some(format!("{to_start}{name}{to_end}"))
                }
                _ => (from == merge).then(|| to.to_string()),
            }
        });
        fetched.last()
    }

    /// Returns the reflog of a full name, oldest entry first.
    pub fn log(&self, name: &str) -> Result<Vec<LogEntry>, GitError> {
        if !is_name(name) {
            return Ok(Vec::new());
        }
        let (folder, path) = self.location(name);
        let log = self.read(folder, &format!("logs/{path}"), MAX_LOG)?.unwrap_or_default();
        let entry = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            let (ids, message) = line.split_once('\t').unwrap_or((&line, ""));
            let mut ids = ids.split(' ');
            let (old, new) = (self.parse_id(ids.next()?)?, self.parse_id(ids.next()?)?);
            Some(LogEntry { old, new, message: message.into() })
        };
        Ok(log.split(|byte| *byte == b'\n').filter_map(entry).collect())
    }

    fn target(&self, name: &str) -> Result<Option<RefTarget>, GitError> {
        if !is_name(name) {
            return Ok(None);
        }
        if self.repository.has_reftable() {
            return Err(broken(
                "its references are in the reftable format, which is not supported; use a full \
                 or abbreviated commit id",
            ));
        }
        match self.loose(name)? {
            Some(target) => Ok(Some(target)),
            None => Ok(self.find_packed(name)?.map(RefTarget::Id)),
        }
    }

    /// Reads a reference that has its own file.
    fn loose(&self, name: &str) -> Result<Option<RefTarget>, GitError> {
        let (folder, path) = self.location(name);
        let Some(text) = self.read(folder, path, MAX_REFERENCE)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&text);
        if let Some(target) = text.strip_prefix("ref:") {
            return Ok(Some(RefTarget::Name(target.trim().into())));
        }
        let id = text.split_whitespace().next().and_then(|id| self.parse_id(id));
        let id = id.ok_or_else(|| broken(format!("{name} is not a valid reference")))?;
        Ok(Some(RefTarget::Id(id)))
    }

    fn find_packed(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let packed = self.packed()?;
        let n_digits = self.repository.hash.len_in_hex();
        for at in memmem::find_iter(packed, format!(" {name}\n").as_bytes()) {
            let Some(start) = at.checked_sub(n_digits) else { continue };
            let is_line = start == 0 || packed[start - 1] == b'\n';
            if let Some(id) = str::from_utf8(&packed[start..at]).ok().filter(|_| is_line) {
                return Ok(self.parse_id(id));
            }
        }
        Ok(None)
    }

    fn packed(&self) -> Result<&[u8], GitError> {
        let packed = &self.repository.packed_refs;
        if packed.get().is_none() {
            let read = self.read(&self.repository.common_dir, "packed-refs", MAX_LOG)?;
            let mut bytes = read.unwrap_or_default();
            bytes.push(b'\n');
            let _ = packed.set(bytes);
        }
        Ok(packed.get().map_or(&[], Vec::as_slice))
    }

    fn read(&self, folder: &Path, name: &str, max: u64) -> Result<Option<Vec<u8>>, GitError> {
        self.repository.access.read(folder, name, max, self.context)
    }

    /// Returns the directory of a reference and its path there. Some belong to one work tree.
    fn location<'a>(&self, name: &'a str) -> (&Path, &'a str) {
        let (git_dir, common_dir) = (&self.repository.git_dir, &self.repository.common_dir);
        let own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];
        match name.strip_prefix("main-worktree/") {
            Some(name) => (common_dir, name),
            None if name.starts_with("worktrees/") => (common_dir, name),
            None if !name.starts_with("refs/") || own.iter().any(|own| name.starts_with(own)) => {
                (git_dir, name)
            }
            None => (common_dir, name),
        }
    }

    fn parse_id(&self, digits: &str) -> Option<ObjectId> {
        let is_whole = digits.len() == self.repository.hash.len_in_hex();
        ObjectId::from_hex(digits.as_bytes()).ok().filter(|_| is_whole)
    }
}

/// Whether a full name can be that of a reference, and not of another file in a git directory.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let is_clean = !name.contains("..")
        && !name.contains("@{")
        && !name.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
        && name.split('/').all(is_part);
    let is_special =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let in_work_tree = name.strip_prefix("main-worktree/").or_else(|| {
        let (_, name) = name.strip_prefix("worktrees/")?.split_once('/')?;
        Some(name)
    });
    let own = in_work_tree.unwrap_or(name);
    is_clean && (own.starts_with("refs/") || is_special(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_reference_names_are_read() {
        for name in [
            "HEAD",
            "FETCH_HEAD",
            "refs/heads/a/b",
            "refs/tags/v1.0",
            "refs/heads/ä",
            "worktrees/w/HEAD",
            "main-worktree/HEAD",
            "refs/heads/a@b",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "config",
            "refs/../config",
            "refs//a",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "/etc/passwd",
            "refs/heads/a b",
            "../HEAD",
            "objects/aa/bb",
            "refs/heads/",
            "hooks/x",
            "worktrees/w/gitdir",
            "refs/heads/a\0",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
