//! Answers the requests of an MCP client over any transport.

mod progress;
mod resources;
mod slots;
mod to_wire;
mod watch;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock};

use hyper::http::request::Parts;
use recto_store::Error as StoreError;
use recto_store::record::{Origin, OriginSession};
use recto_store::sync::lock;
use recto_text::quote::Quoted;
use recto_tools::{AnswerForm, Delivery, Error, Served};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ConstString,
    CustomRequest, CustomResult, ErrorCode, ErrorData, Icon, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, Reference,
    RequestMetaObject, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use tracing::{debug, warn};

use super::codex;
use crate::config::{ClientWire, Wire};
use crate::limits::{AFTER_CANCELLATION, LONG_CALL, SLOW_CALL, SUBSCRIPTIONS};
use crate::log;
use progress::Progress;
use recto_store::context::{Cancel, Context};
use recto_tools::call::{self, Call, Calls};
use slots::CallKind;
use watch::{Reader, Watched};

pub use slots::{Slot, Slots};
pub use to_wire::tool as definition;
pub use watch::Watches;

/// Serves calls to one client.
///
/// A transport that writes answers slower than calls produce them can put a [`Slot`] into a
/// request's extensions and keep a clone: the call then counts as running until the transport
/// releases it.
pub struct Handler {
    calls: Calls,
    wire: Wire,
    instructions: String,
    slots: Slots,
    /// The name of the client that was logged last.
    logged: Mutex<String>,
    /// Who calls over HTTP.
    caller: Option<Caller>,
    /// The subscriptions of all clients.
    watches: Watches,
    /// The subscriptions of this client, if it has a session.
    watched: Watched,
}

/// Who calls over HTTP.
pub struct Caller {
    /// The name of the token.
    pub token: String,
    /// The id of the session. Not set for requests without a session.
    pub session: Arc<OnceLock<Arc<str>>>,
}

impl Handler {
    /// Serves `calls`, of which at most `max_running` run at once.
    pub fn new(calls: Calls, wire: Wire, instructions: String, max_running: usize) -> Handler {
        let (slots, logged) = (Slots::new(max_running), Mutex::default());
        let (caller, watches, watched) = Default::default();
        Handler { calls, wire, instructions, slots, logged, caller, watches, watched }
    }

    /// Serves `calls` to one HTTP session, or to one request without a session. The slots and
    /// watches are those of all sessions.
    pub fn over_http(
        calls: Calls,
        wire: Wire,
        instructions: String,
        (slots, watches): (Slots, Watches),
        caller: Caller,
    ) -> Handler {
        let (logged, caller, watched) = (Mutex::default(), Some(caller), Watched::default());
        Handler { calls, wire, instructions, slots, logged, caller, watches, watched }
    }

    /// Returns the calls for a client.
    fn calls_for(&self, wire: &ClientWire) -> Calls {
        let calls = self.calls.for_client(wire.names, wire.delivery);
        match &self.caller {
            Some(caller) if caller.session.get().is_none() => calls.without_session(),
            _ => calls,
        }
    }

    /// Returns the format for the client of a request.
    fn wire_for(&self, context: &RequestContext<RoleServer>) -> ClientWire {
        let from_request = context.meta.client_info();
        let from_handshake = context.peer.peer_info();
        let client = match (&from_request, &from_handshake) {
            (Some(client), _) => Some(client),
            (None, Some(info)) => Some(&info.client_info),
            (None, None) => None,
        };
        let wire = self.wire.for_client(client.map(|client| client.name.as_str()));
        if let Some(client) = client {
            self.log_client(client, &wire);
        }
        wire
    }

    /// Logs how a client gets its answers, when it sends its first request.
    fn log_client(&self, client: &Implementation, wire: &ClientWire) {
        let mut logged = lock(&self.logged);
        if *logged != client.name {
            logged.clone_from(&client.name);
            let (name, version) = (&client.name, &client.version);
            let (row, form, bytes) =
                (wire.client.name, wire.delivery.form, wire.delivery.max_bytes);
            let token = self.caller.as_ref().map(|caller| &*caller.token);
            debug!(target: log::TARGET, token, name, version, row, ?form, bytes, "client");
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        // Makes Codex send its sandbox with every call; see `codex`.
        let experimental = [(codex::CAPABILITY.to_string(), Default::default())];
        capabilities.experimental = Some(experimental.into_iter().collect());
        let mut implementation = Implementation::new("recto", env!("CARGO_PKG_VERSION"));
        implementation.title = Some("recto".into());
        implementation.icons = Some(vec![Icon::new(ICON).with_mime_type("image/svg+xml")]);
        let homepage = env!("CARGO_PKG_HOMEPAGE");
        implementation.website_url = (!homepage.is_empty()).then(|| homepage.into());
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let wire = self.wire_for(&context);
        let tools = self.calls.served().tools().iter();
        let tools = tools.map(|tool| to_wire::tool(tool, wire)).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let wire = self.wire_for(&context);
        let calls = self.calls_for(&wire);
        let served = &calls.served().clone();
        let Some(tool) = served.find(&request.name) else {
            return Err(unknown_tool(served, &request.name));
        };
        let slot = slot_of(&context);
        let answer =
            |result| to_wire::result(result, wire, served, slot.repeat).map(CallToolResponse::from);
        let kind = if tool.reads_one_file() { CallKind::SmallRead } else { CallKind::Other };
        let thread = tokio::select! {
            thread = self.slots.start(&slot, kind) => thread,
            () = context.ct.cancelled() => return answer(Err(StoreError::Cancelled.into())),
        };
        let Some(thread) = thread else { return answer(Err(Error::Hanging)) };
        let _progress = Progress::start(&context.meta, &context.peer);
        let (cancel, waits) = (Cancel::default(), self.slots.waits(&slot, kind));
        let call = Call {
            id: call_id(&context.meta),
            context: Context {
                cancel: cancel.clone(),
                origin: Arc::new(origin(&context, self.caller.as_ref())),
                waits: Some(waits.clone()),
                ..Context::default()
            },
        };
        let meta = context.meta;
        let arguments = request.arguments.unwrap_or_default();
        let path = call::path_of(&arguments).map(String::from);
        let mut running = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            let context = Context { sandbox: codex::sandbox(&meta), ..call.context };
            calls.call(tool, arguments, &Call { context, ..call })
        });
        let watch = async {
            tokio::time::sleep(LONG_CALL).await;
            waits.started();
            tokio::time::sleep(SLOW_CALL - LONG_CALL).await;
            let path = path.as_deref().unwrap_or_default();
            warn!(target: log::TARGET, tool = tool.name, path, "a call has run for {SLOW_CALL:?}");
            slot.release();
            std::future::pending::<()>().await
        };
        let finished = tokio::select! {
            finished = &mut running => Ok(finished),
            () = watch => unreachable!("it never completes"),
            () = context.ct.cancelled() => {
                cancel.raise();
                // A write that is being committed is completed, and the answer reports it.
                tokio::time::timeout(AFTER_CANCELLATION, running).await
            }
        };
        let result = match finished {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(Error::Internal { cause: error.to_string() }),
            Err(_) => Err(Error::OutcomeUnknown),
        };
        tokio::select! {
            () = self.slots.resume(&slot, kind) => {}
            () = context.ct.cancelled() => {}
        }
        answer(result)
    }

    /// Rejects unknown methods, and `tools/call` with invalid parameters, which `rmcp` treats as an
    /// unknown method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let message = "tools/call needs params with a string name and an object arguments";
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(method_not_found(&request.method))
    }

    // Methods of capabilities that are not declared do not exist. By default `rmcp` answers them
    // with empty lists.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(method_not_found(ListPromptsRequestMethod::VALUE))
    }

    // All files are resources, too many to list: `list_resources` keeps its default, an empty list.

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let wire = self.wire_for(&context);
        let delivery = Delivery { form: AnswerForm::Text, ..wire.delivery };
        let calls = self.calls_for(&ClientWire { delivery, ..wire });
        let sandbox = codex::sandbox(&context.meta);
        let read = move || {
            let context = Context { sandbox, ..Context::default() };
            resources::read(&calls, &request.uri, &Call { id: None, context })
        };
        self.run(&context, read).await?.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let argument = request.argument;
        match &request.r#ref {
            Reference::Resource(template) if template.uri == resources::TEMPLATE => {}
            _ => return Err(ErrorData::invalid_params("Not a resource template of recto", None)),
        }
        if argument.name != "path" {
            return Err(ErrorData::invalid_params("The template's argument is path", None));
        }
        let calls = self.calls_for(&self.wire_for(&context));
        let sandbox = codex::sandbox(&context.meta);
        let complete = move || resources::complete(&calls, &argument.value, sandbox);
        Ok(CompleteResult::new(self.run(&context, complete).await?))
    }

    #[allow(deprecated, reason = "for clients of earlier revisions")]
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let path = resources::FileUri::parse(&request.uri)?.path;
        let reader = self.reader();
        if !self.watched.add(&self.watches, &reader, request.uri, path).await {
            return Err(ErrorData::invalid_params("Too many subscriptions", None));
        }
        let peer = context.peer;
        self.watched.start(reader, move |uri| {
            let peer = peer.clone();
            let update = ResourceUpdatedNotificationParam::new(uri);
            async move { peer.notify_resource_updated(update).await.is_ok() }
        });
        Ok(())
    }

    #[allow(deprecated, reason = "for clients of earlier revisions")]
    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.as_deref().unwrap_or_default();
        let is_file = |uri: &&String| resources::FileUri::parse(uri).is_ok();
        let files = uris.iter().filter(is_file).take(SUBSCRIPTIONS).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(files).build())
    }

    /// Reports changes of files until the client closes the stream.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (watched, reader) = (Watched::default(), self.reader());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let path = resources::FileUri::parse(uri)?.path;
            if !watched.add(&self.watches, &reader, uri.clone(), path).await {
                return Err(ErrorData::invalid_params("Too many subscriptions", None));
            }
        }
        let report =
            |uri: String| async { context.sink().notify_resource_updated(uri).await.is_ok() };
        tokio::select! {
            () = watched.check(&reader, report) => {}
            () = context.cancelled() => {}
        }
        Ok(())
    }
}

impl Handler {
    fn reader(&self) -> Reader {
        Reader { calls: self.calls.clone(), slots: self.slots.clone() }
    }

    /// Runs work that reads files, on a thread of calls.
    async fn run<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let slot = slot_of(context);
        let failed = |error: Error| ErrorData::internal_error(error.to_string(), None);
        let thread = tokio::select! {
            thread = self.slots.start(&slot, CallKind::SmallRead) => thread,
            () = context.ct.cancelled() => return Err(failed(StoreError::Cancelled.into())),
        };
        let thread = thread.ok_or_else(|| failed(Error::Hanging))?;
        let running = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        running.await.map_err(|error| failed(Error::Internal { cause: error.to_string() }))
    }
}

/// An open book.
const ICON: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2024%2024'\
    %3E%3Cpath%20fill='none'%20stroke='%23466'%20stroke-width='2'%20d='M12%206v14M12%206C9%204%206%204%202\
    %205v14c4-1%207-1%2010%201%203-2%206-2%2010-1V5c-4-1-7-1-10%201'/%3E%3C/svg%3E";

/// Returns the slot that the transport made for a request. Over HTTP, it is among the extensions of
/// the HTTP request.
fn slot_of(context: &RequestContext<RoleServer>) -> Slot {
    let from_http = || context.extensions.get::<Parts>()?.extensions.get::<Slot>();
    context.extensions.get::<Slot>().or_else(from_http).cloned().unwrap_or_default()
}

/// Returns who makes a call, for the journal. Over HTTP, that is the token, with the name that the
/// client reports in the place of its version.
fn origin(context: &RequestContext<RoleServer>, caller: Option<&Caller>) -> Origin {
    /// Clients choose these texts, so they are cut.
    fn cut(text: &str) -> String {
        text[..text.floor_char_boundary(100)].to_string()
    }
    let from_request = context.meta.client_info();
    let from_handshake = context.peer.peer_info();
    let client = from_request.as_ref().or(from_handshake.as_ref().map(|info| &info.client_info));
    let client = match (caller, client) {
        (Some(caller), client) => {
            let reported = client.map(|client| cut(&client.name)).unwrap_or_default();
            Some((caller.token.clone(), reported))
        }
        (None, client) => client.map(|client| (cut(&client.name), cut(&client.version))),
    };
    let session = match caller {
        None => OriginSession::OfProcess,
        Some(caller) => match (caller.session.get(), thread_id(&context.meta)) {
            (Some(id), _) => OriginSession::Named(id.to_string()),
            (None, Some(thread)) => OriginSession::Named(format!("{}/{thread}", caller.token)),
            (None, None) => OriginSession::Unknown,
        },
    };
    Origin { client, session, call: call_id(&context.meta), ..Origin::default() }
}

/// Returns the id by which the client shows this call to an editor, as Codex and Claude Code send it.
fn call_id(meta: &RequestMetaObject) -> Option<String> {
    ["callId", "claudecode/toolUseId"].iter().find_map(|key| short(meta, key))
}

/// Returns the id of the conversation, as Codex sends it.
fn thread_id(meta: &RequestMetaObject) -> Option<String> {
    short(meta, "threadId")
}

fn short(meta: &RequestMetaObject, key: &str) -> Option<String> {
    let text = meta.get(key)?.as_str()?;
    (!text.is_empty() && text.len() <= 256).then(|| text.to_string())
}

fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"), None)
}

fn unknown_tool(served: &Served, name: &str) -> ErrorData {
    let published: Vec<_> = served.published().collect();
    let reason = match recto_tools::tools::find(name) {
        Some(_) => " (not served here; started with --read-only or --tools)",
        None => "",
    };
    let message =
        format!("Unknown tool: {}{reason}. Tools: {}", Quoted(name), published.join(", "));
    ErrorData::invalid_params(message, None)
}
