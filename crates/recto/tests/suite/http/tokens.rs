//! Tokens: who may do what, and changes of the token file.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{HttpClient, HttpServer, read_until};

const READER: &str = "reader-reader-reader-0";
const WRITER: &str = "writer-writer-writer-0";
const PART: &str = "part-part-part-part-00";

fn with_tokens() -> HttpServer {
    HttpServer::start_with(
        &["--token-file", "{dir}/tokens", "--deny", "/sub/secret.txt"],
        |server| {
            std::fs::create_dir(server.path("root/sub")).unwrap();
            std::fs::write(server.path("root/sub/part.txt"), "part\n").unwrap();
            std::fs::write(server.path("root/sub/secret.txt"), "secret\n").unwrap();
            server.tokens(&format!(
            "# tokens\nreader read {READER}\nwriter write {WRITER}\n\npart write {PART} {{dir}}/root/sub\n"
        ));
        },
    )
}

fn names(client: &mut HttpClient<'_>) -> Vec<String> {
    let tools = client.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

fn code(answer: &Value) -> i64 {
    answer["result"]["_meta"]["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn a_request_without_a_valid_token_is_rejected_before_its_body_is_read() {
    let server = HttpServer::start(&[]);
    let right = format!("Authorization: Bearer {}\r\n", server.token);
    let text = server.client().text("POST", &[], "");
    for wrong in [
        String::new(),
        "Authorization: Bearer \r\n".into(),
        "Authorization: Bearer wrong\r\n".into(),
        format!("Authorization: Basic {}\r\n", server.token),
        format!("Authorization: Bearer {}x\r\n", server.token),
        format!("Authorization: Bearer {}\r\n", &server.token[1..]),
        format!("{right}{right}"),
    ] {
        // The body is announced but never sent.
        let text = text.replacen(&right, &wrong, 1).replacen("Length: 0", "Length: 9", 1);
        let answer = server.raw(text.as_bytes()).unwrap();
        assert_eq!(answer.status, 401, "{wrong}");
        assert_eq!(answer.header("www-authenticate").unwrap(), "Bearer");
    }
    let lower = right.replace("Bearer", "bearer");
    assert_ne!(server.raw(text.replacen(&right, &lower, 1).as_bytes()).unwrap().status, 401);
}

#[test]
fn a_token_permits_reading_or_writing_and_its_roots() {
    let server = with_tokens();
    let (inside, part) = (server.spelled("inside.txt"), server.spelled("sub/part.txt"));
    let write = |path: &str| json!({"path": path, "content": "changed\n"});

    let mut reader = server.client_with(READER);
    reader.initialize();
    assert!(!names(&mut reader).contains(&"write_text_file".into()));
    assert_eq!(code(&reader.call("read_text_file", json!({"path": inside}))), 0);
    let refused = reader.call("write_text_file", write(&inside));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(std::fs::read_to_string(&inside).unwrap(), "inside\n");

    let mut narrow = server.client_with(PART);
    narrow.initialize();
    assert_eq!(code(&narrow.call("write_text_file", write(&part))), 0);
    for path in [&inside, &server.spelled("sub/../inside.txt"), &server.spelled("sub/secret.txt")] {
        let refused = narrow.call("read_text_file", json!({"path": path}));
        assert_eq!(code(&refused), -32002, "{path}: {refused}");
    }
    let listed = narrow.call("ListFiles", json!({"pattern": "**"}));
    assert_eq!(listed["result"]["structuredContent"]["files"], json!([part]), "{listed}");

    let mut writer = server.client_with(WRITER);
    writer.initialize();
    assert_eq!(code(&writer.call("write_text_file", write(&inside))), 0);
    assert_eq!(std::fs::read_to_string(&inside).unwrap(), "changed\n");
}

/// Waits until a token is accepted or not.
fn wait_for(server: &HttpServer, token: &str, is_valid: bool) {
    let start = Instant::now();
    loop {
        let mut client = server.client_with(token);
        if (client.send("POST", &[], "").status != 401) == is_valid {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{token} is not {is_valid}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn changes_of_the_token_file_take_effect_without_a_restart() {
    let server = with_tokens();
    let new = "another-another-another";
    let mut reader = server.client_with(READER);
    let mut writer = server.client_with(WRITER);
    reader.initialize();
    writer.initialize();
    // `reader` keeps its access, `writer` may only read, `part` is gone.
    server.tokens(&format!("reader read {READER}\nwriter read {WRITER}\nnew write {new}\n"));
    wait_for(&server, new, true);
    wait_for(&server, PART, false);
    assert!(!names(&mut reader).is_empty());
    // A session does not keep access that its token has lost.
    let answer = writer.post("tools/list", json!({}), &[]);
    assert_eq!(answer.status, 404, "{answer:?}");
    writer.session = None;
    writer.initialize();
    assert!(!names(&mut writer).contains(&"write_text_file".into()));
}

#[test]
fn the_event_streams_of_a_token_end_when_it_is_removed_or_changed() {
    let server = with_tokens();
    let open = |text: String, begin: &str| {
        let mut stream = server.connect();
        // Shorter than the time between two events that only keep a stream open.
        stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        read_until(&mut stream, begin);
        stream
    };
    let uri = format!("file://{}", server.spelled("inside.txt"));
    let listen = |token: &str| {
        let text = server.client_with(token).listening(&uri);
        open(text, "notifications/subscriptions/acknowledged")
    };
    let (removed, changed, mut kept) = (listen(PART), listen(WRITER), listen(READER));
    let mut client = server.client_with(WRITER);
    client.initialize();
    let of_session = open(client.text("GET", &[], ""), "\r\n\r\n");
    server.tokens(&format!("reader read {READER}\nwriter read {WRITER}\n"));
    for (stream, name) in [(removed, "removed"), (changed, "changed"), (of_session, "GET")] {
        let mut end = String::new();
        let mut lines = BufReader::new(stream);
        while end.trim() != "0" {
            end.clear();
            assert_ne!(lines.read_line(&mut end).unwrap_or(0), 0, "{name} goes on");
        }
    }
    // Several times: the first change may be made before the server has inspected the file.
    let is_reported = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..80 {
                if is_reported.load(Ordering::Relaxed) {
                    break;
                }
                std::fs::write(server.spelled("inside.txt"), format!("change {n}\n")).unwrap();
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        read_until(&mut kept, "notifications/resources/updated");
        is_reported.store(true, Ordering::Relaxed);
    });
    // The space of the streams is free again, and a new one may be opened.
    listen(WRITER);
}

#[test]
fn a_token_file_that_is_invalid_missing_or_readable_by_others_changes_nothing() {
    let server = with_tokens();
    let mut reader = server.client_with(READER);
    reader.initialize();
    let mut check = |expected: &str| {
        server.logged(expected);
        assert!(!names(&mut reader).is_empty(), "{expected}");
    };
    server.tokens("new write short\n");
    check("line 1: a token needs at least");
    std::fs::remove_file(server.path("tokens")).unwrap();
    check("No such file");
    std::fs::create_dir(server.path("tokens")).unwrap();
    check("it is not a file of this user");
    std::fs::remove_dir(server.path("tokens")).unwrap();
    server.tokens(&format!("reader write {READER}\n"));
    std::fs::set_permissions(server.path("tokens"), PermissionsExt::from_mode(0o640)).unwrap();
    check("others can read it");
    server.tokens(&format!("only write {WRITER}\n"));
    wait_for(&server, READER, false);
}

#[test]
fn a_token_file_that_is_being_written_changes_nothing() {
    let server = with_tokens();
    let new = "another-another-another";
    let mut reader = server.client_with(READER);
    reader.initialize();
    // In place and in steps, as some editors do. The first step ends inside of a token.
    let text = format!("reader read {READER}\nnew write {new}\n");
    for n in 0..20 {
        std::fs::write(server.path("tokens"), &text[..n % 2 * ("reader read ".len() + 21)])
            .unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    std::fs::write(server.path("tokens"), &text).unwrap();
    wait_for(&server, new, true);
    assert!(!names(&mut reader).is_empty());
}

#[test]
fn a_token_file_is_checked_at_the_start() {
    let check = |text: &str, mode: u32, expected: &str| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        std::fs::write(&path, text.replace("{dir}", dir.path().to_str().unwrap())).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        std::fs::create_dir_all(dir.path().join("root/hidden")).unwrap();
        let output = std::process::Command::new(crate::client::BINARY)
            .args(["serve", "--http", "127.0.0.1:0", "--deny", "hidden", "--token-file"])
            .args([path, dir.path().join("root")])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(expected), "{text}: {said}");
        assert!(!said.contains(READER), "{said}");
    };
    let line = format!("a read {READER}");
    check(&line, 0o644, "others can read it");
    check(&line, 0o620, "others can read it");
    check(&format!("{line}\n{line}"), 0o600, "line 2");
    check(&format!("{line} {{dir}}"), 0o600, "not a directory inside the roots");
    check(&format!("{line} {{dir}}/root/.."), 0o600, "not a directory inside the roots");
    check(&format!("{line} {{dir}}/root/hidden"), 0o600, "not a directory inside the roots");
    check(&format!("{line} {{dir}}/none"), 0o600, "No such file");
}

/// Starts a server with a token file below a new directory, in which `prepare` puts it. Returns what
/// the server logs before it is ready or ends.
fn started(token_file: &str, options: &[&str], prepare: impl Fn(&Path)) -> String {
    let dir = tempfile::tempdir().unwrap();
    for name in ["root/sub", "private", "state"] {
        std::fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    prepare(dir.path());
    let mut child = crate::client::recto()
        .args(["serve", "--http", "127.0.0.1:0", "--state-dir"])
        .args([dir.path().join("root/state"), dir.path().join("root")])
        .arg("--token-file")
        .arg(dir.path().join(token_file))
        .args(options)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .map(crate::running::Running)
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    line
}

fn write_tokens(path: &Path) {
    std::fs::write(path, format!("a read {READER}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

#[test]
fn a_token_file_that_clients_can_reach_is_rejected() {
    let rejected = |path: &str, prepare: &dyn Fn(&Path)| {
        let said = started(path, &["--deny", "other"], prepare);
        assert!(said.contains("clients can reach") && said.contains("--deny"), "{path}: {said}");
    };
    rejected("root/tokens", &|dir| write_tokens(&dir.join("root/tokens")));
    rejected("private/../root/sub/tokens", &|dir| write_tokens(&dir.join("root/sub/tokens")));
    // A link outside leads into the root.
    rejected("private/link", &|dir| {
        write_tokens(&dir.join("root/tokens"));
        symlink("../root/tokens", dir.join("private/link")).unwrap();
    });
    // A client could put another file or directory in the place of these links.
    rejected("root/link", &|dir| {
        write_tokens(&dir.join("private/tokens"));
        symlink(dir.join("private/tokens"), dir.join("root/link")).unwrap();
    });
    rejected("root/sub/link/tokens", &|dir| {
        write_tokens(&dir.join("private/tokens"));
        symlink(dir.join("private"), dir.join("root/sub/link")).unwrap();
    });
    let accepted = |path: &str, options: &[&str], prepare: &dyn Fn(&Path)| {
        let said = started(path, options, prepare);
        assert!(said.contains("http://"), "{path}: {said}");
    };
    accepted("root/sub/tokens", &["--deny", "tokens"], &|dir| {
        write_tokens(&dir.join("root/sub/tokens"));
    });
    accepted("root/state/tokens", &[], &|dir| {
        let state = dir.join("root/state");
        recto_journal::StateDir::create(&state).unwrap();
        write_tokens(&state.join("tokens"));
    });
    accepted("private/link", &[], &|dir| {
        write_tokens(&dir.join("private/tokens"));
        symlink("tokens", dir.join("private/link")).unwrap();
    });
}

#[test]
fn a_token_file_that_clients_can_reach_later_changes_nothing() {
    let server = with_tokens();
    let new = "another-another-another";
    std::fs::write(server.path("root/tokens"), format!("new write {new}\n")).unwrap();
    std::fs::set_permissions(server.path("root/tokens"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::remove_file(server.path("tokens")).unwrap();
    symlink("root/tokens", server.path("tokens")).unwrap();
    server.logged("clients can reach");
    wait_for(&server, new, false);
    wait_for(&server, READER, true);
}
