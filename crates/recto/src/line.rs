//! Reads lines of bounded length from a stream, and finds the request id of a line that is too long
//! to keep.

mod incoming;

use std::io::{BufRead, ErrorKind, Read, Result, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use recto_platform::{Direction, receive_now, wait};

pub use incoming::Incoming;

/// The outcome of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum LineRead {
    /// A whole line is in the buffer, without its ending.
    Whole,
    /// The line was longer than allowed and was skipped.
    TooLong {
        /// The value of the top-level `id` as JSON, if there is one.
        id: Option<String>,
    },
    /// The stream ended. Bytes after the last line ending are not a message.
    End,
}

/// A stream that blocks, even if the parent process has set `O_NONBLOCK` on it.
pub struct Blocking<S>(pub S);

impl<S: AsFd> Blocking<S> {
    /// Repeats `call` while it would block.
    fn retry(
        &mut self,
        direction: Direction,
        mut call: impl FnMut(&mut S) -> Result<usize>,
    ) -> Result<usize> {
        loop {
            match call(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait(&self.0, direction)?,
                done => return done,
            }
        }
    }
}

/// A socket that waits in `poll`. A thread that waits in `recv` is also woken, needlessly, each time
/// the other side reads.
pub struct Polled<'a>(pub &'a UnixStream);

impl Read for Polled<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            wait(self.0, Direction::Read)?;
            match receive_now(self.0, buffer) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                read => return read,
            }
        }
    }
}

impl<S: Read + AsFd> Read for Blocking<S> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.retry(Direction::Read, |stream| stream.read(buffer))
    }
}

impl<S: Write + AsFd> Write for Blocking<S> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.retry(Direction::Write, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

impl<S: AsFd> AsFd for Blocking<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads the next line into `buffer`, which never grows beyond `max_bytes`.
pub fn read(input: &mut impl BufRead, buffer: &mut Vec<u8>, max_bytes: usize) -> Result<LineRead> {
    buffer.clear();
    let mut gathered = PartialLine::default();
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(LineRead::End);
        }
        let (n_used, line) = gathered.take(available, buffer, max_bytes);
        input.consume(n_used);
        if let Some(line) = line {
            return Ok(line);
        }
    }
}

/// A line that arrives in pieces.
#[derive(Default)]
struct PartialLine {
    /// Scans a line that is too long to keep.
    scan: Option<IdScan>,
}

impl PartialLine {
    /// Moves the bytes of the line from `bytes` to `buffer`. Returns how many that were, and the
    /// outcome if the line has ended.
    fn take(
        &mut self,
        bytes: &[u8],
        buffer: &mut Vec<u8>,
        max_bytes: usize,
    ) -> (usize, Option<LineRead>) {
        let newline = memchr::memchr(b'\n', bytes);
        let piece = &bytes[..newline.unwrap_or(bytes.len())];
        match &mut self.scan {
            None if buffer.len() + piece.len() <= max_bytes => buffer.extend_from_slice(piece),
            None => {
                let scan = self.scan.insert(IdScan::default());
                scan.push(buffer);
                scan.push(piece);
                buffer.clear();
                buffer.shrink_to(64 << 10);
            }
            Some(scan) => scan.push(piece),
        }
        let Some(end) = newline else { return (bytes.len(), None) };
        let line = match self.scan.take() {
            None => LineRead::Whole,
            Some(scan) => LineRead::TooLong { id: scan.id },
        };
        (end + 1, Some(line))
    }
}

/// The length of an id, as JSON, that is found. A longer one counts as none: a part of it would be
/// another id.
const MAX_ID: usize = 256;

/// Returns the top-level `id` of a line, as JSON, even if the line is not valid JSON.
pub fn id_of(line: &[u8]) -> Option<String> {
    let mut scan = IdScan::default();
    scan.push(line);
    scan.id
}

/// Finds the top-level `id` of a JSON object that arrives in pieces. It only has to be right for
/// valid JSON; for other input any result will do.
#[derive(Default)]
struct IdScan {
    id: Option<String>,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The start of the last top-level string, or of the value that follows `"id":`.
    token: Vec<u8>,
    is_value_of_id: bool,
}

impl IdScan {
    fn push(&mut self, piece: &[u8]) {
        for byte in piece {
            if self.id.is_some() {
                return;
            }
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.is_in_string {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                if !self.is_value_of_id {
                    self.token.clear();
                }
                self.keep(byte);
            }
            b':' if self.depth == 1 => {
                self.is_value_of_id = self.token == b"\"id\"";
                self.token.clear();
            }
            b',' | b'}' if self.depth == 1 => {
                if self.is_value_of_id && self.token.len() <= MAX_ID {
                    self.id = String::from_utf8(std::mem::take(&mut self.token)).ok();
                }
                self.is_value_of_id = false;
                self.depth -= usize::from(byte == b'}');
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b' ' | b'\t' | b'\r' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= MAX_ID {
            self.token.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn reads_lines_and_skips_long_ones() {
        let input = b"one\ntwo\r\n\n{\"id\":7,\"x\":\"aaaaaaaaaaaaaaaaaaaaaaaa\"}\nlast\ntail";
        let mut input = std::io::BufReader::with_capacity(3, &input[..]);
        let mut buffer = Vec::new();
        let mut next = |expected: LineRead, content: &[u8]| {
            assert_eq!(read(&mut input, &mut buffer, 20).unwrap(), expected);
            if expected == LineRead::Whole {
                assert_eq!(buffer, content);
            }
        };
        next(LineRead::Whole, b"one");
        next(LineRead::Whole, b"two\r");
        next(LineRead::Whole, b"");
        next(LineRead::TooLong { id: Some("7".into()) }, b"");
        next(LineRead::Whole, b"last");
        next(LineRead::End, b"");
    }

    #[test]
    fn finds_the_id_at_any_position() {
        for (line, id) in [
            (r#"{"id":1,"params":{"id":2}}"#, Some("1")),
            (r#"{"params":{"id":2,"a":[{"id":3}]}, "id" : "a\"b" }"#, Some(r#""a\"b""#)),
            (r#"{"params":"\"id\":5","method":"id"}"#, None),
            (r#"{"method":"id","x":4,"id":null}"#, Some("null")),
            ("no json at all", None),
            (&format!(r#"{{"id":{}}}"#, "4".repeat(256)), Some(&*"4".repeat(256))),
            (&format!(r#"{{"id":{}}}"#, "4".repeat(257)), None),
            (&format!(r#"{{"id":"{}"}}"#, "a".repeat(255)), None),
        ] {
            let mut scan = IdScan::default();
            for piece in line.as_bytes().chunks(3) {
                scan.push(piece);
            }
            assert_eq!(scan.id.as_deref(), id, "{line}");
        }
    }
}
