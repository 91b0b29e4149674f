//! Tests of `encoding`.

#![allow(clippy::unwrap_used)]

use super::*;

fn check(bytes: &[u8], expected: Option<(&str, &str)>) {
    let found =
        Encoding::detect(bytes).and_then(|encoding| Some((encoding, encoding.decode(bytes)?)));
    assert_eq!(
        found.as_ref().map(|(encoding, text)| (encoding.name(), text.as_str())),
        expected,
        "{bytes:x?}"
    );
    if let Some((encoding, text)) = found {
        assert_eq!(encoding.encode(&text).as_deref(), Ok(bytes), "round trip");
    }
}

fn legacy(label: &str, text: &str) -> Vec<u8> {
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
    let (bytes, _, has_unmappable) = encoding.encode(text);
    assert!(!has_unmappable);
    bytes.into_owned()
}

#[test]
fn unicode_is_text_with_and_without_bom() {
    check(b"", Some(("UTF-8", "")));
    check("a\u{0}".as_bytes(), None);
    check("žluťoučký 你好 🦀\n".as_bytes(), Some(("UTF-8", "žluťoučký 你好 🦀\n")));
    check(b"\xef\xbb\xbfa\n", Some(("UTF-8", "a\n")));
    check(b"\xff\xfea\0\n\0", Some(("UTF-16LE", "a\n")));
    check(b"\xfe\xff\0a\0\n", Some(("UTF-16BE", "a\n")));
    check(b"\xff\xfe\x3d\xd8\x80\xde", Some(("UTF-16LE", "🚀")));
    check(b"\xff\xfe", Some(("UTF-16LE", "")));
}

#[test]
fn plain_utf8_has_neither_bom_nor_nul() {
    let lengths = [0, 1, 62, 63, 64, 65, 127, 128, 200, 318];
    let ascii = lengths.map(|n| "a".repeat(n));
    let foreign = lengths.map(|n| format!("{}{}", "a".repeat(n), "äa你🦀".repeat(50)));
    for before in ascii.iter().chain(&foreign) {
        for (bytes, is_plain) in [
            (&b""[..], true),
            ("žluťoučký 你好 🦀\n".as_bytes(), true),
            (b"\0", false),
            (b"\xff", false),
            (b"\xc5", false),
            (b"\x80", false),
        ] {
            for after in ["", "b", &"b".repeat(300)] {
                let bytes = [before.as_bytes(), bytes, after.as_bytes()].concat();
                assert_eq!(Encoding::is_plain_utf8(&bytes), is_plain, "{bytes:x?}");
            }
        }
    }
    assert!(!Encoding::is_plain_utf8(b"\xef\xbb\xbfa"));
}

#[test]
fn a_binary_head_makes_a_file_binary() {
    let heads = [&b"a"[..], b"", b"\0", b"a\0", b"\xef\xbb\xbfa\0", b"\xff\xfea\0", b"\xfe\xff\0a"];
    let is_binary = [false, false, true, true, true, false, false];
    for (head, is_binary) in heads.into_iter().zip(is_binary) {
        assert_eq!(Encoding::is_binary_head(head), is_binary, "{head:x?}");
        for rest in [&b""[..], b"bc", b"\0", b"\xff\xfe"] {
            let is_text = crate::document::Document::parse([head, rest].concat()).is_ok();
            assert!(!(is_binary && is_text), "{head:x?} {rest:x?}");
        }
    }
}

#[test]
fn broken_unicode_is_binary() {
    check(b"\xef\xbb\xbfa\xff", None);
    check(b"\xff\xfea", None);
    check(b"\xff\xfe\x3d\xd8", None);
    check(b"\xff\xfe\0\0a\0\0\0", None);
    check(
        "é".repeat(3).into_bytes().into_iter().chain(*b" caf\xe9").collect::<Vec<_>>().as_slice(),
        None,
    );
    check(b"\x80\x81\x82\x01\x02", None);
}

#[test]
fn legacy_text_is_recognised() {
    let french = "Le café est déjà fermé, même à l'été.\r\nGarçon!\n";
    check(&legacy("windows-1252", french), Some(("windows-1252", french)));
    let japanese = "これは日本語のテキストです。\nファイルを編集します。\n";
    check(&legacy("shift_jis", japanese), Some(("Shift_JIS", japanese)));
}

#[test]
fn a_few_signs_are_western_european() {
    for text in ["tea,£3\n", "5 µm\n", "±1\n", "20 °C\n", "3 m²\n", "½ cup\n"] {
        check(&legacy("windows-1252", text), Some(("windows-1252", text)));
    }
    let places = "Tizi Ouzou, Béjaïa, (Kaby ...\nNear Béjaïa, Tizi Ouzou\n";
    check(&legacy("windows-1252", places), Some(("windows-1252", places)));
    let latvian = "Rīga, Jūrmala, Liepāja, Daugavpils, Jēkabpils, Ķekava\n";
    check(&legacy("windows-1257", latvian), Some(("windows-1257", latvian)));
    for text in ["Łódź\n", "Gdańsk, Łuków\n"] {
        check(&legacy("windows-1250", text), Some(("windows-1250", text)));
    }
    check(&legacy("gb18030", "北京,北\n"), Some(("GBK", "北京,北\n")));
}

#[test]
fn an_unencodable_character_is_reported() {
    let windows = Encoding::detect(&legacy("windows-1252", "déjà vu, café")).unwrap();
    assert_eq!(windows.encode("ok 你"), Err('你'));
    assert_eq!(windows.encode("a\0"), Err('\0'));
    assert_eq!(Encoding::Utf8.encode("a\0"), Err('\0'));
    assert_eq!(Encoding::Utf16Le.encode("\0").unwrap(), b"\xff\xfe\0\0");
}

#[test]
fn a_head_is_recognised_at_any_cut() {
    let text = "naïve 你好 🦀 ".repeat(9);
    for end in 1..text.len() {
        assert_eq!(Encoding::sniff(&text.as_bytes()[..end]), Some(Encoding::Utf8), "cut at {end}");
    }
    assert_eq!(Encoding::sniff(b"ab\0"), None);
}

#[test]
fn pieces_decode_like_the_whole() {
    let text = "a你\n🦀b\r\n";
    for encoding in [Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be] {
        let bytes = encoding.encode(text).unwrap();
        for size in 1..bytes.len() {
            let mut decoder = encoding.decoder();
            let (mut all, mut out) = (String::new(), String::new());
            let n_pieces = bytes.chunks(size).count();
            for (index, piece) in bytes.chunks(size).enumerate() {
                assert!(!decoder.push(piece, index + 1 == n_pieces, &mut out));
                all.push_str(&out);
            }
            assert_eq!(all, text, "{} in pieces of {size}", encoding.name());
        }
    }
}
