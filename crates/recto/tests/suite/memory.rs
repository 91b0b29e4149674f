//! The memory of all calls together, and calls that wait: other calls are answered meanwhile.

use std::collections::HashMap;
use std::fs::File;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::server::Server;

const MEBIBYTE: usize = 1 << 20;

fn send_call(server: &mut Server, tool: &str, arguments: Value) -> u64 {
    let id = server.new_id();
    let params = json!({"name": tool, "arguments": arguments});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    id
}

/// Returns the code of each call's error, or 0.
fn codes(server: &mut Server, ids: &[u64]) -> Vec<i64> {
    let mut codes = HashMap::new();
    while codes.len() < ids.len() {
        let answer = server.next().expect("the server exited");
        let code = answer["result"]["_meta"]["error"]["code"].as_i64().unwrap_or(0);
        codes.insert(answer["id"].as_u64().unwrap(), code);
    }
    ids.iter().map(|id| codes[id]).collect()
}

/// Makes the same call several times at once.
fn check(server: &mut Server, tool: &str, arguments: Value, n_calls: usize, code: i64) {
    let ids: Vec<u64> = (0..n_calls).map(|_| send_call(server, tool, arguments.clone())).collect();
    assert_eq!(codes(server, &ids), vec![code; n_calls], "{tool}");
}

fn check_peak(server: &Server, n_mebibytes: usize) {
    let peak = server.most_resident_bytes() / MEBIBYTE;
    assert!(peak < n_mebibytes, "{peak} MiB");
}

#[test]
fn a_large_file_without_text_is_hashed_and_not_loaded() {
    let mut server = Server::ready(&[]);
    let path = server.spelled("sparse.bin");
    File::create(&path).unwrap().set_len(300 * MEBIBYTE as u64).unwrap();
    let hash = "000000000000";
    for (tool, arguments, code) in [
        ("file_remove", json!({"path": path, "hash": hash}), -32013),
        ("write_text_file", json!({"path": path, "content": "x", "dry_run": true}), -32019),
        ("edit_text_file", json!({"path": path, "old_string": "a", "new_string": "b"}), -32004),
        ("text_append", json!({"path": path, "hash": hash, "content": "x"}), -32004),
    ] {
        check(&mut server, tool, arguments, 3, code);
    }
    check_peak(&server, 100);
    // With the hash from the error, it can be removed.
    let edit = json!({"path": path, "old_string": "a", "new_string": "b"});
    let error = server.call("edit_text_file", edit)["result"].to_string();
    let (_, hash) = error.split_once("hash is ").unwrap();
    let removal = json!({"path": path, "hash": hash[..12]});
    check(&mut server, "file_remove", removal, 1, 0);
    check_peak(&server, 100);
}

#[test]
fn large_edits_of_large_files_run_one_at_a_time() {
    let mut server = Server::ready(&[]);
    let text = "x".repeat(99) + "\n";
    let text = text.repeat(40 * MEBIBYTE / 100) + "only once\n";
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d"] {
        std::fs::create_dir(server.path(name)).unwrap();
        std::fs::write(server.path(name).join("large.txt"), &text).unwrap();
    }
    for name in ["a", "b", "c", "d"] {
        let path = server.spelled(&format!("{name}/large.txt"));
        let edit = json!({"path": path, "old_string": "only once", "new_string": "twice",
            "dry_run": true});
        ids.push(send_call(&mut server, "edit_text_file", edit));
    }
    assert_eq!(codes(&mut server, &ids), [0; 4]);
    // Each needs three times 40 MiB.
    check_peak(&server, 230);
}

#[test]
fn edits_that_add_too_much_are_rejected_before_the_text_exists() {
    let mut server = Server::ready(&[]);
    let path = server.spelled("many.txt");
    std::fs::write(&path, "a ".repeat(MEBIBYTE / 2)).unwrap();
    let edit =
        |old: &str, new: &str| json!({"old_string": old, "new_string": new, "replace_all": true});
    let long = "b".repeat(1000);
    // Each edit multiplies the places of the next one.
    let steps = ["a", "b", "c", "d"].windows(2);
    let steps: Vec<Value> = steps.map(|pair| edit(pair[0], &pair[1].repeat(100))).collect();
    let mut one = edit("a", &long);
    one["path"] = json!(path);
    for (tool, arguments) in [
        ("edit_text_file", one),
        ("multi_edit_text_file", json!({"path": path, "edits": steps})),
        ("changes_apply", json!({"changes": [{"path": path, "edits": steps}]})),
        ("changes_apply", json!({"changes": [{"path": path, "edits": [edit("a", &long)]}]})),
    ] {
        check(&mut server, tool, arguments, 4, -32019);
    }
    check_peak(&server, 256);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), MEBIBYTE as u64);
    // What fits is replaced.
    let mut fits = edit("a", "bcd");
    fits["path"] = json!(path);
    check(&mut server, "edit_text_file", fits, 1, 0);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 2 * MEBIBYTE as u64);
    check_peak(&server, 256);
}

#[test]
fn a_table_that_needs_too_much_memory_is_rejected() {
    let mut server = Server::ready(&[]);
    let line = ",".repeat(3_000_000) + "\n";
    std::fs::write(server.path("wide.csv"), line.repeat(2)).unwrap();
    check(&mut server, "ReadAsTable", json!({"file_path": "wide.csv"}), 4, -32019);
    check_peak(&server, 150);
}

#[test]
fn calls_are_answered_while_others_wait_for_a_lock() {
    let mut server = Server::ready(&[]);
    let folder = server.path("locked");
    std::fs::create_dir(&folder).unwrap();
    let lock = File::open(&folder).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let write = json!({"path": folder.join("a.txt"), "content": "text\n"});
    let waiting: Vec<u64> =
        (0..20).map(|_| send_call(&mut server, "write_text_file", write.clone())).collect();
    let start = Instant::now();
    let read = json!({"path": server.spelled("inside.txt")});
    let elsewhere = json!({"path": server.spelled("b.txt"), "content": "text\n"});
    let calls = [
        send_call(&mut server, "read_text_file", read),
        send_call(&mut server, "write_text_file", elsewhere),
    ];
    assert_eq!(codes(&mut server, &calls), [0; 2]);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    drop(lock);
    assert_eq!(codes(&mut server, &waiting), [0; 20]);
}

#[test]
fn a_pattern_that_matches_too_much_is_rejected_before_all_files_are_read() {
    let mut server = Server::ready(&[]);
    let line = "x".repeat(99) + "\n";
    let large = line.repeat(2 * MEBIBYTE / 100) + "once\n";
    for (dir, n_files, text) in [("many", 300, "once\n"), ("large", 200, &large)] {
        std::fs::create_dir(server.path(dir)).unwrap();
        for n in 0..n_files {
            std::fs::write(server.path(dir).join(format!("{n}.txt")), text).unwrap();
        }
    }
    for n in 0..100 {
        std::fs::create_dir_all(server.path(&format!("dirs/{n}"))).unwrap();
        std::fs::write(server.path(&format!("dirs/{n}/a.txt")), "once\n").unwrap();
    }
    for (dir, message) in [
        ("many", "Too many files: 257 of at most 256 in 257 matches"),
        ("large", "of at most 67108864 in 33 matches"),
        ("dirs", "Too many directories: 65 of at most 64 in 65 matches"),
    ] {
        let edits = json!([{"old_string": "once", "new_string": "twice"}]);
        let changes = json!([{"glob": format!("{dir}/**/*"), "edits": edits}]);
        let answer = server.call("changes_apply", json!({"changes": changes, "dry_run": true}));
        let error = &answer["result"]["_meta"]["error"];
        assert_eq!(error["code"], -32019, "{answer}");
        assert!(answer.to_string().contains(message), "{answer}");
        assert!(answer.to_string().contains("Narrow the glob"), "{answer}");
    }
    check_peak(&server, 200);
}
