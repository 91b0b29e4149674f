//! Repositories made to escape the roots, to run a program or to hang. Nothing runs, nothing
//! outside is read, and each call ends in an error that reveals nothing.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use super::fixture::{Git, RepoDir, serve, with_hint};

/// A repository in the root and one outside that it tries to read.
struct HostileRepository {
    place: RepoDir,
    git: Git,
    outside: Git,
}

const SECRET: &str = "secret words";

fn hostile() -> HostileRepository {
    let place = RepoDir::new();
    let git = place.with_files("root/project", &[("a.txt", "inside")]);
    let outside = place.with_files("outside", &[("a.txt", SECRET), ("secret.txt", SECRET)]);
    outside.run(&["branch", "secret"]);
    HostileRepository { place, git, outside }
}

impl HostileRepository {
    fn dot_git(&self, name: &str) -> std::path::PathBuf {
        self.git.path(".git").join(name)
    }

    fn outside(&self, name: &str) -> std::path::PathBuf {
        self.outside.path(".git").join(name)
    }

    /// Reads everything readable. No text from outside may be returned.
    fn refusal(&self, revision: &str) -> String {
        let served = serve(&[&self.place.path.join("root")]);
        let started = Instant::now();
        let path = self.git.path("a.txt");
        let text = match served.read(revision, path.to_str().unwrap()) {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(error) => with_hint(error),
        };
        assert!(started.elapsed() < Duration::from_secs(5), "{text}");
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains("outside/"), "{text}");
        text
    }

    fn check(&self, revision: &str, words: &str) {
        let refusal = self.refusal(revision);
        assert!(refusal.contains(words), "{refusal}");
    }

    /// Replaces an entry of the git directory with a link to the outside.
    fn link_out(&self, name: &str, target: &str) {
        let path = self.dot_git(name);
        match path.is_dir() {
            true => std::fs::remove_dir_all(&path).unwrap(),
            false => drop(std::fs::remove_file(&path)),
        }
        symlink(self.outside(target), path).unwrap();
    }
}

/// Returns a revision for which an entry of the git directory is read.
fn revision_that_needs(name: &str) -> &str {
    if name == "packed-refs" { "no-loose-branch" } else { "HEAD" }
}

fn fifo(path: &Path) {
    let _ = std::fs::remove_file(path);
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

#[test]
fn nothing_that_a_repository_names_is_run_or_included() {
    let hostile = hostile();
    let blob = hostile.git.run(&["rev-parse", "HEAD:a.txt"]);
    let canary = hostile.place.path.join("root/canary");
    let script = hostile.place.path.join("root/script");
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", canary.display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let hooks = hostile.dot_git("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "pre-commit", "reference-transaction", "post-index-change"] {
        std::fs::copy(&script, hooks.join(hook)).unwrap();
    }
    let included = hostile.place.path.join("included");
    std::fs::write(&included, "[extensions]\n\tobjectFormat = sha256\n").unwrap();
    let script = script.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {script}\n\tsshCommand = {script}\n\
         \thooksPath = {hooks}\n\tpager = {script}\n\teditor = {script}\n\taskPass = {script}\n\
         \tgitProxy = {script}\n\tworktree = /etc\n\talternateRefsCommand = {script}\n\
         [filter \"x\"]\n\tsmudge = {script}\n\tclean = {script}\n\tprocess = {script}\n\
         \trequired = true\n[diff \"x\"]\n\ttextconv = {script}\n\tcommand = {script}\n\
         [remote \"origin\"]\n\turl = ext::{script}\n\tuploadpack = {script}\n\tpromisor = true\n\
         [include]\n\tpath = {included}\n[includeIf \"gitdir:/\"]\n\tpath = {included}\n\
         [uploadpack]\n\tpackObjectsHook = {script}\n[credential]\n\thelper = {script}\n\
         [gpg]\n\tprogram = {script}\n[alias]\n\tshow = !{script}\n",
        hooks = hooks.display(),
        included = included.display(),
    );
    std::fs::write(hostile.dot_git("config"), config).unwrap();
    hostile.git.write(".gitattributes", "* filter=x diff=x\n");
    let info = hostile.dot_git("info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("attributes"), "* filter=x diff=x\n").unwrap();

    for revision in ["HEAD", "main", "HEAD@{0}"] {
        hostile.check(revision, "inside");
    }
    // git would fetch the missing object by running a command.
    let served = serve(&[&hostile.place.path.join("root")]);
    let path = hostile.git.path("a.txt");
    let name = format!("objects/{}/{}", &blob[..2], &blob[2..]);
    std::fs::remove_file(hostile.dot_git(&name)).unwrap();
    let refusal = served.refusal("HEAD", path.to_str().unwrap());
    assert!(refusal.contains("partial clone"), "{refusal}");
    assert!(!canary.exists());
}

#[test]
fn alternates_outside_are_rejected() {
    let info = "objects/info/alternates";
    let secret = |hostile: &HostileRepository| hostile.outside.run(&["rev-parse", "HEAD"]);
    let refused = "Its objects/info/alternates names a directory outside the roots";

    for spelling in ["absolute", "relative", "dots", "link", "missing"] {
        let hostile = hostile();
        let target = match spelling {
            "absolute" => hostile.outside("objects").display().to_string(),
            "relative" => "../../../../outside/.git/objects".into(),
            "dots" => format!("{}/../../../outside/.git/objects", hostile.git.top.display()),
            "link" => {
                symlink(hostile.outside("objects"), hostile.place.path.join("root/link")).unwrap();
                hostile.place.path.join("root/link").display().to_string()
            }
            _ => "/nowhere/at/all".into(),
        };
        std::fs::write(hostile.dot_git(info), format!("# note\n\n{target}\n")).unwrap();
        hostile.check(&secret(&hostile), refused);
        hostile.check("HEAD", refused);
    }

    // Chained: the alternate inside has one outside.
    let hostile = hostile();
    let middle = hostile.place.with_files("root/middle", &[("m.txt", "m")]);
    std::fs::write(hostile.dot_git(info), format!("{}\n", middle.path(".git/objects").display()))
        .unwrap();
    hostile.check("HEAD", "inside");
    let outside = "../../../../outside/.git/objects\n";
    std::fs::write(middle.path(".git").join(info), outside).unwrap();
    hostile.check(&secret(&hostile), refused);

    // Circular, and quoted.
    std::fs::write(
        middle.path(".git").join(info),
        format!("{}\n", hostile.dot_git("objects").display()),
    )
    .unwrap();
    hostile.check("HEAD", "inside");
    std::fs::write(hostile.dot_git(info), "\"/a\\tb\"\n").unwrap();
    hostile.check("HEAD", "contains a quoted path");
    hostile.link_out(info, "HEAD");
    hostile.check("HEAD", "to a path outside the roots");
}

#[test]
fn gitfile_pointers_outside_are_rejected() {
    let hostile = hostile();
    let dot_git = hostile.git.path(".git");
    std::fs::rename(&dot_git, hostile.git.path("moved")).unwrap();
    let pointers = [
        format!("gitdir: {}\n", hostile.outside.path(".git").display()),
        "gitdir: ../../outside/.git".into(),
        "gitdir: /nowhere".into(),
    ];
    for pointer in pointers {
        std::fs::write(&dot_git, pointer).unwrap();
        hostile.check("HEAD", "Its .git names a directory outside the roots; --git-dir can allow");
    }
    std::fs::write(&dot_git, "gitdir: moved\n").unwrap();
    hostile.check("HEAD", "inside");
    for (pointer, words) in [
        ("gitdir: .git\n", "does not name a directory"),
        ("gitdir:", ""),
        ("root:x:0:0\n", "does not start with 'gitdir:'"),
        ("", "does not start with 'gitdir:'"),
        ("gitdir: missing", "does not name a directory"),
    ] {
        std::fs::write(&dot_git, pointer).unwrap();
        hostile.check("HEAD", words);
    }
    std::fs::remove_file(&dot_git).unwrap();
    symlink(hostile.outside.path(".git"), &dot_git).unwrap();
    hostile.check("HEAD", "Its .git is a symbolic link to a path outside the roots.");
    std::fs::remove_file(&dot_git).unwrap();
    symlink("moved", &dot_git).unwrap();
    hostile.check("HEAD", "inside");
    std::fs::remove_file(&dot_git).unwrap();
    fifo(&dot_git);
    hostile.check("HEAD", "not a regular file");

    let hostile = self::hostile();
    let target = format!("{}\n", hostile.outside.path(".git").display());
    std::fs::write(hostile.dot_git("commondir"), target).unwrap();
    hostile.check("HEAD", "Its commondir names a directory outside the roots");
    fifo(&hostile.dot_git("commondir"));
    hostile.check("HEAD", "commondir is not a regular file");
}

#[test]
fn escaping_links_of_a_git_directory_are_rejected() {
    for (name, target, words) in [
        ("HEAD", "HEAD", "HEAD in the git directory is a symbolic link"),
        ("config", "config", "config in the git directory is a symbolic link"),
        ("objects", "objects", "Its objects directory is a symbolic link"),
        ("refs", "refs", "to a path outside the roots"),
        ("refs/heads", "refs/heads", "to a path outside the roots"),
        ("refs/heads/main", "refs/heads/main", "to a path outside the roots"),
        ("packed-refs", "config", "packed-refs in the git directory is a symbolic link"),
        ("objects/pack", "objects/pack", "pack in the git directory is a symbolic link"),
        ("HEAD", "missing", "HEAD in the git directory is a symbolic link"),
    ] {
        let hostile = hostile();
        hostile.link_out(name, target);
        hostile.check(revision_that_needs(name), words);
    }
    // Logs and shallow files are read where they are needed.
    let hostile = hostile();
    hostile.git.commit("second");
    hostile.link_out("logs", "logs");
    hostile.check("HEAD@{1}", "to a path outside the roots");
    hostile.link_out("shallow", "HEAD");
    hostile.check("HEAD~1", "shallow in the git directory is a symbolic link");
    std::fs::remove_file(hostile.dot_git("shallow")).unwrap();

    // An object that is a link, loose and in a pack.
    let id = hostile.outside.run(&["rev-parse", "HEAD"]);
    let name = format!("objects/{}/{}", &id[..2], &id[2..]);
    std::fs::create_dir_all(hostile.dot_git(&name[..10])).unwrap();
    hostile.link_out(&name, &name);
    hostile.check(&id, "to a path outside the roots");
    hostile.outside.run(&["gc", "--quiet"]);
    for entry in std::fs::read_dir(hostile.outside("objects/pack")).unwrap() {
        let file = entry.unwrap().file_name();
        symlink(
            hostile.outside("objects/pack").join(&file),
            hostile.dot_git("objects/pack").join(&file),
        )
        .unwrap();
    }
    hostile.check(&id, "to a path outside the roots");

    // A directory of objects.
    let hostile = self::hostile();
    let id = hostile.outside.run(&["rev-parse", "HEAD"]);
    let folder = format!("objects/{}", &id[..2]);
    hostile.link_out(&folder, &folder);
    hostile.check(&id, "to a path outside the roots");
    hostile.check(&id[..8], "to a path outside the roots");

    // Links that stay inside work.
    let hostile = self::hostile();
    std::fs::rename(hostile.dot_git("objects"), hostile.git.path("kept")).unwrap();
    symlink("../kept", hostile.dot_git("objects")).unwrap();
    std::fs::remove_file(hostile.dot_git("HEAD")).unwrap();
    symlink("refs/heads/main", hostile.dot_git("HEAD")).unwrap();
    hostile.check("HEAD", "inside");
}

#[test]
fn special_files_in_a_repository_do_not_block() {
    for name in ["HEAD", "config", "packed-refs", "refs/heads/main"] {
        let hostile = hostile();
        fifo(&hostile.dot_git(name));
        hostile.check(revision_that_needs(name), &format!("{name} is not a regular file"));
    }
    for (name, target) in
        [("packed-refs", "/dev/zero"), ("HEAD", "/dev/stdin"), ("config", "/proc/self/mem")]
    {
        let hostile = hostile();
        std::fs::remove_file(hostile.dot_git(name)).ok();
        symlink(target, hostile.dot_git(name)).unwrap();
        hostile.check(revision_that_needs(name), "to a path outside the roots");
    }
    let hostile = hostile();
    fifo(&hostile.dot_git("objects/info/alternates"));
    hostile.check("HEAD", "info/alternates is not a regular file");
    std::fs::remove_file(hostile.dot_git("objects/info/alternates")).unwrap();
    let id = hostile.git.run(&["rev-parse", "HEAD:a.txt"]);
    fifo(&hostile.dot_git(&format!("objects/{}/{}", &id[..2], &id[2..])));
    hostile.check("HEAD", "is not a regular file");
    fifo(&hostile.dot_git("objects/pack/pack-1.idx"));
    hostile.check("HEAD", "is not a regular file");
    hostile.check("1111111111111111111111111111111111111111", "a pack is damaged");
}

#[test]
fn a_broken_reference_is_not_quoted() {
    for (name, text, words) in [
        ("HEAD", SECRET, "HEAD is not a valid reference"),
        ("HEAD", "", "HEAD is not a valid reference"),
        ("HEAD", "ref: ../../../outside/.git/HEAD\n", "no commits yet"),
        ("HEAD", "ref: refs/heads/../../config\n", "no commits yet"),
        ("HEAD", "ref: HEAD\n", "form a cycle"),
        ("refs/heads/main", "ref: refs/heads/main\n", "form a cycle"),
        ("refs/heads/main", "0123", "refs/heads/main is not a valid reference"),
        ("refs/heads/main", "1111111111111111111111111111111111111111\n", "is missing"),
    ] {
        let hostile = hostile();
        std::fs::write(hostile.dot_git(name), text).unwrap();
        hostile.check("HEAD", words);
    }
    let hostile = hostile();
    std::fs::write(hostile.dot_git("HEAD"), vec![b'a'; 1 << 20]).unwrap();
    hostile.check("HEAD", "larger than");
    std::fs::remove_file(hostile.dot_git("HEAD")).unwrap();
    hostile.check("HEAD", "no commits yet");
    std::fs::remove_dir_all(hostile.dot_git("objects")).unwrap();
    hostile.check("HEAD", "it has no objects directory");
}
