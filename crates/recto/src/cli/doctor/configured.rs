//! The section of the report about the settings of clients.

use super::report::Report;
use crate::config::Config;
use crate::install::launch;
use crate::install::places::{Scope, Surroundings};
use crate::install::probe::{self, Configured, EntryProgram};
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
        let entries = probe::configured(client, &around);
        for entry in &entries {
            configured(client.name, entry, &around, report);
        }
        if entries.is_empty() {
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
    // Settings in a project may come from another user, and name any program.
    let is_own = launch::this_program(around).is_ok_and(|program| program == entry.program);
    if entry.scope == Scope::Project && !is_own && entry.kind != EntryProgram::Url {
        return report.note(format!("{what}; not started, because it is another program"));
    }
    match probe::start(entry, &around.project) {
        Ok(answer) => report.fact(format!("{what}; {answer}")),
        Err(error) => report.problem(
            format!("{what}; it does not start: {error}"),
            format!("Run recto install {client} to set the path of this program."),
        ),
    }
}
