//! Parses only the top-level members of a message: a message of 100 MB is scanned once and not
//! copied.

use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The maximum number of messages in a batch that is inspected. ACP has no batches.
pub const MAX_BATCH: usize = 1000;

/// The kind of a line.
pub enum MessageKind<'a> {
    /// A message.
    Message(Peek<'a>),
    /// A batch of messages.
    Batch,
    /// JSON that cannot be parsed as a message, such as an object with a duplicate member.
    Unclear,
    /// Not JSON-RPC.
    Noise,
}

/// The members that identify a message.
#[derive(Deserialize)]
pub struct Peek<'a> {
    /// The method of a request or notification.
    pub method: Option<String>,
    /// The id of a request or response.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub id: Option<&'a RawValue>,
    /// The parameters of a request or notification.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub params: Option<&'a RawValue>,
    /// The result of a response.
    #[serde(borrow, default, deserialize_with = "raw")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "raw")]
    error: Option<&'a RawValue>,
}

/// Deserialises a member, distinguishing null from absent.
pub fn raw<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Determines the kind of a line.
pub fn classify(line: &[u8]) -> MessageKind<'_> {
    let Ok(text) = std::str::from_utf8(line) else {
        // The receiver may still accept it.
        let is_object = line.trim_ascii_start().starts_with(b"{");
        return if is_object { MessageKind::Unclear } else { MessageKind::Noise };
    };
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => match serde_json::from_str(text) {
            Ok(peek) => MessageKind::Message(peek),
            Err(error) if error.is_data() && is_json(text) => MessageKind::Unclear,
            Err(_) => MessageKind::Noise,
        },
        Some(b'[') if is_json(text) => MessageKind::Batch,
        _ => MessageKind::Noise,
    }
}

/// Returns the messages of a batch. `None` if the line is not a batch, or one that is too long to
/// inspect.
pub fn batch(line: &[u8]) -> Option<Vec<&RawValue>> {
    if !line.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    serde_json::from_slice(line).ok().map(|Items(items)| items)
}

/// At most [`MAX_BATCH`] items.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Items<'de>, D::Error> {
        struct AtMost;

        impl<'de> Visitor<'de> for AtMost {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {MAX_BATCH} items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    if items.len() == MAX_BATCH {
                        return Err(Error::invalid_length(MAX_BATCH + 1, &self));
                    }
                    items.push(item);
                }
                Ok(Items(items))
            }
        }

        from.deserialize_seq(AtMost)
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl<'a> Peek<'a> {
    /// Returns the error of a response. Some libraries serialise an absent one as null.
    pub fn error(&self) -> Option<&'a RawValue> {
        self.error.filter(|error| error.get() != "null")
    }

    /// Returns the id in a canonical spelling.
    pub fn id(&self) -> Option<String> {
        let id: serde_json::Value = serde_json::from_str(self.id?.get()).ok()?;
        (!id.is_null()).then(|| id.to_string())
    }
}
