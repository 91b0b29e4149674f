//! Changes to a text as values: sorted, disjoint, applied in one pass.
//!
//! Deciding what to change is left to [`crate::plan`].

use std::ops::Range;

/// One replacement: these bytes of the text before give way to this text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go.
    pub range: Range<usize>,
    /// What comes in their place.
    pub text: String,
}

impl Edit {
    /// By how much the text gets longer.
    fn growth(&self) -> isize {
        self.text.len() as isize - self.range.len() as isize
    }
}

/// All changes from one text to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edits {
    /// Sorted by place and disjoint.
    edits: Vec<Edit>,
    /// The length of the text they were made for.
    n_bytes: usize,
}

impl Edits {
    /// No change to `text`.
    pub fn none(text: &str) -> Edits {
        Edits { edits: Vec::new(), n_bytes: text.len() }
    }

    /// Everything in `before` gives way to `after`, except what they share at both ends.
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

    /// Edits to `text` that are known to be sorted and disjoint.
    pub(crate) fn sorted(text: &str, edits: Vec<Edit>) -> Edits {
        Edits { edits, n_bytes: text.len() }
    }

    /// The edits in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Edit> {
        self.edits.iter()
    }

    /// Adds a replacement that was found in the text as these edits leave it.
    pub fn then(&mut self, range: Range<usize>, text: &str) {
        // Edits that end before the range stay, those that start behind it too; what is between
        // overlaps and joins the new one. `n_grown` is how far the edits so far moved the text.
        let (mut first, mut n_grown) = (0, 0isize);
        let after_start = |edit: &Edit, n_grown: isize| edit.range.start.strict_add_signed(n_grown);
        while let Some(edit) = self.edits.get(first)
            && after_start(edit, n_grown) + edit.text.len() <= range.start
        {
            n_grown += edit.growth();
            first += 1;
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
        // Behind the tail the text is the original again.
        added.range.end = (range.end + tail.len()).strict_add_signed(-n_grown);
        self.edits.splice(first..end, [added]);
    }

    /// The text after the edits.
    ///
    /// # Panics
    ///
    /// If `before` is not as long as the text that the edits were made for.
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

fn common_prefix(left: &str, right: &str) -> usize {
    let n_equal = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    (0..=n_equal)
        .rev()
        .find(|at| left.is_char_boundary(*at) && right.is_char_boundary(*at))
        .unwrap_or(0)
}

fn common_suffix(left: &str, right: &str) -> usize {
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
    fn refuse_another_text() {
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
        fn composed_edits_do_what_one_after_another_does(
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
        fn a_whole_change_gives_the_new_text(before in "[aäö\\n]{0,12}", after in "[aäö\\n]{0,12}") {
            prop_assert_eq!(Edits::whole(&before, &after).apply(&before), after);
        }
    }
}
