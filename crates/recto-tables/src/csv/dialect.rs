//! Detects the dialect of a delimited text.
//!
//! Every delimiter is tried on a sample. The winner gives records with the same number of fields,
//! and fields that look most like values.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;

mod quotes;

use super::splitter::{Dialect, Escape, ParsedLine};
use super::types::{is_placeholder, is_typed};
use quotes::quote;

/// The delimiters to try; the first wins a tie. Spaces are tried last, see [`spaced`].
const DELIMITERS: [u8; 4] = *b",;\t|";

/// The number of records to sample.
const MAX_RECORDS: usize = 1_000;

/// The number of records whose fields are scored.
const MAX_SCORED_RECORDS: usize = 100;

/// The least share of records in a table that have the right number of fields.
const MIN_CONSISTENCY: f64 = 0.5;

/// Names of types in files that declare the types of their columns.
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

/// The weight of the file's extension.
const EXPECTED_BONUS: f64 = 1.1;

/// One record of a sample.
pub type Fields<'t> = Vec<Cow<'t, str>>;

/// The start of a text, split by a dialect.
#[derive(Debug)]
pub struct Sample<'t> {
    /// The dialect that it was split by.
    pub dialect: Dialect,
    /// The records, without blank lines and comments.
    pub records: Vec<Fields<'t>>,
    /// The number of fields of most records.
    pub n_columns: usize,
    /// The comment before the first record, if it has as many fields as the records.
    pub comment_header: Option<Fields<'t>>,
    /// The share of the records with that many fields.
    pub consistency: f64,
    /// Whether a line starts with the character that starts comments.
    pub has_marks: bool,
    /// The index of the first record that a blank line separates from another one above it.
    pub gap_idx: Option<usize>,
}

/// Returns the sample with the dialect that fits a text best. `is_whole` means that the text is
/// complete; `expected` is the delimiter that the file's extension suggests.
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
        // Commas also occur in text that is not a table, unlike tabs and pipes.
        if expected == Some(delimiter) && delimiter != b',' && sample.is_even() {
            return sample;
        }
        let bonus = if expected == Some(delimiter) { EXPECTED_BONUS } else { 1.0 };
        let score = bonus * sample.score(delimiter);
        if score > 0.0 {
            tried.push((score, sample));
        }
    }
    // A delimiter missing in the first record is part of the values if another one fits all
    // records. But below a title with a comma, commas may be decimal commas.
    let is_even = |(_, sample): &&(f64, Sample<'t>)| sample.is_even() && sample.records.len() > 2;
    if let Some((_, even)) = tried.iter().find(is_even) {
        let has_title = even.dialect.delimiter == Some(b',') && has_prose_above(&even.records);
        tried.retain(|(_, sample)| {
            let has_delimiter = sample.records.first().is_some_and(|first| first.len() > 1);
            has_delimiter || has_title && sample.dialect.delimiter == Some(b';')
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

/// Returns whether a space follows a delimiter in the first record and not in all others, as in a
/// title.
fn has_prose_above(records: &[Fields<'_>]) -> bool {
    let is_prose = |record: &Fields<'_>| record.iter().skip(1).any(|field| field.starts_with(' '));
    records.first().is_some_and(is_prose) && !records.iter().all(is_prose)
}

/// Samples a table with spaces between its fields: numbers, and words in less than half of its
/// columns. Other text with spaces is not a table.
fn spaced(text: &str, is_whole: bool) -> Option<Sample<'_>> {
    let sample = Sample::read(text, is_whole, Some(b' '));
    let n_columns = sample.n_columns;
    let (first, below) = sample.records.split_first()?;
    // R writes no name for the column of row names.
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
    // Read as one field, `2024-01-01 12:00:00` is already a value.
    let whole = Sample::read(text, is_whole, None);
    let is_list = whole.records.iter().skip(1).flatten().all(|field| is_typed(field, b' '));
    (is_table && !is_list).then_some(sample)
}

/// Parses `sep=;` in the first line, which spreadsheets write and read.
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
        let sample = Lines::read(text, is_whole, dialect).into_sample(dialect);
        if !sample.may_have_literal_quotes(is_whole) {
            return sample;
        }
        let literal = Dialect { quote: None, ..dialect };
        let literal_sample = Lines::read(text, is_whole, literal).into_sample(literal);
        if literal_sample.is_even() { literal_sample } else { sample }
    }

    /// Returns whether quotes may be part of the values: between tabs they join lines that have
    /// tabs, or fields of uneven records, or one opens a field that does not end in the sample.
    fn may_have_literal_quotes(&self, is_whole: bool) -> bool {
        let is_even = self.is_even();
        let is_joined =
            |field: &Cow<'_, str>| field.contains('\t') && (field.contains('\n') || !is_even);
        let is_tabbed = self.dialect.delimiter == Some(b'\t');
        !is_whole && self.records.len() < 2
            || is_tabbed && self.records.iter().flatten().any(is_joined)
    }

    /// Returns whether every record has the same number of fields, at least two.
    fn is_even(&self) -> bool {
        self.n_columns > 1 && self.records.iter().all(|record| record.len() == self.n_columns)
    }

    /// Returns how much the sample looks like a table; 0 if it does not.
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

    /// Returns 1 if no brackets are split, down to 0.5 if they are in every record: such delimiters
    /// are inside values, such as `[1, 2]` between tabs.
    fn wholeness(&self) -> f64 {
        let share = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        let records = &self.records[..self.records.len().min(MAX_SCORED_RECORDS)];
        let n_torn = records.iter().filter(|record| tears_brackets(record)).count();
        1.0 - 0.5 * share(n_torn) / share(records.len().max(1))
    }
}

/// Returns how much a field looks like one value, not like several or part of one.
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
        // Prose contains commas.
        Some(b',') => 0.8,
        Some(_) => 0.3,
    }
}

/// Returns whether a bracket and its partner are in different fields.
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

/// Detects backslash escapes: a backslash precedes a quote that does not end its field, and no
/// quote is doubled.
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

/// The lines of a sample, before comments are detected.
struct Lines<'t> {
    records: Vec<Fields<'t>>,
    /// The character that starts comments, if there are any.
    comment: u8,
    /// For each record, whether it starts like a comment, and what follows the character.
    marks: Vec<Option<Mark>>,
    /// The index of the first record below a blank line.
    gap_idx: Option<usize>,
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
        let mut lines = Lines { records: Vec::new(), comment, marks: Vec::new(), gap_idx: None };
        let mut rest = text;
        while lines.records.len() < MAX_RECORDS {
            let mut fields = Vec::new();
            match dialect.split(rest, is_whole, &mut fields) {
                ParsedLine::Record(next) => {
                    lines.marks.push(mark(rest, comment));
                    lines.records.push(fields);
                    rest = &rest[next..];
                }
                ParsedLine::Blank(next) | ParsedLine::Comment(next) => {
                    if !lines.records.is_empty() {
                        lines.gap_idx.get_or_insert(lines.records.len());
                    }
                    rest = &rest[next..];
                }
                ParsedLine::Incomplete | ParsedLine::End => break,
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
        let sample = Sample {
            dialect,
            records: Vec::new(),
            n_columns,
            comment_header: None,
            consistency,
            has_marks: self.marks.iter().any(Option::is_some),
            gap_idx: self.gap_idx.filter(|_| !has_comments),
        };
        if !has_comments {
            let counts: Vec<Count> = self.records.iter().map(n_fields).collect();
            let (n_columns, consistency) = self::n_columns(&counts);
            return Sample { records: self.records, n_columns, consistency, ..sample };
        }
        let n_leading = self.marks.iter().take_while(|mark| mark.is_some()).count();
        // Below the names there may be a line of dashes.
        let has_letters =
            |record: &Fields<'_>| record.iter().any(|field| field.contains(char::is_alphanumeric));
        let last_comment = self.records[..n_leading].iter().rposition(has_letters);
        let mut comment_header = None;
        let mut records = Vec::new();
        for (record_idx, (record, mark)) in self.records.into_iter().zip(self.marks).enumerate() {
            if mark.is_none() {
                records.push(record);
            } else if Some(record_idx) == last_comment
                && record.len() == n_columns
                && (n_columns > 1 || mark == Some(Mark::Tight) && !record[0].contains(' '))
                && self.comment == b'#'
            {
                comment_header = Some(record);
            }
        }
        let dialect = Dialect { comment: Some(self.comment), ..dialect };
        Sample { dialect, records, comment_header, ..sample }
    }

    /// Returns whether lines with `#` are comments. A line among the records with the right number
    /// of fields is a colour, a number or a tag. It is a commented-out record if such lines are few
    /// and look like the others, and there are lines of prose that start with `#`.
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

/// Returns whether a record declares column types, as in `#types,number,text`.
fn names_types(record: &Fields<'_>) -> bool {
    let is_type = |field: &Cow<'_, str>| {
        let field = field.trim().to_ascii_lowercase();
        let name = field.trim_end_matches(|c: char| c.is_ascii_digit());
        TYPE_NAMES.contains(&name)
    };
    record.len() > 1 && record[1..].iter().all(is_type)
}

/// Returns the character that starts comments. Sequence files start with lines like `@SQ`.
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

/// Returns whether a field looks like a commented-out value, unlike `#c0ffee`, `#12`, `## Part` and
/// `#12 is broken`.
fn is_commented_out(field: &str) -> bool {
    let name = field.strip_prefix('#').unwrap_or(field).trim_end();
    let is_tag = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_tag && !name.starts_with('#') && !name.contains(' ')
}

/// The number of fields of a record.
#[derive(Clone, Copy)]
struct Count {
    all: usize,
    /// Without empty fields at its end.
    filled: usize,
}

fn n_fields(record: &Fields<'_>) -> Count {
    let last_filled = record.iter().rposition(|field| !field.trim().is_empty());
    Count { all: record.len(), filled: last_filled.map_or(0, |last_idx| last_idx + 1) }
}

/// Returns the number of columns for records with these counts, and the share of records that fit.
///
/// Records without a delimiter at the start are a preamble and count half. A short record counts
/// more than half, unless it has no delimiter at all, which does not suggest a table.
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
                // More fields are acceptable if the additional ones are empty.
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
