//! The answer of a tool: an object for programs, text for a model, and the changed file for clients
//! that show changes to a user.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use recto_store::Note;
use recto_text::{Digest, Document};
use serde_json::{Map, Value};

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// One line with the position, the version and how to continue. It is sent first, so that a
    /// client that cuts the end of an answer does not cut it.
    pub head: String,
    /// The requested text, or the diff. An empty one is not sent.
    pub content: String,
    /// The contract's object without the repeated content, which [`Answer::object`] adds.
    pub structured: Map<String, Value>,
    /// The field of the object that repeats the content. It is null here, so that a long text is
    /// copied only for callers that need the object.
    pub repeated: Option<&'static str>,
    /// The changes to files.
    pub changes: Vec<FileChange>,
    /// The version of the named file that the answer reports, unless it is that of a dry run.
    pub version: Option<Digest>,
    /// The versions of other files than the named one that the answer shows text of.
    pub seen: Vec<(PathBuf, Digest)>,
}

/// A file before and after a call. A side is `None` if there is no file or it is not text.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// The absolute path.
    pub path: PathBuf,
    /// The path before the call, if the file was moved.
    pub moved_from: Option<PathBuf>,
    /// The content before the call.
    pub before: Option<Arc<Document>>,
    /// The content after the call.
    pub after: Option<Arc<Document>>,
}

impl Answer {
    /// Creates an answer without content. `structured` must be an object.
    pub fn new(head: impl Into<String>, structured: Value) -> Answer {
        let Value::Object(structured) = structured else {
            unreachable!("every tool answers with an object")
        };
        let (head, content) = (head.into(), String::new());
        let (repeated, changes, version, seen) = (None, Vec::new(), None, Vec::new());
        Answer { head, content, structured, repeated, changes, version, seen }
    }

    /// Returns the same answer with content.
    pub fn with_content(self, content: String) -> Answer {
        Answer { content, ..self }
    }

    /// Returns the same answer with content that `field` of its object repeats.
    pub fn with_content_in(mut self, field: &'static str, content: String) -> Answer {
        self.structured.insert(field.into(), Value::Null);
        self.repeated = Some(field);
        self.with_content(content)
    }

    /// Returns the same answer with the current version of the named file.
    pub fn with_version(self, digest: Digest) -> Answer {
        Answer { version: Some(digest), ..self }
    }

    /// Returns the blocks of text, in the order in which they are sent.
    pub fn blocks(&self) -> impl Iterator<Item = &str> {
        [self.head.as_str(), self.content.as_str()].into_iter().filter(|block| !block.is_empty())
    }

    /// Returns the contract's object.
    pub fn object(&self) -> Cow<'_, Map<String, Value>> {
        match self.repeated {
            None => Cow::Borrowed(&self.structured),
            Some(field) => {
                let mut object = self.structured.clone();
                object.insert(field.into(), self.content.as_str().into());
                Cow::Owned(object)
            }
        }
    }

    /// Returns the same answer with notes.
    pub fn with_notes(mut self, notes: &[Note]) -> Answer {
        if !notes.is_empty() {
            let notes: Vec<&str> = notes.iter().map(|note| words(*note)).collect();
            self.head = format!("{}; {}", self.head, notes.join("; "));
            let all = self.structured.entry("notes").or_insert_with(|| Value::Array(Vec::new()));
            all.as_array_mut()
                .expect("notes are a list")
                .extend(notes.into_iter().map(Value::from));
        }
        self
    }

    /// Returns the same answer with the change to a file.
    pub fn with_change(self, change: Option<FileChange>) -> Answer {
        Answer { changes: Vec::from_iter(change), ..self }
    }
}

/// Returns the wording of a note for a model.
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
        Note::LongLinesCut => {
            "only the start of very long lines was searched; a simpler pattern may search more of them"
        }
        Note::LinkTarget => "this is a symbolic link; its text is the path of its target",
        Note::LfsPointer => "this is a Git LFS pointer; a checkout would write the large file",
        Note::FilteredOnCheckout => {
            "a checkout would filter this file (.gitattributes) and may write other bytes"
        }
        Note::CrlfOnCheckout => {
            "a checkout would write CRLF line endings (.gitattributes or core.autocrlf)"
        }
        Note::NotExecutable => "the file was executable; its mode is not restored",
        Note::LostSetId => "the file's setuid and setgid bits were removed",
        Note::LostCapabilities => "the file's capabilities were removed",
        Note::LostFlags => "the file's inode flags (lsattr) were not kept",
        Note::NotRecorded => "not recorded in the journal; recto undo cannot undo this change",
    }
}
