//! Converts results of calls and definitions of tools to the protocol's types.

use std::sync::Arc;

use recto_tools::budget::ErrorText;
use recto_tools::{AnswerForm, Error, Result, Served};
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorCode, ErrorData, MetaObject, Tool as WireTool,
    ToolAnnotations,
};
use serde_json::{Value, json};

use super::slots::Repeat;
use crate::config::{ClientWire, Errors};
use recto_tools::tools::{Answer, Effect, Tool};

/// Converts the definition of a tool.
pub fn tool(tool: &Tool, wire: ClientWire) -> WireTool {
    let mut annotations = ToolAnnotations::new().open_world(false);
    annotations = match tool.effect() {
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
    definition.title = Some(tool.title.into());
    // A tool with an output schema must return structured content.
    if wire.delivery.form != AnswerForm::Text {
        definition = definition.with_raw_output_schema(Arc::new(tool.output_schema()));
    }
    definition.meta = wire.client.tool_meta(wire.delivery.max_bytes).map(MetaObject);
    definition
}

/// Converts the result of a call, to a JSON-RPC error if so configured.
pub fn result(
    result: Result<Answer>,
    wire: ClientWire,
    served: &Served,
    repeat: Repeat,
) -> Result<CallToolResult, ErrorData> {
    let text = |error: &Error| ErrorText::new(error, served, wire.delivery);
    match result {
        Ok(answer) => Ok(success(answer, wire.delivery.form, repeat)),
        Err(error) if wire.errors == Errors::Jsonrpc => Err(jsonrpc_error(&error, text(&error))),
        Err(error) => Ok(failure(&error, text(&error))),
    }
}

fn success(answer: Answer, form: AnswerForm, repeat: Repeat) -> CallToolResult {
    match form {
        AnswerForm::Text => CallToolResult::success(blocks(answer.head, answer.content)),
        AnswerForm::Structured => {
            let structured = Value::Object(answer.object().into_owned());
            let text = structured.to_string();
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(structured);
            result
        }
        AnswerForm::Both => {
            let Answer { head, content, mut structured, repeated, .. } = answer;
            if let Some(field) = repeated {
                // The content is the last block.
                structured.insert(field.into(), repeat(&content).into());
            }
            let mut result = CallToolResult::success(blocks(head, content));
            result.structured_content = Some(Value::Object(structured));
            result
        }
    }
}

/// Returns the blocks of text. At least one model API rejects empty ones, and some clients join
/// blocks without a separator.
fn blocks(mut head: String, content: String) -> Vec<ContentBlock> {
    if !head.is_empty() && !content.is_empty() {
        head.push('\n');
    }
    let blocks = [head, content].into_iter().filter(|block| !block.is_empty());
    blocks.map(ContentBlock::text).collect()
}

fn failure(error: &Error, text: ErrorText) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text.block())]);
    let mut meta = MetaObject::default();
    // The text has the message and the hint. Some clients show this to the model as well.
    meta.insert("error".into(), json!({"code": error.code()}));
    result.meta = Some(meta);
    result
}

fn jsonrpc_error(error: &Error, text: ErrorText) -> ErrorData {
    let mut described = json!({"code": error.code(), "message": text.message});
    if let Some(hint) = text.hint {
        described["hint"] = hint.into();
    }
    ErrorData::new(ErrorCode(error.code()), text.message, Some(described))
}
