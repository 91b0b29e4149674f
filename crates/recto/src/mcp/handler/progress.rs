//! Progress notifications for long calls, for clients that ask for them.
//!
//! They report the elapsed time, because the total amount of work is not known: a file that is read
//! from its end, or a walk that finds nothing, has no natural count.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, RequestMetaObject};
use rmcp::service::{Peer, RoleServer};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The time before the first notification and between notifications.
const EVERY: Duration = Duration::from_secs(1);

/// Notifies the client until it is dropped.
pub struct Progress {
    _task: JoinSet<()>,
}

impl Progress {
    /// Starts notifications if the request has a progress token.
    pub fn start(meta: &RequestMetaObject, peer: &Peer<RoleServer>) -> Progress {
        let mut task = JoinSet::new();
        if let Some(token) = meta.get_progress_token() {
            let peer = peer.clone();
            task.spawn(async move {
                let start = Instant::now();
                loop {
                    tokio::time::sleep(EVERY).await;
                    let n_seconds = start.elapsed().as_secs_f64();
                    let progress = ProgressNotificationParam::new(token.clone(), n_seconds)
                        .with_message(format!("{n_seconds:.0} s"));
                    if peer.notify_progress(progress).await.is_err() {
                        return;
                    }
                }
            });
        }
        Progress { _task: task }
    }
}
