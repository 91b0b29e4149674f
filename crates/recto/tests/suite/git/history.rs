//! Commits, diffs and blame are the same as in git, for repositories with most features of git.

use recto_store::git::{History, LogQuery};
use recto_store::{Error, Revisions};
use recto_text::Size;
use recto_text::line_diff::LineDiff;

use super::agrees;
use super::fixture::{Git, RepoDir, Served, serve, serve_with, with_hint};

pub fn history(served: &Served, git: &Git, path: &str) -> History {
    let path = git.path(path);
    let path = path.to_str().unwrap().trim_end_matches('/');
    served.revisions.history(path, &served.caller).unwrap()
}

pub fn ids(history: &History, query: LogQuery) -> Vec<String> {
    let log = history.log(&LogQuery { limit: usize::MAX, ..query }).unwrap();
    assert_eq!((log.next, log.stopped), (None, None));
    log.commits.into_iter().map(|entry| entry.commit.id).collect()
}

fn git_ids(git: &Git, arguments: &[&str]) -> Vec<String> {
    let listed = git.run(&[&["log", "--format=%H"], arguments].concat());
    listed.lines().map(String::from).collect()
}

/// Whether a commit's entry differs from that of every parent.
fn differs_from_every_parent(git: &Git, commit: &str, path: &str) -> bool {
    let entry = |commit: &str| git.try_bytes(&["rev-parse", &format!("{commit}:{path}")], b"").ok();
    let parents = git.run(&["rev-parse", &format!("{commit}^@")]);
    parents.lines().all(|parent| entry(parent) != entry(commit))
}

/// Compares every kind of question for every file of every commit with git.
fn check(served: &Served, git: &Git) {
    assert_eq!(ids(&history(served, git, ""), LogQuery::default()), git_ids(git, &[]));
    let mut paths: Vec<String> = Vec::new();
    for commit in git_ids(git, &["--all"]) {
        let files = git.tree(&commit).into_iter().filter(|(_, (kind, _))| kind == "blob");
        paths.extend(files.filter_map(|(path, _)| String::from_utf8(path).ok()));
    }
    paths.extend(["dir", "dir/deep", "missing"].map(String::from));
    paths.sort();
    paths.dedup();
    for path in &paths {
        let of_path = history(served, git, path);
        let log = of_path.log(&LogQuery { limit: usize::MAX, ..LogQuery::default() }).unwrap();
        let ours: Vec<String> = log.commits.into_iter().map(|entry| entry.commit.id).collect();
        let mut expected = git_ids(git, &["--full-history", "HEAD", "--", path]);
        expected.retain(|commit| differs_from_every_parent(git, commit, path));
        assert_eq!(ours, expected, "{path}");
        for text in ["line", "added in 5", "two"] {
            let query = LogQuery { containing: Some(text.into()), ..LogQuery::default() };
            let search = format!("-S{text}");
            let expected = git_ids(git, &["--full-history", &search, "HEAD", "--", path]);
            assert_eq!(ids(&of_path, query), expected, "{path} {text}");
        }
        let is_file = git.tree("HEAD").get(path.as_bytes()).is_some_and(|(kind, _)| kind == "blob");
        if is_file {
            check_blame(&of_path, git, path);
        }
    }
    for text in ["line", "added in 5", "two", "side"] {
        let query = LogQuery { containing: Some(text.into()), ..LogQuery::default() };
        let expected = git_ids(git, &[&format!("-S{text}")]);
        assert_eq!(ids(&history(served, git, ""), query), expected, "{text}");
    }
}

fn check_blame(history: &History, git: &Git, path: &str) {
    let mut ours = Vec::new();
    for run in history.blame("HEAD", None, Some(0..usize::MAX)).unwrap() {
        let id = run.commit.unwrap().id;
        ours.extend(run.lines.map(|_| id.clone()));
    }
    let porcelain = git.bytes(&["blame", "--line-porcelain", "HEAD", "--", path]);
    let lines = porcelain.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    let is_id = |word: &&str| word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let expected: Vec<String> = lines
        .filter(|line| (3..=4).contains(&line.split(' ').count()))
        .filter_map(|line| line.split(' ').next().filter(is_id).map(String::from))
        .collect();
    assert_eq!(ours, expected, "{path}");
}

/// Compares files, statuses and counts between two revisions with git, and applies the hunks.
fn check_diff(served: &Served, git: &Git, from: &str, to: &str) {
    let history = history(served, git, "");
    let local = super::fixture::store(&[&git.top]);
    let changes = history.changes(from, to).unwrap();
    let mut ours = Vec::new();
    for file in &changes.files {
        let versions = history.versions(file, &local).unwrap().unwrap();
        let diff = LineDiff::new(&versions.before, &versions.after);
        let counts = match versions.is_binary {
            true => "- -".to_string(),
            false => format!("{} {}", diff.n_added(), diff.n_removed()),
        };
        let old = file.shown_old().unwrap_or_default();
        ours.push(format!("{}|{old}|{}|{counts}", file.status.letter(), file.shown()));
        if !versions.is_binary {
            let mut hunks = "--- x\n+++ x\n".to_string();
            diff.write_hunks(&mut hunks, 3, Size::utf8(usize::MAX));
            check_applies(&versions.before, &versions.after, &hunks);
        }
    }
    let options = ["diff", "--no-ext-diff", "--no-textconv", "-M", "-z"];
    let raw = git.bytes(&[&options[..], &["--raw", from, to]].concat());
    let numstat = git.bytes(&[&options[..], &["--numstat", from, to]].concat());
    let fields = |bytes: &[u8]| -> Vec<String> {
        let fields = bytes.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        fields.map(|field| String::from_utf8_lossy(field).into_owned()).collect()
    };
    let (raw, numstat) = (fields(&raw), fields(&numstat));
    let (mut raw, mut numstat) = (raw.iter(), numstat.iter());
    let mut expected = Vec::new();
    while let (Some(about), Some(counts)) = (raw.next(), numstat.next()) {
        let letter = &about.rsplit(' ').next().unwrap()[..1];
        let path = raw.next().unwrap();
        let counts: Vec<&str> = counts.splitn(3, '\t').collect();
        let (old, path) = match letter {
            "R" => {
                numstat.by_ref().nth(1);
                (path.as_str(), raw.next().unwrap())
            }
            _ => ("", path),
        };
        expected.push(format!("{letter}|{old}|{path}|{} {}", counts[0], counts[1]));
    }
    assert_eq!(ours, expected, "{from} {to}");
}

fn check_applies(before: &[u8], after: &[u8], hunks: &str) {
    if before == after || str::from_utf8(before).is_err() || str::from_utf8(after).is_err() {
        return;
    }
    let place = RepoDir::new();
    let git = place.repository("x");
    git.write("x", before);
    git.write("patch", hunks);
    git.run(&["apply", "-p0", "patch"]);
    let applied = std::fs::read(git.path("x")).unwrap_or_default();
    assert!(applied == after, "{hunks}");
}

#[test]
fn commits_paths_and_blame_match_git() {
    let place = RepoDir::new();
    let git = agrees::history(&place, "project", &[]);
    check(&serve(&[&git.top]), &git);
}

#[test]
fn the_history_of_a_sha_256_repository_matches_git() {
    let place = RepoDir::new();
    let git = agrees::history(&place, "project", &["--object-format=sha256"]);
    let served = serve(&[&git.top]);
    check_diff(&served, &git, "v0", "HEAD");
    check(&served, &git);
}

#[test]
fn differences_between_revisions_match_git() {
    let place = RepoDir::new();
    let git = agrees::history(&place, "project", &[]);
    let served = serve(&[&git.top]);
    for (from, to) in [
        ("v0", "HEAD"),
        ("HEAD", "v0"),
        ("v0", "v0~0^{tree}"),
        ("HEAD~1", "HEAD"),
        ("side/branch", "main"),
        ("HEAD~2", "HEAD~1"),
    ] {
        check_diff(&served, &git, from, to);
    }
}

/// A linear history in which files are renamed, edited and copied.
fn renames(place: &RepoDir) -> Git {
    let git = place.repository("renames");
    let text = |n: usize| (0..40).map(|line| format!("line {line} of {n}\n")).collect::<String>();
    git.write("first.txt", text(1));
    git.write("other.txt", text(2));
    git.commit("one");
    git.write("first.txt", text(1).replace("line 7 ", "seven "));
    git.commit("two");
    git.run(&["mv", "first.txt", "second.txt"]);
    git.write("second.txt", text(1).replace("line 7 ", "seven ").replace("line 9 ", "nine "));
    git.commit("three");
    git.write("sub/copy.txt", text(2).replace("line 1 ", "one "));
    git.commit("four");
    git.run(&["mv", "sub", "moved"]);
    git.write("third.txt", text(1).replace("line 7 ", "seven ").replace("line 30 ", "thirty "));
    git.run(&["rm", "-q", "second.txt"]);
    git.commit("five");
    git
}

#[test]
fn renames_are_followed_on_a_linear_history() {
    let place = RepoDir::new();
    let git = renames(&place);
    let served = serve(&[&git.top]);
    for path in ["third.txt", "moved/copy.txt", "other.txt"] {
        let ours = ids(&history(&served, &git, path), LogQuery::default());
        assert_eq!(ours, git_ids(&git, &["--follow", "--", path]), "{path}");
        check_blame(&history(&served, &git, path), &git, path);
    }
    let query = LogQuery { limit: 10, ..LogQuery::default() };
    let log = history(&served, &git, "third.txt").log(&query).unwrap();
    let renamed: Vec<Option<&str>> =
        log.commits.iter().map(|entry| entry.renamed_from.as_deref()).collect();
    assert_eq!(renamed, [Some("second.txt"), Some("first.txt"), None, None]);
    for (from, to) in [("HEAD~4", "HEAD"), ("HEAD~1", "HEAD"), ("HEAD", "HEAD~4")] {
        check_diff(&served, &git, from, to);
    }
}

#[test]
fn pages_joined_are_the_whole_list() {
    let place = RepoDir::new();
    for git in [agrees::history(&place, "project", &[]), renames(&place)] {
        let served = serve(&[&git.top]);
        for path in ["", "n.txt", "third.txt"] {
            let whole = ids(&history(&served, &git, path), LogQuery::default());
            for limit in 1..4 {
                let (mut path, mut revision) = (path.to_string(), None);
                let mut joined = Vec::new();
                loop {
                    let query = LogQuery { revision, limit, ..LogQuery::default() };
                    let log = history(&served, &git, &path).log(&query).unwrap();
                    joined.extend(log.commits.into_iter().map(|entry| entry.commit.id));
                    let Some(next) = log.next else { break };
                    path = next.path.unwrap_or(path);
                    revision = Some(next.revision);
                }
                assert_eq!(joined, whole, "{path} {limit}");
            }
        }
    }
}

#[test]
fn messages_authors_and_dates_are_filtered_as_in_git() {
    let place = RepoDir::new();
    let git = place.repository("project");
    for (n, (author, message)) in
        [("Ann <a@x>", "Fix a\n\nbody"), ("Bob <b@y>", "add"), ("Ann <a@x>", "more FIX")]
            .into_iter()
            .enumerate()
    {
        git.write("n.txt", n.to_string());
        git.run(&["add", "--all"]);
        let date = format!("2024-01-0{}T12:00:00Z", n + 1);
        let tree = git.run(&["write-tree"]);
        let head = git.try_bytes(&["rev-parse", "--verify", "-q", "HEAD"], b"");
        let parent = head.ok().map(|id| format!("parent {}", String::from_utf8(id).unwrap()));
        let time = git.run(&["rev-parse", &format!("--since={date}")]).replace("--max-age=", "");
        let (parent, signature) = (parent.unwrap_or_default(), format!("{author} {time} +0000"));
        let commit = format!(
            "tree {tree}\n{parent}author {signature}\ncommitter {signature}\n\n{message}\n"
        );
        let id = git.run_with(&["hash-object", "-t", "commit", "-w", "--stdin"], commit.as_bytes());
        git.run(&["update-ref", "HEAD", &id]);
    }
    let served = serve(&[&git.top]);
    let subjects = |query: LogQuery| -> Vec<String> {
        let query = LogQuery { limit: 10, ..query };
        let log = history(&served, &git, "").log(&query).unwrap();
        log.commits.into_iter().map(|entry| entry.commit.subject).collect()
    };
    let message = |text: &str| LogQuery { message: Some(text.into()), ..LogQuery::default() };
    assert_eq!(subjects(message("fix")), ["more FIX", "Fix a"]);
    assert_eq!(subjects(message("body")), ["Fix a"]);
    assert_eq!(subjects(LogQuery { author: Some("B@Y".into()), ..message("") }), ["add"]);
    let second = recto_store::git::dates::start("2024-01-02").unwrap();
    assert_eq!(subjects(LogQuery { since: Some(second), ..message("") }), ["more FIX", "add"]);
    let end = recto_store::git::dates::end("2024-01-02").unwrap();
    assert_eq!(subjects(LogQuery { until: Some(end), ..message("") }), ["add", "Fix a"]);
}

#[test]
fn a_revision_can_search_messages() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("n.txt", "1")]);
    for n in 2..6 {
        git.write("n.txt", n.to_string());
        git.commit(&format!("change {n}: part"));
    }
    git.run(&["tag", "-a", "v1", "-m", "tagged", "HEAD~1"]);
    let served = serve(&[&git.top]);
    for revision in [":/change 3", ":/^change", ":/!-change", "HEAD^{/change [23]}", "v1^{/part}~1"]
    {
        let id = git.run(&["rev-parse", revision]);
        let expected = git.run(&["cat-file", "-p", &format!("{id}:n.txt")]);
        assert_eq!(served.text(revision, "n.txt"), expected, "{revision}");
    }
    assert_eq!(
        served.refusal(":/nothing", "n.txt"),
        "Unknown revision: :/nothing | No commit message contains that text."
    );
}

/// The commit of a packed reference that a loose one replaces is found only if another names it.
#[test]
fn a_search_of_messages_skips_packed_references_that_are_replaced() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("n.txt", "1")]);
    git.run(&["branch", "kept"]);
    git.write("n.txt", "2");
    git.commit("lost change");
    git.run(&["pack-refs", "--all"]);
    let served = serve(&[&git.top]);
    assert_eq!(served.text(":/lost change", "n.txt"), "2");
    git.run(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert!(git.try_bytes(&["rev-parse", ":/lost change"], b"").is_err());
    let unknown = "Unknown revision: :/lost change | No commit message contains that text.";
    assert_eq!(served.refusal(":/lost change", "n.txt"), unknown);
    assert_eq!(served.text(":/first", "n.txt"), "1");
    git.run(&["symbolic-ref", "refs/heads/other", "refs/heads/kept"]);
    assert_eq!(served.refusal(":/lost change", "n.txt"), unknown);
}

#[test]
fn a_blame_shows_lines_that_are_not_committed() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "one\ntwo\nthree\n")]);
    let served = serve(&[&git.top]);
    let runs = history(&served, &git, "a.txt");
    let runs = runs.blame("HEAD", Some(b"one\nnew\nthree\n"), Some(0..usize::MAX)).unwrap();
    let lines: Vec<(usize, usize, bool)> =
        runs.iter().map(|run| (run.lines.start, run.lines.end, run.commit.is_some())).collect();
    assert_eq!(lines, [(0, 1, true), (1, 2, false), (2, 3, true)]);
    let commit = runs[0].commit.as_ref().unwrap();
    assert_eq!((commit.author.as_str(), commit.subject.as_str()), ("Test", "first"));
    assert_eq!(commit.date, "2024-01-02T03:04:05+00:00");
    let error = history(&served, &git, "b.txt").blame("HEAD", None, Some(0..1)).unwrap_err();
    assert!(matches!(error, Error::NotInRevision { .. }), "{error}");
}

#[test]
fn hidden_files_are_neither_compared_nor_searched() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a"), ("secret.txt", "password")]);
    git.write("secret.txt", "changed password");
    git.write("a.txt", "b");
    git.commit("second");
    let served = serve_with(&[&git.top], &[], &["secret.txt"]);
    let query = LogQuery { containing: Some("password".into()), ..LogQuery::default() };
    assert_eq!(ids(&history(&served, &git, ""), query), Vec::<String>::new());
    let changes = history(&served, &git, "").changes("HEAD~1", "HEAD").unwrap();
    let paths: Vec<String> = changes.files.iter().map(|file| file.shown()).collect();
    assert_eq!(paths, ["a.txt"]);
    let secret = git.path("secret.txt");
    let denied = served.revisions.history(secret.to_str().unwrap(), &served.caller);
    assert!(with_hint(denied.err().unwrap()).starts_with("Permission denied"));
}

#[test]
fn a_rename_does_not_add_text() {
    let place = RepoDir::new();
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    let git = place.with_files("project", &[("old.txt", &format!("{text}wanted\n"))]);
    let first = git.run(&["rev-parse", "HEAD"]);
    git.run(&["mv", "old.txt", "middle.txt"]);
    git.commit("pure rename");
    git.run(&["mv", "middle.txt", "new.txt"]);
    git.write("new.txt", format!("{text}wanted\nwanted\n"));
    let third = git.commit("rename and add");
    let query = LogQuery { containing: Some("wanted".into()), ..LogQuery::default() };
    let ours = ids(&history(&serve(&[&git.top]), &git, "new.txt"), query);
    assert_eq!(ours, [third, first]);
    assert_eq!(ours, git_ids(&git, &["--follow", "-Swanted", "--", "new.txt"]));
}
