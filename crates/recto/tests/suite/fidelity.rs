//! An edit changes neither the mode of a file nor any other byte. Owners and attributes are tested in
//! `tests/conditional`.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Actual, Client, Revision, run};

/// Encodes text for a file; ASCII is the same in all of these encodings.
fn legacy(label: &str, text: &str) -> Vec<u8> {
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
    encoding.encode(text).0.into_owned()
}

fn utf16(text: &str, bom: [u8; 2], to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    bom.into_iter().chain(text.encode_utf16().flat_map(to_bytes)).collect()
}

/// A name, its bytes, and how the file stores a word.
type Form = (&'static str, Vec<u8>, fn(&str) -> Vec<u8>);

/// Returns files that contain the word MARK once.
fn files() -> Vec<Form> {
    fn plain(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }
    fn utf16_le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }
    fn utf16_be(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    }
    let french = "Le café est déjà fermé, même à l'été. MARK\r\nGarçon, l'addition!\n";
    let japanese = "これは日本語のテキストです。MARK\r\nファイルを編集します。\n";
    let long_line = format!("{}MARK{}", "x".repeat(5 << 20), "y".repeat(5 << 20));
    vec![
        ("crlf", b"a\r\nMARK\r\nc\r\n".to_vec(), plain),
        ("mixed endings", b"a\r\nb\nMARK\r\nd\re\n\r\n".to_vec(), plain),
        ("lone cr", b"a\rMARK\rb".to_vec(), plain),
        ("bom", b"\xef\xbb\xbfa\nMARK\n".to_vec(), plain),
        ("no final newline", b"a\nMARK".to_vec(), plain),
        (
            "utf-16le",
            utf16("a\r\nMARK\u{2028}\u{1f980}\n", [0xff, 0xfe], u16::to_le_bytes),
            utf16_le,
        ),
        (
            "utf-16be",
            utf16("a\r\nMARK\u{2028}\u{1f980}\n", [0xfe, 0xff], u16::to_be_bytes),
            utf16_be,
        ),
        ("windows-1252", legacy("windows-1252", french), plain),
        ("shift_jis", legacy("shift_jis", japanese), plain),
        ("control characters", b"\x1b[31mMARK\x07\x0c\x7f\n".to_vec(), plain),
        ("one line of 10 MB", long_line.into_bytes(), plain),
    ]
}

fn replace(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    [&bytes[..at], new, &bytes[at + old.len()..]].concat()
}

#[test]
fn an_edit_keeps_the_mode_and_every_other_byte() {
    check_edits(|_| (), |_, _| ());
}

/// Edits each form of file and checks it; `prepare` gets each file before the edits, and `check`
/// each file after an edit and its metadata before.
pub fn check_edits(prepare: fn(&Path), check: fn(&Path, &Metadata)) {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let client = Client::start(folder.path(), &[], Revision::Handshake).await;
        for (index, (name, bytes, encode)) in files().into_iter().enumerate() {
            let path = folder.path().join(format!("{name}.txt"));
            std::fs::write(&path, &bytes).unwrap();
            prepare(&path);
            // The mode last: a change of the owner clears bits of it.
            let mode = [0o640, 0o755, 0o604][index % 3];
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let before = std::fs::metadata(&path).unwrap();

            let there = json!({"old_string": "MARK", "new_string": "other"});
            let and_back = json!({"edits": [
                {"old_string": "other", "new_string": "between"},
                {"old_string": "between", "new_string": "MARK"},
            ]});
            for (tool, arguments, old, new) in [
                ("edit_text_file", there, "MARK", "other"),
                ("multi_edit_text_file", and_back, "other", "MARK"),
            ] {
                let expected = replace(&std::fs::read(&path).unwrap(), &encode(old), &encode(new));
                let Value::Object(mut arguments) = arguments else { unreachable!() };
                arguments.insert("path".into(), path.to_str().unwrap().into());
                let called = client.call(tool, arguments).await;
                assert!(matches!(called, Actual::Answer { .. }), "{name}: {called:?}");
                assert!(std::fs::read(&path).unwrap() == expected, "{name}: bytes");
                let after = std::fs::metadata(&path).unwrap();
                assert_eq!(after.mode(), before.mode(), "{name}: mode");
                check(&path, &before);
            }
        }
        client.stop().await;
    });
}

#[test]
fn an_edit_clears_the_setuid_bit_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tool.sh");
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o6755)).unwrap();
    run(async {
        let client = Client::start(folder.path(), &[], Revision::Handshake).await;
        let arguments = json!({"path": path, "content": "#!/bin/sh\nexit 0\n"});
        let answer = client.call("write_text_file", arguments.as_object().unwrap().clone()).await;
        assert!(
            format!("{answer:?}").contains("setuid and setgid bits were removed"),
            "{answer:?}"
        );
        client.stop().await;
    });
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
fn a_new_file_respects_the_umask_and_a_hard_link_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one.txt"), folder.path().join("other.txt"));
    run(async {
        let client = Client::start(folder.path(), &[], Revision::Handshake).await;
        let write = async |content: &str| {
            let arguments = json!({"path": one, "content": content});
            client.call("write_text_file", arguments.as_object().unwrap().clone()).await
        };
        write("first\n").await;
        let umask = rustix::process::umask(rustix::fs::Mode::empty());
        rustix::process::umask(umask);
        let mode = std::fs::metadata(&one).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o666 & !umask.bits());

        std::fs::hard_link(&one, &other).unwrap();
        let Actual::Answer { structured, .. } = write("second\n").await else { panic!() };
        assert_eq!(structured["hard_links_broken"], true);
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "first\n");
        client.stop().await;
    });
}

/// Makes one call.
pub fn call(folder: &Path, tool: &str, arguments: Value) -> Actual {
    run(async {
        let client = Client::start(folder, &[], Revision::Handshake).await;
        let Value::Object(arguments) = arguments else { unreachable!() };
        let called = client.call(tool, arguments).await;
        client.stop().await;
        called
    })
}

#[test]
fn a_file_open_for_writing_in_another_process_is_not_replaced() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    std::fs::write(&path, "first\n").unwrap();
    let mut writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let edit = json!({"path": path, "old_string": "first", "new_string": "1st"});
    let refused = call(folder.path(), "edit_text_file", edit.clone());
    assert!(matches!(refused, Actual::Error { code: -32017, .. }), "{refused:?}");
    writer.write_all(b"second\n").unwrap();
    drop(writer);
    assert!(matches!(call(folder.path(), "edit_text_file", edit), Actual::Answer { .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1st\nsecond\n");
}

#[test]
fn a_large_file_is_paged_in_every_encoding() {
    let text: String = (1..=1_200_000).map(|n| format!("line {n} äöü\n")).collect();
    let latin = legacy("windows-1252", &text.replace('\n', " café déjà vu\n"));
    for (name, bytes, line) in [
        ("utf-8", text.clone().into_bytes(), "line 500000 äöü\n".to_string()),
        ("bom", [b"\xef\xbb\xbf", text.as_bytes()].concat(), "line 500000 äöü\n".to_string()),
        ("utf-16", utf16(&text, [0xff, 0xfe], u16::to_le_bytes), "line 500000 äöü\n".to_string()),
        ("windows-1252", latin, "line 500000 äöü café déjà vu\n".to_string()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.txt");
        assert!(bytes.len() > 16 << 20, "{name} is too large to be held");
        std::fs::write(&path, &bytes).unwrap();
        let read = json!({"path": path, "line": 500_000, "limit": 1});
        let Actual::Answer { structured, .. } = call(folder.path(), "read_text_file", read) else {
            panic!("{name}")
        };
        assert_eq!(structured["content"], line, "{name}");
        assert_eq!(
            structured["_meta"]["hash"],
            recto_text::Digest::of(&bytes).to_string(),
            "{name}"
        );
    }
}
