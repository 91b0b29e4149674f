//! A directory with a journal, the server of its review page, and requests to it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::recto;
use crate::http::client::{Answer, receive};

/// How long to wait for an answer before the test fails.
pub const MAX_WAIT: Duration = Duration::from_secs(20);

/// A directory with a journal.
pub struct Reviewed {
    pub _folder: tempfile::TempDir,
    pub root: PathBuf,
    pub state: PathBuf,
}

/// The server of a review page.
pub struct Page {
    pub child: Child,
    pub port: u16,
    pub token: String,
}

pub fn reviewed() -> Reviewed {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let (root, state) = (path.join("root"), path.join("state"));
    fs::create_dir(&root).unwrap();
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    fs::write(root.join("f.txt"), lines).unwrap();
    Reviewed { _folder: folder, root, state }
}

impl Reviewed {
    pub fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        let mut command = recto();
        command.args(arguments).current_dir(&self.root).env("RECTO_STATE_DIR", &self.state);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code().unwrap())
    }

    pub fn ok(&self, arguments: &[&str]) -> String {
        let (stdout, stderr, status) = self.run(arguments);
        assert_eq!(status, 0, "{stdout}{stderr}");
        stdout
    }

    pub fn edit(&self, path: &str, old: &str, new: &str) {
        let path = format!("path={path}");
        let (old, new) = (format!("old_string={old}"), format!("new_string={new}"));
        self.ok(&["call", "edit_text_file", &path, &old, &new]);
    }

    /// Makes several edits of a file in one session.
    pub fn edits(&self, path: &str, edits: &[(&str, &str)]) -> String {
        let edit = |(old, new): &(&str, &str)| json!({"old_string": old, "new_string": new});
        let edits = Value::from(edits.iter().map(edit).collect::<Vec<_>>());
        let (path, edits) = (format!("path={path}"), format!("edits={edits}"));
        self.ok(&["call", "multi_edit_text_file", &path, &edits]);
        self.last_session()
    }

    pub fn last_session(&self) -> String {
        let log = self.ok(&["log", "--json", "-n", "1"]);
        let change: Value = serde_json::from_str(&log).unwrap();
        change["session"].as_str().unwrap().to_string()
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap()
    }

    pub fn review(&self) -> Page {
        let mut child = recto()
            .args(["review", "--no-open", "--state-dir"])
            .arg(&self.state)
            .arg(&self.root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().split_once("/#t=").unwrap();
        let port = address.strip_prefix("http://127.0.0.1:").unwrap().parse().unwrap();
        Page { child, port, token: token.into() }
    }
}

impl Page {
    /// Sends a request with exactly these headers.
    pub fn raw(&self, start: &str, headers: &[String], body: &str) -> Answer {
        let mut stream = self.connect();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let text = format!("{start} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        let _ = stream.write_all(text.as_bytes());
        receive(&mut BufReader::new(stream)).unwrap_or_else(|| panic!("no answer to {start}"))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        stream
    }

    /// Opens a stream of events, and returns a function that waits for the next one.
    pub fn events(&self) -> impl FnMut() -> String {
        let mut stream = self.connect();
        let headers = self.headers().join("\r\n");
        write!(stream, "GET /api/events HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines();
        // The server sends a line every ten seconds, so that a read does not time out.
        move || {
            let end = Instant::now() + MAX_WAIT;
            let until = lines.by_ref().map(Result::unwrap).take_while(|_| Instant::now() < end);
            until.into_iter().find(|line| line.starts_with("data:")).expect("an event")
        }
    }

    pub fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    pub fn headers(&self) -> Vec<String> {
        let origin = format!("Origin: http://127.0.0.1:{}", self.port);
        vec![self.host(), format!("Authorization: Bearer {}", self.token), origin]
    }

    pub fn get(&self, path: &str) -> String {
        let answer = self.raw(&format!("GET {path}"), &self.headers(), "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    pub fn act(&self, action: Value) -> Value {
        let answer = self.raw("POST /api/act", &self.headers(), &action.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    pub fn file(&self, session: &str, file: &str) -> String {
        self.get(&format!("/api/file?s={session}&f={file}"))
    }

    /// Returns state and ids of each hunk of a file.
    pub fn hunks(&self, session: &str, file: &str) -> Vec<(String, String)> {
        let html = self.file(session, file);
        let sections = html.split("<section class=\"h ").skip(1);
        let hunk = |section: &str| {
            let state = section.split('"').next().unwrap().to_string();
            let ids = section.split("data-ids=\"").nth(1).unwrap().split('"').next().unwrap();
            (state, ids.to_string())
        };
        sections.map(hunk).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reviewed {
    /// Makes calls in one session, and returns its name.
    pub fn serve(&self, calls: impl Fn(&dyn Fn(&str, Value) -> Value)) -> String {
        let mut command = recto();
        command.arg("serve").arg(&self.root).env("RECTO_STATE_DIR", &self.state);
        let session = crate::test_dir::Session::start_command(command.into());
        calls(&|tool, arguments| session.answer(tool, arguments));
        drop(session);
        self.last_session()
    }
}
