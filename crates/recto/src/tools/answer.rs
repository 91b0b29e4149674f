//! What a tool answers: an object for programs, and the same in words for a model.

use serde_json::{Map, Value};

/// A successful answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Blocks of text: what was asked for first, remarks after it.
    pub text: Vec<String>,
    /// The contract's object.
    pub structured: Map<String, Value>,
}

impl Answer {
    /// Takes an object that was written with `json!`.
    pub fn new(text: Vec<String>, structured: Value) -> Answer {
        let Value::Object(structured) = structured else {
            unreachable!("every tool answers with an object")
        };
        Answer { text, structured }
    }
}
