//! Repositories with wrong bytes return an error or the data that is still intact.

use std::path::{Path, PathBuf};

use recto_store::Error;

use super::fixture::{Git, RepoDir, Served, serve};

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

/// Pseudo-random numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn small(place: &RepoDir) -> Git {
    let git = place.repository("project");
    let mut lines: Vec<String> = (0..200).map(|n| format!("line {n}\n")).collect();
    for n in 0..4 {
        lines[n * 30] = format!("changed {n}\n");
        git.write("big.txt", lines.concat());
        git.write(format!("dir{n}/n.txt"), n.to_string());
        git.commit("next");
    }
    git.run(&["tag", "-a", "v1", "-m", "tag"]);
    git.run(&["gc", "--quiet"]);
    git.write("big.txt", "loose");
    git.commit("loose");
    git
}

/// Makes every kind of call. Nothing may panic; the answers are ignored.
fn ask_all(served: &Served, short: &str) -> usize {
    let mut n_answers = 0;
    for revision in ["HEAD", "HEAD~2", "main@{1}", "v1", short] {
        for path in ["big.txt", "dir0/n.txt", "dir9/n.txt"] {
            n_answers += usize::from(served.read(revision, path).is_ok());
        }
        n_answers += usize::from(served.all(revision, ".").is_ok());
    }
    n_answers
}

#[test]
fn flipped_bytes_never_panic() {
    let place = RepoDir::new();
    let git = small(&place);
    let served = serve(&[&git.top]);
    let short = git.run(&["rev-parse", "--short", "HEAD~3"]);
    let all = ask_all(&served, &short);
    let mut files = Vec::new();
    files_below(&git.path(".git"), &mut files);
    files.retain(|path| !path.to_str().unwrap().contains("/hooks/"));
    files.sort();
    let mut numbers = Numbers(7);
    let mut n_changed = 0;
    for round in 0..500 {
        // Packs and their indexes contain nearly everything, so they get their share.
        let packs: Vec<&PathBuf> = files
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "pack" || end == "idx"))
            .collect();
        let path = match round % 2 {
            0 => packs[numbers.below(packs.len())].clone(),
            _ => files[numbers.below(files.len())].clone(),
        };
        let before = std::fs::read(&path).unwrap();
        if before.is_empty() {
            continue;
        }
        let mut after = before.clone();
        match numbers.below(10) {
            0 => after.truncate(numbers.below(before.len())),
            1 => after.extend_from_slice(&before),
            _ => {
                let at = numbers.below(before.len());
                after[at] ^= 1 << numbers.below(8);
            }
        }
        // Objects are read-only to their owner.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &after).unwrap();
        n_changed += usize::from(ask_all(&served, &short) != all);
        std::fs::write(&path, &before).unwrap();
    }
    assert_eq!(ask_all(&served, &short), all);
    assert!(n_changed > 100, "{n_changed}");
}

/// Commits a tree without the checks of git.
fn commit_tree(git: &Git, tree: &[u8]) {
    let arguments = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
    let tree = git.run_with(&arguments, tree);
    let commit = format!(
        "tree {tree}\nauthor T <t@example.com> 1 +0000\ncommitter T <t@example.com> 1 +0000\n\nx\n"
    );
    let commit = git.run_with(&["hash-object", "-t", "commit", "-w", "--stdin"], commit.as_bytes());
    git.run(&["update-ref", "HEAD", &commit]);
}

#[test]
fn trees_with_impossible_names_are_rejected() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a")]);
    let blob = git.run(&["rev-parse", "HEAD:a.txt"]);
    let id: Vec<u8> =
        (0..20).map(|n| u8::from_str_radix(&blob[2 * n..2 * n + 2], 16).unwrap()).collect();
    let served = serve(&[&git.top]);
    let tree = |mode: &str, name: &[u8]| [mode.as_bytes(), b" ", name, b"\0", &id[..]].concat();
    for (tree, is_right) in [
        (tree("100644", b"a.txt"), true),
        (tree("100664", b"a.txt"), true),
        (tree("100644", b"../a.txt"), false),
        (tree("100644", b"x/a.txt"), false),
        (tree("100644", b".."), false),
        (tree("100644", b"."), false),
        (tree("100644", b""), false),
        (tree("0", b"a.txt"), false),
        (tree("777777", b"a.txt"), false),
        (tree("020000", b"a.txt"), false),
        (tree("9", b"a.txt"), false),
        (tree("100644", b"a.txt")[..20].to_vec(), false),
        (b"nonsense".to_vec(), false),
    ] {
        commit_tree(&git, &tree);
        let (listing, read) = (served.all("HEAD", "."), served.read("HEAD", "a.txt"));
        assert_eq!(listing.is_ok(), is_right, "{tree:?}");
        assert_eq!(read.is_ok(), is_right, "{tree:?}");
        if let Err(error) = listing {
            assert!(matches!(error, Error::BrokenRepository { .. }), "{error}");
        }
    }
    // A name that git reserves is an ordinary name here.
    commit_tree(&git, &tree("100644", b".git"));
    assert_eq!(served.all("HEAD", ".").unwrap().files, [".git"]);
    // A directory entry that is a file, and vice versa.
    commit_tree(&git, &tree("40000", b"folder"));
    let refusal = served.refusal("HEAD", "folder/x");
    assert!(refusal.contains("the object of a directory is not a tree"), "{refusal}");
    let empty = git.run_with(&["mktree"], b"");
    let id: Vec<u8> =
        (0..20).map(|n| u8::from_str_radix(&empty[2 * n..2 * n + 2], 16).unwrap()).collect();
    commit_tree(&git, &[b"100644 file\0", &id[..]].concat());
    let refusal = served.refusal("HEAD", "file");
    assert!(refusal.contains("the object of that file is not a blob"), "{refusal}");
}

#[test]
fn dangling_commits_and_tags_are_rejected() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a")]);
    let blob = git.run(&["rev-parse", "HEAD:a.txt"]);
    let served = serve(&[&git.top]);
    for (kind, text, words) in [
        ("commit", "tree 1111111111111111111111111111111111111111\n".into(), "is missing"),
        ("commit", format!("tree {blob}\n"), "It is a file, not a commit or tree."),
        ("commit", "no tree at all".into(), "is damaged"),
        ("commit", String::new(), "is damaged"),
        ("tag", "object \n".into(), "is damaged"),
        ("tag", format!("object {blob}\ntype blob\ntag x\n"), "It is a file"),
    ] {
        let arguments = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
        let id = git.run_with(&arguments, text.as_bytes());
        let refusal = served.refusal(&id, "a.txt");
        assert!(refusal.contains(words), "{text:?}: {refusal}");
    }
}
