//! Iterates over the members of an object without parsing their values.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Visits the members of an object, in order. A text that is not an object has none.
pub fn each_member(object: &str, visit: impl FnMut(String, &RawValue)) {
    let mut parser = serde_json::Deserializer::from_str(object);
    // The text was checked before, so there is no error to report.
    let _ = parser.deserialize_map(Members(visit));
}

/// Visits a GeoJSON feature as if its properties were next to its geometry, as DuckDB shows it.
/// Visits any other object unchanged.
pub fn each_member_of_feature(object: &str, mut visit: impl FnMut(String, &RawValue)) {
    let mut is_feature = false;
    each_member(object, |key, value| is_feature |= key == "type" && value.get() == "\"Feature\"");
    if !is_feature {
        return each_member(object, visit);
    }
    let mut taken = vec!["geometry".to_owned()];
    each_member(object, |key, value| {
        if key == "geometry" {
            visit(key, value);
        }
    });
    each_member(object, |key, value| {
        if !matches!(key.as_str(), "type" | "geometry" | "properties") {
            // A feature has few members; duplicates among more of them are not resolved.
            if taken.len() < 16 {
                taken.push(key.clone());
            }
            visit(key, value);
        }
    });
    each_member(object, |key, value| {
        if key == "properties" {
            each_member(value.get(), |key, value| {
                let is_taken = taken.contains(&key);
                visit(if is_taken { format!("{key}_1") } else { key }, value);
            });
        }
    });
}

struct Members<F>(F);

impl<'de, F: FnMut(String, &RawValue)> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some((key, value)) = members.next_entry::<String, &RawValue>()? {
            (self.0)(key, value);
        }
        Ok(())
    }
}
