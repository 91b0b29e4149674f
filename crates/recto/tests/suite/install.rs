//! `recto install`: the splicers with random settings, whole runs in a scratch home, clients' own
//! commands, and the entry of each client.

mod clients;
mod commands;
mod doctor;
mod documents;
mod http;
mod runs;
mod splicers;

use std::ffi::OsString;
use std::path::Path;

use recto::install::launch::Launch;
use recto::install::places::Surroundings;
use recto_tools::tools;

/// Returns a home without variables and without programs.
fn surroundings(home: &Path, project: &Path) -> Surroundings {
    let variable = |_: &str| None::<OsString>;
    Surroundings { home: home.into(), project: project.into(), is_mac: false, variable }
}

fn launch(roots: &[&str], options: &[&str]) -> Launch {
    let strings = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect();
    Launch {
        program: "/opt/recto".into(),
        roots: strings(roots),
        options: strings(options),
        served: tools::ALL.to_vec(),
        http: None,
    }
}
