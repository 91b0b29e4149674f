//! Assembles rows from columns: lists, structures and maps, from levels.
//!
//! Each column inside a field has a level entry for every value and for every position where a list
//! is empty or an enclosing value is null. The entries of all columns of a field are in step.

use std::borrow::Cow;
use std::ops::Range;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::{Type as SchemaType, TypePtr};
use serde_json::{Map, Value as Json};

use super::leaf::{Leaf, size};
use super::scalar::Scalar;
use super::variant::Names;
use crate::budget::cut;
use crate::table::{Alignment, Type, Value};

/// The most characters of a type's name, which contains the names of all fields of a structure.
const MAX_TYPE_CHARS: usize = 200;

/// The quotes, and the comma or colon, of a text inside a nested value.
const QUOTES: usize = 4;

/// A field, or a part of one.
pub struct Node {
    shape: NodeKind,
    /// The columns inside, by index in the file.
    pub leaves: Range<usize>,
    /// It is null where its first column is below this level.
    def_level: i16,
}

enum NodeKind {
    Scalar(Scalar),
    Struct(Vec<(String, Node)>),
    List(Box<Node>, Repeated),
    Map(Box<Node>, Box<Node>, Repeated),
    /// A VARIANT, whose columns are those of a structure.
    Variant(Box<Node>),
}

/// The levels at which elements exist and at which they continue the same list.
#[derive(Clone, Copy)]
struct Repeated {
    def_level: i16,
    rep_level: i16,
}

/// Builds nodes from the schema, column by column.
#[derive(Default)]
pub struct Builder {
    n_leaves: usize,
    /// Whether the fields are parts of a VARIANT.
    is_variant: bool,
}

/// The levels that enclose a field.
#[derive(Clone, Copy, Default)]
struct Levels {
    def: i16,
    rep: i16,
}

impl Builder {
    /// Returns the next field of the file.
    pub fn field(&mut self, field: &SchemaType) -> Node {
        self.node(field, Levels::default())
    }

    fn node(&mut self, field: &SchemaType, around: Levels) -> Node {
        match field.get_basic_info().repetition() {
            Repetition::REQUIRED => self.present(field, around),
            Repetition::OPTIONAL => {
                self.present(field, Levels { def: around.def + 1, rep: around.rep })
            }
            // A repeated field outside a list is a list itself, and never null.
            Repetition::REPEATED => {
                let inside = Levels { def: around.def + 1, rep: around.rep + 1 };
                let start = self.n_leaves;
                let element = self.present(field, inside);
                let shape = NodeKind::List(Box::new(element), inside.repeated());
                Node { shape, leaves: start..self.n_leaves, def_level: around.def }
            }
        }
    }

    /// Returns the node of a field where it is not null.
    fn present(&mut self, field: &SchemaType, levels: Levels) -> Node {
        let start = self.n_leaves;
        let shape = if field.is_primitive() {
            self.n_leaves += 1;
            let is_raw = self.is_variant && matches!(field.name(), "metadata" | "value");
            NodeKind::Scalar(if is_raw { Scalar::raw() } else { Scalar::new(field) })
        } else if is_variant(field) && !self.is_variant {
            self.is_variant = true;
            let shape = self.structure(field.get_fields(), levels);
            self.is_variant = false;
            let leaves = start..self.n_leaves;
            NodeKind::Variant(Box::new(Node { shape, leaves, def_level: levels.def }))
        } else {
            match (kind_of_group(field), field.get_fields()) {
                (Group::List, [repeated]) => self.list(field, repeated, levels),
                (Group::Map, [entries]) => self.map(entries, levels),
                (_, fields) => self.structure(fields, levels),
            }
        };
        Node { shape, leaves: start..self.n_leaves, def_level: levels.def }
    }

    fn structure(&mut self, fields: &[TypePtr], levels: Levels) -> NodeKind {
        let fields = fields.iter().map(|it| (it.name().to_owned(), self.node(it, levels)));
        NodeKind::Struct(fields.collect())
    }

    fn list(&mut self, list: &SchemaType, repeated: &SchemaType, around: Levels) -> NodeKind {
        let inside = Levels { def: around.def + 1, rep: around.rep + 1 };
        let element = if is_element(list, repeated) {
            self.present(repeated, inside)
        } else {
            self.node(&repeated.get_fields()[0], inside)
        };
        NodeKind::List(Box::new(element), inside.repeated())
    }

    fn map(&mut self, entries: &SchemaType, around: Levels) -> NodeKind {
        let inside = Levels { def: around.def + 1, rep: around.rep + 1 };
        match entries.get_fields() {
            [key, value] => {
                let (key, value) = (self.node(key, inside), self.node(value, inside));
                NodeKind::Map(Box::new(key), Box::new(value), inside.repeated())
            }
            _ => NodeKind::List(Box::new(self.present(entries, inside)), inside.repeated()),
        }
    }
}

impl Levels {
    fn repeated(self) -> Repeated {
        Repeated { def_level: self.def, rep_level: self.rep }
    }
}

enum Group {
    List,
    Map,
    Struct,
}

fn is_variant(group: &SchemaType) -> bool {
    matches!(group.get_basic_info().logical_type_ref(), Some(LogicalType::Variant(_)))
}

/// Classifies a group: lists and maps have one repeated field.
fn kind_of_group(group: &SchemaType) -> Group {
    let info = group.get_basic_info();
    let is_repeated = |field: &SchemaType| {
        let info = field.get_basic_info();
        info.has_repetition() && info.repetition() == Repetition::REPEATED
    };
    match (group.get_fields(), info.logical_type_ref(), info.converted_type()) {
        ([only], ..) if !is_repeated(only) => Group::Struct,
        ([_], Some(LogicalType::List), _) | ([_], _, ConvertedType::LIST) => Group::List,
        ([only], Some(LogicalType::Map), _)
        | ([only], _, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
            if only.is_group() =>
        {
            Group::Map
        }
        _ => Group::Struct,
    }
}

/// Returns whether the repeated field of a list is its element, as older writers have it, not a
/// group around the element.
fn is_element(list: &SchemaType, repeated: &SchemaType) -> bool {
    if repeated.is_primitive() || repeated.get_fields().len() != 1 {
        return true;
    }
    let only = repeated.get_fields()[0].get_basic_info();
    if only.has_repetition() && only.repetition() == Repetition::REPEATED {
        return matches!(kind_of_group(repeated), Group::Struct);
    }
    repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name())
}

impl Node {
    /// Returns the columns inside, with the meaning of their values.
    pub fn scalars(&self) -> Vec<&Scalar> {
        match &self.shape {
            NodeKind::Scalar(scalar) => vec![scalar],
            NodeKind::Struct(fields) => fields.iter().flat_map(|(_, it)| it.scalars()).collect(),
            NodeKind::List(element, _) => element.scalars(),
            NodeKind::Map(key, value, _) => [key.scalars(), value.scalars()].concat(),
            NodeKind::Variant(parts) => parts.scalars(),
        }
    }

    /// Returns the type's name in the file.
    pub fn kind(&self) -> Type {
        match &self.shape {
            NodeKind::Scalar(scalar) => scalar.kind.clone(),
            _ => {
                let mut name = String::new();
                self.write_name(&mut name);
                Type::Exact(Cow::Owned(cut(&name, MAX_TYPE_CHARS)), Alignment::Left)
            }
        }
    }

    fn write_name(&self, name: &mut String) {
        match &self.shape {
            NodeKind::Scalar(scalar) => *name += &scalar.kind.to_string(),
            NodeKind::Struct(fields) => {
                *name += "struct<";
                for (index, (field, node)) in fields.iter().enumerate() {
                    *name += if index == 0 { "" } else { ", " };
                    *name += field;
                    *name += " ";
                    node.write_name(name);
                }
                *name += ">";
            }
            NodeKind::List(element, _) => {
                *name += "list<";
                element.write_name(name);
                *name += ">";
            }
            NodeKind::Map(key, value, _) => {
                *name += "map<";
                key.write_name(name);
                *name += ",";
                value.write_name(name);
                *name += ">";
            }
            NodeKind::Variant(_) => *name += "variant",
        }
    }

    /// Takes the next value. `leaves` are those of the enclosing field.
    pub fn take(&self, leaves: &mut Leaves<'_>) -> Value {
        let def_level = match leaves.get(self.leaves.start) {
            Some(leaf) => leaf.def_level(),
            // A structure without fields has no column that could say whether it is null.
            None => return Value::Null,
        };
        match &self.shape {
            NodeKind::Scalar(_) => leaves.take(self.leaves.start),
            _ if def_level < self.def_level => leaves.skip(self.leaves.clone()),
            NodeKind::Struct(fields) => {
                let take = |(name, node): &(String, Node)| {
                    leaves.n_bytes += name.len() + QUOTES;
                    (name.clone(), json(node.take(leaves)))
                };
                Value::Json(Json::Object(fields.iter().map(take).collect()))
            }
            NodeKind::List(element, repeated) => {
                let mut elements = Vec::new();
                let n_more = self.each(*repeated, leaves, |leaves, is_shown| {
                    let value = element.take(leaves);
                    if is_shown {
                        elements.push(json(value));
                    }
                });
                elements.extend(n_more.map(|n_more| format!("… ({n_more})").into()));
                Value::Json(Json::Array(elements))
            }
            NodeKind::Map(key, value, repeated) => {
                let mut entries = Vec::new();
                let n_more = self.each(*repeated, leaves, |leaves, is_shown| {
                    let entry = (key.take(leaves), value.take(leaves));
                    if is_shown {
                        entries.push((json(entry.0), json(entry.1)));
                    }
                });
                entries.extend(n_more.map(|n_more| ("…".into(), format!("({n_more})").into())));
                Value::Json(map(entries))
            }
            NodeKind::Variant(parts) => variant(parts, parts.take(leaves)),
        }
    }

    /// Visits the elements of a list, and says from which one on they are not shown. Returns the
    /// number of those, as text.
    fn each(
        &self,
        repeated: Repeated,
        leaves: &mut Leaves<'_>,
        mut visit: impl FnMut(&mut Leaves<'_>, bool),
    ) -> Option<String> {
        let mut n_more = 0;
        let first = self.leaves.start;
        if leaves.get(first).is_none_or(|leaf| leaf.def_level() < repeated.def_level) {
            leaves.skip(self.leaves.clone());
            return None;
        }
        loop {
            let is_shown = !leaves.is_full();
            visit(leaves, is_shown);
            n_more += usize::from(!is_shown);
            // Every element takes an entry of the first column, so this loop ends.
            if leaves.get(first).is_none_or(|leaf| leaf.rep_level() < repeated.rep_level) {
                break;
            }
        }
        match leaves.get(first).is_some_and(Leaf::is_cut_here) {
            true => Some(format!("+{n_more} or more")),
            false => (n_more > 0).then(|| format!("+{n_more} more")),
        }
    }
}

/// The columns of a field, while a row is assembled.
pub struct Leaves<'a> {
    leaves: &'a mut [Leaf],
    /// The index of the first column in the file.
    first: usize,
    /// The bytes of the cell taken so far, and the limit at which its lists are cut.
    n_bytes: usize,
    max_cell: usize,
}

impl<'a> Leaves<'a> {
    /// Starts a row.
    pub fn new(leaves: &'a mut [Leaf], first: usize, max_cell: usize) -> Leaves<'a> {
        Leaves { leaves, first, n_bytes: 0, max_cell }
    }

    fn get(&self, index: usize) -> Option<&Leaf> {
        self.leaves.get(index - self.first)
    }

    fn take(&mut self, index: usize) -> Value {
        let value = self.leaves[index - self.first].take();
        self.n_bytes += size(&value) + if matches!(value, Value::Text(_)) { QUOTES } else { 0 };
        value
    }

    /// Takes the entry that each column has where an enclosing value is null or empty.
    fn skip(&mut self, columns: Range<usize>) -> Value {
        for index in columns {
            self.leaves[index - self.first].take();
        }
        Value::Null
    }

    fn is_full(&self) -> bool {
        self.n_bytes > self.max_cell
    }
}

/// Returns a map as an object, unless a key occurs twice.
fn map(entries: Vec<(Json, Json)>) -> Json {
    let mut object = Map::new();
    for (key, value) in &entries {
        let key = match key {
            Json::String(text) => text.clone(),
            key => key.to_string(),
        };
        if object.insert(key, value.clone()).is_some() {
            let pair = |(key, value)| Json::Array(vec![key, value]);
            return Json::Array(entries.into_iter().map(pair).collect());
        }
    }
    Json::Object(object)
}

/// Puts the parts of a VARIANT together.
fn variant(parts: &Node, value: Value) -> Value {
    let Value::Json(Json::Object(mut taken)) = value else { return value };
    let metadata = taken.shift_remove("metadata").map(bytes).unwrap_or_default();
    let unreadable = || Value::Text("(not a VARIANT, or too long)".into());
    let Some(names) = Names::parse(&metadata) else { return unreadable() };
    match unshred(parts, Json::Object(taken), &names) {
        Some(Some(value)) => Value::Json(value),
        Some(None) => Value::Null,
        None => unreadable(),
    }
}

/// Returns the value of a pair of `value` and `typed_value`. The inner `None` is a missing value.
fn unshred(pair: &Node, taken: Json, names: &Names<'_>) -> Option<Option<Json>> {
    // The mark for elements that are not shown.
    let Json::Object(mut taken) = taken else { return Some(Some(taken)) };
    let encoded = taken.shift_remove("value").filter(|it| !it.is_null());
    let encoded = match encoded {
        Some(encoded) => Some(names.decode(&bytes(encoded))?),
        None => None,
    };
    let Some(typed) = taken.shift_remove("typed_value").filter(|it| !it.is_null()) else {
        return Some(encoded);
    };
    let NodeKind::Struct(fields) = &pair.shape else { return None };
    let node = fields.iter().find(|(name, _)| name == "typed_value").map(|(_, node)| node)?;
    match (&node.shape, typed) {
        (NodeKind::List(element, _), Json::Array(elements)) => {
            let element = |it| unshred(element, it, names).map(Option::unwrap_or_default);
            let elements: Option<Vec<Json>> = elements.into_iter().map(element).collect();
            Some(Some(Json::Array(elements?)))
        }
        (NodeKind::Struct(members), Json::Object(mut typed)) => {
            let mut object = Map::new();
            for (name, member) in members {
                let taken = typed.shift_remove(name).unwrap_or_default();
                if !taken.is_null()
                    && let Some(value) = unshred(member, taken, names)?
                {
                    object.insert(name.clone(), value);
                }
            }
            if let Some(Json::Object(others)) = encoded {
                others.into_iter().for_each(|(name, value)| {
                    object.entry(name).or_insert(value);
                });
            }
            Some(Some(Json::Object(object)))
        }
        (_, typed) => Some(Some(typed)),
    }
}

/// Returns the bytes of a part of a VARIANT.
fn bytes(raw: Json) -> Vec<u8> {
    let text = raw.as_str().unwrap_or_default();
    text.chars().map(|c| u8::try_from(c).unwrap_or_default()).collect()
}

fn json(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => value.into(),
        Value::Integer(value) => value.into(),
        Value::Number(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::Json(value) => value,
    }
}
