//! Codex's permission profile, which comes with every call.

use serde_json::{Value, json};

use crate::server::{Server, stateless};

const KEY: &str = "codex/sandbox-state-meta";

fn special(kind: &str, access: &str) -> Value {
    json!({"path": {"type": "special", "value": {"kind": kind}}, "access": access})
}

fn path(path: &str, access: &str) -> Value {
    json!({"path": {"type": "path", "path": path}, "access": access})
}

/// A profile as Codex writes it.
fn managed(entries: &[Value]) -> Value {
    json!({
        "type": "managed",
        "file_system": {"type": "restricted", "entries": entries},
        "network": "restricted",
    })
}

/// What a profile permits the tools to do with `inside.txt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Everything,
    Reading,
    Nothing,
}

use Allowed::{Everything, Nothing, Reading};

fn call(server: &mut Server, tool: &str, arguments: Value, state: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {KEY: state}});
    server.request("tools/call", params)["result"].clone()
}

/// Makes a call of every tool under a profile.
fn check(server: &mut Server, profile: &Value, cwd: &str, allowed: Allowed) {
    let state = json!({"permissionProfile": profile, "sandboxCwd": cwd});
    let file = server.spelled("inside.txt");
    let edit = json!({"old_string": "inside", "new_string": "edited"});
    for (tool, arguments) in [
        ("read_text_file", json!({"path": file})),
        ("write_text_file", json!({"path": file, "content": "written\n"})),
        ("write_text_file", json!({"path": server.spelled("new.txt"), "content": "written\n"})),
        ("edit_text_file", json!({"path": file, "old_string": "inside", "new_string": "edited"})),
        ("multi_edit_text_file", json!({"path": file, "edits": [edit]})),
    ] {
        let is_allowed = match allowed {
            Everything => true,
            Reading => tool == "read_text_file",
            Nothing => false,
        };
        let result = call(server, tool, arguments.clone(), &state);
        let code = &result["_meta"]["error"]["code"];
        let expected = if is_allowed { Value::Null } else { json!(-32002) };
        assert_eq!(*code, expected, "{tool} {arguments} under {state} gave {result}");
        let has_written = is_allowed && tool != "read_text_file";
        let is_new = arguments["path"] != file;
        let text = std::fs::read_to_string(server.path("inside.txt")).unwrap();
        assert_eq!(text != "inside\n", has_written && !is_new, "{tool} under {state}");
        assert_eq!(server.path("new.txt").exists(), has_written && is_new, "{tool} under {state}");
        std::fs::write(server.path("inside.txt"), "inside\n").unwrap();
        let _ = std::fs::remove_file(server.path("new.txt"));
    }
}

#[test]
fn a_profile_is_honoured_by_every_tool() {
    let mut server = Server::ready(&[]);
    let folder = server.path("").canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let cwd = format!("file://{folder}");
    let root = || special("root", "read");
    let project = || special("project_roots", "write");
    for (profile, allowed) in [
        (managed(&[root()]), Reading),
        (managed(&[root(), project()]), Everything),
        (managed(&[root(), special("current_working_directory", "write")]), Everything),
        (managed(&[root(), path(folder, "write")]), Everything),
        (managed(&[root(), path("/somewhere/else", "write")]), Reading),
        (managed(&[project(), path(&format!("{folder}/inside.txt"), "write")]), Everything),
        (managed(&[]), Nothing),
        (managed(&[root(), path(folder, "none")]), Nothing),
        (managed(&[root(), project(), path(folder, "none")]), Nothing),
        (json!({"type": "disabled"}), Everything),
        (json!({"type": "managed", "file_system": {"type": "unrestricted"}}), Everything),
        // An unknown profile permits no change.
        (json!("a new kind"), Reading),
        (json!({"type": "managed"}), Reading),
        (json!({"type": "managed", "file_system": {"type": "restricted"}}), Reading),
        (managed(&[root(), json!({"path": {"type": "new"}, "access": "write"})]), Reading),
        (managed(&[root(), json!({"access": "write"})]), Reading),
    ] {
        check(&mut server, &profile, &cwd, allowed);
    }
    server.check_serves();
}

/// One of two files may be written.
#[test]
fn a_more_specific_entry_takes_precedence() {
    let mut server = Server::ready(&[]);
    std::fs::write(server.path("other.txt"), "inside\n").unwrap();
    let folder = server.path("").canonicalize().unwrap().to_str().unwrap().to_string();
    let inside = path(&format!("{folder}/inside.txt"), "read");
    let profile = managed(&[special("root", "read"), special("project_roots", "write"), inside]);
    let state = json!({"permissionProfile": profile, "sandboxCwd": format!("file://{folder}")});
    for (name, is_allowed) in [("inside.txt", false), ("other.txt", true)] {
        let arguments = json!({"path": server.spelled(name), "content": "written\n"});
        let result = call(&mut server, "write_text_file", arguments, &state);
        assert_eq!(result["isError"], !is_allowed, "{name}: {result}");
    }
}

/// Returns the server's directory by another path: a link to it from elsewhere.
fn alias(server: &Server) -> (tempfile::TempDir, String) {
    let links = tempfile::tempdir().unwrap();
    let alias = links.path().canonicalize().unwrap().join("alias");
    std::os::unix::fs::symlink(server.path(""), &alias).unwrap();
    (links, alias.to_str().unwrap().to_string())
}

/// As when Codex is started in a home directory that is a link.
#[test]
fn a_profile_can_allow_a_directory_through_a_link_to_it() {
    let mut server = Server::ready(&[]);
    let (_links, alias) = alias(&server);
    let profile = managed(&[special("root", "read"), special("project_roots", "write")]);
    check(&mut server, &profile, &format!("file://{alias}"), Everything);
}

#[test]
fn a_profile_can_deny_a_directory_through_a_link_to_it() {
    let mut server = Server::ready(&[]);
    let (_links, alias) = alias(&server);
    let profile = managed(&[special("root", "write"), path(&alias, "none")]);
    check(&mut server, &profile, "file:///", Nothing);
    let profile = managed(&[special("root", "write"), path(&alias, "read")]);
    check(&mut server, &profile, "file:///", Reading);
}

#[test]
fn the_working_directory_is_a_url() {
    let mut server = Server::ready(&[]);
    std::fs::create_dir(server.path("my project 100%")).unwrap();
    let file = server.spelled("my project 100%/f.txt");
    let folder = server.path("").canonicalize().unwrap().to_str().unwrap().to_string();
    let profile = managed(&[special("root", "read"), special("project_roots", "write")]);
    let cwd = format!("file://{folder}/my%20project%20100%25");
    let state = json!({"permissionProfile": profile, "sandboxCwd": cwd});
    let arguments = json!({"path": file, "content": "written\n"});
    let result = call(&mut server, "write_text_file", arguments, &state);
    assert_eq!(result["isError"], false, "{result}");
}

#[test]
fn a_profile_is_honoured_without_a_handshake() {
    let mut server = Server::start(&[]);
    let state = json!({"permissionProfile": managed(&[special("root", "read")])});
    let arguments = json!({"path": server.spelled("inside.txt"), "content": "written\n"});
    let mut params = stateless(json!({"name": "write_text_file", "arguments": arguments}));
    params["_meta"][KEY] = state;
    let answer = server.request("tools/call", params);
    assert_eq!(answer["result"]["_meta"]["error"]["code"], -32002, "{answer}");
}
