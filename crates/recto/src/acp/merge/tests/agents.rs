//! The events that real agents send about calls of MCP servers. Each test replays a permitted edit, a
//! declined one, and an edit by another server with the same tool names.

use super::*;

fn member(event: Value, name: &str, value: Value) -> Value {
    let mut event = event;
    event[name] = value;
    event
}

fn update(kind: &str, id: &str, more: Value) -> Value {
    let mut update = json!({"sessionUpdate": kind, "toolCallId": id});
    update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    update
}

fn text(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

/// Goose 1.34.
mod goose {
    use super::*;

    const AGENT: &str = "goose";

    fn scene() -> Scene {
        scene_with(AGENT)
    }

    fn begins(server: &str) -> Value {
        let call =
            json!({"toolName": format!("{server}__edit_text_file"), "extensionName": server});
        let title = format!("{server}: edit text file · /p/a.txt");
        update(
            "tool_call",
            "c",
            json!({"title": title, "rawInput": edit(),
            "_meta": {"goose": {"toolCall": call}}}),
        )
    }

    fn asked(server: &str) -> Value {
        json!({"toolCallId": "c", "kind": "other", "status": "pending",
            "title": format!("{server}: edit text file"), "rawInput": edit()})
    }

    /// The model's summary of the call.
    fn summary(server: &str) -> Value {
        let call =
            json!({"toolName": format!("{server}__edit_text_file"), "extensionName": server});
        update(
            "tool_call_update",
            "c",
            json!({"title": "changing a to b",
            "_meta": {"goose": {"toolCall": call}}}),
        )
    }

    #[test]
    fn shows_one_card() {
        let ends = update(
            "tool_call_update",
            "c",
            json!({"status": "completed",
            "content": text("1 edit written"), "rawOutput": {"success": true}}),
        );
        scene()
            .agent(begins("recto"))
            .asks(asked("recto"))
            .agent(summary("recto"))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends)
            .check(expect![[r#"
                agent: tool_call #c kind="edit" title="Edit a.txt" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} _meta={"goose":{"toolCall":{"toolName":"recto__edit_text_file","extensionName":"recto"}}}
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}]
                agent: tool_call_update #c _meta={"goose":{"toolCall":{"toolName":"recto__edit_text_file","extensionName":"recto"}}}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: nothing
            "#]]);
    }

    #[test]
    fn shows_a_declined_edit() {
        let declined = "The user has declined to run this tool.";
        let ends = json!({"status": "failed", "content": text(declined)});
        scene()
            .agent(begins("recto"))
            .asks(asked("recto"))
            .declines("c")
            .agent(update("tool_call_update", "c", ends))
            .agent(summary("recto"))
            .check(expect![[r#"
                agent: tool_call #c kind="edit" title="Edit a.txt" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} _meta={"goose":{"toolCall":{"toolName":"recto__edit_text_file","extensionName":"recto"}}}
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}]
                agent: tool_call_update #c status="failed" content=[{"type":"content","content":{"type":"text","text":"The user has declined to run this tool."}}]
                agent: tool_call_update #c _meta={"goose":{"toolCall":{"toolName":"recto__edit_text_file","extensionName":"recto"}}}
            "#]]);
    }

    #[test]
    fn another_server_is_not_merged() {
        unchanged(AGENT, &[begins("other"), summary("other")], asked("other"));
    }
}

/// Gemini CLI 0.61.
mod gemini {
    use super::*;

    const AGENT: &str = "gemini-cli";

    fn scene() -> Scene {
        scene_with(AGENT)
    }

    fn asked(id: &str, server: &str, content: &str) -> Value {
        json!({"toolCallId": id, "status": "pending", "title": format!("edit_text_file ({server} MCP Server)"),
            "content": text(content), "locations": [], "kind": "other"})
    }

    fn ends(id: &str, server: &str) -> Value {
        update(
            "tool_call_update",
            id,
            json!({"status": "completed",
            "title": format!("edit_text_file ({server} MCP Server)"),
            "content": text(r#"{"path":"/not/an/argument"}"#), "locations": [], "kind": "other"}),
        )
    }

    #[test]
    fn shows_one_card() {
        scene()
            .asks(asked("c", "recto", &edit().to_string()))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends("c", "recto"))
            .check(expect![[r#"
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}},{"type":"content","content":{"type":"text","text":"{\"path\":\"/p/a.txt\",\"old_string\":\"a\",\"new_string\":\"b\"}"}}]
                recto: tool_call #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: nothing
            "#]]);
        // The user permitted the tool for the session.
        let begins = json!({"status": "in_progress", "title": "edit_text_file (recto MCP Server)",
            "content": text(&edit().to_string()), "locations": [], "kind": "other"});
        scene()
            .agent(update("tool_call", "c", begins))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends("c", "recto"))
            .check(expect![[r#"
                agent: tool_call #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: nothing
            "#]]);
    }

    #[test]
    fn shows_one_card_without_arguments() {
        let omitted =
            "[Payload omitted due to length with parameters: path, old_string, new_string]";
        scene()
            .asks(asked("c", "recto", omitted))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends("c", "recto"))
            .check(expect![[r#"
                asks: ? #c kind="edit" title="Edit file" status="pending" locations=[] content=[{"type":"content","content":{"type":"text","text":"[Payload omitted due to length with parameters: path, old_string, new_string]"}}]
                recto: tool_call #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: nothing
            "#]]);
    }

    #[test]
    fn an_edit_is_not_shown_on_the_card_of_a_declined_one() {
        // Gemini does not report a declined call.
        scene()
            .asks(asked("c", "recto", &edit().to_string()))
            .declines("c")
            .asks(asked("d", "recto", &edit().to_string()))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends("d", "recto"))
            .check(expect![[r#"
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}},{"type":"content","content":{"type":"text","text":"{\"path\":\"/p/a.txt\",\"old_string\":\"a\",\"new_string\":\"b\"}"}}]
                asks: ? #d kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}},{"type":"content","content":{"type":"text","text":"{\"path\":\"/p/a.txt\",\"old_string\":\"a\",\"new_string\":\"b\"}"}}]
                recto: tool_call #d kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #d kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: nothing
            "#]]);
    }

    #[test]
    fn another_server_is_not_merged() {
        unchanged(AGENT, &[ends("c", "other")], asked("c", "other", &edit().to_string()));
    }
}

/// Qwen Code 0.24.
mod qwen {
    use super::*;

    const AGENT: &str = "qwen-code";

    fn scene() -> Scene {
        scene_with(AGENT)
    }

    fn meta(server: &str) -> Value {
        json!({"toolName": format!("mcp__{server}__edit_text_file"), "provenance": "mcp", "serverId": server})
    }

    /// A tool whose definition the model was given.
    fn prepares(server: &str) -> Value {
        update(
            "tool_call",
            "c",
            json!({"status": "pending", "title": format!("edit_text_file ({server} MCP Server)"),
            "content": [], "locations": [], "kind": "other", "rawInput": {},
            "_meta": member(meta(server), "phase", "preparing".into())}),
        )
    }

    /// A tool that the model found with a search.
    fn prepares_deferred() -> Value {
        update(
            "tool_call",
            "c",
            json!({"status": "pending", "title": "ToolCall",
            "content": [], "locations": [], "kind": "other", "rawInput": {},
            "_meta": {"toolName": "tool_call", "provenance": "builtin", "phase": "preparing"}}),
        )
    }

    fn asked(server: &str) -> Value {
        json!({"toolCallId": "c", "status": "pending", "title": edit().to_string(), "content": [],
            "locations": [], "kind": "other", "rawInput": edit(),
            "_meta": {"toolName": format!("mcp__{server}__edit_text_file")}})
    }

    /// A call that the user need not permit.
    fn begins(server: &str) -> Value {
        let title = format!("edit_text_file ({server} MCP Server): {}", edit());
        update(
            "tool_call_update",
            "c",
            json!({"status": "in_progress", "title": title, "content": [],
            "locations": [], "kind": "other", "rawInput": edit(), "_meta": meta(server)}),
        )
    }

    fn ends(server: &str, status: &str) -> Value {
        update(
            "tool_call_update",
            "c",
            json!({"status": status, "content": text("its result"),
            "_meta": meta(server), "rawOutput": "its result"}),
        )
    }

    #[test]
    fn shows_one_card() {
        for prepares in [prepares("recto"), prepares_deferred()] {
            for is_asked in [true, false] {
                let own = updates::own_id(1);
                let start = scene().agent(prepares.clone());
                let start = if is_asked {
                    start.asks(asked("recto"))
                } else {
                    start.agent(begins("recto"))
                };
                let seen = start
                    .start(&own, "edit_text_file", edit())
                    .end(&own, "edit_text_file", edit())
                    .agent(ends("recto", "completed"))
                    .seen;
                let cards: Vec<&str> =
                    seen.lines().filter(|line| line.contains(": tool_call #")).collect();
                assert_eq!(cards.len(), 1, "{seen}");
                assert!(seen.lines().all(|line| line.contains(" #c ")), "{seen}");
            }
        }
        scene()
            .agent(prepares_deferred())
            .asks(asked("recto"))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends("recto", "completed"))
            .check(expect![[r#"
                agent: tool_call #c kind="other" title="ToolCall" status="pending" locations=[] rawInput={} content=[] _meta={"toolName":"tool_call","provenance":"builtin","phase":"preparing"}
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}] _meta={"toolName":"mcp__recto__edit_text_file"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: tool_call_update #c _meta={"toolName":"mcp__recto__edit_text_file","provenance":"mcp","serverId":"recto"}
            "#]]);
    }

    #[test]
    fn shows_a_declined_edit() {
        scene()
            .agent(prepares_deferred())
            .asks(asked("recto"))
            .declines("c")
            .agent(ends("recto", "failed"))
            .check(expect![[r#"
                agent: tool_call #c kind="other" title="ToolCall" status="pending" locations=[] rawInput={} content=[] _meta={"toolName":"tool_call","provenance":"builtin","phase":"preparing"}
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}] _meta={"toolName":"mcp__recto__edit_text_file"}
                agent: tool_call_update #c kind="edit" title="Edit a.txt" status="failed" locations=[{"path":"/p/a.txt"}] content=[{"type":"content","content":{"type":"text","text":"its result"}}] _meta={"toolName":"mcp__recto__edit_text_file","provenance":"mcp","serverId":"recto"}
            "#]]);
    }

    #[test]
    fn a_search_for_tools_is_not_merged() {
        let query = "select:mcp__recto__edit_text_file,mcp__recto__read_text_file";
        let search = update(
            "tool_call_update",
            "c",
            json!({"status": "in_progress",
            "title": format!("ToolSearch: {query}"), "rawInput": {"query": query},
            "_meta": {"toolName": "tool_search", "provenance": "builtin"}}),
        );
        unchanged(AGENT, &[prepares_deferred(), search], asked("other"));
    }

    #[test]
    fn another_server_is_not_merged() {
        unchanged(
            AGENT,
            &[prepares("other"), begins("other"), ends("other", "completed")],
            asked("other"),
        );
    }
}

/// Zed's codex-acp 0.16.
mod zed_codex {
    use super::*;

    const AGENT: &str = "codex-acp";

    fn begins(server: &str) -> Value {
        let raw = json!({"server": server, "tool": "edit_text_file", "arguments": edit()});
        update(
            "tool_call",
            "c",
            json!({"title": format!("Tool: {server}/edit_text_file"),
            "status": "in_progress", "rawInput": raw}),
        )
    }

    fn asked(server: &str) -> Value {
        let question = format!("Allow the {server} MCP server to run tool \"edit_text_file\"?");
        let shown = json!([{"name": "path", "value": "/p/a.txt", "display_name": "path"}]);
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
            "tool_title": "Edit file", "tool_description": "Replace one exact string.", "tool_params": edit(),
            "tool_params_display": shown});
        let request = json!({"mode": "form", "_meta": meta, "message": question,
            "requested_schema": {"type": "object", "properties": {}}});
        let raw = json!({"turn_id": "01a1", "server_name": server,
            "id": "mcp_tool_call_approval_c", "request": request});
        let content =
            text(&format!("{question}\n\nServer: {server}\n\nArguments:\n- path: /p/a.txt"));
        json!({"toolCallId": "c", "status": "pending", "title": "Approve Edit file",
            "content": content, "rawInput": raw})
    }

    fn ends(status: &str, output: Value) -> Value {
        update("tool_call_update", "c", json!({"status": status, "rawOutput": output}))
    }

    #[test]
    fn shows_one_card() {
        scene()
            .agent(begins("recto"))
            .asks(asked("recto"))
            .start(&updates::own_id(1), "edit_text_file", edit())
            .end(&updates::own_id(1), "edit_text_file", edit())
            .agent(ends("completed", json!({"content": [], "isError": false})))
            .check(expect![[r#"
                agent: tool_call #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}]
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                recto: tool_call_update #c kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
                agent: nothing
            "#]]);
    }

    #[test]
    fn shows_a_declined_edit() {
        scene()
            .agent(begins("recto"))
            .asks(asked("recto"))
            .declines("c")
            .agent(ends("failed", "user cancelled MCP tool call".into()))
            .check(expect![[r#"
                agent: tool_call #c kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
                asks: ? #c kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}]
                agent: tool_call_update #c status="failed"
            "#]]);
    }

    #[test]
    fn another_server_is_not_merged() {
        unchanged(AGENT, &[begins("other"), ends("completed", json!({}))], asked("other"));
    }
}

/// Calls of other tools whose arguments or titles look like calls of recto's.
mod forged {
    use super::*;

    /// A request of claude-agent-acp to run a tool of another server with these arguments.
    fn asked(arguments: Value) -> Value {
        json!({"toolCallId": "c", "title": "mcp__shell__run", "kind": "execute",
            "status": "pending", "rawInput": arguments, "content": text("$ rm -rf ~"),
            "_meta": {"claudeCode": {"toolName": "mcp__shell__run"}}})
    }

    #[test]
    fn arguments_do_not_make_a_call_one_of_rectos() {
        let question = "Allow the recto MCP server to run tool \"edit_text_file\"?";
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "tool_params": edit()});
        let request = json!({"message": question, "_meta": meta});
        for arguments in [
            wrapped("edit_text_file", edit()),
            member(wrapped("edit_text_file", edit()), "command", "rm -rf ~".into()),
            json!({"server_name": "recto", "request": request}),
            json!({"command": "rm -rf ~", "server_name": "recto", "request": request}),
        ] {
            for agent in ["claude-agent-acp", "codex-acp", "unknown"] {
                unchanged(agent, &[], asked(arguments.clone()));
            }
            let mut unnamed = asked(arguments);
            unnamed.as_object_mut().unwrap().remove("_meta");
            for agent in ["claude-agent-acp", "codex-acp", "unknown"] {
                unchanged(agent, &[], unnamed.clone());
            }
        }
    }

    #[test]
    fn a_command_that_looks_like_a_title_is_not_one_of_rectos() {
        for command in [
            "recto: edit text file",
            "recto: edit text file · x; rm -rf ~",
            "recto/edit_text_file",
            "edit_text_file (recto MCP Server)",
        ] {
            let raw = json!({"command": ["bash", "-lc", command], "cwd": "/p"});
            let mut asked = json!({"toolCallId": "c", "title": command, "kind": "execute",
                "status": "pending", "rawInput": raw});
            for agent in ["codex-acp", "goose", "gemini-cli", "opencode", "unknown"] {
                unchanged(agent, &[], asked.clone());
            }
            asked["kind"] = Value::Null;
            unchanged("codex-acp", &[], asked.clone());
            unchanged("unknown", &[], asked);
        }
        let title = "recto: edit text file · x; rm -rf ~";
        unchanged("goose", &[], json!({"toolCallId": "c", "title": title, "rawInput": edit()}));
    }

    #[test]
    fn a_request_with_the_id_of_a_call_shows_the_tool_that_meta_names() {
        let asked = json!({"toolCallId": "1", "_meta": {"claudeCode": {"toolName": "Bash"}}});
        scene().agent(codex("1", "read_text_file", read())).asks(asked).check(expect![[r#"
            agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            asks: ? #1 _meta={"claudeCode":{"toolName":"Bash"}}
        "#]]);
    }
}

/// Checks that events and a permission request pass unchanged, also while recto runs an equal call.
fn unchanged(agent: &str, events: &[Value], asked: Value) {
    let mut merger = merger(agent);
    let id = updates::own_id(1);
    let start = with_call("edit_text_file", edit(), |call| updates::started(&id, call));
    assert_eq!(merger.from_recto("s", start.clone())["params"]["update"], start);
    let params = json!({"sessionId": "s", "toolCall": asked, "options": []});
    let request = json!({"id": 1, "method": "session/request_permission", "params": params});
    assert!(merger.permission_request(&request).is_none());
    passes(&mut merger, request);
    for update in events {
        let params = json!({"sessionId": "s", "update": update});
        passes(&mut merger, json!({"method": "session/update", "params": params}));
    }
    let answer = Ok(Answer::new("", json!({})));
    let end = with_call("edit_text_file", edit(), |call| updates::finished(&id, call, &answer));
    assert_eq!(merger.from_recto("s", end.clone())["params"]["update"], end);
}
