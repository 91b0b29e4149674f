//! Strings quoted in messages, cut so that a message stays short.

use std::fmt;

use crate::line;

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

/// How many lines, in words.
pub struct Lines(pub u64);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 line"),
            n_lines => write!(f, "{n_lines} lines"),
        }
    }
}

/// Shows a line as a string literal, cut around its first difference from another. Its ending is
/// shown only where that is the difference.
pub struct Differing<'a>(pub &'a str, pub &'a str);

impl fmt::Display for Differing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 100;
        const BEFORE: usize = 30;
        let (mut shown, mut other) = (line::without_ending(self.0), line::without_ending(self.1));
        if shown == other {
            (shown, other) = (self.0, self.1);
        }
        let n_equal = shown.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let is_long = shown.chars().count() > MAX_SHOWN;
        let start = if is_long { n_equal.saturating_sub(BEFORE) } else { 0 };
        let mut rest = shown.chars().skip(start);
        f.write_str(if start > 0 { "\"…" } else { "\"" })?;
        for c in rest.by_ref().take(MAX_SHOWN) {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str(if rest.next().is_some() { "…\"" } else { "\"" })
    }
}

fn nth_boundary(mut indices: impl Iterator<Item = (usize, char)>, n: usize, end: usize) -> usize {
    indices.nth(n).map_or(end, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_around_its_difference() {
        let (one, other) = (format!("{}x{}", "a".repeat(200), "b".repeat(200)), "a".repeat(400));
        let shown = Differing(&one, &other).to_string();
        assert!(
            shown.starts_with("\"…aaa") && shown.ends_with("bbb…\"") && shown.contains("axb"),
            "{shown}"
        );
        for (one, other, shown) in [
            ("a\tb\n", "a b", r#""a\tb""#),
            ("b", "b\n", r#""b""#),
            ("b\n", "b", r#""b\n""#),
            ("say \"hi\"", "x", r#""say \"hi\"""#),
            ("", "x", r#""""#),
            ("\u{1b}[0m", "x", r#""\u001b[0m""#),
        ] {
            assert_eq!(Differing(one, other).to_string(), shown);
        }
    }

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
