//! The link alone: authentication, and what is known about a request when the link closes.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto::acp::link::LinkClient;
use recto::acp::link::tickets::MAX_SERVERS;
use recto_store::Context;
use recto_store::editor::{Editor as _, EditorError, EditorOutcome, EditorWrite};
use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits};
use crate::client::recto;

#[test]
fn the_socket_is_accessible_only_to_its_owner() {
    let editor = Editor::ready(Habits::default());
    let folder = editor.socket().parent().unwrap().to_path_buf();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let name = folder.file_name().unwrap().to_str().unwrap().to_string();
    assert_eq!(name.len(), "recto-acp-".len() + 32, "{name}");
}

#[test]
fn a_wrong_token_is_rejected() {
    let editor = Editor::ready(Habits::default());
    let token = editor.idle_session();
    for wrong in ["", "x", &token[1..], &token.replace(|c| c != '0', "0"), &"x".repeat(10_000)] {
        assert!(LinkClient::connect(&editor.socket(), wrong).is_err(), "{wrong:?}");
    }
    assert!(LinkClient::connect(&editor.socket(), &token).is_ok());
}

#[test]
fn a_session_has_a_maximum_number_of_servers() {
    let editor = Editor::ready(Habits::default());
    let token = editor.idle_session();
    let connect = || LinkClient::connect(&editor.socket(), &token);
    let servers: Vec<_> = (0..MAX_SERVERS).map(|_| connect().unwrap()).collect();
    let reason = connect().err().unwrap();
    assert_eq!(reason, format!("the session already has {MAX_SERVERS} servers"));
    editor.open("f.txt", "text\n");
    for server in &servers {
        let read = server.read(&editor.path("f.txt"), &Context::default());
        assert_eq!(read.unwrap(), "text\n", "another server was disturbed");
    }
    servers[0].close();
    let start = Instant::now();
    // A restarted server replaces its predecessor.
    while connect().is_err() {
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_token_without_a_session_is_rejected() {
    let editor = Editor::ready(Habits::default());
    let params = json!({"cwd": editor.folder.path(), "mcpServers": [], "_meta": {"fail": true}});
    for method in ["session/new", "session/load"] {
        let answer = editor.request(method, params.clone());
        let entry = &answer["error"]["data"]["mcpServers"][0];
        let token = entry["env"][1]["value"].as_str().unwrap();
        let connected = LinkClient::connect(&editor.socket(), token);
        assert_eq!(connected.err().unwrap(), "unknown token");
    }
}

#[test]
fn a_connection_without_a_hello_is_closed() {
    let editor = Editor::ready(Habits::default());
    let mut slow = UnixStream::connect(editor.socket()).unwrap();
    slow.write_all(b"{\"hel").unwrap();
    let mut wrong = UnixStream::connect(editor.socket()).unwrap();
    wrong.write_all(b"{\"read\":{\"id\":1,\"path\":\"/etc/passwd\"}}\n").unwrap();
    let start = Instant::now();
    for stream in [&mut wrong, &mut slow] {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.contains("no valid hello"), "{said}");
    }
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(editor.state.requests.lock().unwrap().is_empty());
}

#[test]
fn a_server_without_its_editor_uses_the_disk_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let served = recto()
        .args(["serve", "--root"])
        .arg(folder.path())
        .env("RECTO_LINK", folder.path().join("nothing"))
        .env("RECTO_TOKEN", "x")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(served.status.success());
    let stderr = String::from_utf8(served.stderr).unwrap();
    assert!(stderr.contains("cannot reach the editor"), "{stderr}");
    assert!(stderr.contains("disk"), "{stderr}");
}

/// A scripted relay: it welcomes one server and returns both directions.
fn fake_relay() -> (Arc<LinkClient>, BufReader<UnixStream>, UnixStream) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("link");
    let listener = UnixListener::bind(&socket).unwrap();
    let relay = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut input = BufReader::new(stream.try_clone().unwrap());
        assert_eq!(next(&mut input)["hello"]["token"], "secret");
        let welcome = json!({"can_read": true, "can_write": true});
        writeln!(stream, "{}", json!({"welcome": welcome})).unwrap();
        (input, stream)
    });
    let client = Arc::new(LinkClient::connect(&socket, "secret").unwrap());
    let (input, stream) = relay.join().unwrap();
    (client, input, stream)
}

fn next(input: &mut impl BufRead) -> Value {
    let mut line = String::new();
    input.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or(Value::Null)
}

fn in_thread<T: Send + 'static>(
    client: &Arc<LinkClient>,
    run: impl FnOnce(&LinkClient) -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    let client = client.clone();
    std::thread::spawn(move || run(&client))
}

/// Returns the result of a write that creates a file.
fn write(client: &LinkClient, text: &str) -> Result<EditorOutcome, EditorError> {
    write_in(client, "/f", text, &Context::default())
}

fn write_in(
    client: &LinkClient,
    path: &str,
    text: &str,
    caller: &Context,
) -> Result<EditorOutcome, EditorError> {
    client.write(Path::new(path), &EditorWrite { before: None, after: text }, caller)
}

fn is_written(outcome: &Result<EditorOutcome, EditorError>) -> bool {
    matches!(outcome, Ok(EditorOutcome::Written { .. }))
}

#[test]
fn a_request_after_the_link_closed_is_reported_as_not_sent() {
    let (client, input, stream) = fake_relay();
    drop((input, stream));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(write(&client, "new"), Err(EditorError::NotSent));
    let read = client.read(Path::new("/f"), &Context::default());
    assert_eq!(read, Err(EditorError::NotSent));
}

#[test]
fn an_unanswered_request_has_an_unknown_outcome() {
    let (client, mut input, stream) = fake_relay();
    let writing = in_thread(&client, |client| write(client, "new"));
    assert_eq!(next(&mut input)["change"]["content"], "new");
    drop((input, stream));
    assert_eq!(writing.join().unwrap(), Err(EditorError::Unanswered));
}

#[test]
fn a_partially_sent_request_is_reported_as_not_sent() {
    let (client, mut input, stream) = fake_relay();
    let long = in_thread(&client, |client| write(client, &"x".repeat(10_000_000)));
    input.fill_buf().unwrap();
    let behind = in_thread(&client, |client| write(client, "behind"));
    std::thread::sleep(Duration::from_millis(100));
    drop((input, stream));
    assert_eq!(long.join().unwrap(), Err(EditorError::NotSent));
    assert_eq!(behind.join().unwrap(), Err(EditorError::NotSent));
}

#[test]
fn a_cancelled_call_ends_if_nothing_can_have_been_written() {
    let (client, mut input, mut stream) = fake_relay();
    let caller = Context::default();
    let in_call = |run: fn(&LinkClient, &Context) -> Option<EditorError>| {
        let caller = caller.clone();
        in_thread(&client, move |client| (run(client, &caller), Instant::now()))
    };
    let read = in_call(|client, caller| client.read(Path::new("/r"), caller).err());
    next(&mut input);
    let sent = in_call(|client, caller| write_in(client, "/w", "sent", caller).err());
    let sent_id = next(&mut input)["change"]["id"].clone();
    // This fills the socket, so that the next request must wait.
    let long = in_thread(&client, |client| write(client, &"x".repeat(10_000_000)));
    std::thread::sleep(Duration::from_millis(200));
    let queued = in_call(|client, caller| write_in(client, "/q", "queued", caller).err());
    std::thread::sleep(Duration::from_millis(100));
    caller.cancel.raise();
    let raised = Instant::now();
    for waiting in [read, queued] {
        let (error, ended) = waiting.join().unwrap();
        assert_eq!(error, Some(EditorError::Cancelled));
        assert!(ended - raised < Duration::from_secs(10), "{:?}", ended - raised);
    }
    assert!(!sent.is_finished(), "a sent write was cancelled");
    let long_id = next(&mut input)["change"]["id"].clone();
    let give_up = json!({"give_up": {"id": sent_id, "after_ms": 0}});
    assert_eq!(next(&mut input), give_up, "the read was not cancelled");
    writeln!(stream, "{}", json!({"written": {"id": sent_id}})).unwrap();
    assert_eq!(sent.join().unwrap().0, None);
    writeln!(stream, "{}", json!({"written": {"id": long_id}})).unwrap();
    assert!(is_written(&long.join().unwrap()));
    let last = in_thread(&client, |client| write(client, "last"));
    let mut ask = next(&mut input);
    // On a slow machine the relay may have been pinged again.
    while ask == give_up {
        ask = next(&mut input);
    }
    assert_eq!(ask["change"]["content"], "last", "the queued request was sent");
    client.close();
    assert_eq!(last.join().unwrap(), Err(EditorError::Unanswered));
}

/// The first ping may arrive between two steps of the relay, where it has no effect.
#[test]
fn a_relay_is_pinged_until_it_answers() {
    let (client, mut input, mut stream) = fake_relay();
    let caller = Context::default();
    let calling = caller.clone();
    let writing = in_thread(&client, move |client| write_in(client, "/f", "new", &calling));
    let id = next(&mut input)["change"]["id"].clone();
    caller.cancel.raise();
    for _ in 0..2 {
        assert_eq!(next(&mut input), json!({"give_up": {"id": id, "after_ms": 0}}));
        writeln!(stream, "{}", json!({"pending": {"id": id}})).unwrap();
    }
    writeln!(stream, "{}", json!({"given_up": {"id": id, "is_gone": false}})).unwrap();
    assert_eq!(writing.join().unwrap(), Err(EditorError::Cancelled));
}

#[test]
#[ignore = "long: takes a minute and a half"]
fn a_silent_relay_times_out_and_one_that_is_still_working_does_not_long() {
    let start = Instant::now();
    let (silent, _input, _stream) = fake_relay();
    let unanswered = in_thread(&silent, |client| (write(client, "new"), Instant::now()));
    let (alive, mut input, mut stream) = fake_relay();
    let written = in_thread(&alive, |client| write(client, "new"));
    let id = next(&mut input)["change"]["id"].clone();
    while start.elapsed() < Duration::from_secs(90) {
        assert_eq!(next(&mut input)["give_up"]["after_ms"], 30_000);
        writeln!(stream, "{}", json!({"pending": {"id": id}})).unwrap();
    }
    assert!(!written.is_finished(), "a write must not time out");
    writeln!(stream, "{}", json!({"written": {"id": id}})).unwrap();
    assert!(is_written(&written.join().unwrap()));
    let (outcome, ended) = unanswered.join().unwrap();
    assert_eq!(outcome, Err(EditorError::Unanswered));
    assert!((59..65).contains(&(ended - start).as_secs()), "{:?}", ended - start);
}

#[test]
fn the_editors_codes_keep_their_meaning() {
    let refused = |code: i64| EditorError::Refused { code, message: "no".into() };
    for (code, for_read, for_write) in [
        (-32601, EditorError::Unsupported, EditorError::Unsupported),
        (-32002, EditorError::NoSuchFile, refused(-32002)),
        (-32603, refused(-32603), refused(-32603)),
        (-32602, refused(-32602), refused(-32602)),
        (7, refused(7), refused(7)),
    ] {
        let (client, mut input, mut stream) = fake_relay();
        let asked = in_thread(&client, |client| {
            let read = client.read(Path::new("/f"), &Context::default()).unwrap_err();
            (read, write(client, "new").unwrap_err())
        });
        for kind in ["read", "change"] {
            let id = next(&mut input)[kind]["id"].clone();
            let failed = json!({"id": id, "code": code, "message": "no"});
            writeln!(stream, "{}", json!({"failed": failed})).unwrap();
        }
        assert_eq!(asked.join().unwrap(), (for_read, for_write), "{code}");
    }
}

#[test]
fn two_hundred_threads_get_their_own_answers() {
    let (client, mut input, mut stream) = fake_relay();
    let asking: Vec<_> = (0..200)
        .map(|n| {
            in_thread(&client, move |client| {
                let path = format!("/{n}");
                (client.read(Path::new(&path), &Context::default()).unwrap(), path)
            })
        })
        .collect();
    let mut asked: Vec<Value> = (0..200).map(|_| next(&mut input)["read"].take()).collect();
    asked.sort_by_key(|ask| ask["id"].as_u64().unwrap() * 7919 % 200);
    for ask in asked {
        let text = json!({"id": ask["id"], "content": ask["path"]});
        writeln!(stream, "{}", json!({"text": text})).unwrap();
    }
    for asking in asking {
        let (text, path) = asking.join().unwrap();
        assert_eq!(text, path);
    }
}

#[test]
fn a_text_of_100_megabytes_is_sent_and_a_longer_one_is_rejected() {
    let (client, mut input, mut stream) = fake_relay();
    let writing = in_thread(&client, |client| write(client, &"\"".repeat(100_000_000)));
    let ask = next(&mut input);
    assert_eq!(ask["change"]["content"].as_str().unwrap().len(), 100_000_000);
    writeln!(stream, "{}", json!({"written": {"id": ask["change"]["id"]}})).unwrap();
    assert!(is_written(&writing.join().unwrap()));
    let refused = write(&client, &"x".repeat(100_000_001));
    assert!(matches!(refused, Err(EditorError::Refused { .. })), "{refused:?}");
}

#[test]
#[ignore = "long: takes half a minute"]
fn an_unanswered_read_times_out_long() {
    let (client, _input, _stream) = fake_relay();
    let start = Instant::now();
    let read = client.read(Path::new("/f"), &Context::default());
    assert_eq!(read, Err(EditorError::Silent));
    assert!((30..32).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}
