//! Finds where the records start and the names of the columns.
//!
//! A header is a record that does not look like the records below it. Titles and notes above it are
//! skipped.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::dialect::{Fields, Sample, declared};
use super::form;
use super::splitter::Dialect;
use super::types::{Candidates, Reading, is_placeholder};
use crate::moments::MomentKind;

/// The most lines of keys and values above a header.
const MAX_KEYS: usize = 20;

/// With fewer values, categories cannot be recognised.
const MIN_CATEGORIZED: usize = 8;

/// How to read a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The dialect.
    pub dialect: Dialect,
    /// The number of records above the values, including the header.
    pub n_skipped: usize,
    /// How many of those are neither header nor values.
    pub n_preamble: usize,
    /// The header, if there is one.
    pub header: Option<Vec<String>>,
    /// The number of columns; single records may have more.
    pub n_columns: usize,
    /// Whether the first column has no name because the header is one name short.
    pub has_row_names: bool,
    /// Whether a line further below that starts with `#` may be a comment, because no line of the
    /// sample starts so.
    pub may_have_comments: bool,
}

/// The evidence that a record is a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It is text, and the records below are not.
    Strong,
    /// Everything is text, and nothing contradicts it.
    Weak,
    /// It looks like the records below.
    None,
}

impl Layout {
    /// Returns the layout of the file that starts with `text`, from which the sample was taken.
    pub fn find(text: &str, sample: &Sample<'_>) -> Layout {
        let n_declared = usize::from(declared(text).is_some());
        let records = sample.records.get(n_declared..).unwrap_or_default();
        let (first_idx, evidence) = first_record(records, sample);
        let first_idx_in_file = n_declared + first_idx;
        let mut layout = Layout {
            dialect: sample.dialect,
            n_skipped: first_idx_in_file,
            n_preamble: first_idx,
            header: None,
            n_columns: sample.n_columns,
            has_row_names: false,
            may_have_comments: !sample.has_marks && sample.n_columns > 1,
        };
        let first = records.get(first_idx);
        let from_comment = sample.comment_header.as_ref().filter(|fields| {
            let is_tight = fields.first().is_some_and(|first| !first.starts_with("# "));
            let is_better = is_tight
                || has_names(fields)
                    && (has_only_words(fields) || lacks_names(first, &records[first_idx..]));
            evidence == Evidence::None || (is_better && evidence == Evidence::Weak)
        });
        if let Some(fields) = from_comment {
            layout.header = Some(fields.iter().map(|name| uncomment(name)).collect());
        } else if evidence != Evidence::None
            && let Some(fields) = first
        {
            let below = &records[first_idx + 1..];
            let names = fields.iter().map(|name| name.to_string());
            layout.has_row_names = has_row_names(fields, below, sample.n_columns);
            let unnamed = layout.has_row_names.then(String::new);
            layout.header = Some(unnamed.into_iter().chain(names).collect());
            layout.n_skipped += 1;
        }
        layout
    }

    /// Returns whether a record far below the sample is a comment.
    pub fn may_be_comment(&self, fields: &Fields<'_>) -> bool {
        let is_marked = |first: &Cow<'_, str>| first.starts_with('#');
        self.may_have_comments
            && fields.first().is_some_and(is_marked)
            && (fields.len() != self.n_columns || fields[0].starts_with("# "))
    }
}

/// Returns whether all fields are distinct names.
fn has_names(fields: &Fields<'_>) -> bool {
    let mut seen = HashSet::new();
    fields.iter().all(|field| !field.trim().is_empty() && seen.insert(field.trim()))
}

/// Returns whether all fields of a comment are single words.
fn has_only_words(fields: &Fields<'_>) -> bool {
    fields.iter().all(|field| uncomment(field).split_whitespace().count() == 1)
}

/// Returns whether a record is empty in a column in which most other records are empty too.
fn lacks_names(record: Option<&Fields<'_>>, all: &[Fields<'_>]) -> bool {
    let is_empty =
        |record: &Fields<'_>, idx: usize| record.get(idx).is_none_or(|f| f.trim().is_empty());
    let is_mostly_empty =
        |idx| all.iter().filter(|other| is_empty(other, idx)).count() * 2 > all.len();
    record.is_some_and(|record| {
        (0..record.len()).any(|idx| is_empty(record, idx) && is_mostly_empty(idx))
    })
}

/// Returns whether the first column contains row names and has no name, as R writes it: the header
/// is then one name short, and its names belong to the columns after the first.
fn has_row_names(header: &Fields<'_>, below: &[Fields<'_>], n_columns: usize) -> bool {
    let mut seen = HashSet::new();
    header.len() + 1 == n_columns
        && below.iter().all(|record| record.len() == n_columns)
        && below.iter().any(|record| record.last().is_some_and(|field| !field.trim().is_empty()))
        && below.iter().all(|record| record.first().is_some_and(|name| seen.insert(name.trim())))
}

/// Strips the comment mark: `# a` becomes `a`. `#chrom` keeps it, because its readers expect it.
fn uncomment(name: &str) -> String {
    name.strip_prefix("# ").unwrap_or(name).trim().into()
}

/// Returns the first record that is a header or contains values, and the evidence for a header.
fn first_record(records: &[Fields<'_>], sample: &Sample<'_>) -> (usize, Evidence) {
    let n_columns = sample.n_columns;
    let is_full = |record: &Fields<'_>| {
        let n_filled = record.iter().filter(|field| !field.trim().is_empty()).count();
        // A title above three or more columns may be followed by delimiters without values; it is
        // in the first column.
        let is_title = n_filled == 0 || n_filled == 1 && !record[0].trim().is_empty();
        record.len() >= n_columns && (n_columns < 3 || !is_title)
    };
    let Some(full_idx) = records.iter().position(is_full) else { return (0, Evidence::None) };
    let evidence = |idx: usize| header_evidence(&records[idx], &records[idx + 1..], sample);
    let has_value = |field: &Cow<'_, str>| is_number_or_moment(field, sample.dialect.delimiter);
    let at_full = evidence(full_idx);
    // Group names, a row count or keys with values may be above the names. A header that lacks a
    // name or two is still a header.
    let is_empty = |field: &&Cow<'_, str>| field.trim().is_empty();
    let n_empty = |record: &Fields<'_>| record.iter().filter(is_empty).count();
    let is_sparse = |record: &&Fields<'_>| n_empty(record) * 2 >= n_columns;
    let has_pair = |record: &Fields<'_>| n_columns.saturating_sub(n_empty(record)) <= 2;
    let n_sparse = records[full_idx..].iter().take(MAX_KEYS).take_while(is_sparse).count();
    let below_idx = full_idx + n_sparse;
    if at_full != Evidence::Strong
        && n_columns > 2
        && n_sparse > 0
        && let Some(below) = records.get(below_idx)
        && is_full(below)
        && !below.iter().any(|field| is_empty(&field) || has_value(field))
        && evidence(below_idx) == Evidence::Strong
    {
        return (below_idx, Evidence::Strong);
    }
    let has_pairs = |records: &[Fields<'_>]| records.len() > 1 && records.iter().all(has_pair);
    let n_pairs =
        records[full_idx..].iter().take(MAX_KEYS).take_while(|it| n_empty(it) > 0).count();
    let pairs_end = full_idx + n_pairs;
    if at_full != Evidence::Strong
        && n_columns > 2
        && has_pairs(&records[full_idx..pairs_end])
        && records.len() > pairs_end + 2
        && records[pairs_end..]
            .iter()
            .all(|record| record.len() == n_columns && n_empty(record) == 0)
        && !records[pairs_end].iter().any(has_value)
        && evidence(pairs_end) != Evidence::None
    {
        return (pairs_end, evidence(pairs_end));
    }
    // Keys with values may be as wide as the table, above a blank line.
    if at_full != Evidence::Strong
        && let Some(gap_idx) =
            sample.gap_idx.and_then(|idx| idx.checked_sub(sample.records.len() - records.len()))
        && (full_idx + 1..=full_idx + MAX_KEYS).contains(&gap_idx)
        && records.get(gap_idx).is_some_and(is_full)
        && evidence(gap_idx) == Evidence::Strong
    {
        return (gap_idx, Evidence::Strong);
    }
    let Some(before_idx) = full_idx.checked_sub(1) else { return (full_idx, at_full) };
    // A header may be shorter than the records below it.
    let is_split = records[before_idx].len() > 1;
    let n_filled = records[before_idx].iter().filter(|field| !field.trim().is_empty()).count();
    let has_values = records[before_idx].iter().any(has_value);
    if is_split && n_filled > 1 && !has_values && at_full != Evidence::Strong {
        let before = evidence(before_idx);
        if before != Evidence::None {
            return (before_idx, before);
        }
    }
    (full_idx, at_full)
}

fn header_evidence(record: &Fields<'_>, below: &[Fields<'_>], sample: &Sample<'_>) -> Evidence {
    let delimiter = sample.dialect.delimiter;
    let cells: Vec<HeaderCell> = record
        .iter()
        .enumerate()
        .filter(|(_, field)| !field.trim().is_empty())
        .map(|(column_idx, field)| HeaderCell::new(field, column_idx, below, delimiter))
        .collect();
    if cells.is_empty() {
        // Columns without names above values that are not text.
        let is_typed =
            |column_idx| candidates(column_idx, below).reading(delimiter) != Reading::Text;
        let has_types = (0..record.len()).any(is_typed);
        return if has_types { Evidence::Strong } else { Evidence::None };
    }
    if has_numbered_columns(record, below) {
        return Evidence::Strong;
    }
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    if count(Verdict::IsValue) > 0 || cells.iter().all(|cell| cell.is_placeholder) {
        return Evidence::None;
    }
    if count(Verdict::Differs) > 0 {
        return Evidence::Strong;
    }
    // Three fractions above integers are classes that were counted.
    if cells.len() > 2 && count(Verdict::FractionAboveIntegers) == cells.len() {
        return Evidence::Strong;
    }
    if count(Verdict::Fits) + count(Verdict::FractionAboveIntegers) > 0
        || count(Verdict::YearAboveOthers) == cells.len()
    {
        return Evidence::None;
    }
    if count(Verdict::DiffersFromTruth) > 0 {
        return Evidence::Strong;
    }
    let n_repeated = cells.iter().filter(|cell| cell.n_repeats > 0).count();
    let is_value = n_repeated > 0 && (n_repeated < cells.len() || cells.len() == 1);
    let may_be_chance = cells.iter().all(|cell| cell.n_repeats < 2);
    if is_value && n_repeated > n_alien(record, below, may_be_chance) {
        Evidence::None
    } else {
        Evidence::Weak
    }
}

/// Returns whether a record has an empty corner and then counts on, as data frames without names are
/// written: `,0,1,2` or `,2018,2019`. Below the corner, nothing is empty.
fn has_numbered_columns(record: &Fields<'_>, below: &[Fields<'_>]) -> bool {
    let Some((corner, names)) = record.split_first() else { return false };
    let number =
        |name: &Cow<'_, str>| name.parse::<u32>().ok().filter(|_| !form::has_leading_zeros(name));
    let Some(start) = names.first().and_then(number) else { return false };
    let counts_on = |(name, expected): (&Cow<'_, str>, u32)| number(name) == Some(expected);
    corner.is_empty()
        && (names.len() > 1 || start == 0)
        && names.iter().zip(start..).all(counts_on)
        && !below.is_empty()
        && below.iter().all(|row| row.first().is_some_and(|name| !name.trim().is_empty()))
}

/// Counts fields above categories that are not one of them: every value below is repeated there,
/// and the field is not. `Region` is such a field, and outweighs a column called `ID` that has
/// Indonesia among its codes. With `counts_words`, so is a word above prose.
fn n_alien(record: &Fields<'_>, below: &[Fields<'_>], counts_words: bool) -> usize {
    let is_alien = |column_idx: usize, field: &str| {
        let mut n_by_value: HashMap<&str, usize> = HashMap::new();
        for value in below.iter().filter_map(|record| record.get(column_idx)) {
            *n_by_value.entry(value.trim()).or_default() += 1;
        }
        n_by_value.remove("");
        let n_values: usize = n_by_value.values().sum();
        let is_prose = |text: &str| text.split_whitespace().nth(2).is_some();
        let is_word = counts_words && !field.contains(char::is_whitespace);
        n_values >= MIN_CATEGORIZED
            && !n_by_value.contains_key(field)
            && (n_by_value.values().all(|n| *n > 1)
                || is_word && n_by_value.keys().all(|value| is_prose(value)))
    };
    let fields = record.iter().map(|field| field.trim()).enumerate();
    fields.filter(|(column_idx, field)| !field.is_empty() && is_alien(*column_idx, field)).count()
}

/// A field of a record that may be a header.
struct HeaderCell {
    verdict: Verdict,
    /// How often the same text occurs below it.
    n_repeats: usize,
    /// Whether it is a placeholder for a missing value.
    is_placeholder: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is not a name: a date above dates, a link above links.
    IsValue,
    /// It does not have the type of the column.
    Differs,
    /// The column is boolean and the field is not. That is weaker evidence: `T` may be a base, with
    /// `G` above it.
    DiffersFromTruth,
    /// It is a value like those below.
    Fits,
    /// It is a number with a fraction above integers.
    FractionAboveIntegers,
    /// It is a year above numbers that are not years, or a number above words.
    YearAboveOthers,
    /// It is text above text or above an empty column.
    Open,
}

impl Verdict {
    /// Classifies a field above a column without values.
    fn above_nothing(field: &str, below: &[Fields<'_>], delimiter: Option<u8>) -> Verdict {
        if is_year(field) && !below.is_empty() {
            Verdict::YearAboveOthers
        } else if is_number_or_moment(field, delimiter) || form::is_value(field) {
            Verdict::Fits
        } else {
            Verdict::Open
        }
    }
}

impl HeaderCell {
    fn new(
        field: &str,
        column_idx: usize,
        below: &[Fields<'_>],
        delimiter: Option<u8>,
    ) -> HeaderCell {
        let column = candidates(column_idx, below);
        let mut with_field = column;
        with_field.observe(field);
        let is_all = |is_so: fn(&str, &str) -> bool| {
            let mut others = below.iter().filter_map(|record| record.get(column_idx));
            others.all(|other| other.trim().is_empty() || is_so(field, other))
        };
        let verdict = match (column.reading(delimiter), with_field.reading(delimiter)) {
            _ if !column.has_fields() => Verdict::above_nothing(field, below, delimiter),
            (Reading::Integer, Reading::Number) => Verdict::FractionAboveIntegers,
            (Reading::Text, _)
                if is_number_above_words(field, column_idx, below)
                    || is_year_above_text(field, column_idx, below) =>
            {
                Verdict::YearAboveOthers
            }
            (Reading::Text, _) if is_number_or_moment(field, delimiter) => Verdict::Fits,
            (Reading::Text, _) if is_all(form::is_alike) => Verdict::IsValue,
            (Reading::Text, _) if is_all(form::counts_on) => Verdict::Fits,
            (Reading::Text, _) => Verdict::Open,
            (Reading::Integer, _) if form::has_leading_zeros(field) => Verdict::Fits,
            (Reading::Moment(shape, _), Reading::Moment(..)) if shape != MomentKind::Time => {
                Verdict::IsValue
            }
            (_, Reading::Text) if is_placeholder(field) => Verdict::Open,
            // A date above timestamps and a timestamp above dates are values, however many there
            // are.
            (Reading::Moment(..), Reading::Text) if with_field.has_only_days() => Verdict::Fits,
            (Reading::Boolean, Reading::Text) => Verdict::DiffersFromTruth,
            (_, Reading::Text) => Verdict::Differs,
            (Reading::Integer | Reading::Number, _)
                if is_year_above_others(field, column_idx, below) =>
            {
                Verdict::YearAboveOthers
            }
            _ => Verdict::Fits,
        };
        let is_same = |record: &&Fields<'_>| {
            record.get(column_idx).is_some_and(|other| other.trim() == field.trim())
        };
        let n_repeats = below.iter().filter(is_same).count();
        HeaderCell { verdict, n_repeats, is_placeholder: is_placeholder(field) }
    }
}

fn candidates(column_idx: usize, records: &[Fields<'_>]) -> Candidates {
    let mut candidates = Candidates::new();
    for field in records.iter().filter_map(|record| record.get(column_idx)) {
        candidates.observe(field);
    }
    candidates
}

/// Returns whether a field is a number, date or time. Those are rarely column names; `no` and `t`
/// are.
fn is_number_or_moment(field: &str, delimiter: Option<u8>) -> bool {
    let mut candidates = Candidates::new();
    candidates.observe(field);
    !matches!(candidates.reading(delimiter), Reading::Text | Reading::Boolean)
}

fn is_year(field: &str) -> bool {
    let field = field.trim();
    field.len() == 4 && field.parse().is_ok_and(|year: u16| (1800..2100).contains(&year))
}

/// Returns whether a field is a year above other numbers. Statistics often have a column per year.
fn is_year_above_others(field: &str, column_idx: usize, below: &[Fields<'_>]) -> bool {
    let mut values = below.iter().filter_map(|record| record.get(column_idx));
    is_year(field) && values.any(|value| !value.trim().is_empty() && !is_year(value))
}

/// Returns whether a field is a year above at least two texts, such as `R+15.2`, and no integers.
fn is_year_above_text(field: &str, column_idx: usize, below: &[Fields<'_>]) -> bool {
    let values = || {
        let values = below.iter().filter_map(|record| record.get(column_idx));
        values.map(|value| value.trim()).filter(|value| !value.is_empty())
    };
    let is_integer = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
    is_year(field) && values().nth(1).is_some() && !values().any(is_integer)
}

/// Returns whether a field is an integer above words: at least two, none of which has a digit.
fn is_number_above_words(field: &str, column_idx: usize, below: &[Fields<'_>]) -> bool {
    let values = || below.iter().filter_map(|record| record.get(column_idx));
    let is_word = |value: &str| !value.bytes().any(|byte| byte.is_ascii_digit());
    field.trim().bytes().all(|byte| byte.is_ascii_digit())
        && !form::has_leading_zeros(field)
        && values()
            .filter(|value| !value.trim().is_empty() && !is_placeholder(value))
            .nth(1)
            .is_some()
        && values().all(|value| is_word(value))
}

#[cfg(test)]
mod tests;
