//! The history of real repositories, compared with git.
//!
//! `RECTO_HISTORIES` names git directories, separated by colons. `RECTO_HISTORY_SAMPLES` is how many
//! commits and paths are compared in each; 150 by default. Every difference is printed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::git::{GitRevisions, History, LogQuery};
use recto_store::local::{HiddenPaths, Options};
use recto_store::{Context, LocalStore, Revisions};
use recto_text::line_diff::LineDiff;
use tempfile::TempDir;

const VARIABLE: &str = "RECTO_HISTORIES";

/// Whether repositories are named.
pub fn is_given() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The id of the empty tree.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Long enough for whole histories; the tests of the suite check the budget.
const MAX_TIME: Duration = Duration::from_secs(600);

/// A repository under test, served as the git directory of an empty work tree.
struct Subject {
    git_dir: PathBuf,
    top: TempDir,
    store: Arc<LocalStore>,
    revisions: GitRevisions,
    random: u64,
}

impl Subject {
    fn open(git_dir: &Path) -> Subject {
        let git_dir = git_dir.canonicalize().unwrap();
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(".git"), format!("gitdir: {}\n", git_dir.display()))
            .unwrap();
        let store = Arc::new(
            LocalStore::open(Options {
                roots: vec![top.path().canonicalize().unwrap()],
                hidden: HiddenPaths::default(),
                allows_git_writes: false,
                is_durable: false,
            })
            .unwrap(),
        );
        let revisions = GitRevisions::new(store.clone(), vec![git_dir.clone()]);
        Subject { git_dir, top, store, revisions, random: 0x9E37_79B9_7F4A_7C15 }
    }

    fn history(&self, path: &str) -> History {
        let path = self.top.path().canonicalize().unwrap().join(path);
        let history = self.revisions.history(path.to_str().unwrap(), &Context::default());
        history.unwrap().with_max_time(MAX_TIME)
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&self.git_dir).args(["-c", "core.quotePath=false"]);
        // recto ignores attributes, such as `-diff`: they name drivers.
        command.arg(format!("--attr-source={EMPTY_TREE}"));
        let output = command
            .args(arguments)
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        output.stdout
    }

    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.git(arguments);
        String::from_utf8_lossy(&output).lines().map(String::from).collect()
    }

    fn below(&mut self, end: usize) -> usize {
        // xorshift: the same samples in every run.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % end as u64) as usize
    }

    fn one_of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns commits and paths: half of them files that exist at the commit, half files that the
    /// commit renamed.
    fn samples(&mut self, n: usize) -> Vec<(String, String)> {
        let commits = self.lines(&["rev-list", "--no-merges", "HEAD"]);
        let renames = self.lines(&[
            "log",
            "HEAD",
            "--no-merges",
            "-M",
            "--diff-filter=R",
            "--format=%H",
            "--name-only",
            "-n",
            "2000",
        ]);
        let mut renamed = Vec::new();
        let mut commit = String::new();
        for line in renames {
            if line.len() == 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                commit = line;
            } else if !line.is_empty() {
                renamed.push((commit.clone(), line));
            }
        }
        let mut samples = Vec::new();
        while samples.len() < n {
            if samples.len() % 2 == 1 && !renamed.is_empty() {
                samples.push(self.one_of(&renamed).clone());
                continue;
            }
            let commit = self.one_of(&commits).clone();
            let files = self.lines(&["ls-tree", "-r", "--name-only", &commit]);
            if !files.is_empty() {
                samples.push((commit, self.one_of(&files).clone()));
            }
        }
        samples
    }

    /// Returns what `git log --full-history` lists, without merges that have the entry of a parent.
    fn full_history(&self, commit: &str, path: &str) -> Vec<String> {
        let listed = self.lines(&["log", "--full-history", "--format=%H %P", commit, "--", path]);
        let mut ask = String::new();
        for line in listed.iter().filter(|line| line.split(' ').count() > 2) {
            for id in line.split(' ') {
                ask += &format!("{id}:{path}\n");
            }
        }
        let entries = self.checked(&ask);
        let entry = |id: &str| entries.get(&format!("{id}:{path}"));
        let counts = |line: &&String| {
            let mut ids = line.split(' ');
            let own = entry(ids.next().unwrap());
            line.split(' ').count() <= 2 || ids.all(|parent| entry(parent) != own)
        };
        listed.iter().filter(counts).map(|line| line[..40].to_string()).collect()
    }

    /// Returns the ids of objects by name, with `git cat-file`.
    fn checked(&self, names: &str) -> HashMap<String, String> {
        let file = self.top.path().join(".names");
        std::fs::write(&file, names).unwrap();
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(&self.git_dir)
            .args(["cat-file", "--batch-check=%(objectname)"])
            .stdin(std::fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        names
            .lines()
            .map(String::from)
            .zip(output.lines().map(String::from))
            .map(
                |(name, id)| {
                    if id.ends_with(" missing") { (name, "missing".into()) } else { (name, id) }
                },
            )
            .collect()
    }

    fn log(&self, commit: &str, path: &str, query: LogQuery) -> Vec<(String, Option<String>)> {
        let query = LogQuery { revision: Some(commit.into()), limit: usize::MAX, ..query };
        let log = self.history(path).log(&query).unwrap();
        assert_eq!((log.next, log.stopped), (None, None), "{commit} {path}");
        log.commits.into_iter().map(|entry| (entry.commit.id, entry.renamed_from)).collect()
    }
}

/// Differences between recto and git.
#[derive(Default)]
struct Tally {
    n: BTreeMap<&'static str, usize>,
    differing: BTreeMap<&'static str, Vec<String>>,
    time: BTreeMap<&'static str, (Duration, Duration)>,
}

impl Tally {
    fn add(&mut self, what: &'static str, is_same: bool, difference: impl FnOnce() -> String) {
        *self.n.entry(what).or_default() += 1;
        if !is_same {
            let difference = difference();
            println!("DIFFERS {what}: {difference}");
            self.differing.entry(what).or_default().push(difference);
        }
    }

    /// Runs recto and git, and returns both results.
    fn timed<T, U>(
        &mut self,
        what: &'static str,
        ours: impl FnOnce() -> T,
        git: impl FnOnce() -> U,
    ) -> (T, U) {
        let started = Instant::now();
        let ours = ours();
        let n_ours = started.elapsed();
        let git = git();
        let time = self.time.entry(what).or_default();
        time.0 += n_ours;
        time.1 += started.elapsed() - n_ours;
        (ours, git)
    }

    fn print(&self, name: &str) {
        for (what, n) in &self.n {
            let n_differing = self.differing.get(what).map_or(0, Vec::len);
            let (ours, git) = self.time.get(what).copied().unwrap_or_default();
            println!(
                "{name}: {what}: {n} compared, {n_differing} differ; {ours:.1?}, git {git:.1?}"
            );
        }
    }
}

pub fn the_history_of_real_repositories_matches_git() {
    let n_samples = std::env::var("RECTO_HISTORY_SAMPLES").ok();
    let n_samples = n_samples.map_or(150, |n| n.parse().unwrap());
    let mut failures = Vec::new();
    for git_dir in std::env::split_paths(&std::env::var_os(VARIABLE).unwrap()) {
        let mut subject = Subject::open(&git_dir);
        let mut tally = Tally::default();
        let samples = subject.samples(n_samples);
        for (index, (commit, path)) in samples.iter().enumerate() {
            compare_log(&subject, &mut tally, commit, path);
            compare_blame(&subject, &mut tally, commit, path);
            compare_search(&mut subject, &mut tally, commit, path);
            let other = &samples[(index + 7) % samples.len()].0;
            compare_diff(&subject, &mut tally, other, commit);
            compare_diff(&subject, &mut tally, &format!("{commit}~1"), commit);
        }
        compare_follow(&mut subject, &mut tally, n_samples / 3);
        tally.print(&git_dir.display().to_string());
        failures.extend(tally.differing);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn compare_log(subject: &Subject, tally: &mut Tally, commit: &str, path: &str) {
    let (ours, mut git) = tally.timed(
        "log",
        || subject.log(commit, path, LogQuery::default()),
        || subject.full_history(commit, path),
    );
    // After a rename the list continues with the old path.
    for (id, renamed_from) in &ours {
        if let Some(old_path) = renamed_from {
            let at = git.iter().position(|other| other == id);
            git.truncate(at.map_or(0, |at| at + 1));
            git.extend(subject.full_history(&format!("{id}^"), old_path));
        }
    }
    let ours: Vec<String> = ours.into_iter().map(|(id, _)| id).collect();
    tally.add("log", ours == git, || {
        let only = |some: &[String], others: &[String]| -> Vec<String> {
            some.iter().filter(|id| !others.contains(id)).cloned().collect()
        };
        format!(
            "{commit} {path}: only recto {:?}, only git {:?}",
            only(&ours, &git),
            only(&git, &ours)
        )
    });
}

fn compare_follow(subject: &mut Subject, tally: &mut Tally, n: usize) {
    let merges = subject.lines(&["rev-list", "--merges", "HEAD"]);
    let start = merges.last().map_or("HEAD".to_string(), |oldest| format!("{oldest}^1"));
    if subject.lines(&["rev-list", "--merges", "--count", &start]) != ["0"] {
        return;
    }
    let files = subject.lines(&["ls-tree", "-r", "--name-only", &start]);
    for _ in 0..n {
        let path = subject.one_of(&files).clone();
        let (ours, git) = tally.timed(
            "log --follow",
            || subject.log(&start, &path, LogQuery::default()),
            || subject.lines(&["log", "--follow", "--format=%H", &start, "--", &path]),
        );
        let ours: Vec<String> = ours.into_iter().map(|(id, _)| id).collect();
        tally.add("log --follow", ours == git, || {
            format!("{start} {path}: recto {} {ours:?}, git {} {git:?}", ours.len(), git.len())
        });
    }
}

fn compare_search(subject: &mut Subject, tally: &mut Tally, commit: &str, path: &str) {
    let bytes = subject.git(&["cat-file", "blob", &format!("{commit}:{path}")]);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_word = |word: &&str| (4..40).contains(&word.len()) && word.is_ascii();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_word).collect();
    if words.is_empty() {
        return;
    }
    let word = subject.one_of(&words).to_string();
    let query = LogQuery { containing: Some(word.clone()), ..LogQuery::default() };
    let (ours, git) = tally.timed(
        "log -S",
        || subject.log(commit, path, query),
        || {
            let search = format!("-S{word}");
            subject.lines(&["log", "--full-history", "--format=%H", &search, commit, "--", path])
        },
    );
    let mut ours: Vec<String> = ours.into_iter().map(|(id, _)| id).collect();
    let mut git = git;
    let all = subject.log(commit, path, LogQuery::default());
    if let Some(at) = all.iter().position(|(_, renamed_from)| renamed_from.is_some()) {
        // git does not follow the rename: the file is new there.
        let is_newer = |id: &String| all[..at].iter().any(|(newer, _)| newer == id);
        ours.retain(is_newer);
        git.retain(is_newer);
    }
    tally.add("log -S", ours == git, || format!("{commit} {path} {word}: {ours:?}, git {git:?}"));
}

fn compare_diff(subject: &Subject, tally: &mut Tally, from: &str, to: &str) {
    let (changes, raw) = tally.timed(
        "diff",
        || subject.history("").changes(from, to).unwrap(),
        || subject.git(&["diff", "--no-ext-diff", "--no-textconv", "--raw", "-z", "-M", from, to]),
    );
    let mut git = Vec::new();
    let raw = String::from_utf8_lossy(&raw).into_owned();
    let mut fields = raw.split('\0').filter(|field| !field.is_empty());
    while let Some(about) = fields.next() {
        let status = about.rsplit(' ').next().unwrap().chars().next().unwrap();
        let first = fields.next().unwrap().to_string();
        let path = if status == 'R' { fields.next().unwrap().to_string() } else { first.clone() };
        git.push((status, if status == 'R' { first } else { path.clone() }, path));
    }
    let mut ours: Vec<(char, String, String)> = Vec::new();
    for file in &changes.files {
        let old = file.old_path.as_ref().unwrap_or(&file.path);
        let old = String::from_utf8_lossy(old).into_owned();
        ours.push((file.status.letter(), old, file.shown()));
    }
    git.sort_by(|one, other| one.2.cmp(&other.2));
    ours.sort_by(|one, other| one.2.cmp(&other.2));
    tally.add("diff", ours == git, || {
        let only = |some: &[(char, String, String)], others: &[(char, String, String)]| {
            format!("{:?}", some.iter().filter(|it| !others.contains(it)).collect::<Vec<_>>())
        };
        format!("{from} {to}: only recto {}, only git {}", only(&ours, &git), only(&git, &ours))
    });
    if ours != git {
        return;
    }
    let numstat =
        subject.git(&["diff", "--no-ext-diff", "--no-textconv", "--numstat", "-z", "-M", from, to]);
    let numstat = String::from_utf8_lossy(&numstat).into_owned();
    let mut counts = HashMap::new();
    let mut fields = numstat.split('\0').filter(|field| !field.is_empty());
    while let Some(about) = fields.next() {
        let parts: Vec<&str> = about.splitn(3, '\t').collect();
        let path = match parts[2] {
            "" => fields.nth(1).unwrap(),
            path => path,
        };
        counts.insert(path.to_string(), (parts[0].to_string(), parts[1].to_string()));
    }
    let history = subject.history("");
    for file in &changes.files {
        let versions = history.versions(file, &*subject.store).unwrap().unwrap();
        let diff = LineDiff::new(&versions.before, &versions.after);
        let ours = match versions.is_binary {
            true => ("-".to_string(), "-".to_string()),
            false => (diff.n_added().to_string(), diff.n_removed().to_string()),
        };
        let git = counts.get(&file.shown()).cloned().unwrap_or(("0".into(), "0".into()));
        tally.add("counts", ours == git, || {
            format!("{from} {to} {}: {ours:?}, git {git:?}", file.shown())
        });
    }
}

fn compare_blame(subject: &Subject, tally: &mut Tally, commit: &str, path: &str) {
    let (ours, git) = tally.timed(
        "blame",
        || subject.history(path).blame(commit, None, Some(0..usize::MAX)).unwrap(),
        || subject.git(&["blame", "--porcelain", commit, "--", path]),
    );
    let mut expected = Vec::new();
    for line in git.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let parts: Vec<&str> = line.split(' ').collect();
        if (3..=4).contains(&parts.len()) && parts[0].len() == 40 && !line.starts_with('\t') {
            expected.push(parts[0].to_string());
        }
    }
    let mut found = Vec::new();
    for run in &ours {
        let id = run.commit.as_ref().unwrap().id.clone();
        found.extend(run.lines.clone().map(|_| id.clone()));
    }
    let n_differing = found.iter().zip(&expected).filter(|(ours, git)| ours != git).count();
    let is_same = found == expected;
    tally.add("blame", is_same, || {
        let at = found.iter().zip(&expected).position(|(ours, git)| ours != git);
        let which =
            at.map(|at| format!("line {} recto {} git {}", at + 1, found[at], expected[at]));
        format!("{commit} {path}: {n_differing} of {} lines, {which:?}", expected.len())
    });
    *tally.n.entry("lines of blame").or_default() += expected.len();
    if n_differing > 0 {
        tally
            .differing
            .entry("lines of blame")
            .or_default()
            .extend(vec![String::new(); n_differing]);
    }
}
