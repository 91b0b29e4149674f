//! The first rows of a table in an SQLite database.
//!
//! Reads the file format and runs no SQL, so that neither the schema nor the data of an untrusted file
//! is evaluated: views, virtual tables and computed columns are named, but not shown. Reads only the pages
//! that it needs.

mod create;
mod pages;
mod record;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Request;
use crate::budget::{Budget, MAX_COLUMNS, check_memory, cut, max_cell_chars};
use crate::error::{Error, Result};
use crate::source::Source;
use crate::table::{Alignment, Column, Table, Type, Value};
use crate::{names, select};

use create::{Defined, Definition, MAX_SQL};
use pages::{DatabaseFile, broken};
pub use pages::{MAGIC, MAX_ROW};
use record::{Stored, decode, values};

/// The most bytes of names and definitions of tables.
pub const MAX_SCHEMA: usize = 16 << 20;

/// The most characters of a note that names tables.
const MAX_NAMES: usize = 400;

/// The most characters of a type.
const MAX_TYPE_CHARS: usize = 40;

/// The table that lists all others.
const SCHEMA: &str = "sqlite_schema";
const SCHEMA_SQL: &str =
    "CREATE TABLE x(type TEXT, name TEXT, tbl_name TEXT, rootpage INT, sql TEXT)";

/// What the schema contains.
#[derive(Default)]
struct Schema {
    tables: Vec<StoredTable>,
    /// Tables that SQLite made for itself.
    internal: Vec<StoredTable>,
    views: Vec<String>,
    /// Tables of a module, whose content only the module knows.
    virtuals: Vec<String>,
}

struct StoredTable {
    name: String,
    root: u32,
    sql: String,
}

/// Returns the first rows of a table: of the one that is named, or of the first that has rows.
pub fn preview(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Table> {
    let mut database = DatabaseFile::open(source)?;
    let schema = Schema::read(&mut database, request.max_memory)?;
    let shown = schema.choose(&mut database, request.sheet)?;
    let mut table = match shown {
        Some(entry) => {
            rows(&mut database, entry, request).map_err(|error| in_table(error, entry))?
        }
        None => Table {
            columns: Vec::new(),
            n_columns: Some(0),
            rows: Vec::new(),
            has_more: false,
            notes: Vec::new(),
        },
    };
    table.notes.splice(0..0, schema.notes(shown));
    if database.has_log {
        let note = "The database has a write-ahead log; changes that are only in it are not shown.";
        table.notes.push(note.into());
    }
    Ok(table)
}

impl Schema {
    fn read(database: &mut DatabaseFile, max_memory: u64) -> Result<Schema> {
        let mut schema = Schema::default();
        let encoding = database.encoding;
        let mut walk = database.walk(1)?;
        let mut n_bytes = 0;
        while let Some(row) = walk.next(0)? {
            n_bytes += row.payload.bytes.len();
            if n_bytes > MAX_SCHEMA {
                let cause = format!("its schema has more than {} MiB", MAX_SCHEMA >> 20);
                return Err(Error::TooLarge { cause });
            }
            check_memory((2 * n_bytes + 2 * MAX_ROW) as u64, max_memory)?;
            let values = values(&row.payload, 5).ok_or_else(|| broken("its schema is damaged"))?;
            let text = |index: usize| match values.get(index) {
                Some(Stored::Text { bytes, .. }) => decode(encoding, bytes),
                _ => String::new(),
            };
            let root = match values.get(3) {
                Some(Stored::Integer(root)) => u32::try_from(*root).unwrap_or(0),
                _ => 0,
            };
            let name = text(1);
            match text(0).as_str() {
                "view" => schema.views.push(name),
                "table" if root == 0 => schema.virtuals.push(name),
                "table" => {
                    let is_internal = name.to_ascii_lowercase().starts_with("sqlite_");
                    let list = if is_internal { &mut schema.internal } else { &mut schema.tables };
                    list.push(StoredTable { name, root, sql: text(4) });
                }
                _ => {}
            }
        }
        let sql = SCHEMA_SQL.to_string();
        schema.internal.push(StoredTable { name: SCHEMA.into(), root: 1, sql });
        Ok(schema)
    }

    /// Returns the table to show. Names are compared as SQLite does.
    fn choose(
        &self,
        database: &mut DatabaseFile,
        sheet: Option<&str>,
    ) -> Result<Option<&StoredTable>> {
        let Some(sheet) = sheet else {
            for entry in &self.tables {
                if !database.is_empty(entry.root).map_err(|error| in_table(error, entry))? {
                    return Ok(Some(entry));
                }
            }
            return Ok(self.tables.first());
        };
        let is_named = |name: &str| name.eq_ignore_ascii_case(sheet);
        let mut entries = self.tables.iter().chain(&self.internal);
        if let Some(entry) = entries.find(|entry| is_named(&entry.name)) {
            return Ok(Some(entry));
        }
        if self.views.iter().any(|name| is_named(name)) {
            return Err(broken(format!("{sheet} is a view, and queries are not run")));
        }
        if self.virtuals.iter().any(|name| is_named(name)) {
            return Err(broken(format!("{sheet} is a virtual table, whose module is not run")));
        }
        let known = self.tables.iter().map(|entry| entry.name.as_str());
        let known = select::list(known.chain([SCHEMA]));
        Err(Error::NoSuchSheet { sheet: sheet.into(), known })
    }

    /// Names the tables, if there are others than the one shown, and what cannot be shown.
    fn notes(&self, shown: Option<&StoredTable>) -> Vec<String> {
        let names: Vec<&str> = self.tables.iter().map(|entry| entry.name.as_str()).collect();
        let list = |names: &[&str]| cut(&names.join(", "), MAX_NAMES);
        let mut notes = Vec::new();
        match (shown, names.len()) {
            (None, _) => notes.push("The database has no tables.".into()),
            (Some(shown), n) if n != 1 || shown.name != names[0] => {
                let name = cut(&shown.name, MAX_NAMES);
                notes.push(format!("This is table {name} of {n}: {}.", list(&names)));
            }
            _ => {}
        }
        for (what, names) in [("Views", &self.views), ("Virtual tables", &self.virtuals)] {
            if !names.is_empty() {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                notes.push(format!("{what} are not shown: {}.", list(&names)));
            }
        }
        notes
    }
}

fn rows(database: &mut DatabaseFile, entry: &StoredTable, request: &Request<'_>) -> Result<Table> {
    // For the tokens of the definition.
    let n_memory = 2 * MAX_ROW + 64 * entry.sql.len().min(MAX_SQL);
    check_memory(n_memory as u64, request.max_memory)?;
    let definition = Definition::parse(&entry.sql);
    let definition = definition.ok_or_else(|| broken("its definition is not understood"))?;
    let stored = definition.stored();
    let is_shown = |column: &&Defined| !column.is_computed;
    let columns: Vec<&Defined> = definition.columns.iter().filter(is_shown).collect();
    let n_all = columns.len();
    let n_columns = n_all.min(MAX_COLUMNS);
    // The column that is shown at each position, by the position of its definition.
    let position: Vec<Option<usize>> = {
        let mut next = 0..n_columns;
        let shown = definition.columns.iter();
        shown.map(|column| if column.is_computed { None } else { next.next() }).collect()
    };
    let max_chars = max_cell_chars(n_columns, request.max_bytes);
    let encoding = database.encoding;
    let mut budget = Budget::new(request.limit, request.max_bytes);
    let (mut rows, mut has_more, mut is_cut) = (Vec::new(), false, false);
    // The columns that have a default in some row that is not evaluated.
    let mut unknown = BTreeSet::new();
    let default = |column: &&Defined| match &column.default {
        Some(Value::Text(text)) => Value::Text(cut(text, max_chars)),
        Some(value) => value.clone(),
        None => Value::Text("…".into()),
    };
    let defaults: Vec<Value> = columns[..n_columns].iter().map(default).collect();
    let mut walk = database.walk(entry.root)?;
    let mut n_skipped = request.offset;
    while let Some(row) = walk.next(n_skipped)? {
        n_skipped = 0;
        if budget.is_spent() {
            has_more = true;
            break;
        }
        let found = values(&row.payload, stored.len()).ok_or_else(|| broken("a row is damaged"))?;
        is_cut |= found.contains(&Stored::NotRead);
        let mut cells = defaults.clone();
        let n_found = found.len();
        for (value, index) in found.into_iter().zip(&stored) {
            let Some(position) = position[*index] else { continue };
            let column = columns[position];
            cells[position] = value.shown(encoding, column.is_real, max_chars);
        }
        if let Some(position) = columns[..n_columns].iter().position(|column| column.is_rowid) {
            cells[position] = Value::Integer(row.rowid);
        }
        let defaulted = stored.iter().skip(n_found).copied();
        unknown.extend(defaulted.filter(|index| definition.columns[*index].default.is_none()));
        let n_bytes = cells.iter().map(n_bytes).sum();
        if !budget.admits(n_bytes, n_columns) {
            has_more = true;
            break;
        }
        rows.push(cells);
    }
    let unique = names::unique(columns[..n_columns].iter().map(|it| it.name.as_str()), n_all);
    let column = |(column, name): (&&Defined, String)| Column { name, kind: kind(column) };
    let mut notes = Vec::new();
    let computed = definition.columns.iter().filter(|column| column.is_computed);
    let computed = select::list(computed.map(|column| column.name.as_str()));
    if !computed.is_empty() {
        notes.push(format!("Computed columns are not shown: {computed}."));
    }
    if !unknown.is_empty() {
        let names = unknown.iter().map(|index| definition.columns[*index].name.as_str());
        let unknown = select::list(names);
        notes.push(format!("Defaults that are expressions are shown as … in: {unknown}."));
    }
    if is_cut {
        notes.push("Of a row, only values in its first MiB are shown.".into());
    }
    Ok(Table {
        columns: columns.iter().zip(unique).map(column).collect(),
        n_columns: Some(n_all),
        rows,
        has_more,
        notes,
    })
}

fn kind(column: &Defined) -> Type {
    let alignment = if column.is_numeric() { Alignment::Right } else { Alignment::Left };
    match column.type_name.as_str() {
        "" => Type::Exact("any".into(), alignment),
        name => Type::Exact(cut(name, MAX_TYPE_CHARS).into(), alignment),
    }
}

/// Returns about how many bytes a value takes in an answer.
fn n_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Integer(_) | Value::Number(_) => 8,
        _ => 4,
    }
}

fn in_table(error: Error, entry: &StoredTable) -> Error {
    match error {
        Error::Broken { cause } => {
            Error::Broken { cause: format!("table {}: {cause}", cut(&entry.name, MAX_TYPE_CHARS)) }
        }
        error => error,
    }
}

#[cfg(test)]
mod tests;
