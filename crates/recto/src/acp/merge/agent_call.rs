//! Recognises an agent's event about a call of one of recto's tools.
//!
//! Agents name the server and the tool, and pass the arguments, in different members and spellings.
//! [`FORMS`] has one row for each. An event that does not name the server is not recognised.

use std::borrow::Cow;

use serde_json::{Map, Value};

use recto_tools::tools::{self, Tool};

/// The name of the server that the relay adds.
const SERVER: &str = "recto";

/// The maximum length of a name; longer titles are not worth comparing.
const MAX_NAME: usize = 200;

/// The arguments of a call.
type Arguments<'a> = Cow<'a, Map<String, Value>>;

/// A call of one of recto's tools in an agent's event.
#[derive(Clone)]
pub struct AgentCall<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// Its arguments, unless they are missing or empty: some agents add them later.
    pub arguments: Option<Arguments<'a>>,
    /// Whether the event's content only repeats the arguments.
    pub repeats_arguments: bool,
}

/// How an agent names a call.
struct Form {
    /// The member that names the tool, as a JSON pointer.
    name: &'static str,
    /// Returns the tool if the name is that of one of recto's.
    tool: fn(name: &str, event: &Value) -> Option<&'static Tool>,
    /// Returns the arguments.
    arguments: for<'a> fn(event: &'a Value) -> Option<Arguments<'a>>,
    /// Whether an event with this member is about no other tool than the one named in it. Titles
    /// may contain anything.
    is_certain: bool,
    /// Whether the event's content only repeats the arguments, if it has any.
    repeats_arguments: bool,
}

/// Creates a row of [`FORMS`] with the arguments in `rawInput`.
const fn form(
    name: &'static str,
    tool: fn(&str, &Value) -> Option<&'static Tool>,
    is_certain: bool,
) -> Form {
    Form { name, tool, arguments: raw_input, is_certain, repeats_arguments: false }
}

/// The forms, in the order in which they are tried.
const FORMS: &[Form] = &[
    // codex-acp, and Zed's older codex-acp outside permission requests.
    Form {
        arguments: |event| member(event, "/rawInput/arguments"),
        ..form("/rawInput/tool", of_server, true)
    },
    // Permission requests of Zed's older codex-acp.
    Form {
        arguments: |event| member(event, "/rawInput/request/_meta/tool_params"),
        repeats_arguments: true,
        ..form("/rawInput/request/message", in_question, true)
    },
    // claude-agent-acp.
    form("/_meta/claudeCode/toolName", qualified, true),
    // Goose, except in permission requests.
    form("/_meta/goose/toolCall/toolName", qualified, true),
    // Qwen Code. Its titles contain arguments, such as the names of tools to search for.
    form("/_meta/toolName", hashed, true),
    // Permission requests of Goose.
    form("/title", in_words, false),
    // Gemini CLI.
    Form {
        arguments: in_content,
        repeats_arguments: true,
        ..form("/title", in_parentheses, false)
    },
    // opencode and other agents.
    form("/name", qualified, false),
    form("/title", qualified, false),
];

impl<'a> AgentCall<'a> {
    /// Parses an agent's update, or the `toolCall` of a permission request.
    pub fn parse(event: &'a Value) -> Option<AgentCall<'a>> {
        for form in FORMS {
            let Some(name) = event.pointer(form.name).and_then(Value::as_str) else { continue };
            let tool = Some(name.trim())
                .filter(|name| name.len() <= MAX_NAME)
                .and_then(|name| (form.tool)(name, event));
            if let Some(tool) = tool {
                let arguments = (form.arguments)(event).filter(|map| !map.is_empty());
                let repeats_arguments = form.repeats_arguments && arguments.is_some();
                return Some(AgentCall { tool, arguments, repeats_arguments });
            }
            if form.is_certain {
                return None;
            }
        }
        None
    }
}

fn member<'a>(event: &'a Value, pointer: &str) -> Option<Arguments<'a>> {
    event.pointer(pointer)?.as_object().map(Cow::Borrowed)
}

fn raw_input(event: &Value) -> Option<Arguments<'_>> {
    member(event, "/rawInput")
}

/// Returns arguments that are JSON text in the content. At the end of a call the content is its
/// result.
fn in_content(event: &Value) -> Option<Arguments<'_>> {
    let is_before = matches!(event["status"].as_str(), Some("pending" | "in_progress"));
    let text = event.pointer("/content/0/content/text").filter(|_| is_before)?.as_str()?;
    serde_json::from_str(text).ok().map(Cow::Owned)
}

/// `read_text_file`, with the server in a member beside it.
fn of_server(name: &str, event: &Value) -> Option<&'static Tool> {
    let server = event.pointer("/rawInput/server")?.as_str()?;
    tools::find(name).filter(|_| is_ours(server))
}

/// `Allow the recto MCP server to run tool "read_text_file"?`
fn in_question(name: &str, event: &Value) -> Option<&'static Tool> {
    let server = event.pointer("/rawInput/server_name")?.as_str().filter(|name| is_ours(name))?;
    let name = name.strip_prefix("Allow the ")?.strip_prefix(server)?;
    tools::find(name.strip_prefix(" MCP server to run tool \"")?.strip_suffix("\"?")?)
}

/// `recto: read text file`, optionally with ` · path/of/the/file`.
fn in_words(name: &str, _: &Value) -> Option<&'static Tool> {
    let (server, words) = name.split_once(": ")?;
    let words = words.split_once(" · ").map_or(words, |(words, _)| words);
    tools::find(&words.replace(' ', "_")).filter(|_| is_ours(server))
}

/// `read_text_file (recto MCP Server)`
fn in_parentheses(name: &str, _: &Value) -> Option<&'static Tool> {
    let (tool, server) = name.strip_suffix(" MCP Server)")?.split_once(" (")?;
    tools::find(tool).filter(|_| is_ours(server))
}

/// [`qualified`], or with a hash at the end if the client replaced dots: `mcp__recto__text_read_1a2b3c4`.
fn hashed(name: &str, event: &Value) -> Option<&'static Tool> {
    let without_hash = || {
        let (rest, hash) = name.rsplit_once('_')?;
        let is_hash = hash.len() == 7 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
        qualified(rest, event).filter(|_| is_hash)
    };
    qualified(name, event).or_else(without_hash)
}

/// `mcp__recto__text_read`, `mcp.recto.text.read`, `Tool: recto/text.read` and the like.
fn qualified(name: &str, _: &Value) -> Option<&'static Tool> {
    let name = name.strip_prefix("Tool: ").unwrap_or(name);
    tools::ALL.iter().copied().find(|tool| {
        [tool.name, &tool.dotted_name()].into_iter().any(|spelling| {
            name.strip_suffix(spelling).is_some_and(|rest| {
                let server = rest.trim_end_matches(['.', '/', '_', ':', '-', ' ']);
                server.len() < rest.len() && is_ours(server)
            })
        })
    })
}

/// Whether a server's name is recto, optionally after a prefix such as `mcp__`.
fn is_ours(server: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    server.strip_suffix(SERVER).is_some_and(|prefix| {
        prefix.chars().all(is_part) && !prefix.ends_with(|c: char| c.is_alphanumeric())
    })
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
            ("recto: edit text file", Some("edit_text_file")),
            ("recto: edit text file · /p/a: b · c.txt", Some("edit_text_file")),
            ("recto: text.read · a.txt", Some("text_read")),
            ("recto: text read", Some("text_read")),
            ("recto: ReadLines", Some("ReadLines")),
            ("edit_text_file (recto MCP Server)", Some("edit_text_file")),
            ("text.read (recto MCP Server)", Some("text_read")),
            ("text_read (recto MCP Server)", Some("text_read")),
            ("mcp.director.read_text_file", None),
            ("mcp__rector__read_text_file", None),
            ("mcp.other.read_text_file", None),
            ("mcp.recto.unknown", None),
            ("other: edit text file · recto: edit text file", None),
            ("edit_text_file (other MCP Server)", None),
            ("edit_text_file (recto MCP Server) (other MCP Server)", None),
            ("Search for mcp__recto__edit_text_file", None),
            ("select:mcp__recto__edit_text_file,mcp__recto__read_text_file", None),
            ("recto", None),
            ("rectoread_text_file", None),
            ("read_text_file", None),
            ("Read src/main.rs", None),
            ("", None),
        ] {
            let event = serde_json::json!({"title": name});
            assert_eq!(AgentCall::parse(&event).map(|call| call.tool.name), tool, "{name}");
        }
    }

    #[test]
    fn a_name_beats_a_title() {
        let title = "recto: edit text file";
        for (meta, tool) in [
            (serde_json::json!({"toolName": "mcp__recto__text_read_0c3xny5"}), Some("text_read")),
            (serde_json::json!({"toolName": "mcp__recto__text_read"}), Some("text_read")),
            (serde_json::json!({"toolName": "mcp__recto__text_read_x"}), None),
            (serde_json::json!({"toolName": "tool_search"}), None),
            (serde_json::json!({"claudeCode": {"toolName": "ToolSearch"}}), None),
            (serde_json::json!({"goose": {"toolCall": {"toolName": "shell"}}}), None),
            (serde_json::json!({}), Some("edit_text_file")),
        ] {
            let event = serde_json::json!({"title": title, "_meta": meta});
            assert_eq!(AgentCall::parse(&event).map(|call| call.tool.name), tool, "{meta}");
        }
    }
}
