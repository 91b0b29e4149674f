//! `recto serve` with the tools, prompts and resources that the MCP conformance suite calls by name.
//!
//! recto's own handler and HTTP transport serve it. Requests that do not name anything in
//! `fixtures.json` are answered by recto. See `dev/e2e/conformance`.
#![allow(deprecated, reason = "the suite tests logging and sampling")]

mod input;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;

use input::{Inputs, Round};
use recto::mcp::Handler;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CustomRequest, CustomResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptsCapability,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, Resource,
    ServerConfig, ServerNotification, ServerRequest, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, ToolsCapability, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

/// The time between notifications.
const PAUSE: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    recto::cli::serve_with(|recto| Fixtures { recto })
}

/// What the suite calls by name.
#[derive(Deserialize)]
struct Table {
    tools: BTreeMap<String, ToolFixture>,
    prompts: BTreeMap<String, PromptFixture>,
    resources: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ToolFixture {
    schema: Option<Map<String, Value>>,
    /// What is sent before the answer.
    notifications: Vec<Value>,
    /// A request to the client.
    asks: Option<Value>,
    /// What the client must answer first, in each round.
    rounds: Vec<Round>,
    /// The text of the answer, if it depends on the client's answers.
    says: Option<String>,
    /// The list whose change is reported.
    changes: Option<Changed>,
    result: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptFixture {
    #[serde(default)]
    arguments: Vec<Value>,
    #[serde(default)]
    rounds: Vec<Round>,
    messages: Value,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Changed {
    Tools,
    Prompts,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("fixtures.json")).expect("fixtures.json has this form")
});

static CHANGES: LazyLock<broadcast::Sender<Changed>> = LazyLock::new(|| broadcast::channel(16).0);

/// Fixtures, and recto for everything else.
struct Fixtures {
    recto: Handler,
}

impl ToolFixture {
    fn definition(&self, name: &str) -> Tool {
        let empty = || json!({"type": "object", "properties": {}});
        let schema = self.schema.clone().map_or_else(empty, Value::Object);
        parsed(json!({
            "name": name, "description": "For the conformance suite", "inputSchema": schema,
        }))
    }

    /// Sends the notifications, with the token of the request.
    async fn notify(&self, context: &RequestContext<RoleServer>) {
        let is_stateless = context.meta.protocol_version().is_some();
        let token = context.meta.get_progress_token();
        for notification in &self.notifications {
            let is_log = notification["method"] == "notifications/message";
            let is_wanted = match is_log {
                true => !is_stateless || context.meta.log_level().is_some(),
                false => token.is_some(),
            };
            if is_wanted {
                let token = serde_json::to_string(&token).expect("tokens are JSON");
                let sent = notification.to_string().replace("\"{token}\"", &token);
                let sent: ServerNotification =
                    serde_json::from_str(&sent).expect("it is a notification");
                let _ = context.peer.send_notification(sent).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.recto.get_info();
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        info.capabilities.prompts = Some(prompts);
        info.capabilities.tools = Some(tools);
        info.capabilities.logging = Some(Map::new());
        info
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.recto.list_tools(request, context).await?;
        listed.tools.extend(TABLE.tools.iter().map(|(name, tool)| tool.definition(name)));
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TABLE.tools.get(name).map(|tool| tool.definition(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TABLE.tools.get(&*request.name) else {
            return self.recto.call_tool(request, context).await;
        };
        tool.notify(&context).await;
        if let Some(changed) = tool.changes {
            let _ = CHANGES.send(changed);
        }
        let arguments = request.arguments.unwrap_or_default();
        let answer = if let Some(asked) = &tool.asks {
            let asked: ServerRequest = parsed(filled(asked, &arguments));
            let answered = context.peer.send_request(asked).await;
            let answered =
                answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            serde_json::to_string(&answered).expect("answers are JSON")
        } else {
            let inputs =
                Inputs { responses: request.input_responses, state: request.request_state };
            match inputs.answer(&request.name, &tool.rounds, &context)? {
                Ok(answer) => answer,
                Err(required) => return Ok(required.into()),
            }
        };
        if let Some(says) = &tool.says {
            let text = says.replace("{answer}", &answer);
            return Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into());
        }
        Ok(complete::<CallToolResult>(tool.result.clone().expect("a tool has a result")).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = |(name, prompt): (&String, &PromptFixture)| -> Prompt {
            let description = "For the conformance suite";
            parsed(json!({
                "name": name, "description": description, "arguments": prompt.arguments,
            }))
        };
        Ok(ListPromptsResult::with_all_items(TABLE.prompts.iter().map(prompt).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(prompt) = TABLE.prompts.get(&request.name) else {
            return self.recto.get_prompt(request, context).await;
        };
        let inputs = Inputs { responses: request.input_responses, state: request.request_state };
        let answer = match inputs.answer(&request.name, &prompt.rounds, &context)? {
            Ok(answer) => answer,
            Err(required) => return Ok(required.into()),
        };
        let mut arguments = request.arguments.unwrap_or_default();
        arguments.insert("answer".into(), answer.into());
        let messages = filled(&prompt.messages, &arguments);
        Ok(complete::<GetPromptResult>(json!({"messages": messages})).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut listed = self.recto.list_resources(request, context).await?;
        let resource = |(uri, resource): (&String, &Value)| -> Resource {
            let description = "For the conformance suite";
            parsed(json!({
                "uri": uri, "name": uri, "description": description, "mimeType": resource["mimeType"],
            }))
        };
        listed.resources.extend(TABLE.resources.iter().map(resource));
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.recto.list_resource_templates(request, context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match TABLE.resources.get(&request.uri) {
            Some(content) => {
                Ok(complete::<ReadResourceResult>(json!({"contents": [content]})).into())
            }
            None => self.recto.read_resource(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        match &request.r#ref {
            Reference::Prompt(_) => Ok(CompleteResult::new(CompletionInfo::default())),
            _ => self.recto.complete(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match request.uri.starts_with("test://") {
            true => Ok(()),
            false => self.recto.subscribe(request, context).await,
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.recto.unsubscribe(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = self.recto.accepted_subscription_filter(requested)?;
        accepted.tools_list_changed = requested.tools_list_changed;
        accepted.prompts_list_changed = requested.prompts_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = context.accepted();
        let is_for = |changed| match changed {
            Changed::Tools => accepted.tools_list_changed == Some(true),
            Changed::Prompts => accepted.prompts_list_changed == Some(true),
        };
        if !is_for(Changed::Tools) && !is_for(Changed::Prompts) {
            return self.recto.listen(context).await;
        }
        let mut changes = CHANGES.subscribe();
        loop {
            let changed = tokio::select! {
                changed = changes.recv() => changed,
                () = context.cancelled() => return Ok(()),
            };
            let sent = match changed {
                Ok(changed) if !is_for(changed) => continue,
                Ok(Changed::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Changed::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.recto.on_custom_request(request, context).await
    }
}

fn parsed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the table has this form")
}

/// Returns a result that is complete. `rmcp` omits this field for clients of earlier revisions.
fn complete<T: DeserializeOwned>(mut result: Value) -> T {
    result["resultType"] = "complete".into();
    parsed(result)
}

/// Replaces `{name}` by the text of the argument with this name.
fn filled(value: &Value, arguments: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (name, argument) in arguments {
                let shown = argument.as_str().map_or_else(|| argument.to_string(), Into::into);
                text = text.replace(&format!("{{{name}}}"), &shown);
            }
            text.into()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, arguments)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), filled(field, arguments))).collect()
        }
        _ => value.clone(),
    }
}
