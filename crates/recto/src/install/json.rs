//! Splices entries into JSON, with or without comments and trailing commas.
//!
//! A new entry becomes the first one of its object: comments and commas that follow stay where they
//! are.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};

use super::splice::{
    Splice, Unsupported, apply, leading_space, line_end, line_start, newline, unsupported,
};

const DEFAULT_INDENT: &str = "  ";

/// Returns the value at a path.
pub fn get(text: &str, path: &[&str]) -> Result<Option<Value>, Unsupported> {
    let mut value = value_of(text)?;
    for key in path {
        value = value.as_mut().and_then(|it| it.get_mut(*key)).map(Value::take);
    }
    Ok(value)
}

/// Sets the keys of an object at a path, and creates what is missing. Other keys stay.
pub fn set(text: &str, path: &[&str], wanted: &Value) -> Result<String, Unsupported> {
    let Some(root) = parse(text)? else {
        let newline = newline(text);
        let layout = Layout::Lines { newline, indent: String::new(), unit: DEFAULT_INDENT.into() };
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        return Ok(format!("{text}{gap}{}{newline}", layout.value(&nest(path, wanted))));
    };
    let (last, parents) = path.split_last().expect("a path is not empty");
    let mut object = as_object(&root)?;
    for (depth, key) in parents.iter().enumerate() {
        match property(object, key) {
            Some(found) => object = as_object(&found.value)?,
            None => {
                let nested = nest(&path[depth + 1..], wanted);
                return Ok(apply(text, insert(text, &object.into(), &[(Some(*key), &nested)])));
            }
        }
    }
    Ok(apply(text, merge(text, object, last, wanted)))
}

/// Adds strings to the array at a path, and creates what is missing.
pub fn add_strings(text: &str, path: &[&str], strings: &[String]) -> Result<String, Unsupported> {
    let present = match get(text, path)? {
        None => return set(text, path, &Value::from(strings)),
        Some(Value::Array(present)) => present,
        Some(_) => return unsupported(format!("{} is not an array", path.join("."))),
    };
    let root = parse(text)?;
    let array = root.as_ref().and_then(|root| array(root, path)).expect("it was found");
    let new: Vec<Value> = strings.iter().map(|it| Value::from(it.as_str())).collect();
    let new: Vec<_> =
        new.iter().filter(|it| !present.contains(it)).map(|value| (None, value)).collect();
    if new.is_empty() {
        return Ok(text.to_string());
    }
    Ok(apply(text, insert(text, &array.into(), &new)))
}

/// Removes the value at a path.
pub fn remove(text: &str, path: &[&str]) -> Result<String, Unsupported> {
    let Some(root) = parse(text)? else { return Ok(text.to_string()) };
    let (last, parents) = path.split_last().expect("a path is not empty");
    let mut object = as_object(&root)?;
    for key in parents {
        match property(object, key).and_then(|found| found.value.as_object()) {
            Some(inner) => object = inner,
            None => return Ok(text.to_string()),
        }
    }
    let is_it = |found: &ObjectProp| found.name.as_str() == *last;
    match object.properties.iter().rposition(is_it) {
        Some(index) => Ok(apply(text, removal(text, &object.into(), index))),
        None => Ok(text.to_string()),
    }
}

/// Removes strings from the array at a path.
pub fn remove_strings(
    text: &str,
    path: &[&str],
    strings: &[String],
) -> Result<String, Unsupported> {
    let mut text = text.to_string();
    loop {
        let root = parse(&text)?;
        let Some(array) = root.as_ref().and_then(|root| array(root, path)) else {
            return Ok(text);
        };
        let is_one = |node: &Node| {
            node.as_string_lit().is_some_and(|it| strings.iter().any(|one| *one == it.value))
        };
        let Some(index) = array.elements.iter().position(is_one) else { return Ok(text) };
        text = apply(&text, removal(&text, &array.into(), index));
    }
}

/// Returns the whole document.
pub fn value_of(text: &str) -> Result<Option<Value>, Unsupported> {
    Ok(parse(text)?.map(Value::from))
}

fn parse(text: &str) -> Result<Option<Node<'_>>, Unsupported> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => unsupported(format!("it is not valid JSON: {error}")),
    }
}

fn as_object<'a, 'b>(node: &'b Node<'a>) -> Result<&'b Object<'a>, Unsupported> {
    match node.as_object() {
        Some(object) => Ok(object),
        None => unsupported("a value on the way to the entry is not an object"),
    }
}

/// Returns a property. Parsers use the last one of a name.
fn property<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rfind(|it| it.name.as_str() == key)
}

fn array<'a, 'b>(root: &'b Node<'a>, path: &[&str]) -> Option<&'b Array<'a>> {
    let mut node = root;
    for key in path {
        node = &property(node.as_object()?, key)?.value;
    }
    node.as_array()
}

/// Wraps a value in objects with these keys.
fn nest(path: &[&str], value: &Value) -> Value {
    let wrap = |value, key: &&str| Value::Object(Map::from_iter([(key.to_string(), value)]));
    path.iter().rev().fold(value.clone(), wrap)
}

/// The items between two brackets.
struct Container {
    open: usize,
    close: usize,
    items: Vec<Range<usize>>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Container {
        let items = object.properties.iter().map(|it| it.start()..it.end()).collect();
        Container { open: object.start() + 1, close: object.end() - 1, items }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Container {
        let items = array.elements.iter().map(|it| it.start()..it.end()).collect();
        Container { open: array.start() + 1, close: array.end() - 1, items }
    }
}

/// How the items of a container are laid out.
enum Layout {
    Lines { newline: &'static str, indent: String, unit: String },
    Inline,
}

impl Layout {
    fn of(text: &str, container: &Container) -> Layout {
        if !text.contains('\n') {
            return Layout::Inline;
        }
        let newline = newline(text);
        let outer = leading_space(&text[line_start(text, container.open)..]);
        let Some(first) = container.items.first() else {
            let unit = text.lines().map(leading_space).find(|it| !it.is_empty());
            let unit = unit.unwrap_or(DEFAULT_INDENT).to_string();
            return Layout::Lines { newline, indent: format!("{outer}{unit}"), unit };
        };
        let start = line_start(text, first.start);
        if start < container.open {
            return Layout::Inline;
        }
        let indent = leading_space(&text[start..]).to_string();
        let unit = indent.strip_prefix(outer).filter(|unit| !unit.is_empty());
        let unit = unit.unwrap_or(DEFAULT_INDENT).to_string();
        Layout::Lines { newline, indent, unit }
    }

    fn value(&self, value: &Value) -> String {
        let Layout::Lines { newline, indent, unit } = self else { return value.to_string() };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(unit.as_bytes());
        value
            .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
            .expect("a value can be serialized");
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        text.replace('\n', &format!("{newline}{indent}"))
    }

    fn item(&self, key: Option<&str>, value: &Value) -> String {
        let value = self.value(value);
        match (key, self) {
            (None, _) => value,
            (Some(key), Layout::Lines { .. }) => format!("{}: {value}", Value::from(key)),
            (Some(key), Layout::Inline) => format!("{}:{value}", Value::from(key)),
        }
    }
}

/// Sets the keys of the object with this name, or any other value.
fn merge(text: &str, parent: &Object<'_>, key: &str, wanted: &Value) -> Vec<Splice> {
    let Some(found) = property(parent, key) else {
        return insert(text, &parent.into(), &[(Some(key), wanted)]);
    };
    if Value::from(found.value.clone()) == *wanted {
        return Vec::new();
    }
    let (Some(object), Some(wanted)) = (found.value.as_object(), wanted.as_object()) else {
        let new = Layout::of(text, &parent.into()).value(wanted);
        return vec![(found.value.start()..found.value.end(), new)];
    };
    let (present, missing): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|(key, _)| property(object, key).is_some());
    let mut splices: Vec<_> =
        present.into_iter().flat_map(|(key, value)| merge(text, object, key, value)).collect();
    let missing: Vec<_> =
        missing.into_iter().map(|(key, value)| (Some(key.as_str()), value)).collect();
    if !missing.is_empty() {
        splices.extend(insert(text, &object.into(), &missing));
    }
    splices
}

/// Inserts items before those that are there.
fn insert(text: &str, container: &Container, items: &[(Option<&str>, &Value)]) -> Vec<Splice> {
    let layout = Layout::of(text, container);
    let items = items.iter().map(|(key, value)| layout.item(*key, value));
    let comma = if container.items.is_empty() { "" } else { "," };
    let (at, new) = match &layout {
        Layout::Inline => {
            let space = if text[container.open..].starts_with(' ') { " " } else { "" };
            let items: Vec<_> = items.map(|item| format!("{space}{item}")).collect();
            (container.open, format!("{}{comma}", items.join(",")))
        }
        Layout::Lines { newline, indent, .. } => {
            let items: Vec<_> = items.map(|item| format!("{newline}{indent}{item}")).collect();
            let new = format!("{}{comma}", items.join(","));
            match end_of_trivia(text, container.open) {
                // A comment after the bracket stays there.
                Some(end) => (end, new),
                None if !container.items.is_empty() => (container.open, new),
                None => {
                    let outer = leading_space(&text[line_start(text, container.open)..]);
                    (container.open, format!("{new}{newline}{outer}"))
                }
            }
        }
    };
    vec![(at..at, new)]
}

/// Removes an item with one of the commas beside it, and its line if nothing else is on it.
fn removal(text: &str, container: &Container, index: usize) -> Vec<Splice> {
    let Container { open, close, items } = container;
    let item = &items[index];
    let is_blank = |range: Range<usize>| text[range].trim().is_empty();
    let next = comma(text, item.end..items.get(index + 1).map_or(*close, |next| next.start));
    if items.len() == 1 && is_blank(*open..item.start) && is_blank(next.unwrap_or(item.end)..*close)
    {
        return vec![(*open..*close, String::new())];
    }
    let end = next.map_or(item.end, |comma| comma + 1);
    let before = text[..item.start].trim_end_matches([' ', '\t']).len();
    let start = match text[..before].strip_suffix('\n') {
        Some(line) if end_of_trivia(text, end).is_some() => {
            line.len() - usize::from(line.ends_with('\r'))
        }
        // The line was inserted right after the bracket.
        Some(_) if index == 0 && is_blank(*open..item.start) => *open,
        Some(_) => item.start,
        None => before,
    };
    let mut splices = vec![(start.max(*open)..end, String::new())];
    if next.is_none() && index > 0 {
        let previous = comma(text, items[index - 1].end..item.start);
        splices.extend(previous.map(|comma| (comma..comma + 1, String::new())));
    }
    splices
}

/// Returns where a line ends if only white space and comments follow on it.
fn end_of_trivia(text: &str, at: usize) -> Option<usize> {
    let end = line_end(text, at);
    let mut rest = text[at..end].trim_start();
    while let Some(comment) = rest.strip_prefix("/*") {
        rest = comment.split_once("*/")?.1.trim_start();
    }
    let is_end = end < text.len() && (rest.is_empty() || rest.starts_with("//"));
    is_end.then_some(end)
}

/// Finds the comma in a range of white space and comments.
fn comma(text: &str, range: Range<usize>) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        let rest = &text[at..range.end];
        at += match rest {
            _ if rest.starts_with(',') => return Some(at),
            _ if rest.starts_with("//") => rest.find('\n')?,
            _ if rest.starts_with("/*") => rest.find("*/")? + 2,
            _ => rest.chars().next()?.len_utf8(),
        };
    }
    None
}
