//! The command line: one file per command, and the options they share.

mod acp;
mod call;
mod codex;
mod demo;
mod doctor;
mod logging;
mod options;
mod serve;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::config::Config;
use crate::log;
use options::Options;

/// A file server for coding agents: reads, creates and edits files inside the directories you
/// name, and detects concurrent changes.
#[derive(Parser)]
#[command(
    name = "recto",
    version,
    after_help = "\
Examples:
  recto demo                      run a demonstration in a temporary directory
  recto serve ~/project           serve a directory to an MCP client on stdin and stdout
  recto doctor ~/project          check the setup and suggest fixes
  recto call read_text_file '{\"path\": \"/home/me/project/README.md\"}' --root ~/project

Without a command, recto runs `serve` and accepts its options."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Acp(acp::Acp),
    Codex(codex::Codex),
    Call(call::Call),
    Tools(tools::Tools),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
}

/// Returns an option's value as spelled on the command line.
fn value_name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no value is skipped");
    value.get_name().to_string()
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
    let is_serve = arguments.get(1).and_then(|first| first.to_str()).is_none_or(|first| {
        first.starts_with('-') && !["-h", "--help", "-V", "--version"].contains(&first)
    });
    if is_serve {
        arguments.insert(arguments.len().min(1), "serve".into());
    }
    arguments
}

/// Runs the program.
pub fn run() -> ExitCode {
    log::keep_panics_short();
    let result = match Cli::parse_from(with_command(std::env::args_os())).command {
        Command::Serve(serve) => serve.run(),
        Command::Acp(acp) => acp.run(),
        Command::Codex(codex) => codex.run(),
        Command::Call(call) => call.run(),
        Command::Tools(tools) => tools.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Demo(demo) => demo.run(),
    };
    result.unwrap_or_else(|message| {
        eprintln!("recto: {message}");
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
    }
}
