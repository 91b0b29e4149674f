//! The relay's own requests to the editor.
//!
//! A change takes three requests: read the current text, write the new one, and read it back.
//! The relay makes them itself, so that each follows the previous answer at once and the user has the
//! least time to type in between.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use recto_store::sync::lock;
use recto_text::{Digest, Tag};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::peek::Peek;
use crate::acp::line_sender::LineSender;
use crate::acp::link::server::{Answer, ChangeRequest};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// The error code for a file that does not exist.
const NO_SUCH_FILE: i64 = -32002;

/// The error code for an invalid answer.
const INTERNAL_ERROR: i64 = -32603;

/// The unanswered requests.
pub struct EditorRequests {
    /// The prefix of this relay's ids. Random, because relays may be chained.
    prefix: String,
    waiting: Mutex<PendingRequests>,
}

#[derive(Default)]
struct PendingRequests {
    last: u64,
    requests: HashMap<u64, PendingRequest>,
}

/// A request that waits for its answer.
struct PendingRequest {
    step: RequestStep,
    answer: Answer,
    /// The requests that follow, in reverse order. Serialised in advance to save time.
    next: Vec<RequestLine>,
    since: Instant,
    /// Whether the text after the write is no longer needed.
    is_given_up: bool,
}

/// The purpose of a request.
#[derive(Clone, Copy)]
enum RequestStep {
    /// Reads the text for a server.
    Read,
    /// Checks that the text still has this tag, or without a tag, that the editor has no text.
    Compare(Option<Tag>),
    Write,
    ReadBack,
}

/// A serialised request, with the number in its id.
struct RequestLine {
    number: u64,
    text: Vec<u8>,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: String,
    method: &'static str,
    params: FileParams<'a>,
}

/// The parameters of both methods.
#[derive(Serialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct FileParams<'a> {
    session_id: &'a str,
    path: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct EditorFailure {
    code: Option<i64>,
    message: Option<String>,
    data: Option<serde_json::Value>,
}

impl EditorFailure {
    /// Returns the editor's reason. Some editors put it in `data` behind a generic message.
    fn words(&self) -> String {
        let data = self.data.as_ref();
        let details = data.and_then(|data| data.get("details").unwrap_or(data).as_str());
        let words = details.or(self.message.as_deref()).unwrap_or("no reason given");
        words.chars().take(1000).collect()
    }

    fn send(self, answer: Answer) {
        answer.failed(self.code.unwrap_or(INTERNAL_ERROR), self.words());
    }
}

#[derive(Deserialize)]
struct ReadResult<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

impl EditorRequests {
    /// Creates an empty set of requests, whose ids contain `nonce`.
    pub fn new(nonce: String) -> EditorRequests {
        EditorRequests { prefix: format!("recto-{nonce}-"), waiting: Mutex::default() }
    }

    /// Starts a read and returns the line to send.
    pub fn read(&self, session_id: &str, path: &RawValue, answer: Answer) -> Vec<u8> {
        let params = FileParams { session_id, path, content: None };
        let line = self.line(READ, params);
        self.begin(RequestStep::Read, answer, line, Vec::new())
    }

    /// Starts a change and returns the first line to send.
    pub fn change(&self, session_id: &str, change: ChangeRequest<'_>, answer: Answer) -> Vec<u8> {
        let ChangeRequest { path, expects, content } = change;
        let reading = FileParams { session_id, path, content: None };
        let writing = FileParams { content: Some(content), ..reading };
        let compare = self.line(READ, reading);
        let write = self.line(WRITE, writing);
        let read_back = self.line(READ, reading);
        self.begin(RequestStep::Compare(expects), answer, compare, vec![read_back, write])
    }

    /// Abandons the current read of a change if it has taken at least `after`. A write that was sent
    /// to the editor is still waited for.
    pub fn give_up(&self, change: &Answer, after: Duration) {
        let mut waiting = lock(&self.waiting);
        let mut requests = waiting.requests.iter_mut();
        let found = requests.find(|(_, asked)| asked.answer.is_same(change));
        // If there is none, the reply was sent already.
        let Some((&number, asked)) = found else { return };
        asked.is_given_up |= after.is_zero();
        let (step, is_over) = (asked.step, asked.since.elapsed() >= after);
        match step {
            RequestStep::Compare(_) | RequestStep::ReadBack if is_over => {}
            _ => {
                drop(waiting);
                return change.pending();
            }
        }
        let asked = waiting.requests.remove(&number);
        drop(waiting);
        match (step, asked) {
            (RequestStep::Compare(_), Some(asked)) => asked.answer.given_up(false),
            (_, Some(asked)) => asked.answer.written(None),
            (_, None) => {}
        }
    }

    /// Abandons every change that was not sent to the editor yet.
    pub fn give_up_all(&self) {
        let mut waiting = lock(&self.waiting);
        let is_compared =
            |_: &u64, asked: &mut PendingRequest| matches!(asked.step, RequestStep::Compare(_));
        let compared: Vec<_> = waiting.requests.extract_if(is_compared).collect();
        drop(waiting);
        compared.into_iter().for_each(|(_, asked)| asked.answer.given_up(true));
    }

    /// Forgets the requests of a disconnected server.
    pub fn forget(&self, server: &LineSender) {
        lock(&self.waiting).requests.retain(|_, asked| !asked.answer.goes_to(server));
    }

    /// Whether a message answers a request of this relay.
    pub fn is_ours(&self, message: &Peek<'_>) -> bool {
        message.method.is_none() && self.number(message).is_some()
    }

    /// Handles an answer: replies to the server, or returns the next line to send. A repeated answer
    /// is ignored.
    pub fn settle(&self, message: &Peek<'_>) -> Option<Vec<u8>> {
        let number = self.number(message)?;
        let result = result(message);
        // Removed only once the outcome is clear, so that it can be abandoned until then.
        let step = lock(&self.waiting).requests.get(&number)?.step;
        match step {
            RequestStep::Read => {
                let text = result.and_then(text);
                let answer = self.take(number)?.answer;
                match text {
                    Ok(text) => answer.text(text),
                    Err(failure) => failure.send(answer),
                }
            }
            RequestStep::Compare(expected) => match result.and_then(text) {
                Ok(text) if is_expected(text, expected) => return self.next(number),
                Ok(_) => self.take(number)?.answer.moved(),
                // Editors have different errors for a missing file, and none for text that they have.
                // Whether the file may be written, the answer to the write says.
                Err(_) if expected.is_none() => return self.next(number),
                // The file was removed, so its text is not the expected one.
                Err(EditorFailure { code: Some(NO_SUCH_FILE), .. }) => {
                    self.take(number)?.answer.moved()
                }
                Err(failure) => failure.send(self.take(number)?.answer),
            },
            RequestStep::Write => match result {
                Ok(_) if !lock(&self.waiting).requests.get(&number)?.is_given_up => {
                    return self.next(number);
                }
                Ok(_) => self.take(number)?.answer.written(None),
                Err(failure) => failure.send(self.take(number)?.answer),
            },
            RequestStep::ReadBack => {
                let text = result.and_then(text).ok();
                self.take(number)?.answer.written(text);
            }
        }
        None
    }

    fn take(&self, number: u64) -> Option<PendingRequest> {
        lock(&self.waiting).requests.remove(&number)
    }

    /// Advances a change to its next step and returns the line to send.
    fn next(&self, number: u64) -> Option<Vec<u8>> {
        let mut waiting = lock(&self.waiting);
        let mut asked = waiting.requests.remove(&number)?;
        let line = asked.next.pop()?;
        asked.step = if asked.next.is_empty() { RequestStep::ReadBack } else { RequestStep::Write };
        asked.since = Instant::now();
        waiting.requests.insert(line.number, asked);
        Some(line.text)
    }

    /// Registers a request and returns its line.
    fn begin(
        &self,
        step: RequestStep,
        answer: Answer,
        line: RequestLine,
        next: Vec<RequestLine>,
    ) -> Vec<u8> {
        let since = Instant::now();
        let asked = PendingRequest { step, answer, next, since, is_given_up: false };
        lock(&self.waiting).requests.insert(line.number, asked);
        line.text
    }

    fn line(&self, method: &'static str, params: FileParams<'_>) -> RequestLine {
        let number = self.next_number();
        let id = format!("{}{number}", self.prefix);
        let request = Request { jsonrpc: "2.0", id, method, params };
        RequestLine { number, text: serde_json::to_vec(&request).expect("strings are JSON") }
    }

    fn next_number(&self) -> u64 {
        let mut waiting = lock(&self.waiting);
        waiting.last += 1;
        waiting.last
    }

    fn number(&self, message: &Peek<'_>) -> Option<u64> {
        let id: String = serde_json::from_str(message.id?.get()).ok()?;
        id.strip_prefix(&self.prefix)?.parse().ok()
    }
}

fn result<'a>(message: &Peek<'a>) -> Result<&'a str, EditorFailure> {
    match message.error() {
        Some(error) => Err(serde_json::from_str(error.get()).unwrap_or_default()),
        None => Ok(message.result.map_or("null", RawValue::get)),
    }
}

/// Returns the text in an answer, as a JSON string.
fn text(result: &str) -> Result<&RawValue, EditorFailure> {
    match serde_json::from_str::<ReadResult>(result) {
        Ok(ReadResult { content }) if content.get().starts_with('"') && is_text(content.get()) => {
            Ok(content)
        }
        _ => {
            let message = Some("the answer contains no text".into());
            Err(EditorFailure { message, ..EditorFailure::default() })
        }
    }
}

/// Whether a JSON string is valid Unicode. Only an unpaired surrogate can make it invalid.
fn is_text(string: &str) -> bool {
    let has_surrogates = string.contains(r"\ud") || string.contains(r"\uD");
    !has_surrogates || serde_json::from_str::<String>(string).is_ok()
}

/// Whether a text has the expected tag. Some editors answer "" for a missing file.
fn is_expected(text: &RawValue, expected: Option<Tag>) -> bool {
    let Ok(text) = serde_json::from_str::<String>(text.get()) else { return false };
    match expected {
        Some(tag) => Digest::of(text.as_bytes()).tag() == tag,
        None => text.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::acp::relay::peek::{MessageKind, classify};

    /// Settles a line with the editor's answer `result`.
    fn settle(requests: &EditorRequests, line: &[u8], result: &str) -> Option<Vec<u8>> {
        let request: serde_json::Value = serde_json::from_slice(line).unwrap();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"]);
        let MessageKind::Message(message) = classify(answer.as_bytes()) else { unreachable!() };
        requests.settle(&message)
    }

    #[test]
    fn forgets_the_requests_of_a_disconnected_server() {
        let sender = || LineSender::start("test", std::io::pipe().unwrap().1, 1 << 20).unwrap();
        let (one, other) = (sender(), sender());
        let requests = EditorRequests::new("n".into());
        let path = serde_json::value::to_raw_value("/f").unwrap();
        let text = serde_json::value::to_raw_value("new").unwrap();
        let begin = |server: &LineSender| {
            let answer = |id| Answer::new(id, server.clone());
            let expects = Some(Digest::of(b"old").tag());
            let change = ChangeRequest { path: &path, expects, content: &text };
            requests.read("s", &path, answer(1));
            requests.change("s", change, answer(2))
        };
        let (compare_one, compare_other) = (begin(&one), begin(&other));
        assert_eq!(lock(&requests.waiting).requests.len(), 4);
        requests.forget(&one);
        assert_eq!(lock(&requests.waiting).requests.len(), 2);
        let old = r#"{"content":"old"}"#;
        assert!(settle(&requests, &compare_one, old).is_none(), "its request was forgotten");
        assert!(settle(&requests, &compare_other, old).is_some());
    }
}
