//! Files that another process appends to while they are read.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::test_dir::{Session, TestDir, rows};

/// Runs `work` while a file is repeatedly appended to.
fn while_written(file: File, write: fn(&mut File, u64), run: impl FnOnce()) {
    let is_over = Arc::new(AtomicBool::new(false));
    let (mut file, done) = (file, is_over.clone());
    let writer = std::thread::spawn(move || {
        for n in 0.. {
            if done.load(Ordering::Relaxed) {
                break;
            }
            write(&mut file, n);
            std::thread::sleep(Duration::from_micros(300));
        }
    });
    run();
    is_over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
}

fn lines(n_bytes: usize) -> String {
    (1..).map(|n| format!("line {n} of a log\n")).take(n_bytes / 20).collect()
}

fn has_grown(answer: &Value) -> bool {
    answer["notes"].as_array().is_some_and(|notes| {
        notes.iter().any(|note| note.as_str().unwrap().contains("grew while it was read"))
    })
}

fn check_log(session: &Session, path: &str) -> bool {
    let calls = [
        ("ReadLines", json!({"file_path": path, "lines": "+3-"})),
        ("ReadLines", json!({"file_path": path, "match": "line 77 of", "ctx": 1})),
        ("ReadLines", json!({"file_path": path, "lines": "1,500,900"})),
        ("text_read", json!({"path": path, "lines": [-2, 0]})),
    ];
    let mut has_notes = false;
    for (tool, arguments) in calls {
        let answer = session.answer(tool, arguments.clone());
        has_notes |= has_grown(&answer);
        if tool == "ReadLines" {
            let found = rows(&answer);
            assert_eq!(found.len(), 3, "{arguments}");
            // Whole lines, each with its own number as text.
            for (_, number, text) in found {
                assert_eq!(text, format!("line {number} of a log"), "{arguments}");
            }
        }
    }
    has_notes
}

#[test]
fn a_growing_log_is_readable() {
    for n_bytes in [200 << 10, 20 << 20] {
        let dir = TestDir::new();
        dir.file("root/a.log", lines(n_bytes));
        let session = dir.serve(&[]);
        let n_lines = n_bytes / 20;
        assert!(!check_log(&session, "a.log"), "nobody writes");
        let file = File::options().append(true).open(dir.path("root/a.log")).unwrap();
        // The numbering continues, so that each line is identified by its text.
        NEXT.store(n_lines as u64, Ordering::Relaxed);
        let append = |file: &mut File, _| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed) + 1;
            file.write_all(format!("line {number} of a log\n").as_bytes()).unwrap();
        };
        while_written(file, append, || {
            let n_grown = (0..20).filter(|_| check_log(&session, "a.log")).count();
            assert!(n_grown > 0, "no read saw the file grow");
        });
    }
}

static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

#[test]
fn a_growing_table_is_readable() {
    let dir = TestDir::new();
    dir.file("root/t.csv", "a,b\n1,2\n");
    let session = dir.serve(&[]);
    let file = File::options().append(true).open(dir.path("root/t.csv")).unwrap();
    while_written(
        file,
        |file, _| file.write_all(b"3,4\n").unwrap(),
        || {
            for _ in 0..50 {
                let answer =
                    session.answer("ReadAsTable", json!({"file_path": "t.csv", "limit": 1}));
                assert_eq!(answer["rows"], json!([[1, 2]]));
            }
        },
    );
}
