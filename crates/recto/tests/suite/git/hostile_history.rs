//! For any repository, a question about its history ends in time and in bounded memory, starts
//! nothing, and reads nothing outside the roots.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use recto_store::git::LogQuery;
use recto_store::{Error, Revisions};

use serde_json::json;

use super::fixture::{Git, RepoDir, serve, with_hint};
use super::history::{history, ids};
use crate::server::Server;

fn all() -> LogQuery {
    LogQuery { limit: usize::MAX, ..LogQuery::default() }
}

/// Creates a linear history, in which every 1000th commit changes another file.
fn long_history(place: &RepoDir, n_commits: usize) -> Git {
    let git = place.repository("long");
    import_long_history(&git, n_commits, "packed");
    git
}

/// Adds such a history to a repository, `packed` or `loose`.
fn import_long_history(git: &Git, n_commits: usize, stored: &str) {
    let mut stream = Vec::new();
    for n in 0..n_commits {
        let (name, text) = (if n % 1000 == 0 { "rare.txt" } else { "n.txt" }, n.to_string());
        stream.extend(
            format!(
                "commit refs/heads/main\ncommitter T <t@example.com> {n} +0000\ndata 1\nx\n\
                 M 100644 inline {name}\ndata {}\n{text}\n",
                text.len()
            )
            .bytes(),
        );
    }
    let max_loose =
        format!("fastimport.unpackLimit={}", if stored == "loose" { 1 << 30 } else { 1 });
    git.run_with(&["-c", &max_loose, "fast-import", "--quiet"], &stream);
}

/// Returns a server and a new repository in its root.
fn server_with_repository() -> (Server, Git) {
    let server = Server::ready(&[]);
    let git = Git { top: server.path("project") };
    std::fs::create_dir(&git.top).unwrap();
    git.run(&["init", "--quiet", "-b", "main"]);
    (server, git)
}

#[test]
fn a_hundred_thousand_commits_take_bounded_memory() {
    let (mut server, git) = server_with_repository();
    import_long_history(&git, 100_000, "packed");
    let path = git.path("rare.txt");
    let n_before = server.most_resident_bytes();
    let calls = [
        ("ListCommits", json!({"path": path, "limit": 100_000})),
        ("ListCommits", json!({"path": git.top, "containing": "nothing", "limit": 100_000})),
        ("ReadDiff", json!({"path": git.top, "from": "main~50000", "to": "main"})),
        ("ReadLines", json!({"file_path": path, "commit": "main", "blame": true})),
    ];
    for (tool, arguments) in calls {
        let started = Instant::now();
        let answer = server.call(tool, arguments);
        assert!(answer["result"]["isError"] != true, "{tool}: {answer}");
        assert!(started.elapsed() < Duration::from_secs(60), "{tool}: {:?}", started.elapsed());
    }
    let n_bytes = server.most_resident_bytes() - n_before;
    assert!(n_bytes < 160 << 20, "{n_bytes}");
}

#[test]
fn loose_objects_take_bounded_memory() {
    let (mut server, git) = server_with_repository();
    import_long_history(&git, 5000, "loose");
    let n_before = server.most_resident_bytes();
    let answer = server.call("ListCommits", json!({"path": git.path("rare.txt")}));
    assert_eq!(answer["result"]["structuredContent"]["commits"].as_array().unwrap().len(), 5);
    let n_bytes = server.most_resident_bytes() - n_before;
    assert!(n_bytes < 40 << 20, "{n_bytes}");
}

#[test]
fn versions_with_millions_of_lines_take_bounded_memory() {
    let (mut server, git) = server_with_repository();
    // Every line would take 16 bytes.
    let n_lines = 30 << 20;
    let mut stream = Vec::new();
    for end in ["first", "second"] {
        let head = "commit refs/heads/main\ncommitter T <t@example.com> 1 +0000\ndata 1\nx\n";
        let head = format!("{head}M 100644 inline a.txt\ndata {}\n", n_lines + end.len());
        stream.extend(head.bytes());
        stream.resize(stream.len() + n_lines, b'\n');
        stream.extend(end.bytes());
    }
    git.run_with(&["fast-import", "--quiet"], &stream);
    let path = git.path("a.txt");
    let blame = json!({"file_path": path, "commit": "main", "lines": "1", "blame": true});
    let answer = server.call("ReadLines", blame);
    assert_eq!(answer["result"]["structuredContent"]["blame"][0]["subject"], "x", "{answer}");
    let diff = json!({"path": path, "from": "main~1", "to": "main"});
    let answer = server.call("ReadDiff", diff)["result"].to_string();
    assert!(answer.contains("too large to compare"), "{answer}");
    let n_bytes = server.most_resident_bytes();
    assert!(n_bytes < 400 << 20, "{n_bytes}");
}

#[test]
fn a_hundred_thousand_commits_are_listed_in_bounded_steps() {
    let place = RepoDir::new();
    let git = long_history(&place, 100_000);
    let served = serve(&[&git.top]);
    let (mut revision, mut n_listed, mut n_steps) = (None, 0, 0);
    loop {
        let started = Instant::now();
        let log = history(&served, &git, "rare.txt").log(&LogQuery { revision, ..all() }).unwrap();
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        n_listed += log.commits.len();
        n_steps += 1;
        let Some(next) = log.next else { break };
        assert!(log.stopped.is_some_and(|why| why.contains("seconds")) && n_steps < 50);
        revision = Some(next.revision);
    }
    assert_eq!(n_listed, 100);
}

#[test]
fn a_list_that_runs_out_of_time_continues_where_it_stopped() {
    let place = RepoDir::new();
    let git = long_history(&place, 3000);
    let served = serve(&[&git.top]);
    let whole = ids(&history(&served, &git, "rare.txt"), all());
    let (mut revision, mut joined, mut n_stops) = (None, Vec::new(), 0);
    loop {
        let query = LogQuery { revision: revision.clone(), ..all() };
        let limited = history(&served, &git, "rare.txt").with_max_time(Duration::from_millis(20));
        match limited.log(&query) {
            Ok(log) => {
                joined.extend(log.commits.into_iter().map(|entry| entry.commit.id));
                let Some(next) = log.next else { break };
                (revision, n_stops) = (Some(next.revision), n_stops + 1);
            }
            // On a busy machine the time can be over before the first commit.
            Err(error) => assert!(error.to_string().contains("takes too long"), "{error}"),
        }
    }
    assert_eq!(joined, whole);
    assert!(n_stops > 0);
}

/// Stores a commit under an id that is not its own, with itself as a parent.
fn loop_of_commits(git: &Git) -> String {
    let id = "a".repeat(40);
    let tree = git.run(&["rev-parse", "HEAD^{tree}"]);
    let signature = "T <t@example.com> 1 +0000";
    let commit = format!(
        "tree {tree}\nparent {id}\nauthor {signature}\ncommitter {signature}\n\nround and round\n"
    );
    let arguments = ["hash-object", "-t", "commit", "-w", "--literally", "--stdin"];
    let real = git.run_with(&arguments, commit.as_bytes());
    let object = |id: &str| git.path(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::create_dir_all(object(&id).parent().unwrap()).unwrap();
    std::fs::copy(object(&real), object(&id)).unwrap();
    id
}

#[test]
fn a_loop_of_commits_ends() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "one\n")]);
    let id = loop_of_commits(&git);
    let served = serve(&[&git.top]);
    let query = LogQuery { revision: Some(id.clone()), ..all() };
    assert_eq!(ids(&history(&served, &git, ""), query.clone()), std::slice::from_ref(&id));
    assert_eq!(ids(&history(&served, &git, "a.txt"), query), Vec::<String>::new());
    let limited = history(&served, &git, "a.txt").with_max_time(Duration::from_millis(300));
    let error = limited.blame(&id, None, Some(0..1)).unwrap_err();
    assert!(error.to_string().contains("ask for fewer `lines`"), "{error}");
    let refusal = served.refusal(&format!("{id}^{{/nothing}}"), "a.txt");
    assert!(refusal.contains("No commit message"), "{refusal}");
}

#[test]
fn missing_objects_are_named() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "one\n")]);
    let blob = git.run(&["rev-parse", "HEAD:a.txt"]);
    git.write("a.txt", "two\n");
    let second = git.commit("second");
    git.write("a.txt", "three\n");
    let third = git.commit("third");
    let remove = |id: &str| {
        std::fs::remove_file(git.path(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    };
    let served = serve(&[&git.top]);
    remove(&blob);
    let query = LogQuery { containing: Some("one".into()), ..all() };
    let error = history(&served, &git, "").log(&query).unwrap_err();
    assert!(error.to_string().contains(&format!("object {blob} is missing")), "{error}");
    let changes = history(&served, &git, "").changes("HEAD~2", "HEAD").unwrap();
    let local = super::fixture::store(&[&git.top]);
    let error = history(&served, &git, "").versions(&changes.files[0], &local).err().unwrap();
    assert!(error.to_string().contains(&format!("object {blob} is missing")), "{error}");

    // What was found before is listed.
    remove(&second);
    let log = history(&served, &git, "").log(&all()).unwrap();
    let listed: Vec<String> = log.commits.into_iter().map(|entry| entry.commit.id).collect();
    assert_eq!(listed, [third]);
    let stopped = log.stopped.unwrap();
    assert!(stopped.contains(&format!("object {second} is missing")), "{stopped}");
}

#[test]
fn a_shallow_clone_says_that_commits_are_missing() {
    let place = RepoDir::new();
    let git = long_history(&place, 30);
    let clone = place.path.join("shallow");
    let url = format!("file://{}", git.top.display());
    git.run(&["clone", "--quiet", "--depth=3", &url, clone.to_str().unwrap()]);
    let clone = Git { top: clone };
    let served = serve(&[&place.path]);
    let log = history(&served, &clone, "").log(&all()).unwrap();
    assert_eq!((log.commits.len(), log.is_cut_off, log.next), (3, true, None));
    // Lines of the oldest commit are from there, as in git.
    let runs = history(&served, &clone, "rare.txt").blame("HEAD", None, Some(0..1)).unwrap();
    let oldest = clone.run(&["rev-parse", "HEAD~2"]);
    assert_eq!(runs[0].commit.as_ref().unwrap().id, oldest);
}

#[test]
fn alternates_outside_the_roots_are_not_read() {
    let place = RepoDir::new();
    let outside = place.with_files("outside", &[("secret.txt", "secret")]);
    let git = place.with_files("root/project", &[("a.txt", "a")]);
    let objects = outside.path(".git/objects");
    git.write(".git/objects/info/alternates", format!("{}\n", objects.display()));
    let served = serve(&[&place.path.join("root")]);
    let path = git.path("a.txt");
    let denied = served.revisions.history(path.to_str().unwrap(), &served.caller);
    let denied = with_hint(denied.err().unwrap());
    assert!(denied.contains("alternates names a directory outside"), "{denied}");
    assert!(!denied.contains("outside/"), "{denied}");
}

#[test]
fn filters_and_diff_drivers_are_not_run() {
    let place = RepoDir::new();
    let git = place.with_files("root/project", &[("a.txt", "one\n"), ("b.txt", "b\n")]);
    git.write("a.txt", "two\n");
    git.write(".gitattributes", "* filter=x diff=x merge=x text eol=crlf ident\n");
    git.commit("second");
    let canary = place.path.join("root/canary");
    let script = place.path.join("root/script");
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", canary.display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {script}\n\tautocrlf = true\n\
         [filter \"x\"]\n\tsmudge = {script}\n\tclean = {script}\n\tprocess = {script}\n\
         \trequired = true\n[diff]\n\texternal = {script}\n[diff \"x\"]\n\ttextconv = {script}\n\
         \tcommand = {script}\n[blame]\n\tignoreRevsFile = {script}\n[log]\n\tmailmap = true\n"
    );
    std::fs::write(git.path(".git/config"), config).unwrap();
    git.write("b.txt", "changed\n");
    let served = serve(&[&place.path.join("root")]);
    let of_all = history(&served, &git, "");
    assert_eq!(ids(&of_all, LogQuery { containing: Some("two".into()), ..all() }).len(), 1);
    let shown = |files: &[recto_store::git::FileChange]| -> Vec<String> {
        files.iter().map(|file| file.shown()).collect()
    };
    let changes = of_all.changes("HEAD~1", "HEAD").unwrap();
    assert_eq!(shown(&changes.files), [".gitattributes", "a.txt"]);
    let changes = of_all.changes_on_disk("HEAD").unwrap();
    assert_eq!(shown(&changes.files), ["b.txt"]);
    let versions = of_all.versions(&changes.files[0], &super::fixture::store(&[&git.top]));
    assert_eq!(*versions.unwrap().unwrap().after, b"changed\n");
    assert!(history(&served, &git, "a.txt").blame("HEAD", None, Some(0..1)).is_ok());
    assert!(!canary.exists());
}

#[test]
fn a_cancelled_question_about_history_stops() {
    let place = RepoDir::new();
    let git = long_history(&place, 10);
    let served = serve(&[&git.top]);
    let of_all = history(&served, &git, "rare.txt");
    served.caller.cancel.raise();
    assert_eq!(of_all.log(&all()).unwrap_err(), Error::Cancelled);
    assert_eq!(of_all.changes("HEAD~1", "HEAD").unwrap_err(), Error::Cancelled);
    assert_eq!(of_all.blame("HEAD", None, Some(0..1)).unwrap_err(), Error::Cancelled);
}
