//! A store that shows the effect of a change without making it: reads go to another store, and
//! writes are discarded.
//!
//! It takes no locks and creates no directories, so a preview never waits. It checks read
//! permission only; the change itself checks write permission.

use std::path::PathBuf;

use crate::error::{Error, Result, SizeLimit};
use crate::limits;
use crate::path::AbsPath;
use crate::{
    BulkReader, Bytes, Context, FileStep, HeldFile, Hold, ListRequest, Listing, Nearby, Removal,
    Remove, Removed, RemovedContent, Replace, Slot, StepError, Store, Text, Transaction, Whole,
    WriteError, WriteStore, Written,
};

/// Wraps another store and only reads from it.
pub struct PreviewStore<'a>(pub &'a dyn WriteStore);

impl Store for PreviewStore<'_> {
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>> {
        self.0.text(path, context)
    }

    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a> {
        self.0.bulk(context)
    }

    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        self.0.open(path, context)
    }

    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool> {
        self.0.is_file(path, context)
    }

    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf> {
        self.0.real_path(path, context)
    }

    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby {
        self.0.nearby(path, context)
    }

    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        self.0.list(request, context)
    }
}

impl WriteStore for PreviewStore<'_> {
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>> {
        match self.open(path, context) {
            Ok(bytes) => Ok(Hold::File(Box::new(PreviewedFile { bytes, path: path.clone() }))),
            Err(Error::FileNotFound { .. }) => Ok(Hold::Vacant(Box::new(Discard))),
            Err(error) => Err(error),
        }
    }

    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>> {
        match self.hold(path, context)? {
            Hold::Vacant(slot) => Ok(slot),
            Hold::File(_) => Err(Error::FileExists { path: path.to_string(), what: None }),
        }
    }

    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>> {
        let bytes = self.open(path, context)?;
        Ok(Removal::new(PreviewedFile { bytes, path: path.clone() }.read()?, Box::new(Discard)))
    }

    fn open_stored(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        self.0.open_stored(path, context)
    }

    fn transaction<'a>(
        &'a self,
        steps: &'a [FileStep<'a>],
        _context: &'a Context,
    ) -> Result<Box<dyn Transaction + 'a>, Vec<StepError>> {
        Ok(Box::new(DiscardAll { n_steps: steps.len() }))
    }
}

/// A file whose change is previewed.
struct PreviewedFile {
    bytes: Box<dyn Bytes>,
    path: AbsPath,
}

impl PreviewedFile {
    fn read(&self) -> Result<Vec<u8>> {
        let n_bytes = self.bytes.size();
        if n_bytes > limits::PREVIEWED_FILE {
            let (path, limit) = (self.path.to_string(), SizeLimit::Preview);
            return Err(Error::TooLarge { path, n_bytes, limit });
        }
        let mut read = vec![0; n_bytes as usize];
        let mut n_read = 0;
        while n_read < read.len() {
            match self.bytes.read_at(&mut read[n_read..], n_read as u64)? {
                0 => break,
                n_more => n_read += n_more,
            }
        }
        self.bytes.check_unchanged()?;
        read.truncate(n_read);
        Ok(read)
    }
}

impl<'a> HeldFile<'a> for PreviewedFile {
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>> {
        Ok(Whole::new(self.read()?, Box::new(Discard)))
    }
}

/// Discards the changes of a transaction.
struct DiscardAll {
    n_steps: usize,
}

impl Transaction for DiscardAll {
    fn commit(self: Box<Self>) -> Result<Vec<Written>, Vec<StepError>> {
        Ok(vec![Written::default(); self.n_steps])
    }
}

/// Discards writes.
struct Discard;

impl Slot for Discard {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn create_bytes(self: Box<Self>, _bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        Ok(Written::default())
    }
}

impl<'a> Replace<'a> for Discard {
    fn replace(self: Box<Self>, _: &[u8], _: &[u8]) -> Result<Written, WriteError<'a>> {
        Ok(Written::default())
    }
}

impl<'a> Remove<'a> for Discard {
    fn remove(self: Box<Self>, _before: &RemovedContent) -> Result<Removed, WriteError<'a>> {
        Ok(Removed::File)
    }
}
