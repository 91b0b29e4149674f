//! Strings quoted in messages, truncated to keep messages short.

use std::fmt;

use crate::line::{self, LineRange};
use crate::size::Size;

/// The maximum number of characters that a message quotes.
pub const MAX_QUOTED: usize = 200;

/// The maximum bytes that a quoted string has in JSON: three for each character.
const MAX_QUOTED_JSON: usize = 3 * MAX_QUOTED;

/// Displays a name on one line, truncated like [`Truncated`]. Like [`OneLine`], shows a name that could
/// forge or hide text as a string literal.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Truncated(self.0).to_string();
        match shown.contains(is_active) {
            true => Truncated(&OneLine(&shown).to_string()).fmt(f),
            false => f.write_str(&shown),
        }
    }
}

/// Displays a text that the caller sent, truncated in the middle beyond [`MAX_QUOTED`] characters, or
/// fewer if they are long in JSON.
pub struct Truncated<'a>(pub &'a str);

impl fmt::Display for Truncated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        // A character has at least one byte and at most six, so short strings need no counting.
        let is_short = text.len() <= MAX_QUOTED_JSON / 6
            || text.len() <= MAX_QUOTED_JSON
                && text.chars().nth(MAX_QUOTED).is_none()
                && Size::of(text).json <= MAX_QUOTED_JSON;
        if is_short {
            return f.write_str(text);
        }
        let n_kept = MAX_QUOTED - 1;
        let head = quoted_bytes(text.chars(), n_kept.div_ceil(2));
        let tail = quoted_bytes(text.chars().rev(), n_kept / 2);
        write!(f, "{}…{}", &text[..head], &text[text.len() - tail..])
    }
}

/// Displays a name on one line. A name with [active](is_active) characters becomes a JSON string
/// literal, and so does one that looks like such a literal; any other is shown as it is.
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Most names are plain ASCII, which needs no decoding.
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
        let is_active = || !self.0.bytes().all(is_plain) && self.0.contains(is_active);
        if !self.0.starts_with('"') && !is_active() {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c => write_escaped(f, c)?,
            }
        }
        f.write_str("\"")
    }
}

/// Displays a sentence on one line: [active](is_active) characters in it are escaped.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| write_escaped(f, c))
    }
}

/// Returns whether a character ends a line, controls a terminal, or changes how the text around it
/// is shown.
pub fn is_active(c: char) -> bool {
    // Emoji and several scripts need the two joiners.
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
    c.is_control()
        || (has_no_shape(c) && !is_joiner)
        || matches!(c, '\u{61c}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Writes a character as in a JSON string.
fn write_escaped(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        c if is_active(c) => {
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(f, "\\u{unit:04x}"))
        }
        c => write!(f, "{c}"),
    }
}

/// Returns the bytes of the first `n` characters, or of fewer within their share of the JSON.
fn quoted_bytes(chars: impl Iterator<Item = char>, n: usize) -> usize {
    let mut n_json = 0;
    let fits = |c: &char| {
        n_json += Size::of(c.encode_utf8(&mut [0; 4])).json;
        n_json <= n * MAX_QUOTED_JSON / MAX_QUOTED
    };
    chars.take(n).take_while(fits).map(char::len_utf8).sum()
}

/// Displays a number of lines: `1 line`, `2 lines`.
pub struct Lines(pub u64);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 line"),
            n_lines => write!(f, "{n_lines} lines"),
        }
    }
}

/// Displays lines as numbers: `line 3`, `lines 3-5, 9`.
pub struct LineNumbers<'a>(pub &'a [LineRange]);

impl fmt::Display for LineNumbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one = matches!(self.0, [range] if range.start == range.end);
        f.write_str(if is_one { "line " } else { "lines " })?;
        for (idx, LineRange { start, end }) in self.0.iter().enumerate() {
            f.write_str(if idx == 0 { "" } else { ", " })?;
            match start == end {
                true => write!(f, "{start}")?,
                false => write!(f, "{start}-{end}")?,
            }
        }
        Ok(())
    }
}

/// Displays a line as a string literal, truncated around its first difference from another line. Its
/// ending is shown only if the lines differ in nothing else.
pub struct Differing<'a>(pub &'a str, pub &'a str);

impl fmt::Display for Differing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = MAX_QUOTED;
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
                c if c.is_control() || is_unseen(c) => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str(if rest.next().is_some() { "…\"" } else { "\"" })
    }
}

/// Names the characters at the first difference between a line of a file and a wanted line, if the
/// difference is hard to see: `After "foo": file U+200B, want nothing.`
pub fn unseen_difference(file: &str, want: &str) -> Option<String> {
    const MAX_NAMED: usize = 2;
    const MAX_BEFORE: usize = 12;
    let equal = file.chars().zip(want.chars()).take_while(|(a, b)| a == b);
    let (before, file) = file.split_at(equal.map(|(c, _)| c.len_utf8()).sum());
    let want = &want[before.len()..];
    let equal = file.chars().rev().zip(want.chars().rev()).take_while(|(a, b)| a == b);
    let n_tail: usize = equal.map(|(c, _)| c.len_utf8()).sum();
    let mut sides = [file, want].map(|side| &side[..side.len() - n_tail]);
    let is_long = sides.iter().any(|side| side.chars().nth(MAX_NAMED).is_some());
    if is_long {
        // The first character with its combining marks.
        let end = |side: &str| side.char_indices().skip(1).find(|(_, c)| !is_mark(*c));
        sides = [file, want].map(|side| &side[..end(side).map_or(side.len(), |(at, _)| at)]);
    }
    let is_hard_to_see = sides.concat().chars().any(|c| is_unseen(c) || is_mark(c));
    // Different words are easy to see.
    let are_words = is_long && sides.iter().all(|side| side.starts_with(char::is_alphabetic));
    if !is_hard_to_see && (are_words || sides[0].is_ascii() == sides[1].is_ascii()) {
        return None;
    }
    let start = before.char_indices().rev().nth(MAX_BEFORE - 1).map_or(0, |(at, _)| at);
    let place = match &before[start..] {
        "" => "At the start".to_string(),
        before => format!("After {}", Differing(before, before)),
    };
    let [file, want] = sides.map(|side| match side {
        "" => "nothing".to_string(),
        side => {
            let named: Vec<_> = side.chars().map(|c| format!("U+{:04X}", u32::from(c))).collect();
            named.join(" ")
        }
    });
    Some(format!("{place}: file {file}, want {want}."))
}

/// Whether two texts differ only in whitespace.
pub fn is_same_but_whitespace(one: &str, other: &str) -> bool {
    let solid = |text: &str| text.split_whitespace().collect::<String>();
    one != other && solid(one) == solid(other)
}

/// Whether a character is a combining mark.
fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Whether a character is non-ASCII whitespace or has no visible shape.
fn is_unseen(c: char) -> bool {
    (c.is_whitespace() && !c.is_ascii()) || has_no_shape(c)
}

/// Whether a character only affects layout.
pub fn has_no_shape(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
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
            ("\u{feff}a\u{a0}b", "x", r#""\ufeffa\u00a0b""#),
        ] {
            assert_eq!(Differing(one, other).to_string(), shown);
        }
    }

    #[test]
    fn names_what_looks_alike() {
        for (file, want, named) in [
            ("\u{4f60}\u{597d}\u{4e16}\u{754c}", "hello", None),
            ("foo\u{200b}bar", "foobar", Some("After \"foo\": file U+200B, want nothing.")),
            ("foobar", "foo\u{200b}bar", Some("After \"foo\": file nothing, want U+200B.")),
            ("\u{feff}a", "a", Some("At the start: file U+FEFF, want nothing.")),
            ("f(a,\u{a0}b)", "f(a, b)", Some("After \"f(a,\": file U+00A0, want U+0020.")),
            ("cafe\u{301}", "café", Some("After \"caf\": file U+0065 U+0301, want U+00E9.")),
            ("e\u{301}te\u{301}", "été", Some("At the start: file U+0065 U+0301, want U+00E9.")),
            ("\u{a0}a\u{a0}b", " a b", Some("At the start: file U+00A0, want U+0020.")),
            ("c\u{430}t", "cat", Some("After \"c\": file U+0430, want U+0061.")),
            ("a “b”", "a \"b\"", Some("After \"a \": file U+201C, want U+0022.")),
            ("let a = 1;", "let b = 1;", None),
            ("a  b", "a\tb", None),
            ("你好世界", "你好地球", None),
            ("a", "a", None),
        ] {
            assert_eq!(unseen_difference(file, want).as_deref(), named, "{file:?} {want:?}");
        }
    }

    #[test]
    fn names_cannot_forge_or_hide_text() {
        for (name, shown) in [
            ("/a/b c.txt", "/a/b c.txt"),
            ("back\\slash", "back\\slash"),
            ("say \"hi\"", "say \"hi\""),
            ("\"hi\"", r#""\"hi\"""#),
            ("a\nb\\n", r#""a\nb\\n""#),
            ("\u{1b}[31m\u{9b}\u{7f}\r\t", r#""\u001b[31m\u009b\u007f\r\t""#),
            ("\u{202e}txt.exe", r#""\u202etxt.exe""#),
            ("\u{2028}\u{61c}\u{2066}", r#""\u2028\u061c\u2066""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
            ("\u{1f469}\u{200d}\u{1f4bb}", "\u{1f469}\u{200d}\u{1f4bb}"),
        ] {
            assert_eq!(OneLine(name).to_string(), shown);
            assert!(!Escaped(name).to_string().contains(is_active), "{name:?}");
            if name.contains(is_active) {
                assert_eq!(Quoted(name).to_string(), shown);
            }
        }
        assert_eq!(Escaped("file \u{1b}x").to_string(), "file \\u001bx");
        let long = Quoted(&"\n".repeat(5000)).to_string();
        assert!(long.len() < 2 * MAX_QUOTED + 10 && long.starts_with("\"\\n"), "{long}");
        assert_eq!(Truncated("a\nb").to_string(), "a\nb");
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
        for long in ["\u{1}", "\"", "😀", "你\n"].map(|c| c.repeat(300)) {
            for shown in [Quoted(&long).to_string(), Truncated(&long).to_string()] {
                assert!((210..=MAX_QUOTED_JSON).contains(&Size::of(&shown).json), "{shown:?}");
            }
            let shown = Truncated(&long).to_string();
            assert!(Size::of(&shown).json >= 390, "{shown:?}");
        }
        let exact = "\u{1}".repeat(100);
        assert_eq!(Truncated(&exact).to_string(), exact);
    }
}
