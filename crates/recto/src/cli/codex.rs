//! `recto codex`: runs `recto acp` with the Codex adapter and configures Codex to use the tools.
//!
//! The configuration is passed in `CODEX_CONFIG`, which the adapter merges over the user's own.
//! Tested with codex-acp 2.6.0 and Codex 0.166.0 by `dev/e2e/tests/test_codex_command.py`.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::acp;
use super::options::Options;

/// The tested version of the adapter.
const PACKAGE: &str = "@agentclientprotocol/codex-acp@2.6.0";

/// Instructions for Codex, which otherwise prefers shell commands to the listed tools.
const INSTRUCTIONS: &str = "\
Use the tools of the MCP server recto to read, search, create and edit files, instead of shell \
commands or apply_patch: they see unsaved text in the user's editor, and the user sees their \
changes.";

/// Codex's namespace for recto's tools. The newest models run tools from JavaScript and do not see
/// those of MCP servers; namespaces in this list are offered to them directly. (The server's
/// `omit_tools_from` would list them too, but was lost in 3 of 8 sessions, because the adapter
/// overwrites the whole table `mcp_servers`.)
const NAMESPACE: &str = "mcp__recto";

/// How many tokens of a tool's output Codex shows to a model. This is its default for known models;
/// for others it is 3,000, which would truncate a page of 32,768 bytes.
const MAX_OUTPUT_TOKENS: u32 = 10_000;

/// Relay ACP between an editor and Codex, and give Codex tools that use the editor's buffers
#[derive(Args)]
#[command(
    mut_arg("client", |argument| argument.default_value("codex").hide(true)),
    after_help = "\
Examples:
  recto codex                                  run codex-acp from PATH, or fetch it with npx
  recto codex ~/project --read-only            serve one directory, read-only
  recto codex --agent-command 'node /opt/codex-acp/index.js'

Configure your editor to run this command as its agent. It speaks ACP on stdin and stdout. Codex
still reads its own configuration (~/.codex/config.toml, CODEX_CONFIG)."
)]
pub struct Codex {
    /// Directories to serve [default: the session's directory]
    #[arg(value_name = "ROOT")]
    folders: Vec<PathBuf>,

    #[command(flatten)]
    options: Options,

    /// Append every message to a file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    log_messages: Option<PathBuf>,

    /// Shell command to run instead of codex-acp
    #[arg(long, value_name = "COMMAND")]
    agent_command: Option<OsString>,
}

impl Codex {
    pub fn run(self) -> Result<ExitCode, String> {
        let agent = match &self.agent_command {
            Some(command) => vec!["/bin/sh".into(), "-c".into(), command.clone()],
            None => adapter(on_path)?,
        };
        let user = UserConfig::read();
        let config = codex_config(std::env::var_os("CODEX_CONFIG").as_deref(), &user)?;
        let mut environment = vec![("CODEX_CONFIG".into(), config.into())];
        if user.names_our_server {
            // Otherwise the adapter would drop our server in favour of the user's, which has no
            // connection to the editor.
            environment.push(("DISABLE_MCP_CONFIG_FILTERING".into(), "true".into()));
        }
        if std::io::stdin().is_terminal() {
            let command: Vec<_> = agent.iter().map(|part| part.to_string_lossy()).collect();
            eprintln!("recto codex: using the adapter {}", command.join(" "));
        }
        let Codex { folders, options, log_messages, .. } = self;
        acp::Acp { folders, options, log_messages, agent }.run_with(environment)
    }
}

/// Returns the command line of the adapter. `find` locates a program.
fn adapter(find: impl Fn(&str) -> Option<PathBuf>) -> Result<Vec<OsString>, String> {
    if let Some(program) = find("codex-acp") {
        return Ok(vec![program.into()]);
    }
    if let Some(npx) = find("npx") {
        return Ok(vec![npx.into(), "-y".into(), PACKAGE.into()]);
    }
    Err(format!(
        "cannot find codex-acp, the ACP adapter of Codex, or npx, which could fetch it, on PATH.\n\
         Install Node 22 or newer, and optionally the adapter:\n\
         \x20   npm install -g {PACKAGE}\n\
         Or specify an adapter: recto codex --agent-command COMMAND"
    ))
}

/// Finds an executable on `PATH`.
fn on_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(is_program)
}

/// Which of our settings the user's own configuration already contains.
#[derive(Debug, Default)]
struct UserConfig {
    has_instructions: bool,
    has_output_limit: bool,
    names_our_server: bool,
}

impl UserConfig {
    fn read() -> UserConfig {
        let home = std::env::var_os("CODEX_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".codex")));
        let text = home.and_then(|home| std::fs::read_to_string(home.join("config.toml")).ok());
        UserConfig::parse(&text.unwrap_or_default())
    }

    /// Matches the beginnings of lines. A false match, inside a multi-line string, only means that
    /// recto does not add its own setting.
    fn parse(toml: &str) -> UserConfig {
        let has = |start: &str| toml.lines().any(|line| line.trim_start().starts_with(start));
        UserConfig {
            has_instructions: has("developer_instructions"),
            has_output_limit: has("tool_output_token_limit"),
            names_our_server: has("[mcp_servers.recto]") || has("mcp_servers.recto."),
        }
    }
}

/// Returns `CODEX_CONFIG` for the adapter: the user's value, with missing settings added.
fn codex_config(own: Option<&OsStr>, user: &UserConfig) -> Result<String, String> {
    let mut config = match own.filter(|own| !own.is_empty()) {
        None => Map::new(),
        Some(own) => match own.to_str().map(serde_json::from_str) {
            Some(Ok(Value::Object(own))) => own,
            _ => return Err("CODEX_CONFIG is not a JSON object".into()),
        },
    };
    match config.get("developer_instructions") {
        Some(Value::String(own)) => {
            let both = format!("{own}\n\n{INSTRUCTIONS}");
            config.insert("developer_instructions".into(), both.into());
        }
        // Otherwise ours would replace the user's instructions in the file.
        None if !user.has_instructions => {
            config.insert("developer_instructions".into(), INSTRUCTIONS.into());
        }
        _ => {}
    }
    if !user.has_output_limit {
        config.entry("tool_output_token_limit").or_insert(MAX_OUTPUT_TOKENS.into());
    }
    let features = config.entry("features").or_insert(json!({}));
    if let Some(features) = features.as_object_mut() {
        let code_mode = features.entry("code_mode").or_insert(json!({}));
        if let Value::Bool(is_enabled) = *code_mode {
            *code_mode = json!({"enabled": is_enabled});
        }
        if let Some(code_mode) = code_mode.as_object_mut() {
            let direct = code_mode.entry("direct_only_tool_namespaces").or_insert(json!([]));
            if let Some(direct) = direct.as_array_mut() {
                direct.push(NAMESPACE.into());
            }
        }
    }
    Ok(Value::Object(config).to_string())
}

#[cfg(test)]
mod tests;
