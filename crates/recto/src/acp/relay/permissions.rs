//! The editor's answers to the agent's permission requests.
//!
//! Some agents do not report a call that the user declined. The relay reads the answer itself, so
//! that a later, equal call is not taken for the declined one, and so that a call without the
//! requested permission is marked. The merger is locked while an event is sent, which may wait for
//! the editor; answers are therefore collected here until the next event.

use std::sync::Mutex;

use recto_store::lru::Lru;
use recto_store::sync::lock;
use serde_json::Value;
use serde_json::value::RawValue;

use super::peek::Peek;
use crate::acp::merge::PermissionAnswer;

/// The maximum number of requests whose answers are awaited.
const MAX_ASKED: usize = 1000;

/// The permission requests of all sessions.
#[derive(Default)]
pub struct Permissions(Mutex<State>);

#[derive(Default)]
struct State {
    /// By the id of the request.
    asked: Lru<String, AskedCall, MAX_ASKED>,
    answered: Vec<PermissionAnswer>,
}

/// A call that permission was requested for.
struct AskedCall {
    session: String,
    id: String,
    /// The options that permit it.
    allowing: Vec<String>,
}

impl AskedCall {
    fn answered(self, request: String, is_granted: bool) -> PermissionAnswer {
        PermissionAnswer { session: self.session, id: self.id, request, is_granted }
    }
}

impl Permissions {
    /// Remembers a message of the agent if it is a permission request.
    pub fn ask(&self, message: &Value) {
        if message["method"] != "session/request_permission" {
            return;
        }
        let text = |pointer| message.pointer(pointer).and_then(Value::as_str).map(String::from);
        let (Some(session), Some(id)) =
            (text("/params/sessionId"), text("/params/toolCall/toolCallId"))
        else {
            return;
        };
        let options = message.pointer("/params/options").and_then(Value::as_array);
        let is_allowing =
            |option: &&Value| option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
        let options = options.into_iter().flatten().filter(is_allowing);
        let allowing = options.filter_map(|option| option["optionId"].as_str().map(String::from));
        let mut asked = AskedCall { session, id, allowing: allowing.collect() };
        let request = message["id"].to_string();
        let mut state = lock(&self.0);
        if let Some(other) = state.asked.remove(&request) {
            // An answer does not say which of the two requests it is for.
            state.answered.push(other.answered(request.clone(), false));
            asked.allowing.clear();
        }
        state.asked.insert(request, asked);
    }

    /// Whether a message of the editor answers a permission request.
    pub fn is_answer(&self, message: &Peek<'_>) -> bool {
        message.id().is_some_and(|id| lock(&self.0).asked.peek(&id).is_some())
    }

    /// Takes the editor's answer.
    pub fn answer(&self, message: &Peek<'_>) {
        let mut state = lock(&self.0);
        let Some(request) = message.id() else { return };
        let Some(asked) = state.asked.remove(&request) else { return };
        let result = message.result.map_or("null", RawValue::get);
        let result: Value = serde_json::from_str(result).unwrap_or_default();
        let chosen = result["outcome"]["optionId"].as_str();
        let is_granted =
            chosen.is_some_and(|chosen| asked.allowing.iter().any(|option| option == chosen));
        state.answered.push(asked.answered(request, is_granted));
    }

    /// Returns the answers since the last time.
    pub fn take_answered(&self) -> Vec<PermissionAnswer> {
        std::mem::take(&mut lock(&self.0).answered)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn everything_but_an_allowing_option_declines() {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let options =
            [option("y", "allow_once"), option("a", "allow_always"), option("n", "reject_once")];
        let selected =
            |id: &str| json!({"result": {"outcome": {"outcome": "selected", "optionId": id}}});
        for (answer, is_declined) in [
            (selected("y"), false),
            (selected("a"), false),
            (selected("n"), true),
            (selected("unknown"), true),
            (json!({"result": {"outcome": {"outcome": "cancelled"}}}), true),
            (json!({"error": {"code": -32601, "message": "Unknown method"}}), true),
        ] {
            let permissions = Permissions::default();
            let params =
                json!({"sessionId": "s", "toolCall": {"toolCallId": "1"}, "options": options});
            let request =
                json!({"id": 7, "method": "session/request_permission", "params": params});
            permissions.ask(&request);
            let mut answer = answer;
            for (id, is_answer) in [(json!("7"), false), (json!(7), true), (json!(7), false)] {
                answer["id"] = id;
                let line = answer.to_string();
                let peek: Peek<'_> = serde_json::from_str(&line).unwrap();
                assert_eq!(permissions.is_answer(&peek), is_answer, "{line}");
                permissions.answer(&peek);
            }
            let answered = PermissionAnswer {
                session: "s".into(),
                id: "1".into(),
                request: "7".into(),
                is_granted: !is_declined,
            };
            assert_eq!(permissions.take_answered(), [answered], "{answer}");
            assert_eq!(permissions.take_answered(), []);
        }
    }
}
