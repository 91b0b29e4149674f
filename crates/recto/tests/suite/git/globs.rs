//! Patterns at a revision match the same paths as an independent filter of git's list.

use globset::GlobBuilder;
use recto_store::glob::Glob;
use recto_store::{ListRequest, Revisions};

use super::agrees::history;
use super::fixture::{RepoDir, serve};

fn is_like(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['%', rest @ ..], _) => (0..=text.len()).any(|n| is_like(rest, &text[n..])),
        (['_', rest @ ..], [_, text @ ..]) => is_like(rest, text),
        ([one, rest @ ..], [other, text @ ..]) => one == other && is_like(rest, text),
        _ => false,
    }
}

#[test]
fn patterns_agree_with_an_independent_filter() {
    let place = RepoDir::new();
    let git = history(&place, "project", &[]);
    let served = serve(&[&git.top]);
    let listed = |revision: &str| -> Vec<String> {
        git.tree(revision).into_keys().filter_map(|path| String::from_utf8(path).ok()).collect()
    };
    for revision in ["HEAD", "v0", "side/branch", "HEAD~4^{tree}"] {
        let files = listed(revision);
        for pattern in [
            "**",
            "*",
            "**/*.txt",
            "*.txt",
            "dir/**",
            "dir/*",
            "dir/deep/*.txt",
            "**/b.txt",
            "{a,n,side}.txt",
            "[a-d]*",
            "**/x",
            "nothing/**",
            "dir*",
            "vendor/**",
            "n.txt",
            "dir",
            ".hidden/*",
            "**/.*/**",
            "d?r.txt",
            "**/deep/**",
        ] {
            let (folder, glob) = Glob::parse(pattern).unwrap();
            let folder = if folder.is_empty() { ".".into() } else { folder };
            let below = if folder == "." { String::new() } else { format!("{folder}/") };
            let matcher = GlobBuilder::new(pattern).literal_separator(true).build().unwrap();
            let matcher = matcher.compile_matcher();
            let expected: Vec<&String> =
                files.iter().filter(|path| matcher.is_match(path)).collect();
            let listing = served.list(revision, &folder, &glob.showing_hidden()).unwrap();
            let found: Vec<String> =
                listing.files.iter().map(|path| format!("{below}{path}")).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{pattern} at {revision}");
            assert_eq!(listing.total as usize, expected.len());
        }
        for pattern in
            ["%", "%.txt", "dir%", "%/%", "_.txt", "n.txt", "%deep%", "no%", "%\t%", "__r%"]
        {
            let characters = |text: &str| text.chars().collect::<Vec<char>>();
            let is_match = |path: &&String| is_like(&characters(pattern), &characters(path));
            let expected: Vec<&String> = files.iter().filter(is_match).collect();
            let listing = served.list(revision, ".", &Glob::like(pattern).unwrap()).unwrap();
            assert_eq!(listing.files.iter().collect::<Vec<_>>(), expected, "{pattern}");
        }
    }
}

#[test]
fn a_list_keeps_the_first_paths_and_counts_all() {
    let place = RepoDir::new();
    let git = history(&place, "project", &[]);
    let served = serve(&[&git.top]);
    let all = served.all("HEAD", ".").unwrap();
    let (_, glob) = Glob::parse("**").unwrap();
    let glob = glob.showing_hidden();
    let at = served.revisions.at("HEAD", ".", &served.caller).unwrap();
    for limit in [0, 1, 3, 1000] {
        let request = ListRequest { folder: &at.path, glob: &glob, shows_ignored: false, limit };
        let listing = at.store.list(&request, &served.caller).unwrap();
        assert_eq!(listing.files, all.files[..limit.min(all.files.len())]);
        assert_eq!(listing.total, all.total);
    }
    // Hidden names are omitted unless the pattern names the dot.
    let (_, glob) = Glob::parse("**").unwrap();
    let listing = served.list("HEAD", ".", &glob).unwrap();
    assert!(listing.files.iter().all(|path| !path.split('/').any(|part| part.starts_with('.'))));
    // Nothing is below a file or a missing path.
    for folder in ["n.txt", "nothing", "n.txt/x"] {
        assert_eq!(served.list("HEAD", folder, &glob).unwrap().total, 0, "{folder}");
    }
    // The submodule is a separate repository.
    assert_eq!(served.list("HEAD", "vendor/lib", &glob).unwrap().files, ["lib.c"]);
}
