//! Tool arguments: declared once, published as a JSON schema, and checked against it.
//!
//! Models send numbers and arrays as strings, null for absent arguments, and `file_path` for `path`;
//! [`normalized`] turns these into the declared form. An undeclared argument is rejected by name,
//! because silently ignoring a misspelt option does harm.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, Result};
use recto_text::Tag;
use recto_text::line_range::Interval;
use serde_json::{Map, Value, json};

use crate::limits;

/// One declared argument.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The name in the call.
    pub name: &'static str,
    /// The accepted type.
    pub kind: ParamKind,
    /// Whether the call must have it.
    pub is_required: bool,
    /// The meaning, for a model.
    pub description: &'static str,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy)]
pub enum ParamKind {
    /// A string, used unchanged.
    String,
    /// A string, or a number that is read as one.
    NumberOrString,
    /// Text for a file, without a leading U+FEFF.
    Text,
    /// An integer.
    Integer {
        /// The minimum in the schema. The tool itself rejects smaller values.
        minimum: Option<i64>,
    },
    /// A boolean.
    Boolean,
    /// A version tag.
    Hash,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Two integers, `[start, end)`.
    Lines,
    /// A list of strings, or a string with commas between them.
    Strings,
    /// A list of objects.
    Objects(&'static [Param]),
}

impl Param {
    /// Declares a required argument.
    pub const fn required(name: &'static str, kind: ParamKind, description: &'static str) -> Param {
        Param { name, kind, is_required: true, description }
    }

    /// Declares an optional argument.
    pub const fn optional(name: &'static str, kind: ParamKind, description: &'static str) -> Param {
        Param { name, kind, is_required: false, description }
    }
}

/// Returns the JSON schema of an object with these members.
pub fn schema(params: &[Param]) -> Map<String, Value> {
    let mut properties = Map::new();
    for param in params {
        let mut property = match param.kind {
            ParamKind::String | ParamKind::NumberOrString | ParamKind::Text | ParamKind::Hash => {
                json!({"type": "string"})
            }
            ParamKind::Integer { minimum: Some(minimum) } => {
                json!({"type": "integer", "minimum": minimum})
            }
            ParamKind::Integer { minimum: None } => json!({"type": "integer"}),
            ParamKind::Boolean => json!({"type": "boolean"}),
            ParamKind::Word(words) => json!({"type": "string", "enum": words}),
            ParamKind::Lines => {
                json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2})
            }
            ParamKind::Strings => json!({"type": "array", "items": {"type": "string"}}),
            ParamKind::Objects(members) => json!({"type": "array", "items": schema(members)}),
        };
        if !param.description.is_empty() {
            property["description"] = param.description.into();
        }
        properties.insert(param.name.into(), property);
    }
    let required: Vec<_> =
        params.iter().filter(|param| param.is_required).map(|param| param.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// Lists the declared arguments of a tool, or of the item at a place such as `edits[0].`.
pub fn known(place: &str, params: &[Param]) -> String {
    let known: Vec<_> = params.iter().map(|param| param.name).collect();
    let who = if place.is_empty() { "This tool" } else { place.trim_end_matches('.') };
    format!("{who} accepts: {}", known.join(", "))
}

/// The names that are accepted for each other.
const ALIASES: [&str; 2] = ["path", "file_path"];

/// Returns arguments in the declared form: under their declared names, without nulls, and with arrays
/// instead of JSON in strings. Nothing else is parsed, and what does not match stays as it is.
pub fn normalized(params: &[Param], mut given: Map<String, Value>) -> Map<String, Value> {
    given.retain(|_, value| !value.is_null());
    if let Some((name, alias)) = alias(params)
        && given.get(name).is_none_or(|value| Some(value) == given.get(alias))
        && let Some(value) = given.remove(alias)
    {
        given.insert(name.into(), value);
    }
    for param in params {
        let Some(value) = given.get_mut(param.name) else { continue };
        if matches!(param.kind, ParamKind::Lines | ParamKind::Objects(_))
            && let Value::String(json) = value
            && json.len() <= limits::JSON_ARGUMENT
            && let Ok(items) = serde_json::from_str::<Vec<Value>>(json)
        {
            *value = items.into();
        }
        if let (ParamKind::Objects(members), Value::Array(items)) = (param.kind, value) {
            for item in items.iter_mut().filter_map(Value::as_object_mut) {
                *item = normalized(members, std::mem::take(item));
            }
        }
    }
    given
}

/// Returns the declared name that has an alias, and the alias.
fn alias(params: &[Param]) -> Option<(&'static str, &'static str)> {
    let [one, other] = ALIASES;
    let is_declared = |name| params.iter().any(|param| param.name == name);
    match (is_declared(one), is_declared(other)) {
        (true, false) => Some((one, other)),
        (false, true) => Some((other, one)),
        _ => None,
    }
}

/// Arguments that match their declaration.
#[derive(Debug)]
pub struct Arguments(HashMap<&'static str, Argument>);

/// A value of the declared type.
#[derive(Debug)]
enum Argument {
    String(String),
    Integer(i64),
    Boolean(bool),
    Hash(Tag),
    Lines(Interval),
    Strings(Vec<String>),
    Objects(Vec<Arguments>),
}

impl Arguments {
    /// Checks names and types of [`normalized`] arguments. The tool checks their values.
    pub fn check(params: &[Param], arguments: Map<String, Value>) -> Result<Arguments> {
        Arguments::check_within("", params, arguments)
    }

    fn check_within(
        place: &str,
        params: &[Param],
        mut given: Map<String, Value>,
    ) -> Result<Arguments> {
        if let Some((name, alias)) = alias(params)
            && given.contains_key(name)
            && given.contains_key(alias)
        {
            return Err(Error::TwoNames { name, alias });
        }
        let known = || known(place, params);
        if let Some(name) =
            given.keys().find(|name| !params.iter().any(|param| param.name == *name))
        {
            return Err(Error::UnknownArgument { name: format!("{place}{name}"), known: known() });
        }
        let mut values = HashMap::new();
        for param in params {
            let name = format!("{place}{}", param.name);
            match given.remove(param.name) {
                None if param.is_required => {
                    return Err(Error::MissingArgument { name, known: known() });
                }
                None => {}
                Some(value) => {
                    values.insert(param.name, checked(&name, param.kind, value)?);
                }
            }
        }
        Ok(Arguments(values))
    }

    /// Returns a required string or text.
    pub fn string(&mut self, name: &str) -> String {
        self.optional_string(name).expect("required arguments are checked to be there")
    }

    /// Returns an optional string or text.
    pub fn optional_string(&mut self, name: &str) -> Option<String> {
        self.take(name, |it| if let Argument::String(text) = it { Some(text) } else { None })
    }

    /// Returns an integer, if given.
    pub fn integer(&mut self, name: &str) -> Option<i64> {
        self.take(name, |it| if let Argument::Integer(integer) = it { Some(integer) } else { None })
    }

    /// Returns a flag, which defaults to false.
    pub fn boolean(&mut self, name: &str) -> bool {
        self.optional_boolean(name).unwrap_or(false)
    }

    /// Returns a flag, if given.
    pub fn optional_boolean(&mut self, name: &str) -> Option<bool> {
        self.take(name, |it| if let Argument::Boolean(flag) = it { Some(flag) } else { None })
    }

    /// Returns a version tag, if given.
    pub fn hash(&mut self, name: &str) -> Option<Tag> {
        self.take(name, |it| if let Argument::Hash(tag) = it { Some(tag) } else { None })
    }

    /// Returns a range of lines, if given.
    pub fn lines(&mut self, name: &str) -> Option<Interval> {
        self.take(name, |it| if let Argument::Lines(lines) = it { Some(lines) } else { None })
    }

    /// Returns a list of strings, which defaults to empty.
    pub fn strings(&mut self, name: &str) -> Vec<String> {
        let strings = |it| if let Argument::Strings(strings) = it { Some(strings) } else { None };
        self.take(name, strings).unwrap_or_default()
    }

    /// Returns the items of a list of objects, which defaults to empty.
    pub fn objects(&mut self, name: &str) -> Vec<Arguments> {
        let objects = |it| if let Argument::Objects(items) = it { Some(items) } else { None };
        self.take(name, objects).unwrap_or_default()
    }

    fn take<T>(&mut self, name: &str, of_kind: impl Fn(Argument) -> Option<T>) -> Option<T> {
        let value = of_kind(self.0.remove(name)?);
        Some(value.expect("a tool asks for the kind of argument that it declares"))
    }
}

fn checked(name: &str, kind: ParamKind, value: Value) -> Result<Argument> {
    let wrong = |expected: Cow<'static, str>, value: &Value| {
        Err(Error::WrongArgument { name: name.into(), expected, value: value.to_string() })
    };
    match (kind, value) {
        (ParamKind::String | ParamKind::NumberOrString, Value::String(text)) => {
            Ok(Argument::String(text))
        }
        (ParamKind::NumberOrString, value @ Value::Number(_)) => {
            // `3.0` becomes "3".
            let integer = as_integer(&value).map(|n| n.to_string());
            Ok(Argument::String(integer.unwrap_or_else(|| value.to_string())))
        }
        (ParamKind::Text, Value::String(text)) => {
            Ok(Argument::String(match text.strip_prefix('\u{feff}') {
                Some(rest) => rest.into(),
                None => text,
            }))
        }
        (ParamKind::String | ParamKind::NumberOrString | ParamKind::Text, value) => {
            wrong("a string".into(), &value)
        }
        (ParamKind::Hash, value) => match value.as_str().and_then(|text| text.parse().ok()) {
            Some(tag) => Ok(Argument::Hash(tag)),
            None => wrong("12 hex digits".into(), &value),
        },
        (ParamKind::Integer { .. }, value) => match as_integer(&value) {
            Some(integer) => Ok(Argument::Integer(integer)),
            None => wrong("an integer".into(), &value),
        },
        (ParamKind::Boolean, Value::Bool(flag)) => Ok(Argument::Boolean(flag)),
        (ParamKind::Boolean, value) => match value.as_str().and_then(|text| text.parse().ok()) {
            Some(flag) => Ok(Argument::Boolean(flag)),
            None => wrong("a boolean".into(), &value),
        },
        (ParamKind::Word(words), Value::String(text)) if words.contains(&text.as_str()) => {
            Ok(Argument::String(text))
        }
        (ParamKind::Word(words), value) => wrong(words.join(" or ").into(), &value),
        (ParamKind::Lines, value) => match value.as_array().map(Vec::as_slice) {
            Some([start, end])
                if let (Some(start), Some(end)) = (as_integer(start), as_integer(end)) =>
            {
                Ok(Argument::Lines(Interval { start, end }))
            }
            _ => wrong("two integers [start, end]".into(), &value),
        },
        (ParamKind::Strings, value) => match as_strings(&value) {
            Some(strings) => Ok(Argument::Strings(strings)),
            None => wrong("an array of strings".into(), &value),
        },
        (ParamKind::Objects(members), Value::Array(items)) => {
            let mut checked = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let place = format!("{name}[{index}]");
                let Value::Object(item) = item else {
                    let (expected, value) = ("an object".into(), item.to_string());
                    return Err(Error::WrongArgument { name: place, expected, value });
                };
                checked.push(Arguments::check_within(&format!("{place}."), members, item)?);
            }
            Ok(Argument::Objects(checked))
        }
        (ParamKind::Objects(_), value) => wrong("an array".into(), &value),
    }
}

/// Returns strings that are given as an array, as JSON in a string, or with commas between them.
fn as_strings(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(|it| it.as_str().map(String::from)).collect(),
        Value::String(text) if text.trim_start().starts_with('[') => {
            serde_json::from_str(text).ok()
        }
        Value::String(text) => Some(text.split(',').map(|it| it.trim().into()).collect()),
        _ => None,
    }
}

/// Returns an integer that is given as a number, as digits in a string or as `2.0`. Values beyond
/// 64 bits saturate.
pub fn as_integer(value: &Value) -> Option<i64> {
    const LIMIT: f64 = 9.2e18;
    match value {
        Value::Number(number) => {
            if let Some(integer) = number.as_i64() {
                return Some(integer);
            }
            let float = number.as_f64()?;
            (float.fract() == 0.0).then(|| {
                if float.abs() < LIMIT {
                    float as i64
                } else if float > 0.0 {
                    i64::MAX
                } else {
                    i64::MIN
                }
            })
        }
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
            Some(text.parse().unwrap_or(beyond))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_accepted_in_several_forms() {
        for (value, integer) in [
            (json!(5), Some(5)),
            (json!("5"), Some(5)),
            (json!("-5"), Some(-5)),
            (json!(2.0), Some(2)),
            (json!(1.5), None),
            (json!("1.5"), None),
            (json!(""), None),
            (json!("-"), None),
            (json!("ten"), None),
            (json!(u64::MAX), Some(i64::MAX)),
            (json!(1e300), Some(i64::MAX)),
            (json!(-1e300), Some(i64::MIN)),
            (json!("99999999999999999999999"), Some(i64::MAX)),
            (json!(true), None),
            (json!([1]), None),
        ] {
            assert_eq!(as_integer(&value), integer, "{value}");
        }
    }

    #[test]
    fn json_in_a_string_is_parsed_up_to_its_limit() {
        const PARAMS: &[Param] = &[Param::required("edits", ParamKind::Objects(&[]), "")];
        for (n_bytes, is_parsed) in
            [(limits::JSON_ARGUMENT, true), (limits::JSON_ARGUMENT + 1, false)]
        {
            let json = format!("[{}]", " ".repeat(n_bytes - 2));
            let given = Map::from_iter([("edits".to_string(), json.into())]);
            assert_eq!(normalized(PARAMS, given)["edits"].is_array(), is_parsed, "{n_bytes}");
        }
    }
}
