//! `recto install --http`: entries for a server that runs already, as clients document them. None
//! contains a token.

use std::path::Path;

use recto::install::client::{HttpSupport, TOKEN_VARIABLE};
use recto::install::launch::Launch;
use recto::install::places::Scope;
use recto::install::plan;
use recto::install::table::{self, CLIENTS};
use serde_json::{Value, json};

use super::surroundings;
use crate::client::recto;

const URL: &str = "http://127.0.0.1:8123/mcp";

fn launch(client: &str) -> Launch {
    let HttpSupport::Entry(members) = table::find(client).unwrap().http else {
        panic!("{client} has no entry for HTTP")
    };
    Launch { http: Some((URL.into(), members)), ..super::launch(&[], &[]) }
}

/// Returns the new file with the server.
fn written(client: &str, scope: Scope) -> (String, String) {
    let around = surroundings(Path::new("/home/me"), Path::new("/home/me/project"));
    let changes =
        plan::install(table::find(client).unwrap(), scope, &launch(client), &around).unwrap();
    let path = changes[0].path.strip_prefix("/home/me").unwrap().display().to_string();
    (path, changes[0].after.clone().unwrap())
}

fn check_json(client: &str, scope: Scope, path: &str, expected: Value) {
    let (found, text) = written(client, scope);
    let content: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&*found, content), (path, expected), "{client}");
}

fn check_text(client: &str, path: &str, expected: &str) {
    assert_eq!(written(client, Scope::User), (path.into(), expected.into()), "{client}");
}

// https://developers.openai.com/codex/mcp
#[test]
fn codex_reads_the_token_from_its_environment() {
    let content = "[mcp_servers.recto]\nurl = \"http://127.0.0.1:8123/mcp\"\nbearer_token_env_var = \"RECTO_TOKEN\"\nomit_tools_from = [\"deferred\"]\n";
    check_text("codex", ".codex/config.toml", content);
}

// https://code.claude.com/docs/en/mcp
#[test]
fn claude_code_expands_variables_in_headers() {
    let headers = json!({"Authorization": "Bearer ${RECTO_TOKEN}"});
    let entry = json!({"type": "http", "url": URL, "headers": headers, "alwaysLoad": true});
    let content = json!({"mcpServers": {"recto": entry}});
    check_json("claude-code", Scope::User, ".claude.json", content.clone());
    check_json("claude-code", Scope::Project, "project/.mcp.json", content);
}

// https://cursor.com/docs/mcp, https://docs.windsurf.com/windsurf/cascade/mcp and, for VS Code,
// https://code.visualstudio.com/docs/reference/variables-reference
#[test]
fn editors_have_a_prefix_for_variables_of_the_environment() {
    let headers = json!({"Authorization": "Bearer ${env:RECTO_TOKEN}"});
    let entry = json!({"url": URL, "headers": headers});
    let content = json!({"mcpServers": {"recto": entry}});
    check_json("cursor", Scope::User, ".cursor/mcp.json", content.clone());
    check_json("cursor", Scope::Project, "project/.cursor/mcp.json", content);
    let content = json!({"mcpServers": {"recto": {"serverUrl": URL, "headers": headers}}});
    check_json("windsurf", Scope::User, ".codeium/windsurf/mcp_config.json", content);
    let content = json!({"servers": {"recto": {"type": "http", "url": URL, "headers": headers}}});
    check_json("vscode", Scope::Project, "project/.vscode/mcp.json", content);
}

// https://geminicli.com/docs/tools/mcp-server/ and
// https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/
#[test]
fn gemini_cli_and_qwen_code_expand_variables_in_all_settings() {
    let headers = json!({"Authorization": "Bearer $RECTO_TOKEN"});
    let entry = json!({"httpUrl": URL, "headers": headers});
    let content = json!({"mcpServers": {"recto": entry}});
    check_json("gemini-cli", Scope::User, ".gemini/settings.json", content);
    let entry = json!({"httpUrl": URL, "headers": headers, "alwaysLoadTools": true});
    let content = json!({"mcpServers": {"recto": entry}});
    check_json("qwen-code", Scope::User, ".qwen/settings.json", content);
}

// https://opencode.ai/docs/mcp-servers/
#[test]
fn opencode_has_a_syntax_of_its_own() {
    let headers = json!({"Authorization": "Bearer {env:RECTO_TOKEN}"});
    let entry = json!({"type": "remote", "url": URL, "headers": headers, "oauth": false});
    let content = json!({"mcp": {"recto": entry}});
    check_json("opencode", Scope::User, ".config/opencode/opencode.json", content);
}

// https://block.github.io/goose/docs/guides/config-files
#[test]
fn goose_names_the_variables_that_headers_use() {
    let content = "\
extensions:
  recto:
    enabled: true
    type: \"streamable_http\"
    name: \"recto\"
    description: \"Reads, searches and edits files\"
    uri: \"http://127.0.0.1:8123/mcp\"
    env_keys: [\"RECTO_TOKEN\"]
    headers: {\"Authorization\":\"Bearer ${RECTO_TOKEN}\"}
    timeout: 60
";
    check_text("goose", ".config/goose/config.yaml", content);
}

// https://docs.continue.dev/customize/deep-dives/mcp
#[test]
fn continue_has_secrets() {
    let content = "\
name: recto
version: 0.0.1
schema: v1
mcpServers:
  - name: \"recto\"
    type: \"streamable-http\"
    url: \"http://127.0.0.1:8123/mcp\"
    requestOptions: {\"headers\":{\"Authorization\":\"Bearer ${{ secrets.RECTO_TOKEN }}\"}}
";
    check_text("continue", ".continue/mcpServers/recto.yaml", content);
}

#[test]
fn every_entry_refers_to_the_variable() {
    for client in CLIENTS.iter().filter(|it| matches!(it.http, HttpSupport::Entry(_))) {
        let (_, text) = written(client.name, Scope::User);
        assert!(text.contains(TOKEN_VARIABLE) && text.contains(URL), "{}: {text}", client.name);
    }
}

/// Runs `recto install` in a new home, and returns its output and status.
fn run(home: &Path, arguments: &[&str]) -> (String, i32) {
    let mut command = recto();
    command.arg("install").args(arguments).arg("--yes").current_dir(home);
    command.env_clear().env("HOME", home).env("PATH", "/nowhere").env("RECTO_TOKEN", "secret");
    let output = command.env("RECTO_STATE_DIR", home.join("state")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_string();
    (text(&output.stdout) + &text(&output.stderr), output.status.code().unwrap())
}

#[test]
fn a_program_is_replaced_by_a_url_and_back() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".cursor/mcp.json");
    let other =
        "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"true\"}\n  }\n}\n";
    std::fs::create_dir(home.path().join(".cursor")).unwrap();
    std::fs::write(&file, other).unwrap();
    let root = format!("--root={}", home.path().display());
    for (arguments, has, lacks) in [
        (&["cursor", &root][..], "\"command\": \"/", "url"),
        (&["cursor", "--http"], "\"url\": \"http://127.0.0.1:8123/mcp\"", "serve"),
        (&["cursor", "--http=https://a.example/mcp"], "\"url\": \"https://a.example/mcp\"", "8123"),
        (&["cursor", &root], "\"command\": \"/", "url"),
    ] {
        let (output, status) = run(home.path(), arguments);
        assert_eq!(status, 0, "{output}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(has) && !text.contains(lacks), "{arguments:?}: {text}");
        assert!(text.contains("// mine") && !text.contains("secret"), "{text}");
    }
    let (output, status) = run(home.path(), &["cursor", "--uninstall"]);
    assert_eq!((status, std::fs::read_to_string(&file).unwrap()), (0, other.into()), "{output}");
}

#[test]
fn clients_that_would_need_the_token_in_a_file_are_rejected() {
    let home = tempfile::tempdir().unwrap();
    for client in ["zed", "copilot-cli", "cline", "jetbrains", "claude-desktop"] {
        let (output, status) = run(home.path(), &[client, "--http"]);
        assert_eq!(status, 1, "{output}");
        assert!(output.contains(&format!("{client}: cannot use --http: ")), "{output}");
    }
    let names: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn an_address_has_a_scheme_and_no_secret() {
    let home = tempfile::tempdir().unwrap();
    for url in ["127.0.0.1:8123", "ftp://host/mcp", "http:///mcp", "http://me:secret@host/mcp"] {
        let (output, status) = run(home.path(), &["codex", &format!("--http={url}")]);
        assert_eq!(status, 2, "{output}");
    }
}
