//! The size of answers.
//!
//! [`Delivery::max_bytes`] bounds all blocks of text of an answer together, and separately its
//! object as JSON. A tool gets a [`Budget`], from which the head is already
//! deducted, and spends it on content.

use recto_text::Size;
use recto_text::size::fitting;
use serde_json::Value;

use crate::delivery::{AnswerForm, Delivery};
use crate::error::Error;
use crate::served::Served;

/// The bytes reserved for the head of an answer with its notes, and in the object for the fields
/// beside the content.
pub const HEAD: usize = 512;

/// The bytes reserved in an error's object besides its message and hint.
const ERROR_FIELDS: usize = 64;

/// The shortest part of a hint that is worth sending.
const SHORTEST_HINT: usize = 80;

/// The bytes that the content of an answer may still use, as text and in its object.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    left: Size,
}

impl Budget {
    /// Returns the budget of a whole answer.
    pub fn whole(Delivery { form, max_bytes }: Delivery) -> Budget {
        let left = match form {
            AnswerForm::Text => Size::utf8(max_bytes),
            AnswerForm::Both | AnswerForm::Structured => Size { bytes: max_bytes, json: max_bytes },
        };
        Budget { left }
    }

    /// Returns the budget of the content, after the head and the other fields.
    pub fn content(delivery: Delivery) -> Budget {
        Budget::whole(delivery).without(HEAD)
    }

    /// Returns the budget without `n_bytes` of both parts, which is at least 0.
    pub fn without(self, n_bytes: usize) -> Budget {
        let json = match self.left.json {
            usize::MAX => usize::MAX,
            json => json.saturating_sub(n_bytes),
        };
        Budget { left: Size { bytes: self.left.bytes.saturating_sub(n_bytes), json } }
    }

    /// Returns what is left.
    pub fn left(&self) -> Size {
        self.left
    }

    /// Spends bytes of text and of JSON, or spends nothing and returns false if they do not fit.
    pub fn spend(&mut self, size: Size) -> bool {
        let left = self.left.minus(size);
        left.inspect(|left| self.left = *left).is_some()
    }
}

/// Returns the bytes of a value in a list, as JSON with a comma.
pub fn json_size(value: &Value) -> usize {
    value.to_string().len() + 1
}

/// The text of an error within the size of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorText {
    /// The contract's message, shortened only if it exceeds the size alone.
    pub message: String,
    /// The advice, if there is any.
    pub hint: Option<String>,
}

impl ErrorText {
    /// Returns the message and hint of an error, shortened to the size of an answer.
    pub fn new(error: &Error, served: &Served, delivery: Delivery) -> ErrorText {
        const BETWEEN: &str = "\n\n";
        // Both are sent as text and as data, whatever the form of an answer.
        let max = Size { bytes: delivery.max_bytes, json: delivery.max_bytes };
        let max = max.minus(Size { bytes: BETWEEN.len(), json: ERROR_FIELDS }).unwrap_or_default();
        let message = shortened(error.to_string(), max);
        let left = max.minus(Size::of(&message)).unwrap_or_default();
        let hint = error.hint(served).map(|hint| shortened(hint.text, left));
        let is_useful = |hint: &String| !hint.ends_with('…') || hint.len() >= SHORTEST_HINT;
        ErrorText { message, hint: hint.filter(is_useful) }
    }

    /// Returns both as one block.
    pub fn block(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\n\n{hint}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Returns a text, or its start and `…` if it exceeds a size.
pub fn shortened(mut text: String, max: Size) -> String {
    if max.fitting(text.as_bytes()) < text.len() {
        let max = max.minus(Size::of("…")).unwrap_or_default();
        text.truncate(fitting(&text, max).len());
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_hint_is_shortened_before_the_message() {
        let known = "x".repeat(4000);
        let error = Error::UnknownArgument { name: "\u{1}".repeat(200), known };
        let delivery = Delivery { form: AnswerForm::Text, max_bytes: 1024 };
        let text = ErrorText::new(&error, &Served::all(), delivery);
        assert_eq!(text.message, error.to_string());
        assert!(text.hint.as_ref().is_some_and(|hint| hint.ends_with("x…")), "{text:?}");
        assert!(text.block().len() <= 1024);
        let sent = serde_json::json!({"code": -32600, "message": text.message, "hint": text.hint});
        assert!((900..=1024).contains(&sent.to_string().len()), "{sent}");
    }
}
