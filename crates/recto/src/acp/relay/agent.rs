//! Starts and stops the agent.
//!
//! The agent runs in a process group of its own and has ended when the whole group has, because it
//! is often started through a wrapper.

use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, pipe};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use recto_platform::ProcessGroup;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::acp::link::{SOCKET_VARIABLE, TOKEN_VARIABLE};

/// The time for an agent to exit after the end of its input.
const AFTER_END_OF_INPUT: Duration = Duration::from_secs(5);

/// The time for it to exit after a signal.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

/// How often its state is checked.
const INTERVAL: Duration = Duration::from_millis(10);

/// A running agent.
pub struct Agent {
    child: Child,
    group: ProcessGroup,
}

impl Agent {
    /// Starts an agent. It inherits stderr and the environment, except the variables of an outer
    /// relay's link.
    pub fn start(
        command: &[OsString],
        environment: Vec<(OsString, OsString)>,
    ) -> Result<(Agent, PipeWriter, PipeReader), String> {
        let (program, arguments) = command.split_first().ok_or("no agent given")?;
        let start_error = |error| format!("cannot start {}: {error}", program.display());
        // Not Tokio's pipes, because threads block on these.
        let (input_reader, input) = pipe().map_err(start_error)?;
        let (output, output_writer) = pipe().map_err(start_error)?;
        let child = Command::new(program)
            .args(arguments)
            .env_remove(SOCKET_VARIABLE)
            .env_remove(TOKEN_VARIABLE)
            .envs(environment)
            .stdin(Stdio::from(input_reader))
            .stdout(Stdio::from(output_writer))
            .process_group(0)
            .spawn()
            .map_err(start_error)?;
        let group = child.id().and_then(ProcessGroup::of).expect("a running process has an id");
        Ok((Agent { child, group }, input, output))
    }

    /// Waits for the process to exit.
    pub async fn ended(&mut self) {
        // An error means that the process no longer exists.
        let _ = self.child.wait().await;
    }

    /// Waits for the whole group to exit after the end of its input, and kills it after the time
    /// limits. Returns the agent's exit code if it exited by itself, otherwise success.
    pub async fn end(&mut self) -> ExitCode {
        let is_gone = self.is_gone_within(AFTER_END_OF_INPUT).await;
        let own_status = self.child.try_wait().ok().flatten();
        if !is_gone {
            for end in [ProcessGroup::terminate, ProcessGroup::kill] {
                end(self.group);
                if self.is_gone_within(AFTER_SIGNAL).await {
                    break;
                }
            }
        }
        own_status.map_or(ExitCode::SUCCESS, code)
    }

    async fn is_gone_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            // The group exists until its first process has been waited for.
            let is_over = !matches!(self.child.try_wait(), Ok(None));
            if is_over && !self.group.exists() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(INTERVAL).await;
        }
    }
}

/// Converts a status as a shell does: 128 plus the signal.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
