//! The checks, one function per section of the report.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_platform::{SysResult, filesystem_name};
use recto_store::Error;
use recto_tools::AnswerForm;

use super::report::Report;
use crate::acp::link::LinkClient;
use crate::assemble;
use crate::clients;
use crate::config::Config;
use crate::landlock::{Enforcement, LandlockMode};
use crate::limits::{self, Amount};
use recto_store::context::Context;
use recto_store::local::abilities::Abilities;
use recto_store::local::leftovers::LeftoverVerdict;
use recto_store::local::survey::Cleaning;
use recto_store::{GitRevisions, LocalStore, Revisions};

/// Checks the roots and their file systems.
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
            report.note(format!("given as {}; both paths work", absolute.display()));
        }
        unusual_roots(&real, &seen, report);
        if let Ok(status) = real.metadata() {
            seen.push((real.clone(), (status.dev(), status.ino())));
        }
        match can_write {
            true => abilities(&real, report),
            false => report.note("file system features not tested (read-only)"),
        }
    }
}

fn unusual_roots(root: &Path, others: &[(PathBuf, (u64, u64))], report: &mut Report) {
    let home =
        std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    if root == Path::new("/") {
        report.problem("this is the whole file system", "Serve the project's directory instead.");
    } else if home.as_deref() == Some(root) {
        report.problem(
            "this is your home directory, which contains keys and settings",
            "Serve the project's directory instead, or hide private files with --deny.",
        );
    }
    let id = root.metadata().map(|status| (status.dev(), status.ino())).ok();
    for (other, other_id) in others {
        if Some(*other_id) == id {
            report.note(format!("same directory as {}", other.display()));
        } else if root.starts_with(other) || other.starts_with(root) {
            report.note(format!("overlaps with {}; both work", other.display()));
        }
    }
}

fn abilities(root: &Path, report: &mut Report) {
    let abilities = match Abilities::probe(root) {
        Ok(abilities) => abilities,
        Err(error) => {
            return report.problem(
                format!("not writable: {error}"),
                "Grant yourself write permission, or serve it with --read-only.",
            );
        }
    };
    let works = |it: &SysResult<()>| if it.is_ok() { "yes" } else { "no" };
    let case = match abilities.case_matters {
        Ok(true) => "case-sensitive",
        Ok(false) => "case-insensitive",
        Err(_) => "case sensitivity unknown",
    };
    report.fact(format!(
        "  atomic exchange {}, rename without overwrite {}, unnamed files {}, locks {}, leases {}, extended attributes {}, {case}",
        works(&abilities.exchange),
        works(&abilities.rename_new),
        works(&abilities.nameless),
        works(&abilities.locks),
        works(&abilities.leases),
        works(&abilities.attributes),
    ));
    if abilities.exchange.is_err() || abilities.rename_new.is_err() {
        report.problem(
            "files cannot be exchanged atomically: a concurrent write by another program may be overwritten",
            "Keep the project on a local file system such as ext4, xfs or btrfs.",
        );
    }
    if abilities.locks.is_err() {
        report.problem(
            "directories cannot be locked: two servers cannot coordinate their writes here",
            "Run one server at a time, or use a local file system.",
        );
    }
    if abilities.leases.is_err() {
        report.note("no leases: a program that has a file open for writing is detected later");
    }
    if abilities.case_matters == Ok(false) {
        report.note("--deny hides a path in any case, because the file system ignores case");
    }
}

/// Checks the layers that confine calls to the roots.
pub fn sandbox(config: &Config, report: &mut Report) {
    report.section("sandbox");
    report.fact("path checks: every path is resolved one component at a time from an open root");
    let remedy = "Use Linux 6.12 or newer with landlock in /sys/kernel/security/lsm, and allow it \
                  in the container. Until then only the path checks apply.";
    match assemble::allowed_paths(config)
        .and_then(|allowed_paths| allowed_paths.probe(config.landlock))
    {
        Ok(status @ Enforcement::Full { .. }) => report.fact(format!("Landlock: {status}")),
        Ok(Enforcement::Off) => report.note("Landlock: disabled"),
        Ok(status @ Enforcement::Partial { .. }) if config.landlock != LandlockMode::Required => {
            report.note(format!("Landlock: {status}"));
        }
        Ok(status) => report.problem(format!("Landlock: {status}"), remedy),
        Err(error) => report.problem(error, remedy),
    }
}

/// Lists the limits that users ask about.
pub fn limits(config: &Config, report: &mut Report) {
    report.section("limits (full list: docs/limits.md)");
    let line = Amount::Bytes(limits::REQUEST_LINE as u64);
    let whole = Amount::Bytes(limits::WHOLE_CHANGE);
    let memory = Amount::Bytes(limits::MEMORY as u64);
    let n_running =
        limits::running_calls(config.wire.max_answer_bytes.unwrap_or(limits::ANSWER_BYTES));
    report.fact(format!("request {line}"));
    report.fact(format!(
        "files up to {whole} are edited in memory, larger ones by excerpt; {memory} for all calls together"
    ));
    report.fact(format!(
        "{n_running} concurrent calls, {} pending requests, a directory walk {} entries or {}",
        Amount::Count(limits::REQUESTS_IN_FLIGHT as u64),
        Amount::Count(limits::WALK_ENTRIES),
        Amount::Time(limits::WALK_TIME),
    ));
}

/// Lists how the known clients get their answers.
pub fn clients(config: &Config, report: &mut Report) {
    report.section("clients (by the name that they report, or --client)");
    for client in clients::KNOWN.iter().chain([&clients::UNKNOWN]) {
        let wire = config.wire.for_client(Some(client.name));
        let form = match wire.delivery.form {
            AnswerForm::Both => "text and structured",
            AnswerForm::Text => "text",
            AnswerForm::Structured => "structured",
        };
        let size = Amount::Bytes(wire.delivery.max_bytes as u64);
        report.fact(format!("{}: {form}, up to {size}", client.name));
    }
}

/// Lists, or removes, files left behind by killed processes.
pub fn leftovers(disk: &LocalStore, clean: bool, report: &mut Report) {
    const MAX_SHOWN: usize = 20;
    report.section("files left behind by killed processes");
    let survey = disk.survey(if clean { Cleaning::Remove } else { Cleaning::Keep });
    let left = |what| survey.left.iter().filter(move |(_, verdict)| *verdict == what);
    if survey.left.is_empty() && survey.n_removed == 0 {
        report.fact("none");
    }
    if survey.n_removed > 0 {
        report.fact(format!("{} removed", survey.n_removed));
    }
    let n_ours = left(LeftoverVerdict::Removable).count();
    if n_ours > 0 {
        for (path, _) in left(LeftoverVerdict::Removable).take(MAX_SHOWN) {
            report.fact(path.display().to_string());
        }
        let (what, them, they) = match n_ours {
            1 => ("1 file of an interrupted write".into(), "it", "It contains"),
            n => (format!("{n} files of interrupted writes"), "them", "They contain"),
        };
        let remedy = match clean {
            true => format!("recto could not remove {them}; remove {them} by hand."),
            false => format!("Remove {them} with recto doctor --clean."),
        };
        report.problem(what, format!("{remedy} {they} no unique text."));
    }
    for (path, _) in left(LeftoverVerdict::Unrecognized).take(MAX_SHOWN) {
        report.problem(
            format!("{} may contain the only copy of a change", path.display()),
            "Inspect it, then rename or remove it by hand: a write was interrupted while it exchanged files.",
        );
    }
    if !survey.is_complete {
        report
            .note("not all directories were searched: there are too many, or one is being changed");
    }
}

/// Checks that the repositories can be read.
pub fn git(config: &Config, disk: Arc<LocalStore>, report: &mut Report) {
    report.section("git");
    let context = Context::default();
    for git_dir in config.git_dirs.iter().filter(|git_dir| !git_dir.is_dir()) {
        report.problem(
            format!("--git-dir {} is not a directory", git_dir.display()),
            "Pass the directory that git rev-parse --git-common-dir prints.",
        );
    }
    let revisions = GitRevisions::new(disk.clone(), config.git_dirs.clone());
    for root in disk.roots() {
        let shown = root.display().to_string();
        match revisions.at("HEAD", &shown, &context) {
            Ok(at) => {
                let format = revisions.object_format(&shown, &context).unwrap_or("unknown");
                let top = at.top.display();
                report.fact(format!("{shown}: HEAD of {top} is readable ({format})"));
            }
            Err(Error::NoRepository { cause, .. }) if cause.is_empty() => {
                report.fact(format!("{shown}: no repository"));
            }
            Err(Error::NoRepository { cause, .. }) => {
                report.fact(format!("{shown}: no repository is accessible. {cause}"));
            }
            Err(error @ Error::BrokenRepository { .. }) => {
                report.problem(error.to_string(), "Run git fsck for details.");
            }
            Err(error) => report.note(format!("{shown}: {error}")),
        }
    }
}

/// Checks the connection to the editor, if a relay started this process.
pub fn editor(report: &mut Report) {
    report.section("editor");
    match LinkClient::from_environment() {
        None => report.fact("none: not started by recto acp or recto codex"),
        Some(Ok(link)) => {
            let welcome = link.welcome();
            let can = |it: bool| if it { "yes" } else { "no" };
            report.fact(format!(
                "connected: reads files {}, writes files {}",
                can(welcome.can_read),
                can(welcome.can_write)
            ));
            link.close();
        }
        Some(Err(error)) => report.problem(
            format!("RECTO_LINK is set, but the editor cannot be reached: {error}"),
            "Restart the session. Until then recto uses the files on disk.",
        ),
    }
}
