//! Files that trials use.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::Result;

/// Returns content of about `n_bytes` with its version on every line.
pub fn version(number: usize, n_bytes: usize) -> String {
    let line = format!("version {number:08} of a file that is replaced as a whole\n");
    line.repeat(n_bytes / line.len())
}

/// Returns a first line to edit, and `n_bytes` that stay.
pub fn counted(number: usize, n_bytes: usize) -> String {
    let rest = "a line that stays as it is, whatever happens to the first one\n";
    format!("n = {number}\n{}", rest.repeat(n_bytes / rest.len()))
}

/// Returns the number in the first line of a `counted` file, if the file is complete.
pub fn count_of(text: &str, n_bytes: usize) -> Option<usize> {
    let number = text.lines().next()?.strip_prefix("n = ")?.parse().ok()?;
    (text == counted(number, n_bytes)).then_some(number)
}

/// Returns the names in a directory, sorted.
pub fn names(folder: &Path) -> Result<Vec<OsString>> {
    let names: std::io::Result<Vec<_>> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect();
    let mut names = names?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_file_has_no_count() {
        let text = counted(7, 1000);
        assert_eq!(count_of(&text, 1000), Some(7));
        assert_eq!(count_of(&text[..500], 1000), None);
        assert_eq!(count_of("", 1000), None);
        assert_eq!(count_of(&(text + "n"), 1000), None);
    }
}
