//! Detects which character encloses fields.

/// Returns the quote character: `'` only if there is no other, it always encloses whole fields, and
/// one of them is not empty.
pub fn quote(text: &str, delimiter: Option<u8>) -> u8 {
    let is_edge = |byte: Option<&u8>| match byte {
        None | Some(b'\n' | b'\r') => true,
        Some(byte) => Some(*byte) == delimiter,
    };
    if !text.contains('\'') || text.contains('"') {
        return b'"';
    }
    let bytes = text.as_bytes();
    let (mut n_opening, mut n_closing) = (0_usize, 0_usize);
    let mut has_content = false;
    for at in memchr::memchr_iter(b'\'', bytes) {
        let is_opening = is_edge(at.checked_sub(1).and_then(|before| bytes.get(before)));
        let is_empty = bytes.get(at + 1) == Some(&b'\'') && is_edge(bytes.get(at + 2));
        n_opening += usize::from(is_opening);
        n_closing += usize::from(is_edge(bytes.get(at + 1)));
        has_content |= is_opening && !is_empty;
    }
    if has_content && n_opening == n_closing { b'\'' } else { b'"' }
}
