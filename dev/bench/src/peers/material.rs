//! The files that all servers work on. Each server has its own copy of files that change.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::results::N_SERVERS;
use super::work::{N_LINES, Replaced};
use crate::Result;
use crate::files::{KB, MB, N_MARKS, mark, text, with_marks, write_text};

const LOG_BYTES: usize = 512 * MB;
const N_FILES: usize = 20_000;
/// One in this many files ends in `.rs`: fewer than recto lists by default.
const RS_IN: usize = 25;

/// The number of known pages after the first.
pub const N_NEXT: usize = 10;

/// All inputs of the servers.
pub struct Material {
    folder: TempDir,
    pub root: PathBuf,
    pub small: String,
    pub large: String,
    pub n_lines_of_log: usize,
    /// The line, counted from 1, at 90 % of the log.
    pub first: usize,
    /// The pages from there on.
    pub pages: Vec<String>,
    pub last: Vec<String>,
    /// The paths that end in `.rs`, sorted.
    pub paths: Vec<String>,
    /// A text with marks, all unset.
    marked: String,
}

impl Material {
    pub fn create() -> Result<Material> {
        let folder = TempDir::with_prefix("recto-bench-")?;
        let root = folder.path().canonicalize()?;
        let (small, large) = (text(1, 2 * KB), text(2, MB));
        fs::write(root.join("2kb.txt"), &small)?;
        fs::write(root.join("1mb.txt"), &large)?;
        let marked = with_marks(&text(4, MB));
        for index in 0..N_SERVERS {
            for name in ["1-edit", "100-edits"] {
                fs::write(root.join(format!("{name}-{index}.txt")), &marked)?;
            }
        }
        eprintln!("a tree of {N_FILES} files and a log of {} MB", LOG_BYTES / MB);
        let paths = tree(&root.join("tree"))?;
        let n_lines_of_log = write_text(&root.join("log.txt"), LOG_BYTES / MB, MB)?;
        let first = n_lines_of_log / 10 * 9;
        let mut lines = BufReader::new(File::open(root.join("log.txt"))?).lines().skip(first - 1);
        let pages: Vec<_> =
            lines.by_ref().take(N_LINES * (N_NEXT + 1)).collect::<std::io::Result<_>>()?;
        let last: Vec<_> = lines
            .skip(n_lines_of_log + 1 - first - pages.len() - N_LINES)
            .collect::<std::io::Result<_>>()?;
        Ok(Material {
            folder,
            root,
            small,
            large,
            n_lines_of_log,
            first,
            pages,
            last,
            paths,
            marked,
        })
    }

    /// Returns the edits of a round and the text after them: even rounds set marks, odd rounds
    /// unset them.
    pub fn edits(&self, n_edits: usize, round: usize) -> (Vec<Replaced>, String) {
        let is_set = !round.is_multiple_of(2);
        let mut edits = Vec::new();
        let mut after = self.marked.clone();
        for index in (0..N_MARKS).step_by(N_MARKS / n_edits) {
            let place = self.marked.find(&mark(index, false)).unwrap_or_default();
            let line = self.marked[..place].matches('\n').count() + 1;
            edits.push(Replaced { line, old: mark(index, is_set), new: mark(index, !is_set) });
            if !is_set {
                after = after.replacen(&mark(index, false), &mark(index, true), 1);
            }
        }
        (edits, after)
    }

    pub fn remove(self) -> Result<()> {
        Ok(self.folder.close()?)
    }
}

fn tree(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for index in 0..N_FILES {
        let place = folder.join(format!("{}/{}", index / 1000, index / 50 % 20));
        if index.is_multiple_of(50) {
            fs::create_dir_all(&place)?;
        }
        let ending = match index % RS_IN {
            0 => "rs",
            other => ["md", "toml", "txt"][other % 3],
        };
        let path = place.join(format!("{index}.{ending}"));
        fs::write(&path, "a line\n")?;
        if ending == "rs" {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    paths.sort();
    Ok(paths)
}
