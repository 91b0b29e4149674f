//! Splices a table into TOML.
//!
//! A new table is appended, after an empty line. Values in an existing one are replaced where they
//! are, and new keys follow its header.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::splice::{
    Splice, Unsupported, apply, line_end, line_start, newline, next_line, unsupported,
};

/// Returns the value at a path.
pub fn get(text: &str, path: &[&str]) -> Result<Option<Value>, Unsupported> {
    let root = parse(text)?;
    Ok(find(&root, path).map(|(_, value)| to_json(value.get_ref())))
}

/// Sets the keys of the table at a path. Other keys stay.
pub fn set(text: &str, path: &[&str], wanted: &Value) -> Result<String, Unsupported> {
    let root = parse(text)?;
    let wanted = wanted.as_object().expect("an entry is an object");
    let newline = newline(text);
    let assign = |(key, value): (&String, &Value)| format!("{key} = {}", render(value));
    let Some((_, found)) = find(&root, path) else {
        let mut lines = vec![format!("[{}]", path.join("."))];
        lines.extend(wanted.iter().map(assign));
        let block = lines.join(newline);
        return Ok(match text {
            "" => format!("{block}{newline}"),
            _ if text.ends_with('\n') => format!("{text}{newline}{block}{newline}"),
            // Without a final line break there is none after the entry either.
            _ => format!("{text}{newline}{newline}{block}"),
        });
    };
    let DeValue::Table(table) = found.get_ref() else {
        return unsupported(format!("{} is not a table", path.join(".")));
    };
    let mut splices: Vec<Splice> = Vec::new();
    let mut missing = Vec::new();
    for (key, value) in wanted {
        match table.iter().find(|(name, _)| name.get_ref() == key) {
            Some((_, present)) if to_json(present.get_ref()) == *value => {}
            Some((_, present)) => splices.push((present.span(), render(value))),
            None => missing.push(assign((key, value))),
        }
    }
    if !missing.is_empty() {
        if !has_header(text, found) {
            return unsupported(format!("{} has no header of its own", path.join(".")));
        }
        let at = line_end(text, found.span().end);
        let lines = missing.iter().map(|line| format!("{newline}{line}")).collect();
        splices.push((at..at, lines));
    }
    Ok(apply(text, splices))
}

/// Removes the table at a path.
pub fn remove(text: &str, path: &[&str]) -> Result<String, Unsupported> {
    let root = parse(text)?;
    let Some((key, found)) = find(&root, path) else { return Ok(text.to_string()) };
    let mut extent = found.span();
    if !has_header(text, found) {
        extent.start = extent.start.min(key.start);
    }
    extend(&mut extent, found.get_ref());
    let mut start = line_start(text, extent.start);
    let last_line = line_end(text, extent.end.max(extent.start + 1) - 1);
    let mut end = next_line(text, last_line);
    if has_header(text, found) {
        let before = without_newline(&text[..start]);
        let is_blank_above = before.ends_with('\n') || (before.is_empty() && start > 0);
        if end == last_line && !before.is_empty() {
            // The text did not end with a line break before the entry was appended.
            start = without_newline(before).len();
            end = text.len();
        } else if is_blank_above {
            start = before.len();
        }
    }
    Ok(apply(text, vec![(start..end, String::new())]))
}

/// Returns the whole document.
pub fn value_of(text: &str) -> Result<Option<Value>, Unsupported> {
    Ok(Some(table_to_json(&parse(text)?)))
}

fn parse(text: &str) -> Result<DeTable<'_>, Unsupported> {
    match DeTable::parse(text) {
        Ok(root) => Ok(root.into_inner()),
        Err(error) => unsupported(format!("it is not valid TOML: {}", error.message())),
    }
}

/// Returns the range of the key and the value at a path.
fn find<'a, 'b>(
    root: &'b DeTable<'a>,
    path: &[&str],
) -> Option<(Range<usize>, &'b Spanned<DeValue<'a>>)> {
    let (key, deeper) = path.split_first()?;
    let (name, value) = root.iter().find(|(name, _)| name.get_ref() == key)?;
    match value.get_ref() {
        _ if deeper.is_empty() => Some((name.span(), value)),
        DeValue::Table(table) => find(table, deeper),
        _ => None,
    }
}

/// Whether a table starts with a header, `[like.this]`.
fn has_header(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    matches!(value.get_ref(), DeValue::Table(_)) && text[value.span().start..].starts_with('[')
}

/// Extends a range to the values of a table.
fn extend(extent: &mut Range<usize>, value: &DeValue<'_>) {
    let mut cover = |range: Range<usize>| {
        extent.start = extent.start.min(range.start);
        extent.end = extent.end.max(range.end);
    };
    match value {
        DeValue::Table(table) => {
            for (key, value) in table {
                cover(key.span());
                cover(value.span());
            }
            for (_, value) in table {
                extend(extent, value.get_ref());
            }
        }
        DeValue::Array(array) => {
            for value in array {
                extend(extent, value.get_ref());
            }
        }
        _ => {}
    }
}

fn without_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn table_to_json(table: &DeTable<'_>) -> Value {
    let pairs =
        table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())));
    Value::Object(Map::from_iter(pairs))
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(it) => Value::from(*it),
        DeValue::Integer(it) => i64::from_str_radix(it.as_str(), it.radix())
            .map_or_else(|_| it.to_string().into(), Value::from),
        DeValue::Float(it) => Value::from(it.to_string()),
        DeValue::Datetime(it) => Value::from(it.to_string()),
        DeValue::Array(items) => items.iter().map(|it| to_json(it.get_ref())).collect(),
        DeValue::Table(table) => table_to_json(table),
    }
}

/// Writes a value as TOML. A JSON string is a basic string, except for the character DEL.
fn render(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(render).collect::<Vec<_>>().join(", "))
        }
        Value::Object(pairs) => {
            let pairs: Vec<_> =
                pairs.iter().map(|(key, value)| format!("{key} = {}", render(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        _ => value.to_string().replace('\u{7f}', "\\u007f"),
    }
}
