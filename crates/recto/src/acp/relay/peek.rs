//! Looks into a message without taking it apart: a message of 100 MB is scanned once and no part
//! of it is copied.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What a line is.
pub enum MessageKind<'a> {
    /// A message.
    Message(Peek<'a>),
    /// Several at once.
    Batch(Vec<&'a RawValue>),
    /// JSON that is no message we could understand, such as one that says something twice.
    Unclear,
    /// No JSON-RPC at all.
    Noise,
}

/// The members of a message that tell what it is.
#[derive(Deserialize)]
pub struct Peek<'a> {
    /// What is asked for or told; a response has none.
    pub method: Option<String>,
    /// What a response answers.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub id: Option<&'a RawValue>,
    /// Of a request or notification.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub params: Option<&'a RawValue>,
    /// Of a response.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub result: Option<&'a RawValue>,
    /// Of a response.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub error: Option<&'a RawValue>,
}

/// Keeps null apart from absent.
pub fn raw<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Says what a line is.
pub fn classify(line: &[u8]) -> MessageKind<'_> {
    let Ok(text) = std::str::from_utf8(line) else {
        // Whoever it is for may know what to make of it.
        let is_object = line.trim_ascii_start().starts_with(b"{");
        return if is_object { MessageKind::Unclear } else { MessageKind::Noise };
    };
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => match serde_json::from_str(text) {
            Ok(peek) => MessageKind::Message(peek),
            Err(error) if error.is_data() && is_json(text) => MessageKind::Unclear,
            Err(_) => MessageKind::Noise,
        },
        Some(b'[') => match serde_json::from_str(text) {
            Ok(items) => MessageKind::Batch(items),
            Err(_) => MessageKind::Noise,
        },
        _ => MessageKind::Noise,
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl Peek<'_> {
    /// The id in a spelling that can be compared.
    pub fn id(&self) -> Option<String> {
        let id: serde_json::Value = serde_json::from_str(self.id?.get()).ok()?;
        (!id.is_null()).then(|| id.to_string())
    }
}
