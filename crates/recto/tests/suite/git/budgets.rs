//! For any repository, a call ends in time and in bounded memory.

use std::time::{Duration, Instant};

use recto_store::Context;
use recto_store::Error;

use super::fixture::{Git, RepoDir, serve};

/// Creates nested trees, each repeated many times: more files than could ever be listed.
fn bomb(git: &Git, width: usize, depth: usize) {
    let blob = git.run_with(&["hash-object", "-w", "--stdin"], b"boom");
    let mut inner = ("100644 blob", blob);
    for _ in 0..depth {
        let mut tree = String::new();
        for n in 0..width {
            tree += &format!("{} {}\td{n:03}\n", inner.0, inner.1);
        }
        inner = ("040000 tree", git.run_with(&["mktree"], tree.as_bytes()));
    }
    let commit = git.run(&["commit-tree", "-m", "bomb", &inner.1]);
    git.run(&["update-ref", "HEAD", &commit]);
}

#[test]
fn an_endless_tree_is_listed_up_to_the_budget() {
    let place = RepoDir::new();
    let git = place.repository("project");
    bomb(&git, 100, 5);
    let served = serve(&[&git.top]);
    let started = Instant::now();
    let listing = served.all("HEAD", ".").unwrap();
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(listing.stopped.is_some());
    assert!(listing.files.len() <= 200_000);
    assert_eq!(listing.files[0], "d000/d000/d000/d000/d000");
    assert!(listing.files.is_sorted());
    assert_eq!(served.text("HEAD", "d042/d007/d099/d000/d001"), "boom");

    // A selective pattern does not descend into it.
    let (folder, glob) = recto_store::glob::Glob::parse("d001/d002/*3/d00*/d00[0-4]").unwrap();
    let listing = served.list("HEAD", &folder, &glob).unwrap();
    assert_eq!((listing.total, listing.stopped), (500, None));
}

#[test]
fn a_cancelled_call_stops() {
    let place = RepoDir::new();
    let git = place.repository("project");
    bomb(&git, 100, 5);
    let mut served = serve(&[&git.top]);
    let cancel = served.caller.cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        cancel.raise();
        Instant::now()
    });
    assert_eq!(served.all("HEAD", ".").unwrap_err(), Error::Cancelled);
    let late = canceller.join().unwrap().elapsed();
    assert!(late < Duration::from_secs(5), "stopped only after {late:?}");
    assert_eq!(served.read("HEAD", "d000").unwrap_err(), Error::Cancelled);
    served.caller = Context::default();
    assert!(served.text("HEAD", "d000").starts_with("-32003"));
}

#[test]
fn a_file_over_the_limit_is_rejected_by_its_header() {
    let place = RepoDir::new();
    let git = place.repository("project");
    let large = std::fs::File::create(git.path("large")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    let most = std::fs::File::create(git.path("most")).unwrap();
    most.set_len(64 << 20).unwrap();
    git.commit("large");
    let served = serve(&[&git.top]);
    for _ in 0..2 {
        let refusal = served.refusal("HEAD", "large");
        assert!(
            refusal.starts_with(
                "File too large (67108865 bytes): large | With commit, only files up to 64 MiB"
            ),
            "{refusal}"
        );
        assert!(served.text("HEAD", "large").starts_with("-32019 "));
        assert_eq!(served.read("HEAD", "most").unwrap().len(), 64 << 20);
        git.run(&["gc", "--quiet"]);
    }
}

#[test]
fn a_long_history_is_walked_and_a_deep_tree_is_rejected() {
    let place = RepoDir::new();
    let git = place.repository("project");
    let mut stream = Vec::new();
    for n in 0..3000 {
        stream.extend(
            format!(
                "commit refs/heads/main\ncommitter T <t@example.com> {n} +0000\ndata 1\nx\n\
                 M 100644 inline n.txt\ndata {}\n{n}\n",
                n.to_string().len()
            )
            .bytes(),
        );
    }
    git.run_with(&["fast-import", "--quiet"], &stream);
    let served = serve(&[&git.top]);
    assert_eq!(served.text("HEAD~2999", "n.txt"), "0");
    assert_eq!(
        served.refusal("HEAD~3000", "n.txt"),
        "Unknown revision: HEAD~3000 | It is before the first commit."
    );
    bomb(&git, 1, 1500);
    let refusal = served.all("HEAD", ".").unwrap_err();
    assert!(refusal.to_string().contains("longer than 4096 bytes"), "{refusal}");
}

#[test]
fn no_descriptor_and_no_mapping_stays_open() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a"), ("b/c.txt", "c")]);
    git.run(&["gc", "--quiet"]);
    git.write("a.txt", "loose");
    git.commit("second");
    let served = serve(&[&git.top]);
    let inside = git.path(".git");
    let n_open = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let targets = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
        let n_descriptors = targets.filter(|target| target.starts_with(&inside)).count();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        n_descriptors + maps.matches(inside.to_str().unwrap()).count()
    };
    for _ in 0..200 {
        assert_eq!(served.text("HEAD", "a.txt"), "loose");
        assert_eq!(served.text("HEAD~1", "b/c.txt"), "c");
        assert_eq!(served.all("HEAD", ".").unwrap().total, 2);
        assert!(served.text("nope", "a.txt").starts_with("-32001"));
    }
    assert_eq!(n_open(), 0);
}
