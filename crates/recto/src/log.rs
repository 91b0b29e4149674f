//! The log on stderr, as text or JSON. It never contains file content and never blocks: a line that
//! would block is dropped and counted.
//!
//! Only `tracing` events of recto itself are logged, because those of `rmcp` contain messages.

mod line;

use std::io::Write;
use std::sync::Mutex;
use std::time::SystemTime;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber, error};

use line::Fields;
pub use line::Moment;
use recto_store::sync::lock;
use recto_text::quote::Escaped;

pub use recto_tools::LOG_TARGET as TARGET;

/// The maximum length of a line. A pipe that is writable accepts this much without blocking.
const MAX_LINE: usize = 4096;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Text
    #[default]
    Human,
    /// One JSON object per line
    Json,
    /// No log
    Off,
}

/// What to log, and in which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSettings {
    /// The format of lines.
    pub format: Format,
    /// The minimum level.
    pub level: LevelFilter,
}

/// Starts logging in this process.
pub fn start(settings: LogSettings) {
    if settings.format == Format::Off || settings.level == LevelFilter::OFF {
        std::panic::set_hook(Box::new(|_| ()));
        return;
    }
    // Fails only if the log has been started already.
    let _ = tracing::subscriber::set_global_default(Log { settings, n_lost: Mutex::new(0) });
}

/// Prints a message for the user on stderr, regardless of the log settings. Drops it if stderr would
/// block.
pub fn say(text: &str) {
    let text = Escaped(text).to_string();
    let text = &text[..text.floor_char_boundary(MAX_LINE - "recto: \n".len())];
    if has_room() {
        let _ = std::io::stderr().write_all(format!("recto: {text}\n").as_bytes());
    }
}

/// Makes a panic report only its location, because its message may quote a file. With
/// `RUST_BACKTRACE` set, everything is printed.
pub fn keep_panics_short() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or("an unknown location".into(), ToString::to_string);
        if tracing::dispatcher::has_been_set() {
            error!(target: TARGET, "bug in recto: panic at {place}");
        } else {
            say(&format!("bug in recto: panic at {place}; set RUST_BACKTRACE=1 for details"));
        }
    }));
}

struct Log {
    settings: LogSettings,
    /// The number of dropped lines. Locked while a line is written.
    n_lost: Mutex<u64>,
}

impl Log {
    fn write(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let now = SystemTime::now();
        let mut n_lost = lock(&self.n_lost);
        fields.n_lost = *n_lost;
        let line = match self.settings.format {
            Format::Json => fields.json(now, *event.metadata().level()),
            Format::Human | Format::Off => fields.human(now, *event.metadata().level()),
        };
        let is_written = line.len() <= MAX_LINE
            && has_room()
            && std::io::stderr().write_all(line.as_bytes()).is_ok();
        *n_lost = if is_written { 0 } else { *n_lost + 1 };
    }
}

/// Whether a line can be written to stderr without blocking.
fn has_room() -> bool {
    recto_platform::is_writable_now(std::io::stderr())
}

impl Subscriber for Log {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match self.enabled(metadata) {
            true => Interest::always(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
            && !metadata.is_span()
            && *metadata.level() <= self.settings.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.settings.level)
    }

    fn event(&self, event: &Event<'_>) {
        self.write(event);
    }

    // No span is enabled.

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
