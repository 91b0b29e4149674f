//! Calls that hang in a file system which never answers, like a network mount whose server is gone.
//! The tests use a FUSE mount without a server.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use recto::limits;
use serde_json::{Value, json};

use crate::server::Server;

/// A mount in which every lookup hangs until the mount is dropped.
struct HangingMount {
    _device: File,
    path: CString,
}

impl HangingMount {
    fn at(path: &Path) -> Result<HangingMount> {
        std::fs::create_dir(path)?;
        let device = File::options().read(true).write(true).open("/dev/fuse")?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let options = CString::new(options).unwrap();
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        let (source, kind) = (c"recto-test", c"fuse");
        // SAFETY: all pointers are to strings that live until the call returns.
        let is_mounted = unsafe {
            let options = options.as_ptr().cast();
            libc::mount(source.as_ptr(), path.as_ptr(), kind.as_ptr(), 0, options)
        };
        match is_mounted {
            0 => Ok(HangingMount { _device: device, path }),
            _ => Err(Error::last_os_error()),
        }
    }
}

impl Drop for HangingMount {
    fn drop(&mut self) {
        // SAFETY: the path lives until the call returns.
        unsafe { libc::umount2(self.path.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Whether this machine permits such a mount.
pub fn can_mount() -> bool {
    let folder = tempfile::tempdir().unwrap();
    HangingMount::at(&folder.path().join("hole")).is_ok()
}

/// Starts a server with a hanging mount in its root.
fn server() -> (Server, HangingMount) {
    let mut server = Server::ready(&[]);
    let mount = HangingMount::at(&server.path("hole")).unwrap();
    server.check_serves();
    (server, mount)
}

fn send_call(server: &mut Server, name: &str) -> u64 {
    let path = server.path(name);
    let id = server.new_id();
    let params = json!({"name": "read_text_file", "arguments": {"path": path}});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    id
}

fn hang(server: &mut Server) -> u64 {
    send_call(server, "hole/file.txt")
}

fn cancel(server: &mut Server, id: u64) {
    let params = json!({"requestId": id});
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
}

fn n_threads(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap().count()
}

/// Waits until `n` more threads hang than at the start.
fn wait_for_threads(server: &Server, n: usize) {
    let start = Instant::now();
    while n_threads(server) < n {
        assert!(start.elapsed() < Duration::from_secs(20), "{} threads", n_threads(server));
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn a_hanging_call_can_be_cancelled() {
    let (mut server, _mount) = server();
    let ids: Vec<u64> = (0..limits::RUNNING_CALLS).map(|_| hang(&mut server)).collect();
    wait_for_threads(&server, limits::RUNNING_CALLS);
    // All call slots are taken, but requests that need no file are answered.
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    for id in ids {
        cancel(&mut server, id);
    }
    server.check_serves();
    server.close_input();
    assert!(server.wait(Duration::from_secs(15)).success());
}

pub fn hanging_calls_are_bounded_and_the_server_keeps_working() {
    let (mut server, mount) = server();
    let start = Instant::now();
    // A call cancelled before it hangs leaves no thread behind, so this may take several attempts.
    let refused = loop {
        let id = hang(&mut server);
        std::thread::sleep(Duration::from_millis(5));
        cancel(&mut server, id);
        assert!(n_threads(&server) <= limits::CALL_THREADS + 10, "{}", n_threads(&server));
        assert!(start.elapsed() < Duration::from_secs(60), "{} threads", n_threads(&server));
        if n_threads(&server) >= limits::CALL_THREADS {
            let id = send_call(&mut server, "inside.txt");
            let answer = next_answer(&mut server, id);
            if answer["result"]["isError"] == true {
                break answer;
            }
        }
    };
    assert_eq!(refused["result"]["_meta"]["error"]["code"], -32017, "{refused}");
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    // A long request is parsed on a thread of its own.
    let long = json!({"_meta": {"filler": "x".repeat(200_000)}});
    assert_eq!(server.request("ping", long)["result"], json!({}));
    // The hanging threads return when the mount is gone.
    drop(mount);
    let start = Instant::now();
    loop {
        let id = send_call(&mut server, "inside.txt");
        let answer = next_answer(&mut server, id);
        if answer["result"]["isError"] == false {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.check_serves();
}

fn next_answer(server: &mut Server, id: u64) -> Value {
    loop {
        let answer = server.next().expect("the server exited");
        if answer["id"] == id {
            return answer;
        }
    }
}

pub fn calls_that_hang_for_long_free_their_slots() {
    let (mut server, _mount) = server();
    for _ in 0..limits::RUNNING_CALLS {
        hang(&mut server);
    }
    wait_for_threads(&server, limits::RUNNING_CALLS);
    let start = Instant::now();
    let id = send_call(&mut server, "inside.txt");
    let answer = next_answer(&mut server, id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let took = start.elapsed();
    assert!(took >= limits::LONG_CALL / 2 && took < 3 * limits::LONG_CALL, "{took:?}");
}
