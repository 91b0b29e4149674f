//! `recto review`: who may ask the server, what it shows, and what its actions do to files.

mod browser;
mod conflicts;
mod page;
mod without_session;

use std::fs;

use serde_json::{Value, json};

use page::{Reviewed, reviewed};

#[test]
fn data_needs_the_token_the_host_and_the_own_origin() {
    let reviewed = reviewed();
    let page = reviewed.review();
    let port = page.port;
    let (host, token) = (page.host(), format!("Authorization: Bearer {}", page.token));
    let own = format!("Origin: http://127.0.0.1:{port}");
    let check = |start: &str, headers: &[&str], status: u16| {
        let headers: Vec<String> = headers.iter().map(|header| header.to_string()).collect();
        let answer = page.raw(start, &headers, "{}");
        assert_eq!(answer.status, status, "{start} {headers:?}: {answer:?}");
        assert!(status == 200 || answer.body.lines().count() == 1, "{answer:?}");
    };
    let nav = "GET /api/nav";
    check(nav, &[&host, &token], 200);
    check(nav, &[&host, &token, "Sec-Fetch-Site: same-origin"], 200);
    check(nav, &[&format!("Host: localhost:{port}"), &token], 200);
    // Another host, as after DNS rebinding, or none.
    for host in ["Host: attacker.example", "Host: 127.0.0.1", "Host: 127.0.0.1:1", "X: y"] {
        check(nav, &[host, &token], 421);
    }
    check(nav, &[&format!("Host: attacker.example:{port}"), &token], 421);
    // No token, a wrong one, two, or one in the address.
    check(nav, &[&host], 401);
    check(nav, &[&host, "Authorization: Bearer 0000"], 401);
    check(nav, &[&host, &token[..token.len() - 1]], 401);
    check(nav, &[&host, &token, &token], 401);
    check(nav, &[&host, &format!("Cookie: token={}", page.token)], 401);
    check(&format!("{nav}?token={}", page.token), &[&host], 401);
    // Another origin, also another port of this machine.
    for origin in ["null", "http://attacker.example", "http://127.0.0.1:1", "http://localhost"] {
        check(nav, &[&host, &token, &format!("Origin: {origin}")], 403);
        check("POST /api/act", &[&host, &token, &format!("Origin: {origin}")], 403);
    }
    check(nav, &[&host, &token, &format!("Origin: https://127.0.0.1:{port}")], 403);
    for site in ["same-site", "cross-site", "none", "other"] {
        check(nav, &[&host, &token, &format!("Sec-Fetch-Site: {site}")], 403);
    }
    // A change needs an origin.
    check("POST /api/act", &[&host, &token], 403);
    check("POST /api/act", &[&host, &token, &own], 422);
    check("PUT /api/act", &[&host, &token, &own], 405);
    check("OPTIONS /api/act", &[&host, &own], 405);
    check("GET /api/other", &[&host, &token], 404);
    // The page itself may be opened, but not embedded.
    check("GET /", &[&host, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"], 200);
    check("GET /", &[&host, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: iframe"], 403);
    check("GET /script.js", &[&host, "Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: script"], 403);
    check("GET /script.js", &[&host, "Sec-Fetch-Site: same-origin"], 200);
    check("GET /other", &[&host], 404);
}

#[test]
fn the_page_contains_no_data_and_is_confined() {
    let reviewed = reviewed();
    reviewed.edit("f.txt", "line 3\n", "hushed\n");
    let page = reviewed.review();
    for path in ["/", "/script.js", "/style.css", "/icon.svg"] {
        let answer = page.raw(&format!("GET {path}"), &[page.host()], "");
        assert_eq!(answer.status, 200);
        for data in ["hushed", "f.txt", &page.token] {
            assert!(!answer.body.contains(data), "{path} contains {data}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name).as_deref(), Some(value), "{path}");
        }
        assert_eq!(answer.header("set-cookie"), None);
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let script = page.raw("GET /script.js", &[page.host()], "").body;
    assert!(script.len() <= 30_000, "{} bytes", script.len());
}

#[test]
fn a_large_request_is_rejected() {
    let reviewed = reviewed();
    let page = reviewed.review();
    let answer = page.raw("POST /api/act", &page.headers(), &" ".repeat((1 << 20) + 1));
    assert_eq!(answer.status, 413);
}

#[test]
fn a_hunk_is_kept_undone_and_redone() {
    let reviewed = reviewed();
    let before = reviewed.text("f.txt");
    let session = reviewed.edits("f.txt", &[("line 3\n", "three\n"), ("line 20\n", "twenty\n")]);
    let after = reviewed.text("f.txt");
    let page = reviewed.review();
    let state = |expected: [(&str, &str); 2]| {
        let expected = expected.map(|(state, id)| (state.to_string(), id.to_string()));
        assert_eq!(page.hunks(&session, "f.txt"), expected);
    };
    state([("open", "1.0"), ("open", "1.1")]);
    let act = |act: &str, id: &str| {
        page.act(json!({"act": act, "s": session, "f": "f.txt", "ids": [id]}))
    };
    act("keep", "1.0");
    state([("kept", "1.0"), ("open", "1.1")]);
    assert_eq!(reviewed.text("f.txt"), after);
    // Undo of the file and of the session leave what is kept.
    page.act(json!({"act": "undo", "s": session}));
    assert_eq!(reviewed.text("f.txt"), after.replace("twenty", "line 20"));
    state([("kept", "1.0"), ("undone", "2.0")]);
    assert_eq!(act("redo", "2.0")["n_files"], 1);
    assert_eq!(reviewed.text("f.txt"), after);
    state([("kept", "1.0"), ("open", "1.1")]);
    act("reopen", "1.0");
    state([("open", "1.0"), ("open", "1.1")]);
    let undone = act("undo", "1.0");
    assert_eq!(reviewed.text("f.txt"), after.replace("three", "line 3"));
    let undos = undone["undos"].clone();
    page.act(json!({"act": "redo", "s": session, "ids": undos}));
    assert_eq!(reviewed.text("f.txt"), after);
    act("keep", "1.0");
    page.act(json!({"act": "undo", "s": session, "with_kept": true}));
    assert_eq!(reviewed.text("f.txt"), before);
    page.act(json!({"act": "redo", "s": session, "f": "f.txt"}));
    assert_eq!(reviewed.text("f.txt"), after);
}

#[test]
fn undo_of_a_session_on_the_command_line_skips_what_is_kept() {
    let reviewed = reviewed();
    let session = reviewed.edits("f.txt", &[("line 3\n", "three\n"), ("line 20\n", "twenty\n")]);
    let after = reviewed.text("f.txt");
    let page = reviewed.review();
    page.act(json!({"act": "keep", "s": session, "ids": ["1.0"]}));
    reviewed.ok(&["undo", "--session", &session]);
    assert_eq!(reviewed.text("f.txt"), after.replace("twenty", "line 20"));
    reviewed.ok(&["undo", "--session", &session, "--with-kept"]);
    assert_eq!(
        reviewed.text("f.txt"),
        after.replace("twenty", "line 20").replace("three", "line 3")
    );
}

#[test]
fn later_changes_by_others_are_shown_and_stay() {
    let reviewed = reviewed();
    reviewed.edit("f.txt", "line 3\n", "three\n");
    let session = reviewed.last_session();
    let text = reviewed.text("f.txt").replace("line 10\n", "by the user\n");
    fs::write(reviewed.root.join("f.txt"), &text).unwrap();
    reviewed.edit("f.txt", "line 20\n", "by another session\n");
    let page = reviewed.review();
    let states: Vec<String> =
        page.hunks(&session, "f.txt").into_iter().map(|(state, _)| state).collect();
    assert_eq!(states, ["open", "foreign", "foreign"]);
    let html = page.file(&session, "f.txt");
    assert!(html.contains("by another program"), "{html}");
    page.act(json!({"act": "undo", "s": session, "f": "f.txt"}));
    let expected = text.replace("three", "line 3").replace("line 20", "by another session");
    assert_eq!(reviewed.text("f.txt"), expected);
}

#[test]
fn a_conflict_shows_both_texts_and_both_are_undone() {
    let reviewed = reviewed();
    let before = reviewed.text("f.txt");
    reviewed.edit("f.txt", "line 3\n", "first writer\n");
    let session = reviewed.last_session();
    reviewed.edit("f.txt", "first writer\n", "second writer\n");
    let page = reviewed.review();
    let html = page.file(&session, "f.txt");
    for text in ["class=\"h conflict\"", "first writer", "second writer", "recto call"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let undo = json!({"act": "undo", "s": session, "ids": ["1.0"]});
    let rejected = page.act(undo.clone());
    assert!(rejected["conflict"].as_str().unwrap().contains("second writer"), "{rejected}");
    assert!(reviewed.text("f.txt").contains("second writer"));
    let mut both = undo;
    both["with_dependents"] = true.into();
    page.act(both);
    assert_eq!(reviewed.text("f.txt"), before);
}

#[test]
fn created_and_removed_files_and_binary_content_are_shown_for_what_they_are() {
    let reviewed = reviewed();
    let session = reviewed.serve(|call| {
        call("file_create", json!({"path": "new.csv", "content": "name,age\nAda,36\n"}));
        let hash = call("text_read", json!({"path": "f.txt"}))["hash"].clone();
        call("file_remove", json!({"path": "f.txt", "hash": hash}));
        assert!(reviewed.review().get("/api/nav").contains("class=\"live\""));
    });
    let page = reviewed.review();
    assert!(page.get("/api/nav").contains("ended"));
    let html = page.file(&session, "new.csv");
    for text in ["created", "<td>Ada</td>", "+2"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(page.file(&session, "f.txt").contains("removed"));
    page.act(json!({"act": "undo", "s": session}));
    assert!(!reviewed.root.join("new.csv").exists());
    assert!(reviewed.text("f.txt").ends_with("line 30\n"));
    page.act(json!({"act": "redo", "s": session}));
    assert!(reviewed.root.join("new.csv").exists() && !reviewed.root.join("f.txt").exists());
}

#[test]
fn a_session_with_a_move_is_undone_together_or_not_at_all() {
    let reviewed = reviewed();
    fs::write(reviewed.root.join("g.txt"), "one\n").unwrap();
    let before = reviewed.text("f.txt");
    let session = reviewed.serve(|call| {
        let changes = json!({"changes": [
            {"path": "f.txt", "edits": [{"old_string": "line 3\n", "new_string": "three\n"}]},
            {"path": "g.txt", "move_to": "h.txt", "edits": [{"old_string": "one", "new_string": "1"}]},
        ]});
        call("changes_apply", changes);
    });
    let page = reviewed.review();
    // The edit that was made under the old name.
    assert_eq!(page.hunks(&session, "h.txt").len(), 1);
    // Another program appends to a file that it keeps open, so that it cannot be replaced.
    let writer = fs::OpenOptions::new().append(true).open(reviewed.root.join("f.txt")).unwrap();
    let rejected = page.act(json!({"act": "undo", "s": session}));
    assert_eq!(rejected["n_files"], 0, "{rejected}");
    assert!(rejected["conflict"].as_str().unwrap().contains("f.txt"), "{rejected}");
    assert_eq!(reviewed.text("h.txt"), "1\n");
    drop(writer);
    let undone = page.act(json!({"act": "undo", "s": session}));
    assert_eq!(undone["n_files"], 2, "{undone}");
    assert_eq!((reviewed.text("f.txt"), reviewed.text("g.txt")), (before, "one\n".to_string()));
    assert!(!reviewed.root.join("h.txt").exists());
    let redone = page.act(json!({"act": "redo", "s": session, "ids": undone["undos"]}));
    assert_eq!(redone["n_files"], 2, "{redone}");
    assert_eq!(reviewed.text("h.txt"), "1\n");
    assert!(reviewed.text("f.txt").contains("three\n"));
}

#[test]
fn hostile_names_and_contents_are_shown_as_text() {
    let reviewed = reviewed();
    let name = "<img src=x onerror=alert(1)>\u{202e}txt.js";
    let content = "</code><script>alert(1)</script>\n<svg onload=alert(1)>\u{202e}\u{2066}\u{0}\n";
    let content = content.replace('\0', "\u{1b}[31m");
    let path = format!("path={name}");
    reviewed.ok(&["call", "file_create", &path, &format!("content={content}")]);
    let session = reviewed.last_session();
    let page = reviewed.review();
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let export = reviewed.root.join("../export.html");
    reviewed.ok(&["review", "--export", export.to_str().unwrap()]);
    for html in [
        page.get("/api/nav"),
        page.get(&format!("/api/files?s={session}")),
        page.file(&session, &encoded),
        fs::read_to_string(&export).unwrap(),
    ] {
        for active in ["<img", "<script", "<svg", "\u{202e}", "\u{2066}", "\u{1b}"] {
            assert!(!html.contains(active), "{active:?}: {html}");
        }
    }
    let html = page.file(&session, &encoded);
    assert!(html.contains("&lt;script&gt;") && html.contains("U+202E"), "{html}");
}

#[test]
fn a_change_of_a_running_session_is_announced() {
    let reviewed = reviewed();
    let page = reviewed.review();
    let mut next = page.events();
    let first = next();
    reviewed.edit("f.txt", "line 3\n", "three\n");
    let session = reviewed.last_session();
    assert_ne!(next(), first);
    assert!(page.get("/api/nav").contains(&session));
    // An action in one page is announced to the others.
    page.act(json!({"act": "keep", "s": session, "ids": ["1.0"]}));
    next();
    assert_eq!(page.hunks(&session, "f.txt"), [("kept".to_string(), "1.0".to_string())]);
    // So is a change of the shown file by another program.
    fs::write(reviewed.root.join("f.txt"), "another text\n").unwrap();
    next();
}

#[test]
fn only_changes_below_the_directory_are_shown() {
    let reviewed = reviewed();
    fs::create_dir(reviewed.root.join("below")).unwrap();
    fs::write(reviewed.root.join("below/g.txt"), "a\nb\n").unwrap();
    reviewed.edit("f.txt", "line 3\n", "three\n");
    reviewed.edit("below/g.txt", "a\n", "A\n");
    let below = Reviewed { root: reviewed.root.join("below"), ..reviewed };
    let page = below.review();
    let nav = page.get("/api/nav");
    assert!(nav.contains("1 change outside"), "{nav}");
    assert_eq!(nav.matches("class=\"s\"").count(), 1, "{nav}");
    // An undo of another file is rejected.
    let session = below.last_session();
    let done = page.act(json!({"act": "undo", "s": session, "ids": ["1.0"]}));
    assert!(done["conflict"].as_str().unwrap().contains("outside"), "{done}");
}

#[test]
fn sessions_are_searched_and_filtered() {
    let reviewed = reviewed();
    fs::write(reviewed.root.join("other.txt"), "a\n").unwrap();
    let session = reviewed.serve(|call| {
        let edit = |path: &str, old: &str, new: &str| {
            json!({"path": reviewed.root.join(path), "old_string": old, "new_string": new})
        };
        call("edit_text_file", edit("f.txt", "line 3\n", "a needle\n"));
        call("edit_text_file", edit("other.txt", "a\n", "b\n"));
    });
    let page = reviewed.review();
    let files = |query: &str| {
        let html = page.get(&format!("/api/files?s={session}&{query}"));
        let files = html.split("data-f=\"").skip(1);
        files.map(|it| it.split('"').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(files(""), ["f.txt", "other.txt"]);
    assert_eq!(files("q=NEEDLE"), ["f.txt"]);
    assert_eq!(files("q=OTHER"), ["other.txt"]);
    assert_eq!(files("q=nowhere"), [""; 0]);
    page.act(json!({"act": "keep", "s": session, "f": "f.txt"}));
    assert_eq!(files("state=kept"), ["f.txt"]);
    assert_eq!(files("state=open"), ["other.txt"]);
    let report: Value = serde_json::from_str(&reviewed.ok(&["review", "--json"])).unwrap();
    let file = &report["sessions"][0]["files"][0];
    assert_eq!((&file["path"], &file["state"]), (&json!("f.txt"), &json!("kept")));
    assert_eq!(file["hunks"][0]["new"], "a needle\n");
}

#[test]
fn an_exported_session_is_one_file_without_script() {
    let reviewed = reviewed();
    reviewed.edit("f.txt", "line 3\n", "three\n");
    let file = reviewed.root.join("../export.html");
    reviewed.ok(&["review", "--export", file.to_str().unwrap()]);
    let html = fs::read_to_string(&file).unwrap();
    assert!(html.contains("style-src &#39;sha256-") && html.contains("contains parts"), "{html}");
    for part in ["<script", "<link", "src=", "<button", "http://"] {
        assert!(!html.contains(part), "{part}");
    }
    assert!(!html.contains(reviewed.root.to_str().unwrap()));
}

#[test]
fn a_file_that_is_too_large_to_undo_is_not_read() {
    let reviewed = reviewed();
    let session = reviewed.edits("f.txt", &[("line 3\n", "three\n")]);
    // Another program makes the file larger, without writing its bytes.
    let file = fs::OpenOptions::new().append(true).open(reviewed.root.join("f.txt")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    drop(file);
    let (_, stderr, status) = reviewed.run(&["undo", "1"]);
    assert!(status == 1 && stderr.contains("larger than 64 MiB"), "{stderr}");
    let page = reviewed.review();
    for view in ["", "&view=changes"] {
        let html = page.get(&format!("/api/file?s={session}&f=f.txt{view}"));
        assert!(html.contains("larger than 64 MiB") && !html.contains("class=\"h "), "{html}");
    }
    let report: Value = serde_json::from_str(&reviewed.ok(&["review", "--json"])).unwrap();
    assert_eq!(report["sessions"][0]["files"][0]["hunks"], json!([]));
}

#[test]
fn what_a_request_notices_is_announced_too() {
    let reviewed = reviewed();
    let session = reviewed.edits("f.txt", &[("line 3\n", "three\n")]);
    let (page, other) = (reviewed.review(), reviewed.review());
    let mut next = page.events();
    next();
    page.get("/api/nav");
    // Often enough that a request notices a mark before the server asks for it.
    for n in 0..6 {
        let act = if n % 2 == 0 { "keep" } else { "reopen" };
        other.act(json!({"act": act, "s": session, "ids": ["1.0"]}));
        page.get("/api/nav");
        next();
    }
}
