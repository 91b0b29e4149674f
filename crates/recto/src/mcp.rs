//! MCP over stdio: the only room that knows the protocol's types. What calls mean is left to
//! [`crate::call`].

pub(crate) mod codex;
mod in_flight;
mod json;
mod output;
mod parse;
mod progress;
mod to_wire;
mod transport;
mod weight;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use recto_store::Error as StoreError;
use recto_text::quote::Quoted;
use recto_tools::{Error, Served};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    RequestMetaObject, ServerCapabilities, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service, ServiceRole};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::call::{self, Call, Calls};
use crate::config::Wire;
use crate::context::{Cancel, Context};
use crate::limits::{AFTER_CANCELLATION, AFTER_END_OF_INPUT, SLOW_CALL};
use crate::log;
use crate::tools::Tool;
use in_flight::InFlight;
use progress::Progress;
use transport::{Ends, Stdio};

/// The definitions of tools as a client gets them.
pub fn definitions(tools: &[&Tool], wire: Wire) -> Value {
    let definitions: Vec<_> = tools.iter().map(|tool| to_wire::tool(tool, wire)).collect();
    serde_json::to_value(definitions).expect("definitions are JSON")
}

/// Serves calls on stdin and stdout until the input ends or `stop` is cancelled.
pub async fn serve(
    calls: Calls,
    wire: Wire,
    instructions: String,
    max_running: usize,
    stop: CancellationToken,
) -> Result<(), String> {
    let in_flight = Arc::new(InFlight::new(max_running));
    let ends = Ends::default();
    let transport =
        Stdio::start(in_flight.clone(), ends.clone()).map_err(|error| error.to_string())?;
    let (patience, input, until_read) = (stop.clone(), ends.input.clone(), stop.clone());
    tokio::spawn(async move {
        // Whoever closed the input may still read the answers, as long as they are being read.
        let is_enough = async {
            ends.input.cancelled().await;
            loop {
                let n_given = ends.n_given.load(Ordering::Relaxed);
                tokio::time::sleep(AFTER_END_OF_INPUT).await;
                if ends.n_given.load(Ordering::Relaxed) == n_given {
                    break;
                }
            }
        };
        tokio::select! {
            () = is_enough => {}
            () = ends.output.cancelled() => {}
        }
        patience.cancel();
    });
    let server = Server { calls, wire, instructions, in_flight };
    let served = match ContractCodes(server).serve_with_ct(transport, stop).await {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
        // The client went away, or we were told to stop, before it said what it wanted.
        Err(
            rmcp::service::ServerInitializeError::ConnectionClosed(_)
            | rmcp::service::ServerInitializeError::Cancelled,
        ) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    // Answers may still be on their way.
    if input.is_cancelled() {
        until_read.cancelled().await;
    }
    served
}

struct Server {
    calls: Calls,
    wire: Wire,
    instructions: String,
    in_flight: Arc<InFlight>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        // Codex then tells with every call what its sandbox allows; see `codex`.
        let experimental = [(codex::CAPABILITY.to_string(), Default::default())];
        capabilities.experimental = Some(experimental.into_iter().collect());
        let mut implementation = Implementation::new("recto", env!("CARGO_PKG_VERSION"));
        implementation.title = Some("recto".into());
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools =
            self.calls.served().tools().iter().map(|tool| to_wire::tool(tool, self.wire)).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.calls.served().find(&request.name) else {
            return Err(unknown_tool(self.calls.served(), &request.name));
        };
        let served = self.calls.served();
        let refusal =
            |error| to_wire::result(Err(error), self.wire, served).map(CallToolResponse::from);
        let thread = tokio::select! {
            thread = self.in_flight.start(&context.id) => thread,
            () = context.ct.cancelled() => return refusal(StoreError::Cancelled.into()),
        };
        let Some(thread) = thread else { return refusal(Error::Hanging) };
        let _progress = Progress::start(&context.meta, &context.peer);
        let cancel = Cancel::default();
        let call = Call {
            id: call_id(&context.meta),
            context: Context { cancel: cancel.clone(), ..Context::default() },
        };
        let meta = context.meta;
        let calls = self.calls.clone();
        let arguments = request.arguments.unwrap_or_default();
        let path = call::path_of(&arguments).map(String::from);
        let mut running = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            let context = Context { sandbox: codex::sandbox(&meta), ..call.context };
            calls.call(tool, arguments, &Call { context, ..call })
        });
        let watch = async {
            tokio::time::sleep(SLOW_CALL).await;
            let path = path.as_deref().unwrap_or_default();
            warn!(target: log::TARGET, tool = tool.name, path, "a call has run for {SLOW_CALL:?}");
            self.in_flight.make_way(&context.id);
            std::future::pending::<()>().await
        };
        let finished = tokio::select! {
            finished = &mut running => Ok(finished),
            () = watch => unreachable!("it watches until the end"),
            () = context.ct.cancelled() => {
                cancel.raise();
                // A write that is being committed is carried out, and the answer says so.
                tokio::time::timeout(AFTER_CANCELLATION, running).await
            }
        };
        let result = match finished {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(Error::Internal { cause: error.to_string() }),
            Err(_) => Err(Error::OutcomeUnknown),
        };
        to_wire::result(result, self.wire, served).map(CallToolResponse::from)
    }

    /// A `tools/call` whose parameters do not fit arrives here, and so does every unknown method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let message = "tools/call needs params with a string name and an object arguments";
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = format!("Method not found: {}", request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    // What is not declared does not exist; the library would answer with empty lists.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

/// What the client calls a call elsewhere, as to an editor: Codex and Claude Code say so.
fn call_id(meta: &RequestMetaObject) -> Option<String> {
    let id = ["callId", "claudecode/toolUseId"].iter().find_map(|key| meta.get(*key)?.as_str())?;
    (!id.is_empty() && id.len() <= 256).then(|| id.to_string())
}

fn unknown_tool(served: &Served, name: &str) -> ErrorData {
    let published: Vec<_> = served.published().collect();
    let reason = match crate::tools::find(name) {
        Some(_) => " (not served here; started with --read-only or --tools)",
        None => "",
    };
    let message =
        format!("Unknown tool: {}{reason}. Tools: {}", Quoted(name), published.join(", "));
    ErrorData::invalid_params(message, None)
}

/// Keeps the contract's codes as they are: for clients of the newest revision the library turns
/// -32002, which is a resource code there, into -32602. Whoever asks for JSON-RPC errors asks
/// for the contract's.
struct ContractCodes(Server);

impl Service<RoleServer> for ContractCodes {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let result = Service::handle_request(&self.0, request, context).await;
        result.map_err(to_wire::restore_code)
    }

    async fn handle_notification(
        &self,
        notification: <RoleServer as ServiceRole>::PeerNot,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}
