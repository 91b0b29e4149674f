//! Ignore rules: tricky ones, planted ones, and too many of them.

use serde_json::json;

use super::listing::check;
use super::trees::{files, git, make_repository, not_ignored};
use crate::random::Random;
use crate::test_dir::{Session, TestDir};

const PLACES: [&str; 3] = [".gitignore", ".git/info/exclude", "d/.gitignore"];

/// Compares a listing with git's, for each text as the rules at each of some paths.
fn check_rules<'a>(texts: impl IntoIterator<Item = &'a str>, places: &[&str]) {
    let names = [
        "a", "b", "ab", "abc", "A", "a b", "a ", "a\t", "#a", "!a", "\\a", "[a]", "a]", "{a,b}",
        "a*", "a?", "-a", "é", "日", "x.txt", "x.TXT", ".x", "0", "_", "^",
    ];
    let dir = TestDir::new();
    let session = dir.serve(&[]);
    let tree = dir.path("root/t");
    for folder in ["", "d/", "d/e/", "d/e/f/", "a x/", "e/"] {
        std::fs::create_dir_all(tree.join(folder)).unwrap();
        for name in names {
            std::fs::write(tree.join(format!("{folder}{name}")), "").unwrap();
        }
    }
    make_repository(&tree, &mut Random::new(0));
    std::fs::write(tree.join(".git/info/exclude"), "").unwrap();
    let mut failures = Vec::new();
    let mut n_checked = 0;
    for text in texts {
        for place in places {
            std::fs::write(tree.join(place), text).unwrap();
            let shown = not_ignored(&tree);
            let is_shown = |path: &String| shown.contains(path);
            let checked = check(&session, &tree, "**", &files(&tree), is_shown);
            failures.extend(checked.err().map(|error| format!("{text:?} in {place}: {error}")));
            std::fs::remove_file(tree.join(place)).unwrap();
            n_checked += 1;
        }
    }
    let shown = failures.join("\n\n");
    assert!(failures.is_empty(), "{} of {n_checked} rules\n\n{shown}", failures.len());
}

/// Rules that are easily misread.
#[test]
fn tricky_ignore_rules_agree_with_git() {
    let rules = [
        "\u{feff}a\nb",
        "a\r\nb\r\n",
        "a\nb\r",
        "a  ",
        "a\\ ",
        "a\\  ",
        "a\t",
        " a",
        "\\ a",
        "\\#a",
        "#a",
        "\\!a",
        "!a",
        "\\\\a",
        "\\a",
        "\\[a\\]",
        "[a]",
        "[a",
        "a]",
        "[]]",
        "[]a]",
        "[!a]",
        "[^a]",
        "[!a]*",
        "[a-c]",
        "[c-a]",
        "[a-]",
        "[-a]",
        "[[:alpha:]]",
        "[[:upper:]]",
        "[![:alnum:]]",
        "[\\a]",
        "[\\]]",
        "{a,b}",
        "a{b,}",
        "*",
        "**",
        "***",
        "a**",
        "**a",
        "*a*",
        "/a",
        "//a",
        "a/",
        "a//",
        "/a/",
        "d/a",
        "d//a",
        "d/*",
        "d/**",
        "/d/**",
        "**/d/**",
        "**/a",
        "**/d/a",
        "d/**/a",
        "**d/a",
        "*/a",
        "/*/a",
        "*/*",
        "/*/*",
        "?",
        "??",
        "é",
        "?x*",
        "*.txt",
        "*.TXT",
        "x.*",
        "/d",
        "d",
        "d/\n!d/a",
        "d/*\n!d/a",
        "*\n!a",
        "*\n!*/\n!a",
        "/*\n!/d\n/d/*\n!/d/a",
        "a\n!a",
        "!a\na",
        "\\",
        "a\\",
        "!",
        "/",
        "**/",
        "/**",
        "d/e/**/a",
        "d/e/a",
        "e/a",
        "/e",
        "e/",
        "d/e",
        "d/e/",
        "**/e/**/b",
        // Found by the target `git` of `dev/fuzz`.
        "d\\/a",
        "**\\/a",
        "d/**\\/a",
        "d\\/*",
        "d\\/e/a",
        "d\\\\/a",
        "[a/b]",
        "d/[a/b]",
        "d[/]a",
        "d/[!/]",
        "d/[a",
        "[[:a]",
        "[[:a]b]",
        "[[:]",
        "[[::]]",
        "[[:alpha:]",
        "[[:\\][:alpha:]]",
        "d/?",
        "d?a",
        "d[/]a",
        "d*a",
        "./a",
        "../a",
        "d/../a",
        "d/./a",
        "a#b",
        "a # b",
        "日",
        "[日]",
        "[!é]",
        "\u{a0}",
        "a\u{3000}",
        "\x0ca",
        "a\x0c",
    ];
    check_rules(rules, &PLACES);
}

/// Rules made of random pieces. `**` is always a whole path component: before 2.52, git gave it
/// that meaning after a literal too (`a**/b`).
#[test]
fn random_ignore_rules_agree_with_git() {
    const PIECES: &[&str] = &[
        "a",
        "b",
        "d",
        "e",
        "x",
        ".",
        "é",
        "*",
        "?",
        "!",
        "#",
        "-",
        "]",
        "[",
        "\\",
        " ",
        "\t",
        "\r",
        "\\a",
        "\\*",
        "\\ ",
        "\\\\",
        "[a]",
        "[!a]",
        "[^b]",
        "[a-e]",
        "[]a]",
        "[a-]",
        "[\\]]",
        "[/]",
        "[[:alpha:]]",
        "[![:space:]]",
        "[[:a]",
        "[[:a:]]",
    ];
    const SEPARATORS: &[&str] = &["/", "/", "\\/", "/**/", "/**\\/", "/*/", "\n", "\n!", "\r\n"];
    let mut random = Random::new(12);
    let mut text = || {
        let mut text = random.pick(&["", "", "/", "**/", "!", "\u{feff}", "*\n!"]).to_string();
        for n_parts in (0..1 + random.below(4)).rev() {
            for _ in 0..1 + random.below(3) {
                let piece = random.pick(PIECES);
                text.push_str(if text.ends_with('*') && piece == "*" { "a" } else { piece });
            }
            text.push_str(if n_parts > 0 { random.pick(SEPARATORS) } else { "" });
        }
        text + random.pick(&["", "", "/", "/**", " ", "\r"])
    };
    let texts: Vec<String> = (0..600).map(|_| text()).collect();
    check_rules(texts.iter().map(String::as_str), &PLACES[..1]);
}

/// A listing does not read the index, so tracked files that match a rule are omitted.
#[test]
fn tracked_files_that_match_ignore_rules_are_omitted() {
    let dir = TestDir::new();
    dir.file("root/.gitignore", "*.log\n").file("root/a.log", "").file("root/a.txt", "");
    let root = dir.path("root");
    git(&root, &["init", "-q"]);
    git(&root, &["add", "-f", "."]);
    let session = dir.serve(&[]);
    assert_eq!(session.list("*"), [dir.spelled("root/a.txt")]);
    let answer = session.answer("ListFiles", json!({"pattern": "*.log"}));
    assert_eq!(answer["total"], 0);
    assert!(answer["note"].as_str().unwrap().contains("ignored: true"), "{answer}");
    let answer = session.answer("ListFiles", json!({"pattern": "*.log", "ignored": "true"}));
    assert_eq!(answer["files"], json!([dir.spelled("root/a.log")]));
}

/// A planted link or pipe must not bring in rules from elsewhere, nor block a listing.
#[test]
fn ignore_rules_are_read_only_from_regular_files_inside() {
    for (name, target) in [
        (".gitignore", "../outside/everything"),
        (".gitignore", "{base}/outside/everything"),
        (".git", "../outside/repository"),
        (".git/info", "../../outside/repository/info"),
        (".git/info/exclude", "../../../outside/everything"),
    ] {
        let dir = TestDir::new();
        dir.file("root/a.txt", "")
            .file("outside/everything", "*\n")
            .file("outside/repository/HEAD", "ref: refs/heads/main\n")
            .file("outside/repository/info/exclude", "*\n")
            .link(&format!("root/{name}"), target);
        let session = dir.serve(&[]);
        assert_eq!(session.list("**"), [dir.spelled("root/a.txt")], "{name} to {target}");
    }
    for name in [".gitignore", ".git/info/exclude", ".git"] {
        let dir = TestDir::new();
        dir.file("root/a.txt", "");
        let path = dir.path(format!("root/{name}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
        let session = dir.serve(&[]);
        assert_eq!(session.list("**"), [dir.spelled("root/a.txt")], "{name} is a pipe");
    }
}

/// The rules of an untrusted repository must not exhaust the machine.
#[test]
fn many_ignore_rules_take_little_time_and_memory() {
    let dir = TestDir::new();
    let rules: String = (0..60_000).map(|n| format!("{n}/**/{n:x}*/*.q\n")).collect();
    let mut folder = "root/".to_string();
    for _ in 0..10 {
        dir.file(&format!("{folder}.gitignore"), &rules[..1 << 20]);
        dir.file(&format!("{folder}f.txt"), "");
        folder.push_str("d/");
    }
    let mut command = tokio::process::Command::from(crate::client::recto());
    command.arg("serve").arg(dir.path("root"));
    limit_memory(&mut command, 512 << 20);
    let session = Session::start_command(command);
    let answer = session.answer("ListFiles", json!({"pattern": "**"}));
    assert_eq!((&answer["total"], &answer["truncated"]), (&json!(10), &json!(false)), "{answer}");
}

/// Limits a server's memory to `n_bytes`; beyond that it aborts.
pub fn limit_memory(command: &mut tokio::process::Command, n_bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(n_bytes), maximum: Some(n_bytes) };
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::Data, limit)?));
    }
}

/// The rules of linked work trees are in the main repository.
#[test]
fn a_linked_work_tree_uses_the_ignore_rules_of_its_repository() {
    let dir = TestDir::new();
    dir.file("root/main/a.txt", "a\n");
    let main = dir.path("root/main");
    git(&main, &["init", "-q", "-b", "main"]);
    git(&main, &["add", "-A"]);
    git(&main, &["commit", "-q", "-m", "all"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    dir.file("root/main/.git/info/exclude", "*.local\n");
    dir.file("root/tree/x.local", "x\n").file("root/tree/sub/x.local", "x\n");
    // One that names a directory outside, whose rules would omit everything.
    dir.file("outside/info/exclude", "*\n").file("root/planted/a.txt", "a\n");
    dir.file("root/planted/.git", "gitdir: ../../outside\n");
    let session = dir.serve(&[]);
    let listed = |pattern: &str| session.list(pattern);
    assert_eq!(listed("tree/**"), [dir.spelled("root/tree/a.txt")]);
    assert_eq!(listed("*/*.local"), [""; 0]);
    assert_eq!(listed("tree/sub/*"), [""; 0]);
    assert_eq!(listed("planted/*"), [dir.spelled("root/planted/a.txt")]);
    let hides = dir.serve(&["--deny", "info"]);
    let pattern = json!({"pattern": "tree/*"});
    assert_eq!(hides.answer("ListFiles", pattern)["total"], 2, "hidden rules were applied");
}
