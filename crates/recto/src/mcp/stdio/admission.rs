//! Limits pending requests, so that a client that floods the server or does not read answers cannot
//! exhaust its memory.

use std::collections::HashMap;
use std::sync::Mutex;

use recto_store::sync::lock;
use rmcp::model::RequestId;
use tokio::sync::Notify;

use super::json;
use crate::limits;
use crate::mcp::handler::Slot;

/// Beyond this, input is not read.
const MAX_REQUESTS: usize = limits::REQUESTS_IN_FLIGHT;

/// Beyond this, input is not read, unless it is the only request.
const MAX_REQUEST_BYTES: usize = limits::REQUEST_BYTES_IN_FLIGHT;

/// The requests of one client.
#[derive(Default)]
pub struct Admission {
    requests: Mutex<Requests>,
    /// Wakes the task that waits for space.
    answered: Notify,
}

#[derive(Default)]
struct Requests {
    by_id: HashMap<RequestId, Request>,
    n_bytes: usize,
    /// The slots of cancelled requests whose handlers may still run. Until a handler returns, `rmcp`
    /// would take its answer for that of a new request with the same id.
    cancelled: HashMap<RequestId, Slot>,
}

struct Request {
    n_bytes: usize,
    slot: Slot,
}

impl Admission {
    /// Registers a request once there is space for it, and returns the slot for its call. `None` if
    /// a request with this id is already pending. Only one task may call this. Cancel safe.
    pub async fn admit(&self, id: &RequestId, n_bytes: usize) -> Option<Slot> {
        if self.forget_returned(id) {
            // `rmcp` polls this; it first drops the answer that the handler returned.
            tokio::task::yield_now().await;
        }
        loop {
            if let Some(admitted) = self.try_admit(id, n_bytes) {
                return admitted;
            }
            self.answered.notified().await;
        }
    }

    /// Forgets a cancelled request if its handler has returned.
    fn forget_returned(&self, id: &RequestId) -> bool {
        let mut requests = lock(&self.requests);
        let has_returned = requests.cancelled.get(id).is_some_and(|slot| !slot.is_shared());
        has_returned && requests.cancelled.remove(id).is_some()
    }

    /// Like [`Admission::admit`] without waiting: the outer `None` means that there is no space.
    fn try_admit(&self, id: &RequestId, n_bytes: usize) -> Option<Option<Slot>> {
        let mut requests = lock(&self.requests);
        if requests.by_id.contains_key(id) || requests.cancelled.contains_key(id) {
            return Some(None);
        }
        let is_full =
            requests.by_id.len() >= MAX_REQUESTS || requests.n_bytes + n_bytes > MAX_REQUEST_BYTES;
        if is_full && !requests.by_id.is_empty() {
            return None;
        }
        let slot = Slot::new(json::repeat);
        requests.n_bytes += n_bytes;
        requests.by_id.insert(id.clone(), Request { n_bytes, slot: slot.clone() });
        Some(Some(slot))
    }

    /// Waits until all requests are answered. Only for the task that admits them.
    pub async fn until_answered(&self) {
        while !lock(&self.requests).by_id.is_empty() {
            self.answered.notified().await;
        }
    }

    /// Forgets an answered request, so that its id is free. The caller must release the returned slot
    /// when the answer no longer uses memory.
    pub fn finish(&self, id: &RequestId) -> Option<Slot> {
        let mut requests = lock(&self.requests);
        // It may have been cancelled after its answer was sent.
        requests.cancelled.remove(id);
        self.remove(&mut requests, id)
    }

    /// Releases the slot and the bytes of a request that will not be answered. Its id stays pending
    /// until its handler returns.
    pub fn cancel(&self, id: &RequestId) {
        let mut requests = lock(&self.requests);
        if let Some(slot) = self.remove(&mut requests, id) {
            slot.release();
            requests.cancelled.retain(|_, slot| slot.is_shared());
            requests.cancelled.insert(id.clone(), slot);
        }
    }

    fn remove(&self, requests: &mut Requests, id: &RequestId) -> Option<Slot> {
        let request = requests.by_id.remove(id)?;
        requests.n_bytes -= request.n_bytes;
        self.answered.notify_one();
        Some(request.slot)
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
    async fn check_waits(admission: &Admission, n_bytes: usize, answered: &[RequestId]) {
        let next_id = id(usize::MAX >> 1);
        let mut next = std::pin::pin!(admission.admit(&next_id, n_bytes));
        for done in answered {
            let waited = tokio::time::timeout(Duration::from_millis(20), &mut next).await;
            assert!(waited.is_err(), "it did not wait for {done:?}");
            admission.finish(done);
        }
        assert!(next.await.is_some());
    }

    #[tokio::test]
    async fn the_next_request_waits_until_one_is_answered() {
        let admission = Admission::default();
        for number in 0..MAX_REQUESTS {
            assert!(admission.admit(&id(number), 1).await.is_some());
        }
        assert!(admission.admit(&id(7), 1).await.is_none(), "already pending");
        check_waits(&admission, 1, &[id(7)]).await;
    }

    #[tokio::test]
    async fn a_cancelled_request_frees_its_space_at_once_and_its_id_when_its_handler_returns() {
        let admission = Admission::default();
        let slot = admission.admit(&id(1), MAX_REQUEST_BYTES).await;
        admission.cancel(&id(1));
        admission.until_answered().await;
        assert!(admission.admit(&id(2), MAX_REQUEST_BYTES).await.is_some());
        assert!(admission.admit(&id(1), 0).await.is_none(), "still pending");
        drop(slot);
        admission.finish(&id(2));
        assert!(admission.admit(&id(1), 0).await.is_some());
    }

    #[tokio::test]
    async fn a_large_request_waits_until_it_is_alone() {
        let admission = Admission::default();
        assert!(admission.admit(&id(1), MAX_REQUEST_BYTES - 10).await.is_some());
        assert!(admission.admit(&id(2), 10).await.is_some());
        check_waits(&admission, 2 * MAX_REQUEST_BYTES, &[id(1), id(2)]).await;
    }
}
