//! A change as the editor sees it: the requests that it receives, in order, and the effect of its
//! answers.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use recto::acp::link::LinkClient;
use recto_store::Context;
use recto_store::editor::{Editor as _, EditorError, EditorOutcome, EditorWrite};
use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, MAX_WAIT, Writes};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// The user has begun a file and not saved it.
#[test]
fn a_file_is_created_only_if_the_editor_has_no_text_of_it() {
    let (editor, session) = Editor::in_session(Habits::default());
    let path = editor.spelled("notes.txt");
    editor.state.buffers.lock().unwrap().insert(path.clone(), "notes\n".into());
    for encoding in ["utf-8", "base64"] {
        let create = json!({"path": path, "content": "AAEC", "encoding": encoding});
        let answer = editor.call(&session, "file_create", create);
        assert_eq!(answer["_meta"]["error"]["code"], -32006, "{encoding}: {answer}");
    }
    assert_eq!(editor.state.buffers.lock().unwrap()[&path], "notes\n");
    assert!(!editor.path("notes.txt").exists());
    let write = json!({"path": path, "content": "new\n"});
    let answer = editor.call(&session, "write_text_file", write);
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("overwritten"), "{answer}");
    // An empty text is what some editors answer for a missing file.
    let path = editor.spelled("empty.txt");
    editor.state.buffers.lock().unwrap().insert(path.clone(), String::new());
    let answer = editor.call(&session, "file_create", json!({"path": path, "content": "new\n"}));
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(editor.state.buffers.lock().unwrap()[&path], "new\n");
}

/// An editor that answers only when the test does, and a server linked to it.
struct ManualEditor {
    editor: Editor,
    client: Arc<LinkClient>,
    caller: Context,
}

impl ManualEditor {
    fn new() -> ManualEditor {
        let writes = Writes::Unanswered;
        let editor = Editor::ready(Habits { ignores_reads: true, writes, ..Habits::default() });
        let token = editor.idle_session();
        let client = Arc::new(LinkClient::connect(&editor.socket(), &token).unwrap());
        ManualEditor { editor, client, caller: Context::default() }
    }

    /// Starts a change from `before` to `new`.
    fn begin(&self, before: Option<&'static str>) -> Receiver<Result<EditorOutcome, EditorError>> {
        let (client, caller, path) =
            (self.client.clone(), self.caller.clone(), self.editor.path("f.txt"));
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            sender.send(client.write(&path, &EditorWrite { before, after: "new" }, &caller))
        });
        receiver
    }

    /// Returns the request with this number, from 1.
    fn request(&self, number: usize) -> Value {
        let start = Instant::now();
        while self.n_requests() < number {
            assert!(start.elapsed() < MAX_WAIT, "there is no request {number}");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.editor.state.requests.lock().unwrap()[number - 1].clone()
    }

    fn n_requests(&self) -> usize {
        self.editor.state.requests.lock().unwrap().len()
    }

    fn answer(&self, request: &Value, mut answer: Value) {
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = request["id"].clone();
        self.editor.send_line(&answer.to_string());
    }

    /// Waits until the thread that serves the server has ended.
    fn wait_for_no_server(&self) {
        let threads = format!("/proc/{}/task", self.editor.relay());
        let is_server = |thread: std::io::Result<std::fs::DirEntry>| {
            let name = std::fs::read_to_string(thread.unwrap().path().join("comm"));
            name.is_ok_and(|name| name.trim_end() == "recto-link")
        };
        let start = Instant::now();
        while std::fs::read_dir(&threads).unwrap().any(is_server) {
            assert!(start.elapsed() < MAX_WAIT, "the server is still connected");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Checks that the editor receives no further request.
    fn check_quiet(&self, n_requests: usize) {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(self.n_requests(), n_requests);
    }
}

fn text(content: &str) -> Value {
    json!({"result": {"content": content}})
}

fn taken() -> Value {
    json!({"result": {}})
}

fn error(code: i64) -> Value {
    json!({"error": {"code": code, "message": "no"}})
}

fn written(text: Option<&str>) -> Result<EditorOutcome, EditorError> {
    Ok(EditorOutcome::Written { text_after: text.map(String::from) })
}

#[test]
fn every_editor_answer_leads_to_the_next_request_or_ends_the_call() {
    let refused = || Err(EditorError::Refused { code: -32000, message: "no".into() });
    let no_text = || {
        let message = "the answer contains no text".into();
        Err(EditorError::Refused { code: -32603, message })
    };
    let old = Some("old");
    let rows = [
        (old, vec![text("old"), taken(), text("new")], written(Some("new"))),
        (old, vec![text("old"), json!({"result": null}), text("new")], written(Some("new"))),
        (old, vec![text("old"), taken(), text("formatted")], written(Some("formatted"))),
        (old, vec![text("old"), taken(), error(-32603)], written(None)),
        (old, vec![text("old"), taken(), taken()], written(None)),
        (old, vec![text("older")], Ok(EditorOutcome::Conflict)),
        (old, vec![text("")], Ok(EditorOutcome::Conflict)),
        // The editor does not know the file, so the next request finds out.
        (old, vec![error(-32002)], Ok(EditorOutcome::Conflict)),
        // Any other error is a rejection.
        (old, vec![error(-32000)], refused()),
        (old, vec![error(-32601)], Err(EditorError::Unsupported)),
        (old, vec![taken()], no_text()),
        (old, vec![json!({"result": {"content": 7}})], no_text()),
        (old, vec![text("old"), error(-32000)], refused()),
        (old, vec![text("old"), error(-32601)], Err(EditorError::Unsupported)),
        (Some("ä\n\"\u{1}"), vec![text("ä\n\"\u{1}"), taken(), text("new")], written(Some("new"))),
        (Some(""), vec![text(""), taken(), text("new")], written(Some("new"))),
        // A new file: the editor must have no text of it.
        (None, vec![error(-32002), taken(), text("new")], written(Some("new"))),
        (None, vec![text(""), taken(), text("new")], written(Some("new"))),
        (None, vec![text(""), taken(), error(-32002)], written(None)),
        (None, vec![text("old")], Ok(EditorOutcome::Conflict)),
        (None, vec![text("\n")], Ok(EditorOutcome::Conflict)),
        // Editors have different errors for a missing file.
        (None, vec![error(-32000), taken(), text("new")], written(Some("new"))),
        (None, vec![error(-32000), error(-32000)], refused()),
        (None, vec![taken(), taken(), text("new")], written(Some("new"))),
        (None, vec![text(""), error(-32000)], refused()),
    ];
    let manual = ManualEditor::new();
    let mut n_asked = 0;
    for (before, answers, expected) in rows {
        let outcome = manual.begin(before);
        for (method, answer) in [READ, WRITE, READ].iter().zip(&answers) {
            n_asked += 1;
            let request = manual.request(n_asked);
            assert_eq!(request["method"], *method, "{before:?} {answers:?}");
            assert_eq!(request["params"]["path"], manual.editor.spelled("f.txt"));
            manual.answer(&request, answer.clone());
            // A duplicate answer is ignored.
            manual.answer(&request, answer.clone());
        }
        assert_eq!(outcome.recv_timeout(MAX_WAIT), Ok(expected), "{before:?} {answers:?}");
    }
    manual.check_quiet(n_asked);
}

#[test]
fn a_cancelled_call_waits_only_for_its_write() {
    let cancelled = || Err(EditorError::Cancelled);
    // The answer before which the call is cancelled, and the result.
    for (n_answered, expected, is_at_once) in
        [(0, cancelled(), true), (1, written(None), false), (2, written(None), true)]
    {
        let manual = ManualEditor::new();
        let outcome = manual.begin(Some("old"));
        let answers = [text("old"), taken(), text("new")];
        for (number, answer) in answers.iter().take(n_answered).enumerate() {
            manual.answer(&manual.request(number + 1), answer.clone());
        }
        let next = manual.request(n_answered + 1);
        manual.caller.cancel.raise();
        if !is_at_once {
            let early = outcome.recv_timeout(Duration::from_millis(200));
            assert!(early.is_err(), "ended before the editor answered: {early:?}");
            manual.answer(&next, answers[n_answered].clone());
        }
        let end = outcome.recv_timeout(Duration::from_secs(2));
        assert_eq!(end, Ok(expected), "{n_answered}");
        manual.answer(&next, answers[n_answered].clone());
        manual.check_quiet(n_answered + 1);
    }
}

/// JSON can express unpaired surrogates, which UTF-8 cannot, and JavaScript sends them.
#[test]
fn an_unpaired_surrogate_is_rejected_and_the_link_survives() {
    let manual = ManualEditor::new();
    let half = |number: usize| {
        let id = manual.request(number)["id"].clone();
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":"a\ud800"}}}}"#);
        manual.editor.send_line(&line);
    };
    let (client, path) = (manual.client.clone(), manual.editor.path("f.txt"));
    let read = std::thread::spawn(move || client.read(&path, &Context::default()));
    half(1);
    assert!(matches!(read.join().unwrap(), Err(EditorError::Refused { .. })));
    let compared = manual.begin(Some("old"));
    half(2);
    let outcome = compared.recv_timeout(MAX_WAIT).unwrap();
    assert!(matches!(outcome, Err(EditorError::Refused { .. })), "{outcome:?}");
    let read_back = manual.begin(None);
    manual.answer(&manual.request(3), text(""));
    manual.answer(&manual.request(4), taken());
    half(5);
    assert_eq!(read_back.recv_timeout(MAX_WAIT), Ok(written(None)));
    // A complete pair is an ordinary character.
    let compared = manual.begin(Some("\u{1f980}"));
    let id = manual.request(6)["id"].clone();
    let pair = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":"\ud83e\udd80"}}}}"#);
    manual.editor.send_line(&pair);
    assert_eq!(manual.request(7)["method"], WRITE);
    drop(compared);
}

/// Both servers number their first change 1.
#[test]
fn cancelling_a_call_of_another_server_has_no_effect() {
    let manual = ManualEditor::new();
    let token = manual.editor.idle_session();
    let other = Arc::new(LinkClient::connect(&manual.editor.socket(), &token).unwrap());
    let kept = manual.begin(Some("old"));
    let request = manual.request(1);
    let (caller, path) = (Context::default(), manual.editor.path("g.txt"));
    let calling = caller.clone();
    let taken_back = std::thread::spawn(move || {
        other.write(&path, &EditorWrite { before: Some("old"), after: "new" }, &calling)
    });
    manual.request(2);
    caller.cancel.raise();
    assert_eq!(taken_back.join().unwrap(), Err(EditorError::Cancelled));
    for (number, answer) in [(1, text("old")), (3, taken()), (4, text("new"))] {
        let request = if number == 1 { request.clone() } else { manual.request(number) };
        manual.answer(&request, answer);
    }
    assert_eq!(kept.recv_timeout(MAX_WAIT), Ok(written(Some("new"))));
}

#[test]
fn a_change_goes_to_disk_if_the_editor_exits_before_receiving_it() {
    let manual = ManualEditor::new();
    let outcome = manual.begin(Some("old"));
    manual.request(1);
    manual.editor.close_input();
    assert_eq!(outcome.recv_timeout(MAX_WAIT), Ok(Err(EditorError::NotSent)));
}

#[test]
fn nothing_is_written_for_a_server_that_is_gone() {
    let manual = ManualEditor::new();
    let outcome = manual.begin(Some("old"));
    let request = manual.request(1);
    manual.client.close();
    assert_eq!(outcome.recv_timeout(MAX_WAIT), Ok(Err(EditorError::Unanswered)));
    // The relay notices by itself, a moment later.
    manual.wait_for_no_server();
    manual.answer(&request, text("old"));
    manual.check_quiet(1);
}

#[test]
#[ignore = "long: takes a minute"]
fn a_read_before_a_write_times_out_and_the_write_does_not_long() {
    let manual = ManualEditor::new();
    let start = Instant::now();
    let compared = manual.begin(Some("old"));
    let read_back = manual.begin(None);
    let (first, second) = (manual.request(1), manual.request(2));
    let write = if first["method"] == WRITE { first } else { second };
    std::thread::sleep(Duration::from_secs(32));
    assert_eq!(compared.try_recv(), Ok(Err(EditorError::Silent)), "nothing was written");
    assert!(read_back.try_recv().is_err(), "a write must not time out");
    manual.answer(&write, taken());
    manual.request(3);
    assert_eq!(read_back.recv_timeout(Duration::from_secs(33)), Ok(written(None)));
    assert!(start.elapsed() > Duration::from_secs(60), "{:?}", start.elapsed());
}
