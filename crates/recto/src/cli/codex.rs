//! `recto codex`: `recto acp` with the Codex adapter, and Codex told about the tools.
//!
//! What Codex is told travels in `CODEX_CONFIG`, which the adapter merges over the user's own
//! configuration. Measured with codex-acp 2.6.0 and Codex 0.166.0;
//! `dev/e2e/tests/test_codex_command.py` repeats it.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Options, acp};

/// The adapter that this was tried with.
const PACKAGE: &str = "@agentclientprotocol/codex-acp@2.6.0";

/// What Codex is told about the tools. They are listed to it, but it prefers a shell by habit.
const INSTRUCTIONS: &str = "\
Use the tools of the MCP server recto to read, search, create and edit files, instead of shell \
commands or apply_patch: they see the text that is unsaved in the person's editor, and the person \
sees what they change.";

/// Our tools as Codex calls them. The newest models run tools from JavaScript and are not shown
/// those of MCP servers; a namespace in this list is offered to them directly. (The server's
/// `omit_tools_from` would list them too, but was lost in 3 of 8 sessions: the adapter sets the
/// table `mcp_servers` as a whole beside it.)
const NAMESPACE: &str = "mcp__recto";

/// How many tokens of an answer Codex shows to a model. Models that it knows have this limit; for
/// others it is 3,000, which cuts a page of 32,768 bytes in the middle.
const MAX_OUTPUT_TOKENS: u32 = 10_000;

/// Stand between an editor and Codex, and give Codex tools that go through the editor
#[derive(Args)]
#[command(
    mut_arg("max_read_bytes", |argument| argument.default_value("32768")),
    mut_arg("results", |argument| argument.default_value("text")),
    after_help = "\
Examples:
  recto codex                                  codex-acp on the PATH, else fetched by npx
  recto codex ~/project --read-only            one folder, look but do not touch
  recto codex --agent-command 'node /opt/codex-acp/index.js'

An editor starts it in the agent's place and speaks ACP with it on stdin and stdout. Codex is
configured as always (~/.codex/config.toml, CODEX_CONFIG)."
)]
pub struct Codex {
    /// Folders to serve; the session's if none is named
    #[arg(value_name = "ROOT")]
    folders: Vec<PathBuf>,

    #[command(flatten)]
    options: Options,

    /// Note every message in a file, as a line of JSON each
    #[arg(long, value_name = "FILE")]
    log_messages: Option<PathBuf>,

    /// Start this instead of codex-acp; a command line for the shell
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
            // Else the adapter leaves ours out, and the tools would not reach the editor.
            environment.push(("DISABLE_MCP_CONFIG_FILTERING".into(), "true".into()));
        }
        if std::io::stdin().is_terminal() {
            let command: Vec<_> = agent.iter().map(|part| part.to_string_lossy()).collect();
            eprintln!("recto codex: the adapter is {}", command.join(" "));
        }
        let Codex { folders, options, log_messages, .. } = self;
        acp::Acp { folders, options, log_messages, agent }.run_with(environment)
    }
}

/// The command line of the adapter; `find` tells where a program is.
fn adapter(find: impl Fn(&str) -> Option<PathBuf>) -> Result<Vec<OsString>, String> {
    if let Some(program) = find("codex-acp") {
        return Ok(vec![program.into()]);
    }
    if let Some(npx) = find("npx") {
        return Ok(vec![npx.into(), "-y".into(), PACKAGE.into()]);
    }
    Err(format!(
        "codex-acp, the ACP adapter of Codex, is not on the PATH, and neither is npx, which could \
         fetch it.\nInstall Node 22 or newer, and then, if you like:\n\
         \x20   npm install -g {PACKAGE}\n\
         Or name an adapter: recto codex --agent-command COMMAND"
    ))
}

/// Where a program is that a shell would start.
fn on_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(is_program)
}

/// What the user's own configuration says about things that we would set.
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

    /// Looks for the beginnings of lines. A line that only looks like a setting, in a string over
    /// several lines, does no harm: one of ours is left out.
    fn parse(toml: &str) -> UserConfig {
        let has = |start: &str| toml.lines().any(|line| line.trim_start().starts_with(start));
        UserConfig {
            has_instructions: has("developer_instructions"),
            has_output_limit: has("tool_output_token_limit"),
            names_our_server: has("[mcp_servers.recto]") || has("mcp_servers.recto."),
        }
    }
}

/// `CODEX_CONFIG` for the adapter: what the user has there, and ours where it leaves room.
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
        // The setting replaces the one in the file, and that is the user's.
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
