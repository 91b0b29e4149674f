//! Parses `CREATE TABLE` as SQLite stores it: what is needed to name the values of a row.

use std::collections::{HashMap, HashSet};

use crate::table::Value;

mod default;

use default::{Affinity, Literal};

/// The most bytes of a definition.
pub const MAX_SQL: usize = 256 << 10;

/// The most columns, as SQLite can be built to have.
const MAX_COLUMNS: usize = 32_767;

/// The definition of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Definition {
    /// Its columns.
    pub columns: Vec<Defined>,
    /// Whether the table is not stored by an integer key, but by its primary key.
    pub is_without_rowid: bool,
    /// The columns of the primary key, once it is known.
    primary_key: Option<Vec<usize>>,
}

/// The definition of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// Its type as written; may be empty.
    pub type_name: String,
    /// The value in rows that are older than the column; `None` if it would have to be computed.
    pub default: Option<Value>,
    /// Whether it is the integer key, which is not among the values of a row.
    pub is_rowid: bool,
    /// Whether it is computed when it is read, and not stored.
    pub is_computed: bool,
    /// Whether integers are stored for reals.
    pub is_real: bool,
    literal: Literal,
    is_key: bool,
    /// Whether its own definition makes it a descending key, which is never the integer key.
    is_descending: bool,
}

impl Defined {
    /// Returns whether most values are numbers.
    pub fn is_numeric(&self) -> bool {
        let name = self.type_name.to_ascii_uppercase();
        let words = ["INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"];
        self.is_real || words.iter().any(|part| name.contains(part))
    }
}

impl Definition {
    /// Parses a statement. Returns `None` if it does not define a table.
    pub fn parse(sql: &str) -> Option<Definition> {
        if sql.len() > MAX_SQL {
            return None;
        }
        let tokens = tokens(sql);
        let open = tokens.iter().position(|token| token.is("("))?;
        if !tokens.first()?.is("CREATE") || !tokens.get(1)?.is("TABLE") {
            return None;
        }
        let mut definition = Definition::default();
        let (mut depth, mut start, mut end) = (0usize, open + 1, None);
        for (index, token) in tokens.iter().enumerate().skip(open) {
            match token.symbol() {
                Some("(") => depth += 1,
                Some(")") => depth -= 1,
                _ => {}
            }
            let is_end = depth == 0;
            if is_end || (depth == 1 && token.is(",")) {
                definition.add(sql, &tokens[start..index]);
                start = index + 1;
            }
            if is_end {
                end = Some(index);
                break;
            }
            if definition.columns.len() > MAX_COLUMNS {
                return None;
            }
        }
        let options = &tokens[end? + 1..];
        definition.is_without_rowid =
            options.windows(2).any(|pair| pair[0].is("WITHOUT") && pair[1].is("ROWID"));
        let is_strict = options.iter().any(|token| token.is("STRICT"));
        for column in &mut definition.columns {
            let affinity = Affinity::of(&column.type_name, is_strict);
            column.default = column.literal.value(affinity);
            column.is_real = affinity == Affinity::Real;
        }
        definition.find_rowid();
        (!definition.columns.is_empty()).then_some(definition)
    }

    /// Adds a column, or the primary key.
    fn add(&mut self, sql: &str, tokens: &[Token<'_>]) {
        let Some(first) = tokens.first() else { return };
        let is_constraint =
            ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"].iter().any(|it| first.is(it));
        if is_constraint {
            self.add_constraint(tokens);
        } else {
            self.columns.push(Defined::parse(sql, first, &tokens[1..]));
            if self.columns.last().is_some_and(|column| column.is_key) {
                self.primary_key = Some(vec![self.columns.len() - 1]);
            }
        }
    }

    fn add_constraint(&mut self, tokens: &[Token<'_>]) {
        let tops = top_level(tokens);
        let is_key = |pair: &[(usize, &Token<'_>)]| pair[0].1.is("PRIMARY") && pair[1].1.is("KEY");
        let Some(at) = tops.windows(2).position(is_key) else { return };
        if self.primary_key.is_some() {
            return;
        }
        let (mut depth, mut is_name) = (0, true);
        let names = self.columns.iter().map(|column| column.name.to_ascii_lowercase());
        // A column that is named again is not stored again.
        let mut index_of: HashMap<String, usize> = names.zip(0..).collect();
        let mut primary_key = Vec::new();
        for token in &tokens[tops[at + 1].0 + 1..] {
            match token.symbol() {
                Some("(") => depth += 1,
                Some(")") if depth == 1 => break,
                Some(")") => depth -= 1,
                Some(",") if depth == 1 => is_name = true,
                _ if depth == 1 && is_name => {
                    is_name = false;
                    primary_key.extend(index_of.remove(&token.text().to_ascii_lowercase()));
                }
                _ => {}
            }
        }
        self.primary_key = Some(primary_key);
    }

    /// Marks the column that is the integer key.
    fn find_rowid(&mut self) {
        if let Some([index]) = self.primary_key.as_deref() {
            let column = &mut self.columns[*index];
            let is_integer = column.type_name.eq_ignore_ascii_case("INTEGER");
            column.is_rowid = is_integer && !column.is_descending;
        }
        for column in &mut self.columns {
            column.is_rowid &= !self.is_without_rowid;
        }
    }

    /// Returns the column of each value of a row.
    pub fn stored(&self) -> Vec<usize> {
        let is_stored = |index: &usize| !self.columns[*index].is_computed;
        let all = (0..self.columns.len()).filter(is_stored);
        if !self.is_without_rowid {
            return all.collect();
        }
        let key = self.primary_key.as_deref().unwrap_or_default();
        let in_key: HashSet<&usize> = key.iter().collect();
        key.iter().copied().chain(all.filter(|index| !in_key.contains(index))).collect()
    }
}

/// Words that end the type of a column.
const AFTER_TYPE: [&str; 10] = [
    "CONSTRAINT",
    "PRIMARY",
    "NOT",
    "NULL",
    "UNIQUE",
    "CHECK",
    "DEFAULT",
    "COLLATE",
    "REFERENCES",
    "AS",
];

impl Defined {
    fn parse(sql: &str, name: &Token<'_>, tokens: &[Token<'_>]) -> Defined {
        let tops = top_level(tokens);
        let ends_type = |index: usize| {
            let is_generated = || {
                tops[index].1.is("GENERATED")
                    && tops.get(index + 1).is_some_and(|it| it.1.is("ALWAYS"))
            };
            AFTER_TYPE.iter().any(|word| tops[index].1.is(word)) || is_generated()
        };
        let n_type = (0..tops.len()).find(|index| ends_type(*index)).unwrap_or(tops.len());
        let n_type_tokens = tops.get(n_type).map_or(tokens.len(), |(index, _)| *index);
        let type_name = match (tokens.first(), n_type_tokens.checked_sub(1)) {
            (Some(first), Some(last)) => {
                let text = &sql[first.start..tokens[last].end];
                unquoted(text).split_whitespace().collect::<Vec<_>>().join(" ")
            }
            _ => String::new(),
        };
        let rest = &tops[n_type..];
        let after = |words: &[&str]| {
            let found = rest.windows(words.len()).position(|window| {
                window.iter().zip(words).all(|((_, token), word)| token.is(word))
            });
            found.map(|at| at + words.len())
        };
        let key = after(&["PRIMARY", "KEY"]);
        let is_descending = key.is_some_and(|at| rest.get(at).is_some_and(|it| it.1.is("DESC")));
        let is_default = |index: &usize| {
            rest[*index].1.is("DEFAULT") && !(*index > 0 && rest[index - 1].1.is("SET"))
        };
        let default = (0..rest.len()).rfind(is_default).map(|index| rest[index].0 + 1);
        let ends = |token: &Token<'_>| {
            AFTER_TYPE.iter().any(|word| token.is(word)) || token.is("GENERATED")
        };
        let stored = rest.iter().any(|(_, token)| token.is("STORED"));
        Defined {
            name: name.text(),
            default: None,
            literal: default.map_or(Literal::Null, |start| Literal::parse(&tokens[start..], ends)),
            is_rowid: false,
            is_computed: after(&["AS"]).is_some() && !stored,
            is_key: key.is_some(),
            is_descending,
            is_real: false,
            type_name,
        }
    }
}

/// Returns a type without the quotes around it, as SQLite removes them.
fn unquoted(type_name: &str) -> &str {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | '[');
    let mut inner = type_name.chars();
    let is_quoted = inner.next().is_some_and(is_quote) && inner.next_back().is_some();
    match inner.as_str() {
        inner if is_quoted && !inner.contains(is_quote) => inner,
        _ => type_name,
    }
}

/// Returns the tokens outside of parentheses, with their positions.
fn top_level<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<(usize, &'a Token<'t>)> {
    let mut depth = 0usize;
    let mut tops = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.symbol() {
            Some("(") => depth += 1,
            Some(")") => depth = depth.saturating_sub(1),
            _ if depth == 0 => tops.push((index, token)),
            _ => {}
        }
    }
    tops
}

/// A word, a quoted text or a symbol.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    /// Without the quotes.
    source: &'a str,
    /// The closing quote.
    quote: Option<char>,
    start: usize,
    end: usize,
}

impl Token<'_> {
    /// Returns whether it is this symbol or word, in any case.
    fn is(&self, word: &str) -> bool {
        self.quote.is_none() && self.source.eq_ignore_ascii_case(word)
    }

    fn symbol(&self) -> Option<&str> {
        Some(self.source).filter(|source| self.quote.is_none() && source.len() == 1)
    }

    fn text(&self) -> String {
        match self.quote {
            Some(quote) => self.source.replace(&format!("{quote}{quote}"), &quote.to_string()),
            None => self.source.to_string(),
        }
    }
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let until = |found: Option<usize>| found.unwrap_or(rest.len());
        let closing = match first {
            '"' | '\'' | '`' => Some(first),
            '[' => Some(']'),
            _ => None,
        };
        let n_bytes = if rest.starts_with("--") {
            until(rest.find('\n'))
        } else if let Some(comment) = rest.strip_prefix("/*") {
            until(comment.find("*/").map(|n| n + 4))
        } else if first.is_ascii_whitespace() {
            1
        } else if let Some(quote) = closing {
            let end = end_of_quoted(rest, quote);
            let source = &rest[1..end];
            let end = (end + 1).min(rest.len());
            tokens.push(Token { source, quote: Some(quote), start: at, end: at + end });
            end
        } else {
            let is_fraction = first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
            let n_word = match is_word(first) {
                // With the fraction and the exponent of a number.
                _ if first.is_ascii_digit() || is_fraction => n_number(rest),
                true => until(rest.find(|c| !is_word(c))),
                false => first.len_utf8(),
            };
            let source = &rest[..n_word];
            tokens.push(Token { source, quote: None, start: at, end: at + n_word });
            n_word
        };
        at += n_bytes;
    }
    tokens
}

fn n_number(text: &str) -> usize {
    let mut last = ' ';
    let is_part = |c: char| {
        let is_sign = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        last = c;
        c.is_ascii_alphanumeric() || c == '.' || is_sign
    };
    text.find(is_not(is_part)).unwrap_or(text.len())
}

fn is_not(mut is_part: impl FnMut(char) -> bool) -> impl FnMut(char) -> bool {
    move |c| !is_part(c)
}

/// Returns where the closing quote is, or the end. A doubled quote is a part of the text, but not in
/// brackets.
fn end_of_quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(found) = text[at..].find(quote) {
        at += found;
        if quote == ']' || !text[at + 1..].starts_with(quote) {
            return at;
        }
        at += 2;
    }
    text.len()
}
