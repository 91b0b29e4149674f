//! `--deny` on a file system that ignores case and ignorable characters and has short names, like
//! FAT or ext4 with `casefold`. The test serves one by FUSE, because few kernels have the others.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::server::Server;

/// Node, parent, stored name, short name, and content; a directory has none.
type Node = (u64, u64, &'static str, &'static str, Option<&'static str>);

const NODES: [Node; 8] = [
    (2, 1, "secret.pem", "", Some("secret\n")),
    (3, 1, "long-secret-name.pem", "LONG-S~1.PEM", Some("secret\n")),
    (4, 1, "Ünder.key", "", Some("secret\n")),
    (5, 1, "Private", "", None),
    (6, 5, "x.txt", "", Some("secret\n")),
    (7, 1, "plain.txt", "", Some("plain\n")),
    (8, 1, "1234", "", Some("plain\n")),
    (9, 1, "long-directory-name", "LONG-D~1", None),
];

fn spelled(name: &str) -> String {
    name.replace(['\u{200d}', '\u{ad}'], "").to_lowercase()
}

/// A mount that serves [`NODES`] until it is dropped.
struct CaseMount(CString);

impl CaseMount {
    fn at(path: &Path) -> Result<CaseMount> {
        std::fs::create_dir(path)?;
        let device = File::options().read(true).write(true).open("/dev/fuse")?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let options = CString::new(options).unwrap();
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: all pointers are to strings that live until the call returns.
        let is_mounted = unsafe {
            let (source, kind) = (c"recto-test".as_ptr(), c"fuse".as_ptr());
            libc::mount(source, path.as_ptr(), kind, 0, options.as_ptr().cast())
        };
        if is_mounted != 0 {
            return Err(Error::last_os_error());
        }
        std::thread::spawn(move || serve(device));
        Ok(CaseMount(path))
    }
}

impl Drop for CaseMount {
    fn drop(&mut self) {
        // SAFETY: the path lives until the call returns.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Answers requests of the kernel until the file system is unmounted.
fn serve(mut device: File) {
    let mut request = vec![0; 1 << 20];
    while let Ok(n_bytes) = device.read(&mut request) {
        let number = |at: usize, n: usize| {
            let mut bytes = [0; 8];
            bytes[..n].copy_from_slice(&request[at..at + n]);
            u64::from_ne_bytes(bytes)
        };
        let (operation, node) = (number(4, 4), number(16, 8));
        // Forgetting and interrupting need no answer.
        if [2, 36, 42].contains(&operation) {
            continue;
        }
        let body = &request[40..n_bytes];
        let range = |bytes: &[u8]| {
            let (start, size) = (number(48, 8) as usize, number(56, 4) as usize);
            let start = start.min(bytes.len());
            bytes[start..bytes.len().min(start + size)].to_vec()
        };
        let answer = match operation {
            1 => look_up(node, &body[..body.len() - 1]),
            3 => Ok([&[0; 16][..], &attributes(node)].concat()),
            14 | 27 => Ok(vec![0; 16]),
            15 => Ok(range(content(node).unwrap_or_default().as_bytes())),
            17 => Ok(vec![0; 80]),
            18 | 25 | 29 | 34 => Ok(Vec::new()),
            26 => {
                let version = [7u32, 31, 0, 0, 0, 65536, 1];
                let mut answer = version.map(u32::to_ne_bytes).concat();
                answer.resize(64, 0);
                Ok(answer)
            }
            28 => Ok(list(node, number(48, 8))),
            _ => Err(libc::ENOSYS),
        };
        let (error, bytes) = match answer {
            Ok(bytes) => (0, bytes),
            Err(error) => (-error, Vec::new()),
        };
        let mut message = (16 + bytes.len() as u32).to_ne_bytes().to_vec();
        message.extend(error.to_ne_bytes());
        message.extend(&request[8..16]);
        message.extend(bytes);
        // A request that was interrupted needs no answer any more.
        let _ = device.write_all(&message);
    }
}

fn content(node: u64) -> Option<&'static str> {
    NODES.iter().find(|(number, ..)| *number == node)?.4
}

fn look_up(parent: u64, name: &[u8]) -> std::result::Result<Vec<u8>, i32> {
    let name = spelled(std::str::from_utf8(name).map_err(|_| libc::ENOENT)?);
    let is_it = |(_, above, stored, short, _): &&Node| {
        *above == parent && (spelled(stored) == name || spelled(short) == name)
    };
    let (node, ..) = NODES.iter().find(is_it).ok_or(libc::ENOENT)?;
    let mut entry = node.to_ne_bytes().to_vec();
    entry.resize(40, 0);
    entry.extend(attributes(*node));
    Ok(entry)
}

fn attributes(node: u64) -> Vec<u8> {
    let size = content(node).map_or(0, |text| text.len() as u64);
    let mode = if content(node).is_some() { 0o100_644u32 } else { 0o040_755 };
    let mut bytes = [node, size, 1, 1, 1, 1].map(u64::to_ne_bytes).concat();
    bytes.extend([0, 0, 0, mode, 1, 0, 0, 0, 4096, 0].map(u32::to_ne_bytes).concat());
    bytes
}

fn list(parent: u64, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let inside = NODES.iter().filter(|(_, above, ..)| *above == parent).enumerate();
    for (index, (node, _, name, ..)) in inside.skip(offset as usize) {
        bytes.extend([*node, index as u64 + 1].map(u64::to_ne_bytes).concat());
        let kind = if content(*node).is_some() { 8 } else { 4 };
        bytes.extend([name.len() as u32, kind].map(u32::to_ne_bytes).concat());
        bytes.extend(name.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes
}

fn read(server: &mut Server, name: &str) -> Value {
    let path = server.spelled(&format!("ci/{name}"));
    server.call("read_text_file", json!({"path": path}))["result"].clone()
}

pub fn denied_paths_are_hidden_under_every_spelling() {
    let deny = ["*.pem", "ÜNDER.KEY", "/ci/private", "/ci/long-directory-name/inner"];
    let options: Vec<&str> = deny.iter().flat_map(|pattern| ["--deny", *pattern]).collect();
    let mut server = Server::ready(&options);
    let _mount = CaseMount::at(&server.path("ci")).unwrap();
    for name in ["plain.txt", "PLAIN.TXT", "Plain.\u{ad}txt", "1234"] {
        let answer = read(&mut server, name);
        assert_eq!(answer["structuredContent"]["content"], "plain\n", "{name}: {answer}");
    }
    for name in [
        "secret.pem",
        "SECRET.PEM",
        "Secret.Pem",
        "secret.p\u{200d}em",
        "se\u{ad}cret.pem",
        "long-secret-name.pem",
        "LONG-S~1.PEM",
        "long-s~1.pem",
        "ünder.key",
        "Ünder.key",
        "u\u{308}nder.key",
        "Private/x.txt",
        "PRIVATE/X.TXT",
        "private\u{200d}/x.txt",
        "NEW.PEM",
        "new.P\u{ad}EM",
        "PRIVATE/new.txt",
        "LONG-D~1/inner/x.txt",
        "LONG-D~1/INNER/x.txt",
    ] {
        let answer = read(&mut server, name);
        assert_eq!(answer["_meta"]["error"]["code"], -32002, "{name}: {answer}");
        // The same as for a path outside the roots.
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Permission denied"), "{answer}");
        let path = server.spelled(&format!("ci/{name}"));
        let answer = server.call("file_create", json!({"path": path, "content": "x"}));
        assert_eq!(answer["result"]["_meta"]["error"]["code"], -32002, "{name}: {answer}");
    }
    let answer = server.call("ListFiles", json!({"pattern": "ci/**"}));
    let files = &answer["result"]["structuredContent"]["files"];
    let visible = json!([server.spelled("ci/1234"), server.spelled("ci/plain.txt")]);
    assert_eq!(*files, visible, "{answer}");
    // Elsewhere names are compared exactly.
    std::fs::write(server.path("OTHER.PEM"), "other\n").unwrap();
    let path = server.spelled("OTHER.PEM");
    let answer = server.call("read_text_file", json!({"path": path}));
    assert_eq!(answer["result"]["structuredContent"]["content"], "other\n", "{answer}");
}
