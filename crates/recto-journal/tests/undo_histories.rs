//! Undo on the history of real repositories, beside a three-way merge of the ends.
//!
//! `RECTO_HISTORIES` names git directories, separated by colons. Every change of a file by a commit
//! counts as one recorded change. Hunks are drawn with a fixed seed, and undone after so many later
//! changes of their file. `git merge-file` gets the versions after the hunk, without the hunk and now.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use recto_journal::hunk::{Hunk, Hunks};
use recto_journal::undo::{self, HunkId, Reason, Step};

/// How many hunks are undone in each repository.
const N_HUNKS: usize = 2500;

/// After how many later changes.
const DISTANCES: [usize; 4] = [1, 3, 10, 30];

/// By how many points undo must be better than the merge after ten changes.
const MIN_GAIN: f64 = 8.0;

/// The versions of one file between its creation and its removal.
struct File {
    path: String,
    versions: Vec<Rc<Vec<u8>>>,
    steps: Vec<Step>,
}

/// A hunk whose file changed often enough afterwards.
struct Sample {
    file: usize,
    step: usize,
    hunk: usize,
}

#[derive(Default)]
struct Tally {
    n_undone: usize,
    n_merged: usize,
    /// Merges without a conflict that differ from the undo.
    n_merged_otherwise: usize,
}

fn git(git_dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git_dir).args(["-c", "core.quotePath=false"]).args(arguments);
    command.env("HOME", "/nonexistent").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

/// Returns the files of a history as lists of blobs, oldest first, without the commits of branches
/// that were merged.
fn blobs(git_dir: &Path) -> Vec<(String, Vec<String>)> {
    let log = ["log", "--first-parent", "-m", "--reverse", "--raw", "--no-abbrev", "--no-renames"];
    let output = git(git_dir, &[&log[..], &["--format=", "HEAD"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut open: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((entry, path)) = line.split_once('\t') else { continue };
        let words: Vec<&str> = entry.split(' ').collect();
        let &[_, mode, before, after, _] = &words[..] else { panic!("{line}") };
        let is_continued =
            open.get(path).and_then(|blobs| blobs.last()).is_some_and(|last| last == before);
        if !is_continued && let Some(blobs) = open.remove(path) {
            files.push((path.to_string(), blobs));
        }
        // A change of the mode is not one of the content.
        if mode.starts_with("10") && before != after {
            open.entry(path.to_string()).or_default().push(after.to_string());
        }
    }
    files.extend(open);
    files.retain(|(_, blobs)| blobs.len() > DISTANCES[3] + 1);
    files
}

fn contents(git_dir: &Path, files: &[(String, Vec<String>)]) -> HashMap<String, Rc<Vec<u8>>> {
    let mut command = git(git_dir, &["cat-file", "--batch"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut contents = HashMap::new();
    for id in files.iter().flat_map(|(_, blobs)| blobs) {
        writeln!(input, "{id}").unwrap();
        input.flush().unwrap();
        let mut header = String::new();
        output.read_line(&mut header).unwrap();
        // A stored copy of a repository may lack its largest files.
        let Some(n_bytes) = header.trim().split(' ').nth(2) else { continue };
        let mut content = vec![0; n_bytes.parse::<usize>().unwrap() + 1];
        output.read_exact(&mut content).unwrap();
        content.pop();
        contents.insert(id.clone(), Rc::new(content));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    contents
}

fn files(git_dir: &Path) -> Vec<File> {
    let blobs = blobs(git_dir);
    let contents = contents(git_dir, &blobs);
    let file = |(path, blobs): (String, Vec<String>)| {
        let versions: Option<Vec<_>> = blobs.iter().map(|id| contents.get(id).cloned()).collect();
        let versions = versions?;
        let step = |(index, pair): (usize, &[Rc<Vec<u8>>])| Step {
            id: index as u64 + 1,
            exists: [true, true],
            hunks: Some(Hunks::between(&pair[0], &pair[1])),
            ..Step::default()
        };
        let steps = versions.windows(2).enumerate().map(step).collect();
        Some(File { path, versions, steps })
    };
    blobs.into_iter().filter_map(file).collect()
}

fn samples(files: &[File]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let n_steps = file.steps.len();
        for step in 0..n_steps.saturating_sub(DISTANCES[3]) {
            let n_hunks = file.steps[step].hunks.as_ref().unwrap().len();
            samples.extend((0..n_hunks).map(|hunk| Sample { file: index, step, hunk }));
        }
    }
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let n = N_HUNKS.min(samples.len());
    for index in 0..n {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let other = index + (random % (samples.len() - index) as u64) as usize;
        samples.swap(index, other);
    }
    samples.truncate(n);
    samples
}

/// Returns `content` without what the hunk did at an offset.
fn without(content: &[u8], at: usize, hunk: &Hunk) -> Vec<u8> {
    let mut content = content.to_vec();
    content.splice(at..at + hunk.inserted.len(), hunk.removed.iter().copied());
    content
}

/// Fails unless the only difference is that the bytes of a hunk are replaced in one place.
fn check_only_the_hunk_changed(now: &[u8], undone: &[u8], hunk: &Hunk, what: &str) {
    let n_before = now.iter().zip(undone).take_while(|(now, undone)| now == undone).count();
    let is_place =
        |at: usize| now[at..].starts_with(&hunk.inserted) && without(now, at, hunk) == undone;
    // Equal bytes at the start of both texts belong to the common part too.
    let n_equal =
        hunk.removed.iter().zip(&hunk.inserted).take_while(|(old, new)| old == new).count();
    let last = n_before.min(now.len());
    let first = last.saturating_sub(hunk.removed.len().max(hunk.inserted.len()).max(n_equal));
    assert!((first..=last).rev().any(is_place), "{what}");
}

/// Undoes a hunk. A rejection must name a later change, after which the hunk cannot be undone.
fn undo(file: &File, sample: &Sample, distance: usize, what: &str) -> Option<Vec<u8>> {
    let id = HunkId { change: sample.step as u64 + 1, hunk: sample.hunk as u32 };
    let plan_at = |last: usize| {
        undo::plan(
            &file.steps[sample.step..=last],
            Some(&file.versions[last + 1]),
            &[id],
            undo::Dependents::Reject,
        )
    };
    let last = sample.step + distance;
    match plan_at(last) {
        Ok(plan) => Some(plan.content.unwrap()),
        Err(rejected) => {
            let [undo::Rejected { hunk, reason: Reason::Overlapped { by } }] = &rejected[..] else {
                panic!("{what}: {rejected:?}");
            };
            assert_eq!(*hunk, id, "{what}");
            assert!(!by.is_empty(), "{what}: the rejection names no change");
            for by in by {
                let step = by.change as usize - 1;
                assert!(step > sample.step && step <= last, "{what}: {by:?}");
                assert!(plan_at(step).is_err(), "{what}: {by:?} does not overlap");
            }
            None
        }
    }
}

/// Merges without the history: `None` if there is a conflict.
fn merge(dir: &Path, now: &[u8], after: &[u8], undone: &[u8]) -> Option<Vec<u8>> {
    let names = ["now", "after", "undone"];
    for (name, content) in names.iter().zip([now, after, undone]) {
        std::fs::write(dir.join(name), content).unwrap();
    }
    let mut command = Command::new("git");
    command.current_dir(dir).args(["merge-file", "-p", "-q"]).args(names);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    output.status.success().then_some(output.stdout)
}

#[test]
#[ignore = "needs git directories in RECTO_HISTORIES"]
fn undo_is_better_than_a_merge() {
    let git_dirs: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("RECTO_HISTORIES").unwrap()).collect();
    let dir = tempfile::tempdir().unwrap();
    for git_dir in git_dirs {
        let files = files(&git_dir);
        let samples = samples(&files);
        println!("{}: {} hunks of {} files", git_dir.display(), samples.len(), files.len());
        assert!(samples.len() >= 2000, "too few");
        let mut gain = 0.0;
        for distance in DISTANCES {
            let mut tally = Tally::default();
            for sample in &samples {
                let file = &files[sample.file];
                let what = format!("{} {} {}", file.path, sample.step, sample.hunk);
                let hunks = file.steps[sample.step].hunks.as_ref().unwrap();
                let (hunk, inverted) = (hunks.get(sample.hunk).unwrap(), hunks.inverted());
                let after = &file.versions[sample.step + 1];
                let now = &file.versions[sample.step + 1 + distance];
                let undone = undo(file, sample, distance, &what);
                if let Some(undone) = &undone {
                    check_only_the_hunk_changed(now, undone, hunk, &what);
                    tally.n_undone += 1;
                }
                let at = inverted.get(sample.hunk).unwrap().offset as usize;
                let merged = merge(dir.path(), now, after, &without(after, at, hunk));
                if merged.is_some() {
                    tally.n_merged += 1;
                    tally.n_merged_otherwise += usize::from(undone.is_some() && merged != undone);
                }
            }
            let share = |n: usize| n as f64 * 100.0 / samples.len() as f64;
            let (undone, merged) = (share(tally.n_undone), share(tally.n_merged));
            let n_otherwise = tally.n_merged_otherwise;
            println!(
                "after {distance} changes: undo {undone:.1} %, merge {merged:.1} %; \
                {n_otherwise} merged otherwise"
            );
            if distance == 10 {
                gain = undone - merged;
            }
        }
        assert!(gain >= MIN_GAIN, "the gain after 10 changes is only {gain:.1} points");
    }
}
