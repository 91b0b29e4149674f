//! Decides whether a file's text comes from the editor, and whether the disk has the same text.

use std::time::{Duration, SystemTime};

use crate::error::Denial;
use crate::error::{Error, Result};
use recto_text::Document;
use recto_text::encoding::Encoding;

use super::Workspace;
use super::unsaved::UnsavedState;
use crate::Note;
use crate::context::Context;
use crate::editor::EditorError;
use crate::limits;
use crate::local::editor_hold::{DiskContent, OnDisk};
use crate::path::AbsPath;

/// The largest text that is exchanged with an editor.
pub const MAX_BUFFER_BYTES: usize = limits::EDITOR_TEXT;

/// Editors notice writes by other programs with a delay. Until then their text looks unsaved, and
/// an edit would undo the write, for example by a formatter or a checkout. If the file on disk is
/// newer than this, the editor is asked again for a while.
const RECENT: Duration = Duration::from_secs(2);
pub const RETRY_DELAY: Duration = Duration::from_millis(50);
pub const MAX_READS: usize = 8;

/// The source of a file's text.
pub enum View {
    /// The disk.
    Disk,
    /// The editor.
    Editor(Buffer),
}

/// A file's text in the editor.
pub struct Buffer {
    /// The text, with its BOM if the editor returns it.
    pub text: String,
    /// Whether the text on disk differs in more than line endings and BOM.
    pub is_unsaved: bool,
}

impl Workspace {
    /// Decides where a file's text comes from, by its state on disk and the editor's answer.
    pub fn view(&self, path: &AbsPath, on_disk: &OnDisk, context: &Context) -> Result<View> {
        let stored = match &on_disk.content {
            DiskContent::Missing if !self.unsaved.is_new(&on_disk.real_path) => {
                return Ok(View::Disk);
            }
            DiskContent::Missing => None,
            DiskContent::Large => {
                context.notes.add(Note::TooLargeForEditor);
                return Ok(View::Disk);
            }
            DiskContent::Bytes(bytes) => match Document::parse(bytes.clone()) {
                Ok(document) => Some(document),
                // No editor returns the bytes of a binary file unchanged.
                Err(_) => return Ok(View::Disk),
            },
        };
        let Some(mut text) = self.ask(path, on_disk, context)? else { return Ok(View::Disk) };
        if let Some(stored) = &stored {
            for _ in 1..MAX_READS {
                if !on_disk.is_new() || is_same_text(&text, stored.text()) {
                    break;
                }
                std::thread::sleep(RETRY_DELAY);
                let Some(again) = self.ask(path, on_disk, context)? else { return Ok(View::Disk) };
                text = again;
            }
            if is_unreadable(&text, stored) {
                context.notes.add(Note::EncodingUnknownToEditor);
                return Ok(View::Disk);
            }
        }
        if text.len() > MAX_BUFFER_BYTES {
            context.notes.add(Note::TooLargeForEditor);
            return Ok(View::Disk);
        }
        let is_unsaved = self.record(on_disk, stored.as_ref(), &text);
        // The change will be made on disk, and must find the version that was read.
        if !is_unsaved && !self.editor.can_write() {
            return Ok(View::Disk);
        }
        Ok(View::Editor(Buffer { text, is_unsaved }))
    }

    /// Returns the editor's text, or `None` if it has none.
    pub fn ask(
        &self,
        path: &AbsPath,
        on_disk: &OnDisk,
        context: &Context,
    ) -> Result<Option<String>> {
        context.cancel.check()?;
        match self.editor.read(&on_disk.given_path, context) {
            Ok(text) => Ok(Some(text)),
            Err(EditorError::NoSuchFile) => {
                self.unsaved.remove(&on_disk.real_path);
                Ok(None)
            }
            Err(EditorError::NotSent | EditorError::Unanswered | EditorError::Unsupported) => {
                Ok(None)
            }
            // The editor may have unsaved text.
            Err(EditorError::Silent) => Err(Error::EditorSilent { path: path.to_string() }),
            Err(EditorError::Refused { message, .. }) => Err(denied(path, message)),
            Err(EditorError::Cancelled) => Err(Error::Cancelled),
        }
    }

    /// Records and returns whether the editor's text of a file is unsaved.
    pub fn record(&self, on_disk: &OnDisk, stored: Option<&Document>, text: &str) -> bool {
        let lag = match stored {
            None if on_disk.content == DiskContent::Missing => Some(UnsavedState::New),
            Some(stored) if is_same_text(text, stored.text()) => None,
            _ => Some(UnsavedState::Differs),
        };
        match lag {
            Some(state) => self.unsaved.insert(&on_disk.real_path, state),
            None => self.unsaved.remove(&on_disk.real_path),
        }
        lag.is_some()
    }
}

impl OnDisk {
    fn is_new(&self) -> bool {
        // Do not wait because of a time in the future.
        let age = self.modified.and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age < RECENT)
    }
}

/// Returns the error for a rejection by the editor.
pub fn denied(path: &AbsPath, message: String) -> Error {
    Error::PermissionDenied { path: path.to_string(), reason: Denial::Editor { message } }
}

/// Whether two texts are equal except for line endings and BOM.
fn is_same_text(one: &str, other: &str) -> bool {
    one == other || with_one_ending(one).eq(with_one_ending(other))
}

/// Like [`is_same_text`], but ignores a final line ending, which some editors add or remove.
pub fn is_same_but_last_ending(one: &str, other: &str) -> bool {
    is_same_text(without_last_ending(one), without_last_ending(other))
}

fn without_last_ending(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Normalizes line endings to LF. Some editors also treat a lone CR as a line ending.
fn with_one_ending(text: &str) -> impl Iterator<Item = u8> {
    let mut bytes = text.strip_prefix('\u{feff}').unwrap_or(text).bytes().peekable();
    std::iter::from_fn(move || match bytes.next()? {
        b'\r' => {
            bytes.next_if_eq(&b'\n');
            Some(b'\n')
        }
        byte => Some(byte),
    })
}

/// Whether an editor that reads every file as UTF-8 has replaced bytes of the file.
fn is_unreadable(text: &str, stored: &Document) -> bool {
    let is_utf8 = matches!(stored.encoding(), Encoding::Utf8 | Encoding::Utf8Bom);
    !is_utf8 && text.contains('\u{fffd}') && !stored.text().contains('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_and_bom_are_ignored() {
        for (one, other, is_same) in [
            ("a\nb\n", "a\r\nb\r\n", true),
            ("a\nb", "a\rb", true),
            ("\u{feff}a\n", "a\r\n", true),
            ("", "\u{feff}", true),
            ("a\n", "a", false),
            ("a\n\n", "a\r\n", false),
            ("a", "b", false),
        ] {
            assert_eq!(is_same_text(one, other), is_same, "{one:?} {other:?}");
        }
        for (one, other, is_same) in [
            ("a\r\n", "a", true),
            ("a\r\nb", "a\nb\n", true),
            ("a\n\n", "a\r\n", false),
            ("a\n\n", "a", false),
            ("", "\n", true),
            ("a\n", "b\n", false),
        ] {
            assert_eq!(is_same_but_last_ending(one, other), is_same, "{one:?} {other:?}");
        }
    }
}
