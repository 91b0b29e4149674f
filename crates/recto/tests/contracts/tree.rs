//! Trees of files as values: written to a disk or a store, read back, compared.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use recto_store::memory::Node;

use crate::row::{ROOT, repeated};

/// The kind and content of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File { bytes: Vec<u8>, mode: Option<u32> },
    Folder,
    Link(String),
    Fifo,
}

/// Everything below a root, by relative path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// Builds the tree that a table describes.
    pub fn update(&mut self, files: &BTreeMap<String, toml::Value>) {
        for (path, value) in files {
            match entry(value) {
                Some(entry) => self.insert(Path::new(path), entry),
                None => {
                    self.0.remove(Path::new(path));
                }
            }
        }
    }

    fn insert(&mut self, path: &Path, entry: Entry) {
        for parent in path.ancestors().skip(1).filter(|parent| *parent != Path::new("")) {
            self.0.entry(parent.to_path_buf()).or_insert(Entry::Folder);
        }
        self.0.insert(path.to_path_buf(), entry);
    }

    /// Writes the tree to an empty directory.
    pub fn write(&self, root: &Path) {
        for (path, entry) in &self.0 {
            let path = root.join(path);
            match entry {
                Entry::Folder => std::fs::create_dir_all(&path).unwrap(),
                Entry::Link(target) => {
                    symlink(target.replace(ROOT, root.to_str().unwrap()), &path).unwrap()
                }
                Entry::Fifo => {
                    let mode = rustix::fs::Mode::from_raw_mode(0o644);
                    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
                }
                Entry::File { bytes, mode } => {
                    std::fs::write(&path, bytes).unwrap();
                    if let Some(mode) = mode {
                        std::fs::set_permissions(&path, PermissionsExt::from_mode(*mode)).unwrap();
                    }
                }
            }
        }
    }

    /// Returns the tree without the repository at the root.
    pub fn without_git(mut self) -> Tree {
        self.0.retain(|path, _| !path.starts_with(".git"));
        self
    }

    /// Reads everything below a directory. Modes are read for paths whose mode `like` specifies.
    pub fn read(root: &Path, like: &Tree) -> Tree {
        let mut tree = Tree::default();
        tree.read_below(root, Path::new(""), like);
        tree
    }

    fn read_below(&mut self, root: &Path, below: &Path, like: &Tree) {
        for entry in std::fs::read_dir(root.join(below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            let found = if kind.is_dir() {
                self.read_below(root, &path, like);
                Entry::Folder
            } else if kind.is_symlink() {
                let target = std::fs::read_link(entry.path()).unwrap();
                Entry::Link(target.to_str().unwrap().replace(root.to_str().unwrap(), ROOT))
            } else if kind.is_fifo() {
                Entry::Fifo
            } else {
                let wants_mode =
                    matches!(like.0.get(&path), Some(Entry::File { mode: Some(_), .. }));
                let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                Entry::File {
                    bytes: std::fs::read(entry.path()).unwrap(),
                    mode: wants_mode.then_some(mode),
                }
            };
            self.0.insert(path, found);
        }
    }

    /// Returns the texts of all files, or `None` if an entry is not a plain text file.
    pub fn texts(&self) -> Option<BTreeMap<PathBuf, String>> {
        let mut texts = BTreeMap::new();
        for (path, entry) in &self.0 {
            match entry {
                Entry::Folder => {}
                Entry::File { bytes, mode: None } if !bytes.contains(&0) => {
                    texts.insert(path.clone(), String::from_utf8(bytes.clone()).ok()?);
                }
                Entry::File { .. } | Entry::Link(_) | Entry::Fifo => return None,
            }
        }
        Some(texts)
    }

    /// Whether a relative path is a directory.
    pub fn has_directory(&self, path: &str) -> bool {
        let is_inside =
            |entry: &PathBuf| entry.starts_with(path) && entry.as_path() != Path::new(path);
        path == "." || self.0.keys().any(is_inside)
    }

    /// Returns a tree with the same names and one text in every file.
    pub fn with_texts(&self, text: &str) -> Tree {
        let names = self.texts().unwrap().into_keys();
        self.clone().with_files(names.map(|path| (path, text.to_string())).collect())
    }

    /// Returns the tree with files added or replaced.
    pub fn with_files(mut self, files: BTreeMap<PathBuf, String>) -> Tree {
        for (path, text) in files {
            self.insert(&path, file(text.into_bytes()));
        }
        self
    }

    /// Returns the tree with all directories of another tree added.
    pub fn with_directories(mut self, other: &Tree) -> Tree {
        let folders = other.0.iter().filter(|(_, entry)| **entry == Entry::Folder);
        self.0.extend(folders.map(|(path, entry)| (path.clone(), entry.clone())));
        self
    }

    /// Returns the tree as nodes of a store in memory.
    pub fn nodes(&self, root: &Path) -> BTreeMap<PathBuf, Node> {
        let node = |entry: &Entry| match entry {
            Entry::File { bytes, .. } => Node::File(bytes.clone()),
            Entry::Folder => Node::Folder,
            Entry::Link(_) | Entry::Fifo => panic!("a store in memory has no such entries"),
        };
        self.0.iter().map(|(path, entry)| (root.join(path), node(entry))).collect()
    }

    pub fn from_nodes(root: &Path, nodes: BTreeMap<PathBuf, Node>) -> Tree {
        let entry = |node| match node {
            Node::File(bytes) => Entry::File { bytes, mode: None },
            Node::Folder => Entry::Folder,
        };
        let below = |path: PathBuf| path.strip_prefix(root).unwrap().to_path_buf();
        let nodes = nodes.into_iter().filter(|(path, _)| path != root);
        Tree(nodes.map(|(path, node)| (below(path), entry(node))).collect())
    }
}

/// Commits each work tree in turn to a new repository, tagged v1, v2 and so on, and leaves the work
/// tree empty. The ids are the same on every machine.
pub fn commit(root: &Path, trees: &[Tree]) {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(root).args(arguments).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "recto");
            command.env(format!("GIT_{role}_EMAIL"), "recto@example.com");
            command.env(format!("GIT_{role}_DATE"), "2026-01-02T03:04:05Z");
        }
        assert!(command.status().unwrap().success(), "git {arguments:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    for (idx, tree) in trees.iter().enumerate() {
        clear_work_tree(root);
        tree.write(root);
        let number = (idx + 1).to_string();
        git(&["add", "-A"]);
        git(&["commit", "-q", "--allow-empty", "-m", &number]);
        git(&["tag", &format!("v{number}")]);
    }
    clear_work_tree(root);
}

fn clear_work_tree(root: &Path) {
    for entry in std::fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => std::fs::remove_dir_all(entry.path()).unwrap(),
            false => std::fs::remove_file(entry.path()).unwrap(),
        }
    }
}

/// Parses a table's description of a file; `None` means that the file is deleted.
fn entry(value: &toml::Value) -> Option<Entry> {
    let table = match value {
        toml::Value::String(text) => return Some(file(text.clone().into_bytes())),
        toml::Value::Table(table) => table,
        other => panic!("a file is a string or a table: {other:?}"),
    };
    let string = |key: &str| table.get(key).map(|value| value.as_str().unwrap().to_string());
    if table.contains_key("gone") {
        return None;
    }
    let mode = table.get("mode").map(|mode| mode.as_integer().unwrap() as u32);
    if let Some(text) = string("text") {
        return Some(Entry::File { bytes: text.into_bytes(), mode });
    }
    if let Some(hex) = string("hex") {
        let hex = hex + &repeated(table).unwrap_or_default();
        return Some(Entry::File { bytes: bytes_of_hex(&hex), mode });
    }
    if let Some(target) = string("link") {
        return Some(Entry::Link(target));
    }
    if table.contains_key("dir") {
        return Some(Entry::Folder);
    }
    if table.contains_key("fifo") {
        return Some(Entry::Fifo);
    }
    Some(file(
        repeated(table).unwrap_or_else(|| panic!("unknown kind of file: {table:?}")).into_bytes(),
    ))
}

fn file(bytes: Vec<u8>) -> Entry {
    Entry::File { bytes, mode: None }
}

fn bytes_of_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
