//! Strings quoted in messages, cut so that a message stays short.

use std::fmt;

/// The most characters of a string that a message quotes.
pub const MAX_QUOTED: usize = 200;

/// Shows a string, cut in the middle beyond [`MAX_QUOTED`] characters.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        // A character has at least one byte, so short strings need no counting.
        if text.len() <= MAX_QUOTED || text.chars().nth(MAX_QUOTED).is_none() {
            return f.write_str(text);
        }
        let n_kept = MAX_QUOTED - 1;
        let head_end = nth_boundary(text.char_indices(), n_kept.div_ceil(2), text.len());
        let tail_start =
            text.char_indices().rev().nth(n_kept / 2 - 1).map_or(text.len(), |(at, _)| at);
        write!(f, "{}…{}", &text[..head_end], &text[tail_start..])
    }
}

fn nth_boundary(mut indices: impl Iterator<Item = (usize, char)>, n: usize, end: usize) -> usize {
    indices.nth(n).map_or(end, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_short_strings_and_cuts_long_ones_in_the_middle() {
        let exact = "ä".repeat(MAX_QUOTED);
        assert_eq!(Quoted(&exact).to_string(), exact);
        let long = format!("{}{}", "ä".repeat(500), "z".repeat(500));
        let shown = Quoted(&long).to_string();
        assert_eq!(shown.chars().count(), MAX_QUOTED);
        assert!(
            shown.starts_with("ää") && shown.ends_with("zz") && shown.contains("ä…z"),
            "{shown}"
        );
    }
}
