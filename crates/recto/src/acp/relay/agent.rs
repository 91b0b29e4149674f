//! The agent: a process in a group of its own, and how it ends.
//!
//! An agent is often started by a shim, so that its end is the end of the group.

use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, pipe};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use recto_platform::ProcessGroup;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::acp::link::{SOCKET_VARIABLE, TOKEN_VARIABLE};

/// How long an agent may take to end when its input has ended.
const AFTER_END_OF_INPUT: Duration = Duration::from_secs(5);

/// How long it may take after a signal.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

/// How often it is looked after.
const INTERVAL: Duration = Duration::from_millis(10);

/// A running agent.
pub struct Agent {
    child: Child,
    group: ProcessGroup,
}

impl Agent {
    /// Starts it. Its stderr is ours, and so is its environment, but for a link to a relay that
    /// we stand behind ourselves.
    pub fn start(
        command: &[OsString],
        environment: Vec<(OsString, OsString)>,
    ) -> Result<(Agent, PipeWriter, PipeReader), String> {
        let (program, arguments) = command.split_first().ok_or("no agent is named")?;
        let told = |error| format!("cannot start {}: {error}", program.display());
        // Pipes of our own, because threads block on them.
        let (input_reader, input) = pipe().map_err(told)?;
        let (output, output_writer) = pipe().map_err(told)?;
        let child = Command::new(program)
            .args(arguments)
            .env_remove(SOCKET_VARIABLE)
            .env_remove(TOKEN_VARIABLE)
            .envs(environment)
            .stdin(Stdio::from(input_reader))
            .stdout(Stdio::from(output_writer))
            .process_group(0)
            .spawn()
            .map_err(told)?;
        let group = child.id().and_then(ProcessGroup::of).expect("it runs, so it has an id");
        Ok((Agent { child, group }, input, output))
    }

    /// Ends when the process does.
    pub async fn ended(&mut self) {
        // An error means that there is no such process any more.
        let _ = self.child.wait().await;
    }

    /// Waits for the whole group to end, whose input has ended, and helps if it takes too long.
    /// The result is the agent's own, unless we had to help.
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
            // As long as the first is not waited for, its group is there.
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

/// What a shell would say.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
