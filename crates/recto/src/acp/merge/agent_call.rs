//! Recognises an agent's event about a call of one of recto's tools.
//!
//! Agents name the server and the tool, and pass the arguments, in different members and spellings.
//! [`FORMS`] has one row for each. An event that does not name the server is not recognised.
//!
//! A permission request must not show another tool's call as one of recto's, and the model chooses
//! the arguments of every call and often its title. So the name in `_meta`, which only the agent
//! sets, decides. All other forms count only for the agent that is known to use them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::clients::Client;
use recto_tools::tools::{self, Tool};

/// The name of the server that the relay adds.
const SERVER: &str = "recto";

/// The maximum length of a name; longer titles are not worth comparing.
const MAX_NAME: usize = 200;

/// The arguments of a call.
type Arguments<'a> = Cow<'a, Map<String, Value>>;

/// The agent, as in the client table, if its handshake identified it.
pub type Agent = Option<&'static Client>;

/// A call of one of recto's tools in an agent's event.
#[derive(Clone)]
pub struct AgentCall<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// Its arguments, unless they are missing or empty: some agents add them later.
    pub arguments: Option<Arguments<'a>>,
    /// Whether the event's content only repeats the arguments.
    pub repeats_arguments: bool,
    /// Whether the model cannot have chosen the members that name the tool.
    pub is_certain: bool,
}

/// How an agent names a call.
struct Form {
    /// The only agent that uses it; `None` if the model cannot set the member.
    agent: Option<&'static str>,
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

type FindTool = fn(&str, &Value) -> Option<&'static Tool>;

/// Creates a row of [`FORMS`] for a name in `_meta`.
const fn meta(name: &'static str, tool: FindTool) -> Form {
    let (arguments, is_certain, repeats_arguments) = (raw_input, true, false);
    Form { agent: None, name, tool, arguments, is_certain, repeats_arguments }
}

/// Creates a row of [`FORMS`] for a member that only this agent uses so.
const fn only(agent: &'static str, name: &'static str, tool: FindTool) -> Form {
    Form { agent: Some(agent), is_certain: false, ..meta(name, tool) }
}

/// The forms, in the order in which they are tried.
const FORMS: &[Form] = &[
    // claude-agent-acp.
    meta("/_meta/claudeCode/toolName", qualified),
    // Goose, except in permission requests.
    meta("/_meta/goose/toolCall/toolName", qualified),
    // Qwen Code. Its titles contain arguments, such as the names of tools to search for.
    meta("/_meta/toolName", hashed),
    // codex-acp, and Zed's older codex-acp outside permission requests.
    Form {
        arguments: |event| member(event, "/rawInput/arguments"),
        is_certain: true,
        ..only("codex", "/rawInput/tool", of_server)
    },
    // Permission requests of Zed's older codex-acp.
    Form {
        arguments: |event| member(event, "/rawInput/request/_meta/tool_params"),
        is_certain: true,
        repeats_arguments: true,
        ..only("codex", "/rawInput/request/message", in_question)
    },
    // Permission requests of Goose.
    only("goose", "/title", in_words),
    // Gemini CLI.
    Form {
        arguments: in_content,
        repeats_arguments: true,
        ..only("gemini-cli", "/title", in_parentheses)
    },
    only("opencode", "/title", as_title),
];

impl<'a> AgentCall<'a> {
    /// Parses an update of this agent, or the `toolCall` of its permission request.
    pub fn parse(event: &'a Value, agent: Agent) -> Option<AgentCall<'a>> {
        let is_used = |form: &&Form| form.agent.is_none_or(|name| is_agent(agent, name));
        for form in FORMS.iter().filter(is_used) {
            let Some(name) = event.pointer(form.name).and_then(Value::as_str) else { continue };
            if let Some(tool) = form.find(name, event) {
                let arguments = (form.arguments)(event).filter(|map| !map.is_empty());
                let repeats_arguments = form.repeats_arguments && arguments.is_some();
                let is_certain = form.is_certain;
                return Some(AgentCall { tool, arguments, repeats_arguments, is_certain });
            }
            if form.is_certain {
                return None;
            }
        }
        None
    }
}

/// Whether `_meta` says that an event is about a tool that is not recto's.
pub fn names_other_tool(event: &Value) -> bool {
    FORMS.iter().filter(|form| form.agent.is_none()).any(|form| {
        let name = event.pointer(form.name).and_then(Value::as_str);
        name.is_some_and(|name| form.find(name, event).is_none())
    })
}

impl Form {
    fn find(&self, name: &str, event: &Value) -> Option<&'static Tool> {
        let name = Some(name.trim()).filter(|name| name.len() <= MAX_NAME)?;
        (self.tool)(name, event)
    }
}

fn is_agent(agent: Agent, name: &str) -> bool {
    agent.is_some_and(|agent| agent.name == name)
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

/// `read_text_file`, with the server in a member beside it. The arguments of another tool can look
/// the same, but its title does not name one of recto's.
fn of_server(name: &str, event: &Value) -> Option<&'static Tool> {
    let server = event.pointer("/rawInput/server")?.as_str()?;
    let tool = tools::find(name).filter(|_| is_ours(server))?;
    let is_same = |title| qualified(title, event).is_some_and(|named| named.name == tool.name);
    let is_titled_so = event["title"].as_str().is_none_or(is_same);
    let is_whole = has_only(&event["rawInput"], &["server", "tool", "arguments"]);
    (is_titled_so && is_whole).then_some(tool)
}

/// `Allow the recto MCP server to run tool "read_text_file"?`
fn in_question(name: &str, event: &Value) -> Option<&'static Tool> {
    let raw = &event["rawInput"];
    let server = raw["server_name"].as_str().filter(|name| is_ours(name))?;
    let name = name.strip_prefix("Allow the ")?.strip_prefix(server)?;
    let tool = tools::find(name.strip_prefix(" MCP server to run tool \"")?.strip_suffix("\"?")?)?;
    let request = &raw["request"];
    let is_same = |title: &str| [tool.title, "MCP tool call"].contains(&title);
    let titled = |title: &str| title.strip_prefix("Approve ").is_some_and(is_same);
    let is_titled_so = event["title"].as_str().is_none_or(titled);
    let is_whole = has_only(raw, &["turn_id", "server_name", "id", "request"])
        && has_only(request, &["mode", "_meta", "message", "requested_schema"])
        && request["_meta"]["codex_approval_kind"] == "mcp_tool_call";
    (is_titled_so && is_whole).then_some(tool)
}

/// Whether an object has no other members than these.
fn has_only(object: &Value, names: &[&str]) -> bool {
    object.as_object().is_some_and(|object| object.keys().all(|name| names.contains(&&**name)))
}

/// `recto: read text file`, optionally with ` · ` and the path as in the arguments.
fn in_words(name: &str, event: &Value) -> Option<&'static Tool> {
    let (server, words) = name.split_once(": ").filter(|_| has_no_kind(event))?;
    let (words, path) =
        words.split_once(" · ").map_or((words, None), |(words, path)| (words, Some(path)));
    let is_argument = |path| {
        ["path", "file_path"].iter().any(|name| event["rawInput"][*name].as_str() == Some(path))
    };
    let is_ours = is_ours(server) && path.is_none_or(is_argument);
    tools::find(&words.replace(' ', "_")).filter(|_| is_ours)
}

/// `read_text_file (recto MCP Server)`
fn in_parentheses(name: &str, event: &Value) -> Option<&'static Tool> {
    let (tool, server) = name.strip_suffix(" MCP Server)")?.split_once(" (")?;
    tools::find(tool).filter(|_| is_ours(server) && has_no_kind(event))
}

/// [`qualified`], as a title.
fn as_title(name: &str, event: &Value) -> Option<&'static Tool> {
    qualified(name, event).filter(|_| has_no_kind(event))
}

/// Whether the agent does not know what the tool does, as with all tools of MCP servers. The title
/// of a command can be anything.
fn has_no_kind(event: &Value) -> bool {
    event["kind"].as_str().is_none_or(|kind| kind == "other")
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
    use serde_json::json;

    use super::*;
    use crate::clients;

    fn parsed(event: &Value, agent: &str) -> Option<&'static str> {
        AgentCall::parse(event, clients::find(agent)).map(|call| call.tool.name)
    }

    #[test]
    fn recognises_the_titles_that_agents_use() {
        for (agent, title, tool) in [
            ("opencode", "recto_read_text_file", Some("read_text_file")),
            ("opencode", "mcp.recto.read_text_file", Some("read_text_file")),
            ("opencode", "mcp.recto.text.read", Some("text_read")),
            ("opencode", "mcp.recto.text_read", Some("text_read")),
            ("opencode", "Tool: recto/text_replace", Some("text_replace")),
            ("opencode", "mcp__recto__multi_edit_text_file", Some("multi_edit_text_file")),
            ("opencode", "mcp__acp_recto__ReadLines", Some("ReadLines")),
            ("opencode", "mcp__plugin-recto__file_remove", Some("file_remove")),
            ("opencode", "recto:ListFiles", Some("ListFiles")),
            ("opencode", "mcp.director.read_text_file", None),
            ("opencode", "mcp__rector__read_text_file", None),
            ("opencode", "mcp.other.read_text_file", None),
            ("opencode", "mcp.recto.unknown", None),
            ("opencode", "Search for mcp__recto__edit_text_file", None),
            ("opencode", "select:mcp__recto__edit_text_file,mcp__recto__read_text_file", None),
            ("opencode", "recto: edit text file", None),
            ("opencode", "edit_text_file (recto MCP Server)", None),
            ("goose", "recto: edit text file", Some("edit_text_file")),
            ("goose", "recto: edit text file · /p/a: b · c.txt", Some("edit_text_file")),
            ("goose", "recto: text.read", Some("text_read")),
            ("goose", "recto: text read", Some("text_read")),
            ("goose", "recto: ReadLines", Some("ReadLines")),
            ("goose", "recto: edit text file · a.txt", None),
            ("goose", "recto: edit text file · /p/a: b · c.txt; rm -rf ~", None),
            ("goose", "other: edit text file · recto: edit text file", None),
            ("goose", "mcp__recto__read_text_file", None),
            ("gemini-cli", "edit_text_file (recto MCP Server)", Some("edit_text_file")),
            ("gemini-cli", "text.read (recto MCP Server)", Some("text_read")),
            ("gemini-cli", "text_read (recto MCP Server)", Some("text_read")),
            ("gemini-cli", "edit_text_file (other MCP Server)", None),
            ("gemini-cli", "edit_text_file (recto MCP Server) (other MCP Server)", None),
            ("gemini-cli", "mcp__recto__read_text_file", None),
            ("opencode", "recto", None),
            ("opencode", "rectoread_text_file", None),
            ("opencode", "read_text_file", None),
            ("opencode", "Read src/main.rs", None),
            ("opencode", "", None),
        ] {
            let event = json!({"title": title, "rawInput": {"path": "/p/a: b · c.txt"}});
            assert_eq!(parsed(&event, agent), tool, "{agent}: {title}");
            let mut shell = event;
            shell["kind"] = "execute".into();
            assert_eq!(parsed(&shell, agent), None, "{agent} runs a command: {title}");
        }
    }

    #[test]
    fn forms_count_only_for_the_agent_that_uses_them() {
        let raw = json!({"server": "recto", "tool": "text_read", "arguments": {"path": "a"}});
        let question = "Allow the recto MCP server to run tool \"text_read\"?";
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "tool_params": {"path": "a"}});
        let asked =
            json!({"server_name": "recto", "request": {"message": question, "_meta": meta}});
        for (event, user) in [
            (json!({"rawInput": raw}), "codex"),
            (json!({"rawInput": asked}), "codex"),
            (json!({"title": "recto: text read"}), "goose"),
            (json!({"title": "text_read (recto MCP Server)"}), "gemini-cli"),
            (json!({"title": "recto_text_read"}), "opencode"),
        ] {
            for agent in clients::KNOWN.iter().map(|client| client.name).chain(["unknown"]) {
                let tool = (agent == user).then_some("text_read");
                assert_eq!(parsed(&event, agent), tool, "{agent}: {event}");
            }
        }
    }

    #[test]
    fn arguments_cannot_name_the_tool() {
        let raw = json!({"server": "recto", "tool": "text_read", "arguments": {"path": "a"}});
        let question = "Allow the recto MCP server to run tool \"text_read\"?";
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "tool_params": {"path": "a"}});
        let asked =
            json!({"server_name": "recto", "request": {"message": question, "_meta": meta}});
        let with = |object: &Value, pointer: &str, name: &str, value: Value| {
            let mut object = object.clone();
            object.pointer_mut(pointer).expect("it exists")[name] = value;
            object
        };
        let shell = || json!("rm -rf ~");
        for event in [
            json!({"rawInput": with(&raw, "", "command", shell())}),
            json!({"rawInput": raw, "title": "rm -rf ~"}),
            json!({"rawInput": raw, "title": "mcp.recto.text_append"}),
            json!({"rawInput": raw, "_meta": {"claudeCode": {"toolName": "mcp__shell__run"}}}),
            json!({"rawInput": asked, "title": "rm -rf ~"}),
            json!({"rawInput": asked, "title": "Approve rm -rf ~"}),
            json!({"rawInput": asked, "title": "Approve Write file"}),
            json!({"rawInput": with(&asked, "", "command", shell())}),
            json!({"rawInput": with(&asked, "/request", "command", shell())}),
            json!({"rawInput": with(&asked, "/request/_meta", "codex_approval_kind", shell())}),
            json!({"rawInput": asked, "_meta": {"claudeCode": {"toolName": "mcp__shell__run"}}}),
        ] {
            assert_eq!(parsed(&event, "codex"), None, "{event}");
        }
    }

    #[test]
    fn a_name_in_meta_decides() {
        let title = "recto: edit text file";
        for (meta, tool) in [
            (json!({"toolName": "mcp__recto__text_read_0c3xny5"}), Some("text_read")),
            (json!({"toolName": "mcp__recto__text_read"}), Some("text_read")),
            (json!({"toolName": "mcp__recto__text_read_x"}), None),
            (json!({"toolName": "tool_search"}), None),
            (json!({"claudeCode": {"toolName": "ToolSearch"}}), None),
            (json!({"goose": {"toolCall": {"toolName": "shell"}}}), None),
            (json!({}), Some("edit_text_file")),
        ] {
            let event = json!({"title": title, "_meta": meta});
            assert_eq!(parsed(&event, "goose"), tool, "{meta}");
            assert_eq!(names_other_tool(&event), tool.is_none(), "{meta}");
        }
    }
}
