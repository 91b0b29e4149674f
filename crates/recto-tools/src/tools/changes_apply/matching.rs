//! The files that a pattern matches and that contain the text of an edit. Files that are ignored,
//! hidden, denied or binary never match.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use recto_store::glob::Glob;
use recto_store::path::AbsPath;
use recto_store::{Error as StoreError, ListRequest, Note, Text};
use recto_text::Document;
use recto_text::find::find;
use recto_text::plan::Replacement;

use super::super::paths::{list_in_roots, named};
use super::super::{ReadEnv, WriteEnv};
use super::needed::Needed;
use crate::error::{Error, Result};
use crate::limits;

/// Returns the matching files in the order of their paths. Fails as soon as the call needs too much.
pub fn matching(
    env: &WriteEnv<'_>,
    glob: &str,
    replacements: &[Replacement],
    needed: &mut Needed,
) -> Result<Vec<(AbsPath, Arc<Document>)>> {
    let read = &env.to_read();
    let read = &ReadEnv { context: &env.context.with_walk_deadline(), ..*read };
    let (start, pattern) = Glob::parse(glob)?;
    let matches = list_in_roots(read, &start, glob, |folder| {
        let limit = limits::SEARCHED_FILES;
        let request = ListRequest { folder, glob: &pattern, shows_ignored: false, limit };
        Ok(read.store.list(&request, read.context).map_err(|error| named(error, glob))?)
    })?;
    let started = Instant::now();
    let too_many = || {
        let (name, expected) = ("glob".into(), "a pattern that matches fewer files".into());
        Error::WrongArgument { name, expected, value: glob.to_string() }
    };
    if matches.listing.stopped.is_some()
        || matches.listing.total > matches.listing.files.len() as u64
    {
        return Err(too_many());
    }
    let mut found = Vec::new();
    let mut bulk = env.store.bulk(env.context);
    for file in &matches.listing.files {
        env.context.cancel.check()?;
        if started.elapsed() > limits::SEARCH_TIME {
            return Err(too_many());
        }
        let is_hidden =
            |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        if Path::new(file).components().any(is_hidden) {
            continue;
        }
        let path = matches.shown.join(file);
        let path = AbsPath::of(path.clone(), path.display().to_string());
        let document = match bulk.text(&path) {
            Ok(Text::Whole(document)) => document,
            Err(error @ (StoreError::MemoryBusy { .. } | StoreError::Cancelled)) => {
                return Err(error.into());
            }
            // Binary files and files that cannot be read do not match.
            Ok(_) | Err(_) => continue,
        };
        let occurs = |edit: &Replacement| find(document.text(), edit.needle()).is_some();
        if replacements.iter().any(occurs) {
            let counted = needed.add_match(&path, document.bytes().len() as u64, env.context);
            counted.map_err(|error| match error {
                StoreError::TooMany { what, n, limit } => {
                    let (glob, n_files) = (glob.to_string(), found.len() as u64 + 1);
                    Error::TooManyMatches { glob, n_files, what, n, limit }
                }
                error => error.into(),
            })?;
            found.push((path, Arc::new(document)));
        }
    }
    // Files with unsaved text are rejected, so that what is on disk is all there is.
    env.context.notes.set(Note::SearchedOnDisk, false);
    Ok(found)
}
