//! Served files as resources: reading, completion and subscriptions, in both protocol eras.

use serde_json::{Value, json};

use crate::server::{Server, stateless};

const TEMPLATE: &str = "file://{+path}";

fn uri(server: &Server, name: &str) -> String {
    format!("file://{}", server.spelled(name))
}

fn completed(server: &mut Server, value: &str) -> Value {
    let answer = server.request(
        "completion/complete",
        json!({
            "ref": {"type": "ref/resource", "uri": TEMPLATE},
            "argument": {"name": "path", "value": value},
        }),
    );
    answer["result"]["completion"].clone()
}

#[test]
fn a_template_covers_all_files() {
    let mut server = Server::ready(&[]);
    assert_eq!(server.request("resources/list", json!({}))["result"]["resources"], json!([]));
    let listed = server.request("resources/templates/list", json!({}));
    assert_eq!(listed["result"]["resourceTemplates"][0]["uriTemplate"], TEMPLATE);
    let read = server.request("resources/read", json!({"uri": uri(&server, "inside.txt")}));
    assert_eq!(read["result"]["contents"][0]["text"], "inside\n", "{read}");
}

#[test]
fn a_resource_outside_the_roots_or_missing_is_an_error() {
    let mut server = Server::ready(&["--deny", "hidden.txt"]);
    std::fs::write(server.path("hidden.txt"), "hidden\n").unwrap();
    for (uri, code) in [
        ("file:///etc/passwd".to_string(), -32602),
        (uri(&server, "hidden.txt"), -32602),
        (uri(&server, "../../etc/passwd"), -32602),
        (uri(&server, "none.txt"), -32002),
        ("https://example.com/".into(), -32602),
    ] {
        let answer = server.request("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
    }
    let params = stateless(json!({"uri": uri(&server, "none.txt")}));
    let answer = Server::start(&[]).request("resources/read", params);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_long_resource_says_how_to_continue() {
    let mut server = Server::ready(&["--max-answer-bytes", "2000"]);
    let lines: Vec<String> = (1..=1000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(server.path("a b.txt"), lines.concat()).unwrap();
    let mut uri = uri(&server, "a%20b.txt");
    let mut text = String::new();
    loop {
        let answer = server.request("resources/read", json!({"uri": uri}));
        let contents = answer["result"]["contents"].as_array().unwrap();
        let size: usize = contents.iter().map(|it| it["text"].as_str().unwrap().len()).sum();
        assert!(size <= 2200, "{size}");
        text.push_str(contents[0]["text"].as_str().unwrap());
        let Some(next) = contents.get(1) else { break };
        uri = next["uri"].as_str().unwrap().into();
        assert!(next["text"].as_str().unwrap().ends_with(&uri), "{next}");
    }
    assert_eq!(text, lines.concat());
}

#[test]
fn reading_a_resource_counts_as_seeing_the_file() {
    let mut server = Server::ready(&[]);
    let path = server.spelled("inside.txt");
    server.request("resources/read", json!({"uri": uri(&server, "inside.txt")}));
    std::fs::write(&path, "changed\n").unwrap();
    let refused = server.call("write_text_file", json!({"path": path, "content": "new\n"}));
    assert_eq!(refused["result"]["_meta"]["error"]["code"], -32013, "{refused}");
}

#[test]
fn paths_are_completed_without_ignored_files() {
    let mut server = Server::ready(&[]);
    std::fs::create_dir_all(server.path("src/deep")).unwrap();
    std::fs::create_dir(server.path(".git")).unwrap();
    std::fs::write(server.path(".gitignore"), "ignored*\n").unwrap();
    for name in ["src/main.rs", "src/map.rs", "src/deep/x.rs", "src/ignored.rs", "src/[a].rs"] {
        std::fs::write(server.path(name), "").unwrap();
    }
    let root = server.path("").canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let mut check = |value: &str, expected: &[&str]| {
        let expected: Vec<_> = expected.iter().map(|name| format!("{root}/{name}")).collect();
        assert_eq!(completed(&mut server, value)["values"], json!(expected), "{value}");
    };
    check("src/ma", &["src/main.rs", "src/map.rs"]);
    check(&format!("{root}/src/ma"), &["src/main.rs", "src/map.rs"]);
    check("src/d", &["src/deep/x.rs"]);
    check("src/[", &["src/[a].rs"]);
    check("src/ign", &[]);
    check("/etc/pass", &[]);
    for n in 0..150 {
        std::fs::write(server.path(&format!("many{n}.txt")), "").unwrap();
    }
    let completion = completed(&mut server, "many");
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
}

#[test]
fn a_client_that_subscribed_is_told_of_changes() {
    let mut server = Server::ready(&[]);
    let uri = uri(&server, "inside.txt");
    let answer = server.request("resources/subscribe", json!({"uri": uri}));
    assert_eq!(answer["result"], json!({}), "{answer}");
    for change in ["changed\n", "again\n"] {
        std::fs::write(server.path("inside.txt"), change).unwrap();
        let message = server.next().unwrap();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        assert_eq!(message["params"]["uri"], *uri);
    }
    std::fs::remove_file(server.path("inside.txt")).unwrap();
    assert_eq!(server.next().unwrap()["params"]["uri"], *uri);
    server.request("resources/unsubscribe", json!({"uri": uri}));
    std::fs::write(server.path("inside.txt"), "inside\n").unwrap();
    // The next line is the answer, not a notification.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    server.check_serves();
}

#[test]
fn a_subscription_without_a_session_reports_changes() {
    let mut server = Server::start(&[]);
    let uri = uri(&server, "inside.txt");
    let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let id = server.new_id();
    let params = stateless(filter);
    server.send(
        &json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}),
    );
    let message = server.next().unwrap();
    assert_eq!(message["method"], "notifications/subscriptions/acknowledged", "{message}");
    // Changes are reported from the first check on, so one change may be too early.
    let path = server.path("inside.txt");
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        for n in 0.. {
            std::fs::write(&path, format!("{n}\n")).unwrap();
            let wait = std::time::Duration::from_millis(200);
            if is_done.recv_timeout(wait) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    let message = server.next().unwrap();
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    assert_eq!(message["params"]["uri"], *uri);
    drop(done);
    writer.join().unwrap();
}

#[test]
fn subscriptions_are_bounded() {
    let mut server = Server::ready(&[]);
    for n in 0..recto::limits::SUBSCRIPTIONS {
        let uri = uri(&server, &format!("{n}.txt"));
        let answer = server.request("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let uri = uri(&server, "more.txt");
    let answer = server.request("resources/subscribe", json!({"uri": uri}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
