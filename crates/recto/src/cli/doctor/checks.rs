//! What is looked at, one section after the other.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_platform::{SysResult, filesystem_name};
use recto_store::Error;

use super::report::Report;
use crate::acp::link::LinkClient;
use crate::assemble;
use crate::config::Config;
use crate::landlock::{Enforcement, LandlockMode};
use crate::limits::{self, Amount};
use recto_store::context::Context;
use recto_store::local::abilities::Abilities;
use recto_store::local::leftovers::Verdict;
use recto_store::local::survey::Cleaning;
use recto_store::{GitRevisions, LocalStore, Revisions};

/// The folders and their file systems.
pub fn roots(config: &Config, report: &mut Report) {
    report.section("roots");
    let can_write = assemble::allowed_paths(config)
        .is_ok_and(|allowed_paths| !allowed_paths.writable.is_empty());
    let mut seen: Vec<(PathBuf, (u64, u64))> = Vec::new();
    for given in &config.roots {
        let real = given.canonicalize().unwrap_or_else(|_| given.clone());
        let kind = filesystem_name(&real).unwrap_or_else(|error| error.to_string());
        report.fact(format!("{} ({kind})", real.display()));
        if let Ok(absolute) = std::path::absolute(given)
            && absolute != real
        {
            report.note(format!("given as {}; both names can be used", absolute.display()));
        }
        oddities(&real, &seen, report);
        if let Ok(status) = real.metadata() {
            seen.push((real.clone(), (status.dev(), status.ino())));
        }
        match can_write {
            true => abilities(&real, report),
            false => report.note("what it can do is not tried: nothing may be written"),
        }
    }
}

fn oddities(root: &Path, others: &[(PathBuf, (u64, u64))], report: &mut Report) {
    let home =
        std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    if root == Path::new("/") {
        report.problem("this is every file of the system", "Name the project's folder instead.");
    } else if home.as_deref() == Some(root) {
        report.problem(
            "this is your home folder, with keys and settings in it",
            "Name the project's folder instead, or hide what is private with --deny.",
        );
    }
    let id = root.metadata().map(|status| (status.dev(), status.ino())).ok();
    for (other, other_id) in others {
        if Some(*other_id) == id {
            report.note(format!("the same folder as {}", other.display()));
        } else if root.starts_with(other) || other.starts_with(root) {
            report.note(format!("lies in, or holds, {}; both can be used", other.display()));
        }
    }
}

fn abilities(root: &Path, report: &mut Report) {
    let abilities = match Abilities::try_in(root) {
        Ok(abilities) => abilities,
        Err(error) => {
            return report.problem(
                format!("nothing can be written here: {error}"),
                "Give yourself the right to write, or serve it with --read-only.",
            );
        }
    };
    let works = |it: &SysResult<()>| if it.is_ok() { "yes" } else { "no" };
    let case = match abilities.case_matters {
        Ok(true) => "case matters",
        Ok(false) => "case does not matter",
        Err(_) => "case unknown",
    };
    report.fact(format!(
        "  exchange {}, new names {}, nameless files {}, locks {}, leases {}, attributes {}, {case}",
        works(&abilities.exchange),
        works(&abilities.rename_new),
        works(&abilities.nameless),
        works(&abilities.locks),
        works(&abilities.leases),
        works(&abilities.attributes),
    ));
    if abilities.exchange.is_err() || abilities.rename_new.is_err() {
        report.problem(
            "names cannot be exchanged in one step: a program that writes at the same moment may be overwritten",
            "Keep the project on a local file system such as ext4, xfs or btrfs.",
        );
    }
    if abilities.locks.is_err() {
        report.problem(
            "folders cannot be locked: two servers of this folder do not wait for each other",
            "Run one server at a time, or use a local file system.",
        );
    }
    if abilities.leases.is_err() {
        report.note("the system does not tell who has a file open; such writers are noticed later");
    }
    if abilities.case_matters == Ok(false) {
        report.note("--deny is compared with the case that is written");
    }
}

/// What keeps calls inside.
pub fn sandbox(config: &Config, report: &mut Report) {
    report.section("walls");
    report.fact("first: paths are walked by hand, from the open folders");
    let remedy = "Start a kernel of 6.12 or newer with landlock in /sys/kernel/security/lsm, or \
                  allow it in the container. The first landlock holds alone.";
    match assemble::allowed_paths(config)
        .and_then(|allowed_paths| allowed_paths.probe(config.landlock))
    {
        Ok(status @ Enforcement::Full { .. }) => {
            report.fact(format!("second: Landlock is {status}"))
        }
        Ok(Enforcement::Off) => report.note("second: Landlock is switched off"),
        Ok(status @ Enforcement::Partial { .. }) => {
            report.note(format!("second: Landlock is {status}"))
        }
        Ok(status) if config.landlock == LandlockMode::BestEffort => {
            report.problem(format!("second: Landlock is {status}"), remedy);
        }
        Ok(status) => report.note(format!("second: Landlock is {status}")),
        Err(error) => report.problem(format!("second: {error}"), remedy),
    }
}

/// The bounds that people ask for.
pub fn limits(config: &Config, report: &mut Report) {
    report.section("limits (all of them: docs/limits.md)");
    let read = Amount::Bytes(config.max_read_bytes as u64);
    let line = Amount::Bytes(limits::REQUEST_LINE as u64);
    let whole = Amount::Bytes(limits::WHOLE_CHANGE);
    let held = Amount::Bytes(limits::CHANGED_FILE);
    let n_running = limits::running_calls(config.max_read_bytes);
    report.fact(format!("a request {line}, a read {read}"));
    report.fact(format!(
        "a file is changed whole up to {whole}, by its lines beyond; one that must be held all the same, up to {held}"
    ));
    report.fact(format!(
        "{n_running} calls at once, {} requests that wait, a walk {} names or {}",
        Amount::Count(limits::REQUESTS_IN_FLIGHT as u64),
        Amount::Count(limits::WALK_ENTRIES),
        Amount::Time(limits::WALK_TIME),
    ));
}

/// What killed processes left behind.
pub fn leftovers(disk: &LocalStore, clean: bool, report: &mut Report) {
    const MAX_SHOWN: usize = 20;
    report.section("leftovers of killed processes");
    let survey = disk.survey(if clean { Cleaning::Remove } else { Cleaning::Keep });
    let left = |what| survey.left.iter().filter(move |(_, verdict)| *verdict == what);
    if survey.left.is_empty() && survey.n_removed == 0 {
        report.fact("none");
    }
    if survey.n_removed > 0 {
        report.fact(format!("{} removed", survey.n_removed));
    }
    let n_ours = left(Verdict::Ours).count();
    if n_ours > 0 {
        for (path, _) in left(Verdict::Ours).take(MAX_SHOWN) {
            report.fact(path.display().to_string());
        }
        let remedy = match clean {
            true => {
                "Remove them by hand: recto could not. They hold no text that is not elsewhere."
            }
            false => {
                "Remove them with recto doctor --clean. They hold no text that is not elsewhere."
            }
        };
        report.problem(format!("{n_ours} files of writes that never ended"), remedy);
    }
    for (path, _) in left(Verdict::Foreign).take(MAX_SHOWN) {
        report.problem(
            format!("{} holds text that may be nowhere else", path.display()),
            "Look at it, and rename or remove it by hand: a crash caught it in an exchange.",
        );
    }
    if !survey.is_complete {
        report.note("not all folders were looked at: there are too many, or one is being changed");
    }
}

/// The repositories.
pub fn git(config: &Config, disk: Arc<LocalStore>, report: &mut Report) {
    report.section("git");
    let context = Context::default();
    for git_dir in config.git_dirs.iter().filter(|git_dir| !git_dir.is_dir()) {
        report.problem(
            format!("--git-dir {} is not a folder", git_dir.display()),
            "Name the folder that git rev-parse --git-common-dir prints.",
        );
    }
    let revisions = GitRevisions::new(disk.clone(), config.git_dirs.clone());
    for root in disk.roots() {
        let shown = root.display().to_string();
        match revisions.at("HEAD", &shown, &context) {
            Ok(at) => {
                let format = revisions.object_format(&shown, &context).unwrap_or("unknown");
                let top = at.top.display();
                report.fact(format!("{shown}: HEAD of {top} can be read ({format})"));
            }
            Err(Error::NoRepository { cause, .. }) if cause.is_empty() => {
                report.fact(format!("{shown}: no repository"));
            }
            Err(Error::NoRepository { cause, .. }) => {
                report.fact(format!("{shown}: no repository that may be read. {cause}"));
            }
            Err(error @ Error::BrokenRepository { .. }) => {
                report.problem(error.to_string(), "git fsck says more.");
            }
            Err(error) => report.note(format!("{shown}: {error}")),
        }
    }
}

/// The editor that started us, if one did.
pub fn editor(report: &mut Report) {
    report.section("editor");
    match LinkClient::from_environment() {
        None => report.fact("none: not started by recto acp or recto codex"),
        Some(Ok(link)) => {
            let welcome = link.welcome();
            let can = |it: bool| if it { "yes" } else { "no" };
            report.fact(format!(
                "reachable: it hands out files {}, takes files {}",
                can(welcome.can_read),
                can(welcome.can_write)
            ));
            link.close();
        }
        Some(Err(error)) => report.problem(
            format!("RECTO_LINK is set, but the editor cannot be reached: {error}"),
            "Start the session anew. Until then files are those on the disk.",
        ),
    }
}
