//! Which recorded change wrote each line of a file.

use std::ops::Range;

use recto_text::Document;
use recto_text::line::{lines, without_ending};

use crate::undo::{self, Step};

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Author {
    /// The content of a change is not stored, so it may be anyone's.
    Unknown,
    /// It was there before recto's first change, or another program wrote it.
    NotByRecto,
    /// This change wrote it.
    Change(u64),
}

/// Returns the author of each line, or `None` if the content is not text. The steps lead to the
/// content.
///
/// A line belongs to the newest change that wrote a part of it. A line that an undo restored belongs
/// to the change that wrote it first.
pub fn authors(steps: &[Step], content: &[u8]) -> Option<Vec<Author>> {
    let document = Document::parse(content.to_vec()).ok()?;
    let encoding = document.encoding();
    let n_bom = encoding.bom().len();
    let n_bytes = |text: &str| encoding.encode(text).map_or(0, |bytes| bytes.len() - n_bom);
    let mut spans = undo::authors(steps, content.len() as u64);
    spans.reverse();
    let (mut authors, mut start) = (Vec::new(), n_bom as u64);
    for line in lines(document.text()) {
        // In UTF-16 the last byte of an ending may belong to the next hunk.
        let n_text = n_bytes(without_ending(line)).max(1) as u64;
        authors.push(newest(&mut spans, start..start + n_text));
        start += n_bytes(line) as u64;
    }
    Some(authors)
}

/// Returns the newest author of a range. Drops spans that end before it.
fn newest(spans: &mut Vec<(Range<u64>, Author)>, range: Range<u64>) -> Author {
    while spans.pop_if(|(span, _)| span.end <= range.start).is_some() {}
    let spans = spans.iter().rev().take_while(|(span, _)| span.start < range.end);
    spans.map(|(_, author)| *author).max().unwrap_or(Author::NotByRecto)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::hunk::Hunks;
    use Author::{Change, NotByRecto, Unknown};

    /// Makes changes one after another, and returns the authors of the last version. A change that
    /// starts with `!` is made by another program, one with `?` is not stored.
    fn check(versions: &[&str], encode: fn(&str) -> Vec<u8>, expected: &[Author]) {
        let texts = versions.iter().map(|text| text.trim_start_matches(['!', '?']));
        let contents: Vec<Vec<u8>> = texts.map(encode).collect();
        let mut steps = Vec::new();
        for (index, pair) in contents.windows(2).enumerate() {
            let given = versions[index + 1];
            let hunks = (!given.starts_with('?')).then(|| Hunks::between(&pair[0], &pair[1]));
            let (id, is_foreign) = (index as u64 + 1, given.starts_with('!'));
            let exists = [true, true];
            steps.push(Step { id, exists, hunks, is_foreign, ..Step::default() });
        }
        assert_eq!(authors(&steps, contents.last().unwrap()).unwrap(), expected);
    }

    fn utf8(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    fn utf16(text: &str) -> Vec<u8> {
        recto_text::encoding::Encoding::Utf16Le.encode(text).unwrap()
    }

    #[test]
    fn each_line_belongs_to_the_change_that_wrote_it() {
        for encode in [utf8, utf16] {
            let versions =
                ["a\nb\nc\n", "a\nB\nc\n", "a\nnew\nB\nc\nd\n", "!a\nnew\nB\nby the user\nd\n"];
            let expected = [NotByRecto, Change(2), Change(1), NotByRecto, Change(2)];
            check(&versions, encode, &expected);
        }
    }

    #[test]
    fn content_that_is_not_stored_is_unknown() {
        check(&["a\n", "?a\nb\n", "a\nb\nc\n"], utf8, &[Unknown, Unknown, Change(2)]);
        assert_eq!(authors(&[], b"\0binary"), None);
        assert_eq!(authors(&[], b"a\nb").unwrap(), [NotByRecto, NotByRecto]);
    }
}
