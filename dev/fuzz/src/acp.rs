//! Checks lines between an editor and an agent: messages that do not concern recto's calls pass
//! unchanged, adding recto's server to a session changes nothing else, and cards are bounded.
//!
//! An input is lines; the first letter names the sender: `a`gent, `e`ditor, `r`ecto.

use recto::acp::merge::Merger;
use recto::acp::updates::MAX_BYTES;
use recto::fuzzing::{MAX_BATCH, MessageKind, SessionParams, Splice, batch, classify};
use serde_json::{Value, json};

/// recto's server, as it is added to a session.
const ENTRY: &str = r#"{"name":"recto","command":"r"}"#;

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut scene = Scene { merger: Merger::default(), knows_calls: false };
    scene.merger.open("s", "/test".into());
    for line in input.split(|byte| *byte == b'\n').take(64) {
        match line {
            [b'a', message @ ..] => scene.agent(message),
            [b'r', update @ ..] => scene.recto(update),
            [b'e', message @ ..] => check_editor(message),
            _ => {}
        }
    }
}

struct Scene {
    merger: Merger,
    /// Whether any message could have been about one of recto's calls.
    knows_calls: bool,
}

impl Scene {
    fn agent(&mut self, line: &[u8]) {
        let parsed = serde_json::from_slice::<Value>(line);
        check_shape(line, parsed.as_ref().ok());
        let Ok(message) = parsed else { return };
        self.knows_calls |= message.to_string().contains("recto");
        let shown = self.merger.from_agent(message.clone(), None);
        if !self.knows_calls {
            return assert_eq!(shown, Some(message), "what is not ours passes");
        }
        let (Value::Object(_), Some(shown)) = (&message, shown.as_ref()) else { return };
        for place in ["/jsonrpc", "/id", "/method", "/params/sessionId", "/params/options"] {
            assert_eq!(shown.pointer(place), message.pointer(place), "{place}");
        }
        let n_grown = shown.to_string().len().saturating_sub(message.to_string().len());
        // A card, truncated arguments, and a preview.
        assert!(n_grown <= MAX_BYTES + (512 << 10), "{n_grown} bytes more");
    }

    fn recto(&mut self, line: &[u8]) {
        let Ok(update) = serde_json::from_slice::<Value>(line) else { return };
        self.knows_calls = true;
        let shown = self.merger.from_recto("s", update.clone());
        assert_eq!(shown["method"], "session/update");
        assert_eq!(shown["params"]["sessionId"], "s");
    }
}

fn check_shape(line: &[u8], parsed: Option<&Value>) {
    match (classify(line), parsed) {
        (MessageKind::Noise, Some(value)) => {
            assert!(!value.is_object() && !value.is_array(), "a message was taken for noise");
        }
        (MessageKind::Message(message), Some(value)) => {
            assert_eq!(message.method.as_deref(), value.get("method").and_then(Value::as_str));
            let id = value.get("id").filter(|id| !id.is_null()).map(Value::to_string);
            assert_eq!(message.id(), id);
        }
        (MessageKind::Batch, Some(value)) => {
            let n_items = value.as_array().map(Vec::len);
            assert_eq!(batch(line).map(|items| items.len()), n_items.filter(|n| *n <= MAX_BATCH));
        }
        _ => {}
    }
}

fn check_editor(line: &[u8]) {
    let parsed = serde_json::from_slice::<Value>(line).ok();
    check_shape(line, parsed.as_ref());
    let MessageKind::Message(message) = classify(line) else { return };
    let Some(params) = message.params else { return };
    let Some(session) = SessionParams::parse(params) else { return };
    let Some(Splice { place, text }) = session.with_server(line, params, ENTRY) else { return };
    let changed = [&line[..place.start], text.as_bytes(), &line[place.end..]].concat();
    let Some(mut expected) = parsed else { return };
    let servers = &mut expected["params"]["mcpServers"];
    match servers {
        Value::Array(servers) => servers.push(json!({"name": "recto", "command": "r"})),
        _ => *servers = json!([{"name": "recto", "command": "r"}]),
    }
    let changed: Value = serde_json::from_slice(&changed).expect("it is still JSON");
    assert_eq!(changed, expected, "the session keeps all else");
}
