//! The settings of each client, as its documentation or the client itself has them.

use std::path::Path;

use recto::clients;
use recto::install::places::{Scope, Surroundings};
use recto::install::table::{self, CLIENTS};
use recto::install::{launch, plan};

use super::surroundings;

/// Returns the paths below the home or project, and the contents of new files.
fn written(name: &str, scope: Scope, is_mac: bool) -> Vec<(String, String)> {
    let around = surroundings(Path::new("/home/me"), Path::new("/home/me/project"));
    let around = Surroundings { is_mac, ..around };
    let client = table::find(name).unwrap();
    let roots = launch::roots(&[], client.root, scope, &around).unwrap();
    let launch = launch::Launch { roots, ..super::launch(&[], &[]) };
    let changes = plan::install(client, scope, &launch, &around).unwrap();
    let below = |path: &Path| path.strip_prefix("/home/me").unwrap().display().to_string();
    changes.iter().map(|it| (below(&it.path), it.after.clone().unwrap())).collect()
}

fn check(name: &str, scope: Scope, path: &str, content: &str) {
    let files = written(name, scope, false);
    let file = files.iter().find(|(found, _)| found == path);
    let (_, found) = file.unwrap_or_else(|| panic!("{name}: no {path} in {files:?}"));
    assert_eq!(found, content, "{name}");
}

const SERVER: &str = r#"{
  "mcpServers": {
    "recto": {
      "command": "/opt/recto",
      "args": [
        "serve",
        "ROOT"
      ]
    }
  }
}
"#;

fn server(root: &str) -> String {
    SERVER.replace("ROOT", root)
}

// https://developers.openai.com/codex/mcp; `omit_tools_from` was tried with Codex 0.166.
#[test]
fn codex() {
    let content = "[mcp_servers.recto]\ncommand = \"/opt/recto\"\nargs = [\"serve\", \".\"]\nomit_tools_from = [\"deferred\"]\n";
    check("codex", Scope::User, ".codex/config.toml", content);
    check("codex", Scope::Project, "project/.codex/config.toml", content);
}

// https://code.claude.com/docs/en/mcp and https://code.claude.com/docs/en/settings
#[test]
fn claude_code() {
    let content = r#"{
  "mcpServers": {
    "recto": {
      "type": "stdio",
      "command": "/opt/recto",
      "args": [
        "serve",
        "."
      ],
      "alwaysLoad": true
    }
  }
}
"#;
    check("claude-code", Scope::User, ".claude.json", content);
    check("claude-code", Scope::Project, "project/.mcp.json", content);
    for (scope, path) in
        [(Scope::User, ".claude/settings.json"), (Scope::Project, "project/.claude/settings.json")]
    {
        let files = written("claude-code", scope, false);
        let rules = &files.iter().find(|(found, _)| found == path).unwrap().1;
        let start =
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"mcp__recto__read_text_file\",\n";
        assert!(rules.starts_with(start), "{rules}");
        for tool in ["text_read", "ListFiles", "ReadLines", "ReadAsTable", "ReadDiff"] {
            assert!(rules.contains(&format!("\"mcp__recto__{tool}\"")), "{rules}");
        }
        for tool in ["write_text_file", "edit_text_file", "file_remove", "text_append"] {
            assert!(!rules.contains(tool), "{rules}");
        }
    }
}

// https://cursor.com/docs/mcp: `${workspaceFolder}` is the directory that contains `.cursor/mcp.json`.
#[test]
fn cursor() {
    check("cursor", Scope::User, ".cursor/mcp.json", &server("/home/me/project"));
    check("cursor", Scope::Project, "project/.cursor/mcp.json", &server("${workspaceFolder}"));
}

// https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
#[test]
fn vscode() {
    let content = r#"{
  "servers": {
    "recto": {
      "type": "stdio",
      "command": "/opt/recto",
      "args": [
        "serve",
        "${workspaceFolder}"
      ]
    }
  }
}
"#;
    check("vscode", Scope::User, ".config/Code/User/mcp.json", content);
    check("vscode", Scope::Project, "project/.vscode/mcp.json", content);
}

// https://zed.dev/docs/ai/mcp and https://zed.dev/docs/ai/external-agents. Zed may start servers in
// `/`: https://github.com/zed-industries/zed/issues/60879
#[test]
fn zed() {
    let content = r#"{
  "agent_servers": {
    "Codex with recto": {
      "type": "custom",
      "command": "/opt/recto",
      "args": [
        "codex"
      ]
    }
  },
  "context_servers": {
    "recto": {
      "command": "/opt/recto",
      "args": [
        "serve",
        "/home/me/project"
      ]
    }
  }
}
"#;
    check("zed", Scope::User, ".config/zed/settings.json", content);
    let content = server("/home/me/project").replace("mcpServers", "context_servers");
    check("zed", Scope::Project, "project/.zed/settings.json", &content);
}

// https://geminicli.com/docs/tools/mcp-server/
#[test]
fn gemini_cli() {
    check("gemini-cli", Scope::User, ".gemini/settings.json", &server("."));
    check("gemini-cli", Scope::Project, "project/.gemini/settings.json", &server("."));
}

// https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/; `alwaysLoadTools` was tried with Qwen
// Code 0.24.
#[test]
fn qwen_code() {
    let content = server(".").replace("      ]\n", "      ],\n      \"alwaysLoadTools\": true\n");
    check("qwen-code", Scope::User, ".qwen/settings.json", &content);
    check("qwen-code", Scope::Project, "project/.qwen/settings.json", &content);
}

// https://opencode.ai/docs/mcp-servers/ and, for 2.x, https://opencode.ai/v2/docs/mcp-servers/
#[test]
fn opencode() {
    let content = r#"{
  "mcp": {
    "recto": {
      "type": "local",
      "command": [
        "/opt/recto",
        "serve",
        "."
      ],
      "enabled": true
    }
  }
}
"#;
    check("opencode", Scope::User, ".config/opencode/opencode.json", content);
    check("opencode", Scope::Project, "project/opencode.json", content);
}

// https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
#[test]
fn copilot_cli() {
    let content = server(".")
        .replace("      \"command\"", "      \"type\": \"local\",\n      \"command\"")
        .replace("      ]\n", "      ],\n      \"tools\": [\n        \"*\"\n      ]\n");
    check("copilot-cli", Scope::User, ".copilot/mcp-config.json", &content);
    check("copilot-cli", Scope::Project, "project/.github/mcp.json", &content);
}

// https://block.github.io/goose/docs/guides/config-files
#[test]
fn goose() {
    let content = "\
extensions:
  recto:
    enabled: true
    type: \"stdio\"
    name: \"recto\"
    description: \"Reads, searches and edits files\"
    cmd: \"/opt/recto\"
    args: [\"serve\",\".\"]
    timeout: 60
";
    check("goose", Scope::User, ".config/goose/config.yaml", content);
}

// https://docs.continue.dev/customize/deep-dives/mcp
#[test]
fn continue_dev() {
    let content = "\
name: recto
version: 0.0.1
schema: v1
mcpServers:
  - name: \"recto\"
    command: \"/opt/recto\"
    args: [\"serve\",\".\"]
";
    check("continue", Scope::User, ".continue/mcpServers/recto.yaml", content);
    check("continue", Scope::Project, "project/.continue/mcpServers/recto.yaml", content);
}

// https://docs.cline.bot/mcp/mcp-overview and https://docs.cline.bot/cli/configuration
#[test]
fn cline() {
    let content =
        server("/home/me/project").replace("      ]\n", "      ],\n      \"disabled\": false\n");
    check("cline", Scope::User, ".cline/data/settings/cline_mcp_settings.json", &content);
}

// https://docs.windsurf.com/windsurf/cascade/mcp
#[test]
fn windsurf() {
    check(
        "windsurf",
        Scope::User,
        ".codeium/windsurf/mcp_config.json",
        &server("/home/me/project"),
    );
}

// https://www.jetbrains.com/help/ai-assistant/acp.html
#[test]
fn jetbrains() {
    let content = r#"{
  "agent_servers": {
    "Codex with recto": {
      "command": "/opt/recto",
      "args": [
        "codex"
      ],
      "env": {}
    }
  }
}
"#;
    check("jetbrains", Scope::User, ".jetbrains/acp.json", content);
}

// https://modelcontextprotocol.io/docs/develop/connect-local-servers
#[test]
fn claude_desktop() {
    let path = ".config/Claude/claude_desktop_config.json";
    check("claude-desktop", Scope::User, path, &server("/home/me/project"));
}

#[test]
fn macos_has_other_directories_for_applications() {
    for (name, path) in [
        ("codex", ".codex/config.toml"),
        ("vscode", "Library/Application Support/Code/User/mcp.json"),
        ("zed", ".config/zed/settings.json"),
        ("goose", ".config/goose/config.yaml"),
        ("claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
    ] {
        assert_eq!(written(name, Scope::User, true)[0].0, path);
    }
}

#[test]
fn every_client_that_is_recognized_can_be_configured() {
    for client in &clients::KNOWN {
        assert!(table::find(client.name).is_some(), "{} has no row", client.name);
    }
    for client in &CLIENTS {
        assert!(
            client.source.starts_with("https://") && !client.user.is_empty(),
            "{}",
            client.name
        );
    }
}
