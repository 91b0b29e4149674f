//! Parses a line as a message.
//!
//! `rmcp` tries one kind of message after another and copies the input for each. Nearly all lines are
//! tool calls, so this kind is tried first, without copies; every other line is left to `rmcp`.

use std::fmt;
use std::marker::PhantomData;

use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage,
    ClientRequest, JsonObject, JsonRpcVersion2_0, MetaObject, RequestId, RequestMetaObject,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Parses a line.
pub fn message(line: &[u8]) -> serde_json::Result<ClientJsonRpcMessage> {
    match serde_json::from_slice::<Object<ToolCall>>(line) {
        Ok(Object(call)) => Ok(call.into_message()),
        Err(_) => serde_json::from_slice(line),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(rename = "method")]
    _method: CallToolRequestMethod,
    params: Object<ToolCallParams>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCallParams {
    name: String,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: Option<JsonObject>,
}

/// An object: without this, serde would accept an array of the values as well.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object<T>, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }

        from.deserialize_map(Members(PhantomData))
    }
}

impl ToolCall {
    fn into_message(self) -> ClientJsonRpcMessage {
        let Object(ToolCallParams { name, arguments, meta }) = self.params;
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments;
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = meta {
            request.extensions.insert(RequestMetaObject(MetaObject(meta)));
        }
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), self.id)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use rmcp::model::{GetMeta, JsonRpcMessage};
    use serde_json::Value;

    use super::*;

    /// Converts a message to a form that can be compared.
    fn comparable(
        message: serde_json::Result<ClientJsonRpcMessage>,
    ) -> Result<(Value, String, String), String> {
        let message = message.map_err(|error| error.to_string())?;
        let meta = match &message {
            JsonRpcMessage::Request(request) => format!("{:?}", request.request.get_meta()),
            _ => String::new(),
        };
        let debug = format!("{message:?}");
        Ok((serde_json::to_value(message).unwrap(), meta, debug))
    }

    /// Checks that a line is parsed as `rmcp` does, and whether it is parsed here.
    fn check(line: &str, is_call: bool) {
        assert_eq!(
            comparable(message(line.as_bytes())),
            comparable(serde_json::from_str(line)),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Object<ToolCall>>(line).is_ok(), is_call, "{line}");
    }

    #[test]
    fn parses_a_call_as_rmcp_does() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","arguments":{}}}"#,
            r#"{"params":{"arguments":null,"name":"a"},"method":"tools/call","id":-7,"jsonrpc":"2.0"}"#,
            r#" {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u00e4\ud83e\udd80",
                "arguments":{"b":[1,-2,3.5,1e300,18446744073709551615,true,null,{"c":""}],"b":2},
                "_meta":{"callId":"7","progressToken":3,"x":{"y":[]}}}} "#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"a","_meta":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{}}}"#,
        ] {
            check(line, true);
        }
    }

    #[test]
    fn other_lines_are_left_to_rmcp() {
        for line in [
            "",
            "7",
            "{",
            "[]",
            r#"["2.0",1,"tools/call",["a",{},null]]"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["a",{},null]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":7}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","task":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"x":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}} 7"#,
        ] {
            check(line, false);
        }
    }

    proptest! {
        /// Members of calls in any order, and some that are invalid.
        #[test]
        fn parses_random_calls_as_rmcp_does(
            members in prop::collection::vec(
                prop::sample::select(vec![
                    r#""jsonrpc":"2.0""#, r#""id":1"#, r#""id":"a""#, r#""id":2.0"#, r#""id":[]"#,
                    r#""method":"tools/call""#, r#""method":"ping""#, r#""params":PARAMS"#,
                    r#""params":null"#, r#""params":{}"#, r#""result":{}"#, r#""x":{"y":[1,{}]}"#,
                ]),
                0..3,
            ),
            params in prop::collection::vec(
                prop::sample::select(vec![
                    r#""name":"a""#, r#""name":null"#, r#""arguments":{"b":[1,2.5,"c"]}"#,
                    r#""arguments":null"#, r#""arguments":"d""#, r#""_meta":{"e":1}"#,
                    r#""_meta":null"#, r#""_meta":[]"#, r#""requestState":"f""#, r#""x":0"#,
                ]),
                0..5,
            ),
            is_whole in any::<bool>(),
        ) {
            let params = format!("{{{}}}", params.join(","));
            let call = r#""jsonrpc":"2.0","method":"tools/call","id":7,"params":PARAMS"#;
            let all: Vec<_> = is_whole.then_some(call).into_iter().chain(members).collect();
            let line = format!("{{{}}}", all.join(",")).replace("PARAMS", &params);
            assert_eq!(comparable(message(line.as_bytes())), comparable(serde_json::from_str(&line)), "{line}");
        }
    }
}
