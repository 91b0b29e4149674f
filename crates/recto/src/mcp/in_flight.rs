//! Requests that wait for their answer, bounded so that a client which floods or does not read
//! cannot fill the memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::limits;

/// Beyond this nothing more is read.
const MAX_REQUESTS: usize = limits::REQUESTS_IN_FLIGHT;

/// Beyond this nothing more is read, unless it is the only request.
const MAX_REQUEST_BYTES: usize = limits::REQUEST_BYTES_IN_FLIGHT;

/// The requests of one client.
pub struct InFlight {
    requests: Mutex<Requests>,
    /// Wakes the one who waits for room.
    answered: Notify,
    slots: Arc<Semaphore>,
    threads: Arc<Semaphore>,
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
            answered: Notify::new(),
            slots: Arc::new(Semaphore::new(max_running)),
            threads: Arc::new(Semaphore::new(limits::CALL_THREADS)),
        }
    }

    /// Notes a request, once there is room for it. Refuses an id that waits for an answer already.
    /// For one task at a time, which may ask again.
    pub async fn admit(&self, id: &RequestId, n_bytes: usize) -> bool {
        loop {
            if let Some(is_admitted) = self.try_admit(id, n_bytes) {
                return is_admitted;
            }
            self.answered.notified().await;
        }
    }

    /// The same without waiting; `None` where there is no room.
    fn try_admit(&self, id: &RequestId, n_bytes: usize) -> Option<bool> {
        let mut requests = self.lock();
        if requests.by_id.contains_key(id) {
            return Some(false);
        }
        let is_full =
            requests.by_id.len() >= MAX_REQUESTS || requests.n_bytes + n_bytes > MAX_REQUEST_BYTES;
        if is_full && !requests.by_id.is_empty() {
            return None;
        }
        requests.n_bytes += n_bytes;
        requests.by_id.insert(id.clone(), Request { n_bytes, slot: None });
        Some(true)
    }

    /// Waits until every request is answered. For the task that admits them.
    pub async fn until_answered(&self) {
        while !self.lock().by_id.is_empty() {
            self.answered.notified().await;
        }
    }

    /// Waits for a slot to run in, and for a thread to run on, which is to be held until the call
    /// has come back from wherever it hangs. `None` where all of them hang: calls that were taken
    /// back give up their slots at once, but their threads a little later.
    pub async fn start(&self, id: &RequestId) -> Option<OwnedSemaphorePermit> {
        let slot = self.slots.clone().acquire_owned().await.expect("slots are never closed");
        if let Some(request) = self.lock().by_id.get_mut(id) {
            request.slot = Some(slot);
        }
        let thread = self.threads.clone().acquire_owned();
        tokio::time::timeout(limits::AFTER_CANCELLATION, thread).await.ok()?.ok()
    }

    /// Lets another call run beside one that takes long.
    pub fn make_way(&self, id: &RequestId) {
        if let Some(request) = self.lock().by_id.get_mut(id) {
            request.slot = None;
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(number: usize) -> RequestId {
        RequestId::Number(number as i64)
    }

    /// Whether a request is admitted only when others are answered.
    async fn check_waits(in_flight: &InFlight, n_bytes: usize, answered: &[RequestId]) {
        let next_id = id(usize::MAX >> 1);
        let mut next = std::pin::pin!(in_flight.admit(&next_id, n_bytes));
        for done in answered {
            let waited = tokio::time::timeout(Duration::from_millis(20), &mut next).await;
            assert!(waited.is_err(), "it did not wait for {done:?}");
            in_flight.finish(done);
        }
        assert!(next.await);
    }

    #[tokio::test]
    async fn the_next_request_waits_until_one_is_answered() {
        let in_flight = InFlight::new(1);
        for number in 0..MAX_REQUESTS {
            assert!(in_flight.admit(&id(number), 1).await);
        }
        assert!(!in_flight.admit(&id(7), 1).await, "it waits for its answer already");
        check_waits(&in_flight, 1, &[id(7)]).await;
    }

    #[tokio::test]
    async fn a_large_request_waits_until_it_is_alone() {
        let in_flight = InFlight::new(1);
        assert!(in_flight.admit(&id(1), MAX_REQUEST_BYTES - 10).await);
        assert!(in_flight.admit(&id(2), 10).await);
        check_waits(&in_flight, 2 * MAX_REQUEST_BYTES, &[id(1), id(2)]).await;
    }
}
