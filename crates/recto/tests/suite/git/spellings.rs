//! Every spelling of a revision that git supports names the same commit in recto.

use super::agrees::history;
use super::fixture::{Git, RepoDir, serve, with_hint};

#[test]
fn a_revision_names_the_same_commit_as_in_git() {
    let place = RepoDir::new();
    let project = history(&place, "project", &[]);
    let git = Git { top: place.path.join("clone") };
    let top = git.top.to_str().unwrap();
    project.run(&["clone", "--quiet", project.top.to_str().unwrap(), top]);
    for name in ["one", "two"] {
        git.run(&["checkout", "--quiet", "-b", name, "HEAD~1"]);
        git.write("n.txt", name);
        git.commit(name);
    }
    git.run(&["fetch", "--quiet", "origin", "main"]);
    git.run(&["checkout", "--quiet", "main"]);
    git.write("n.txt", "main in the clone");
    git.commit("main");
    git.run(&["reset", "--quiet", "--hard", "HEAD~1"]);
    git.write("n.txt", "stashed");
    git.run(&["stash", "--quiet"]);
    git.run(&["worktree", "add", "--quiet", "--detach", "../tree", "HEAD~2"]);

    let ids: Vec<String> = ["HEAD", "HEAD~3", "HEAD^{tree}", "v1", "v1^{}"]
        .iter()
        .map(|name| git.run(&["rev-parse", name]))
        .collect();
    let described = git.run(&["describe", "--long", "--tags", "HEAD~1"]);
    let mut spellings: Vec<String> = [
        "HEAD",
        "@",
        "HEAD~",
        "HEAD~0",
        "HEAD~3",
        "HEAD^",
        "HEAD^0",
        "HEAD^^",
        "HEAD~2^2",
        "HEAD~2^2~1",
        "@~2",
        "main",
        "heads/main",
        "refs/heads/main",
        "one",
        "two",
        "two~1^{tree}",
        "v0",
        "v1",
        "v1^{}",
        "v1^{commit}",
        "v1^{tree}",
        "v1^0",
        "v1~2",
        "v1-again",
        "v1-again^{}",
        "v1-again^{tag}^{}",
        "v1^{object}",
        "tags/v1",
        "refs/tags/v1",
        "origin",
        "origin/main",
        "origin/side/branch",
        "origin/HEAD",
        "remotes/origin/main",
        "@{u}",
        "main@{upstream}",
        "HEAD@{u}",
        "@{0}",
        "@{1}",
        "@{2}",
        "main@{0}",
        "main@{1}",
        "HEAD@{0}",
        "HEAD@{1}",
        "HEAD@{3}",
        "@@{1}",
        "@{-1}",
        "@{-2}",
        "@{-1}~1",
        "FETCH_HEAD",
        "ORIG_HEAD",
        "stash",
        "stash@{0}",
        "stash^2",
        "HEAD^{tree}",
        "main-worktree/HEAD",
        "worktrees/tree/HEAD",
        // None of these exists.
        "nope",
        "v9",
        "HEAD~999",
        "HEAD^3",
        "HEAD^^^^2",
        "main@{99}",
        "main@{18446744073709551615}",
        "@{-18446744073709551615}",
        "HEAD^18446744073709551615",
        "HEAD~18446744073709551615",
        "@{-9}",
        "deadbeef",
        "dead",
        "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
        "refs/heads",
        "heads",
        "config",
        "nope@{0}",
        "MERGE_HEAD",
        "v0^{tag}",
        "origin/nope",
        "refs/heads/main/x",
        "one@{u}",
        "HEAD.lock",
        "a b",
        "objects",
        "HEAD:n.txt",
        ":n.txt",
        "v1..main",
        "^main",
        "-1",
        "",
    ]
    .map(String::from)
    .to_vec();
    for id in &ids {
        spellings.extend([id.clone(), id[..7].into(), id[..12].into(), id.to_uppercase()]);
        spellings.push(format!("{}~0", &id[..10]));
    }
    spellings.push(described);

    let served = serve(&[&git.top]);
    for spelling in &spellings {
        let path = format!("{spelling}:n.txt");
        let one_commit =
            !spelling.is_empty() && !spelling.contains("..") && !spelling.contains(':');
        let expected = git.try_bytes(&["cat-file", "blob", &path], b"").ok().filter(|_| one_commit);
        let read = served.read(spelling, "n.txt");
        assert_eq!(read.as_ref().ok(), expected.as_ref(), "{spelling}: {:?}", read.as_ref().err());
        if let Err(error) = read {
            assert!(!with_hint(error.clone()).ends_with("| "), "{spelling}: {error}");
            assert_eq!(recto_tools::Error::from(error).code(), -32001, "{spelling}");
        }
    }
}

#[test]
fn names_take_precedence_over_short_ids_and_full_ids_over_names() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "one")]);
    let one = git.run(&["rev-parse", "HEAD"]);
    git.write("a.txt", "two");
    git.commit("second");
    git.run(&["update-ref", &format!("refs/heads/{}", &one[..7]), "HEAD"]);
    git.run(&["update-ref", &format!("refs/heads/{one}"), "HEAD"]);
    git.run(&["tag", "both", "HEAD~1"]);
    git.run(&["branch", "both"]);
    let served = serve(&[&git.top]);
    for (spelling, text) in [
        (&one[..7], "two"),
        (&one[..8], "one"),
        (&one, "one"),
        ("both", "one"),
        ("heads/both", "two"),
    ] {
        assert_eq!(served.text(spelling, "a.txt"), text, "{spelling}");
        assert_eq!(git.run(&["show", &format!("{spelling}:a.txt")]), text, "{spelling}");
    }
}

#[test]
fn an_ambiguous_short_id_is_reported() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "one")]);
    let tree = git.run(&["rev-parse", "HEAD^{tree}"]);
    // Four digits are shared by two of a few thousand commits.
    let mut starts = std::collections::BTreeMap::<String, Vec<String>>::new();
    let mut stream = Vec::new();
    for n in 0..1500 {
        let message = n.to_string();
        let length = message.len();
        stream.extend(format!(
            "commit refs/heads/b{n}\ncommitter T <t@example.com> {n} +0000\ndata {length}\n{message}\nfrom refs/heads/main\n\n"
        ).bytes());
    }
    git.run_with(&["fast-import", "--quiet"], &stream);
    for id in git.run(&["for-each-ref", "--format=%(objectname)", "refs/heads/b*"]).lines() {
        starts.entry(id[..4].into()).or_default().push(id.into());
    }
    let (start, ids) = starts.iter().find(|(_, ids)| ids.len() > 1).unwrap();
    let served = serve(&[&git.top]);
    assert_eq!(
        served.refusal(start, "a.txt"),
        format!(
            "Unknown revision: {start} | {} objects match this abbreviated id; add digits.",
            ids.len()
        )
    );
    assert_eq!(served.text(&ids[0][..12], "a.txt"), "one");
    assert_eq!(served.text(&tree[..12], "a.txt"), "one");
    let blob = git.run(&["rev-parse", "HEAD:a.txt"]);
    assert_eq!(
        served.refusal(&blob, "a.txt"),
        format!("Unknown revision: {blob} | It is a file, not a commit or tree.")
    );
}

#[test]
fn an_invalid_revision_gets_a_helpful_error() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "one")]);
    let served = serve(&[&git.top]);
    let long = "x".repeat(10 << 10);
    for (revision, words) in [
        ("", "use HEAD"),
        ("-rf", "dash"),
        ("HEAD\0", "control"),
        ("HEAD\n", "control"),
        (&long, "1024 bytes"),
        ("a..b", "several commits"),
        ("main...side", "several commits"),
        ("HEAD^@", "several commits"),
        (":/fix", "No commit message contains that text"),
        ("HEAD^{/fix}", "No commit message contains that text"),
        ("HEAD:a.txt", "its own parameter"),
        (":a.txt", "its own parameter"),
        ("HEAD@{yesterday}", "Dates"),
        ("HEAD~9", "before the first commit"),
        ("HEAD^2", "before the first commit"),
        ("nope", "No branch, tag or object"),
    ] {
        let refusal = served.refusal(revision, "a.txt");
        assert!(refusal.starts_with("Unknown revision: "), "{refusal}");
        assert!(refusal.contains(words), "{revision:?}: {refusal}");
    }
}
