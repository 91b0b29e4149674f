//! Errors of a source reach the caller unchanged, and a preview reads no more than it needs.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use recto_tables::{Error, Request, Result, Source, preview};

const REQUEST: Request<'_> = Request::new("a.csv", 100, 100_000);

/// Endless rows, with an error from some offset on.
struct EndlessRows {
    n_good: u64,
    error: Error,
    n_read: AtomicU64,
}

impl Source for EndlessRows {
    fn size(&self) -> u64 {
        1 << 40
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        if offset >= self.n_good {
            return Err(self.error.clone());
        }
        let row = b"12345,abcdefg\r\n\n";
        for (place, byte) in buffer.iter_mut().enumerate() {
            *byte = row[(offset as usize + place) % row.len()];
        }
        self.n_read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(buffer.len())
    }
}

fn rows(n_good: u64, error: Error) -> Arc<EndlessRows> {
    Arc::new(EndlessRows { n_good, error, n_read: AtomicU64::new(0) })
}

#[test]
fn returns_the_error_of_the_source() {
    for error in [Error::Stopped, Error::Read { cause: "gone".into() }] {
        assert_eq!(preview(rows(0, error.clone()), &REQUEST), Err(error.clone()));
        assert_eq!(preview(rows(200_000, error.clone()), &REQUEST), Err(error));
    }
}

#[test]
fn only_the_beginning_is_read() {
    let source = rows(u64::MAX, Error::Stopped);
    let table = preview(source.clone(), &REQUEST).unwrap();
    assert_eq!((table.rows.len(), table.has_more), (100, true));
    let n_read = source.n_read.load(Ordering::Relaxed);
    assert!(n_read < 5 << 20, "{n_read}");
}
