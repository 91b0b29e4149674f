//! The options that say what is logged.

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;

use super::word;
use crate::log::{Format, Settings};

/// Names the level where no option does.
const VARIABLE: &str = "RECTO_LOG";

/// What is logged, and how.
#[derive(Args)]
pub struct Logging {
    /// Log every call on stderr, for people or for programs; or log nothing
    #[arg(long, value_enum, value_name = "FORMAT")]
    log: Option<Format>,

    /// The least important that is logged; RECTO_LOG sets it too
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<Level>,
}

/// How important something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Mistakes of recto's own.
    Error,
    /// What a person should look at, such as a call that hangs.
    Warn,
    /// The walls in force at the start.
    Info,
    /// Every call.
    Debug,
}

impl Logging {
    /// Whether the command line or the environment says anything about it.
    pub fn is_asked_for(&self) -> bool {
        self.log.is_some() || self.log_level.is_some() || std::env::var_os(VARIABLE).is_some()
    }

    /// What the command line and the environment say.
    pub fn settings(&self) -> Result<Settings, String> {
        let from_environment = || match std::env::var(VARIABLE) {
            Ok(word) if !word.is_empty() => Level::from_str(&word, true).map(Some).map_err(|_| {
                format!("{VARIABLE} is {word:?}; it takes error, warn, info or debug")
            }),
            _ => Ok(None),
        };
        let level = match self.log_level {
            Some(level) => Some(level),
            None => from_environment()?,
        };
        let level = match (level, self.log) {
            (Some(Level::Error), _) => LevelFilter::ERROR,
            (Some(Level::Warn), _) => LevelFilter::WARN,
            (Some(Level::Info), _) => LevelFilter::INFO,
            (Some(Level::Debug), _) => LevelFilter::DEBUG,
            // Who names a format wants to see calls.
            (None, Some(_)) => LevelFilter::DEBUG,
            (None, None) => LevelFilter::INFO,
        };
        Ok(Settings { format: self.log.unwrap_or_default(), level })
    }

    /// The same for another process.
    pub fn arguments(&self) -> Vec<String> {
        let format = self.log.map(|format| format!("--log={}", word(format)));
        let level = self.log_level.map(|level| format!("--log-level={}", word(level)));
        format.into_iter().chain(level).collect()
    }
}
