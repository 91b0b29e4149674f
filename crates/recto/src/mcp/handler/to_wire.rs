//! The results of calls, and the definitions of tools, in the types of the protocol.

use std::sync::Arc;

use recto_text::{Error, Result};
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorCode, ErrorData, MetaObject, Tool as WireTool,
    ToolAnnotations,
};
use serde_json::{Value, json};

use crate::config::{Errors, Names, Results, Wire};
use crate::tools::{Answer, Effect, Tool};

/// A tool's definition.
pub fn tool(tool: &Tool, wire: Wire) -> WireTool {
    let mut annotations = ToolAnnotations::with_title(tool.title).open_world(false);
    annotations = match tool.effect {
        Effect::Reads => annotations.read_only(true),
        Effect::Changes => annotations.read_only(false).destructive(false),
        Effect::Overwrites => annotations.read_only(false).destructive(true),
    };
    let mut definition = WireTool::new_with_raw(
        wire.names.spell(tool),
        Some(tool.description.into()),
        Arc::new(tool.input_schema()),
    )
    .with_annotations(annotations);
    // A tool with an output schema must answer with structured content.
    if wire.results != Results::Text
        && let Value::Object(output) = (tool.output)()
    {
        definition = definition.with_raw_output_schema(Arc::new(output));
    }
    definition
}

/// A call's result, or its JSON-RPC error.
pub fn result(result: Result<Answer>, wire: Wire) -> Result<CallToolResult, ErrorData> {
    match result {
        Ok(answer) => Ok(success(answer, wire.results)),
        Err(error) if wire.errors == Errors::Jsonrpc => Err(jsonrpc_error(&error, wire.names)),
        Err(error) => Ok(failure(&error, wire.names)),
    }
}

fn success(answer: Answer, results: Results) -> CallToolResult {
    let text = |blocks: Vec<String>| blocks.into_iter().map(ContentBlock::text).collect();
    match results {
        Results::Text => CallToolResult::success(text(answer.text)),
        Results::Structured => {
            let structured = Value::Object(answer.object().into_owned());
            let mut result = CallToolResult::success(text(vec![structured.to_string()]));
            result.structured_content = Some(structured);
            result
        }
        Results::Both => {
            let Answer { text: blocks, mut structured, repeated, .. } = answer;
            if let Some(field) = repeated {
                structured.insert(field.into(), blocks[0].as_str().into());
            }
            let mut result = CallToolResult::success(text(blocks));
            result.structured_content = Some(Value::Object(structured));
            result
        }
    }
}

fn failure(error: &Error, names: Names) -> CallToolResult {
    let text = match hint(error, names) {
        Some(hint) => format!("{error}\n\n{hint}"),
        None => error.to_string(),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    let mut meta = MetaObject::default();
    meta.insert("error".into(), describe(error, names));
    result.meta = Some(meta);
    result
}

fn jsonrpc_error(error: &Error, names: Names) -> ErrorData {
    ErrorData::new(ErrorCode(error.code()), error.to_string(), Some(describe(error, names)))
}

fn describe(error: &Error, names: Names) -> Value {
    let mut described = json!({"code": error.code(), "message": error.to_string()});
    if let Some(hint) = hint(error, names) {
        described["hint"] = hint.into();
    }
    described
}

/// The hint, with tools named as the client knows them. Hints that name no tool stay as they are:
/// they may quote a file, in which `text.replace` is a method.
fn hint(error: &Error, names: Names) -> Option<String> {
    let hint = error.hint()?;
    match error {
        Error::NoSuchLine { .. } => Some(names.respell(hint)),
        _ => Some(hint),
    }
}
