//! Opens the browser, so that the token does not appear in the list of processes.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What opens an address, in the order in which they are tried.
const OPENERS: [&str; 4] = ["xdg-open", "gio", "wslview", "open"];

/// A file that only this user can read, which leads the browser to the page. It is removed at the end.
pub struct Opened {
    file: PathBuf,
    /// What opens the browser, if anything was found.
    opener: Option<Child>,
}

impl Opened {
    /// Calls a function if the browser cannot be opened: at once if nothing opens one, or when the
    /// program that should open it fails.
    pub fn or_else(&mut self, run: impl FnOnce() + Send + 'static) {
        match self.opener.take() {
            None => run(),
            Some(mut opener) => {
                std::thread::spawn(move || {
                    if !opener.wait().is_ok_and(|status| status.success()) {
                        run();
                    }
                });
            }
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Writes the file and starts the browser with it. Must happen before Landlock, which children inherit.
pub fn open(dir: &Path, port: u16, address: &str) -> Result<Opened, String> {
    let file = dir.join(format!("review-{port}.html"));
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    // A file of a server that was killed.
    let _ = std::fs::remove_file(&file);
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(&file).map_err(failed)?;
    let text = format!(
        "<!doctype html><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>recto review</title>\n"
    );
    out.write_all(text.as_bytes()).map_err(failed)?;
    let browser = std::env::var("BROWSER").ok().filter(|name| !name.is_empty());
    let named = browser.iter().flat_map(|names| names.split(':'));
    let openers = named.chain(OPENERS);
    let mut start = openers.map(|name| {
        let mut command = Command::new(name);
        if name == "gio" {
            command.arg("open");
        }
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    });
    let opener = start.find_map(Result::ok);
    Ok(Opened { file: file.clone(), opener })
}
