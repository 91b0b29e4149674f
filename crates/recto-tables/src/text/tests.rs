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
    for text in ["a,b,c\n\0,2,3\n", "id,note\n1,\0\n2,x\n"] {
        assert_eq!(whole(text.as_bytes()), (text.into(), Encoding::Utf8));
    }
}

#[test]
fn recognises_utf16_without_a_byte_order_mark() {
    let bytes = |to_bytes: fn(u16) -> [u8; 2], text: &str| -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    };
    for text in ["id,name\n1,Béla\n", "имя,город\nАнна,Москва\n", "名,市\n安,京🦀\n"]
    {
        assert_eq!(whole(&bytes(u16::to_le_bytes, text)), (text.into(), Encoding::Utf16Le));
        assert_eq!(whole(&bytes(u16::to_be_bytes, text)), (text.into(), Encoding::Utf16Be));
    }
    assert!(Text::open(&mut &[0x0a, 0, 1, 0, 0x41, 0][..]).is_err());
}

#[test]
fn replaces_a_few_invalid_bytes() {
    let check = |bytes: &[u8], text: &str| {
        let (found, encoding) = whole(bytes);
        assert_eq!((found.as_str(), encoding), (text, Encoding::Utf8));
    };
    check(b"Z\xc3\xbcrich,M\xfcnchen\n", "Zürich,M\u{fffd}nchen\n");
    let valid = "Zürich\n".repeat(20_000);
    check(&[valid.as_bytes(), b"M\xfcnchen\n"].concat(), &format!("{valid}M\u{fffd}nchen\n"));
}

#[test]
fn text_that_needs_too_much_memory_is_read_once_a_part_was_used() {
    let bytes = [vec![b'a'; FIRST_BYTES], ",ä".repeat(FIRST_BYTES).into_bytes()].concat();
    let mut input = &bytes[..];
    let mut text = Text::open(&mut input).unwrap().within(10 << 20);
    let mut read = String::new();
    let mut n_failures = 0;
    while !text.is_complete() {
        let n_bytes = text.rest().len();
        if text.fill().is_err() {
            n_failures += 1;
            assert_eq!((text.rest().len(), text.is_complete()), (n_bytes, false));
            read.push_str(text.take(n_bytes));
        }
    }
    read.push_str(text.rest());
    assert!(n_failures > 1, "{n_failures}");
    assert_eq!(read.as_bytes(), bytes);
}

#[test]
fn keeps_unused_text() {
    let mut input = &b"abc\ndef"[..];
    let mut text = Text::open(&mut input).unwrap();
    text.advance(4);
    text.fill().unwrap();
    assert_eq!(text.rest(), "def");
}
