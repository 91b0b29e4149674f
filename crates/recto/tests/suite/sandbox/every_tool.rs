//! Every escape path in every argument that names a file, for targets that exist and targets that do
//! not, under every kind of confinement.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use recto_text::quote::Quoted;
use serde_json::{Map, Value, json};

use super::escape_paths::ESCAPE_PATHS;
use crate::client::{Actual, Client, Revision, run};
use crate::confinement::Confinement;
use crate::escaping_links;
use crate::sandbox_fixture::{OUTSIDE, SandboxFixture, Snapshot};

/// An argument that names files, with others that would work on any file of the fixture.
struct Parameter {
    tool: &'static str,
    name: &'static str,
    /// The text after the path.
    suffix: &'static str,
    more: Value,
    told: Leak,
}

/// What an answer may reveal about an escaping path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leak {
    /// An error with exactly this message.
    Refused,
    /// An error, or an empty result: the same whether or not the target exists.
    Nothing,
}

fn parameters() -> Vec<Parameter> {
    let hash = recto_text::Digest::of(OUTSIDE.as_bytes()).to_string();
    let parameter = |tool, name, suffix, more, told| Parameter { tool, name, suffix, more, told };
    let edit = json!({"old_string": "side", "new_string": "-edited"});
    let by_path = |tool, more| parameter(tool, "path", "", more, Leak::Refused);
    let by_path_leaking_nothing = |tool, more| parameter(tool, "path", "", more, Leak::Nothing);
    let from_path = |tool, mut more: Value| {
        more["from_commit"] = "HEAD".into();
        parameter(tool, "from_path", "", more, Leak::Nothing)
    };
    let by_file_path = |tool, suffix, more, told| parameter(tool, "file_path", suffix, more, told);
    vec![
        by_path("read_text_file", json!({})),
        by_path("write_text_file", json!({"content": "written\n"})),
        by_path_leaking_nothing("write_text_file", json!({"from_commit": "HEAD"})),
        from_path("write_text_file", json!({"path": "/nowhere/inside.txt"})),
        by_path("edit_text_file", edit.clone()),
        by_path("multi_edit_text_file", json!({"edits": [edit.clone()]})),
        by_path("text_read", json!({})),
        by_path("text_read", json!({"since": hash})),
        by_path(
            "text_replace",
            json!({"hash": hash, "lines": [1, 2], "old": "outside", "new": "replaced"}),
        ),
        by_path(
            "text_insert",
            json!({"hash": hash, "line": 1, "anchor": "outside", "content": "inserted\n"}),
        ),
        by_path("text_append", json!({"hash": hash, "content": "appended\n"})),
        by_path("file_create", json!({"content": "created\n"})),
        by_path("file_create", json!({"content": "AAAA", "encoding": "base64"})),
        by_path("file_remove", json!({"hash": hash})),
        parameter("ListFiles", "pattern", "*", json!({"ignored": true}), Leak::Nothing),
        parameter("ListFiles", "pattern", "/**", json!({}), Leak::Nothing),
        parameter("ListFiles", "pattern", "", json!({"commit": "HEAD"}), Leak::Nothing),
        by_file_path("ReadLines", "", json!({}), Leak::Refused),
        by_file_path("ReadLines", "", json!({"match": "side"}), Leak::Refused),
        by_file_path("ReadLines", "*", json!({"match": "side"}), Leak::Nothing),
        by_file_path("ReadLines", "", json!({"commit": "HEAD"}), Leak::Nothing),
        by_file_path("ReadLines", "", json!({"blame": true}), Leak::Refused),
        by_file_path("ReadLines", "", json!({"commit": "HEAD", "blame": true}), Leak::Nothing),
        by_file_path("ReadAsTable", "", json!({}), Leak::Refused),
        by_file_path("ReadAsTable", "*", json!({}), Leak::Nothing),
        by_file_path("ReadAsTable", "", json!({"commit": "HEAD"}), Leak::Nothing),
        by_path_leaking_nothing("ListCommits", json!({})),
        by_path_leaking_nothing("undo_list", json!({})),
        by_path_leaking_nothing("ListCommits", json!({"containing": "side"})),
        by_path_leaking_nothing("ReadDiff", json!({"from": "HEAD"})),
        by_path_leaking_nothing("ReadDiff", json!({"from": "HEAD", "to": "HEAD"})),
        by_path_leaking_nothing("file_create", json!({"from_commit": "HEAD"})),
        from_path("file_create", json!({"path": "restored.txt"})),
        parameter("changes_apply", "path", "", json!({"edits": [edit]}), Leak::Refused),
        parameter("changes_apply", "path", "", json!({"content": "created\n"}), Leak::Refused),
        parameter("changes_apply", "path", "", json!({"move_to": "moved.txt"}), Leak::Refused),
        parameter("changes_apply", "move_to", "", json!({"path": "inside.txt"}), Leak::Refused),
        parameter("changes_apply", "glob", "*", json!({"edits": [edit]}), Leak::Nothing),
        // A revision that is a path.
        parameter("ListCommits", "revision", "", json!({}), Leak::Nothing),
        parameter("ReadDiff", "from", "", json!({}), Leak::Nothing),
        parameter("ReadDiff", "to", "", json!({"from": "HEAD"}), Leak::Nothing),
        parameter("ListFiles", "commit", "", json!({"pattern": "**"}), Leak::Nothing),
        parameter("ReadLines", "commit", "", json!({"file_path": "inside.txt"}), Leak::Nothing),
        parameter("ReadAsTable", "commit", "", json!({"file_path": "inside.txt"}), Leak::Nothing),
    ]
}

fn furnished() -> SandboxFixture {
    let fixture = SandboxFixture::new();
    let link = |below: &str, target: &str| {
        fixture.link(below, target);
    };
    escaping_links::lay(link);
    let to_files = [
        ("root/file-proc-{name}", "/proc/self/root{base}/outside/{name}"),
        ("root/file-double-{name}", "{base}//outside//{name}"),
        ("root/file-dot-{name}", "{base}/./outside/./{name}"),
        ("root/file-back-{name}", "../root/../outside/{name}"),
        ("root/file-sibling-{name}", "{base}/root-sibling/{name}"),
    ];
    escaping_links::lay_files(&to_files, link);
    fixture
        .link("root/folder-double", "..//outside")
        .link("root/folder-dot", "../outside/.")
        .link("root/folder-back", "../outside/deep/..")
        .link("root/up-slash", "../")
        .link("root/upper", "../..")
        .link("root/base", "{base}")
        .link("root/shorter", "../roo")
        .link("root/sub/deep/far", "../../../outside")
        .link("root/sub/up", "..")
        .link("root/to-to-folder-rel", "./to-folder-rel/.")
        .link("root/to-deep", "sub/deep")
        .link("root/to-file", "inside.txt")
        .link("root/to-sub", "{base}/root/sub")
        .link("root/back-folder", "{base}/outside/back")
        .link("outside/back", "{base}/root")
        .link("root/proc", "/proc")
        .link("root/dev", "/dev")
        .link("root/etc", "/etc")
        .link("root/self-root", "/proc/self/root")
        .link("root/self-cwd", "/proc/self/cwd")
        .link("root/self-fd", "/proc/self/fd")
        .link("root/by-proc", "/proc/self/root{base}/outside")
        .link("root/by-thread", "/proc/thread-self/root{base}/outside")
        .link("root/by-init", "/proc/1/root{base}/outside");
    symlink(OsStr::from_bytes(b"../\xff/../outside"), fixture.path("root/by-bytes")).unwrap();
    fixture
}

fn arguments(fixture: &SandboxFixture, parameter: &Parameter, path: &str) -> Map<String, Value> {
    let path = fixture.spelled(&path.replace("{base}", fixture.spelled("").trim_end_matches('/')));
    let Value::Object(mut arguments) = parameter.more.clone() else { unreachable!() };
    arguments.insert(parameter.name.into(), format!("{path}{}", parameter.suffix).into());
    if parameter.tool == "changes_apply" {
        let is_dry_run = parameter.name == "glob";
        let arguments = json!({"changes": [arguments], "dry_run": is_dry_run});
        return arguments.as_object().unwrap().clone();
    }
    arguments
}

/// Makes one call and returns its answer without the target's name, or a violation.
async fn attack(
    client: &Client,
    fixture: &SandboxFixture,
    parameter: &Parameter,
    path: &str,
    name: &str,
) -> Result<String, String> {
    let arguments = arguments(fixture, parameter, path);
    let of_file = arguments.get("changes").map(|changes| &changes[0][parameter.name]);
    let asked = of_file.unwrap_or_else(|| &arguments[parameter.name]).as_str().unwrap().to_string();
    let told = match client.call(parameter.tool, arguments).await {
        Actual::Error { code, message, hint } => {
            let root = fixture.spelled("root");
            let roots = format!("Only files under these roots are accessible: {root}");
            let denied = format!("Permission denied: {}", Quoted(&asked));
            if parameter.told == Leak::Refused
                && (code, &message, &hint) != (-32002, &denied, &Some(roots))
            {
                return Err(format!("{code} {message:?} {hint:?}"));
            }
            format!("{code} {message} {hint:?}")
        }
        Actual::Answer { structured, text } => {
            let told = format!("{structured} {text:?}");
            if parameter.told == Leak::Refused {
                return Err(told);
            }
            // Only the path itself may occur, never its target's content.
            if told.replace(&asked, "").contains("secret.txt") || told.contains("outside\\n") {
                return Err(told);
            }
            told
        }
    };
    Ok(told.replace(name, "{t}"))
}

async fn attack_all(
    client: &Client,
    fixture: &SandboxFixture,
    failures: &mut Vec<String>,
) -> usize {
    let before = Snapshot::take(&fixture.path(""));
    let mut n_calls = 0;
    for way in ESCAPE_PATHS {
        for parameter in &parameters() {
            let mut told = Vec::new();
            for name in ["secret.txt", "missing.txt"] {
                n_calls += 1;
                let path = way.replace("{t}", name);
                match attack(client, fixture, parameter, &path, name).await {
                    Ok(text) => told.push(text),
                    Err(text) => {
                        failures
                            .push(format!("{} {} {path}: {text}", parameter.tool, parameter.name));
                    }
                }
            }
            if let [existing, missing] = &told[..]
                && existing != missing
            {
                let (tool, name) = (parameter.tool, parameter.name);
                failures.push(format!("{tool} {name} {way}:\n  {existing}\n  {missing}"));
            }
        }
        let changed = before.changed(&Snapshot::take(&fixture.path("")));
        if !changed.is_empty() {
            failures.push(format!("{way} changed {changed:?}"));
            return n_calls;
        }
    }
    n_calls
}

#[test]
fn no_argument_of_any_tool_escapes_the_roots() {
    let mut n_calls = 0;
    let mut failures = Vec::new();
    for confinement in Confinement::ALL {
        let fixture = furnished();
        let command = confinement.serve(&fixture.path("root"), &[""; 0]);
        run(async {
            let client = Client::start_command(command.into(), Revision::Handshake).await;
            n_calls += attack_all(&client, &fixture, &mut failures).await;
            client.stop().await;
        });
        assert!(
            failures.is_empty(),
            "{confinement:?}: {}\n{}",
            failures.len(),
            failures.join("\n")
        );
    }
    println!(
        "{} ways out × {} arguments × 2 targets × {} confinement: {n_calls} calls",
        ESCAPE_PATHS.len(),
        parameters().len(),
        Confinement::ALL.len()
    );
}

#[test]
fn the_table_is_large_enough_and_names_every_tool() {
    let mut ways = ESCAPE_PATHS.to_vec();
    ways.sort();
    ways.dedup();
    assert!(
        ways.len() >= 160 && ways.len() == ESCAPE_PATHS.len(),
        "{} of {}",
        ways.len(),
        ESCAPE_PATHS.len()
    );
    assert!(ways.iter().all(|way| way.contains("{t}")));
    let parameters = parameters();
    for tool in recto_tools::tools::ALL {
        for param in tool.params.iter().map(|param| param.name) {
            if ["path", "file_path", "pattern", "commit", "from_path"].contains(&param) {
                let is_named = |it: &&Parameter| it.tool == tool.name && it.name == param;
                assert!(parameters.iter().any(|it| is_named(&it)), "{} {param}", tool.name);
            }
        }
    }
}
