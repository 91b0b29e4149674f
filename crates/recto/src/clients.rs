//! The client table: what recto knows about MCP clients, so that they work without options.
//!
//! A client is recognized by the name that it reports in `initialize` or, without a handshake, with
//! every request. The figures are measured: how many bytes of a result the client passes to its
//! model, and whether the model then sees text, the structured part or both.

use recto_tools::{AnswerForm, Names};
use serde_json::{Map, Value, json};

use crate::limits;

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Client {
    /// The product, for `--client`, the log and `recto doctor`.
    pub name: &'static str,
    /// How the names that it reports begin, in lower case.
    prefixes: &'static [&'static str],
    /// The parts of an answer that it gets.
    pub form: AnswerForm,
    /// The maximum bytes of an answer.
    pub max_answer_bytes: usize,
    /// The spelling of tool names.
    pub names: Names,
    /// Whether it reads the `anthropic/…` keys in the metadata of a tool.
    has_anthropic_keys: bool,
}

const fn text(
    name: &'static str,
    prefixes: &'static [&'static str],
    max_answer_bytes: usize,
) -> Client {
    let (form, names) = (AnswerForm::Text, Names::Underscore);
    Client { name, prefixes, form, max_answer_bytes, names, has_anthropic_keys: false }
}

/// The known clients. The first row that matches is used.
pub static KNOWN: [Client; 9] = [
    text("codex", &["codex"], 32 << 10),
    Client {
        has_anthropic_keys: true,
        ..text("claude-code", &["claude-code", "claude-agent-acp"], 45_000)
    },
    // Also cuts after 2,000 lines, which only very short lines reach.
    text("opencode", &["opencode"], 48_000),
    text("gemini-cli", &["gemini-cli", "gemini"], 40_000),
    // Writes more than 25,000 characters to a file.
    text("qwen-code", &["qwen"], 24_000),
    text("goose", &["goose"], 40_000),
    text("copilot-cli", &["github-copilot", "copilot-cli"], 40_000),
    text("continue", &["continue"], 40_000),
    text("vscode", &["visual studio code", "visual-studio-code", "vscode"], 40_000),
];

/// The row of all other clients.
pub static UNKNOWN: Client =
    Client { form: AnswerForm::Both, ..text("unknown", &[], limits::ANSWER_BYTES) };

/// Finds the row for the name that a client or an ACP agent reports.
pub fn find(reported: &str) -> Option<&'static Client> {
    // Names of npm packages have a scope.
    let name = reported.rsplit('/').next().unwrap_or(reported);
    let begins_with = |prefix: &&str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    KNOWN.iter().find(|client| client.prefixes.iter().any(begins_with))
}

impl Client {
    /// Returns additional metadata for the definition of a tool.
    pub fn tool_meta(&self, max_answer_bytes: usize) -> Option<Map<String, Value>> {
        /// From this size on, Claude Code writes a result to a file, unless the tool allows more.
        const DEFAULT_MAX_CHARS: usize = 50_000;
        let meta = json!({
            // Otherwise the model sees the name of the tool only.
            "anthropic/alwaysLoad": true,
            "anthropic/maxResultSizeChars": max_answer_bytes.max(DEFAULT_MAX_CHARS),
        });
        meta.as_object().filter(|_| self.has_anthropic_keys).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_the_names_that_clients_report() {
        for (reported, name) in [
            ("codex-mcp-client", "codex"),
            ("@agentclientprotocol/codex-acp", "codex"),
            ("claude-code", "claude-code"),
            ("@zed-industries/claude-agent-acp", "claude-code"),
            ("opencode", "opencode"),
            ("OpenCode", "opencode"),
            ("gemini-cli-mcp-client", "gemini-cli"),
            ("qwen-code", "qwen-code"),
            ("goose", "goose"),
            ("github-copilot-developer", "copilot-cli"),
            ("continue-cli-client", "continue"),
            ("Visual Studio Code - Insiders", "vscode"),
            ("Visual-Studio-Code", "vscode"),
        ] {
            assert_eq!(find(reported).map(|client| client.name), Some(name), "{reported}");
        }
        for other in ["", "/", "é", "inspector-client", "my-codex", "Cursor"] {
            assert_eq!(find(other), None, "{other}");
        }
    }

    #[test]
    fn every_row_is_found_by_its_own_name() {
        for client in &KNOWN {
            assert_eq!(find(client.name), Some(client));
        }
    }
}
