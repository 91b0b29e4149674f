//! The command line: one file per command, and the options they share.

mod acp;
mod call;
mod codex;
mod demo;
mod doctor;
mod logging;
mod serve;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::{Config, Errors, Results, ToolNames, Wire};
use crate::landlock::LandlockMode;
use crate::{limits, log};
use logging::Logging;
use recto_store::local::HiddenPaths;

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

/// The options of every command that works on files.
#[derive(Args)]
struct Options {
    /// Directory to serve; may be repeated [default: the working directory, or the editor session's directory]
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,

    /// Comma-separated toolsets or tools to offer, such as edit or read_text_file,edit_text_file
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,

    /// Offer only tools that do not modify files
    #[arg(long)]
    read_only: bool,

    /// Hide matching paths; may be repeated. `*.pem` matches at any depth, `/secrets` only at a root
    #[arg(long, value_name = "GLOB")]
    deny: Vec<String>,

    /// Allow reading this git directory outside the roots; may be repeated
    #[arg(long, value_name = "DIR")]
    git_dir: Vec<PathBuf>,

    /// Allow writes inside .git
    #[arg(long)]
    allow_git_writes: bool,

    /// Maximum bytes of one answer
    #[arg(long, alias = "max-read-bytes", value_name = "N", default_value_t = limits::ANSWER_BYTES, value_parser = parse_max_answer_bytes)]
    max_answer_bytes: usize,

    /// What a completed write survives: `full` a power failure, `rename` a crash of recto
    #[arg(long, value_enum, default_value_t)]
    durability: Durability,

    /// Parts of a result to send
    #[arg(long, value_enum, default_value_t)]
    results: Results,

    /// How to report failed calls
    #[arg(long, value_enum, default_value_t)]
    errors: Errors,

    /// How to spell tool names; calls may use either spelling
    #[arg(long, value_enum, default_value_t)]
    tool_names: ToolNames,

    /// Refuse to start unless Landlock is fully enforced
    #[arg(long, conflicts_with = "no_landlock")]
    require_landlock: bool,

    /// Run without Landlock
    #[arg(long)]
    no_landlock: bool,

    #[command(flatten)]
    logging: Logging,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Durability {
    #[default]
    Full,
    Rename,
}

fn parse_max_answer_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n_bytes) if (1..=limits::MOST_ANSWER_BYTES).contains(&n_bytes) => Ok(n_bytes),
        _ => Err(format!("must be between 1 and {} bytes", limits::MOST_ANSWER_BYTES)),
    }
}

impl Options {
    fn landlock_mode(&self) -> LandlockMode {
        match (self.require_landlock, self.no_landlock) {
            (true, _) => LandlockMode::Required,
            (_, true) => LandlockMode::Off,
            _ => LandlockMode::BestEffort,
        }
    }

    fn config(self, more_roots: Vec<PathBuf>) -> Result<Config, String> {
        let landlock = self.landlock_mode();
        let mut roots = more_roots;
        roots.extend(self.roots);
        if roots.is_empty() {
            let here = std::env::current_dir();
            roots.push(
                here.map_err(|error| format!("cannot serve the working directory: {error}"))?,
            );
        }
        Ok(Config {
            roots,
            landlock,
            hidden: HiddenPaths::parse(&self.deny).map_err(|error| format!("--deny: {error}"))?,
            git_dirs: self.git_dir,
            tools: self.tools,
            is_read_only: self.read_only,
            allows_git_writes: self.allow_git_writes,
            max_answer_bytes: self.max_answer_bytes,
            is_durable: self.durability == Durability::Full,
            wire: Wire {
                results: self.results,
                errors: self.errors,
                names: self.tool_names.into(),
            },
        })
    }
}

impl Options {
    /// Returns the options for a child process that may start in any directory, without the roots.
    fn arguments(&self) -> Result<Vec<String>, String> {
        let mut arguments = vec![
            format!("--max-answer-bytes={}", self.max_answer_bytes),
            format!("--durability={}", value_name(self.durability)),
            format!("--results={}", value_name(self.results)),
            format!("--errors={}", value_name(self.errors)),
            format!("--tool-names={}", value_name(self.tool_names)),
        ];
        if !self.tools.is_empty() {
            arguments.push(format!("--tools={}", self.tools.join(",")));
        }
        for (is_set, name) in [
            (self.read_only, "--read-only"),
            (self.allow_git_writes, "--allow-git-writes"),
            (self.require_landlock, "--require-landlock"),
            (self.no_landlock, "--no-landlock"),
        ] {
            arguments.extend(is_set.then(|| name.to_string()));
        }
        arguments.extend(self.logging.arguments());
        arguments.extend(self.deny.iter().map(|glob| format!("--deny={glob}")));
        for git_dir in &self.git_dir {
            arguments.push(format!("--git-dir={}", acp::absolute_string(git_dir)?));
        }
        Ok(arguments)
    }
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
