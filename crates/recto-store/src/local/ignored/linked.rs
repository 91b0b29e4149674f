//! The rules of a work tree whose `.git` is a file. They are in the git directory that it names, or
//! in the common directory of that one. Nothing outside the roots is read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use recto_platform::FileKind;

use super::super::roots::{LastLink, Roots};
use super::rules::RuleSet;
use crate::context::{Access, Sandbox};
use crate::path::AbsPath;

/// Returns the rules in `info/exclude` for the work tree at a canonical path.
pub fn rules(roots: &Roots, sandbox: &Sandbox, dir: &Path) -> Option<RuleSet> {
    let read = |path: &Path| {
        let path = AbsPath::parse(path.to_str()?.into()).ok()?;
        let location = roots.resolve(&path, LastLink::Follow, sandbox).ok()?;
        let is_open = sandbox.access(&location.real_path, |_| None) != Access::None;
        let is_file = location.kind == Some(FileKind::File);
        super::bytes(&location.dir, location.name.to_str().filter(|_| is_open && is_file)?)
    };
    let pointer = read(&dir.join(".git"))?;
    let git_dir = dir.join(target(pointer.strip_prefix(b"gitdir:")?));
    let common_dir = match read(&git_dir.join("commondir")) {
        Some(pointer) => git_dir.join(target(&pointer)),
        None => git_dir,
    };
    super::parse(&read(&common_dir.join("info/exclude"))?)
}

fn target(pointer: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(pointer.trim_ascii()))
}
