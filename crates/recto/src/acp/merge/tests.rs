//! The events that an editor receives about one call, in every order of recto's and the agent's.

#![allow(clippy::unwrap_used)]

mod agents;
mod ids;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use recto_store::Error;

use super::calls::MAX_CALLS;
use super::*;
use crate::acp::updates::tests::{any_arguments, any_json, record, with_call};
use crate::clients;
use recto_tools::tools::Answer;

/// Replays messages and records what the editor receives for each.
struct Scene {
    merger: Merger,
    seen: String,
}

/// A session with codex-acp.
fn scene() -> Scene {
    scene_with("codex-acp")
}

/// A session with an agent of this name.
fn scene_with(agent: &str) -> Scene {
    Scene { merger: merger(agent), seen: String::new() }
}

fn merger(agent: &str) -> Merger {
    let mut merger = Merger::default();
    merger.set_agent(clients::find(agent));
    merger.open("s", "/p".into());
    merger
}

fn read() -> Value {
    json!({"path": "/p/a.txt"})
}

fn edit() -> Value {
    json!({"path": "/p/a.txt", "old_string": "a", "new_string": "b"})
}

fn wrapped(tool: &str, arguments: Value) -> Value {
    json!({"server": "recto", "tool": tool, "arguments": arguments})
}

/// The event of codex-acp for a new call.
fn codex(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute",
        "title": format!("mcp.recto.{tool}"), "status": "in_progress",
        "rawInput": wrapped(tool, arguments), "_meta": {"is_mcp_tool_call": true}})
}

/// The event of codex-acp for a completed call.
fn codex_end(id: &str, tool: &str, arguments: Value, status: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
        "rawInput": wrapped(tool, arguments), "rawOutput": {"result": null, "error": null}})
}

impl Scene {
    fn saw(mut self, who: &str, messages: Vec<Value>) -> Scene {
        if messages.is_empty() {
            self.seen.push_str(&format!("{who}: nothing\n"));
        }
        for message in &messages {
            if message["method"].is_string() {
                record(message);
            }
            let update = ["/params/update", "/params/toolCall"]
                .iter()
                .find_map(|place| message.pointer(place))
                .unwrap();
            let mut line = format!("{who}: {} #", update["sessionUpdate"].as_str().unwrap_or("?"));
            line.push_str(update["toolCallId"].as_str().unwrap());
            for name in ["kind", "title", "status", "locations", "rawInput", "content", "_meta"] {
                if let Some(value) = update.get(name) {
                    line.push_str(&format!(" {name}={value}"));
                }
            }
            self.seen.push_str(&format!("{line}\n"));
        }
        self
    }

    fn start(mut self, id: &str, tool: &str, arguments: Value) -> Scene {
        let update = with_call(tool, arguments, |call| updates::started(id, call));
        let message = self.merger.from_recto("s", update);
        self.saw("recto", vec![message])
    }

    fn end(mut self, id: &str, tool: &str, arguments: Value) -> Scene {
        let answer = Ok(Answer::new("", json!({})));
        let update = with_call(tool, arguments, |call| updates::finished(id, call, &answer));
        let message = self.merger.from_recto("s", update);
        self.saw("recto", vec![message])
    }

    fn fail(mut self, id: &str, tool: &str, arguments: Value) -> Scene {
        let failure = Err(Error::Cancelled.into());
        let update = with_call(tool, arguments, |call| updates::finished(id, call, &failure));
        let message = self.merger.from_recto("s", update);
        self.saw("recto", vec![message])
    }

    fn agent(mut self, update: Value) -> Scene {
        let params = json!({"sessionId": "s", "update": update});
        let message = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
        let messages = self.merger.from_agent(message, None).into_iter().collect();
        self.saw("agent", messages)
    }

    /// Requests permission, which the user grants unless [`Scene::declines`] follows.
    fn asks(mut self, call: Value) -> Scene {
        let id = call["toolCallId"].as_str().unwrap().to_string();
        let option = json!({"optionId": "y", "name": "Allow", "kind": "allow_once"});
        let params = json!({"sessionId": "s", "toolCall": call, "options": [option]});
        let method = "session/request_permission";
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let messages = self.merger.from_agent(message, None).into_iter().collect();
        self.answers(&id, true).saw("asks", messages)
    }

    fn declines(self, id: &str) -> Scene {
        self.answers(id, false)
    }

    fn answers(mut self, id: &str, is_granted: bool) -> Scene {
        let (session, id, request) = ("s".into(), id.into(), "1".into());
        self.merger.answer(&PermissionAnswer { session, id, request, is_granted });
        self
    }

    fn check(self, expected: Expect) {
        expected.assert_eq(&self.seen);
    }
}

#[test]
fn ours_first() {
    scene()
        .start("1", "read_text_file", read())
        .agent(codex("1", "read_text_file", read()))
        .end("1", "read_text_file", read())
        .agent(codex_end("1", "read_text_file", read(), "completed"))
        .check(expect![[r#"
            recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            agent: tool_call_update #1 _meta={"is_mcp_tool_call":true}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: nothing
        "#]]);
}

#[test]
fn the_agents_first() {
    scene()
        .agent(codex("1", "read_text_file", read()))
        .start("1", "read_text_file", read())
        .end("1", "read_text_file", read())
        .agent(codex_end("1", "read_text_file", read(), "completed"))
        .check(expect![[r#"
            agent: tool_call #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: nothing
        "#]]);
}

#[test]
fn permission_is_asked_with_a_preview() {
    scene()
        .agent(codex("1", "edit_text_file", edit()))
        .asks(json!({"toolCallId": "1", "kind": "execute", "status": "pending"}))
        .agent(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"}),
        )
        .start("1", "edit_text_file", edit())
        .end("1", "edit_text_file", edit())
        .agent(codex_end("1", "edit_text_file", edit(), "completed"))
        .check(expect![[r#"
            agent: tool_call #1 kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} _meta={"is_mcp_tool_call":true}
            asks: ? #1 kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}]
            agent: tool_call_update #1 status="in_progress"
            recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
            recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: nothing
        "#]]);
}

#[test]
fn permission_before_any_event() {
    let words = json!([{"type": "content", "content": {"type": "text", "text": "why"}}]);
    let asked = json!({"toolCallId": "1", "title": "mcp__recto__edit_text_file",
        "rawInput": edit(), "content": words});
    let event = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "other",
        "title": "mcp__recto__edit_text_file", "rawInput": {}});
    let scene = scene_with("opencode").asks(asked).agent(event);
    scene.start("1", "edit_text_file", edit()).check(expect![[r#"
        asks: ? #1 kind="edit" title="Edit a.txt" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}},{"type":"content","content":{"type":"text","text":"why"}}]
        agent: tool_call #1 kind="edit" title="Edit a.txt" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
        recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
    "#]]);
}

#[test]
fn declined_calls_end_as_the_agent_says() {
    scene()
        .agent(codex("1", "edit_text_file", edit()))
        .asks(json!({"toolCallId": "1", "kind": "execute", "status": "pending"}))
        .agent(codex_end("1", "edit_text_file", edit(), "failed"))
        .check(expect![[r#"
            agent: tool_call #1 kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} _meta={"is_mcp_tool_call":true}
            asks: ? #1 kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} content=[{"type":"diff","path":"/p/a.txt","oldText":"a","newText":"b","_meta":{"recto":{"excerpt":true}}}]
            agent: tool_call_update #1 kind="edit" title="Edit a.txt" status="failed" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
        "#]]);
}

#[test]
fn arguments_that_come_later() {
    let event = |raw: Value| {
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "other",
            "title": "mcp__recto__read_text_file", "status": "pending", "rawInput": raw})
    };
    let scene = scene_with("opencode").agent(event(json!({})));
    scene.agent(event(read())).agent(event(read())).check(expect![[r#"
        agent: tool_call #1 kind="read" title="Read file" status="pending" locations=[] rawInput={}
        agent: tool_call_update #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
        agent: tool_call_update #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
    "#]]);
}

#[test]
fn without_a_call_id_events_are_matched_by_their_content() {
    let zed = |id: &str, path: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "status": "in_progress",
            "title": "Tool: recto/text_read", "rawInput": wrapped("text_read", json!({"path": path}))})
    };
    let own = updates::own_id;
    let file = |path: &str| json!({"path": path});
    scene()
        .start(&own(1), "text_read", file("a"))
        .start(&own(2), "text_read", file("b"))
        .agent(zed("b1", "b"))
        .agent(zed("c1", "c"))
        .agent(zed("a1", "a"))
        .start(&own(3), "text_read", file("c"))
        .end(&own(3), "text_read", file("c"))
        .end(&own(1), "text_read", file("a"))
        .agent(codex_end("a1", "text_read", file("a"), "completed"))
        .agent(codex_end("c1", "text_read", file("c"), "completed"))
        .agent(codex_end("b1", "text_read", file("b"), "failed"))
        .end(&own(2), "text_read", file("b"))
        .check(expect![[r#"
            recto: tool_call #recto-call-1 kind="read" title="Read a" status="pending" locations=[{"path":"/p/a"}] rawInput={"path":"a"}
            recto: tool_call #recto-call-2 kind="read" title="Read b" status="pending" locations=[{"path":"/p/b"}] rawInput={"path":"b"}
            agent: nothing
            agent: tool_call #c1 kind="read" title="Read c" status="in_progress" locations=[{"path":"/p/c"}] rawInput={"path":"c"}
            agent: nothing
            recto: tool_call_update #c1 kind="read" title="Read c" status="in_progress" locations=[{"path":"/p/c"}] rawInput={"path":"c"}
            recto: tool_call_update #c1 kind="read" title="Read c" status="completed" locations=[{"path":"/p/c"}] content=[]
            recto: tool_call_update #recto-call-1 kind="read" title="Read a" status="completed" locations=[{"path":"/p/a"}] content=[]
            agent: nothing
            agent: nothing
            agent: tool_call_update #recto-call-2 status="failed"
            recto: tool_call_update #recto-call-2 kind="read" title="Read b" status="completed" locations=[{"path":"/p/b"}] content=[]
        "#]]);
}

#[test]
fn equal_calls_are_matched_in_order() {
    let own = updates::own_id;
    scene()
        .agent(codex("x", "read_text_file", read()))
        .agent(codex("y", "read_text_file", read()))
        .start(&own(1), "read_text_file", read())
        .start(&own(2), "read_text_file", read())
        .start(&own(3), "read_text_file", read())
        .check(expect![[r#"
            agent: tool_call #x kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            agent: tool_call #y kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"} _meta={"is_mcp_tool_call":true}
            recto: tool_call_update #x kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #y kind="read" title="Read a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call #recto-call-3 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
        "#]]);
}

#[test]
fn failures_are_reported_by_the_side_that_knows_them() {
    scene()
        .start("1", "read_text_file", read())
        .fail("1", "read_text_file", read())
        .agent(codex_end("1", "read_text_file", read(), "completed"))
        .start("2", "read_text_file", read())
        .agent(codex_end("2", "read_text_file", read(), "failed"))
        .end("2", "read_text_file", read())
        .agent(codex_end("2", "read_text_file", read(), "failed"))
        .check(expect![[r#"
            recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="failed" locations=[{"path":"/p/a.txt"}] content=[{"type":"content","content":{"type":"text","text":"```\nCall was cancelled\n```"}}]
            agent: nothing
            recto: tool_call #2 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            agent: tool_call_update #2 status="failed"
            recto: tool_call_update #2 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            agent: nothing
        "#]]);
}

#[test]
fn parallel_calls_do_not_mix() {
    scene()
        .start("1", "read_text_file", read())
        .agent(codex("2", "edit_text_file", edit()))
        .agent(codex("1", "read_text_file", read()))
        .start("2", "edit_text_file", edit())
        .end("2", "edit_text_file", edit())
        .end("1", "read_text_file", read())
        .check(expect![[r#"
            recto: tool_call #1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            agent: tool_call #2 kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"} _meta={"is_mcp_tool_call":true}
            agent: tool_call_update #1 _meta={"is_mcp_tool_call":true}
            recto: tool_call_update #2 kind="edit" title="Edit a.txt" status="in_progress" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
            recto: tool_call_update #2 kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            recto: tool_call_update #1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        "#]]);
}

#[test]
fn an_agent_that_never_tells() {
    scene()
        .start(&updates::own_id(1), "read_text_file", read())
        .end(&updates::own_id(1), "read_text_file", read())
        .end("forgotten", "read_text_file", read())
        .check(expect![[r#"
            recto: tool_call #recto-call-1 kind="read" title="Read a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt"}
            recto: tool_call_update #recto-call-1 kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
            recto: tool_call #forgotten kind="read" title="Read a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        "#]]);
}

#[test]
fn progress_of_the_agent_passes() {
    let update = |more: Value| {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1"});
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        update
    };
    scene()
        .start("1", "edit_text_file", edit())
        .agent(update(json!({"_meta": {"mcp_output_delta": {"data": "x"}}})))
        .agent(update(json!({"title": null, "kind": "execute"})))
        .end("1", "edit_text_file", edit())
        .check(expect![[r#"
            recto: tool_call #1 kind="edit" title="Edit a.txt" status="pending" locations=[{"path":"/p/a.txt"}] rawInput={"path":"/p/a.txt","old_string":"a","new_string":"b"}
            agent: tool_call_update #1 _meta={"mcp_output_delta":{"data":"x"}}
            agent: nothing
            recto: tool_call_update #1 kind="edit" title="Edit a.txt" status="completed" locations=[{"path":"/p/a.txt"}] content=[]
        "#]]);
}

fn passes(merger: &mut Merger, message: Value) {
    assert_eq!(merger.from_agent(message.clone(), None), Some(message));
}

#[test]
fn events_about_other_tools_pass_unchanged() {
    let mut merger = merger("codex-acp");
    let update = |session: &str, update: Value| {
        json!({"jsonrpc": "2.0", "method": "session/update", "extra": 1,
            "params": {"sessionId": session, "update": update}})
    };
    let start = with_call("read_text_file", read(), |call| updates::started("1", call));
    merger.from_recto("s", start);
    let shell = json!({"sessionUpdate": "tool_call", "toolCallId": "9", "title": "ls",
        "kind": "execute", "rawInput": {"command": "ls"}});
    let end = codex_end("1", "other_tool", json!({}), "completed");
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}});
    for message in [
        update("s", shell.clone()),
        update("other session", json!({"sessionUpdate": "tool_call_update", "toolCallId": "1"})),
        update("other session", end),
        update("s", chunk),
        update("s", json!({"sessionUpdate": "tool_call_update", "toolCallId": "unknown"})),
        update("s", json!({"sessionUpdate": "new_kind", "toolCallId": "1", "title": "x"})),
        update("s", json!(5)),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"update": {"toolCallId": "1"}}}),
        json!({"method": "session/update"}),
        json!({"method": 5}),
        json!([]),
        json!("x"),
        Value::Null,
        json!([update("s", shell), 5]),
    ] {
        passes(&mut merger, message);
    }
    let generic = update("s", codex("1", "read_text_file", read()));
    let mut gone = generic.clone();
    gone["params"]["update"].as_object_mut().unwrap().remove("_meta");
    assert_eq!(merger.from_agent(gone, None), None);
    assert_eq!(merger.from_agent(generic, None).unwrap()["extra"], 1);
}

#[test]
fn memory_is_bounded() {
    let mut merger = merger("codex-acp");
    for number in 0..MAX_CALLS as u64 / 2 + 200 {
        let content = "x".repeat(if number < 200 { 200_000 } else { 10 });
        let arguments = json!({"path": "/p/a", "content": content, "n": number});
        let event = codex(&format!("a{number}"), "write_text_file", arguments);
        let params = json!({"sessionId": "s", "update": event});
        merger.from_agent(json!({"method": "session/update", "params": params}), None);
        let id = updates::own_id(number);
        merger.from_recto("s", with_call("text_read", read(), |call| updates::started(&id, call)));
        merger.open(&id, "/p".into());
        merger.calls.len();
    }
    assert_eq!(merger.calls.len(), MAX_CALLS);
    assert!(merger.roots.len() <= MAX_SESSIONS);
    let long = "x".repeat(1 << 20);
    let start = with_call("text_read", read(), |call| updates::started(&long, call));
    assert_eq!(merger.from_recto("s", start.clone())["params"]["update"], start);
    assert_eq!(merger.from_recto("s", json!("odd"))["params"]["update"], "odd");
    assert_eq!(merger.calls.len(), MAX_CALLS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_message_is_taken(
        members in prop::collection::vec((0..11usize, any_json()), 0..8),
        arguments in any_arguments(),
        tool in 0..tools::ALL.len(),
        agent in 0..clients::KNOWN.len(),
    ) {
        const NAMES: [&str; 11] = ["sessionUpdate", "toolCallId", "title", "kind", "name",
            "status", "locations", "rawInput", "rawOutput", "content", "_meta"];
        let mut merger = merger(clients::KNOWN[agent].name);
        let tool = tools::ALL[tool].name;
        let mut odd = codex("1", tool, Value::Object(arguments));
        for (name, value) in members {
            odd[NAMES[name]] = value;
        }
        for method in ["session/update", "session/request_permission"] {
            let params = json!({"sessionId": "s", "update": odd, "toolCall": odd});
            let message = json!({"method": method, "params": params});
            for _ in 0..2 {
                merger.permission_request(&message);
                merger.from_agent(message.clone(), None);
                merger.from_recto("s", odd.clone());
            }
        }
    }
}
