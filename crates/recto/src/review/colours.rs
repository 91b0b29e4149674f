//! Colours for common languages: comments, strings, numbers and keywords, line by line.
//!
//! A grammar engine knows more, but its grammars are several megabytes and its first file takes about
//! 100 ms: see `docs/decisions/0025-review.md`.

use std::ops::Range;
use std::path::Path;

/// What a piece of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// A comment.
    Comment,
    /// A string or a character.
    Text,
    /// A number.
    Number,
    /// A keyword.
    Keyword,
}

/// What is coloured in a language.
#[derive(Debug)]
struct Language {
    extensions: &'static [&'static str],
    line_comments: &'static [&'static str],
    /// Comments and strings that may span lines, with what ends them. Longer ones first.
    blocks: &'static [(&'static str, &'static str, Colour)],
    /// Quotes of strings that end with their line.
    quotes: &'static [char],
    keywords: &'static str,
}

use Colour::{Comment, Text};

const SLASHES: &[(&str, &str, Colour)] = &[("/*", "*/", Comment)];
const BOTH_QUOTES: &[char] = &['"', '\''];

const LANGUAGES: &[Language] = &[
    Language {
        extensions: &["rs"],
        line_comments: &["//"],
        blocks: &[("/*", "*/", Comment), ("r#\"", "\"#", Text), ("\"", "\"", Text)],
        quotes: &[],
        keywords: "as async await box break const continue crate dyn else enum extern false fn for if \
            impl in let loop match mod move mut pub ref return self Self static struct super trait true \
            type union unsafe use where while yield",
    },
    Language {
        extensions: &["py", "pyi"],
        line_comments: &["#"],
        blocks: &[("\"\"\"", "\"\"\"", Text), ("'''", "'''", Text)],
        quotes: BOTH_QUOTES,
        keywords: "and as assert async await break case class continue def del elif else except False \
            finally for from global if import in is lambda match None nonlocal not or pass raise return \
            self True try while with yield",
    },
    Language {
        extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        line_comments: &["//"],
        blocks: &[("/*", "*/", Comment), ("`", "`", Text)],
        quotes: BOTH_QUOTES,
        keywords: "abstract as async await break case catch class const constructor continue debugger \
            declare default delete do else enum export extends false finally for from function get if \
            implements import in instanceof interface keyof let new null of private protected public \
            readonly return satisfies set static super switch this throw true try type typeof undefined \
            var void while with yield",
    },
    Language {
        extensions: &["go"],
        line_comments: &["//"],
        blocks: &[("/*", "*/", Comment), ("`", "`", Text)],
        quotes: BOTH_QUOTES,
        keywords: "break case chan const continue default defer else fallthrough false for func go goto \
            if import interface map nil package range return select struct switch true type var",
    },
    Language {
        extensions: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "cu", "glsl", "proto"],
        line_comments: &["//"],
        blocks: SLASHES,
        quotes: BOTH_QUOTES,
        keywords: "alignas alignof auto bool break case catch char class concept const constexpr \
            continue default delete do double else enum explicit extern false final float for friend \
            goto if inline int long message mutable namespace new noexcept nullptr operator override \
            private protected public register repeated requires return short signed sizeof static \
            struct switch template this throw true try typedef typename union unsigned using virtual \
            void volatile while",
    },
    Language {
        extensions: &[
            "java", "kt", "kts", "scala", "groovy", "gradle", "cs", "swift", "dart", "php",
        ],
        line_comments: &["//"],
        blocks: &[("/*", "*/", Comment), ("\"\"\"", "\"\"\"", Text)],
        quotes: BOTH_QUOTES,
        keywords: "abstract actor as async await base bool boolean break byte case catch char class \
            const continue data def default defer do double else enum extends extension false final \
            finally float for foreach fun func function get guard if implements import in init inner \
            instanceof int interface internal is lazy let long namespace new nil null object open \
            operator out override package private protected protocol public record return sealed self \
            set short static string struct super switch this throw throws trait true try typealias use \
            using val var virtual void volatile when where while yield",
    },
    Language {
        extensions: &["rb", "rake", "ex", "exs", "cr"],
        line_comments: &["#"],
        blocks: &[("=begin", "=end", Comment)],
        quotes: BOTH_QUOTES,
        keywords: "alias and begin break case class def defmodule defp do else elsif end ensure false \
            for fn if import in module next nil not or raise redo require rescue retry return self \
            super then true undef unless until use when while yield",
    },
    Language {
        extensions: &["sh", "bash", "zsh", "fish", "mk", "dockerfile", "makefile", "justfile"],
        line_comments: &["#"],
        blocks: &[],
        quotes: BOTH_QUOTES,
        keywords: "case do done elif else esac exec exit export fi for function if in local readonly \
            return set shift source then trap unset until while ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE \
            FROM LABEL RUN USER VOLUME WORKDIR",
    },
    Language {
        extensions: &["toml", "yaml", "yml", "ini", "cfg", "conf", "properties", "env", "nix"],
        line_comments: &["#", ";"],
        blocks: &[("\"\"\"", "\"\"\"", Text)],
        quotes: BOTH_QUOTES,
        keywords: "true false null yes no on off let in with inherit rec",
    },
    Language {
        extensions: &["json", "jsonc", "json5"],
        line_comments: &["//"],
        blocks: SLASHES,
        quotes: &['"'],
        keywords: "true false null",
    },
    Language {
        extensions: &["sql"],
        line_comments: &["--"],
        blocks: SLASHES,
        quotes: BOTH_QUOTES,
        keywords: "add all alter and as asc between by case column constraint create cross default \
            delete desc distinct drop else end exists false foreign from full group having if in index \
            inner insert into is join key left like limit not null offset on or order outer primary \
            references returning right select set table then true union unique update using values \
            view when where with ADD ALL ALTER AND AS ASC BETWEEN BY CASE COLUMN CONSTRAINT CREATE \
            CROSS DEFAULT DELETE DESC DISTINCT DROP ELSE END EXISTS FALSE FOREIGN FROM FULL GROUP \
            HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL OFFSET ON OR \
            ORDER OUTER PRIMARY REFERENCES RETURNING RIGHT SELECT SET TABLE THEN TRUE UNION UNIQUE \
            UPDATE USING VALUES VIEW WHEN WHERE WITH",
    },
    Language {
        extensions: &["html", "htm", "xml", "svg", "xhtml", "xsl"],
        line_comments: &[],
        blocks: &[("<!--", "-->", Comment)],
        quotes: &['"'],
        keywords: "",
    },
    Language {
        extensions: &["css", "scss", "less"],
        line_comments: &[],
        blocks: SLASHES,
        quotes: BOTH_QUOTES,
        keywords: "and from not only or screen to",
    },
    Language {
        extensions: &["lua", "hs", "elm"],
        line_comments: &["--"],
        blocks: &[("--[[", "]]", Comment), ("{-", "-}", Comment), ("[[", "]]", Text)],
        quotes: BOTH_QUOTES,
        keywords: "and as break case class data deriving do else elseif end false for function goto if \
            import in instance let local module newtype nil not of or repeat return then true type \
            until where while",
    },
    Language {
        extensions: &["pl", "pm", "r", "jl", "tcl", "ps1", "tf", "hcl", "cmake"],
        line_comments: &["#"],
        blocks: &[("<#", "#>", Comment), ("\"\"\"", "\"\"\"", Text)],
        quotes: BOTH_QUOTES,
        keywords: "begin break catch const data else elseif elsif end false for foreach from function \
            global if import in last let local locals module my next our output package param provider \
            repeat resource return sub then true try unless until use using variable while TRUE FALSE \
            NULL NA",
    },
];

/// Colours lines one after another.
#[derive(Debug, Clone)]
pub struct Colours {
    language: Option<&'static Language>,
    /// What ends the comment or string in which the next line starts.
    open: Option<(&'static str, Colour)>,
}

impl Colours {
    /// Chooses the language by the name of a file.
    pub fn of(path: &Path) -> Colours {
        let name = |name: &std::ffi::OsStr| name.to_string_lossy().to_lowercase();
        let end = path.extension().or(path.file_name()).map(name).unwrap_or_default();
        let language = LANGUAGES.iter().find(|it| it.extensions.contains(&end.as_str()));
        Colours { language, open: None }
    }

    /// Returns the coloured pieces of the next line, in order.
    pub fn line(&mut self, line: &str) -> Vec<(Range<usize>, Colour)> {
        let mut pieces = Vec::new();
        let Some(language) = self.language else { return pieces };
        let mut at = 0;
        if let Some((end, colour)) = self.open {
            let found = end_of(line, 0, end, colour);
            at = found.unwrap_or(line.len());
            self.open = self.open.filter(|_| found.is_none());
            pieces.push((0..at, colour));
        }
        let mut is_word = false;
        while let Some(c) = line[at..].chars().next() {
            let rest = &line[at..];
            let was_word = std::mem::replace(&mut is_word, c.is_alphanumeric() || c == '_');
            let block = language.blocks.iter().find(|(start, ..)| rest.starts_with(start));
            if language.line_comments.iter().any(|it| rest.starts_with(it))
                && block.is_none_or(|(_, _, colour)| *colour != Comment)
                && is_comment(line, at, rest)
            {
                pieces.push((at..line.len(), Comment));
                return pieces;
            }
            if let Some((start, end, colour)) = block {
                let found = end_of(line, at + start.len(), end, *colour);
                let to = found.unwrap_or(line.len());
                self.open = found.is_none().then_some((*end, *colour));
                pieces.push((at..to, *colour));
                at = to;
            } else if language.quotes.contains(&c) {
                let quote = if c == '"' { "\"" } else { "'" };
                let to = end_of(line, at + 1, quote, Text).unwrap_or(line.len());
                pieces.push((at..to, Text));
                at = to;
            } else if is_word && !was_word {
                let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
                let n_bytes = rest.find(is_end).unwrap_or(rest.len());
                let word = &rest[..n_bytes];
                let colour = match c.is_ascii_digit() {
                    true => Some(Colour::Number),
                    false if language.keywords.split_ascii_whitespace().any(|it| it == word) => {
                        Some(Colour::Keyword)
                    }
                    false => None,
                };
                pieces.extend(colour.map(|colour| (at..at + n_bytes, colour)));
                at += n_bytes;
            } else {
                at += c.len_utf8();
            }
        }
        pieces
    }
}

/// Whether a marker starts a comment: `#` and `;` only after a space or at the start.
fn is_comment(line: &str, at: usize, rest: &str) -> bool {
    let is_short = rest.starts_with(['#', ';']);
    !is_short || at == 0 || line[..at].ends_with([' ', '\t'])
}

/// Returns where a comment or string ends. In strings, a backslash escapes the next character.
fn end_of(line: &str, from: usize, end: &str, colour: Colour) -> Option<usize> {
    let mut at = from;
    while let Some(c) = line.get(at..)?.chars().next() {
        if line[at..].starts_with(end) {
            return Some(at + end.len());
        }
        at += c.len_utf8();
        if c == '\\' && colour == Text {
            at += line[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, lines: &[&str], expected: &[&[(&str, Colour)]]) {
        let mut colours = Colours::of(Path::new(name));
        for (line, expected) in lines.iter().zip(expected) {
            let found: Vec<_> =
                colours.line(line).into_iter().map(|(range, it)| (&line[range], it)).collect();
            assert_eq!(found, *expected, "{line}");
        }
    }

    #[test]
    fn colours_comments_strings_numbers_and_keywords() {
        use Colour::{Keyword, Number};
        check(
            "a.rs",
            &["let x = \"a\\\"b\"; // 1", "/* a", "b */ fn f1(2)", "\"two", "lines\" if"],
            &[
                &[("let", Keyword), ("\"a\\\"b\"", Text), ("// 1", Comment)],
                &[("/* a", Comment)],
                &[("b */", Comment), ("fn", Keyword), ("2", Number)],
                &[("\"two", Text)],
                &[("lines\"", Text), ("if", Keyword)],
            ],
        );
        check("a.py", &["x = 'a' # b", "a#b"], &[&[("'a'", Text), ("# b", Comment)], &[]]);
        check("a.unknown", &["let x = 1"], &[&[]]);
        check("Dockerfile", &["FROM é"], &[&[("FROM", Keyword)]]);
    }
}
