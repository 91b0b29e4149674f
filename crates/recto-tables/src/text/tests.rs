//! Tests of `text`.

#![allow(clippy::unwrap_used)]

use recto_text::Encoding;

use super::{FIRST_BYTES, Text};

fn whole(bytes: &[u8]) -> (String, Encoding) {
    let mut input = bytes;
    let mut text = Text::open(&mut input).unwrap();
    while !text.is_complete() {
        text.fill().unwrap();
    }
    (text.rest().into(), text.encoding())
}

#[test]
fn drops_the_byte_order_mark() {
    assert_eq!(whole(b"\xef\xbb\xbfa,b"), ("a,b".into(), Encoding::Utf8Bom));
    assert_eq!(whole(b"\xff\xfea\0,\0"), ("a,".into(), Encoding::Utf16Le));
}

#[test]
fn joins_a_character_split_between_two_pieces() {
    let mut bytes = vec![b'a'; FIRST_BYTES - 1];
    bytes.extend("äb".bytes());
    let (text, _) = whole(&bytes);
    assert!(text.ends_with("aäb"));
}

#[test]
fn finds_a_legacy_encoding_late_in_the_text() {
    let mut bytes = b"just ascii\n".repeat(10_000);
    bytes.extend(b"Stra\xdfe in M\xfcnchen\n".repeat(2_000));
    let (text, _) = whole(&bytes);
    assert!(text.ends_with("Straße in München\n"));
}

#[test]
fn rejects_binary() {
    assert!(Text::open(&mut &b"a\0b"[..]).is_err());
}

#[test]
fn keeps_a_few_nuls() {
    assert_eq!(whole(b"a,b,c\n\0,2,3\n"), ("a,b,c\n\0,2,3\n".into(), Encoding::Utf8));
}

#[test]
fn keeps_unused_text() {
    let mut input = &b"abc\ndef"[..];
    let mut text = Text::open(&mut input).unwrap();
    text.advance(4);
    text.fill().unwrap();
    assert_eq!(text.rest(), "def");
}
