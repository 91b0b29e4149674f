//! HTML as a type: constant markup, and everything else escaped. Characters that control how text is
//! shown, such as those for its direction, are made visible.

use std::fmt::{self, Write};

use recto_text::quote::{Escaped, is_active};

/// HTML. Text gets into it only by methods that escape it.
#[derive(Debug, Default, Clone)]
pub struct Html(String);

impl Html {
    /// Appends markup.
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Appends text, such as a name, on one line.
    pub fn text(&mut self, text: impl fmt::Display) -> &mut Html {
        let text = text.to_string();
        escape(&mut self.0, &Escaped(&text).to_string());
        self
    }

    /// Appends an attribute.
    pub fn attribute(&mut self, name: &'static str, value: impl fmt::Display) -> &mut Html {
        let _ = write!(self.0, " {name}=\"");
        self.text(value);
        self.0.push('"');
        self
    }

    /// Appends a part of a line of a file. Control characters become labels; spaces at the end of the
    /// line and in changed parts are marked if `shows_space`.
    pub fn code(&mut self, text: &str, shows_space: bool) -> &mut Html {
        let is_special =
            |c: char| is_active(c) || (shows_space && matches!(c, ' ' | '\t' | '\u{a0}'));
        let mut rest = text;
        while let Some(at) = rest.find(is_special) {
            escape(&mut self.0, &rest[..at]);
            let c = rest[at..].chars().next().unwrap_or_default();
            match c {
                '\t' if shows_space => self.0.push_str("<i class=\"tab\">\t</i>"),
                '\t' => self.0.push('\t'),
                ' ' => self.0.push_str("<i class=\"sp\"> </i>"),
                c => {
                    let _ = write!(self.0, "<i class=\"ctl\">U+{:04X}</i>", c as u32);
                }
            }
            rest = &rest[at + c.len_utf8()..];
        }
        escape(&mut self.0, rest);
        self
    }

    /// Returns the HTML as a string.
    pub fn into_string(self) -> String {
        self.0
    }
}

fn escape(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup_or_change_direction() {
        let mut html = Html::default();
        html.raw("<p").attribute("title", "\"><script>").raw(">").text("<b>&\u{202e}'\n");
        html.code("\u{202e}<i>\u{0}\t a", false).code(" \t", true).raw("</p>");
        assert_eq!(
            html.into_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;&amp;\\u202e&#39;\\n\
             <i class=\"ctl\">U+202E</i>&lt;i&gt;<i class=\"ctl\">U+0000</i>\t a\
             <i class=\"sp\"> </i><i class=\"tab\">\t</i></p>"
        );
    }
}
