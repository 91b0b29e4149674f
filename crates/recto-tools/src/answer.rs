//! What a tool answers: an object for programs, the same in words for a model, and what it did to
//! a file for whoever shows that to a person.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use recto_store::Note;
use recto_text::Document;
use serde_json::{Map, Value};

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Blocks of text: what was asked for first, remarks after it.
    pub text: Vec<String>,
    /// The contract's object, but for a repeated text: [`Answer::object`] has that, too.
    pub structured: Map<String, Value>,
    /// The field that holds the first text once more. It stands empty, because a text may be long
    /// and not everybody needs it twice.
    pub repeated: Option<&'static str>,
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
        Answer { text, structured, repeated: None, change: None }
    }

    /// The same answer, in whose object `field` holds the first text.
    pub fn with_text_in(mut self, field: &'static str) -> Answer {
        self.structured.insert(field.into(), Value::Null);
        self.repeated = Some(field);
        self
    }

    /// The contract's object.
    pub fn object(&self) -> Cow<'_, Map<String, Value>> {
        match self.repeated {
            None => Cow::Borrowed(&self.structured),
            Some(field) => {
                let mut object = self.structured.clone();
                object.insert(field.into(), self.text[0].as_str().into());
                Cow::Owned(object)
            }
        }
    }

    /// Returns the same answer with notes.
    pub fn with_notes(mut self, notes: &[Note]) -> Answer {
        if !notes.is_empty() {
            let notes: Vec<&str> = notes.iter().map(|note| words(*note)).collect();
            self.text.push(notes.join("; "));
            self.structured.insert("notes".into(), notes.into());
        }
        self
    }

    /// The same answer, with what became of a file.
    pub fn with_change(self, change: Option<Change>) -> Answer {
        Answer { change, ..self }
    }
}

/// Words a note for a model.
fn words(note: Note) -> &'static str {
    match note {
        Note::Unsaved => {
            "the editor has unsaved changes; this is the editor's text, and the file on disk differs"
        }
        Note::WithoutUnsaved => {
            "the editor has unsaved changes; this is the text on disk, without them"
        }
        Note::SearchedOnDisk => {
            "searched the files on disk; unsaved changes in the editor are not included"
        }
        Note::UnsavedNotListed => "files not yet saved in the editor are not listed",
        Note::TooLargeForEditor => {
            "larger than 16 MiB; the file on disk is used, not the editor's text"
        }
        Note::EncodingUnknownToEditor => {
            "the editor does not support this file's encoding; this is the file on disk"
        }
        Note::NotReadBack => "the editor accepted the text, but it could not be read back",
        Note::ChangedOnSave => "the editor changed the text while saving it",
        Note::Grew => "the file grew while it was read; this is its earlier content",
        Note::LinkTarget => "this is a symbolic link; its text is the path of its target",
    }
}
