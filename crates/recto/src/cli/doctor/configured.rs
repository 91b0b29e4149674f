//! The section of the report about the settings of clients.

use super::report::Report;
use crate::config::Config;
use crate::install::launch;
use crate::install::places::{Scope, Surroundings};
use crate::install::probe::{self, Configured, EntryProgram, Found};
use crate::install::table::CLIENTS;

/// Reports which clients start recto, with which options, and whether that works.
pub fn check(config: &Config, report: &mut Report) {
    report.section("settings of clients (recto install)");
    let around = match Surroundings::current() {
        Ok(around) => around,
        Err(error) => return report.note(format!("not inspected: {error}")),
    };
    let root = config.roots.first().and_then(|root| root.canonicalize().ok());
    let around = Surroundings { project: root.unwrap_or(around.project.clone()), ..around };
    let mut others = Vec::new();
    for client in &CLIENTS {
        let Found { entries, unread } = probe::configured(client, &around);
        for entry in &entries {
            configured(client.name, entry, &around, report);
        }
        for why in &unread {
            report.problem(
                format!("{}: {why}", client.name),
                format!("Correct the file; recto install {} cannot change it.", client.name),
            );
        }
        if entries.is_empty() && unread.is_empty() {
            match around.has(client) {
                true => report.note(format!(
                    "{}: not configured; recto install {} does it",
                    client.title, client.name
                )),
                false => others.push(client.title),
            }
        }
    }
    if !others.is_empty() {
        report.fact(format!("not found: {}", others.join(", ")));
    }
}

fn configured(client: &str, entry: &Configured, around: &Surroundings, report: &mut Report) {
    let command = [std::slice::from_ref(&entry.program), &entry.arguments].concat().join(" ");
    let what = format!("{client}: {}: {command}", around.shown(&entry.path));
    // Settings in a project may come from another user, and name any program or command.
    if entry.scope == Scope::Project && entry.kind != EntryProgram::Url {
        if !launch::this_program(around).is_ok_and(|program| program == entry.program) {
            return report.note(format!("{what}; not started, because it is another program"));
        }
        if entry.kind == EntryProgram::Server && !only_serves(&entry.arguments) {
            return report.note(format!("{what}; not started, because of its arguments"));
        }
    }
    match probe::start(entry, &around.project) {
        Ok(answer) => report.fact(format!("{what}; {answer}")),
        Err(error) => report.problem(
            format!("{what}; it does not start: {error}"),
            match entry.scope {
                Scope::User => format!("Run recto install {client} to write the entry again."),
                Scope::Project => {
                    format!("Run recto install {client} --project to write the entry again.")
                }
            },
        ),
    }
}

/// Whether arguments are those that recto writes, with which it only serves directories. Others could
/// run a command.
fn only_serves(arguments: &[String]) -> bool {
    let is_written = |argument: &String| {
        !argument.starts_with('-') || argument.starts_with("--tools=") || argument == "--read-only"
    };
    let arguments = arguments.split_first();
    arguments.is_some_and(|(command, rest)| command == "serve" && rest.iter().all(is_written))
}
