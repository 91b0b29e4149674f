//! Formats an event as a line: time, level, message and fields. Characters that a terminal would
//! interpret are escaped.

use std::fmt::{Debug, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use recto_text::quote::is_active;
use tracing::Level;
use tracing::field::{Field, Visit};

/// The maximum number of characters of a field.
const MAX_CHARS: usize = 500;

/// The message and fields of an event.
#[derive(Debug, Default)]
pub struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
    /// How many lines before this one were dropped.
    pub n_lost: u64,
}

#[derive(Debug)]
enum Value {
    Number(String),
    Text(String),
}

impl Fields {
    /// Formats the event as text.
    pub fn human(&self, time: SystemTime, level: Level) -> String {
        let level = level.as_str().to_ascii_lowercase();
        let mut line = format!("{} {level} {}", Moment(time), escaped(&self.message));
        for (name, value) in self.all() {
            let written = match value {
                Value::Number(number) => write!(line, " {name}={number}"),
                Value::Text(text) if is_plain(&text) => write!(line, " {name}={text}"),
                Value::Text(text) => write!(line, " {name}=\"{}\"", escaped(&text)),
            };
            written.expect("writing to a string cannot fail");
        }
        line.push('\n');
        line
    }

    /// Formats the event as JSON.
    pub fn json(&self, time: SystemTime, level: Level) -> String {
        let level = level.as_str().to_ascii_lowercase();
        let message = json_escaped(&self.message);
        let mut line = format!(
            "{{\"time\":\"{}\",\"level\":\"{level}\",\"message\":\"{message}\"",
            Moment(time)
        );
        for (name, value) in self.all() {
            let written = match value {
                Value::Number(number) => write!(line, ",\"{name}\":{number}"),
                Value::Text(text) => write!(line, ",\"{name}\":\"{}\"", json_escaped(&text)),
            };
            written.expect("writing to a string cannot fail");
        }
        line.push_str("}\n");
        line
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let lost =
            (self.n_lost > 0).then(|| ("lost_lines", Value::Number(self.n_lost.to_string())));
        let copy = |value: &Value| match value {
            Value::Number(number) => Value::Number(number.clone()),
            Value::Text(text) => Value::Text(text.clone()),
        };
        self.others.iter().map(move |(name, value)| (*name, copy(value))).chain(lost)
    }

    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::Number(text) | Value::Text(text)) => self.message = text,
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, Value::Text(cut(&format!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::Text(cut(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::Number(value.to_string()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::Number(value.to_string()));
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Whether a value can be written without quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| !c.is_whitespace() && !matches!(c, '"' | '=' | '\\'))
        && !text.chars().any(is_active)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if is_active(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn json_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_active(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// A time as `2026-11-15T13:50:07.123Z`.
pub struct Moment(pub SystemTime);

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        let (year, month, day) = date(days);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        let (second, milli) = (second % 60, since.subsec_millis());
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// Converts days since 1970-01-01 to a date.
fn date(mut day: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    loop {
        let n_days = 365 + u64::from(is_leap(year));
        if day < n_days {
            break;
        }
        day -= n_days;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for n_days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < n_days {
            break;
        }
        day -= n_days;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    fn fields(path: &str) -> Fields {
        Fields {
            message: "call".into(),
            others: vec![
                ("tool", Value::Text("text_read".into())),
                ("path", Value::Text(cut(path))),
                ("micros", Value::Number("310".into())),
            ],
            n_lost: 0,
        }
    }

    fn time() -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(1_794_750_607_123)
    }

    #[test]
    fn lines_are_for_people_or_for_programs() {
        assert_eq!(
            fields("/a/b").human(time(), Level::DEBUG),
            "2026-11-15T13:50:07.123Z debug call tool=text_read path=/a/b micros=310\n"
        );
        assert_eq!(
            fields("/a/b").json(time(), Level::WARN),
            "{\"time\":\"2026-11-15T13:50:07.123Z\",\"level\":\"warn\",\"message\":\"call\",\
             \"tool\":\"text_read\",\"path\":\"/a/b\",\"micros\":310}\n"
        );
    }

    #[test]
    fn nothing_in_a_path_acts_on_a_terminal_or_ends_the_line() {
        let path = "/a \"b\"\n\x1b[31m\u{9b}2J\u{202e}x\\\u{2028}ü\x7f\u{61c}\u{e0041}";
        for line in
            [fields(path).human(time(), Level::INFO), fields(path).json(time(), Level::INFO)]
        {
            let text = line.strip_suffix('\n').unwrap();
            assert!(!text.chars().any(is_active), "{text:?}");
            assert!(text.contains('ü'), "{text:?}");
        }
        let json = fields(path).json(time(), Level::INFO);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["path"], path);
    }

    #[test]
    fn a_long_path_is_cut() {
        let line = fields(&"\u{9b}".repeat(9000)).human(time(), Level::INFO);
        assert!(line.len() < 4096, "{} bytes", line.len());
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (day, expected) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (789, (1972, 2, 29)),
            (11_016, (2000, 2, 29)),
            (20_772, (2026, 11, 15)),
        ] {
            assert_eq!(date(day), expected);
        }
    }
}
