//! The log on stderr: lines for people, or JSON for programs. It never holds the content of files,
//! and never waits for whoever reads it: a line that nobody takes is dropped and counted.
//!
//! Events are those of `tracing`; what is not ours (the protocol library's events hold messages) is
//! not heard. Who logs what is left to the rooms.

mod line;

use std::io::Write;
use std::sync::Mutex;
use std::time::SystemTime;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber, error};

use line::Fields;
use recto_store::sync::lock;

pub use recto_tools::LOG_TARGET as TARGET;

/// The longest line. A pipe that has room at all has room for this much, so that writing it does
/// not block.
const MAX_LINE: usize = 4096;

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// One line for people.
    #[default]
    Human,
    /// One object of JSON.
    Json,
    /// Nothing is logged.
    Off,
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How lines look.
    pub format: Format,
    /// The least important that is heard.
    pub level: LevelFilter,
}

/// Starts the log of this process. Without it nothing is logged.
pub fn start(settings: Settings) {
    if settings.format == Format::Off || settings.level == LevelFilter::OFF {
        std::panic::set_hook(Box::new(|_| ()));
        return;
    }
    // Only a second start could fail, and then the first one stands.
    let _ = tracing::subscriber::set_global_default(Log { settings, n_lost: Mutex::new(0) });
}

/// Says a line on stderr that is for people, whatever is logged, unless nobody takes it.
pub fn say(text: &str) {
    let text = &text[..text.floor_char_boundary(MAX_LINE - "recto: \n".len())];
    if has_room() {
        let _ = std::io::stderr().write_all(format!("recto: {text}\n").as_bytes());
    }
}

/// Lets a panic say where it was and no more, because what it says may quote a file. Whoever asks
/// for a backtrace gets all of it.
pub fn keep_panics_short() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or("an unknown place".into(), ToString::to_string);
        if tracing::dispatcher::has_been_set() {
            error!(target: TARGET, "a mistake of recto's at {place}");
        } else {
            say(&format!("a mistake of recto's at {place}; RUST_BACKTRACE=1 tells more"));
        }
    }));
}

struct Log {
    settings: Settings,
    /// Lines that nobody took. Held while a line is written.
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

/// Whether a line can be written to stderr without waiting.
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
