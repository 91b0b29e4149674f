//! The built binary, started and called by an MCP client library.

use std::ffi::OsString;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use recto_tools::{Answer, Error, Served};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion, RequestMetaObject};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use serde_json::{Map, Value};
use tokio::process::Command;

pub const BINARY: &str = env!("CARGO_BIN_EXE_recto");

/// Returns a command that runs the binary. It records changes in a directory of this test program and
/// never in the developer's home.
pub fn recto() -> std::process::Command {
    let mut command = std::process::Command::new(BINARY);
    command.env("RECTO_STATE_DIR", state_dir());
    command
}

/// Returns the state directory of this test program. Those of programs that ended are removed.
pub fn state_dir() -> &'static Path {
    static STATE_DIR: LazyLock<PathBuf> = LazyLock::new(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("state");
        std::fs::create_dir_all(&all).unwrap();
        for entry in std::fs::read_dir(&all).unwrap().flatten() {
            let process = Path::new("/proc").join(entry.file_name());
            if !process.exists() {
                // Another test program may remove it too.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        all.join(std::process::id().to_string())
    });
    &STATE_DIR
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Actual {
    Answer { structured: Value, text: Vec<String> },
    Error { code: i32, message: String, hint: Option<String> },
}

impl Actual {
    /// Describes the result of an in-process call.
    pub fn of(called: Result<Answer, Error>, served: &Served) -> Actual {
        match called {
            Ok(answer) => Actual::Answer {
                structured: Value::Object(answer.object().into_owned()),
                text: answer.blocks().map(str::to_string).collect(),
            },
            Err(error) => Actual::Error {
                code: error.code(),
                message: error.to_string(),
                hint: error.hint(served).map(|hint| hint.text),
            },
        }
    }
}

/// A client and the server that it started.
pub struct Client {
    service: RunningService<RoleClient, ()>,
}

/// How a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// With `initialize`.
    Handshake,
    /// Without: every request carries its own metadata.
    Stateless,
}

impl Client {
    pub async fn start(root: &Path, options: &[String], revision: Revision) -> Client {
        let mut arguments = vec![OsString::from("serve"), root.into()];
        arguments.extend(options.iter().map(OsString::from));
        let mut command = Command::from(recto());
        command.args(arguments).env("RECTO_LOG", "error");
        Client::start_command(command, revision).await
    }

    /// Starts a server with a command that the test built.
    pub async fn start_command(command: Command, revision: Revision) -> Client {
        let transport = TokioChildProcess::new(command).unwrap();
        let lifecycle = match revision {
            Revision::Handshake => ClientLifecycleMode::Initialize,
            Revision::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        Client { service: ().serve_with_lifecycle(transport, lifecycle).await.unwrap() }
    }

    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Actual {
        self.call_with_meta(tool, arguments, None).await
    }

    pub async fn call_with_meta(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        meta: Option<Map<String, Value>>,
    ) -> Actual {
        let mut request = CallToolRequestParams::new(tool.to_string()).with_arguments(arguments);
        if let Some(meta) = meta {
            let mut object = RequestMetaObject::new();
            meta.into_iter().for_each(|(key, value)| {
                object.insert(key, value);
            });
            request.meta = Some(object);
        }
        match self.service.call_tool(request).await {
            Ok(result) => actual(result),
            Err(ServiceError::McpError(error)) => Actual::Error {
                code: error.code.0,
                message: error.message.to_string(),
                hint: error
                    .data
                    .as_ref()
                    .and_then(|data| Some(data.get("hint")?.as_str()?.to_string())),
            },
            Err(error) => panic!("{error}"),
        }
    }

    /// Ends the session and waits for the server to exit.
    pub async fn stop(self) {
        self.service.cancel().await.unwrap();
    }
}

fn actual(result: CallToolResult) -> Actual {
    let mut text: Vec<String> =
        result.content.iter().map(|block| block.as_text().unwrap().text.to_string()).collect();
    if let [head, _content] = &mut text[..] {
        assert_eq!(head.pop(), Some('\n'), "clients may join blocks: {head:?}");
    }
    if result.is_error != Some(true) {
        return Actual::Answer {
            structured: result.structured_content.unwrap_or(Value::Null),
            text,
        };
    }
    assert_eq!(result.structured_content, None, "a failure has no structured content");
    let meta = result.meta.unwrap();
    let error = meta.get("error").unwrap();
    assert_eq!(error.as_object().unwrap().len(), 1, "the text has everything but the code");
    let [text] = text.as_slice() else { panic!("a failure has one block: {text:?}") };
    // A message may quote text with blank lines; a hint has none.
    let (message, hint) = match text.rsplit_once("\n\n") {
        Some((message, hint)) => (message, Some(hint.to_string())),
        None => (text.as_str(), None),
    };
    let code = error["code"].as_i64().unwrap() as i32;
    Actual::Error { code, message: message.into(), hint }
}

/// The user that runs servers which must not run as root.
pub const NOBODY: u32 = 65534;

/// Returns a command that serves a directory as an unprivileged user: tests that run as root start
/// the server as nobody.
pub fn serve_unprivileged(root: &Path) -> Command {
    let mut command = Command::from(recto());
    if rustix::process::geteuid().is_root() {
        // By its handle, because other users may not be able to enter the build directory.
        let program = std::fs::File::open(BINARY).unwrap().into_raw_fd();
        command = Command::new(format!("/proc/self/fd/{program}"));
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    }
    // Another user cannot use the state directory.
    command.arg("serve").arg(root).args(["--journal", "off"]).env("RECTO_LOG", "error");
    command
}

/// Runs a future to completion.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
