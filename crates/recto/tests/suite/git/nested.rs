//! Repositories inside the work tree of another one, submodules and others.

use recto_store::Revisions;
use recto_store::git::LogQuery;

use super::fixture::{Git, RepoDir, Served, serve};
use super::history::{history, ids};

/// A repository that contains a submodule, and another repository that it does not know.
fn nested(place: &RepoDir) -> Git {
    let source = place.with_files("source", &[("s.txt", "old s\n"), ("deep/t.txt", "t\n")]);
    source.write("s.txt", "s\n");
    source.commit("second of source");
    let outer = place.with_files("outer", &[("a.txt", "a\n"), ("plain/b.txt", "b\n")]);
    outer.run(&["submodule", "--quiet", "add", "../source", "sub"]);
    outer.commit("with submodule");
    let inner = place.with_files("outer/plain/inner", &[("f.txt", "f\n"), ("deep/g.txt", "g\n")]);
    assert!(inner.path(".git").is_dir() && outer.path("sub/.git").is_file());
    outer
}

fn subjects(served: &Served, path: &str) -> Vec<String> {
    let history = served.revisions.history(path, &served.caller).unwrap();
    let log = history.log(&LogQuery { limit: 10, ..LogQuery::default() }).unwrap();
    log.commits.into_iter().map(|entry| entry.commit.subject).collect()
}

#[test]
fn a_relative_path_is_looked_up_in_the_nearest_repository() {
    let place = RepoDir::new();
    let outer = nested(&place);
    let served = serve(&[&outer.top]);
    for (path, text, commits) in [
        ("sub/s.txt", "s\n", vec!["second of source", "first"]),
        ("./sub/deep/../s.txt", "s\n", vec!["second of source", "first"]),
        ("sub/deep/t.txt", "t\n", vec!["first"]),
        ("plain/inner/f.txt", "f\n", vec!["first"]),
        ("plain/b.txt", "b\n", vec!["first"]),
        ("a.txt", "a\n", vec!["first"]),
    ] {
        let absolute = outer.path(path);
        for path in [path, absolute.to_str().unwrap()] {
            assert_eq!(served.text("HEAD", path), text, "{path}");
            assert_eq!(subjects(&served, path), commits, "{path}");
        }
    }
    assert_eq!(served.text("HEAD~1", "sub/s.txt"), "old s\n");
    assert_eq!(served.all("HEAD", "sub").unwrap().files, ["deep/t.txt", "s.txt"]);
    assert_eq!(subjects(&served, "."), ["with submodule", "first"]);
    // The path in an answer is valid as an argument.
    let at = served.revisions.at("HEAD", "sub/s.txt", &served.caller).unwrap();
    assert_eq!(at.shown, outer.path("sub/s.txt"));
    let changes = served.revisions.history("sub", &served.caller).unwrap();
    let changes = changes.changes("HEAD~1", "HEAD").unwrap();
    assert_eq!(changes.files.iter().map(|file| file.shown()).collect::<Vec<_>>(), ["s.txt"]);
}

#[test]
fn a_comparison_with_the_disk_omits_other_repositories() {
    let place = RepoDir::new();
    let outer = nested(&place);
    outer.write("new/n.txt", "n\n");
    outer.write("sub/new.txt", "n\n");
    let served = serve(&[&outer.top]);
    for path in ["", "plain"] {
        let changes = history(&served, &outer, path).changes_on_disk("HEAD").unwrap();
        let ours: Vec<String> = changes.files.iter().map(|file| file.shown()).collect();
        let gits = outer.run(&["status", "--porcelain", "-uall", "--ignore-submodules"]);
        assert_eq!(gits.lines().collect::<Vec<_>>(), ["?? new/n.txt", "?? plain/inner/"]);
        assert_eq!(ours, if path.is_empty() { vec!["new/n.txt"] } else { vec![] }, "{path}");
        assert_eq!(changes.n_nested, 1, "{path}");
    }
    // A file that the outer repository has is compared.
    outer.run(&["update-index", "--add", "--cacheinfo", &{
        let id = outer.run_with(&["hash-object", "-w", "--stdin"], b"other\n");
        format!("100644,{id},plain/inner/f.txt")
    }]);
    outer.run(&["commit", "--quiet", "-m", "a file of the inner one"]);
    let changes = history(&served, &outer, "").changes_on_disk("HEAD").unwrap();
    let ours: Vec<String> = changes.files.iter().map(|file| file.shown()).collect();
    assert_eq!(ours, ["new/n.txt", "plain/inner/f.txt"]);
    assert_eq!(ids(&history(&served, &outer, ""), LogQuery::default()).len(), 3);
}
