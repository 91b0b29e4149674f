//! Pipes, sockets and terminals: reading and writing with or without waiting.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::os::fd::{AsFd, AsRawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
};

use crate::Handle;

/// The current position of a stream.
const HERE: u64 = u64::MAX;

/// Writes as much as the stream accepts without waiting, and returns the number of bytes. An error
/// counts as 0: writing the rest will report it.
pub fn write_now(output: impl AsFd, bytes: &[u8]) -> usize {
    pwritev2(output, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

/// Reads without waiting. Fails with [`ErrorKind::WouldBlock`] if nothing is available.
pub fn read_now(input: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    match preadv2(&input, &mut [IoSliceMut::new(buffer)], HERE, ReadWriteFlags::NOWAIT) {
        // Some streams do not support this, for example terminals.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {}
        read => return Ok(read?),
    }
    match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&Timespec::default()))? {
        0 => Err(ErrorKind::WouldBlock.into()),
        _ => read(input, buffer),
    }
}

/// Reads, waiting until something is available.
pub fn read(input: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    Ok(rustix::io::read(input, buffer)?)
}

/// Receives without waiting. Fails with [`ErrorKind::WouldBlock`] if nothing is available.
pub fn receive_now(socket: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    Ok(recv(socket, buffer, RecvFlags::DONTWAIT)?.0)
}

/// Returns whether the socket `name` in a directory refuses connections, as it does once its process
/// has ended. Does not wait: a socket whose backlog is full does not refuse.
pub fn is_socket_dead_at(dir: &Handle, name: &str) -> Result<bool> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The path of a socket is limited to 107 bytes, and its directories could be replaced by links.
    let path = format!("/proc/self/fd/{}/{name}", dir.as_fd().as_raw_fd());
    let connected = connect(&socket, &SocketAddrUnix::new(path)?);
    Ok(connected == Err(Errno::CONNREFUSED))
}

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Until the stream is readable.
    Read,
    /// Until the stream is writable.
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

/// Returns whether a stream accepts bytes without waiting.
pub fn is_writable_now(stream: impl AsFd) -> bool {
    let mut asked = [PollFd::new(&stream, PollFlags::OUT)];
    let is_ready = poll(&mut asked, Some(&Timespec::default()));
    is_ready.is_ok_and(|n| n > 0) && asked[0].revents().contains(PollFlags::OUT)
}

/// Grows a pipe's buffer to at least `n_bytes`. Has no effect on other streams.
pub fn grow_pipe(pipe: impl AsFd, n_bytes: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, n_bytes);
}
