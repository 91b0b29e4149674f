//! The files that are read and written: the same bytes in every run, in a temporary directory.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use recto_dev::random::Random;
use tempfile::TempDir;

use crate::Result;

pub const KB: usize = 1 << 10;
pub const MB: usize = 1 << 20;

/// The number of editable lines in a file with marks.
pub const N_MARKS: usize = 100;

/// The number of lines in the file for misses.
const N_LINES: usize = 10_000;

/// A temporary directory with the files that rows need.
pub struct Folder {
    folder: TempDir,
    /// The number of lines of `64mb.txt`.
    pub n_lines_of_64mb: usize,
    /// Five lines of `10000-lines.txt` with one word changed.
    pub near_miss: String,
}

impl Folder {
    /// Creates the directory and fills it.
    pub fn create() -> Result<Folder> {
        let folder = TempDir::with_prefix("recto-bench-")?;
        let path = folder.path();
        fs::write(path.join("2kb.txt"), text(1, 2 * KB))?;
        fs::write(path.join("1mb.txt"), text(2, MB))?;
        fs::write(path.join("overwritten.txt"), text(3, MB))?;
        fs::write(path.join("marks.txt"), with_marks(""))?;
        // One for each row that edits it, because each toggles the marks.
        fs::write(path.join("1mb-for-1-edit.txt"), with_marks(&text(4, MB)))?;
        fs::write(path.join("1mb-for-100-edits.txt"), with_marks(&text(4, MB)))?;

        let lines = n_lines(5, N_LINES);
        fs::write(path.join("10000-lines.txt"), lines.concat())?;
        let place = N_LINES * 6 / 10;
        let near_miss =
            [&lines[place..place + 2], &[changed(&lines[place + 2])], &lines[place + 3..place + 5]];
        let near_miss = near_miss.concat().concat();

        let n_lines_of_64mb = write_text(&path.join("64mb.txt"), 64, MB)?;
        Ok(Folder { folder, n_lines_of_64mb, near_miss })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the directory and reports a failure to do so.
    pub fn remove(self) -> Result<()> {
        Ok(self.folder.close()?)
    }
}

/// Writes pieces of text to a new file. Returns its number of lines.
pub fn write_text(path: &Path, n_pieces: usize, n_bytes: usize) -> Result<usize> {
    let pieces: Vec<_> = (0..n_pieces.min(16)).map(|seed| text(seed as u64, n_bytes)).collect();
    let mut file = fs::File::create(path)?;
    let mut n_lines = 0;
    for piece in pieces.iter().cycle().take(n_pieces) {
        n_lines += piece.matches('\n').count();
        file.write_all(piece.as_bytes())?;
    }
    // Otherwise the first row that syncs would wait for this file too.
    file.sync_all()?;
    Ok(n_lines)
}

/// Waits until recto trusts the files' time stamps: two seconds without a change.
pub fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

/// Returns exactly `n_bytes` of text in lines that look like code.
pub fn text(seed: u64, n_bytes: usize) -> String {
    let mut random = Random::new(seed);
    let mut text = String::with_capacity(n_bytes + 128);
    while text.len() < n_bytes {
        push_line(&mut random, &mut text);
    }
    // The last line is cut, and padded if that would split a character.
    text.truncate(text.floor_char_boundary(n_bytes - 1));
    text.extend(std::iter::repeat_n(' ', n_bytes - 1 - text.len()));
    text.push('\n');
    text
}

fn n_lines(seed: u64, n_lines: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut line = || {
        let mut line = String::new();
        push_line(&mut random, &mut line);
        line
    };
    (0..n_lines).map(|_| line()).collect()
}

/// Replaces the last word of a line, as a model might misremember it.
fn changed(line: &str) -> String {
    let (head, _) = line.trim_end().rsplit_once(' ').unwrap_or_default();
    format!("{head} remembered;\n")
}

/// Returns a line that occurs once, in one of two states.
pub fn mark(index: usize, is_set: bool) -> String {
    format!("    let mark_{index:03} = {};", if is_set { "is_set(1)" } else { "unset()" })
}

/// Returns a text with a hundred unset marks, evenly spread.
pub fn with_marks(text: &str) -> String {
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let mut marked = String::new();
    for index in 0..N_MARKS {
        let part = lines.len() * index / N_MARKS..lines.len() * (index + 1) / N_MARKS;
        let (head, tail) = lines[part.clone()].split_at(part.len() / 2);
        marked.extend(head.iter().copied());
        marked.push_str(&mark(index, false));
        marked.push('\n');
        marked.extend(tail.iter().copied());
    }
    marked
}

fn push_line(random: &mut Random, line: &mut String) {
    const WORDS: [&str; 24] = [
        "let",
        "mut",
        "value",
        "count",
        "=",
        "+",
        "if",
        "else",
        "{",
        "}",
        "return",
        "match",
        "self.path",
        "Some(index)",
        "\"text\"",
        "'\\n'",
        "//",
        "for",
        "in",
        "lines()",
        "&str",
        "->",
        "größe",
        "ok?",
    ];
    line.push_str(&"            "[..4 * random.below(4)]);
    for _ in 0..2 + random.below(8) {
        line.push_str(WORDS[random.below(WORDS.len())]);
        line.push(' ');
    }
    writeln!(line, "x{};", random.below(100_000)).expect("a string can be written to");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn text_is_as_long_as_asked_for_and_always_the_same() {
        assert_eq!(text(7, MB).len(), MB);
        assert_eq!(text(7, MB), text(7, MB));
        assert_ne!(text(7, MB), text(8, MB));
    }

    #[test]
    fn every_mark_stands_once() {
        for text in [with_marks(""), with_marks(&text(7, 64 * KB))] {
            for index in 0..N_MARKS {
                assert_eq!(text.matches(&mark(index, false)).count(), 1);
            }
        }
    }
}
