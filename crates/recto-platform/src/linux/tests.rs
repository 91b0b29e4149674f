#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::io::{ErrorKind, Write, pipe};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn lists_names_with_their_kinds_and_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "text").unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    symlink("sub", dir.path().join("link")).unwrap();
    let expected =
        [("file", FileKind::File), ("link", FileKind::Symlink), ("sub", FileKind::Directory)];
    let handle = open_directory(dir.path()).unwrap();
    let mut found: Vec<_> = entries(open_directory_at(&handle, ".").unwrap())
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, expected.map(|(name, kind)| (name.into(), kind)));
    for (name, kind) in expected {
        assert_eq!(status_at(&handle, name).unwrap().kind(), kind);
    }
    assert_eq!(open_path_at(&handle, "link").err(), Some(SysError::NOTDIR));
    assert_eq!(open_file_at(&handle, "link").err(), Some(SysError::LOOP));
    assert_eq!(read_link_at(&handle, "link").unwrap(), OsStr::new("sub"));
    assert_eq!(status_at(&handle, "missing").err(), Some(SysError::NOENT));
}

#[test]
fn reads_at_an_offset_into_spare_capacity() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "0123456789").unwrap();
    let file = open_file_at(&open_path(dir.path()).unwrap(), "file").unwrap();
    assert_eq!(file.status().unwrap().size, 10);
    let mut bytes = Vec::with_capacity(4);
    bytes.push(b'x');
    let n_spare = bytes.capacity() - 1;
    assert_eq!(file.append_from(&mut bytes, 2).unwrap(), n_spare.min(8));
    assert_eq!(bytes[..4], *b"x234");
}

#[test]
fn a_lock_excludes_other_handles_until_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = [(); 2].map(|()| open_directory(dir.path()).unwrap());
    first.try_lock().unwrap();
    assert_eq!(second.try_lock(), Err(SysError::AGAIN));
    drop(first);
    second.try_lock().unwrap();
}

#[test]
fn reads_what_is_available_and_does_not_wait() {
    let (reader, mut writer) = pipe().unwrap();
    let (socket, mut peer) = UnixStream::pair().unwrap();
    let mut buffer = [0; 8];
    assert_eq!(read_now(&reader, &mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(receive_now(&socket, &mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    writer.write_all(b"one").unwrap();
    peer.write_all(b"two").unwrap();
    assert_eq!(read_now(&reader, &mut buffer).unwrap(), 3);
    assert_eq!(receive_now(&socket, &mut buffer).unwrap(), 3);
    assert!(is_peer_same_user(&socket).unwrap());
}

#[test]
fn writes_what_fits_and_does_not_wait() {
    let (_reader, writer) = pipe().unwrap();
    let bytes = vec![0; 16 << 20];
    assert!(is_writable_now(&writer));
    let n_written = write_now(&writer, &bytes);
    assert!(0 < n_written && n_written < bytes.len(), "{n_written}");
    assert!(!is_writable_now(&writer));
    assert_eq!(write_now(&writer, &bytes), 0);
}

#[test]
fn errors_read_like_those_of_std() {
    let missing = std::fs::metadata("/nowhere/at/all").unwrap_err();
    assert_eq!(SysError::NOENT.to_string(), missing.to_string());
    assert_eq!(std::io::Error::from(SysError::NOENT).kind(), ErrorKind::NotFound);
}

#[test]
fn random_names_differ() {
    let (one, other) = (random_hex::<16>().unwrap(), random_hex::<16>().unwrap());
    assert_eq!(one.len(), 32);
    assert_ne!(one, other);
}
