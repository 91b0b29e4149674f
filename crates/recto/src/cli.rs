//! The command line: one file per command, and the options they share.

mod acp;
mod blame;
mod call;
mod codex;
mod demo;
mod doctor;
mod http;
mod install;
mod journal;
mod log;
mod logging;
mod options;
mod print;
mod recorded;
mod review;
mod serve;
mod show;
mod tools;
mod trace;
mod undo;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use rmcp::ServerHandler;

use crate::config::Config;
use crate::mcp::handler::Handler;
use options::Options;
use recto_text::quote::Escaped;

/// A file server for coding agents: reads, creates and edits files inside the directories you
/// name, and detects concurrent changes.
#[derive(Parser)]
#[command(
    name = "recto",
    version,
    override_usage = "recto <COMMAND>\n       recto [ROOT]... [OPTIONS]",
    after_help = "\
Examples:
  recto demo                      run a demonstration in a temporary directory
  recto install codex zed         add recto to the settings of these clients
  recto ~/project                 serve a directory to an MCP client on stdin and stdout
  recto doctor ~/project          check the setup and suggest fixes
  recto tools read_text_file      describe a tool
  recto call read_text_file path=README.md

Without a command, recto runs `serve` and accepts its directories and options."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Install(install::Install),
    Serve(serve::Serve),
    Acp(acp::Acp),
    Codex(codex::Codex),
    Call(call::Call),
    Tools(tools::Tools),
    Log(log::Log),
    Show(show::Show),
    Diff(show::Diff),
    Undo(undo::Undo),
    Review(review::Review),
    Blame(blame::Blame),
    Trace(trace::Trace),
    Journal(journal::Journal),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
}

/// Returns an option's value as spelled on the command line.
fn value_name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no value is skipped");
    value.get_name().to_string()
}

/// Returns the commands and options, for man pages and shell completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses server options as the command line does. For tests.
pub fn parse_options(arguments: &[String]) -> Result<Config, String> {
    #[derive(Parser)]
    struct Wrapper {
        #[command(flatten)]
        options: Options,
    }
    let arguments = std::iter::once("recto").chain(arguments.iter().map(String::as_str));
    let wrapper = Wrapper::try_parse_from(arguments).map_err(|error| error.to_string())?;
    wrapper.options.config(Vec::new())
}

/// Inserts `serve` where no command is named.
fn with_command(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|first| is_for_serve(first)) {
        arguments.insert(arguments.len().min(1), "serve".into());
    }
    arguments
}

/// Whether the first argument is an option of `serve` or a directory. A word that is neither may be
/// a misspelt command.
fn is_for_serve(first: &OsStr) -> bool {
    let bytes = first.as_bytes();
    if bytes.starts_with(b"-") {
        return !["-h", "--help", "-V", "--version"].iter().any(|option| first == *option);
    }
    let is_path = bytes.contains(&b'/')
        || bytes.starts_with(b"~")
        || [".", ".."].iter().any(|it| first == *it);
    let is_command = || first == "help" || Cli::command().find_subcommand(first).is_some();
    is_path || (!is_command() && Path::new(first).is_dir())
}

/// Runs the program.
pub fn run() -> ExitCode {
    crate::log::keep_panics_short();
    reported(match Cli::parse_from(with_command(std::env::args_os())).command {
        Command::Install(install) => install.run(),
        Command::Serve(serve) => serve.run(),
        Command::Acp(acp) => acp.run(),
        Command::Codex(codex) => codex.run(),
        Command::Call(call) => call.run(),
        Command::Tools(tools) => tools.run(),
        Command::Log(log) => log.run(),
        Command::Show(show) => show.run(),
        Command::Diff(diff) => diff.run(),
        Command::Undo(undo) => undo.run(),
        Command::Review(review) => review.run(),
        Command::Blame(blame) => blame.run(),
        Command::Trace(trace) => trace.run(),
        Command::Journal(journal) => journal.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Demo(demo) => demo.run(),
    })
}

/// Runs `recto serve` with the arguments of this process and a handler around recto's own. For the
/// conformance tests, whose server has more tools than recto.
#[doc(hidden)]
pub fn serve_with<H: ServerHandler>(wrap: fn(Handler) -> H) -> ExitCode {
    #[derive(Parser)]
    struct Wrapper {
        #[command(flatten)]
        serve: serve::Serve,
    }
    reported(Wrapper::parse().serve.run_with(wrap))
}

/// Prints why a command failed.
fn reported(result: Result<ExitCode, String>) -> ExitCode {
    result.unwrap_or_else(|message| {
        eprintln!("recto: {}", Escaped(&message));
        ExitCode::from(2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_command_recto_serves() {
        let check = |given: &str, meant: &str| {
            let words =
                |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_command(words(given)), words(meant), "{given}");
        };
        check("recto", "recto serve");
        check("recto --root /a --read-only", "recto serve --root /a --read-only");
        check("recto serve /a", "recto serve /a");
        check("recto doctor --root /a", "recto doctor --root /a");
        check("recto --help", "recto --help");
        check("recto -V", "recto -V");
        check("recto help serve", "recto help serve");
        for folder in [".", "..", "./docter", "/a/b", "a/", "~/a", "src"] {
            check(
                &format!("recto {folder} --read-only"),
                &format!("recto serve {folder} --read-only"),
            );
        }
        check("recto docter", "recto docter");
        check("recto docter src", "recto docter src");
    }
}
