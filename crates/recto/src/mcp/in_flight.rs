//! Requests that wait for their answer, bounded so that a client which floods or does not read
//! cannot fill the memory.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Beyond this nothing more is read.
const MAX_REQUESTS: usize = 1024;

/// Beyond this nothing more is read, unless it is the only request.
const MAX_REQUEST_BYTES: usize = 32 << 20;

/// The requests of one client.
pub struct InFlight {
    requests: Mutex<Requests>,
    answered: Condvar,
    slots: Arc<Semaphore>,
}

#[derive(Default)]
struct Requests {
    by_id: HashMap<RequestId, Request>,
    n_bytes: usize,
}

/// A request, and its slot if it has one. To be held until the answer is written, because until
/// then that takes memory.
pub struct Request {
    n_bytes: usize,
    slot: Option<OwnedSemaphorePermit>,
}

impl InFlight {
    /// At most `max_running` calls run, or wait for their answer to be taken, at once.
    pub fn new(max_running: usize) -> InFlight {
        InFlight {
            requests: Mutex::default(),
            answered: Condvar::new(),
            slots: Arc::new(Semaphore::new(max_running)),
        }
    }

    /// Notes a request, once there is room for it. Refuses an id that waits for an answer already.
    pub fn admit(&self, id: RequestId, n_bytes: usize) -> bool {
        let mut requests = self.lock();
        if requests.by_id.contains_key(&id) {
            return false;
        }
        while !requests.by_id.is_empty()
            && (requests.by_id.len() >= MAX_REQUESTS
                || requests.n_bytes + n_bytes > MAX_REQUEST_BYTES)
        {
            requests = self.answered.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
        requests.n_bytes += n_bytes;
        requests.by_id.insert(id, Request { n_bytes, slot: None });
        true
    }

    /// Waits for a slot to run in.
    pub async fn start(&self, id: &RequestId) {
        let slot = self.slots.clone().acquire_owned().await.expect("slots are never closed");
        if let Some(request) = self.lock().by_id.get_mut(id) {
            request.slot = Some(slot);
        }
    }

    /// Forgets a request that was answered or taken back, so that its id is free.
    pub fn finish(&self, id: &RequestId) -> Option<Request> {
        let mut requests = self.lock();
        let request = requests.by_id.remove(id)?;
        requests.n_bytes -= request.n_bytes;
        self.answered.notify_one();
        Some(request)
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
