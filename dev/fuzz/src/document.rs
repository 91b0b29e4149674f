//! Checks bytes as a document: they are preserved, written text reads back, joined pages give the
//! whole, and pieces give the same results as the whole.
//!
//! An input is a needle, the sizes of pieces, another text, and then any bytes.

use recto_text::digest::Digester;
use recto_text::search::{self, Needle, Search};
use recto_text::window::{self, Page, Window};
use recto_text::{Digest, Document, Encoding, Size, line};

use crate::fields::{Fields, pieces};

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut fields = Fields::new(input);
    let (needle, sizes, other) = (fields.text(), fields.bytes(), fields.text());
    let bytes = fields.all();
    check_decoder(bytes, sizes);
    let document = match Document::parse(bytes.to_vec()) {
        Ok(document) => document,
        Err(same) => return assert_eq!(same, bytes),
    };
    let text = document.text();
    assert_eq!(document.bytes(), bytes);
    assert_eq!(document.digest(), Digest::of(bytes));
    let mut digester = Digester::default();
    pieces(bytes, sizes).into_iter().for_each(|piece| digester.push(piece));
    assert_eq!(digester.finish(), document.digest());

    check_rewritten(&document, text);
    check_rewritten(&document, &other);
    check_pages(text, sizes);
    check_search(text, &needle, sizes);
}

/// Checks that text that a legacy encoding accepts reads back.
fn check_rewritten(document: &Document, text: &str) {
    let is_own = document.text() == text;
    match document.with_text(text) {
        Ok(written) => {
            assert_eq!(written.text(), text);
            let read = Document::parse(written.bytes().to_vec());
            assert_eq!(read.expect("what is written is text").text(), text);
            if is_own && !matches!(document.encoding(), Encoding::Legacy(_)) {
                assert_eq!(written.bytes(), document.bytes());
            }
        }
        Err(error) => {
            let is_legacy = matches!(document.encoding(), Encoding::Legacy(_));
            assert!(is_legacy || !is_own, "{error:?} for its own text");
        }
    }
}

fn check_decoder(bytes: &[u8], sizes: &[u8]) {
    let Some(encoding) = Encoding::detect(bytes) else { return };
    let whole = encoding.decode(bytes);
    let mut decoder = encoding.decoder();
    let (mut text, mut out) = (String::new(), String::new());
    let mut has_errors = false;
    for piece in pieces(bytes, sizes) {
        has_errors |= decoder.push(piece, false, &mut out);
        text.push_str(&out);
    }
    has_errors |= decoder.push(&[], true, &mut out);
    text.push_str(&out);
    if let Some(whole) = whole.filter(|whole| !whole.contains('\0')) {
        assert!(!has_errors, "{} fails in pieces", encoding.name());
        assert_eq!(text, whole, "{} in pieces", encoding.name());
    }
}

fn check_pages(text: &str, sizes: &[u8]) {
    let size = |index: usize| usize::from(sizes.get(index).copied().unwrap_or(3));
    let (max_lines, max_bytes) = (size(0) as u64 % 9, size(1));
    let mut joined = String::new();
    let mut first_line = 1;
    loop {
        let window = Window::lines(first_line, max_lines, Size::utf8(max_bytes));
        let page = window.page(text);
        check_page(text, window, &page, sizes);
        if page.is_cut || page.n_lines == 0 {
            break;
        }
        joined.push_str(&page.content);
        match page.next_line() {
            Some(next) => first_line = next,
            None => return assert_eq!(joined, text),
        }
    }
    assert!(text.starts_with(&joined));
}

fn check_page(text: &str, window: Window, page: &Page, sizes: &[u8]) {
    assert!(page.content.len() <= window.max_size.bytes);
    assert!(page.n_lines <= window.max_lines.max(u64::from(page.is_cut)));
    assert_eq!(page.total_lines, line::count(text) as u64);
    let lines = line::lines(text).skip(window.first_line as usize - 1);
    let wanted: String = lines.take(window.max_lines as usize).collect();
    assert!(wanted.starts_with(&page.content));
    let mut scan = window::PageScan::new(window);
    pieces(text.as_bytes(), sizes).into_iter().for_each(|piece| scan.push(piece));
    assert_eq!(scan.finish().as_ref(), Ok(page));
}

fn check_search(text: &str, needle: &str, sizes: &[u8]) {
    let Ok(parsed) = Needle::literal(needle, false) else { return };
    let max_hits = usize::from(sizes.first().copied().unwrap_or(9));
    let within = vec![0..u64::MAX];
    let search = Search { needle: &parsed, within, max_hits: Some(max_hits), stop: &|| false };
    let hits = search.hits(text);
    let mut scan = search::SearchScan::new(&search);
    pieces(text.as_bytes(), sizes).into_iter().for_each(|piece| scan.push(piece));
    assert_eq!(scan.finish(), hits, "{needle:?} in pieces of {text:?}");
    // ASCII case folding works line by line, so each line can be checked alone.
    if needle.is_ascii() && text.is_ascii() {
        let needle = needle.to_ascii_lowercase();
        let holds = |line: &str| line::without_ending(line).to_ascii_lowercase().contains(&needle);
        let expected: Vec<u64> =
            (1..).zip(line::lines(text)).filter(|(_, line)| holds(line)).map(|(n, _)| n).collect();
        assert_eq!(hits.has_more, expected.len() > max_hits, "{needle:?} in {text:?}");
        assert_eq!(hits.lines, expected[..expected.len().min(max_hits)], "{needle:?} in {text:?}");
    }
}
