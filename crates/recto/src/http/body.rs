//! Request bodies: bounded in size, time, memory and number of JSON values before they are parsed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::limits::{
    HTTP_BODIES_IN_FLIGHT, HTTP_BODY, HTTP_BODY_TIME, HTTP_REQUESTS, HTTP_SMALL_BODY,
    HTTP_VALUES_IN_FLIGHT, REQUEST_VALUES,
};

/// The unit of the budget for bytes.
const UNIT: usize = 1 << 10;

/// Requests with up to this many JSON values do not wait for the budget for values.
const FREE_VALUES: usize = 256;

/// The size of the pieces that a body is kept in. They are freed one by one while they are parsed.
const PIECE: usize = 64 << 10;

/// What requests in flight may use together. A request reserves bytes first and values second, each
/// at once, so that requests cannot wait for each other.
pub struct Budget {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    values: Arc<Semaphore>,
}

/// What one request has reserved. Kept in the request's extensions until its call has ended.
#[derive(Debug, Clone, Default)]
pub struct Reservation {
    _permits: Arc<Vec<OwnedSemaphorePermit>>,
}

/// Why a body is rejected.
#[derive(Debug, PartialEq, Eq)]
pub struct Rejected(pub StatusCode, pub &'static str);

const TOO_LARGE: Rejected =
    Rejected(StatusCode::PAYLOAD_TOO_LARGE, "The request body exceeds 16 MiB\n");
const TOO_MANY_VALUES: Rejected =
    Rejected(StatusCode::PAYLOAD_TOO_LARGE, "The request has too many JSON values\n");
const TOO_SLOW: Rejected =
    Rejected(StatusCode::REQUEST_TIMEOUT, "The request body did not arrive in time\n");
const INCOMPLETE: Rejected =
    Rejected(StatusCode::BAD_REQUEST, "The request body is incomplete or malformed\n");
const BUSY: Rejected =
    Rejected(StatusCode::SERVICE_UNAVAILABLE, "Too many requests are in flight\n");

impl Default for Budget {
    fn default() -> Budget {
        let semaphore = |n| Arc::new(Semaphore::new(n));
        Budget {
            requests: semaphore(HTTP_REQUESTS),
            bytes: semaphore(HTTP_BODIES_IN_FLIGHT / UNIT),
            values: semaphore(HTTP_VALUES_IN_FLIGHT),
        }
    }
}

impl Budget {
    /// Reads a body once there is space for it.
    pub async fn read<B>(&self, mut body: B) -> Result<(Pieces, Reservation), Rejected>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let declared = body.size_hint().exact();
        if declared.is_some_and(|n_bytes| n_bytes > HTTP_BODY as u64) {
            return Err(TOO_LARGE);
        }
        let mut permits = vec![reserve(&self.requests, 1).await?];
        // A body of unknown length reserves the maximum once it is not small.
        let mut n_free = HTTP_SMALL_BODY;
        if let Some(n_bytes) = declared.filter(|n_bytes| *n_bytes > HTTP_SMALL_BODY as u64) {
            permits.push(reserve(&self.bytes, (n_bytes as usize).div_ceil(UNIT)).await?);
            n_free = HTTP_BODY;
        }
        let deadline = Instant::now() + HTTP_BODY_TIME;
        let (mut pieces, mut values) = (Pieces::default(), Values::default());
        loop {
            let frame = timeout_at(deadline, body.frame()).await.map_err(|_| TOO_SLOW)?;
            let Some(frame) = frame else { break };
            let Ok(data) = frame.map_err(|_| INCOMPLETE)?.into_data() else { continue };
            values.add(&data);
            if pieces.n_bytes + data.len() > HTTP_BODY {
                return Err(TOO_LARGE);
            }
            if values.n_values > REQUEST_VALUES {
                return Err(TOO_MANY_VALUES);
            }
            if pieces.n_bytes + data.len() > n_free {
                permits.push(reserve(&self.bytes, HTTP_BODY / UNIT).await?);
                n_free = HTTP_BODY;
            }
            pieces.add(&data);
        }
        if values.n_values > FREE_VALUES {
            permits.push(reserve(&self.values, values.n_values).await?);
        }
        Ok((pieces, Reservation { _permits: Arc::new(permits) }))
    }
}

async fn reserve(semaphore: &Arc<Semaphore>, n: usize) -> Result<OwnedSemaphorePermit, Rejected> {
    let n = u32::try_from(n).expect("budgets are small");
    let acquired = semaphore.clone().acquire_many_owned(n);
    let acquired = timeout_at(Instant::now() + HTTP_BODY_TIME, acquired).await;
    Ok(acquired.map_err(|_| BUSY)?.expect("budgets are never closed"))
}

/// A body that was read.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    n_bytes: usize,
}

impl Pieces {
    fn add(&mut self, mut data: &[u8]) {
        self.n_bytes += data.len();
        while !data.is_empty() {
            let n_free = self.pieces.back().map_or(0, |piece| PIECE - piece.len());
            if n_free == 0 {
                self.pieces.push_back(Vec::with_capacity(data.len().min(PIECE)));
                continue;
            }
            let (now, rest) = data.split_at(n_free.min(data.len()));
            self.pieces.back_mut().expect("it is not full").extend_from_slice(now);
            data = rest;
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece.into()))))
    }
}

/// Counts JSON names and values in pieces of text. May overestimate slightly.
#[derive(Debug)]
struct Values {
    n_values: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Outside,
    InString,
    AfterBackslash,
}

impl Default for Values {
    fn default() -> Values {
        Values { n_values: 1, place: Place::Outside }
    }
}

impl Values {
    fn add(&mut self, mut piece: &[u8]) {
        while let [first, rest @ ..] = piece {
            piece = match self.place {
                Place::AfterBackslash => {
                    self.place = Place::InString;
                    rest
                }
                Place::InString => match memchr::memchr2(b'"', b'\\', piece) {
                    Some(at) => {
                        let is_end = piece[at] == b'"';
                        self.place = if is_end { Place::Outside } else { Place::AfterBackslash };
                        &piece[at + 1..]
                    }
                    None => return,
                },
                Place::Outside => {
                    match first {
                        b'"' => self.place = Place::InString,
                        b',' | b':' | b'[' | b'{' => self.n_values += 1,
                        _ => {}
                    }
                    rest
                }
            };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http_body_util::{Empty, Full};

    use super::*;

    /// A body that never ends.
    fn endless() -> impl Body<Data = Bytes> + Unpin {
        struct Endless;
        impl Body for Endless {
            type Data = Bytes;
            type Error = Infallible;
            fn poll_frame(
                self: Pin<&mut Self>,
                _context: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
                Poll::Pending
            }
        }
        Endless
    }

    fn joined(mut pieces: Pieces) -> Vec<u8> {
        pieces.pieces.drain(..).flatten().collect()
    }

    #[test]
    fn values_are_counted_across_pieces() {
        let text = r#"{"a\\":"\"[,,,","b":[1,{"c":null}]}"#;
        for size in 1..text.len() {
            let mut values = Values::default();
            for piece in text.as_bytes().chunks(size) {
                values.add(piece);
            }
            assert_eq!(values.n_values, 9, "{size}");
        }
    }

    #[tokio::test]
    async fn a_body_is_read_unchanged() {
        let budget = Budget::default();
        for n_bytes in [0, 1, PIECE, PIECE + 1, HTTP_BODY] {
            let text = vec![b'x'; n_bytes];
            let (pieces, _) = budget.read(Full::new(Bytes::from(text.clone()))).await.unwrap();
            assert!(joined(pieces) == text, "{n_bytes}");
        }
        assert!(budget.read(Empty::new()).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_or_has_too_many_values_is_rejected() {
        let budget = Budget::default();
        let read = |text: String| budget.read(Full::new(Bytes::from(text)));
        assert_eq!(read("x".repeat(HTTP_BODY + 1)).await.unwrap_err(), TOO_LARGE);
        assert_eq!(read(",".repeat(REQUEST_VALUES)).await.unwrap_err(), TOO_MANY_VALUES);
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_given_up() {
        tokio::time::pause();
        let start = Instant::now();
        assert_eq!(Budget::default().read(endless()).await.unwrap_err(), TOO_SLOW);
        assert_eq!(start.elapsed().as_secs(), HTTP_BODY_TIME.as_secs());
    }

    #[tokio::test]
    async fn large_bodies_wait_for_each_other_and_small_ones_do_not() {
        tokio::time::pause();
        let budget = Budget::default();
        let full = |n_bytes: usize| Full::new(Bytes::from(vec![b'x'; n_bytes]));
        let mut held = Vec::new();
        for _ in 0..HTTP_BODIES_IN_FLIGHT / HTTP_BODY {
            held.push(budget.read(full(HTTP_BODY)).await.unwrap());
        }
        assert_eq!(budget.read(full(HTTP_SMALL_BODY + 1)).await.unwrap_err(), BUSY);
        assert!(budget.read(full(HTTP_SMALL_BODY)).await.is_ok());
        held.pop();
        assert!(budget.read(full(HTTP_SMALL_BODY + 1)).await.is_ok());
    }

    #[tokio::test]
    async fn requests_in_flight_are_bounded() {
        tokio::time::pause();
        let budget = Budget::default();
        let mut held = Vec::new();
        for _ in 0..HTTP_REQUESTS {
            held.push(budget.read(Empty::new()).await.unwrap());
        }
        assert_eq!(budget.read(Empty::new()).await.unwrap_err(), BUSY);
        held.pop();
        assert!(budget.read(Empty::new()).await.is_ok());
    }
}
