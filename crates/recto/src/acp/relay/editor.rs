//! Requests of our own to the editor, and whose they were.
//!
//! A server asks for a change once, and it takes up to three requests: what the file's text is, the
//! write, and what the editor made of it. They are made here, where an answer leads to the next
//! request at once, so that a person can type the least in between.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use recto_text::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::peek::Peek;
use crate::acp::link::server::{Answer, Change};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// The code for an answer that is none.
const INTERNAL_ERROR: i64 = -32603;

/// What was asked and not answered yet.
pub struct Requests {
    /// Begins every id of ours and of nobody else: another relay may stand before or behind us.
    prefix: String,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    requests: HashMap<u64, Purpose>,
}

/// What a request is for.
enum Purpose {
    /// Somebody wants the text.
    Read(Answer),
    /// It is a step of a change.
    Change(Step, Box<Pending>),
}

#[derive(Clone, Copy)]
enum Step {
    /// Reads the text that is to be there still.
    Compare(Digest),
    Write,
    ReadBack,
}

/// A change on its way. Its lines are written in advance, so that nothing delays them.
struct Pending {
    answer: Answer,
    write: Line,
    read_back: Line,
    /// When its step was asked for.
    since: Instant,
    /// Whether anybody waits for what stands there afterwards.
    is_given_up: bool,
}

/// A request, with the number in its id.
struct Line {
    number: u64,
    text: Vec<u8>,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: String,
    method: &'static str,
    params: Params<'a>,
}

/// The parameters of both methods.
#[derive(Serialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    session_id: &'a str,
    path: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Failure {
    code: Option<i64>,
    message: Option<String>,
    data: Option<serde_json::Value>,
}

impl Failure {
    /// Why, in the editor's words. Some keep the reason behind a message that says nothing.
    fn words(&self) -> String {
        let data = self.data.as_ref();
        let details = data.and_then(|data| data.get("details").unwrap_or(data).as_str());
        let words = details.or(self.message.as_deref()).unwrap_or("it gave no reason");
        words.chars().take(1000).collect()
    }

    fn send(self, answer: Answer) {
        answer.failed(self.code.unwrap_or(INTERNAL_ERROR), self.words());
    }
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

impl Requests {
    /// None yet. `nonce` makes our ids our own.
    pub fn new(nonce: String) -> Requests {
        Requests { prefix: format!("recto-{nonce}-"), waiting: Mutex::default() }
    }

    /// The line that asks for a file's text.
    pub fn read(&self, session_id: &str, path: &RawValue, answer: Answer) -> Vec<u8> {
        let params = Params { session_id, path, content: None };
        let line = self.line(self.next_number(), READ, params);
        self.expect(line, Purpose::Read(answer))
    }

    /// The first line of a change.
    pub fn write(&self, session_id: &str, change: Change<'_>, answer: Answer) -> Vec<u8> {
        let Change { path, expects, content } = change;
        let reading = Params { session_id, path, content: None };
        let writing = Params { content: Some(content), ..reading };
        let compare = expects.map(|digest| (self.line(self.next_number(), READ, reading), digest));
        let write = self.line(self.next_number(), WRITE, writing);
        let read_back = self.line(self.next_number(), READ, reading);
        let since = Instant::now();
        let pending = Pending { answer, write, read_back, since, is_given_up: false };
        match compare {
            Some((line, digest)) => {
                self.expect(line, Purpose::Change(Step::Compare(digest), Box::new(pending)))
            }
            None => self.begin(Step::Write, Box::new(pending)),
        }
    }

    /// Ends the reading of a change, if it has lasted this long. Where the editor has the new text
    /// and did not answer yet, that is still waited for.
    pub fn give_up(&self, write: &Answer, after: Duration) {
        let mut waiting = self.lock();
        let mut requests = waiting.requests.iter_mut();
        let found = requests.find_map(|(number, purpose)| match purpose {
            Purpose::Change(step, pending) if pending.answer.is_same(write) => {
                Some((*number, *step, pending))
            }
            _ => None,
        });
        let Some((number, step, pending)) = found else { return };
        pending.is_given_up |= after.is_zero();
        if matches!(step, Step::Write) || pending.since.elapsed() < after {
            return;
        }
        let Some(Purpose::Change(_, pending)) = waiting.requests.remove(&number) else { return };
        drop(waiting);
        match step {
            Step::Compare(_) => pending.answer.given_up(),
            Step::Write | Step::ReadBack => pending.answer.written(None),
        }
    }

    /// Whether a message answers one of ours.
    pub fn is_ours(&self, message: &Peek<'_>) -> bool {
        message.method.is_none() && self.number(message).is_some()
    }

    /// Hands an answer to whoever waits for it, or gives the line that is to be sent next. One that
    /// comes twice is ignored.
    pub fn settle(&self, message: &Peek<'_>) -> Option<Vec<u8>> {
        let number = self.number(message)?;
        let purpose = self.lock().requests.remove(&number)?;
        let result = result(message);
        match purpose {
            Purpose::Read(answer) => match result.and_then(text) {
                Ok(text) => answer.text(text),
                Err(failure) => failure.send(answer),
            },
            Purpose::Change(Step::Compare(expected), pending) => {
                let is_same =
                    result.and_then(text).is_ok_and(|text| digest(text) == Some(expected));
                match is_same {
                    true if pending.answer.is_in_vain() => {}
                    true => return Some(self.begin(Step::Write, pending)),
                    false => pending.answer.moved(),
                }
            }
            Purpose::Change(Step::Write, pending) => match result {
                Ok(_) if pending.is_given_up => pending.answer.written(None),
                Ok(_) => return Some(self.begin(Step::ReadBack, pending)),
                Err(failure) => failure.send(pending.answer),
            },
            Purpose::Change(Step::ReadBack, pending) => {
                pending.answer.written(result.and_then(text).ok());
            }
        }
        None
    }

    /// The line of the next step of a change.
    fn begin(&self, step: Step, mut pending: Box<Pending>) -> Vec<u8> {
        let place = match step {
            Step::Write => &mut pending.write,
            Step::Compare(_) | Step::ReadBack => &mut pending.read_back,
        };
        let line = Line { number: place.number, text: std::mem::take(&mut place.text) };
        pending.since = Instant::now();
        self.expect(line, Purpose::Change(step, pending))
    }

    /// From now on the line's answer is waited for.
    fn expect(&self, line: Line, purpose: Purpose) -> Vec<u8> {
        self.lock().requests.insert(line.number, purpose);
        line.text
    }

    fn line(&self, number: u64, method: &'static str, params: Params<'_>) -> Line {
        let id = format!("{}{number}", self.prefix);
        let request = Request { jsonrpc: "2.0", id, method, params };
        Line { number, text: serde_json::to_vec(&request).expect("strings are JSON") }
    }

    fn next_number(&self) -> u64 {
        let mut waiting = self.lock();
        waiting.last += 1;
        waiting.last
    }

    fn number(&self, message: &Peek<'_>) -> Option<u64> {
        let id: String = serde_json::from_str(message.id?.get()).ok()?;
        id.strip_prefix(&self.prefix)?.parse().ok()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn result<'a>(message: &Peek<'a>) -> Result<&'a str, Failure> {
    match message.error.filter(|error| error.get() != "null") {
        Some(error) => Err(serde_json::from_str(error.get()).unwrap_or_default()),
        None => Ok(message.result.map_or("null", RawValue::get)),
    }
}

/// The text in an answer, as a JSON string.
fn text(result: &str) -> Result<&RawValue, Failure> {
    match serde_json::from_str::<Content>(result) {
        Ok(Content { content }) if content.get().starts_with('"') => Ok(content),
        _ => {
            let message = Some("its answer holds no text".into());
            Err(Failure { message, ..Failure::default() })
        }
    }
}

fn digest(text: &RawValue) -> Option<Digest> {
    let text: String = serde_json::from_str(text.get()).ok()?;
    Some(Digest::of(text.as_bytes()))
}
