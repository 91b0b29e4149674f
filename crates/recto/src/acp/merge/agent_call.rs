//! Recognises an agent's event about a call of one of recto's tools.
//!
//! Agents name the tool in many ways: `mcp.recto.text.read`, `Tool: recto/text_read`,
//! `mcp__recto__text_read`, or in members of the raw input. The server's name may have a prefix. An
//! event that does not name the server is not recognised.

use serde_json::{Map, Value};

use recto_tools::tools::{self, Tool};

/// The name of the server that the relay adds.
const SERVER: &str = "recto";

/// A call of one of recto's tools in an agent's event.
#[derive(Clone, Copy)]
pub struct AgentCall<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// Its arguments, unless they are missing or empty: some agents add them later.
    pub arguments: Option<&'a Map<String, Value>>,
}

impl<'a> AgentCall<'a> {
    /// Parses an agent's update, or the `toolCall` of a permission request.
    pub fn parse(update: &'a Value) -> Option<AgentCall<'a>> {
        let raw = update.get("rawInput").and_then(Value::as_object);
        if let Some(raw) = raw
            && let (Some(server), Some(tool)) = (text(raw, "server"), text(raw, "tool"))
        {
            let tool = tools::find(tool).filter(|_| is_ours(server))?;
            let arguments = raw.get("arguments").and_then(Value::as_object);
            return Some(AgentCall { tool, arguments: arguments.filter(|map| !map.is_empty()) });
        }
        let names =
            [update.get("name"), update.get("title"), update.pointer("/_meta/claudeCode/toolName")];
        let tool = names.into_iter().flatten().filter_map(Value::as_str).find_map(tool_of)?;
        Some(AgentCall { tool, arguments: raw.filter(|map| !map.is_empty()) })
    }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

/// Returns the tool that a name with a server refers to.
fn tool_of(name: &str) -> Option<&'static Tool> {
    // Names are short; long titles are not worth comparing.
    let name = name.trim();
    if name.len() > 200 {
        return None;
    }
    tools::ALL.iter().copied().find(|tool| {
        [tool.name, &tool.dotted_name()].into_iter().any(|spelling| {
            name.strip_suffix(spelling).is_some_and(|rest| {
                let server = rest.trim_end_matches(['.', '/', '_', ':', '-', ' ']);
                server.len() < rest.len() && is_ours(server)
            })
        })
    })
}

/// Whether a server's name is recto, optionally after a prefix.
fn is_ours(server: &str) -> bool {
    server
        .strip_suffix(SERVER)
        .is_some_and(|prefix| !prefix.ends_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_the_names_that_agents_use() {
        for (name, tool) in [
            ("mcp.recto.read_text_file", Some("read_text_file")),
            ("mcp.recto.text.read", Some("text_read")),
            ("mcp.recto.text_read", Some("text_read")),
            ("Tool: recto/text_replace", Some("text_replace")),
            ("mcp__recto__multi_edit_text_file", Some("multi_edit_text_file")),
            ("mcp__acp_recto__ReadLines", Some("ReadLines")),
            ("mcp__plugin-recto__file_remove", Some("file_remove")),
            ("recto:ListFiles", Some("ListFiles")),
            ("mcp__recto__edit_text_file", Some("edit_text_file")),
            ("mcp.director.read_text_file", None),
            ("mcp__rector__read_text_file", None),
            ("mcp.other.read_text_file", None),
            ("mcp.recto.unknown", None),
            ("recto", None),
            ("rectoread_text_file", None),
            ("read_text_file", None),
            ("Read src/main.rs", None),
            ("", None),
        ] {
            assert_eq!(tool_of(name).map(|tool| tool.name), tool, "{name}");
        }
    }
}
