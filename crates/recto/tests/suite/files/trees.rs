//! Random directory trees with ignore rules, and git's view of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::random::Random;

const DIRECTORIES: &[&str] =
    &["a", "b", "src", "lib", "build", "target", ".hid", "doc s", "ünï", "[b]", "new\nline", "UP"];

const FILES: &[&str] = &[
    "a",
    "b",
    "x.txt",
    "y.log",
    "z.rs",
    "main.rs",
    "x.o",
    ".env",
    ".x",
    "doc s",
    "日本.txt",
    "new\nline",
    "[b]",
    "{c}",
    "a*b",
    "what?",
    "-dash",
    "!bang",
    "#hash",
    "trail ",
    "back\\slash",
    "UP.TXT",
    "temp~",
    "a.b.c",
    "é.rs",
    "ab",
    "x.txt.bak",
];

/// Typical ignore rules; a `%` is a random name.
const RULES: &[&str] = &[
    "%",
    "%",
    "%",
    "/%",
    "/%",
    "%/",
    "%/",
    "/%/",
    "!%",
    "!%",
    "!/%",
    "!%/",
    "*.txt",
    "*.log",
    "*.rs",
    "!*.rs",
    "!x.*",
    "%/*",
    "%/**",
    "/%/**",
    "**/%",
    "**/%/",
    "%/**/%",
    "*",
    "/*",
    "*/",
    "!*/",
    "*/%",
    "%/%",
    "/%/%",
    "!%/%",
    "# comment",
    "",
    "\\#hash",
    "\\!bang",
    "trail\\ ",
    "%   ",
    "[ab]",
    "[!a]*",
    "[a-m]*",
    "?.txt",
    "src/*.rs",
    "\\[b\\]",
    "a\\*b",
    "**",
    "**/*.o",
    "/**/x.txt",
    ".*",
    "!.env",
    "*~",
    "/a/*",
    "!/a/b",
    "*.b.*",
    "a**",
    "*[!a-z]",
    "x.t?t",
];

/// Creates a directory with a few directories and files in it, some of them repositories.
pub fn make(top: &Path, random: &mut Random) {
    fill(top, random, 0);
}

fn fill(folder: &Path, random: &mut Random, depth: usize) {
    std::fs::create_dir_all(folder).unwrap();
    for _ in 0..1 + random.below(5) {
        let path = folder.join(random.pick(FILES));
        if !path.exists() && !path.is_symlink() {
            match random.below(12) {
                0 => std::os::unix::fs::symlink(random.pick(FILES), path).unwrap(),
                _ => std::fs::write(path, "text\n").unwrap(),
            }
        }
    }
    if random.below(3) > 0 {
        let rules = rules(random);
        std::fs::write(folder.join(".gitignore"), rules).unwrap();
    }
    if depth > 0 && random.one_in(12) {
        make_repository(folder, random);
    }
    if depth < 4 {
        for _ in 0..random.below(4) {
            let path = folder.join(random.pick(DIRECTORIES));
            if !path.exists() && !path.is_symlink() {
                fill(&path, random, depth + 1);
            }
        }
    }
}

fn rules(random: &mut Random) -> String {
    let ending = if random.one_in(8) { "\r\n" } else { "\n" };
    let mut rules = String::new();
    for _ in 0..1 + random.below(5) {
        let mut rule = random.pick(RULES).to_string();
        while rule.contains('%') {
            // As a literal, without characters that a rule cannot express.
            let names = if random.one_in(2) { DIRECTORIES } else { FILES };
            let name = random.pick(names).replace(['\n', '\\', '*', '?', '[', ']', '#', '!'], "a");
            rule = rule.replacen('%', name.trim_end(), 1);
        }
        rules.push_str(&rule);
        rules.push_str(ending);
    }
    if random.one_in(4) {
        rules.truncate(rules.trim_end_matches(['\r', '\n']).len());
    }
    rules
}

/// Creates the minimum that git recognises as a repository.
pub fn make_repository(folder: &Path, random: &mut Random) {
    let git = folder.join(".git");
    for below in ["objects", "refs", "info"] {
        std::fs::create_dir_all(git.join(below)).unwrap();
    }
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    if random.one_in(2) {
        std::fs::write(git.join("info/exclude"), rules(random)).unwrap();
    }
}

/// Returns the files that git does not ignore, including those in nested repositories.
pub fn not_ignored(top: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let output = git(top, &["ls-files", "-o", "--exclude-standard", "-z"]);
    for path in output.split('\0').filter(|path| !path.is_empty()) {
        match path.strip_suffix('/') {
            None => drop(found.insert(path.to_string())),
            Some(nested) => {
                let below = not_ignored(&top.join(nested));
                found.extend(below.into_iter().map(|path| format!("{nested}/{path}")));
            }
        }
    }
    found
}

/// Runs git without the user's configuration.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "core.quotePath=false", "-c", "safe.directory=*"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", "/nonexistent")
        .envs([("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z"), ("GIT_AUTHOR_NAME", "A")])
        .envs([("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z"), ("GIT_COMMITTER_NAME", "A")])
        .envs([("GIT_AUTHOR_EMAIL", "a@a"), ("GIT_COMMITTER_EMAIL", "a@a")])
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    // `git grep` exits with 1 if there is no match.
    assert!(output.status.code().is_some_and(|code| code <= 1), "git {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns every file below a directory, and every link to one, except in `.git`.
pub fn files(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(top.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder && name != ".git" {
                folders.push(path);
            } else if !is_folder && std::fs::metadata(entry.path()).is_ok_and(|s| s.is_file()) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
