//! `recto install`: adds recto to the settings of clients.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use recto_text::diff::{Bounds, OldSide, Texts, unified};
use recto_text::edits::Edits;
use recto_text::quote::Escaped;

use super::options::{Options, ToolSelection};
use super::print::print;
use crate::install::client::{Client, HttpSupport};
use crate::install::launch::{self, Launch};
use crate::install::places::{Scope, Surroundings};
use crate::install::plan::{self, Change, Obstacle};
use crate::install::table::{self, CLIENTS};

/// Add recto to the settings of clients, or remove it
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto install                                list the clients that were found
  recto install codex claude-code              show the changes, ask, and make them
  recto install --all --dry-run                show the changes for all clients that were found
  recto install cursor --project --tools coding
  recto install codex --http=http://127.0.0.1:8123/mcp
  recto install --all --uninstall

Comments, order and line endings of a settings file stay. The file as it was is kept below
~/.local/state/recto/install, and --uninstall restores it, or removes only recto's entry if the file
was changed since. Exit status: 0 if all is done, 1 if something failed, 3 if you must insert an entry
by hand.")]
pub struct Install {
    /// Clients to change [default: list the clients that were found]
    #[arg(value_name = "CLIENT", conflicts_with = "all", value_parser = client_names())]
    clients: Vec<String>,

    /// All clients that are found
    #[arg(long)]
    all: bool,

    /// Change the user's settings, for all projects [default]
    #[arg(long, conflicts_with = "project")]
    user: bool,

    /// Change the settings of the project in the working directory
    #[arg(long)]
    project: bool,

    /// Directory to serve, instead of the project that the client has open; may be repeated
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,

    #[command(flatten)]
    selection: ToolSelection,

    /// Use a server that runs already, and the token in the client's environment variable RECTO_TOKEN
    /// [default URL: http://127.0.0.1:8123/mcp]
    #[arg(
        long, value_name = "URL", num_args = 0..=1, require_equals = true,
        default_missing_value = "http://127.0.0.1:8123/mcp", value_parser = url,
        conflicts_with_all = ["roots", "tools", "read_only"]
    )]
    http: Option<String>,

    /// Remove recto from the settings
    #[arg(long)]
    uninstall: bool,

    /// Show the changes and make none
    #[arg(long)]
    dry_run: bool,

    /// Make the changes without asking
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Checks an address, into which a token must not be put.
fn url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest.map(|rest| rest.split('/').next().unwrap_or_default()) {
        None | Some("") => Err("must start with http:// or https:// and name a host".into()),
        Some(host) if host.contains('@') => Err("must not contain a user or a token".into()),
        Some(_) => Ok(text.to_string()),
    }
}

fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
}

/// The changes to make, and what went wrong so far.
#[derive(Default)]
struct Work {
    changes: Vec<(&'static Client, Change)>,
    n_failed: usize,
    n_by_hand: usize,
}

impl Install {
    pub fn run(self) -> Result<ExitCode, String> {
        let around = Surroundings::current()?;
        if self.clients.is_empty() && !self.all {
            print(&overview(&around))?;
            return Ok(ExitCode::SUCCESS);
        }
        let scope = if self.project { Scope::Project } else { Scope::User };
        let selected: Vec<&'static Client> = match self.all {
            // In reverse order: a directory that was created for one client may have files of another.
            true if self.uninstall => CLIENTS.iter().rev().collect(),
            true => CLIENTS.iter().filter(|it| around.has(it)).collect(),
            false => self.clients.iter().filter_map(|name| table::find(name)).collect(),
        };
        if self.all && !self.uninstall {
            print(&looked_for(&selected, &around))?;
        }
        let launch = self.launch(&around)?;
        let mut work = Work::default();
        for client in selected {
            self.plan(client, scope, &launch, &around, &mut work)?;
        }
        if work.changes.is_empty() || self.dry_run {
            return Ok(work.status());
        }
        if !self.yes && !confirmed(work.changes.len())? {
            print("Nothing was changed.\n")?;
            return Ok(ExitCode::from(1));
        }
        work.apply(&around)?;
        Ok(work.status())
    }

    /// Returns how to start recto, without the directories, which depend on the client.
    fn launch(&self, around: &Surroundings) -> Result<Launch, String> {
        let ToolSelection { tools, read_only } = &self.selection;
        let mut selection = ToolSelection { tools: tools.clone(), read_only: *read_only };
        if self.uninstall {
            // Rules for tools that were installed with another selection are removed too.
            selection = ToolSelection { tools: vec!["all".into()], read_only: false };
        }
        let config = Options { selection, ..Options::default() }.config(Vec::new())?;
        let mut options = Vec::new();
        options.extend((!tools.is_empty()).then(|| format!("--tools={}", tools.join(","))));
        options.extend(read_only.then(|| "--read-only".to_string()));
        let program = launch::this_program(around)?;
        Ok(Launch { program, roots: Vec::new(), options, served: config.tools()?, http: None })
    }

    /// Returns how a client starts or reaches recto.
    fn launch_for(
        &self,
        client: &Client,
        scope: Scope,
        launch: &Launch,
        around: &Surroundings,
    ) -> Result<Launch, String> {
        let launch = launch.clone();
        match (&self.http, &client.http) {
            (None, _) => {
                let roots = launch::roots(&self.roots, client.root, scope, around)?;
                Ok(Launch { roots, ..launch })
            }
            (Some(url), HttpSupport::Entry(members)) => {
                Ok(Launch { http: Some((url.clone(), members)), ..launch })
            }
            (Some(_), HttpSupport::No(why)) => Err(format!("cannot use --http: {why}")),
        }
    }

    fn plan(
        &self,
        client: &'static Client,
        scope: Scope,
        launch: &Launch,
        around: &Surroundings,
        work: &mut Work,
    ) -> Result<(), String> {
        let name = client.name;
        if plan::files_of(client, scope).is_empty() {
            work.n_failed += usize::from(!self.all);
            return print(&format!("{name}: has no settings for a single project\n"));
        }
        let planned = match self.launch_for(client, scope, launch, around) {
            _ if self.uninstall => plan::uninstall(client, scope, launch, around),
            Ok(launch) => plan::install(client, scope, &launch, around),
            Err(why) => Err(Obstacle::Failed(why)),
        };
        let text = match planned {
            Ok(changes) if changes.is_empty() => match self.uninstall {
                true => format!("{name}: not configured\n"),
                false => format!("{name}: already configured\n"),
            },
            Ok(changes) => {
                let text = changes.iter().map(|change| describe(client, change, around)).collect();
                work.changes.extend(changes.into_iter().map(|change| (client, change)));
                text
            }
            Err(Obstacle::ByHand { path, why, snippet }) => {
                work.n_by_hand += 1;
                let path = around.shown(&path);
                format!(
                    "{name}: {path} is left as it is: {why}. Insert this yourself:\n\n{snippet}\n"
                )
            }
            Err(Obstacle::Failed(why)) => {
                work.n_failed += 1;
                format!("{name}: {why}\n")
            }
        };
        print(&shown(&text))
    }
}

impl Work {
    fn apply(&mut self, around: &Surroundings) -> Result<(), String> {
        for (client, change) in &self.changes {
            let mut text = format!("{}: {}: ", client.name, around.shown(&change.path));
            match change.apply(around) {
                Ok(applied) => {
                    text.push_str(if change.after.is_some() { "written" } else { "removed" });
                    if let Some(backup) = &applied.backup {
                        let _ = write!(text, "; before: {}", around.shown(backup));
                    }
                    if let Some(note) = &applied.note {
                        let _ = write!(text, " ({note})");
                    }
                }
                Err(error) => {
                    self.n_failed += 1;
                    let _ = write!(text, "failed: {error}");
                }
            }
            print(&shown(&format!("{text}\n")))?;
        }
        Ok(())
    }

    fn status(&self) -> ExitCode {
        match (self.n_failed, self.n_by_hand) {
            (0, 0) => ExitCode::SUCCESS,
            (0, _) => ExitCode::from(3),
            _ => ExitCode::from(1),
        }
    }
}

/// Describes a change with its diff.
fn describe(client: &Client, change: &Change, around: &Surroundings) -> String {
    let path = around.shown(&change.path);
    let mut text = format!("{}: {path}\n", client.name);
    if let Some(command) = &change.command {
        let _ = writeln!(text, "runs: {}", command.join(" "));
    }
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let old_side = if before.is_some() { OldSide::File } else { OldSide::Nothing };
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let edits = Edits::whole(before, after);
    text.push_str(
        &unified(&path, old_side, &Texts::whole(before, after, &edits), Bounds::NONE).text,
    );
    text.push('\n');
    text
}

/// Escapes characters that control a terminal. A project's settings may contain any.
fn shown(text: &str) -> String {
    let line = |line: &str| {
        let parts: Vec<_> = line.split('\t').map(|part| Escaped(part).to_string()).collect();
        parts.join("\t") + "\n"
    };
    text.lines().map(line).collect()
}

/// Lists the clients and what to do next.
fn overview(around: &Surroundings) -> String {
    let (found, others): (Vec<&Client>, Vec<&Client>) =
        CLIENTS.iter().partition(|client| around.has(client));
    let names = |clients: &[&Client]| {
        clients.iter().map(|client| client.name).collect::<Vec<_>>().join(", ")
    };
    let next = "recto install CLIENT… adds recto to their settings, recto install --all to those of \
                all that were found.";
    match found[..] {
        [] => format!("No client was found. {next}\nKnown: {}\n", names(&others)),
        _ => format!("Found: {}\nNot found: {}\n{next}\n", names(&found), names(&others)),
    }
}

/// Says what clients were looked for, and how.
fn looked_for(found: &[&'static Client], around: &Surroundings) -> String {
    let mut text = String::new();
    for client in CLIENTS.iter().filter(|client| !found.iter().any(|it| it.name == client.name)) {
        let traces = client.traces.iter().filter_map(|trace| around.path(*trace));
        let traces: Vec<_> = traces.map(|trace| around.shown(&trace)).collect();
        let programs = client.programs.join(", ");
        let _ = writeln!(
            text,
            "{}: not found (looked for the program {programs} and for {})",
            client.name,
            traces.join(", ")
        );
    }
    if found.is_empty() {
        text.push_str("No client was found; nothing to do.\n");
    }
    text
}

fn confirmed(n_files: usize) -> Result<bool, String> {
    if !std::io::stdin().is_terminal() {
        return Err("not a terminal, so nobody can confirm the changes; pass --yes".into());
    }
    let files = if n_files == 1 { "this file".into() } else { format!("these {n_files} files") };
    print(&format!("Change {files}? [y/N] "))?;
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}
