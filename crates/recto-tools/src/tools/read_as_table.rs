//! `ReadAsTable`: previews typed rows of a data file, on disk or at a commit.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use crate::budget::{Budget, json_size, shortened};
use crate::error::{Error, Result};
use recto_tables::{self as tables, Column, Source, Table};
use recto_text::Size;
use serde_json::{Value, json};

use super::paths::{COMMIT, listed};
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use recto_store::error::Error as StoreError;
use recto_store::memory_budget::Unavailable;
use recto_store::path::AbsPath;
use recto_store::sync::lock;
use recto_store::{Bytes, Store};

/// The default maximum number of rows.
const DEFAULT_LIMIT: i64 = 100;

/// The memory of a preview, unless the file needs more.
const FIRST_MEMORY: u64 = 8 << 20;

/// The memory for buffers and decompressors, which a preview does not count.
const BUFFERS: u64 = 16 << 20;

pub static TOOL: Tool = Tool {
    name: "ReadAsTable",
    title: "Preview table",
    toolset: Toolset::Files,
    description: "Preview columns, types and rows of CSV, TSV, JSON, NDJSON (.gz, .zst), \
        Parquet, Excel, ODS and SQLite files.",
    params: &[
        Param::required("file_path", ParamKind::String, "File"),
        Param::optional("limit", ParamKind::Integer { minimum: None }, "Rows; default 100"),
        Param::optional("offset", ParamKind::Integer { minimum: None }, "Rows to skip"),
        Param::optional("columns", ParamKind::Strings, "Default all"),
        Param::optional("sheet", ParamKind::String, "Sheet name, or SQLite table"),
        COMMIT,
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    file_path: String,
    limit: usize,
    offset: usize,
    columns: Vec<String>,
    sheet: Option<String>,
    commit: Option<String>,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let positive = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let offset = arguments.integer("offset").unwrap_or(0);
    Ok(Request {
        limit: positive.ok_or(Error::InvalidLimit { limit })?,
        offset: usize::try_from(offset).map_err(|_| wrong("offset", "an integer >= 0", offset))?,
        columns: arguments.strings("columns"),
        sheet: arguments.optional_string("sheet"),
        commit: arguments.optional_string("commit"),
        file_path: arguments.string("file_path"),
    })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    let path = AbsPath::resolve("file_path", request.file_path.clone(), env.root)?;
    let Some(commit) = &request.commit else { return fitting(env, env.store, &path, &request) };
    let revision = env.revisions.at(commit, &request.file_path, env.context)?;
    fitting(env, &*revision.store, &revision.path, &request)
}

/// Previews a table, with shorter values if otherwise not even one row fits.
fn fitting(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
) -> Result<Answer> {
    let max_bytes = Budget::content(env.delivery).left().bytes;
    let report_within = |max_bytes| -> Result<(Answer, bool)> {
        let table = preview(env, store, path, request, max_bytes)?;
        Ok(report(env, table, request))
    };
    match report_within(max_bytes)? {
        (_, false) => Ok(report_within(max_bytes / 8)?.0),
        (answer, true) => Ok(answer),
    }
}

fn preview(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
    max_bytes: usize,
) -> Result<Table> {
    let preview = || match preview_within_memory(env, store, path, request, max_bytes) {
        // The concurrent writer may have finished by now.
        Err(Error::Store(StoreError::Unstable { .. })) => {
            preview_within_memory(env, store, path, request, max_bytes)
        }
        previewed => previewed,
    };
    let previewed = preview();
    env.context.release_memory();
    previewed
}

/// Previews with little memory, and with more only if the file needs it: how much is known once it is
/// parsed. Memory is returned before more is reserved, so that calls do not wait for each other.
fn preview_within_memory(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
    max_bytes: usize,
) -> Result<Table> {
    let mut max_memory = FIRST_MEMORY;
    loop {
        env.context.release_memory();
        let kept = env.context.keep_memory(max_memory + BUFFERS);
        kept.map_err(|reason| reason.for_file(path, 0))?;
        match preview_once(env, store, path, request, (max_bytes, max_memory)) {
            Ok(table) => return Ok(table),
            Err(Failed::Memory { n_needed, n_bytes }) if n_needed > tables::limits::MEMORY => {
                return Err(Unavailable::TooMuch.for_file(path, n_bytes).into());
            }
            Err(Failed::Memory { n_needed, .. }) => {
                max_memory = n_needed.max(max_memory * 2).min(tables::limits::MEMORY);
            }
            Err(Failed::Rejected(error)) => return Err(error),
        }
    }
}

/// Why a preview failed.
enum Failed {
    /// It needs more memory, for a file of `n_bytes`.
    Memory { n_needed: u64, n_bytes: u64 },
    /// The call is rejected.
    Rejected(Error),
}

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Rejected(error.into())
    }
}

fn preview_once(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
    (max_bytes, max_memory): (usize, u64),
) -> Result<Table, Failed> {
    let bytes = store.open(path, env.context);
    let bytes = bytes.map_err(|error| listed(error, request.commit.as_deref()))?;
    let file = Arc::new(File { bytes, error: Mutex::new(None) });
    let wanted = tables::Request {
        offset: request.offset,
        columns: &request.columns,
        sheet: request.sheet.as_deref(),
        max_memory,
        ..tables::Request::new(path.file_name(), request.limit, max_bytes)
    };
    let table = tables::preview(file.clone(), &wanted);
    if let Some(error) = lock(&file.error).take() {
        return Err(error.into());
    }
    // A concurrent write may have caused the parse error.
    file.bytes.check_unchanged()?;
    let path = path.to_string();
    let n_bytes = file.size();
    table.map_err(|error| {
        Failed::Rejected(match error {
            tables::Error::NotATable { what, is_text } => Error::NotATable { path, what, is_text },
            tables::Error::Broken { cause } | tables::Error::TooLarge { cause } => {
                Error::BrokenTable { path, cause }
            }
            tables::Error::OutOfMemory { n_bytes: n_needed } => {
                return Failed::Memory { n_needed, n_bytes };
            }
            tables::Error::NoSheets { sheet } => {
                wrong("sheet", "omitted, because the file has no sheets", sheet)
            }
            tables::Error::NoSuchSheet { sheet, known } => {
                wrong("sheet", format!("the name of a sheet ({known})"), sheet)
            }
            tables::Error::NoSuchColumns { columns, known } => {
                wrong("columns", format!("names of columns ({known})"), columns)
            }
            tables::Error::Read { cause } => StoreError::System { path, cause }.into(),
            tables::Error::Stopped => StoreError::Cancelled.into(),
        })
    })
}

fn wrong(name: &str, expected: impl Into<Cow<'static, str>>, value: impl ToString) -> Error {
    let (expected, value) = (expected.into(), value.to_string());
    Error::WrongArgument { name: name.into(), expected, value }
}

/// A file as a table source. Keeps the first read error in full.
struct File {
    bytes: Box<dyn Bytes>,
    error: Mutex<Option<StoreError>>,
}

impl Source for File {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> tables::Result<usize> {
        self.bytes.read_at(buffer, offset).map_err(|error| {
            let cause = error.to_string();
            *lock(&self.error) = Some(error);
            tables::Error::Read { cause }
        })
    }
}

/// Drops what exceeds the size of an answer. Returns the rows as JSON, and the notes.
fn cut(env: &ReadEnv<'_>, table: &mut Table) -> (Vec<Value>, String) {
    let mut budget = Budget::content(env.delivery);
    let Size { bytes, json } = budget.left();
    let quarter = Size { bytes: bytes / 4, json: json / 4 };
    let size = |column: &Column| {
        // `| name (type) ` and `| --: `.
        let name = tables::Value::Text(column.name.clone());
        let kind = tables::Value::Text(column.kind.to_string());
        let bytes = tables::render::row(&[name, kind]).len() + 8;
        Size { bytes, json: json_size(&column_json(column)) }
    };
    let columns = table.columns.iter();
    let n_columns = columns.take_while(|column| budget.spend(size(column))).count();
    if n_columns < table.columns.len() {
        tables::truncate_columns(table, n_columns);
    }
    let notes = shortened(table.notes.join(" "), quarter);
    budget.spend(Size::of(&notes));
    let mut rows = Vec::new();
    for row in &table.rows {
        let value: Value = row.iter().cloned().map(tables::Value::to_json).collect();
        let size = Size { bytes: tables::render::row(row).len(), json: json_size(&value) };
        if !budget.spend(size) {
            break;
        }
        rows.push(value);
    }
    table.has_more |= rows.len() < table.rows.len();
    table.rows.truncate(rows.len());
    (rows, notes)
}

fn column_json(column: &Column) -> Value {
    json!({"name": column.name, "type": column.kind.to_string()})
}

/// Returns the answer, and whether it has a row if the table has one.
fn report(env: &ReadEnv<'_>, mut table: Table, request: &Request) -> (Answer, bool) {
    let is_empty = table.rows.is_empty();
    let (rows, notes) = cut(env, &mut table);
    let has_row = is_empty || !rows.is_empty();
    let text = tables::render::markdown(&table);
    let mut count = count(&table, request);
    if table.n_columns != Some(table.columns.len()) {
        count.push_str("; columns selects others");
    }
    let note = if notes.is_empty() { count } else { format!("{count}. {notes}") };
    let columns: Vec<Value> = table.columns.iter().map(column_json).collect();
    let mut structured = json!({"columns": columns, "rows": rows, "has_more": table.has_more});
    if !notes.is_empty() {
        structured["note"] = notes.into();
    }
    (Answer::new(note, structured).with_content(text), has_row)
}

/// Says which rows are shown and how to continue.
fn count(table: &Table, request: &Request) -> String {
    let (n_rows, offset) = (table.rows.len(), request.offset);
    let next = offset.saturating_add(n_rows);
    let rows = if n_rows == 1 { "row" } else { "rows" };
    let mut count = match (offset, n_rows, table.has_more) {
        (0, _, false) | (0, 0, _) => format!("{n_rows} {rows}"),
        (0, _, true) => format!("first {n_rows} {rows}"),
        (_, 0, _) => format!("no rows from offset {offset} on"),
        (_, 1, _) => format!("row {next}"),
        _ => format!("rows {}-{next}", offset + 1),
    };
    if table.has_more && n_rows == 0 {
        // The same offset would give the same answer.
        count.push_str("; further rows cannot be read");
    } else if table.has_more {
        let is_full = n_rows < request.limit;
        let why = if is_full { " than the size limit allows" } else { "" };
        count.push_str(&format!("; there are more{why}: offset {next}"));
    }
    count
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "columns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                    "required": ["name", "type"],
                },
            },
            "rows": {"type": "array", "items": {"type": "array"}},
            "has_more": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["columns", "rows", "has_more"],
    })
}

#[cfg(test)]
mod tests;
