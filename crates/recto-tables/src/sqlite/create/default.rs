//! The default of a column, which rows have that are older than the column.

use super::Token;
use crate::table::Value;

/// A default as it is written. SQLite adds a column only if its default is a constant.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Literal {
    /// There is none, or it is NULL.
    #[default]
    Null,
    /// A string, or a name, which is read as one.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a fraction or an exponent, or an integer beyond 64 bits, as it is written.
    Number(String),
    /// The digits of a blob.
    Blob(String),
    /// An expression, which is not evaluated.
    Unknown,
}

/// How a column converts values that are stored in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affinity {
    /// Not at all.
    Blob,
    /// Numbers become texts.
    Text,
    /// Texts that are numbers become numbers, and integers if possible.
    Numeric,
    /// Texts that are numbers become reals, and so do integers.
    Real,
}

impl Affinity {
    /// Returns the affinity of a type, by SQLite's rules.
    pub fn of(type_name: &str, is_strict: bool) -> Affinity {
        let name = type_name.to_ascii_uppercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&["INT"]) {
            Affinity::Numeric
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Affinity::Text
        } else if has(&["BLOB"]) || name.is_empty() || is_strict && name == "ANY" {
            Affinity::Blob
        } else if has(&["REAL", "FLOA", "DOUB"]) {
            Affinity::Real
        } else {
            Affinity::Numeric
        }
    }
}

impl Literal {
    /// Parses the tokens after `DEFAULT`, of which `ends` finds the first that follows a default.
    pub fn parse(tokens: &[Token<'_>], ends: impl Fn(&Token<'_>) -> bool) -> Literal {
        if let Some(n_tokens) = n_in_parentheses(tokens) {
            return constant(&tokens[..n_tokens], true);
        }
        let n_tokens = tokens.iter().skip(1).position(ends).map_or(tokens.len(), |n| n + 1);
        constant(&tokens[..n_tokens], false)
    }

    /// Returns the value in a column, or `None` if it is unknown.
    pub fn value(&self, affinity: Affinity) -> Option<Value> {
        Some(match (self, affinity) {
            (Literal::Unknown, _) => return None,
            (Literal::Null, _) => Value::Null,
            (Literal::Blob(digits), _) => Value::Text(digits.clone()),
            (Literal::Integer(number), Affinity::Real) => Value::Number(*number as f64),
            (Literal::Integer(number), Affinity::Text) => Value::Text(number.to_string()),
            (Literal::Integer(number), _) => Value::Integer(*number),
            (Literal::Number(text) | Literal::Text(text), Affinity::Text) => {
                Value::Text(text.clone())
            }
            (Literal::Text(text), Affinity::Blob) => Value::Text(text.clone()),
            (Literal::Text(text) | Literal::Number(text), _) => number(text, affinity),
        })
    }
}

/// Converts a text that is a number.
fn number(text: &str, affinity: Affinity) -> Value {
    let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    // Rust also reads words like `inf` as numbers.
    let parsed = trimmed.parse::<f64>().ok().filter(|_| trimmed.bytes().all(is_part));
    let Some(parsed) = parsed else { return Value::Text(text.into()) };
    let integer = trimmed.parse::<i64>().ok();
    let is_exact = parsed.fract() == 0.0 && parsed.abs() < i64::MAX as f64;
    match (affinity, integer) {
        (Affinity::Numeric, Some(integer)) => Value::Integer(integer),
        (Affinity::Numeric, None) if is_exact => Value::Integer(parsed as i64),
        _ if parsed.is_finite() => Value::Number(parsed),
        _ => Value::Text(parsed.to_string()),
    }
}

/// Returns how many tokens an opening parenthesis and all up to its closing one are.
fn n_in_parentheses(tokens: &[Token<'_>]) -> Option<usize> {
    if !tokens.first()?.is("(") {
        return None;
    }
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.symbol() {
            Some("(") => depth += 1,
            Some(")") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// Returns the constant that all these tokens are, with signs and parentheses around it.
fn constant(mut tokens: &[Token<'_>], is_expression: bool) -> Literal {
    let mut is_negative = false;
    loop {
        match tokens {
            [sign, rest @ ..] if sign.is("-") => {
                is_negative = !is_negative;
                tokens = rest;
            }
            [sign, rest @ ..] if sign.is("+") => tokens = rest,
            [open, inner @ .., close] if open.is("(") && close.is(")") => tokens = inner,
            _ => break,
        }
    }
    match tokens {
        [x, blob] if x.is("X") && blob.quote == Some('\'') && !is_negative => {
            Literal::Blob(blob.text().to_lowercase())
        }
        [token] if token.quote.is_some() && !is_negative => Literal::Text(token.text()),
        [token] if token.quote.is_none() => word(token.source, is_negative, is_expression),
        _ => Literal::Unknown,
    }
}

fn word(source: &str, is_negative: bool, is_expression: bool) -> Literal {
    let lower = source.to_ascii_lowercase();
    if source.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        let sign = if is_negative { "-" } else { "" };
        let integer = match lower.strip_prefix("0x") {
            // The bits of the integer.
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(|bits| {
                let number = bits as i64;
                if is_negative { number.wrapping_neg() } else { number }
            }),
            None => format!("{sign}{source}").parse().ok(),
        };
        let is_number = source.parse::<f64>().is_ok();
        return match integer {
            Some(integer) => Literal::Integer(integer),
            None if is_number => Literal::Number(format!("{sign}{source}")),
            None => Literal::Unknown,
        };
    }
    match lower.as_str() {
        _ if is_negative => Literal::Unknown,
        "null" => Literal::Null,
        "true" => Literal::Integer(1),
        "false" => Literal::Integer(0),
        "current_time" | "current_date" | "current_timestamp" => Literal::Unknown,
        _ if is_expression => Literal::Unknown,
        _ => Literal::Text(source.into()),
    }
}
