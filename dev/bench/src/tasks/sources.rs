//! Published crates in fixed versions, which the tasks change copies of.
//!
//! Cargo downloads and checks them. They stay in its registry directory; nothing of them is part of
//! this project.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::Result;

/// The crates and their versions.
const CRATES: [(&str, &str); 3] =
    [("ripgrep", "15.2.0"), ("globset", "0.4.21"), ("jj-cli", "0.46.0")];

/// Where the unpacked crates are, in the order of [`CRATES`].
pub struct Sources([PathBuf; CRATES.len()]);

impl Sources {
    /// Finds the crates, and has cargo download those that are missing.
    pub fn fetch() -> Result<Sources> {
        let mut paths = <[PathBuf; CRATES.len()]>::default();
        for (path, (name, version)) in paths.iter_mut().zip(CRATES) {
            *path = fetch(name, version)?;
        }
        Ok(Sources(paths))
    }

    /// Copies a crate to `root/name`.
    pub fn copy(&self, name: &str, root: &Path) -> Result<()> {
        let index = CRATES.iter().position(|(other, _)| *other == name);
        copy_dir(&self.0[index.ok_or("not one of the crates")?], &root.join(name))
    }
}

fn fetch(name: &str, version: &str) -> Result<PathBuf> {
    if let Some(path) = find(name, version)? {
        return Ok(path);
    }
    eprintln!("downloading {name} {version}");
    // `cargo info` unpacks this crate alone; `cargo fetch` would also download its dependencies.
    let mut cargo = Command::new("cargo");
    cargo.args(["info", "--quiet", &format!("{name}@{version}")]).stdout(Stdio::null());
    if !cargo.current_dir(env::temp_dir()).status()?.success() {
        return Err(format!("cargo could not download {name} {version}").into());
    }
    Ok(find(name, version)?.ok_or("cargo info did not unpack the crate")?)
}

/// Finds a crate in the directories of all registries that cargo has used.
fn find(name: &str, version: &str) -> Result<Option<PathBuf>> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).ok_or("no HOME")?;
    let Ok(registries) = fs::read_dir(cargo.join("registry/src")) else { return Ok(None) };
    for registry in registries {
        let path = registry?.path().join(format!("{name}-{version}"));
        // Cargo writes this file once everything is unpacked.
        if path.join(".cargo-ok").exists() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn copy_dir(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_dir(&entry.path(), &to)?,
            false => drop(fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}
