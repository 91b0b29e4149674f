//! A store that tells what a change would do and does nothing: files are read as they are, and
//! what is written is forgotten.
//!
//! Nothing is locked and no folder is made, so that a rehearsal waits for nobody. Its walls are
//! those of a read; whether a change would be let through is for the change to find out.

use recto_text::search::Search;
use recto_text::window::Window;
use recto_text::{Document, Error, Result};

use super::{
    Bytes, Held, ListRequest, Listing, Purpose, Removed, Store, VersionedHits, VersionedPage,
    WriteError, WriteStore, Written,
};
use crate::caller::Caller;
use crate::limits;
use crate::path::AbsPath;

/// The largest file whose change is rehearsed.
const MAX_BYTES: u64 = limits::PREVIEWED_FILE;

/// Another store, from which nothing but text is taken.
pub struct Rehearsal<'a>(pub &'a dyn WriteStore);

impl Store for Rehearsal<'_> {
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>> {
        self.0.document(path, caller)
    }

    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage> {
        self.0.page(path, window, caller)
    }

    fn search(
        &self,
        path: &AbsPath,
        search: &Search<'_>,
        caller: &Caller,
    ) -> Result<VersionedHits> {
        self.0.search(path, search, caller)
    }

    fn open(&self, path: &AbsPath, caller: &Caller) -> Result<Box<dyn Bytes>> {
        self.0.open(path, caller)
    }

    fn is_file(&self, path: &AbsPath, caller: &Caller) -> Result<bool> {
        self.0.is_file(path, caller)
    }

    fn list(&self, request: &ListRequest<'_>, caller: &Caller) -> Result<Listing> {
        self.0.list(request, caller)
    }
}

impl WriteStore for Rehearsal<'_> {
    fn hold<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<Box<dyn Held + 'a>> {
        let mut seen = Seen { store: self.0, path: path.clone(), caller };
        if purpose == Purpose::Create && seen.open()?.is_some() {
            return Err(Error::FileExists { path: path.to_string(), what: None });
        }
        Ok(Box::new(seen))
    }
}

/// A file that is looked at.
struct Seen<'a> {
    store: &'a dyn WriteStore,
    path: AbsPath,
    caller: &'a Caller,
}

impl Seen<'_> {
    fn open(&mut self) -> Result<Option<Box<dyn Bytes>>> {
        match self.store.open(&self.path, self.caller) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::FileNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Held for Seen<'_> {
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(bytes) = self.open()? else { return Ok(None) };
        if bytes.size() > MAX_BYTES {
            let limit = format!("rehearsed up to {MAX_BYTES} bytes");
            let path = self.path.to_string();
            return Err(Error::TooLarge { path, n_bytes: bytes.size(), limit });
        }
        let mut read = vec![0; bytes.size() as usize];
        let mut n_read = 0;
        while n_read < read.len() {
            match bytes.read_at(&mut read[n_read..], n_read as u64)? {
                0 => break,
                n_more => n_read += n_more,
            }
        }
        bytes.check_unchanged()?;
        read.truncate(n_read);
        Ok(Some(read))
    }

    fn replace(&mut self, _before: &[u8], _after: &[u8]) -> Result<Written, WriteError> {
        Ok(Written::default())
    }

    fn create(&mut self, _bytes: &[u8]) -> Result<Written, WriteError> {
        Ok(Written::default())
    }

    fn remove(&mut self, _before: &[u8]) -> Result<Removed, WriteError> {
        Ok(Removed::File)
    }
}
