//! Shared by the tools that read: a text with its version, and the position of a page in it.

use std::sync::Arc;

use crate::error::Result;
use recto_text::quote::Lines;
use recto_text::window::Page;
use recto_text::{Digest, Document};

use super::ReadEnv;
use recto_store::path::AbsPath;
use recto_store::{Pages, Text};

/// A text, either loaded whole or ready to be read in pages.
pub enum Read<'a> {
    Whole(Arc<Document>, Digest),
    Paged(Box<dyn Pages + 'a>),
}

/// Reads a text and remembers its version.
pub fn text<'a>(env: &ReadEnv<'a>, path: &AbsPath) -> Result<Read<'a>> {
    match env.store.text(path, env.context)? {
        Text::Whole(document) => {
            let (digest, document) = (document.digest(), Arc::new(document));
            env.versions.remember(digest, &document);
            Ok(Read::Whole(document, digest))
        }
        Text::Paged(pages) => Ok(Read::Paged(pages)),
    }
}

/// Returns the line that reports the position and version of a page.
pub fn position(env: &ReadEnv<'_>, page: &Page, digest: Digest) -> String {
    let Page { first_line, n_lines, total_lines, is_cut, .. } = *page;
    let part = if total_lines == 0 {
        "empty file".to_string()
    } else if n_lines == 0 {
        format!("no line {first_line}; the file has {}", Lines(total_lines))
    } else if n_lines == total_lines && !is_cut {
        Lines(total_lines).to_string()
    } else if n_lines == 1 {
        format!("line {first_line} of {total_lines}")
    } else {
        format!("lines {first_line}-{} of {total_lines}", first_line + n_lines - 1)
    };
    let next = page.next_line().map(|line| format!(", next line {line}")).unwrap_or_default();
    let mut cut = String::new();
    if is_cut {
        let n_shown = page.content.chars().count();
        let unit = if n_shown == 1 { "character" } else { "characters" };
        cut = format!(", line {first_line} truncated after {n_shown} {unit}");
        if let Some(tool) = env.served.name("ReadLines") {
            let next = n_shown + 1;
            cut.push_str(&format!("; {tool} with lines {first_line}, column {next} continues"));
        }
    }
    format!("{part}{next}{cut}, hash {digest}")
}
