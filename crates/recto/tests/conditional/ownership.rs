//! Owners, access lists and extended attributes of files, and connections from other users.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use recto::acp::link::LinkClient;
use rustix::fs::{IFlags, XattrFlags, getxattr, ioctl_getflags, ioctl_setflags, setxattr};
use serde_json::json;

use crate::acp_editor::{Editor, Habits};
use crate::client::{Actual, Client, NOBODY, Revision, recto, run, serve_unprivileged};
use crate::fidelity::{call, check_edits};
use crate::sandbox_fixture::Expected::ReadableForeign;
use crate::sandbox_fixture::{SandboxFixture, rows};

/// Names the environment variable with the socket that [`knock`] connects to.
pub const KNOCK: &str = "RECTO_KNOCK";

const ATTRIBUTE: &str = "user.recto.note";

pub fn an_edit_keeps_the_owner() {
    check_edits(
        |path| chown(path, Some(4321), Some(8765)).unwrap(),
        |path, before| {
            let owner = |metadata: &Metadata| (metadata.uid(), metadata.gid());
            assert_eq!(owner(&std::fs::metadata(path).unwrap()), owner(before));
        },
    );
}

/// Whether files in the temporary directory support extended attributes.
pub fn can_have_attributes() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    setxattr(file.path(), ATTRIBUTE, b"kept", XattrFlags::empty()).is_ok()
}

pub fn an_edit_keeps_attributes() {
    check_edits(
        |path| setxattr(path, ATTRIBUTE, b"kept", XattrFlags::empty()).unwrap(),
        |path, _| {
            let mut value = [0; 64];
            let n_bytes = getxattr(path, ATTRIBUTE, &mut value[..]).unwrap();
            assert_eq!(&value[..n_bytes], b"kept");
        },
    );
}

/// Whether a directory can have a default access list.
pub fn can_have_access_lists() -> bool {
    set_default_access_list(tempfile::tempdir().unwrap().path()).is_ok()
}

/// Sets a default access list on a directory.
fn set_default_access_list(folder: &Path) -> rustix::io::Result<()> {
    setxattr(folder, "system.posix_acl_default", &access_list(), XattrFlags::empty())
}

/// Returns an access list for the owner, user 1234, the group and others.
fn access_list() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 7, u32::MAX),
        (0x02, 6, 1234),
        (0x04, 4, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 0, u32::MAX),
    ];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

pub fn an_edit_does_not_apply_the_default_access_list_of_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.txt");
    std::fs::write(&path, "secret\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    set_default_access_list(folder.path()).unwrap();
    let edit = json!({"path": path, "old_string": "secret", "new_string": "private"});
    assert!(matches!(call(folder.path(), "edit_text_file", edit), Actual::Answer { .. }));
    let mut value = [0; 256];
    let found = getxattr(&path, "system.posix_acl_access", &mut value[..]);
    assert_eq!(found.err(), Some(rustix::io::Errno::NODATA));
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
}

pub fn an_edit_reports_dropped_capabilities() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tool");
    std::fs::write(&path, "tool\n").unwrap();
    // cap_net_raw+ep, in the second version of the format.
    let value = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    setxattr(&path, "security.capability", &value, XattrFlags::empty()).unwrap();
    let edit = json!({"path": path, "old_string": "tool", "new_string": "TOOL"});
    let answer = format!("{:?}", call(folder.path(), "edit_text_file", edit));
    assert!(answer.contains("the file's capabilities were removed"), "{answer}");
    assert!(getxattr(&path, "security.capability", &mut [0; 64][..]).is_err());
}

pub fn undo_restores_the_owner_access_list_and_attributes_of_a_removed_file() {
    const ACCESS_LIST: &str = "system.posix_acl_access";
    let folder = tempfile::tempdir().unwrap();
    let (root, state) = (folder.path().join("root"), folder.path().join("state"));
    std::fs::create_dir(&root).unwrap();
    let ok = |arguments: &[&str]| -> String {
        let mut command = recto();
        command.args(arguments).current_dir(&root).env("RECTO_STATE_DIR", &state);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The second round undoes several files together.
    for names in [&["one.txt"][..], &["two.txt", "three.txt"]] {
        for name in names {
            let path = root.join(name);
            std::fs::write(&path, "text\n").unwrap();
            chown(&path, Some(4321), Some(8765)).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            setxattr(&path, ATTRIBUTE, b"kept", XattrFlags::empty()).unwrap();
            setxattr(&path, ACCESS_LIST, &access_list(), XattrFlags::empty()).unwrap();
        }
        let had = |name: &str| {
            let (status, mut list) = (std::fs::metadata(root.join(name)).unwrap(), [0; 256]);
            let n_bytes = getxattr(root.join(name), ACCESS_LIST, &mut list[..]).unwrap();
            let mut note = [0; 4];
            getxattr(root.join(name), ATTRIBUTE, &mut note[..]).unwrap();
            (status.uid(), status.gid(), status.mode(), list[..n_bytes].to_vec(), note)
        };
        let before: Vec<_> = names.iter().map(|name| had(name)).collect();
        let mut removals = Vec::new();
        for name in names {
            let path = format!("path={name}");
            let read = ok(&["call", "text_read", &path, "--json"]);
            let read: serde_json::Value = serde_json::from_str(&read).unwrap();
            let hash = format!("hash={}", read["hash"].as_str().unwrap());
            ok(&["call", "file_remove", &path, &hash]);
            let log: serde_json::Value =
                serde_json::from_str(&ok(&["log", "--json", "-n", "1"])).unwrap();
            removals.push(log["id"].to_string());
        }
        // Undo, undo of the undo, and undo of that.
        for _ in 0..2 {
            let ids: Vec<&str> = removals.iter().map(String::as_str).collect();
            ok(&[&["undo"], &ids[..]].concat());
            assert_eq!(names.iter().map(|name| had(name)).collect::<Vec<_>>(), before);
            let newest = |n: usize| -> Vec<String> {
                let log = ok(&["log", "--json", "-n", &n.to_string()]);
                let id = |line: &str| {
                    serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string()
                };
                log.lines().map(id).collect()
            };
            let undos = newest(names.len());
            let ids: Vec<&str> = undos.iter().map(String::as_str).collect();
            ok(&[&["undo"], &ids[..]].concat());
            assert!(names.iter().all(|name| !root.join(name).exists()));
            removals = newest(names.len());
        }
    }
}

/// Sets or clears an inode flag.
fn set_flag(path: &Path, flag: IFlags, is_set: bool) -> rustix::io::Result<()> {
    let file = std::fs::File::open(path).unwrap();
    let mut flags = ioctl_getflags(&file)?;
    flags.set(flag, is_set);
    ioctl_setflags(&file, flags)
}

/// Whether a directory can be made append-only and a file marked.
pub fn can_have_flags() -> bool {
    let folder = tempfile::tempdir().unwrap();
    set_flag(folder.path(), IFlags::APPEND, true).is_ok()
        && set_flag(folder.path(), IFlags::APPEND, false).is_ok()
        && set_flag(folder.path(), IFlags::NODUMP, true).is_ok()
}

pub fn an_edit_reports_dropped_inode_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "one\n").unwrap();
    let edit = |old: &str, new: &str| {
        let edit = json!({"path": path, "old_string": old, "new_string": new});
        format!("{:?}", call(folder.path(), "edit_text_file", edit))
    };
    assert!(!edit("one", "two").contains("inode flags"));
    set_flag(&path, IFlags::NODUMP, true).unwrap();
    let answer = edit("two", "three");
    assert!(answer.contains("the file's inode flags (lsattr) were not kept"), "{answer}");
    // A flag that the new file inherits from its directory is not lost.
    set_flag(&path, IFlags::NODUMP, true).unwrap();
    set_flag(folder.path(), IFlags::NODUMP, true).unwrap();
    let answer = edit("three", "four");
    assert!(!answer.contains("inode flags"), "{answer}");
}

pub fn an_append_only_directory_keeps_no_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "one\n").unwrap();
    set_flag(folder.path(), IFlags::APPEND, true).unwrap();
    let hash = recto_text::Digest::of(b"one\n").to_string();
    let new = folder.path().join("new.txt");
    let answers = [
        ("edit_text_file", json!({"path": path, "old_string": "one", "new_string": "two"})),
        ("file_remove", json!({"path": path, "hash": hash})),
        ("file_create", json!({"path": new, "content": "new"})),
    ]
    .map(|(tool, arguments)| format!("{:?}", call(folder.path(), tool, arguments)));
    set_flag(folder.path(), IFlags::APPEND, false).unwrap();
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["f.txt", "new.txt"], "{answers:?}");
    for answer in &answers[..2] {
        assert!(answer.contains("append-only"), "{answer}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "new");
}

pub fn a_file_of_another_owner_is_not_replaced() {
    let fixture = SandboxFixture::new();
    fixture.file("root/foreign.txt");
    for (below, mode) in [("", 0o755), ("root/foreign.txt", 0o666)] {
        let mode = PermissionsExt::from_mode(mode);
        std::fs::set_permissions(fixture.path(below), mode).unwrap();
    }
    chown(fixture.path("root"), Some(NOBODY), Some(NOBODY)).unwrap();
    run(async {
        let command = serve_unprivileged(&fixture.path("root"));
        let client = Client::start_command(command, Revision::Handshake).await;
        let table = rows([("root/foreign.txt", ReadableForeign)]);
        fixture.check_with(client, &[fixture.spelled("root")], &table).await;
    });
}

/// Connects to a relay, in a process that runs as another user, and prints the answer.
pub fn knock(socket: &OsStr) {
    let mut stream = UnixStream::connect(socket).unwrap();
    let hello = json!({"hello": {"token": std::env::var("RECTO_TOKEN").unwrap()}});
    // A connection that is closed immediately is also an answer.
    let _ = writeln!(stream, "{hello}");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    println!("<{answer}>");
}

pub fn a_connection_from_another_user_is_rejected() {
    let editor = Editor::ready(Habits::default());
    let token = editor.idle_session();
    // The directory's mode alone would reject them, so open everything but the last check.
    let open =
        |path: &Path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    open(editor.runtime.path());
    open(editor.folder.path());
    open(editor.socket().parent().unwrap());
    open(&editor.socket());
    // recto itself would reject another user's socket, so this program connects.
    let program = editor.folder.path().join("knock");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let knocked = Command::new(program)
        .env(KNOCK, editor.socket())
        .env("RECTO_TOKEN", &token)
        .uid(NOBODY)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let answer = String::from_utf8(knocked.stdout).unwrap();
    assert!(answer.contains("<>"), "the relay answered: {answer}");
    assert!(editor.stderr().contains("belongs to another user"), "{}", editor.stderr());
    assert!(LinkClient::connect(&editor.socket(), &token).is_ok(), "the token was used up");
}

/// A relay of root could remove everything, so it must check who made a directory.
pub fn a_directory_of_another_user_is_not_cleaned_up() {
    let shared = tempfile::tempdir().unwrap();
    let [own, foreign] = ["recto-acp-own", "recto-acp-foreign"].map(|name| {
        let dir = shared.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o700)).unwrap();
        drop(UnixListener::bind(dir.join("link")).unwrap());
        dir
    });
    chown(&foreign, Some(NOBODY), Some(NOBODY)).unwrap();
    for dir in [&own, &foreign] {
        std::fs::File::open(dir).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let relay = recto()
        .args(["acp", "--", "true"])
        .env("XDG_RUNTIME_DIR", shared.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(relay.status.success(), "{relay:?}");
    assert!(!own.exists() && foreign.join("link").exists());
}
