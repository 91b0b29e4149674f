//! The formats of configuration files, and one interface to their splicers.

use std::slice;

use serde_json::Value;

use super::splice::{Unsupported, unsupported};
use super::yaml::Collection;
use super::{json, toml, yaml};

const BOM: &str = "\u{feff}";

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, with or without comments.
    Json,
    /// TOML.
    Toml,
    /// YAML whose entries are a mapping by name.
    YamlMap,
    /// YAML whose entries are a list.
    YamlList,
}

/// What recto adds to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The keys that lead to it.
    pub path: &'static [&'static str],
    /// Its content.
    pub content: Content,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// An object of recto's own.
    Object(Value),
    /// Strings in an array that has others (JSON only).
    Strings(Vec<String>),
}

impl Format {
    /// Returns the value of an entry: the object, or the array that has its strings.
    pub fn get(self, text: &str, entry: &Entry) -> Result<Option<Value>, Unsupported> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let found = match self {
            Format::Json => json::get(text, entry.path)?,
            Format::Toml => toml::get(text, entry.path)?,
            Format::YamlMap => yaml::get(text, Collection::Map, pair(entry))?,
            Format::YamlList => yaml::get(text, Collection::List, pair(entry))?,
        };
        Ok(match (&entry.content, found) {
            (Content::Strings(strings), Some(Value::Array(items))) => {
                let has_one = strings.iter().any(|it| items.iter().any(|item| item == it));
                has_one.then_some(Value::Array(items))
            }
            (_, found) => found,
        })
    }

    /// Adds an entry, or sets its keys.
    pub fn set(self, text: &str, entry: &Entry) -> Result<String, Unsupported> {
        let set = |text: &str| match (self, &entry.content) {
            (Format::Json, Content::Object(wanted)) => json::set(text, entry.path, wanted),
            (Format::Json, Content::Strings(strings)) => {
                json::add_strings(text, entry.path, strings)
            }
            (Format::Toml, Content::Object(wanted)) => toml::set(text, entry.path, wanted),
            (Format::YamlMap | Format::YamlList, Content::Object(Value::Object(wanted))) => {
                yaml::set(text, self.collection(), pair(entry), wanted)
            }
            _ => unsupported("the format has no such entries"),
        };
        let after = below_bom(text, set)?;
        self.verify(text, &after, slice::from_ref(entry))?;
        self.verify_entry(&after, entry)?;
        Ok(after)
    }

    /// Removes an entry.
    pub fn remove(self, text: &str, entry: &Entry) -> Result<String, Unsupported> {
        let remove = |text: &str| match (self, &entry.content) {
            (Format::Json, Content::Strings(strings)) => {
                json::remove_strings(text, entry.path, strings)
            }
            (Format::Json, _) => json::remove(text, entry.path),
            (Format::Toml, _) => toml::remove(text, entry.path),
            (Format::YamlMap | Format::YamlList, _) => {
                yaml::remove(text, self.collection(), pair(entry))
            }
        };
        let after = below_bom(text, remove)?;
        self.verify(text, &after, slice::from_ref(entry))?;
        Ok(after)
    }

    /// Checks that two versions differ only in entries, and in objects on the way to them.
    ///
    /// YAML is compared by its lines.
    pub fn verify(self, before: &str, after: &str, entries: &[Entry]) -> Result<(), Unsupported> {
        let rest = |text: &str| {
            let text = text.strip_prefix(BOM).unwrap_or(text);
            let value = match (self, entries) {
                (Format::Json, _) => json::value_of(text)?,
                (Format::Toml, _) => toml::value_of(text)?,
                (_, [entry]) => {
                    return Ok(Some(yaml::rest(text, self.collection(), pair(entry))?.into()));
                }
                _ => return unsupported("a file in YAML has one entry"),
            };
            let without = |value, entry: &Entry| without(value, entry.path, &entry.content);
            Ok(value.map(|value| entries.iter().fold(value, without)))
        };
        let is_nothing = |it: &Option<Value>| matches!(it, None | Some(Value::Null));
        let (before, after) = (rest(before)?, rest(after)?);
        if before == after || (is_nothing(&before) && is_nothing(&after)) {
            return Ok(());
        }
        unsupported("other settings would change")
    }

    /// Checks that a file in YAML has an entry with its values. The other formats are parsed anyway.
    fn verify_entry(self, text: &str, entry: &Entry) -> Result<(), Unsupported> {
        let Content::Object(Value::Object(wanted)) = &entry.content else { return Ok(()) };
        if matches!(self, Format::Json | Format::Toml) {
            return Ok(());
        }
        let found = self.get(text, entry)?.unwrap_or_default();
        match wanted.iter().all(|(key, value)| found.get(key) == Some(value)) {
            true => Ok(()),
            false => unsupported("the entry would not have its values"),
        }
    }

    /// Returns a file with nothing but an entry, for the user to insert.
    pub fn snippet(self, entry: &Entry) -> String {
        self.set("", entry).unwrap_or_default()
    }

    fn collection(self) -> Collection {
        if self == Format::YamlList { Collection::List } else { Collection::Map }
    }
}

fn pair(entry: &Entry) -> [&'static str; 2] {
    match entry.path {
        [key, name] => [key, name],
        _ => unreachable!("entries in YAML have two keys"),
    }
}

fn below_bom(
    text: &str,
    change: impl Fn(&str) -> Result<String, Unsupported>,
) -> Result<String, Unsupported> {
    match text.strip_prefix(BOM) {
        Some(text) => Ok(format!("{BOM}{}", change(text)?)),
        None => change(text),
    }
}

/// Returns a document without an entry and without the empty values that led to it.
fn without(value: Value, path: &[&str], content: &Content) -> Value {
    let (value, is_empty) = match (value, path.split_first(), content) {
        (Value::Object(mut object), Some((key, deeper)), _) => {
            let inner = object.remove(*key).map(|inner| without(inner, deeper, content));
            if let Some(inner) = inner.filter(|inner| !inner.is_null()) {
                object.insert(key.to_string(), inner);
            }
            let is_empty = object.is_empty();
            (Value::Object(object), is_empty)
        }
        (Value::Array(mut items), None, Content::Strings(strings)) => {
            items.retain(|item| !strings.iter().any(|it| item == it));
            let is_empty = items.is_empty();
            (Value::Array(items), is_empty)
        }
        (_, None, Content::Object(_)) => (Value::Null, true),
        (value, _, _) => (value, false),
    };
    if is_empty { Value::Null } else { value }
}
