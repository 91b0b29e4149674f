//! `recto doctor` through the built binary: its report, and the leftovers that it removes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recto_platform::SysError;
use recto_store::LocalStore;
use recto_store::local::Options;
use recto_store::local::survey::Cleaning;
use recto_text::Digest;

use crate::client::recto;
use crate::confinement::{errno, filter};
use crate::faults::disturbed::Disturbed;
use crate::server::names;

fn doctor(root: &Path, options: &[&str]) -> Command {
    let mut command = recto();
    command.arg("doctor").arg(root).args(options);
    command.env_remove("RECTO_LINK").env_remove("RECTO_TOKEN").env("HOME", "/no/such/home");
    command
}

fn said(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs the command and returns its output and whether it succeeded.
fn run(mut command: Command) -> (String, bool) {
    let output = command.output().unwrap();
    let code = output.status.code();
    assert!(code == Some(0) || code == Some(1), "{output:?}");
    let text = said(&output);
    let is_well = text.ends_with("\nNo problems found.\n");
    assert_eq!(is_well, code == Some(0), "{text}");
    assert_eq!(is_well, !text.contains("\n  ! "), "{text}");
    (text, is_well)
}

/// Creates a directory with one file, on a file system with every feature.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.txt"), "text\n").unwrap();
    folder
}

fn has_landlock() -> bool {
    recto::landlock::AllowedPaths::default().probe(Default::default()).unwrap().is_full()
}

#[test]
fn reports_the_environment_and_leaves_no_files_behind() {
    let folder = folder();
    let (text, is_well) = run(doctor(folder.path(), &["--no-landlock"]));
    assert!(is_well, "{text}");
    let real = folder.path().canonicalize().unwrap();
    for words in [
        &format!("\nroots\n  {} (", real.display()),
        "atomic exchange yes, rename without overwrite yes, unnamed files yes, locks yes",
        "case-sensitive",
        "\nsandbox\n  path checks: every path is resolved one component at a time",
        "Landlock: disabled",
        "\nclients (by the name that they report, or --client)\n  codex: text, up to 32 KiB\n",
        "request 16 MiB",
        "files up to 64 MiB are edited in memory, larger ones by excerpt; 256 MiB for all calls together",
        "\nfiles left behind by killed processes\n  none\n",
        "\ngit\n",
        "no repository",
        "\neditor\n  none",
    ] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    assert_eq!(names(folder.path()), ["f.txt"]);
}

#[test]
fn reports_the_landlock_status() {
    let folder = folder();
    if has_landlock() {
        let (text, is_well) = run(doctor(folder.path(), &[]));
        assert!(is_well && text.contains("Landlock: fully enforced (ABI"), "{text}");
    }
    for options in [&[][..], &["--require-landlock"]] {
        let mut command = doctor(folder.path(), options);
        filter(&mut command, libc::SYS_landlock_create_ruleset, errno(libc::ENOSYS));
        let (text, is_well) = run(command);
        assert!(!is_well && text.contains("! Landlock: not available"), "{text}");
    }
}

#[test]
fn does_not_write_to_a_read_only_root() {
    let folder = folder();
    let before = fs::metadata(folder.path()).unwrap().modified().unwrap();
    let (text, is_well) = run(doctor(folder.path(), &["--read-only", "--no-landlock"]));
    assert!(is_well && text.contains("not tested"), "{text}");
    assert_eq!(fs::metadata(folder.path()).unwrap().modified().unwrap(), before);
}

/// Creates leftovers of a killed process, and files that only resemble them.
fn with_leftovers(folder: &Path) -> [PathBuf; 4] {
    fs::create_dir_all(folder.join("sub/deep")).unwrap();
    let (old, new) = (Digest::of(b"old\n"), Digest::of(b"new\n"));
    let files = [
        (format!("sub/.recto-{old}-{new}-1f-0.tmp"), "old\n"),
        (format!("sub/deep/.recto-new-{new}-1f-1.tmp"), "new\n"),
        (format!(".recto-{old}-{new}-1f-2.tmp.part"), "half of the ne"),
        // A crash during the exchange leaves neither the old nor the new text.
        (format!("sub/.recto-{old}-{new}-1f-3.tmp"), "unrelated work\n"),
    ];
    for (name, text) in &files {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join(".recto-notes.tmp"), "mine\n").unwrap();
    files.map(|(name, _)| folder.join(name))
}

#[test]
fn leftovers_are_reported_and_removed_only_on_request() {
    let folder = folder();
    let [old, new, part, foreign] = with_leftovers(folder.path());
    // The link must not lead to other leftovers.
    let elsewhere = tempfile::tempdir().unwrap();
    let others = with_leftovers(elsewhere.path());
    symlink(elsewhere.path(), folder.path().join("link")).unwrap();
    let (text, is_well) = run(doctor(folder.path(), &["--no-landlock"]));
    assert!(!is_well && text.contains("3 files of interrupted writes"), "{text}");
    assert!(text.contains("may contain the only copy of a change"), "{text}");
    assert!([&old, &new, &part, &foreign].iter().all(|path| path.exists()));
    // A nested root is inspected once.
    let sub = folder.path().join("sub");
    let (text, _) = run(doctor(folder.path(), &["--no-landlock", "--root", sub.to_str().unwrap()]));
    assert!(text.contains("3 files of interrupted writes"), "{text}");
    let (text, is_well) = run(doctor(folder.path(), &["--no-landlock", "--clean"]));
    assert!(!is_well && text.contains("  3 removed"), "{text}");
    assert!(![&old, &new, &part].iter().any(|path| path.exists()));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "unrelated work\n");
    assert_eq!(fs::read_to_string(folder.path().join(".recto-notes.tmp")).unwrap(), "mine\n");
    fs::remove_file(foreign).unwrap();
    let (text, is_well) = run(doctor(folder.path(), &["--no-landlock"]));
    assert!(is_well && text.contains("processes\n  none"), "{text}");
    assert!(others.iter().all(|path| path.exists()));
}

#[test]
fn one_leftover_is_reported_in_the_singular() {
    let folder = folder();
    let name = format!(".recto-new-{}-1f-1.tmp", Digest::of(b"new\n"));
    fs::write(folder.path().join(name), "new\n").unwrap();
    let (text, _) = run(doctor(folder.path(), &["--no-landlock"]));
    assert!(text.contains("! 1 file of an interrupted write\n    Remove it with"), "{text}");
}

#[test]
fn leftovers_that_cannot_be_removed_are_reported() {
    let folder = folder();
    let [old, new, part, foreign] = with_leftovers(folder.path());
    let n_removals = AtomicUsize::new(0);
    let sys = Disturbed::new(move |_, name| match name {
        "unlink" if n_removals.fetch_add(1, Ordering::SeqCst) == 0 => Err(SysError::ACCESS),
        _ => Ok(()),
    });
    let options = Options {
        roots: vec![folder.path().to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    let survey = LocalStore::with_sys(options, Arc::new(sys)).unwrap().survey(Cleaning::Remove);
    assert_eq!(survey.n_removed, 2);
    let mut told: Vec<_> = survey.left.into_iter().map(|(path, _)| path).collect();
    let mut there: Vec<_> =
        [old, new, part, foreign].into_iter().filter(|path| path.exists()).collect();
    told.sort();
    there.sort();
    assert_eq!(told, there);
    assert_eq!(there.len(), 2);
}

#[test]
fn warns_about_serving_a_home_directory_or_the_whole_system() {
    let folder = folder();
    let mut command = doctor(folder.path(), &["--read-only", "--no-landlock"]);
    command.env("HOME", folder.path());
    let (text, is_well) = run(command);
    assert!(!is_well && text.contains("! this is your home directory"), "{text}");
}

#[test]
fn notes_overlapping_roots_and_links() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).unwrap();
    symlink(folder.path(), folder.path().join("sub/alias")).unwrap();
    let (sub, alias) = (folder.path().join("sub"), folder.path().join("sub/alias"));
    let mut command = doctor(folder.path(), &["--no-landlock", "--root"]);
    command.arg(&sub).arg("--root").arg(&alias);
    let (text, is_well) = run(command);
    assert!(is_well, "{text}");
    assert!(text.contains("overlaps with"), "{text}");
    assert!(text.contains("same directory as"), "{text}");
    assert!(text.contains("both paths work"), "{text}");
}

#[test]
fn reports_the_format_of_repositories_and_whether_they_are_readable() {
    let folder = folder();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]);
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q", "--object-format=sha256"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let (text, is_well) = run(doctor(folder.path(), &["--no-landlock"]));
    assert!(is_well && text.contains("is readable (SHA-256)"), "{text}");
    fs::write(folder.path().join(".git/config"), "[extensions]\nobjectformat = md5\n").unwrap();
    let (text, is_well) = run(doctor(folder.path(), &["--no-landlock"]));
    assert!(!is_well && text.contains("git fsck"), "{text}");
}

#[test]
fn a_missing_editor_is_a_problem() {
    let folder = folder();
    let mut command = doctor(folder.path(), &["--no-landlock"]);
    command.env("RECTO_LINK", folder.path().join("no-socket")).env("RECTO_TOKEN", "x");
    let (text, is_well) = run(command);
    assert!(!is_well && text.contains("the editor cannot be reached"), "{text}");
}

#[test]
fn a_missing_directory_is_rejected() {
    let output = doctor(Path::new("/no/such/folder"), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
