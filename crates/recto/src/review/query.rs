//! Parameters in addresses. Paths may be any bytes, so they are percent-encoded.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use recto_journal::undo::HunkId;

/// The parameters of a request.
pub struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    /// Parses the part of an address after `?`.
    pub fn new(query: Option<&'a str>) -> Query<'a> {
        Query(query.unwrap_or_default())
    }

    /// Returns a parameter as bytes; empty if it is missing.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.into_iter().find(|(own, _)| *own == name);
        value.map(|(_, value)| decode(value)).unwrap_or_default()
    }

    /// Returns a parameter as text.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.bytes(name)).into_owned()
    }

    /// Returns a parameter as a number; 0 if it is missing or not a number.
    pub fn number(&self, name: &str) -> isize {
        self.text(name).parse().unwrap_or_default()
    }
}

/// Decodes percent-encoding.
pub fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// Encodes a path so that it is one parameter.
pub fn encode(path: &Path) -> String {
    let mut out = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => {
                out.push(*byte as char);
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Decodes a path below a directory.
pub fn path(root: &Path, encoded: &[u8]) -> PathBuf {
    root.join(OsString::from_vec(encoded.to_vec()))
}

/// Writes a hunk as `change.hunk`.
pub fn hunk(id: &HunkId) -> String {
    format!("{}.{}", id.change, id.hunk)
}

/// Parses `change.hunk`.
pub fn parse_hunk(text: &str) -> Option<HunkId> {
    let (change, hunk) = text.split_once('.')?;
    Some(HunkId { change: change.parse().ok()?, hunk: hunk.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_bytes_is_encoded_and_decoded() {
        let path = Path::new(std::ffi::OsStr::from_bytes(b"a b/\xff%&=<\n.rs"));
        let encoded = encode(path);
        assert_eq!(encoded, "a%20b%2F%FF%25%26%3D%3C%0A.rs");
        assert_eq!(decode(&encoded), path.as_os_str().as_bytes());
        let query = format!("s=x&f={encoded}&n=-3");
        let query = Query::new(Some(&query));
        assert_eq!(query.bytes("f"), path.as_os_str().as_bytes());
        assert_eq!((query.text("s"), query.number("n"), query.number("f")), ("x".into(), -3, 0));
    }
}
