//! `--log-messages`: appends every message to a file, one JSON object per line. Tokens are masked.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use memchr::memmem;
use recto_store::sync::lock;
use serde::Serialize;
use serde_json::value::RawValue;

/// The log file, and the secrets to mask in it.
pub struct MessageLog {
    file: Mutex<File>,
    secrets: Mutex<Vec<String>>,
}

#[derive(Serialize)]
struct LogEntry<'a> {
    /// Seconds since 1970.
    time: f64,
    from: &'a str,
    to: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    /// A line that is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
}

impl MessageLog {
    /// Opens the file for appending. A new file is readable by the current user only.
    pub fn open(path: &Path) -> Result<MessageLog, String> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.map_err(|error| format!("--log-messages: {}: {error}", path.display()))?;
        Ok(MessageLog { file: Mutex::new(file), secrets: Mutex::default() })
    }

    /// Masks `secret` in later messages.
    pub fn hide(&self, secret: &str) {
        let mut secrets = lock(&self.secrets);
        secrets.push(secret.to_string());
    }

    /// Logs a message.
    pub fn note(&self, from: &str, to: &str, line: &[u8]) {
        let line = self.masked(line);
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let time = since_1970.map_or(0.0, |time| time.as_millis() as f64 / 1000.0);
        let message = serde_json::from_slice(&line).ok();
        let text = message.is_none().then(|| String::from_utf8_lossy(&line));
        let entry = LogEntry { time, from, to, message, text };
        let mut bytes = serde_json::to_vec(&entry).expect("strings and numbers are JSON");
        bytes.push(b'\n');
        // A full disk must not end the session.
        let _ = lock(&self.file).write_all(&bytes);
    }

    fn masked<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        let mut line = Cow::Borrowed(line);
        for secret in lock(&self.secrets).iter() {
            let places: Vec<usize> = memmem::find_iter(&line, secret).collect();
            for place in places {
                line.to_mut()[place..place + secret.len()].fill(b'*');
            }
        }
        line
    }
}
