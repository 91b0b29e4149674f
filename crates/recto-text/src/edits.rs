//! Edits of a text: sorted, disjoint and applied in one pass. [`crate::plan`] creates them.

use std::ops::Range;

/// One replacement of a byte range in the original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// Returns by how many bytes the text grows.
    fn growth(&self) -> isize {
        self.text.len() as isize - self.range.len() as isize
    }
}

/// All changes from one text to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edits {
    /// Sorted and disjoint.
    edits: Vec<Edit>,
    /// The length of the original text.
    n_bytes: usize,
}

impl Edits {
    /// Creates an empty set of edits for `text`.
    pub fn none(text: &str) -> Edits {
        Edits { edits: Vec::new(), n_bytes: text.len() }
    }

    /// Creates edits that turn `before` into `after`, without their common prefix and suffix.
    pub fn whole(before: &str, after: &str) -> Edits {
        let n_head = common_prefix(before, after);
        let n_tail = common_suffix(&before[n_head..], &after[n_head..]);
        let range = n_head..before.len() - n_tail;
        let mut edits = Edits::none(before);
        if !range.is_empty() || after.len() > n_head + n_tail {
            edits.edits.push(Edit { range, text: after[n_head..after.len() - n_tail].to_string() });
        }
        edits
    }

    /// Creates edits for `text` that are already sorted and disjoint.
    pub(crate) fn sorted(text: &str, edits: Vec<Edit>) -> Edits {
        Edits { edits, n_bytes: text.len() }
    }

    /// Returns the same edits for a text with `n_bytes` more at its start.
    pub fn moved(&self, n_bytes: usize) -> Edits {
        let moved = |Edit { range, text }: &Edit| Edit {
            range: range.start + n_bytes..range.end + n_bytes,
            text: text.clone(),
        };
        Edits { edits: self.edits.iter().map(moved).collect(), n_bytes: self.n_bytes + n_bytes }
    }

    /// Iterates over the edits in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Edit> {
        self.edits.iter()
    }

    /// Adds a replacement whose range refers to the text after these edits.
    pub fn then(&mut self, range: Range<usize>, text: &str) {
        // Edits that end before the range or start after it stay; edits in between overlap and are
        // merged into the new one. `n_grown` is by how much the edits so far moved the text.
        let (mut first, mut n_grown) = (0, 0isize);
        let after_start = |edit: &Edit, n_grown: isize| edit.range.start.strict_add_signed(n_grown);
        while let Some(edit) = self.edits.get(first)
            && after_start(edit, n_grown) + edit.text.len() <= range.start
        {
            n_grown += edit.growth();
            first += 1;
        }
        if let Some(edit) = self.edits.get_mut(first)
            && let start = after_start(edit, n_grown)
            && start <= range.start
            && range.end <= start + edit.text.len()
        {
            // Inside one edit: only its text changes.
            edit.text.replace_range(range.start - start..range.end - start, text);
            return;
        }
        let mut added =
            Edit { range: range.start.strict_add_signed(-n_grown)..0, text: String::new() };
        let mut end = first;
        let mut tail = "";
        while let Some(edit) = self.edits.get(end)
            && after_start(edit, n_grown) < range.end
        {
            let start = after_start(edit, n_grown);
            if start < range.start {
                added.range.start = edit.range.start;
                added.text.push_str(&edit.text[..range.start - start]);
            }
            tail = edit.text.get(range.end - start..).unwrap_or("");
            n_grown += edit.growth();
            end += 1;
        }
        added.text.push_str(text);
        added.text.push_str(tail);
        // After the tail, the text is the original again.
        added.range.end = (range.end + tail.len()).strict_add_signed(-n_grown);
        self.edits.splice(first..end, [added]);
    }

    /// Adds the edits of another text that follows this one.
    pub(crate) fn append(&mut self, later: Edits) {
        let n_bytes = self.n_bytes;
        let moved = |edit: Edit| Edit {
            range: edit.range.start + n_bytes..edit.range.end + n_bytes,
            text: edit.text,
        };
        self.edits.extend(later.edits.into_iter().map(moved));
        self.n_bytes += later.n_bytes;
    }

    /// Adds edits of `after`, which is the text after these edits.
    pub(crate) fn compose(&mut self, after: &str, later: Edits) {
        if self.edits.is_empty() {
            self.edits = later.edits;
            return;
        }
        let n_bytes = self.n_bytes;
        let mut earlier = std::mem::take(&mut self.edits).into_iter().peekable();
        let mut later = later.edits.into_iter().peekable();
        let mut n_grown = 0isize;
        let after_range = |edit: &Edit, n_grown: isize| {
            let start = edit.range.start.strict_add_signed(n_grown);
            start..start + edit.text.len()
        };
        // Each round joins the next edit with all that overlap it, earlier or later.
        while earlier.peek().is_some() || later.peek().is_some() {
            let first_earlier = earlier.peek().map(|edit| after_range(edit, n_grown));
            let first_later = later.peek().map(|edit| edit.range.clone());
            let is_earlier = match (&first_earlier, &first_later) {
                (Some(one), Some(other)) => (one.start, one.end) <= (other.start, other.end),
                (one, _) => one.is_some(),
            };
            let first = if is_earlier { first_earlier } else { first_later };
            let mut joined = first.expect("one of them was peeked");
            let start = joined.start.strict_add_signed(-n_grown);
            let (mut text, mut n_copied) = (String::new(), joined.start);
            let mut is_first = true;
            loop {
                let overlaps =
                    |range: &Range<usize>| range.start < joined.end && range.end > joined.start;
                if let Some(range) = earlier.peek().map(|edit| after_range(edit, n_grown))
                    && ((is_first && is_earlier) || overlaps(&range))
                {
                    n_grown += earlier.next().map_or(0, |edit| edit.growth());
                    joined.end = joined.end.max(range.end);
                } else if let Some(edit) =
                    later.next_if(|edit| (is_first && !is_earlier) || overlaps(&edit.range))
                {
                    text.push_str(&after[n_copied..edit.range.start]);
                    text.push_str(&edit.text);
                    n_copied = edit.range.end;
                    joined.end = joined.end.max(edit.range.end);
                } else {
                    break;
                }
                is_first = false;
            }
            text.push_str(&after[n_copied..joined.end]);
            let end = joined.end.strict_add_signed(-n_grown);
            self.edits.push(Edit { range: start..end, text });
        }
        self.n_bytes = n_bytes;
    }

    /// Applies the edits and returns the new text.
    ///
    /// # Panics
    ///
    /// Panics if `before` does not have the length of the original text.
    pub fn apply(&self, before: &str) -> String {
        assert_eq!(before.len(), self.n_bytes, "edits apply only to the text they were made for");
        let n_added: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut after = String::with_capacity(before.len() + n_added);
        let mut kept_from = 0;
        for edit in &self.edits {
            after.push_str(&before[kept_from..edit.range.start]);
            after.push_str(&edit.text);
            kept_from = edit.range.end;
        }
        after.push_str(&before[kept_from..]);
        after
    }
}

pub(crate) fn common_prefix(left: &str, right: &str) -> usize {
    let n_equal = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    (0..=n_equal)
        .rev()
        .find(|at| left.is_char_boundary(*at) && right.is_char_boundary(*at))
        .unwrap_or(0)
}

pub(crate) fn common_suffix(left: &str, right: &str) -> usize {
    let n_equal = left.bytes().rev().zip(right.bytes().rev()).take_while(|(a, b)| a == b).count();
    let is_boundary = |n: &usize| {
        left.is_char_boundary(left.len() - n) && right.is_char_boundary(right.len() - n)
    };
    (0..=n_equal).rev().find(is_boundary).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    #[should_panic(expected = "only to the text they were made for")]
    fn reject_another_text() {
        Edits::none("abc").apply("ab");
    }

    #[test]
    fn an_edit_over_earlier_ones_joins_them() {
        let mut edits = Edits::none("abcdef");
        edits.then(1..2, "XY"); // aXYcdef
        edits.then(4..5, ""); // aXYcef
        edits.then(2..5, "-"); // aX-f
        assert_eq!(edits.apply("abcdef"), "aX-f");
        assert_eq!(edits.iter().collect::<Vec<_>>(), [&Edit { range: 1..5, text: "X-".into() }]);
    }

    proptest! {
        #[test]
        fn composed_edits_equal_sequential_edits(
            text in "[abä\\n]{1,30}",
            steps in proptest::collection::vec((0usize..40, 1usize..6, "[xyö\\n]{0,4}"), 1..8),
        ) {
            let mut staged = text.clone();
            let mut edits = Edits::none(&text);
            for (start, length, new) in steps {
                let boundary = |at: usize| (0..=at.min(staged.len())).rev().find(|at| staged.is_char_boundary(*at)).unwrap();
                let range = boundary(start)..boundary(start + length);
                if range.is_empty() {
                    continue;
                }
                edits.then(range.clone(), &new);
                staged.replace_range(range, &new);
            }
            prop_assert_eq!(edits.apply(&text), staged);
            let is_sorted = edits.iter().zip(edits.iter().skip(1)).all(|(a, b)| a.range.end <= b.range.start);
            prop_assert!(is_sorted);
        }

        #[test]
        fn composed_sets_equal_sequential_sets(
            text in "[abä\\n]{0,30}",
            first in proptest::collection::vec((0usize..9, 0usize..5, "[xyö\\n]{0,4}"), 0..6),
            second in proptest::collection::vec((0usize..9, 0usize..5, "[xyö\\n]{0,4}"), 0..6),
        ) {
            let sorted = |text: &str, steps: Vec<(usize, usize, String)>| {
                let mut at = 0;
                let boundary = |at: usize| text.ceil_char_boundary(at.min(text.len()));
                let mut edits = Vec::new();
                for (n_skipped, n_bytes, new) in steps {
                    let range = boundary(at + n_skipped)..boundary(at + n_skipped + n_bytes);
                    at = range.end;
                    if !range.is_empty() {
                        edits.push(Edit { range, text: new });
                    }
                }
                Edits::sorted(text, edits)
            };
            let mut edits = sorted(&text, first);
            let after = edits.apply(&text);
            let later = sorted(&after, second);
            let expected = later.apply(&after);
            edits.compose(&after, later);
            prop_assert_eq!(edits.apply(&text), expected);
            let is_sorted = edits.iter().zip(edits.iter().skip(1)).all(|(a, b)| a.range.end <= b.range.start);
            prop_assert!(is_sorted);
        }

        #[test]
        fn whole_edits_give_the_new_text(before in "[aäö\\n]{0,12}", after in "[aäö\\n]{0,12}") {
            prop_assert_eq!(Edits::whole(&before, &after).apply(&before), after);
        }
    }
}
