//! Reads lines in an async task, on the runtime's own thread: another thread would have to wake it
//! for every line, and could not be stopped while it blocks in a read.

use std::io::{ErrorKind, Result};
use std::ops::Range;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError, TryIoError};
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;

use super::{LineRead, PartialLine};

/// The size of the read buffer.
const BUFFER: usize = 64 << 10;

/// The line buffer's capacity that is kept for the next line.
const KEPT_LINE: usize = 256 << 10;

/// The lines of a stream.
pub struct Incoming {
    source: Source,
    max_bytes: usize,
    /// The bytes that were read; `left` is the part that is not consumed yet.
    buffer: Box<[u8]>,
    left: Range<usize>,
    gathered: PartialLine,
    line: Vec<u8>,
    /// Whether the line is complete, so that the next call starts a new one.
    is_over: bool,
}

enum Source {
    /// A stream that the runtime polls.
    Watched(AsyncFd<OwnedFd>),
    /// A regular file, which is always readable.
    Ready(OwnedFd),
}

impl Incoming {
    /// Reads from a stream in the current runtime. Lines longer than `max_bytes` are skipped.
    pub fn new(input: OwnedFd, max_bytes: usize) -> Result<Incoming> {
        // SAFETY: nothing else owns the descriptor, and it refers to the same file until it is
        // dropped, which ends the registration.
        let watched = unsafe { AsyncFd::register_with_interest(input, Interest::READABLE) };
        let source = match watched.map_err(AsyncFdRegisterError::into_parts) {
            Ok(input) => Source::Watched(input),
            // A file that cannot be watched is always ready.
            Err((input, error)) if error.kind() == ErrorKind::PermissionDenied => {
                Source::Ready(input)
            }
            Err((_, error)) => return Err(error),
        };
        Ok(Incoming {
            source,
            max_bytes,
            buffer: vec![0; BUFFER].into(),
            left: 0..0,
            gathered: PartialLine::default(),
            line: Vec::new(),
            is_over: false,
        })
    }

    /// Waits for the next line. Cancel safe.
    pub async fn next(&mut self) -> Result<LineRead> {
        if std::mem::take(&mut self.is_over) {
            self.line.clear();
            self.line.shrink_to(KEPT_LINE);
        }
        loop {
            let bytes = &self.buffer[self.left.clone()];
            let (n_used, line) = self.gathered.take(bytes, &mut self.line, self.max_bytes);
            self.left.start += n_used;
            if let Some(line) = line {
                self.is_over = true;
                return Ok(line);
            }
            // The buffer is empty, so no bytes are lost if this future is dropped.
            let n_read = self.source.read(&mut self.buffer).await?;
            self.left = 0..n_read;
            if n_read == 0 {
                return Ok(LineRead::End);
            }
        }
    }

    /// Returns the last line, without its ending.
    pub fn line(&mut self) -> &mut Vec<u8> {
        &mut self.line
    }
}

impl Source {
    async fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let read = match self {
                Source::Ready(input) => {
                    // Reads never block, so let other tasks run between them.
                    yield_now().await;
                    recto_platform::read(input, buffer)
                }
                Source::Watched(input) => {
                    consume_budget().await;
                    let mut ready = input.readable().await?;
                    match ready.try_io(|input| recto_platform::read_now(input.get_ref(), buffer)) {
                        Ok(read) => read,
                        Err(TryIoError { .. }) => continue,
                    }
                }
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::io::{Seek, Write};
    use std::time::Duration;

    use super::*;

    /// Waits for a line as `rmcp` does: drops and repeats the call.
    async fn next(incoming: &mut Incoming) -> Option<String> {
        loop {
            match tokio::time::timeout(Duration::from_millis(1), incoming.next()).await {
                Ok(Ok(LineRead::Whole)) => {
                    return Some(String::from_utf8(incoming.line().clone()).unwrap());
                }
                Ok(Ok(LineRead::TooLong { id })) => return Some(format!("too long: {id:?}")),
                Ok(Ok(LineRead::End)) => return None,
                Ok(Err(error)) => panic!("{error}"),
                Err(_) => {}
            }
        }
    }

    #[tokio::test]
    async fn reassembles_lines_that_arrive_in_pieces() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut incoming = Incoming::new(reader.into(), 200_000).unwrap();
        let long = "x".repeat(150_000);
        let sent = long.clone();
        let sending = std::thread::spawn(move || {
            for piece in ["one\ntw", "o\n", "\nthree\nfo"] {
                writer.write_all(piece.as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            writeln!(writer, "ur\n{sent}").unwrap();
            writeln!(writer, "{{\"id\":7,\"x\":\"{sent}{sent}\"}}").unwrap();
            write!(writer, "five\nno end").unwrap();
        });
        for expected in ["one", "two", "", "three", "four", &long, "too long: Some(\"7\")", "five"]
        {
            assert_eq!(next(&mut incoming).await.as_deref(), Some(expected));
        }
        assert_eq!(next(&mut incoming).await, None);
        sending.join().unwrap();
    }

    #[tokio::test]
    async fn a_file_is_read_to_its_end() {
        let mut file: File = tempfile::tempfile().unwrap();
        write!(file, "one\ntwo\n").unwrap();
        file.rewind().unwrap();
        let mut incoming = Incoming::new(file.into(), 100).unwrap();
        assert_eq!(next(&mut incoming).await.as_deref(), Some("one"));
        assert_eq!(next(&mut incoming).await.as_deref(), Some("two"));
        assert_eq!(next(&mut incoming).await, None);
    }
}
