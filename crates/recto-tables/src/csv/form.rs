//! Recognises texts that are values rather than column names, by how they are written.

use std::iter;

/// A notation of values that are not words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `ada@example.org`
    Address,
    /// `https://example.org/a`
    Link,
    /// `6f9619ff-8b86-d011-b42d-00c04fc964ff`
    Uuid,
    /// `731`, `00731`
    Digits,
    /// `Dec 8, 2022`
    DateInWords,
}

/// Returns whether a text cannot be a column name. A number can.
pub fn is_value(text: &str) -> bool {
    let text = text.trim();
    match Form::of(text) {
        Some(Form::Address | Form::Link | Form::Uuid) => true,
        Some(Form::Digits) => has_leading_zeros(text),
        Some(Form::DateInWords) => false,
        None => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
    }
}

/// Returns whether a text is digits with leading zeros, as in codes.
pub fn has_leading_zeros(text: &str) -> bool {
    let text = text.trim();
    text.len() > 1 && text.starts_with('0') && Form::of(text) == Some(Form::Digits)
}

/// Returns whether both texts use the same notation, such as two links.
pub fn is_alike(one: &str, other: &str) -> bool {
    let form = Form::of(one.trim());
    form.is_some() && form == Form::of(other.trim())
}

/// Returns whether both are numbered alike: `ORD-7` and `ORD-12` differ only in digits, the
/// coordinates `+4230+00131` and `-3352+15113` in digits and signs.
pub fn counts_on(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    has_digits(one) && without_digits(one).eq(without_digits(other))
}

fn has_digits(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Replaces each run of digits with `0` and each sign with `-`.
fn without_digits(text: &str) -> impl Iterator<Item = u8> {
    let mut bytes = text.bytes().peekable();
    iter::from_fn(move || match bytes.next()? {
        b'+' => Some(b'-'),
        byte if !byte.is_ascii_digit() => Some(byte),
        _ => {
            while bytes.next_if(u8::is_ascii_digit).is_some() {}
            Some(b'0')
        }
    })
}

impl Form {
    fn of(text: &str) -> Option<Form> {
        if is_date_in_words(text) {
            return Some(Form::DateInWords);
        }
        if text.is_empty() || text.contains(char::is_whitespace) {
            return None;
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            Some(Form::Digits)
        } else if is_uuid(text) {
            Some(Form::Uuid)
        } else if is_link(text) {
            Some(Form::Link)
        } else if is_address(text) {
            Some(Form::Address)
        } else {
            None
        }
    }
}

/// Returns whether a text consists of the name of a month and two or more numbers, and perhaps the
/// name of a day or half of the day.
fn is_date_in_words(text: &str) -> bool {
    const MONTHS: &str = "jan feb mar apr may jun jul aug sep oct nov dec";
    const OTHERS: &str = "mon tue wed thu fri sat sun am pm utc gmt";
    if text.len() > 48 || !has_digits(text) {
        return false;
    }
    let (mut n_months, mut n_numbers) = (0, 0);
    let mut parts =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let is_known = parts.all(|part| {
        let number = part.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty();
        let name = part.get(..3).unwrap_or(part).to_ascii_lowercase();
        let is_month = name.len() == 3 && MONTHS.contains(&name);
        n_months += usize::from(is_month);
        n_numbers += usize::from(is_number);
        is_month || is_number || OTHERS.contains(&name)
    });
    is_known && n_months == 1 && n_numbers > 1
}

fn is_address(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        let is_named = host
            .split_once('.')
            .is_some_and(|(name, rest)| !name.is_empty() && rest.chars().any(char::is_alphabetic));
        !user.is_empty() && !host.contains('@') && is_named
    })
}

fn is_link(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    })
}

fn is_uuid(text: &str) -> bool {
    let is_dash = |idx| matches!(idx, 8 | 13 | 18 | 23);
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(idx, byte)| if is_dash(idx) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests;
