//! Finds out what the characters of a delimited text mean.
//!
//! Every delimiter is tried on a sample. The one wins whose records have the same number of
//! fields and whose fields look most like values.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;

use super::splitter::{Dialect, Escape, Line};
use super::types::{is_placeholder, is_typed};

/// The delimiters that are tried; the first wins a tie. Spaces are tried last, see [`spaced`].
const DELIMITERS: [u8; 4] = *b",;\t|";

/// How many records are looked at.
const MAX_RECORDS: usize = 1_000;

/// How many records have their fields looked at one by one.
const MAX_SCORED_RECORDS: usize = 100;

/// A table has at least this share of records with the right number of fields.
const MIN_CONSISTENCY: f64 = 0.5;

/// What the types of columns are called in files that tell them.
const TYPE_NAMES: [&str; 18] = [
    "bool",
    "boolean",
    "categorical",
    "category",
    "char",
    "date",
    "datetime",
    "double",
    "float",
    "int",
    "integer",
    "number",
    "numeric",
    "real",
    "str",
    "string",
    "text",
    "timestamp",
];

/// How much the name's ending counts.
const EXPECTED_BONUS: f64 = 1.1;

/// One record of a sample.
pub type Fields<'t> = Vec<Cow<'t, str>>;

/// The beginning of a text, split by some dialect.
#[derive(Debug)]
pub struct Sample<'t> {
    /// What it was split by.
    pub dialect: Dialect,
    /// The records; blank lines and comments are left out.
    pub records: Vec<Fields<'t>>,
    /// How many fields most records have.
    pub n_columns: usize,
    /// The comment before the first record, where it has as many fields as the records.
    pub comment_header: Option<Fields<'t>>,
    /// What share of the records has that many fields.
    pub consistency: f64,
}

/// The dialect that fits a text best, with the records it gives. `is_whole` says that the text
/// does not go on; `expected` is the delimiter that the file's name promises.
pub fn detect<'t>(text: &'t str, is_whole: bool, expected: Option<u8>) -> Sample<'t> {
    if let Some(delimiter) = declared(text) {
        return Sample::read(text, is_whole, Some(delimiter));
    }
    let mut tried: Vec<(f64, Sample<'t>)> = Vec::new();
    for delimiter in DELIMITERS {
        if !text.as_bytes().contains(&delimiter) {
            continue;
        }
        let sample = Sample::read(text, is_whole, Some(delimiter));
        // Commas are in much that is no list of values, but tabs and bars are not.
        if expected == Some(delimiter) && delimiter != b',' && sample.is_even() {
            return sample;
        }
        let bonus = if expected == Some(delimiter) { EXPECTED_BONUS } else { 1.0 };
        let score = bonus * sample.score(delimiter);
        if score > 0.0 {
            tried.push((score, sample));
        }
    }
    // What the first record does not have is part of the values, where another delimiter fits all.
    // But commas may be decimal ones, which is why there are semicolons.
    let is_even = |(_, sample): &&(f64, Sample<'t>)| sample.is_even() && sample.records.len() > 2;
    if let Some((_, even)) = tried.iter().find(is_even) {
        let has_commas = even.dialect.delimiter == Some(b',');
        tried.retain(|(_, sample)| {
            let has_delimiter = sample.records.first().is_some_and(|first| first.len() > 1);
            has_delimiter || has_commas && sample.dialect.delimiter == Some(b';')
        });
    }
    let better = |one: (f64, Sample<'t>), other: (f64, Sample<'t>)| {
        if other.0 > one.0 { other } else { one }
    };
    match tried.into_iter().reduce(better) {
        Some((_, sample)) => sample,
        None => spaced(text, is_whole).unwrap_or_else(|| Sample::read(text, is_whole, None)),
    }
}

/// A table with spaces between its fields: numbers, and in less than half of its columns words.
/// Anything else that has spaces is text.
fn spaced(text: &str, is_whole: bool) -> Option<Sample<'_>> {
    let sample = Sample::read(text, is_whole, Some(b' '));
    let n_columns = sample.n_columns;
    let (first, below) = sample.records.split_first()?;
    // R gives no name to the row names.
    let is_even = (first.len() == n_columns || first.len() + 1 == n_columns)
        && below.iter().all(|record| record.len() == n_columns);
    if n_columns < 2 || below.is_empty() || !is_even {
        return None;
    }
    let is_value = |field: &str| is_typed(field, b' ') || is_placeholder(field);
    let is_typed_column = |column_idx: &usize| {
        below.iter().all(|record| record.get(*column_idx).is_some_and(|field| is_value(field)))
    };
    let n_typed = (0..n_columns).filter(is_typed_column).count();
    let is_table = n_typed == n_columns || (n_typed * 2 > n_columns && below.len() > 1);
    // As one field, `2024-01-01 12:00:00` is a value already.
    let whole = Sample::read(text, is_whole, None);
    let is_list = whole.records.iter().skip(1).flatten().all(|field| is_typed(field, b' '));
    (is_table && !is_list).then_some(sample)
}

/// `sep=;` in the first line, as spreadsheets write and read it.
pub fn declared(text: &str) -> Option<u8> {
    let line = text.lines().next()?;
    let delimiter = line.strip_prefix("sep=").or_else(|| line.strip_prefix("SEP="))?;
    match delimiter.as_bytes() {
        [delimiter] if delimiter.is_ascii() => Some(*delimiter),
        _ => None,
    }
}

impl<'t> Sample<'t> {
    fn read(text: &'t str, is_whole: bool, delimiter: Option<u8>) -> Sample<'t> {
        let quote = quote(text, delimiter);
        let plain =
            Dialect { delimiter, quote: Some(quote), escape: Escape::Doubled, comment: None };
        let dialect = with_escape(plain, text, is_whole);
        let lines = Lines::read(text, is_whole, dialect);
        lines.into_sample(dialect)
    }

    /// Whether every record has the same number of fields, two at least.
    fn is_even(&self) -> bool {
        self.n_columns > 1 && self.records.iter().all(|record| record.len() == self.n_columns)
    }

    /// How much it looks like a table; 0 where it does not.
    fn score(&self, delimiter: u8) -> f64 {
        if self.n_columns < 2 || self.consistency < MIN_CONSISTENCY {
            return 0.0;
        }
        let mut sum = 0.0;
        let mut n_fields: u32 = 0;
        for field in self.records.iter().take(MAX_SCORED_RECORDS).flatten().take(10_000) {
            sum += field_score(field, delimiter);
            n_fields += 1;
        }
        let field_score = sum / f64::from(n_fields.max(1));
        let n_columns = f64::from(u32::try_from(self.n_columns).unwrap_or(u32::MAX));
        self.consistency * field_score * (1.0 - 0.5 / n_columns) * self.wholeness()
    }

    /// 1 where no brackets are torn apart, and down to a half where they are in every record: those
    /// delimiters stand inside of values, such as `[1, 2]` between tabs.
    fn wholeness(&self) -> f64 {
        let share = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        let records = &self.records[..self.records.len().min(MAX_SCORED_RECORDS)];
        let n_torn = records.iter().filter(|record| tears_brackets(record)).count();
        1.0 - 0.5 * share(n_torn) / share(records.len().max(1))
    }
}

/// How much a field looks like one value and not like several or a part of one.
fn field_score(field: &str, delimiter: u8) -> f64 {
    if field.is_empty() {
        return 0.7;
    }
    if is_typed(field, delimiter) {
        return 1.0;
    }
    let others = |byte: &u8| *byte != delimiter && DELIMITERS.contains(byte);
    match field.bytes().find(others) {
        None => 0.9,
        // Prose has commas.
        Some(b',') => 0.8,
        Some(_) => 0.3,
    }
}

/// Whether one field has a bracket and a later one its partner.
fn tears_brackets(record: &Fields<'_>) -> bool {
    [('(', ')'), ('[', ']'), ('{', '}')].into_iter().any(|(opening, closing)| {
        let mut is_open = false;
        record.iter().take(1_000).any(|field| {
            let n_opening = field.matches(opening).count();
            let n_closing = field.matches(closing).count();
            let is_torn = is_open && n_closing > n_opening;
            is_open |= n_opening > n_closing;
            is_torn
        })
    })
}

/// The quote that encloses fields: the single one only where there is no other and it always
/// stands at both ends.
fn quote(text: &str, delimiter: Option<u8>) -> u8 {
    let is_edge = |byte: Option<&u8>| match byte {
        None | Some(b'\n' | b'\r') => true,
        Some(byte) => Some(*byte) == delimiter,
    };
    if !text.contains('\'') || text.contains('"') {
        return b'"';
    }
    let bytes = text.as_bytes();
    let (mut n_opening, mut n_closing) = (0_usize, 0_usize);
    for at in memchr::memchr_iter(b'\'', bytes) {
        n_opening += usize::from(is_edge(at.checked_sub(1).and_then(|before| bytes.get(before))));
        n_closing += usize::from(is_edge(bytes.get(at + 1)));
    }
    if n_opening > 0 && n_opening == n_closing { b'\'' } else { b'"' }
}

/// Backslashes escape where a backslash stands before a quote that does not end its field, and
/// where no quote is doubled.
fn with_escape(dialect: Dialect, text: &str, is_whole: bool) -> Dialect {
    let Some(quote) = dialect.quote else { return dialect };
    if memmem::find(text.as_bytes(), &[b'\\', quote]).is_none() {
        return dialect;
    }
    let backslash = Dialect { escape: Escape::Backslash, ..dialect };
    let consistency =
        |dialect| Lines::read(text, is_whole, dialect).into_sample(dialect).consistency;
    let (doubled_fits, backslash_fits) = (consistency(dialect), consistency(backslash));
    if doubled_fits != backslash_fits {
        return if doubled_fits > backslash_fits { dialect } else { backslash };
    }
    let bytes = text.as_bytes();
    let is_inside = memmem::find_iter(bytes, &[b'\\', quote]).any(|at| {
        !matches!(bytes.get(at + 2), None | Some(b'\n' | b'\r'))
            && bytes.get(at + 2).copied() != dialect.delimiter
    });
    let is_doubled = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before).copied());
        before.is_some()
            && before != dialect.delimiter
            && before != Some(b'\n')
            && before != Some(b'\\')
    };
    let has_doubled = memmem::find_iter(bytes, &[quote, quote]).any(is_doubled);
    if is_inside && !has_doubled { backslash } else { dialect }
}

/// The lines of a sample, before it is known which of them are comments.
struct Lines<'t> {
    records: Vec<Fields<'t>>,
    /// What comments start with, if there are any.
    comment: u8,
    /// Whether a record starts like a comment, and what follows at once.
    marks: Vec<Option<Mark>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// `# like this`
    Spaced,
    /// `#like this`, or `##like this`
    Tight,
}

impl<'t> Lines<'t> {
    fn read(text: &'t str, is_whole: bool, dialect: Dialect) -> Lines<'t> {
        let comment = comment(text);
        let mut lines = Lines { records: Vec::new(), comment, marks: Vec::new() };
        let mut rest = text;
        while lines.records.len() < MAX_RECORDS {
            let mut fields = Vec::new();
            match dialect.split(rest, is_whole, &mut fields) {
                Line::Record(next) => {
                    lines.marks.push(mark(rest, comment));
                    lines.records.push(fields);
                    rest = &rest[next..];
                }
                Line::Blank(next) | Line::Comment(next) => rest = &rest[next..],
                Line::Incomplete | Line::End => break,
            }
        }
        lines
    }

    fn into_sample(self, dialect: Dialect) -> Sample<'t> {
        let counts: Vec<Count> = self
            .records
            .iter()
            .zip(&self.marks)
            .filter(|(_, mark)| mark.is_none())
            .map(|(record, _)| n_fields(record))
            .collect();
        let (n_columns, consistency) = n_columns(&counts);
        let has_comments = self.has_comments(n_columns);
        let sample =
            Sample { dialect, records: Vec::new(), n_columns, comment_header: None, consistency };
        if !has_comments {
            let counts: Vec<Count> = self.records.iter().map(n_fields).collect();
            let (n_columns, consistency) = self::n_columns(&counts);
            return Sample { records: self.records, n_columns, consistency, ..sample };
        }
        let n_leading = self.marks.iter().take_while(|mark| mark.is_some()).count();
        let mut comment_header = None;
        let mut records = Vec::new();
        for (record_idx, (record, mark)) in self.records.into_iter().zip(self.marks).enumerate() {
            if mark.is_none() {
                records.push(record);
            } else if record_idx + 1 == n_leading
                && record.len() == n_columns
                && n_columns > 1
                && self.comment == b'#'
            {
                comment_header = Some(record);
            }
        }
        let dialect = Dialect { comment: Some(self.comment), ..dialect };
        Sample { dialect, records, comment_header, ..sample }
    }

    /// Whether lines with `#` are comments. One among the records that has the right number of
    /// fields is a colour, a number or a tag. It is a record that was commented out where such
    /// lines are few, look like the others, and there are lines of prose that start so.
    fn has_comments(&self, n_columns: usize) -> bool {
        let n_leading = self.marks.iter().take_while(|mark| mark.is_some()).count();
        if n_leading == self.marks.len() || self.marks.iter().all(Option::is_none) {
            return false;
        }
        let later = || self.records.iter().zip(&self.marks).skip(n_leading);
        let alike: Vec<_> =
            later().filter(|(record, mark)| mark.is_some() && record.len() == n_columns).collect();
        if !alike.iter().any(|(_, mark)| **mark == Some(Mark::Tight)) {
            return true;
        }
        let n_records = later().filter(|(_, mark)| mark.is_none()).count();
        let has_prose = later().any(|(record, mark)| mark.is_some() && record.len() == 1);
        let is_code = |(record, mark): &(&Fields<'_>, &Option<Mark>)| {
            **mark == Some(Mark::Tight) && is_commented_out(&record[0])
        };
        let are_codes = has_prose && alike.len() <= n_records / 2 && alike.iter().all(is_code);
        let is_below_header = self.marks.get(n_leading + 1).is_some_and(Option::is_some);
        are_codes || alike.len() == 1 && is_below_header && names_types(alike[0].0)
    }
}

/// Whether a record says what the columns are, as in `#types,number,text`.
fn names_types(record: &Fields<'_>) -> bool {
    let is_type = |field: &Cow<'_, str>| {
        let field = field.trim().to_ascii_lowercase();
        let name = field.trim_end_matches(|c: char| c.is_ascii_digit());
        TYPE_NAMES.contains(&name)
    };
    record.len() > 1 && record[1..].iter().all(is_type)
}

/// What comments start with. Files with sequences name those first, in lines like `@SQ`.
fn comment(text: &str) -> u8 {
    match text.as_bytes() {
        // `@HD`, `VN:1.6`
        [b'@', kind @ ..] if is_two_letters(kind, b'\t') && is_two_letters(&kind[3..], b':') => {
            b'@'
        }
        _ => b'#',
    }
}

fn mark(line: &str, comment: u8) -> Option<Mark> {
    let rest = line.strip_prefix(char::from(comment))?;
    Some(if rest.starts_with([' ', '\t']) { Mark::Spaced } else { Mark::Tight })
}

fn is_two_letters(text: &[u8], end: u8) -> bool {
    matches!(text, [first, second, third, ..]
        if first.is_ascii_uppercase() && second.is_ascii_uppercase() && *third == end)
}

/// Whether a field may have stood there without its `#`: `#c0ffee`, `#12`, `## Part` and `#12 is
/// broken` have not.
fn is_commented_out(field: &str) -> bool {
    let name = field.strip_prefix('#').unwrap_or(field).trim_end();
    let is_tag = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_tag && !name.starts_with('#') && !name.contains(' ')
}

/// How many fields a record has.
#[derive(Clone, Copy)]
struct Count {
    all: usize,
    /// Without the empty ones at its end.
    filled: usize,
}

fn n_fields(record: &Fields<'_>) -> Count {
    let last_filled = record.iter().rposition(|field| !field.trim().is_empty());
    Count { all: record.len(), filled: last_filled.map_or(0, |last_idx| last_idx + 1) }
}

/// How many columns a table has whose records have so many fields each, and what share of the
/// records fits.
///
/// Records without any delimiter at the start are a preamble and count half. A short record counts
/// more than half, unless it has no delimiter at all: that is no sign of a table.
fn n_columns(counts: &[Count]) -> (usize, f64) {
    let n_preamble = counts.iter().take_while(|count| count.all == 1).count();
    let body = &counts[n_preamble..];
    let Some(first) = body.first() else { return (counts.len().min(1), 1.0) };
    let mut n_by_count: HashMap<usize, usize> = HashMap::new();
    for count in body {
        *n_by_count.entry(count.all).or_default() += 1;
    }
    let most = n_by_count.iter().max_by_key(|(count, n_records)| (**n_records, **count));
    let most = most.map_or(first.all, |(count, _)| *count);
    let fit = |n_columns: usize| {
        let mut sum = 0.0;
        for count in body {
            sum += match *count {
                Count { all, .. } if all == n_columns => 1.0,
                // Nothing but delimiters is too much.
                Count { all, filled } if all > n_columns && filled <= n_columns => 0.9,
                Count { all, .. } if all > 1 && all < n_columns => 0.6,
                _ => 0.0,
            };
        }
        sum
    };
    // A header counts more than the records below it, all of which may be cut short.
    let is_header_long = first.filled > most;
    let n_columns = if is_header_long || fit(first.all) > fit(most) { first.all } else { most };
    if n_columns == 1 {
        return (1, 1.0);
    }
    if body.len() < n_preamble && n_columns < 3 || body.len() == 1 && n_preamble > 0 {
        return (n_columns, 0.0);
    }
    let share = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let n_counted = share(body.len()) + 0.5 * share(n_preamble);
    (n_columns, fit(n_columns) / n_counted)
}

#[cfg(test)]
mod tests;
