//! Packs that git would never write: cyclic deltas, endless deltas, and false sizes.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::{Git, RepoDir, serve};
use super::history::history;
use crate::server::Server;

/// The pack entry of one object.
struct Packed {
    id: [u8; 20],
    /// Header and zlib stream.
    bytes: Vec<u8>,
}

/// Returns an uncompressed zlib stream.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut pieces = data.chunks(60_000).peekable();
    if pieces.peek().is_none() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(piece) = pieces.next() {
        let length = piece.len() as u16;
        stream.push(u8::from(pieces.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(piece);
    }
    let (mut low, mut high) = (1u32, 0u32);
    for byte in data {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

fn header(kind: u8, mut size: u64) -> Vec<u8> {
    let mut bytes = vec![kind << 4 | (size & 15) as u8];
    size >>= 4;
    while size > 0 {
        *bytes.last_mut().unwrap() |= 0x80;
        bytes.push((size & 0x7f) as u8);
        size >>= 7;
    }
    bytes
}

fn varint(mut size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let more = if size > 0x7f { 0x80 } else { 0 };
        bytes.push((size & 0x7f) as u8 | more);
        size >>= 7;
        if size == 0 {
            return bytes;
        }
    }
}

fn blob(id: [u8; 20], claimed: u64, data: &[u8]) -> Packed {
    Packed { id, bytes: [header(3, claimed), stored(data)].concat() }
}

/// Returns a delta that copies its whole base, which claims to have this size.
fn copy_of(id: [u8; 20], base: [u8; 20], size: u64) -> Packed {
    let mut delta = [varint(size), varint(size)].concat();
    let mut done = 0;
    while done < size {
        let n = (size - done).min(0xff_ffff);
        delta.push(0xff);
        delta.extend((done as u32).to_le_bytes());
        delta.extend(&(n as u32).to_le_bytes()[..3]);
        done += n;
    }
    Packed { id, bytes: [header(7, delta.len() as u64), base.to_vec(), stored(&delta)].concat() }
}

/// Writes a pack and its index. The checksums are wrong, but readers do not check them.
fn write(git: &Git, objects: &[Packed]) {
    let mut pack =
        [&b"PACK"[..], &2u32.to_be_bytes(), &(objects.len() as u32).to_be_bytes()].concat();
    let mut places = Vec::new();
    for object in objects {
        places.push((object.id, pack.len() as u32));
        pack.extend(&object.bytes);
    }
    pack.extend([0; 20]);
    places.sort();
    let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    for first in 0..=255u8 {
        let n = places.iter().filter(|(id, _)| id[0] <= first).count();
        index.extend((n as u32).to_be_bytes());
    }
    places.iter().for_each(|(id, _)| index.extend(id));
    places.iter().for_each(|_| index.extend([0; 4]));
    places.iter().for_each(|(_, at)| index.extend(at.to_be_bytes()));
    index.extend([0; 40]);
    std::fs::write(git.path(".git/objects/pack/pack-evil.pack"), pack).unwrap();
    std::fs::write(git.path(".git/objects/pack/pack-evil.idx"), index).unwrap();
}

fn id(n: u32) -> [u8; 20] {
    let mut id = [0xee; 20];
    id[16..].copy_from_slice(&n.to_be_bytes());
    id
}

/// Creates a repository whose file `evil` is the object 0.
fn repository(place: &RepoDir) -> Git {
    let git = place.repository("project");
    let hex: String = id(0).iter().map(|byte| format!("{byte:02x}")).collect();
    let tree = format!("100644 blob {hex}\tevil\n");
    let tree = git.run_with(&["mktree", "--missing"], tree.as_bytes());
    let commit = git.run(&["commit-tree", "-m", "x", &tree]);
    git.run(&["update-ref", "HEAD", &commit]);
    git
}

fn check(objects: &[Packed], words: &str) {
    let place = RepoDir::new();
    let git = repository(&place);
    write(&git, objects);
    let started = Instant::now();
    let text = match serve(&[&git.top]).read("HEAD", "evil") {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(error) => error.to_string(),
    };
    assert!(text.contains(words), "{text}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_handmade_pack_is_read() {
    check(&[blob(id(0), 5, b"hello")], "hello");
    check(&[copy_of(id(0), id(1), 5), blob(id(1), 5, b"hello")], "hello");
    check(&[copy_of(id(0), id(1), 5), copy_of(id(1), id(2), 5), blob(id(2), 5, b"hello")], "hello");
}

#[test]
fn cyclic_deltas_are_rejected() {
    check(&[copy_of(id(0), id(0), 5)], "is damaged");
    check(&[copy_of(id(0), id(1), 5), copy_of(id(1), id(0), 5)], "is damaged");
    let circle: Vec<Packed> = (0..100).map(|n| copy_of(id(n), id((n + 1) % 100), 5)).collect();
    check(&circle, "is damaged");
    check(&[copy_of(id(0), id(9), 5)], "is damaged");
}

#[test]
fn false_sizes_are_not_trusted() {
    check(&[blob(id(0), 4, b"hello")], "is damaged");
    check(&[blob(id(0), 6, b"hello")], "is damaged");
    check(&[blob(id(0), 0, b"hello")], "is damaged");
    check(&[blob(id(0), 60 << 20, b"hello")], "is damaged");
    check(&[blob(id(0), 1 << 50, b"hello")], "File too large");
    check(&[blob(id(0), u64::MAX >> 4, b"hello")], "File too large");
    check(&[copy_of(id(0), id(1), 6), blob(id(1), 5, b"hello")], "is damaged");
    check(&[copy_of(id(0), id(1), 1 << 45), blob(id(1), 5, b"hello")][1..], "missing");
    // A delta whose base would be huge.
    let delta = [varint(1 << 50), varint(5), vec![5], b"hello".to_vec()].concat();
    let bytes = [header(7, delta.len() as u64), id(1).to_vec(), stored(&delta)].concat();
    check(&[Packed { id: id(0), bytes }, blob(id(1), 1 << 50, b"")], "is damaged");
}

#[test]
fn a_delta_that_expands_too_far_is_not_applied() {
    // Each copies all of the base: a hundred gigabytes if applied.
    let size = 4 << 20;
    let n_deltas = 30_000;
    let mut chain: Vec<Packed> = (0..n_deltas).map(|n| copy_of(id(n), id(n + 1), size)).collect();
    chain.push(blob(id(n_deltas), size, &vec![b'x'; size as usize]));
    check(&chain, "is damaged");
    let chain = chain.split_off(n_deltas as usize - 4000);
    let renamed: Vec<Packed> = chain
        .into_iter()
        .enumerate()
        .map(|(n, object)| if n == 0 { Packed { id: id(0), ..object } } else { object })
        .collect();
    check(&renamed, "is damaged");
}

#[test]
fn a_false_pack_index_is_not_trusted() {
    let place = RepoDir::new();
    let git = repository(&place);
    write(&git, &[blob(id(0), 5, b"hello")]);
    let path = git.path(".git/objects/pack/pack-evil.idx");
    let right = std::fs::read(&path).unwrap();
    let offset = right.len() - 44;
    for (at, bytes) in [
        (offset, &u32::MAX.to_be_bytes()[..]),
        (offset, &0x7fff_ffffu32.to_be_bytes()),
        (offset, &0u32.to_be_bytes()),
        (offset, &13u32.to_be_bytes()),
        (8, &u32::MAX.to_be_bytes()),
        (8 + 255 * 4, &u32::MAX.to_be_bytes()),
        (8 + 255 * 4, &2u32.to_be_bytes()),
        (4, &9u32.to_be_bytes()),
    ] {
        let mut wrong = right.clone();
        wrong[at..at + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, wrong).unwrap();
        let refusal = serve(&[&git.top]).refusal("HEAD", "evil");
        assert!(refusal.contains("damaged"), "{refusal}");
    }
    std::fs::write(&path, right).unwrap();
    assert_eq!(serve(&[&git.top]).text("HEAD", "evil"), "hello");
}

/// Writes a sparse index that claims so many objects, all with the id 0, and an empty pack.
fn write_sparse_index(git_dir: &Path, stem: &str, n_objects: u32) {
    let packs = git_dir.join("objects/pack");
    std::fs::create_dir_all(&packs).unwrap();
    let index = File::create(packs.join(format!("{stem}.idx"))).unwrap();
    let mut start = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    (0..256).for_each(|_| start.extend(n_objects.to_be_bytes()));
    index.set_len(start.len() as u64 + u64::from(n_objects) * 28 + 40).unwrap();
    (&index).write_all(&start).unwrap();
    let pack = [&b"PACK"[..], &2u32.to_be_bytes(), &n_objects.to_be_bytes(), &[0; 20]].concat();
    std::fs::write(packs.join(format!("{stem}.pack")), pack).unwrap();
}

/// Objects of an index that is as large as permitted.
const MOST_OBJECTS: u32 = (recto::limits::GIT_PACK_INDEXES / 28) as u32 - 100;

#[test]
fn a_huge_pack_index_is_not_read() {
    for n_packs in [1, 50] {
        let place = RepoDir::new();
        let git = place.with_files("project", &[("a.txt", "inside")]);
        for number in 0..n_packs {
            let n_objects = if n_packs == 1 { u32::MAX / 2 } else { MOST_OBJECTS };
            write_sparse_index(&git.path(".git"), &format!("pack-{number}"), n_objects);
        }
        let served = serve(&[&git.top]);
        let started = Instant::now();
        assert_eq!(served.text("HEAD", "a.txt"), "inside");
        assert!(served.refusal("0000", "a.txt").contains("damaged"));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

#[test]
fn hostile_pack_indexes_do_not_delay_an_ordinary_read() {
    let mut server = Server::ready(&[]);
    let git = Git { top: server.path("project") };
    std::fs::create_dir(&git.top).unwrap();
    git.run(&["init", "--quiet"]);
    write_sparse_index(&git.path(".git"), "pack-within", MOST_OBJECTS);
    write_sparse_index(&git.path(".git"), "pack-beyond", u32::MAX / 2);
    let pattern = server.path("project/*");
    for _ in 0..20 {
        let id = server.new_id();
        let arguments = json!({"pattern": pattern, "commit": "0000"});
        let params = json!({"name": "ListFiles", "arguments": arguments});
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    let started = Instant::now();
    let id = server.new_id();
    let params =
        json!({"name": "read_text_file", "arguments": {"path": server.path("inside.txt")}});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    while server.next().expect("the server exited")["id"] != id {}
    println!("the read took {:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn loose_objects_with_false_headers_are_reported_as_damaged() {
    let place = RepoDir::new();
    let git = repository(&place);
    let hex: String = id(0).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = git.path(&format!(".git/objects/{}/{}", &hex[..2], &hex[2..]));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let served = serve(&[&git.top]);
    for (bytes, words) in [
        (stored(b"blob 5\0hello"), "hello"),
        (stored(b"blob 4\0hello"), "is damaged"),
        (stored(b"blob 6\0hello"), "is damaged"),
        (stored(b"blob 99999999\0hello"), "File too large"),
        (stored(b"blob 60000000\0hello"), "is damaged"),
        (stored(b"blob -5\0hello"), ""),
        (stored(b"blob\0hello"), "is damaged"),
        (stored(b"tree 0\0"), "is not a blob"),
        (
            stored(
                b"blob 00000000000000000000000000000000000000000000000000000000000000005\0hello",
            ),
            "is damaged",
        ),
        (stored(&[b"blob 100\0", &[b'x'; 100][..]].concat()), &"x".repeat(100)),
        (stored(&[b"blob 99\0", &[b'x'; 100][..]].concat()), "is damaged"),
        (b"not zlib".to_vec(), "is damaged"),
        (Vec::new(), "is damaged"),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let text = match served.read("HEAD", "evil") {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(words), "{bytes:?}: {text}");
    }
}

/// A chain of deltas that takes seconds to apply.
fn long_chain() -> Vec<Packed> {
    let size = 1 << 20;
    let n_deltas = 4000;
    let mut chain: Vec<Packed> = (0..n_deltas).map(|n| copy_of(id(n), id(n + 1), size)).collect();
    chain.push(blob(id(n_deltas), size, &vec![b'x'; size as usize]));
    chain
}

#[test]
fn a_long_chain_of_deltas_can_be_cancelled() {
    let place = RepoDir::new();
    let git = repository(&place);
    write(&git, &long_chain());
    let served = serve(&[&git.top]);
    let whole = served.read("HEAD", "evil").unwrap();
    assert_eq!(whole.len(), 1 << 20);
    std::thread::scope(|scope| {
        let read = scope.spawn(|| served.read("HEAD", "evil"));
        std::thread::sleep(Duration::from_millis(50));
        served.caller.cancel.raise();
        assert_eq!(read.join().unwrap().unwrap_err(), recto_store::Error::Cancelled);
    });
}

#[test]
fn a_long_chain_of_deltas_ends_in_time() {
    let place = RepoDir::new();
    let git = repository(&place);
    write(&git, &long_chain());
    let served = serve(&[&git.top]);
    let history = || history(&served, &git, "evil");
    // Long enough to read the commit, and not to apply the deltas.
    let limited = history().with_max_time(Duration::from_millis(50));
    let started = Instant::now();
    let error = limited.blame("HEAD", None, Some(0..1)).unwrap_err();
    let n_limited = started.elapsed();
    assert!(error.to_string().contains("ask for fewer `lines`"), "{error}");
    let unlimited = history().with_max_time(Duration::from_secs(600));
    let started = Instant::now();
    unlimited.blame("HEAD", None, Some(0..1)).unwrap();
    assert!(n_limited < started.elapsed(), "{n_limited:?}");
}
