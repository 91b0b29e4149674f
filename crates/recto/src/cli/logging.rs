//! The logging options.

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;

use super::value_name;
use crate::log::{Format, LogSettings};

/// The environment variable that sets the level if no option does.
const VARIABLE: &str = "RECTO_LOG";

/// The level and format of the log.
#[derive(Args, Default)]
pub struct Logging {
    /// Log format on stderr; naming one also logs every call
    #[arg(long, value_enum, value_name = "FORMAT")]
    log: Option<Format>,

    /// Minimum level to log; RECTO_LOG sets it too [default: info, or debug with --log]
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<Level>,
}

/// A log level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Bugs in recto
    Error,
    /// Conditions that need attention, such as a call that hangs or a missing Landlock
    Warn,
    /// The client that connects
    Info,
    /// Every call, and the state of Landlock at startup
    Debug,
}

impl Logging {
    /// Whether the command line or the environment configures the log.
    pub fn is_asked_for(&self) -> bool {
        self.log.is_some() || self.log_level.is_some() || std::env::var_os(VARIABLE).is_some()
    }

    /// Returns the settings of the command line and the environment.
    pub fn settings(&self) -> Result<LogSettings, String> {
        let from_environment = || match std::env::var(VARIABLE) {
            Ok(word) if !word.is_empty() => Level::from_str(&word, true)
                .map(Some)
                .map_err(|_| format!("{VARIABLE} is {word:?}; must be error, warn, info or debug")),
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
            // Naming a format asks for a log of calls.
            (None, Some(_)) => LevelFilter::DEBUG,
            (None, None) => LevelFilter::INFO,
        };
        Ok(LogSettings { format: self.log.unwrap_or_default(), level })
    }

    /// Returns the options for a child process.
    pub fn arguments(&self) -> Vec<String> {
        let format = self.log.map(|format| format!("--log={}", value_name(format)));
        let level = self.log_level.map(|level| format!("--log-level={}", value_name(level)));
        format.into_iter().chain(level).collect()
    }
}
