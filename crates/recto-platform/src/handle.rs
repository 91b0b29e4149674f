//! Open files and directories.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An open file or directory, which is closed on drop.
#[derive(Debug)]
pub struct Handle(pub(crate) OwnedFd);

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<File> for Handle {
    fn from(file: File) -> Handle {
        Handle(file.into())
    }
}

impl From<Handle> for File {
    fn from(handle: Handle) -> File {
        handle.0.into()
    }
}
