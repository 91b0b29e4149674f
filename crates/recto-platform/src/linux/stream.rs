//! Pipes, sockets and terminals: reading and writing with or without waiting.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
use rustix::net::{RecvFlags, recv};

/// The current position of a stream.
const HERE: u64 = u64::MAX;

/// Writes as much as the stream takes without waiting, and returns how much that was. An error counts
/// as nothing written: writing the rest will report it.
pub fn write_now(output: impl AsFd, bytes: &[u8]) -> usize {
    pwritev2(output, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

/// Reads without waiting. [`ErrorKind::WouldBlock`] if the stream has nothing yet.
pub fn read_now(input: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    match preadv2(&input, &mut [IoSliceMut::new(buffer)], HERE, ReadWriteFlags::NOWAIT) {
        // Not every stream supports it, for example a terminal.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {}
        read => return Ok(read?),
    }
    match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&Timespec::default()))? {
        0 => Err(ErrorKind::WouldBlock.into()),
        _ => read(input, buffer),
    }
}

/// Reads, and waits if the stream has nothing yet.
pub fn read(input: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    Ok(rustix::io::read(input, buffer)?)
}

/// Receives from a socket without waiting. [`ErrorKind::WouldBlock`] if it has nothing yet.
pub fn receive_now(socket: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    Ok(recv(socket, buffer, RecvFlags::DONTWAIT)?.0)
}

/// The direction in which a stream is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Until it can be read.
    Read,
    /// Until it can be written.
    Write,
}

/// Waits until a stream is ready, or a signal arrives.
pub fn wait(stream: impl AsFd, direction: Direction) -> Result<()> {
    let flags = match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    match poll(&mut [PollFd::new(&stream, flags)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether something can be written to a stream without waiting.
pub fn is_writable_now(stream: impl AsFd) -> bool {
    let mut asked = [PollFd::new(&stream, PollFlags::OUT)];
    let is_ready = poll(&mut asked, Some(&Timespec::default()));
    is_ready.is_ok_and(|n| n > 0) && asked[0].revents().contains(PollFlags::OUT)
}

/// Makes a pipe contain at least so many bytes. A stream that is not a pipe stays as it is.
pub fn grow_pipe(pipe: impl AsFd, n_bytes: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, n_bytes);
}
