//! Estimates the memory of a line before it is parsed: a value can take two bytes on the wire and a
//! hundred in memory.

use crate::limits::REQUEST_VALUES;

/// The approximate memory of a value besides its text.
const VALUE_BYTES: usize = 160;

/// Estimates the memory of a request. `None` if it contains too many values.
pub fn of(line: &[u8]) -> Option<usize> {
    let n_values = n_values(line);
    (n_values <= REQUEST_VALUES).then(|| line.len() + n_values * VALUE_BYTES)
}

/// Counts JSON names and values. May overestimate slightly.
fn n_values(mut line: &[u8]) -> usize {
    let mut n_values = 1;
    while let Some(start) = memchr::memchr(b'"', line) {
        n_values += n_marks(&line[..start]);
        line = after_string(&line[start + 1..]);
    }
    n_values + n_marks(line)
}

/// Counts the delimiters that are adjacent to a value.
fn n_marks(piece: &[u8]) -> usize {
    piece.iter().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count()
}

/// Returns the bytes after a string, given the bytes after its opening quote.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (line, expected) in [
            ("7", 1),
            ("[0,0,0]", 4),
            (r#"{"a":1,"b":[2,3]}"#, 7),
            (r#""[,,,,,,,{{{{""#, 1),
            (r#"{"a\\":"\"[,,,","b":1}"#, 5),
            (r#"["open,,,,"#, 2),
            (r#"["\"#, 2),
        ] {
            assert_eq!(n_values(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn too_many_values_are_refused_by_their_number() {
        let line = |n: usize| format!("[{}0]", "0,".repeat(n - 1));
        assert!(of(line(REQUEST_VALUES - 1).as_bytes()).is_some());
        assert!(of(line(REQUEST_VALUES).as_bytes()).is_none());
    }
}
