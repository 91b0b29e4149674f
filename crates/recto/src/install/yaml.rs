//! Splices an entry into a YAML file in block style, line by line.
//!
//! The file must be a mapping whose keys start in the first column. Everything else, such as flow
//! style or several documents, is not supported: then the user inserts the entry.

use std::ops::Range;

use serde_json::{Map, Value};

use super::splice::{Splice, Unsupported, apply, newline, unsupported};

/// The kind of collection that contains the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// `key:` followed by names and their values.
    Map,
    /// `key:` followed by items, each with a `name`.
    List,
}

/// Returns the entry called `name` in the collection called `key`.
pub fn get(
    text: &str,
    collection: Collection,
    [key, name]: [&str; 2],
) -> Result<Option<Value>, Unsupported> {
    let lines = Line::all(text);
    let Some(section) = Section::find(&lines, collection, key)? else { return Ok(None) };
    let Some(entry) = section.entry(&lines, name)? else { return Ok(None) };
    let fields = fields(&lines, collection, entry);
    Ok(Some(Value::Object(fields.into_iter().map(|field| (field.key, field.value)).collect())))
}

/// Sets the fields of the entry called `name`. Other fields stay.
pub fn set(
    text: &str,
    collection: Collection,
    [key, name]: [&str; 2],
    wanted: &Map<String, Value>,
) -> Result<String, Unsupported> {
    let newline = newline(text);
    let lines = Line::all(text);
    let Some(section) = Section::find(&lines, collection, key)? else {
        let mut new = vec![format!("{key}:")];
        new.extend(render(collection, name, wanted, 2));
        let new = new.join(newline);
        return Ok(match text {
            _ if text.is_empty() || text.ends_with('\n') => format!("{text}{new}{newline}"),
            _ => format!("{text}{newline}{new}"),
        });
    };
    let Some(entry) = section.entry(&lines, name)? else {
        let new = render(collection, name, wanted, section.indent);
        let new: String = new.iter().map(|line| format!("{newline}{line}")).collect();
        let at = lines[section.header].content_end();
        // The entry replaces `{}` or `[]`.
        let empty = section.empty.map(|empty| (empty, String::new()));
        let splices = empty.into_iter().chain([(at..at, new)]).collect();
        return Ok(apply(text, splices));
    };
    check_block_style(&lines, collection, &entry)?;
    let present = fields(&lines, collection, entry.clone());
    let mut splices: Vec<Splice> = Vec::new();
    let mut last = present.last().map_or(entry.end, |field| field.lines.end);
    for (key, value) in wanted {
        match present.iter().find(|field| field.key == *key) {
            Some(field) if field.value == *value => {}
            Some(field) => {
                let first = &lines[field.lines.start];
                let end = lines[field.lines.end - 1].content_end();
                let start = first.range.start + first.text.find(key.as_str()).expect("its key");
                splices.push((start..end, format!("{key}: {value}")));
            }
            None => {
                let indent = " ".repeat(fields_indent(&lines, collection, &entry));
                last = last.max(entry.start + 1);
                let at = lines[last - 1].content_end();
                splices.push((at..at, format!("{newline}{indent}{key}: {value}")));
            }
        }
    }
    Ok(apply(text, splices))
}

/// Removes the entry called `name`.
pub fn remove(
    text: &str,
    collection: Collection,
    [key, name]: [&str; 2],
) -> Result<String, Unsupported> {
    let lines = Line::all(text);
    let Some(section) = Section::find(&lines, collection, key)? else { return Ok(text.into()) };
    let Some(entry) = section.entry(&lines, name)? else { return Ok(text.into()) };
    check_block_style(&lines, collection, &entry)?;
    let mut start = lines[entry.start].range.start;
    let mut end = lines[entry.end - 1].range.end;
    if !text[start..end].ends_with('\n') {
        // The entry is last and has no final line break, as the line before it before.
        start = lines[entry.start - 1].content_end();
        end = text.len();
    }
    let mut splices = vec![(start..end, String::new())];
    let is_other = |index: &usize| lines[*index].is_content() && !entry.contains(index);
    if !section.lines.clone().any(|index| is_other(&index)) {
        // A key without a value is null, which clients reject.
        let header = &lines[section.header];
        let at = header.range.start + header.text.find(':').expect("a key has a colon") + 1;
        let empty = if collection == Collection::Map { " {}" } else { " []" };
        splices.push((at..at, empty.into()));
    }
    Ok(apply(text, splices))
}

/// Returns the lines of a file without an entry, and without its collection if that has no other
/// entry, to compare two versions. Blank lines do not count.
pub fn rest(
    text: &str,
    collection: Collection,
    [key, name]: [&str; 2],
) -> Result<Vec<String>, Unsupported> {
    let lines = Line::all(text);
    let section = Section::find(&lines, collection, key)?;
    let entry = section.as_ref().map(|section| section.entry(&lines, name)).transpose()?.flatten();
    let is_entry = |index: usize| entry.as_ref().is_some_and(|entry| entry.contains(&index));
    let header = section.filter(|section| {
        !section.lines.clone().any(|index| lines[index].is_content() && !is_entry(index))
    });
    let header = header.map(|section| section.header);
    let is_rest = |(index, line): &(usize, &Line<'_>)| {
        !line.body().is_empty() && !is_entry(*index) && Some(*index) != header
    };
    let rest = lines.iter().enumerate().filter(is_rest);
    Ok(rest.map(|(_, line)| line.text.trim_end().to_string()).collect())
}

/// A line of the file.
struct Line<'a> {
    /// Its bytes, with the line break.
    range: Range<usize>,
    /// Its text without the line break.
    text: &'a str,
}

impl<'a> Line<'a> {
    fn all(text: &'a str) -> Vec<Line<'a>> {
        let mut start = 0;
        let line = |line: &'a str| {
            let range = start..start + line.len();
            start = range.end;
            let text = line.strip_suffix('\n').unwrap_or(line);
            Line { range, text: text.strip_suffix('\r').unwrap_or(text) }
        };
        text.split_inclusive('\n').map(line).collect()
    }

    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    fn body(&self) -> &'a str {
        self.text.trim()
    }

    fn content_end(&self) -> usize {
        self.range.start + self.text.len()
    }

    /// Whether it is neither blank nor a comment.
    fn is_content(&self) -> bool {
        !self.body().is_empty() && !self.body().starts_with('#')
    }

    fn is_item(&self) -> bool {
        self.body() == "-" || self.body().starts_with("- ")
    }
}

/// Splits `key: value`, where the value may be missing or a comment.
fn key_value(body: &str) -> Option<(&str, &str)> {
    let (key, value) = match body.strip_suffix(':') {
        Some(key) if !key.contains(": ") => (key, ""),
        _ => body.split_once(": ")?,
    };
    let key = key.trim();
    let bare = ['"', '\''].iter().find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote));
    let key = bare.unwrap_or(key);
    let is_plain = |c: char| c.is_alphanumeric() || "_-. /".contains(c);
    let value = value.trim();
    let value = if value.starts_with('#') { "" } else { value };
    (!key.is_empty() && key.chars().all(is_plain)).then_some((key, value))
}

/// The lines of one key at the top of the file.
struct Section {
    /// The index of the line with the key.
    header: usize,
    /// The lines below it that belong to it.
    lines: Range<usize>,
    /// The indentation of its entries.
    indent: usize,
    collection: Collection,
    /// The empty collection in flow style that is its value.
    empty: Option<Range<usize>>,
}

impl Section {
    fn find(
        lines: &[Line<'_>],
        collection: Collection,
        key: &str,
    ) -> Result<Option<Section>, Unsupported> {
        let mut headers = Vec::new();
        let mut tops = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            if line.text.starts_with('\t') && line.is_content() {
                return unsupported("a line starts with a tab");
            }
            if !line.is_content() || line.indent() > 0 || (line.is_item() && !tops.is_empty()) {
                continue;
            }
            let is_first = tops.is_empty() && headers.is_empty();
            match key_value(line.text) {
                Some((name, _)) => {
                    tops.push(index);
                    headers.extend((name == key).then_some(index));
                }
                None if line.body() == "---" && is_first => {}
                None => return unsupported("it is not a mapping in block style"),
            }
        }
        let header = match headers[..] {
            [] => return Ok(None),
            [header] => header,
            _ => return unsupported(format!("{key} occurs more than once")),
        };
        let end = tops.iter().copied().find(|top| *top > header).unwrap_or(lines.len());
        let value = key_value(lines[header].text).map_or("", |(_, value)| value);
        let value = value.split(" #").next().unwrap_or(value).trim_end();
        let empty = if collection == Collection::Map { "{}" } else { "[]" };
        let empty = match value {
            "" => None,
            value if value == empty => {
                let line = &lines[header];
                let at = line.range.start + line.text.find(empty).expect("it is the value");
                let space = line.text[..at - line.range.start].trim_end().len();
                Some(line.range.start + space..at + empty.len())
            }
            _ => return unsupported(format!("{key} is not in block style")),
        };
        let first = lines[header + 1..end].iter().find(|line| line.is_content());
        let is_list = first.is_some_and(Line::is_item);
        let indent = match first {
            None => 2,
            Some(_) if is_list != (collection == Collection::List) => {
                return unsupported(format!("{key} has another form than expected"));
            }
            Some(_) if empty.is_some() => return unsupported(format!("{key} has two values")),
            Some(line) => line.indent(),
        };
        Ok(Some(Section { header, lines: header + 1..end, indent, collection, empty }))
    }

    /// Finds the lines of an entry, without blank lines and comments after it.
    fn entry(&self, lines: &[Line<'_>], name: &str) -> Result<Option<Range<usize>>, Unsupported> {
        let starts = |index: &usize| {
            let line = &lines[*index];
            line.is_content() && line.indent() == self.indent
        };
        let starts: Vec<usize> = self.lines.clone().filter(starts).collect();
        let ends = starts.iter().skip(1).copied().chain([self.lines.end]);
        for (start, mut end) in starts.iter().copied().zip(ends) {
            while end > start + 1 && !lines[end - 1].is_content() {
                end -= 1;
            }
            let head = lines[start].body();
            let is_it = match self.collection {
                Collection::Map => key_value(head).map(|(key, _)| key == name),
                Collection::List => key_value(head.trim_start_matches(['-', ' '])).map(|_| {
                    let fields = fields(lines, self.collection, start..end);
                    fields.iter().any(|field| field.key == "name" && field.value == name)
                }),
            };
            // Such as an item in flow style or a complex key.
            let n_named = if self.collection == Collection::Map { 1 } else { end - start };
            let mut named = lines[start..start + n_named].iter();
            if is_it.is_none() && named.any(|line| line.text.contains(name)) {
                return unsupported(format!("an entry with {name} is not in block style"));
            }
            if is_it == Some(true) {
                return Ok(Some(start..end));
            }
        }
        Ok(None)
    }
}

/// Rejects an entry with another form than fields in block style with plain keys.
fn check_block_style(
    lines: &[Line<'_>],
    collection: Collection,
    entry: &Range<usize>,
) -> Result<(), Unsupported> {
    let head = lines[entry.start].body();
    if collection == Collection::Map && key_value(head).is_some_and(|(_, value)| !value.is_empty())
    {
        return unsupported("its entry is not in block style");
    }
    let indent = fields_indent(lines, collection, entry);
    for index in entry.clone().skip(usize::from(collection == Collection::Map)) {
        let line = &lines[index];
        let is_head = index == entry.start;
        if !line.is_content() || (!is_head && line.indent() > indent) {
            continue;
        }
        let body = if is_head { line.body().trim_start_matches(['-', ' ']) } else { line.body() };
        let is_item = !is_head && line.is_item();
        let is_plain = !body.starts_with(['"', '\'']) && key_value(body).is_some();
        if !(is_head || line.indent() == indent) || !(is_item || is_plain) {
            return unsupported("its entry has a key that is quoted or not in block style");
        }
    }
    Ok(())
}

/// A field of an entry.
struct Field {
    key: String,
    value: Value,
    lines: Range<usize>,
}

/// Returns the column of the fields of an entry.
fn fields_indent(lines: &[Line<'_>], collection: Collection, entry: &Range<usize>) -> usize {
    let first = &lines[entry.start];
    match collection {
        Collection::List => {
            let after = first.text.trim_start().trim_start_matches('-');
            first.text.len() - after.trim_start().len()
        }
        Collection::Map => {
            let inner = lines[entry.start + 1..entry.end].iter().find(|line| line.is_content());
            inner.map_or(first.indent() + 2, Line::indent)
        }
    }
}

fn fields(lines: &[Line<'_>], collection: Collection, entry: Range<usize>) -> Vec<Field> {
    let indent = fields_indent(lines, collection, &entry);
    let first = entry.start + usize::from(collection == Collection::Map);
    let is_field = |index: &usize| {
        let line = &lines[*index];
        let is_head = *index == entry.start;
        line.is_content() && (is_head || (line.indent() == indent && !line.is_item()))
    };
    let starts: Vec<usize> = (first..entry.end).filter(is_field).collect();
    let ends = starts.iter().skip(1).copied().chain([entry.end]);
    let field = |(start, mut end): (usize, usize)| {
        // Comments below belong to the next field.
        while end > start + 1 && !lines[end - 1].is_content() {
            end -= 1;
        }
        let head = lines[start].body();
        let head = if start == entry.start { head.trim_start_matches(['-', ' ']) } else { head };
        let (key, value) = key_value(head)?;
        let value = match value {
            "" => {
                let items = lines[start + 1..end].iter().filter(|line| line.is_item());
                items.map(|line| scalar(line.body()[1..].trim())).collect()
            }
            value => scalar(value),
        };
        Some(Field { key: key.to_string(), value, lines: start..end })
    };
    starts.iter().copied().zip(ends).filter_map(field).collect()
}

/// Reads a value on one line. Flow style is read if it is JSON, else returned as text.
fn scalar(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let text = text.split(" #").next().unwrap_or(text).trim();
    let single = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
    match single {
        Some(inner) => Value::from(inner.replace("''", "'")),
        None => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

/// Writes an entry. JSON values are YAML.
fn render(
    collection: Collection,
    name: &str,
    wanted: &Map<String, Value>,
    indent: usize,
) -> Vec<String> {
    let outer = " ".repeat(indent);
    let fields = wanted.iter().map(|(key, value)| format!("{outer}  {key}: {value}"));
    match collection {
        Collection::Map => std::iter::once(format!("{outer}{name}:")).chain(fields).collect(),
        Collection::List => {
            let mut lines: Vec<String> = fields.collect();
            if let Some(first) = lines.first_mut() {
                first.replace_range(indent..indent + 2, "- ");
            }
            lines
        }
    }
}
