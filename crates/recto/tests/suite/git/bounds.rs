//! Repositories that are small and would take much time or memory, and how an answer says that it is
//! not complete.

use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::git::{GitRevisions, History};
use recto_store::memory_budget::MemoryBudget;
use recto_store::{AtRevision, Context, Error, RevisionFile, Revisions};
use recto_tools::{AnswerForm, Call, Calls, Delivery, Served};
use serde_json::json;

use super::fixture::{Git, RepoDir, serve};
use super::history::history;
use crate::server::Server;

/// Commits 300,000 paths of 3.6 KB that are stored in 16 trees, after an empty commit.
fn commit_long_paths(git: &Git) {
    git.commit("empty");
    let name = "n".repeat(240);
    let tree_of = |entries: String| git.run_with(&["mktree"], entries.as_bytes());
    let many = |entry: String| {
        tree_of((100..650).map(|n| format!("{entry}\t{name}{n}\n")).collect::<String>())
    };
    let blob = git.run_with(&["hash-object", "-w", "--stdin"], b"");
    let mut tree = many(format!("100644 blob {blob}"));
    tree = many(format!("040000 tree {tree}"));
    for _ in 0..13 {
        tree = tree_of(format!("040000 tree {tree}\t{name}\n"));
    }
    let commit = git.run(&["commit-tree", &tree, "-p", "HEAD", "-m", "long"]);
    git.run(&["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn walks_and_comparisons_of_trees_stop_when_there_is_no_memory() {
    let place = RepoDir::new();
    let git = place.repository("project");
    commit_long_paths(&git);
    let mut served = serve(&[&git.top]);
    let budget = |n_bytes| Arc::new(MemoryBudget::new(n_bytes, Duration::ZERO)).for_call();
    served.caller.memory = budget(32 << 20);
    let listing = served.all("main", git.top.to_str().unwrap()).unwrap();
    assert_eq!(listing.stopped, Some("all memory for calls was in use"));
    assert!((1_000..20_000).contains(&listing.files.len()), "{}", listing.files.len());
    served.caller.memory = budget(32 << 20);
    let error = history(&served, &git, "").changes("main~1", "main").unwrap_err();
    assert!(error.to_string().contains("name a path"), "{error}");
}

#[test]
fn long_paths_take_bounded_memory() {
    let mut server = Server::ready(&[]);
    let git = Git { top: server.path("project") };
    std::fs::create_dir(&git.top).unwrap();
    git.run(&["init", "--quiet", "-b", "main"]);
    commit_long_paths(&git);
    let n_before = server.most_resident_bytes();
    for (tool, arguments) in [
        ("ReadDiff", json!({"path": git.top, "from": "main~1", "to": "main"})),
        ("ListFiles", json!({"pattern": git.path("**"), "commit": "main"})),
    ] {
        let answer = server.call(tool, arguments);
        assert_eq!(answer["result"]["isError"] == true, tool == "ReadDiff", "{tool}: {answer}");
        let n_bytes = server.most_resident_bytes() - n_before;
        assert!(n_bytes < 450 << 20, "{tool}: {n_bytes}");
    }
}

/// Revisions whose histories have little time.
struct Impatient(GitRevisions);

impl Revisions for Impatient {
    fn at(&self, revision: &str, path: &str, context: &Context) -> Result<AtRevision, Error> {
        self.0.at(revision, path, context)
    }

    fn file(&self, revision: &str, path: &str, context: &Context) -> Result<RevisionFile, Error> {
        self.0.file(revision, path, context)
    }

    fn history(&self, path: &str, context: &Context) -> Result<History, Error> {
        Ok(self.0.history(path, context)?.with_max_time(Duration::from_secs(1)))
    }
}

#[test]
fn a_diff_without_time_to_compare_all_files_says_so() {
    let place = RepoDir::new();
    let git = place.repository("project");
    // Two orders of the same lines, which are slow to compare.
    for factor in [7_919, 6_271] {
        for file in 0..40 {
            let lines = (0..30_011).map(|n| format!("{file} {}\n", n * factor % 30_011));
            git.write(format!("{file:02}.txt"), lines.collect::<String>());
        }
        git.commit("all");
    }
    let revisions = Impatient(serve(&[&git.top]).revisions);
    let store = Arc::new(super::fixture::store(&[&git.top]));
    let delivery = Delivery { form: AnswerForm::Both, max_bytes: 1 << 20 };
    let calls = Calls::new(store, Arc::new(revisions), Served::all(), git.top.clone(), delivery);
    let tool = calls.served().find("ReadDiff").unwrap();
    let arguments = json!({"from": "HEAD~1", "to": "HEAD"}).as_object().cloned().unwrap();
    let answer = calls.call(tool, arguments, &Call::default()).unwrap();
    assert_eq!(answer.structured["truncated"], true);
    assert_eq!(answer.structured["total"], 40);
    assert!(answer.head.contains("; stopped after 1 seconds"), "{}", answer.head);
    assert!(!answer.head.contains(", +"), "{}", answer.head);
}

#[test]
fn a_comparison_with_an_incomplete_listing_of_the_disk_says_so() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a\n")]);
    let name = "n".repeat(240);
    for n in 0..5_000 {
        git.write(format!("new/{name}{n}"), "");
    }
    let mut served = serve(&[&git.top]);
    served.caller.memory = Arc::new(MemoryBudget::new(1 << 20, Duration::ZERO)).for_call();
    let changes = history(&served, &git, "").changes_on_disk("HEAD").unwrap();
    assert_eq!(changes.stopped.as_deref(), Some("all memory for calls was in use"));
}

#[test]
fn a_search_for_a_message_reads_each_commit_of_many_references_once() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a\n")]);
    let id = git.run(&["rev-parse", "HEAD"]);
    let refs: String = (0..600_000).map(|n| format!("{id} refs/tags/t{n:06}\n")).collect();
    git.write(".git/packed-refs", refs);
    for n in 0..300 {
        std::fs::create_dir_all(git.path(&format!(".git/refs/empty/{n}"))).unwrap();
    }
    let served = serve(&[&git.top]);
    let started = Instant::now();
    let refusal = served.refusal(":/nothing", "a.txt");
    assert!(refusal.contains("No commit message"), "{refusal}");
    assert_eq!(served.text(":/first", "a.txt"), "a\n");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}
