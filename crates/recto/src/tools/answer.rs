//! What a tool answers: an object for programs, the same in words for a model, and what it did to
//! a file for whoever shows that to a person.

use std::path::PathBuf;
use std::sync::Arc;

use recto_text::Document;
use serde_json::{Map, Value};

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Blocks of text: what was asked for first, remarks after it.
    pub text: Vec<String>,
    /// The contract's object.
    pub structured: Map<String, Value>,
    /// What became of a file, where something did.
    pub change: Option<Change>,
}

/// A file before and after a call. `None` where there was none, or where it is not text.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file, absolute.
    pub path: PathBuf,
    /// What it held.
    pub before: Option<Arc<Document>>,
    /// What it holds.
    pub after: Option<Arc<Document>>,
}

impl Answer {
    /// Takes an object that was written with `json!`.
    pub fn new(text: Vec<String>, structured: Value) -> Answer {
        let Value::Object(structured) = structured else {
            unreachable!("every tool answers with an object")
        };
        Answer { text, structured, change: None }
    }

    /// The same answer, saying more.
    pub fn with_remarks(mut self, remarks: Vec<String>) -> Answer {
        if !remarks.is_empty() {
            self.text.push(remarks.join("; "));
            self.structured.insert("remarks".into(), remarks.into());
        }
        self
    }

    /// The same answer, with what became of a file.
    pub fn with_change(self, change: Option<Change>) -> Answer {
        Answer { change, ..self }
    }
}
