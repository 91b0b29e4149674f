//! Subscriptions to files. While a client is subscribed, its files are checked once a second: small
//! files are read, of larger ones only what identifies their version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use recto_store::sync::lock;
use recto_text::Digest;
use recto_tools::Calls;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::resources;
use super::slots::{CallKind, Slot, Slots};
use crate::limits::{SUBSCRIPTIONS, SUBSCRIPTIONS_OF_ALL};

/// The time between checks.
const EVERY: Duration = Duration::from_secs(1);

/// The subscriptions of all clients of a process. Clones share them.
#[derive(Clone)]
pub struct Watches(Arc<Semaphore>);

impl Default for Watches {
    fn default() -> Watches {
        Watches(Arc::new(Semaphore::new(SUBSCRIPTIONS_OF_ALL)))
    }
}

/// The files that one client is subscribed to.
#[derive(Default)]
pub struct Watched {
    files: Arc<Mutex<HashMap<String, File>>>,
    /// Checks the files. Stops when it is dropped.
    task: Mutex<JoinSet<()>>,
}

struct File {
    path: String,
    version: Option<Digest>,
    _permit: OwnedSemaphorePermit,
}

/// Reads versions of files on the threads of calls.
#[derive(Clone)]
pub struct Reader {
    pub calls: Calls,
    pub slots: Slots,
}

impl Reader {
    async fn version(&self, path: &str) -> Option<Digest> {
        let thread = self.slots.start(&Slot::default(), CallKind::SmallRead).await?;
        let (calls, path) = (self.calls.clone(), path.to_string());
        let read = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            resources::version(&calls, &path)
        });
        read.await.ok()?
    }
}

impl Watched {
    /// Subscribes to a file. False if there are too many subscriptions.
    pub async fn add(&self, all: &Watches, reader: &Reader, uri: String, path: String) -> bool {
        let Ok(permit) = all.0.clone().try_acquire_owned() else { return false };
        let version = reader.version(&path).await;
        let mut files = lock(&self.files);
        if files.len() >= SUBSCRIPTIONS && !files.contains_key(&uri) {
            return false;
        }
        files.insert(uri, File { path, version, _permit: permit });
        true
    }

    /// Ends a subscription.
    pub fn remove(&self, uri: &str) {
        lock(&self.files).remove(uri);
        if lock(&self.files).is_empty() {
            lock(&self.task).abort_all();
        }
    }

    /// Starts to check the files in the background, and reports those that change, unless it runs
    /// already.
    pub fn start<F>(&self, reader: Reader, report: impl Fn(String) -> F + Send + 'static)
    where
        F: Future<Output = bool> + Send,
    {
        let mut task = lock(&self.task);
        while task.try_join_next().is_some() {}
        if task.is_empty() {
            let watched = Watched { files: self.files.clone(), task: Mutex::default() };
            task.spawn(async move { watched.check(&reader, report).await });
        }
    }

    /// Checks the files until a report fails.
    pub async fn check<F>(&self, reader: &Reader, report: impl Fn(String) -> F)
    where
        F: Future<Output = bool>,
    {
        loop {
            tokio::time::sleep(EVERY).await;
            let known: Vec<_> = {
                let files = lock(&self.files);
                files.iter().map(|(uri, file)| (uri.clone(), file.path.clone())).collect()
            };
            for (uri, path) in known {
                let now = reader.version(&path).await;
                let has_changed = match lock(&self.files).get_mut(&uri) {
                    Some(file) => std::mem::replace(&mut file.version, now) != now,
                    None => false,
                };
                if has_changed && !report(uri).await {
                    return;
                }
            }
        }
    }
}
