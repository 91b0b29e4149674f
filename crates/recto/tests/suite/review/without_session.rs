//! Changes that belong to no session: HTTP requests without one.

use serde_json::{Value, json};

use super::page::Reviewed;
use crate::http::client::HttpServer;

const TOKENS: [(&str, &str); 2] =
    [("ci", "0123456789abcdef0123456789abcdef"), ("bot", "fedcba9876543210fedcba9876543210")];

/// Makes two changes with each of two tokens, without a session.
fn reviewed() -> (HttpServer, Reviewed) {
    let tokens: String =
        TOKENS.iter().map(|(name, token)| format!("{name} write {token}\n")).collect();
    let options = ["--token-file", "{dir}/tokens", "--tools", "all"];
    let server = HttpServer::start_with(&options, |server| server.tokens(&tokens));
    for (name, token) in TOKENS {
        let mut client = server.client_with(token);
        for n in [1, 2] {
            let path = server.spelled(&format!("{name}-{n}.txt"));
            let arguments = json!({"path": path, "content": "text\n"});
            let params = json!({"name": "write_text_file", "arguments": arguments, "_meta": {}});
            let answer = client.stateless("tools/call", params);
            assert_eq!(answer.message()["result"]["isError"], false, "{answer:?}");
        }
    }
    let root = server.path("root").canonicalize().unwrap();
    let (_folder, state) = (tempfile::tempdir().unwrap(), server.path("state"));
    (server, Reviewed { _folder, root, state })
}

#[test]
fn changes_without_a_session_are_listed_by_client_and_not_undone_together() {
    let (_server, reviewed) = reviewed();
    let page = reviewed.review();
    let nav = page.get("/api/nav");
    assert_eq!(nav.matches("<section class=\"s\"").count(), 2, "{nav}");
    assert_eq!(nav.matches("without a session").count(), 2, "{nav}");
    assert!(nav.contains("Keep all") && !nav.contains("Undo all"), "{nav}");
    assert!(!nav.contains("ended"), "{nav}");
    let files = page.get("/api/files?s=client:ci");
    assert!(files.contains("ci-1.txt") && !files.contains("bot-1.txt"), "{files}");
    for session in ["", "client:ci"] {
        for act in ["undo", "redo"] {
            let action = json!({"act": act, "s": session}).to_string();
            let answer = page.raw("POST /api/act", &page.headers(), &action);
            assert_eq!(answer.status, 422, "{answer:?}");
        }
    }
    assert!(reviewed.root.join("bot-1.txt").exists());
    page.act(json!({"act": "undo", "s": "client:ci", "f": "ci-1.txt"}));
    let exists = |name: &str| reviewed.root.join(name).exists();
    assert_eq!([exists("ci-1.txt"), exists("ci-2.txt"), exists("bot-1.txt")], [false, true, true]);
    let report: Value = serde_json::from_str(&reviewed.ok(&["review", "--json"])).unwrap();
    assert_eq!(report["sessions"][0]["session"], Value::Null);
}

#[test]
fn undo_of_a_session_without_a_name_is_rejected() {
    let (_server, reviewed) = reviewed();
    let (_, stderr, status) = reviewed.run(&["undo", "--session", ""]);
    assert_ne!(status, 0);
    assert!(stderr.contains("by number or file"), "{stderr}");
    assert!(reviewed.root.join("ci-1.txt").exists());
}
