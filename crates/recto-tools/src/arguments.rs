//! What tools take: declared once, published as a JSON schema, and checked against it.
//!
//! Models send numbers as strings and null for absent; both are understood. What is not declared
//! is refused by name, because a misspelt option that is ignored does harm in silence.

use std::borrow::Cow;

use crate::error::{Error, Result};
use recto_text::Digest;
use recto_text::line_range::Interval;
use serde_json::{Map, Value, json};

/// One declared argument.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it means, for a model.
    pub description: &'static str,
}

/// What an argument may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string, taken as it is.
    String,
    /// A string that may be a bare number.
    NumberOrString,
    /// Text for a file; a leading U+FEFF is not part of it.
    Text,
    /// A whole number.
    Integer {
        /// The smallest that makes sense; smaller ones are refused by the tool in its own words.
        minimum: Option<i64>,
    },
    /// true or false.
    Boolean,
    /// A version tag.
    Hash,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Two whole numbers, `[start, end)`.
    Lines,
    /// A list of objects.
    Objects(&'static [Param]),
}

impl Param {
    /// An argument that must be there.
    pub const fn required(name: &'static str, kind: Kind, description: &'static str) -> Param {
        Param { name, kind, is_required: true, description }
    }

    /// An argument that may be left out.
    pub const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Param {
        Param { name, kind, is_required: false, description }
    }
}

/// The JSON schema of an object with these members.
pub fn schema(params: &[Param]) -> Map<String, Value> {
    let mut properties = Map::new();
    for param in params {
        let mut property = match param.kind {
            Kind::String | Kind::NumberOrString | Kind::Text | Kind::Hash => {
                json!({"type": "string"})
            }
            Kind::Integer { minimum: Some(minimum) } => {
                json!({"type": "integer", "minimum": minimum})
            }
            Kind::Integer { minimum: None } => json!({"type": "integer"}),
            Kind::Boolean => json!({"type": "boolean"}),
            Kind::Word(words) => json!({"type": "string", "enum": words}),
            Kind::Lines => {
                json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2})
            }
            Kind::Objects(members) => json!({"type": "array", "items": schema(members)}),
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

/// Arguments that were checked against their declaration.
#[derive(Debug)]
pub struct Arguments {
    /// Every value is of the declared kind; nothing else is there.
    values: Map<String, Value>,
}

impl Arguments {
    /// Checks everything that can be said without knowing the tool.
    pub fn check(params: &[Param], arguments: Map<String, Value>) -> Result<Arguments> {
        Arguments::check_within("", params, arguments)
    }

    fn check_within(
        place: &str,
        params: &[Param],
        mut given: Map<String, Value>,
    ) -> Result<Arguments> {
        if let Some(name) =
            given.keys().find(|name| !params.iter().any(|param| param.name == *name))
        {
            let known: Vec<_> = params.iter().map(|param| param.name).collect();
            let who = if place.is_empty() { "This tool" } else { place.trim_end_matches('.') };
            return Err(Error::UnknownArgument {
                name: format!("{place}{name}"),
                known: format!("{who} takes: {}", known.join(", ")),
            });
        }
        let mut values = Map::new();
        for param in params {
            let name = format!("{place}{}", param.name);
            match given.remove(param.name) {
                None if param.is_required => return Err(Error::MissingArgument { name }),
                None => {}
                Some(Value::Null) if !param.is_required => {}
                Some(value) => {
                    values.insert(param.name.into(), checked(&name, param.kind, value)?);
                }
            }
        }
        Ok(Arguments { values })
    }

    /// A string or text.
    pub fn string(&mut self, name: &str) -> String {
        self.optional_string(name).expect("required arguments are checked to be there")
    }

    /// A string or text that may be left out.
    pub fn optional_string(&mut self, name: &str) -> Option<String> {
        match self.values.remove(name)? {
            Value::String(text) => Some(text),
            _ => unreachable!("arguments are checked against their kind"),
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.values.get(name).map(|value| value.as_i64().expect("integers are made to fit"))
    }

    /// A flag, false where it is left out.
    pub fn boolean(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A version tag.
    pub fn hash(&mut self, name: &str) -> Option<Digest> {
        let text = self.optional_string(name)?;
        Some(text.parse().expect("tags are checked to be such"))
    }

    /// A range of lines.
    pub fn lines(&self, name: &str) -> Option<Interval> {
        let numbers = self.values.get(name)?.as_array().expect("ranges are checked to be lists");
        let number = |index: usize| numbers[index].as_i64().expect("integers are made to fit");
        Some(Interval { start: number(0), end: number(1) })
    }

    /// The members of a list of objects.
    pub fn objects(&mut self, name: &str) -> Vec<Arguments> {
        match self.values.remove(name) {
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| match item {
                    Value::Object(values) => Arguments { values },
                    _ => unreachable!("items are checked to be objects"),
                })
                .collect(),
            _ => unreachable!("lists are checked to be such"),
        }
    }
}

fn checked(name: &str, kind: Kind, value: Value) -> Result<Value> {
    let wrong = |expected: Cow<'static, str>, value: &Value| {
        Err(Error::WrongArgument { name: name.into(), expected, value: value.to_string() })
    };
    match (kind, value) {
        (Kind::String, Value::String(text)) => Ok(text.into()),
        (Kind::NumberOrString, Value::String(text)) => Ok(text.into()),
        (Kind::NumberOrString, Value::Number(number)) => {
            // `3.0` is spelled as people do.
            let value = Value::Number(number);
            Ok(as_integer(&value).map_or_else(|| value.to_string(), |n| n.to_string()).into())
        }
        (Kind::Text, Value::String(text)) => Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.into(),
            None => text.into(),
        }),
        (Kind::Hash, Value::String(text)) if text.parse::<Digest>().is_ok() => Ok(text.into()),
        (Kind::Hash, value) => wrong("12 hex digits".into(), &value),
        (Kind::String | Kind::NumberOrString | Kind::Text, value) => {
            wrong("a string".into(), &value)
        }
        (Kind::Integer { .. }, value) => match as_integer(&value) {
            Some(integer) => Ok(integer.into()),
            None => wrong("an integer".into(), &value),
        },
        (Kind::Boolean, Value::Bool(flag)) => Ok(flag.into()),
        (Kind::Boolean, Value::String(text)) if text == "true" || text == "false" => {
            Ok((text == "true").into())
        }
        (Kind::Boolean, value) => wrong("a boolean".into(), &value),
        (Kind::Word(words), Value::String(text)) if words.contains(&text.as_str()) => {
            Ok(text.into())
        }
        (Kind::Word(words), value) => wrong(words.join(" or ").into(), &value),
        (Kind::Lines, value) => match value.as_array().map(Vec::as_slice) {
            Some([start, end]) if as_integer(start).is_some() && as_integer(end).is_some() => {
                Ok(json!([as_integer(start), as_integer(end)]))
            }
            _ => wrong("two integers [start, end]".into(), &value),
        },
        (Kind::Objects(members), Value::Array(items)) => {
            let mut checked = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let place = format!("{name}[{index}]");
                let Value::Object(item) = item else {
                    let value = item.to_string();
                    return Err(Error::WrongArgument {
                        name: place,
                        expected: "an object".into(),
                        value,
                    });
                };
                let item = Arguments::check_within(&format!("{place}."), members, item)?;
                checked.push(Value::Object(item.values));
            }
            Ok(Value::Array(checked))
        }
        (Kind::Objects(_), value) => wrong("an array".into(), &value),
    }
}

/// A whole number, also as digits in a string or as `2.0`; one too large for 64 bits is as good
/// as the largest.
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
    fn numbers_come_in_many_forms() {
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
}
