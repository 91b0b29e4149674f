//! Word to a client that a long call goes on, where it asked for that.
//!
//! How long it has been is always known and always grows; how much is done is not, because a file
//! that is read from its end or a walk that finds nothing has no natural count.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, RequestMetaObject};
use rmcp::service::{Peer, RoleServer};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How long a call takes before anything is said, and between one time and the next.
const EVERY: Duration = Duration::from_secs(1);

/// Tells the client until it is dropped.
pub struct Progress {
    /// Ends its tasks when it is dropped.
    _telling: JoinSet<()>,
}

impl Progress {
    /// Starts telling, if the request has a token for it.
    pub fn start(meta: &RequestMetaObject, peer: &Peer<RoleServer>) -> Progress {
        let mut telling = JoinSet::new();
        if let Some(token) = meta.get_progress_token() {
            let peer = peer.clone();
            telling.spawn(async move {
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
        Progress { _telling: telling }
    }
}
