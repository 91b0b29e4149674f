//! What an edit must keep: line endings, a byte order mark, and metadata. Also, an ambiguous match
//! must be rejected.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use recto_dev::servers::{Server, ServerKind};
use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result, process};

pub const TRIAL: Trial = Trial {
    name: "fidelity",
    rows: &[
        ("edit keeps CRLF", "yes"),
        ("edit keeps mixed line endings", "yes"),
        ("edit keeps a byte order mark", "yes"),
        ("edit keeps a missing last line ending", "yes"),
        ("edit keeps owner and group", "yes"),
        ("edit keeps the mode", "yes"),
        ("edit keeps extended attributes", "yes"),
        ("edit keeps an access list", "yes"),
        ("an ambiguous match", "rejects"),
    ],
    run,
};

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for (before, after) in [
        ("one\r\ntwo\r\nthree\r\n", "one\r\nTWO\r\nthree\r\n"),
        ("one\r\ntwo\nthree\r\nfour\n", "one\r\nTWO\nthree\r\nfour\n"),
        ("\u{feff}one\ntwo\nthree\n", "\u{feff}one\nTWO\nthree\n"),
        ("one\ntwo\nthree", "one\nTWO\nthree"),
    ] {
        cells.push(edit(
            server,
            before,
            |_| Ok(()),
            |path| Ok(fs::read(path)? == after.as_bytes()),
        )?);
    }
    let text = "one\ntwo\nthree\n";
    cells.push(match process::is_root() {
        false => Cell::skipped("giving a file away needs root"),
        true => edit(
            server,
            text,
            |path| Ok(chown(path, Some(1234), Some(4321))?),
            |path| Ok((fs::metadata(path)?.uid(), fs::metadata(path)?.gid()) == (1234, 4321)),
        )?,
    });
    cells.push(edit(
        server,
        text,
        |path| Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o751))?),
        |path| Ok(fs::metadata(path)?.mode() & 0o7777 == 0o751),
    )?);
    cells.push(attribute(server, "user.note", b"kept")?);
    cells.push(attribute(server, "system.posix_acl_access", &access_list())?);

    if server.kind == ServerKind::TextEditor {
        // It edits by lines, not strings.
        cells.push(Cell::none());
        return Ok(cells);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    fs::write(&path, "same\nother\nsame\n")?;
    let reply = Session::open(server, folder.path())?.edit(&path, "same", "changed")?;
    let is_kept = fs::read_to_string(&path)? == "same\nother\nsame\n";
    cells.push(match (reply.is_done(), is_kept) {
        (false, true) => Cell::new(true, "rejects"),
        (true, false) => Cell::new(false, "edits one of them"),
        _ => Cell::new(false, "reports one thing and does another"),
    });
    Ok(cells)
}

/// Edits the line `two` and checks whether something was kept.
fn edit(
    server: &Server,
    text: &str,
    prepare: impl FnOnce(&Path) -> Result<()>,
    is_kept: impl FnOnce(&Path) -> Result<bool>,
) -> Result<Cell> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    fs::write(&path, text)?;
    prepare(&path)?;
    let reply = Session::open(server, folder.path())?.edit(&path, "two", "TWO")?;
    if !reply.is_done() {
        return Ok(Cell::new(false, "rejects"));
    }
    if !fs::read_to_string(&path)?.contains("TWO") {
        return Ok(Cell::new(false, "is not edited"));
    }
    let is_kept = is_kept(&path)?;
    Ok(Cell::new(is_kept, if is_kept { "yes" } else { "no" }))
}

fn attribute(server: &Server, name: &str, value: &[u8]) -> Result<Cell> {
    let probe = tempfile::NamedTempFile::new()?;
    if let Err(errno) = setxattr(probe.path(), name, value, XattrFlags::empty()) {
        return Ok(Cell::skipped(format!("this file system has no {name}: {errno}")));
    }
    edit(
        server,
        "one\ntwo\nthree\n",
        |path| Ok(setxattr(path, name, value, XattrFlags::empty())?),
        |path| {
            let mut buffer = [0; 256];
            // A missing attribute is a result too.
            let n = getxattr(path, name, &mut buffer[..]).unwrap_or(0);
            Ok(&buffer[..n] == value)
        },
    )
}

/// The owner may read and write, user 1234 may read, group and others have no access.
fn access_list() -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in
        [(1_u16, 6_u16, NOBODY), (2, 4, 1234), (4, 0, NOBODY), (16, 4, NOBODY), (32, 0, NOBODY)]
    {
        list.extend(tag.to_le_bytes());
        list.extend(bits.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}
