//! Repeated ids: reused for another call, or replayed.

use super::*;

#[test]
fn a_reused_id_refers_to_the_new_call() {
    let shell = json!({"command": ["rm", "-rf", "build"]});
    let begins = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "execute",
        "title": "rm -rf build", "rawInput": shell});
    let asked =
        json!({"toolCallId": "1", "kind": "execute", "title": "rm -rf build", "rawInput": shell});
    let done = || {
        scene()
            .start("1", "read_text_file", read())
            .end("1", "read_text_file", read())
            .agent(codex_end("1", "read_text_file", read(), "completed"))
    };
    done().agent(begins.clone()).asks(asked.clone()).check(expect![[r#"
        recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
        recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        agent: nothing
        agent: tool_call #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
        asks: ? #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
    "#]]);
    done().asks(asked).check(expect![[r#"
        recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
        recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        agent: nothing
        asks: ? #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
    "#]]);
    let write = json!({"path": "/p/b.txt", "content": "new"});
    done()
        .agent(codex("1", "write_text_file", write.clone()))
        .asks(json!({"toolCallId": "1", "kind": "execute", "status": "pending"}))
        .start("1", "write_text_file", write)
        .check(expect![[r#"
            recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: nothing
            agent: tool_call #1 kind="edit" title="Write b.txt" status="in_progress" locations=[{"path":"/p/b.txt"}] rawInput={"path":"/p/b.txt","content":"new"} _meta={"is_mcp_tool_call":true}
            asks: ? #1 kind="edit" title="Write b.txt" status="pending" locations=[{"path":"/p/b.txt"}] rawInput={"path":"/p/b.txt","content":"new"} content=[{"type":"diff","path":"/p/b.txt","newText":"new"},{"type":"content","content":{"type":"text","text":"The current content of the file, if it exists, is not shown."}}]
            recto: tool_call_update #1 kind="edit" title="Write b.txt" status="in_progress" locations=[{"path":"/p/b.txt"}] rawInput={"path":"/p/b.txt","content":"new"}
        "#]]);
    // The agent's first event may come last; it is about the same call.
    scene()
        .start("1", "read_text_file", read())
        .end("1", "read_text_file", read())
        .agent(codex("1", "read_text_file", read()))
        .check(expect![[r#"
            recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: tool_call_update #1 _meta={"is_mcp_tool_call":true}
        "#]]);
}

fn shell() -> Value {
    json!({"toolCallId": "1", "kind": "execute", "title": "rm -rf build",
        "rawInput": {"command": ["rm", "-rf", "build"]}})
}

/// A permission request must show the call that it is about.
#[test]
fn a_permission_request_never_shows_another_call() {
    let begins = |event: Value| {
        let mut event = event;
        event["sessionUpdate"] = "tool_call".into();
        event
    };
    let awaited = || scene().agent(codex("1", "read_text_file", read()));
    let ended = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"});
    awaited()
        .agent(ended.clone())
        .agent(begins(shell()))
        .asks(shell())
        .check(expect![[r#"
            agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            agent: tool_call_update #1 status="failed"
            agent: tool_call #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
            asks: ? #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
        "#]]);
    awaited().agent(ended).asks(json!({"toolCallId": "1", "kind": "execute"})).check(expect![[r#"
        agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
        agent: tool_call_update #1 status="failed"
        asks: ? #1 kind="execute"
    "#]]);
    awaited().asks(shell()).check(expect![[r#"
        agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
        asks: ? #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
    "#]]);
    awaited().agent(begins(shell())).asks(json!({"toolCallId": "1"})).check(expect![[r#"
        agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
        agent: tool_call #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
        asks: ? #1
    "#]]);
    for (name, value) in [
        ("name", json!("shell")),
        ("rawInput", json!("rm -rf build")),
        ("rawInput", json!({"command": "rm"})),
    ] {
        let mut asked = json!({"toolCallId": "1", "kind": "execute"});
        asked[name] = value;
        let shown = awaited().asks(asked).seen;
        assert!(
            shown.lines().nth(1).unwrap().starts_with(r#"asks: ? #1 kind="execute""#),
            "{shown}"
        );
    }
    let other = json!({"toolCallId": "1", "rawInput": wrapped("read_text_file", json!({"path": "/p/b.txt"}))});
    awaited().start("1", "read_text_file", read()).asks(other).check(expect![[r#"
        agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
        recto: tool_call_update #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
        asks: ? #1 rawInput={"server":"recto","tool":"read_text_file","arguments":{"path":"/p/b.txt"}}
    "#]]);
    awaited().asks(json!({"toolCallId": "1", "title": "x"})).check(expect![[r#"
        agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
        asks: ? #1 title="x"
    "#]]);
    awaited()
        .asks(json!({"toolCallId": "1", "title": "mcp.recto.write_text_file"}))
        .check(expect![[r#"
            agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            asks: ? #1 title="mcp.recto.write_text_file"
        "#]]);
    awaited()
        .start("1", "read_text_file", read())
        .asks(shell())
        .end("1", "read_text_file", read())
        .check(expect![[r#"
            agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            asks: ? #1 kind="execute" title="rm -rf build" rawInput={"command":["rm","-rf","build"]}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        "#]]);
}

/// Without arguments, title and kind identify a call, and never one that has ended.
#[test]
fn a_reused_id_starts_another_call() {
    let ended =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"});
    let shell = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "rm -rf build",
        "kind": "execute", "status": "pending"});
    let ask = || json!({"toolCallId": "1"});
    let awaited = || scene().agent(codex("1", "read_text_file", read()));
    let ran = || awaited().start("1", "read_text_file", read()).end("1", "read_text_file", read());
    for before in [awaited(), ran(), awaited().agent(ended.clone()), ran().agent(ended.clone())] {
        let shown = before.agent(shell.clone()).asks(ask()).seen;
        let last: Vec<&str> = shown.lines().rev().take(2).collect();
        let event = r#"agent: tool_call #1 kind="execute" title="rm -rf build" status="pending""#;
        assert_eq!(last, ["asks: ? #1", event], "{shown}");
    }
    let again = |arguments: Value| codex("1", "write_text_file", arguments);
    let write = json!({"path": "/p/b.txt", "content": "b\n"});
    let streamed = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
        "rawInput": wrapped("write_text_file", write.clone())});
    scene()
        .agent(again(json!({"path": "/p/a.txt", "content": "a\n"})))
        .agent(ended)
        .agent(again(json!({})))
        .agent(streamed)
        .asks(ask())
        .check(expect![[r#"
            agent: tool_call #1 kind="edit" title="Write a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","content":"a\n"} _meta={"is_mcp_tool_call":true}
            agent: tool_call_update #1 status="completed"
            agent: tool_call #1 kind="edit" title="Write file" status="in_progress" locations=[] rawInput={"server":"recto","tool":"write_text_file","arguments":{}} _meta={"is_mcp_tool_call":true}
            agent: tool_call_update #1 kind="edit" title="Write b.txt" locations=[{"path":"/p/b.txt"}] rawInput={"path":"/p/b.txt","content":"b\n"}
            asks: ? #1 kind="edit" title="Write b.txt" locations=[{"path":"/p/b.txt"}] rawInput={"path":"/p/b.txt","content":"b\n"} content=[{"type":"diff","path":"/p/b.txt","newText":"b\n"},{"type":"content","content":{"type":"text","text":"The current content of the file, if it exists, is not shown."}}]
        "#]]);
}

#[test]
fn a_replayed_call_with_other_words_keeps_its_diff() {
    let done = || scene().start("1", "edit_text_file", edit()).end("1", "edit_text_file", edit());
    let event = |arguments: Value| {
        let mut event = codex("1", "edit_text_file", arguments);
        event.as_object_mut().unwrap().remove("_meta");
        event
    };
    let mut with_null = edit();
    with_null["replace_all"] = Value::Null;
    let mut cut = event(json!({"path": "/p/a.txt"}));
    cut["status"] = "completed".into();
    let unknown = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "status": "completed",
        "title": "edit_text_file (recto MCP Server)", "rawInput": {"input": edit()}});
    done().agent(event(with_null)).agent(cut).agent(unknown).check(expect![[r#"
        recto: tool_call #1 kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
        recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        agent: nothing
        agent: nothing
        agent: nothing
    "#]]);
    // If in doubt it is another call: it starts with other arguments, or with unknown ones.
    let other = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "status": "completed",
        "title": "edit_text_file (other MCP Server)", "rawInput": {"input": read()}});
    done().agent(other).check(expect![[r#"
        recto: tool_call #1 kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
        recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        agent: tool_call #1 title="edit_text_file (other MCP Server)" status="completed" rawInput={"input":{"path":"/p/a.txt"}}
    "#]]);
    done().agent(event(json!({"path": "/p/b.txt"}))).check(expect![[r#"
        recto: tool_call #1 kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
        recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        agent: tool_call #1 kind="edit" title="Edit b.txt" status="in_progress" locations=[{"path":"/p/b.txt"}] rawInput={"path":"/p/b.txt"}
    "#]]);
}

#[test]
fn a_call_that_runs_while_its_session_is_loaded_keeps_its_card() {
    let own = updates::own_id(1);
    let mut scene = scene()
        .agent(codex("7", "read_text_file", read()))
        .agent(codex("8", "text_read", read()))
        .start(&own, "read_text_file", read());
    scene.merger.reopen("s");
    assert_eq!(scene.merger.calls.len(), 2, "the call and its other id");
    scene
        .end(&own, "read_text_file", read())
        .agent(codex_end("7", "read_text_file", read(), "completed"))
        .check(expect![[r#"
            agent: tool_call #7 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            agent: tool_call #8 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            recto: tool_call_update #7 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #7 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: nothing
        "#]]);
}

#[test]
fn a_session_that_is_loaded_again_shows_its_calls_again() {
    let mut scene = scene()
        .start("1", "read_text_file", read())
        .end("1", "read_text_file", read())
        .agent(codex_end("1", "read_text_file", read(), "completed"));
    scene.merger.reopen("s");
    scene.agent(codex("1", "read_text_file", read())).check(expect![[r#"
        recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
        recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        agent: nothing
        agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
    "#]]);
}
