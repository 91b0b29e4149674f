//! Checks lines of a client: they are read within limits and parsed or rejected, and the id for the
//! error is found.
//!
//! An input is the longest line that is read, the size of a buffer, and then a stream.

use std::io::BufReader;
use std::path::Path;

use recto::fuzzing::{CAPABILITY, LineRead, id_of, read_line, sandbox};
use recto_store::context::{Access, Sandbox};
use rmcp::model::ClientJsonRpcMessage;
use serde_json::Value;

/// Checks one input.
pub fn check(input: &[u8]) {
    let [max_bytes, capacity, stream @ ..] = input else { return };
    let max_bytes = 4 * usize::from(*max_bytes);
    let mut reader = BufReader::with_capacity(1 + usize::from(*capacity), stream);
    let mut buffer = Vec::new();
    let n_whole = stream.iter().filter(|byte| **byte == b'\n').count();
    let mut expected = stream.split(|byte| *byte == b'\n').take(n_whole);
    loop {
        let read = read_line(&mut reader, &mut buffer, max_bytes).expect("memory can be read");
        assert!(buffer.len() <= max_bytes + 1);
        match read {
            LineRead::Whole => {
                let line = expected.next().expect("there was a line");
                assert_eq!(buffer, line);
                check_line(line);
            }
            LineRead::TooLong { id } => {
                let line = expected.next().expect("there was a line");
                assert!(line.len() >= max_bytes);
                assert_eq!(id, id_of(line), "pieces give what the whole gives");
                check_line(line);
            }
            LineRead::End => break,
        }
    }
    assert_eq!(expected.next(), None);
}

fn check_line(line: &[u8]) {
    let id = id_of(line);
    assert!(id.as_ref().is_none_or(|id| id.len() <= 256));
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        assert!(serde_json::from_slice::<ClientJsonRpcMessage>(line).is_err());
        return;
    };
    check_id(line, &message, id);
    if let Ok(understood) = serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        let written = serde_json::to_value(&understood).expect("what was read can be written");
        assert_eq!(written.get("method"), message.get("method"));
    }
    let meta = message.pointer("/params/_meta").or(message.get("_meta"));
    if let Some(Value::Object(meta)) = meta {
        let allowed = sandbox(meta);
        let access = |path: &str| allowed.access(Path::new(path), |_| None);
        let _ = (access("/"), access("/test/a.txt"), access("/test/../etc/passwd"));
        assert_eq!(matches!(allowed, Sandbox::Unlimited), says_unlimited(meta));
        assert!(meta.contains_key(CAPABILITY) || access("/x") == Access::Write);
    }
}

/// Returns whether the profile in a call's `_meta` sets no limits, or there is none.
fn says_unlimited(meta: &serde_json::Map<String, Value>) -> bool {
    let Some(state) = meta.get(CAPABILITY) else { return true };
    let said = |path: &str| state.pointer(path).and_then(Value::as_str);
    if state.get("permissionProfile").is_some() {
        return matches!(said("/permissionProfile/type"), Some("disabled" | "external"))
            || said("/permissionProfile/file_system/type") == Some("unrestricted")
            || said("/permissionProfile/file_system/kind") == Some("unrestricted");
    }
    let policy = state.get("sandboxPolicy");
    let kind = policy.and_then(|policy| policy.get("type").or(policy.get("mode")));
    matches!(kind.and_then(Value::as_str), Some("danger-full-access" | "external-sandbox"))
}

/// Checks that scan and parser agree on valid JSON that contains its id once.
fn check_id(line: &[u8], message: &Value, id: Option<String>) {
    let is_plain = |line: &[u8]| !line.contains(&b'\\');
    let n_said = line.windows(4).filter(|window| window == b"\"id\"").count();
    let Some(expected) = message.get("id").filter(|_| is_plain(line) && n_said == 1) else {
        return;
    };
    if expected.is_object() || expected.is_array() {
        return;
    }
    match id {
        Some(id) => assert_eq!(serde_json::from_str::<Value>(&id).expect("it is JSON"), *expected),
        // A longer id is not kept. Numbers may be written with more digits than they have.
        None => assert!(line.len() > 256 && (expected.is_number() || expected.is_string())),
    }
}
