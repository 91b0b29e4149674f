//! Requests of our own to the editor, and whose they were.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::peek::Peek;
use crate::acp::link::server::Answer;

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
    answers: HashMap<u64, (Wanted, Answer)>,
}

/// What an answer must hold.
pub enum Wanted {
    /// The text of a file.
    Text,
    /// Nothing, as long as it is no error.
    Consent,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: String,
    method: &'static str,
    params: Params<'a>,
}

/// The parameters of both methods.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Params<'a> {
    /// The session on whose behalf it is.
    pub session_id: &'a str,
    /// The file.
    pub path: &'a RawValue,
    /// Its new text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<&'a RawValue>,
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

    /// The line that asks, once somebody waits for the answer.
    pub fn ask(
        &self,
        method: &'static str,
        params: Params<'_>,
        wanted: Wanted,
        answer: Answer,
    ) -> Vec<u8> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.last += 1;
        let number = waiting.last;
        waiting.answers.insert(number, (wanted, answer));
        drop(waiting);
        let id = format!("{}{number}", self.prefix);
        let request = Request { jsonrpc: "2.0", id, method, params };
        serde_json::to_vec(&request).expect("strings are JSON")
    }

    /// Whether a message answers one of ours.
    pub fn is_ours(&self, message: &Peek<'_>) -> bool {
        message.method.is_none() && self.number(message).is_some()
    }

    /// Hands an answer to whoever waits for it. One that comes twice is ignored.
    pub fn settle(&self, message: &Peek<'_>) {
        let Some(number) = self.number(message) else { return };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((wanted, answer)) = waiting.answers.remove(&number) else { return };
        drop(waiting);
        if let Some(error) = message.error.filter(|error| error.get() != "null") {
            let failure: Failure = serde_json::from_str(error.get()).unwrap_or_default();
            return answer.failed(failure.code.unwrap_or(INTERNAL_ERROR), failure.words());
        }
        match wanted {
            Wanted::Consent => answer.written(),
            Wanted::Text => {
                let result = message.result.map_or("null", RawValue::get);
                match serde_json::from_str::<Content>(result) {
                    Ok(Content { content }) if content.get().starts_with('"') => {
                        answer.text(content);
                    }
                    _ => answer.failed(INTERNAL_ERROR, "its answer holds no text".into()),
                }
            }
        }
    }

    fn number(&self, message: &Peek<'_>) -> Option<u64> {
        let id: String = serde_json::from_str(message.id?.get()).ok()?;
        id.strip_prefix(&self.prefix)?.parse().ok()
    }
}
