//! The options that commands share, in groups, so that a command accepts only options that have an
//! effect on it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use recto_journal::state_dir;
use recto_store::local::HiddenPaths;

use super::logging::Logging;
use super::{acp, value_name};
use crate::clients::{self, Client};
use crate::config::{Config, Errors, JournalConfig, JournalMode, Results, ToolNames, Wire};
use crate::landlock::LandlockMode;
use crate::limits;

/// The options of a server. A command that accepts only some groups uses the defaults of the others.
#[derive(Args, Default)]
pub struct Options {
    #[command(flatten)]
    pub roots: RootOptions,

    #[command(flatten)]
    pub selection: ToolSelection,

    #[command(flatten)]
    pub writes: WriteOptions,

    #[command(flatten)]
    pub journal: JournalOptions,

    /// Also record the model and the first line of the user's prompt, with ACP
    #[arg(long)]
    pub journal_titles: bool,

    #[command(flatten)]
    pub limits: LimitOptions,

    #[command(flatten)]
    pub definitions: DefinitionOptions,

    /// How to report failed calls
    #[arg(long, value_enum, default_value_t)]
    pub errors: Errors,

    #[command(flatten)]
    pub landlock: LandlockOptions,

    #[command(flatten)]
    pub logging: Logging,
}

/// Which files are accessible.
#[derive(Args, Default)]
pub struct RootOptions {
    /// Directory to serve; may be repeated
    #[arg(long = "root", value_name = "DIR")]
    pub roots: Vec<PathBuf>,

    /// Hide matching paths; may be repeated. `*.pem` matches at any depth, `/secrets` only at a root
    #[arg(long, value_name = "GLOB")]
    pub deny: Vec<String>,

    /// Allow reading this git directory outside the roots; may be repeated
    #[arg(long, value_name = "DIR")]
    pub git_dir: Vec<PathBuf>,
}

/// Which tools are offered.
#[derive(Args, Default)]
pub struct ToolSelection {
    /// Comma-separated tools or toolsets to offer: default, all, coding, edit, text, files, history, changes, undo
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,

    /// Offer only tools that do not modify files
    #[arg(long)]
    pub read_only: bool,
}

/// How files are written.
#[derive(Args, Default)]
pub struct WriteOptions {
    /// Allow writes inside .git
    #[arg(long)]
    pub allow_git_writes: bool,

    /// What a completed write survives: `full` a power failure, `rename` a crash of recto
    #[arg(long, value_enum, default_value_t)]
    pub durability: Durability,
}

/// Whether and where changes are recorded.
#[derive(Args, Default)]
pub struct JournalOptions {
    /// Whether to record changes, so that `recto undo` can undo them
    #[arg(long, value_enum, default_value_t)]
    pub journal: JournalMode,

    #[command(flatten)]
    pub state_dir: StateDirOption,

    /// Do not store the content of matching files; may be repeated. Patterns are those of --deny
    #[arg(long, value_name = "GLOB")]
    pub journal_exclude: Vec<String>,
}

/// Where the journal is.
#[derive(Args, Default)]
pub struct StateDirOption {
    /// Directory of the journal [default: $RECTO_STATE_DIR, else ~/.local/state/recto]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

/// The bounds of an answer.
#[derive(Args, Default)]
pub struct LimitOptions {
    /// Maximum bytes of one answer [default: depends on the client]
    #[arg(long, alias = "max-read-bytes", value_name = "N", value_parser = parse_max_answer_bytes)]
    pub max_answer_bytes: Option<usize>,
}

/// What clients see of the tools' definitions.
#[derive(Args, Default)]
pub struct DefinitionOptions {
    /// Treat the client as this one, such as codex or claude-code [default: the name it reports]
    #[arg(long, value_name = "NAME", value_parser = parse_client)]
    pub client: Option<&'static Client>,

    /// Parts of a result to send [default: depends on the client]
    #[arg(long, value_enum)]
    pub results: Option<Results>,

    /// How to spell tool names; calls may use either spelling [default: underscore]
    #[arg(long, value_enum)]
    pub tool_names: Option<ToolNames>,
}

/// Whether the kernel restricts the process.
#[derive(Args, Default)]
pub struct LandlockOptions {
    /// Refuse to start unless Landlock is fully enforced
    #[arg(long, conflicts_with = "no_landlock")]
    pub require_landlock: bool,

    /// Run without Landlock
    #[arg(long)]
    pub no_landlock: bool,
}

/// What a completed write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Durability {
    #[default]
    Full,
    Rename,
}

fn parse_max_answer_bytes(text: &str) -> Result<usize, String> {
    let (least, most) = (limits::LEAST_ANSWER_BYTES, limits::MOST_ANSWER_BYTES);
    match text.parse() {
        Ok(n_bytes) if (least..=most).contains(&n_bytes) => Ok(n_bytes),
        _ => Err(format!("must be between {least} and {most} bytes")),
    }
}

fn parse_client(text: &str) -> Result<&'static Client, String> {
    clients::find(text).ok_or_else(|| {
        let known: Vec<_> = clients::KNOWN.iter().map(|client| client.name).collect();
        format!("known clients are {}", known.join(", "))
    })
}

impl LandlockOptions {
    /// Returns what the options ask for.
    pub fn mode(&self) -> LandlockMode {
        match (self.require_landlock, self.no_landlock) {
            (true, _) => LandlockMode::Required,
            (_, true) => LandlockMode::Off,
            _ => LandlockMode::BestEffort,
        }
    }
}

impl Options {
    /// Validates the options. Serves `more_roots` too, and the working directory if no root is
    /// named.
    pub fn config(self, more_roots: Vec<PathBuf>) -> Result<Config, String> {
        let Options { roots: RootOptions { roots, deny, git_dir }, selection, writes, .. } = self;
        let mut roots: Vec<_> = more_roots.into_iter().chain(roots).collect();
        if roots.is_empty() {
            let here = std::env::current_dir();
            roots.push(
                here.map_err(|error| format!("cannot serve the working directory: {error}"))?,
            );
        }
        let JournalOptions { journal: mode, state_dir: place, journal_exclude } = self.journal;
        HiddenPaths::parse(&journal_exclude)
            .map_err(|error| format!("--journal-exclude: {error}"))?;
        let has_titles = self.journal_titles;
        let excluded = deny.iter().cloned().chain(journal_exclude).collect();
        Ok(Config {
            roots,
            landlock: self.landlock.mode(),
            hidden: HiddenPaths::parse(&deny).map_err(|error| format!("--deny: {error}"))?,
            git_dirs: git_dir,
            tools: selection.tools,
            is_read_only: selection.read_only,
            allows_git_writes: writes.allow_git_writes,
            is_durable: writes.durability == Durability::Full,
            journal: JournalConfig { mode, state_dir: place.state_dir, excluded, has_titles },
            wire: Wire {
                client: self.definitions.client,
                form: self.definitions.results.map(Into::into),
                max_answer_bytes: self.limits.max_answer_bytes,
                names: self.definitions.tool_names.map(Into::into),
                errors: self.errors,
            },
        })
    }

    /// Returns the options for a child process that may start in any directory, without the roots.
    pub fn arguments(&self) -> Result<Vec<String>, String> {
        let mut arguments = vec![
            format!("--durability={}", value_name(self.writes.durability)),
            format!("--errors={}", value_name(self.errors)),
        ];
        if self.journal.journal != JournalMode::On {
            arguments.push(format!("--journal={}", value_name(self.journal.journal)));
        }
        // Agents may not pass the variable on to the servers that they start.
        let from_variable = std::env::var_os(state_dir::VARIABLE).filter(|dir| !dir.is_empty());
        let state_dir = self.journal.state_dir.state_dir.clone();
        if let Some(state_dir) = state_dir.or(from_variable.map(PathBuf::from)) {
            arguments.push(format!("--state-dir={}", acp::absolute_string(&state_dir)?));
        }
        let excluded = self.journal.journal_exclude.iter();
        arguments.extend(excluded.map(|glob| format!("--journal-exclude={glob}")));
        let DefinitionOptions { client, results, tool_names } = &self.definitions;
        let max_answer_bytes = self.limits.max_answer_bytes;
        arguments.extend(max_answer_bytes.map(|n| format!("--max-answer-bytes={n}")));
        arguments.extend(client.map(|client| format!("--client={}", client.name)));
        arguments.extend(results.map(|results| format!("--results={}", value_name(results))));
        arguments.extend(tool_names.map(|names| format!("--tool-names={}", value_name(names))));
        if !self.selection.tools.is_empty() {
            arguments.push(format!("--tools={}", self.selection.tools.join(",")));
        }
        for (is_set, name) in [
            (self.selection.read_only, "--read-only"),
            (self.journal_titles, "--journal-titles"),
            (self.writes.allow_git_writes, "--allow-git-writes"),
            (self.landlock.require_landlock, "--require-landlock"),
            (self.landlock.no_landlock, "--no-landlock"),
        ] {
            arguments.extend(is_set.then(|| name.to_string()));
        }
        arguments.extend(self.logging.arguments());
        arguments.extend(self.roots.deny.iter().map(|glob| format!("--deny={glob}")));
        for git_dir in &self.roots.git_dir {
            arguments.push(format!("--git-dir={}", acp::absolute_string(git_dir)?));
        }
        Ok(arguments)
    }
}
