//! `ReadAsTable`: the first rows of a data file, typed, on disk or at a commit.

use std::sync::{Arc, Mutex, PoisonError};

use recto_tables::{self as tables, Source, Table};
use recto_text::{Error, Result};
use serde_json::{Value, json};

use super::list_files::{COMMIT, listed};
use super::{Answer, Arguments, Context, Effect, Kind, Param, Tool, Toolset};
use recto_store::path::AbsPath;
use recto_store::{Bytes, Store};

/// How many rows are shown where the caller does not say.
const DEFAULT_LIMIT: i64 = 100;

pub static TOOL: Tool = Tool {
    name: "ReadAsTable",
    title: "Preview table",
    toolset: Toolset::Files,
    description: "Show the first rows of a data file with column names and types: CSV, TSV and \
        the like, JSON, NDJSON (also .gz, .zst), Parquet, Excel, ODS.",
    params: &[
        Param::required("file_path", Kind::String, "Absolute or relative to the root"),
        Param::optional("limit", Kind::Integer { minimum: Some(1) }, "Rows, default 100"),
        COMMIT,
    ],
    output,
    effect: Effect::Reads,
    run,
};

struct Request {
    file_path: String,
    limit: usize,
    commit: Option<String>,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let positive = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    Ok(Request {
        limit: positive.ok_or(Error::InvalidLimit { limit })?,
        commit: arguments.optional_string("commit"),
        file_path: arguments.string("file_path"),
    })
}

fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    let path = AbsPath::resolve("file_path", request.file_path.clone(), context.root)?;
    let table = match &request.commit {
        None => preview(context, context.store, &path, &request)?,
        Some(commit) => {
            let revision = context.revisions.at(commit, &request.file_path, context.caller)?;
            preview(context, &*revision.store, &revision.path, &request)?
        }
    };
    Ok(report(table, request.limit))
}

fn preview(
    context: &Context<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
) -> Result<Table> {
    match preview_once(context, store, path, request) {
        // Whoever writes it may be done by now.
        Err(Error::Unstable { .. }) => preview_once(context, store, path, request),
        previewed => previewed,
    }
}

fn preview_once(
    context: &Context<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
) -> Result<Table> {
    let bytes = store.open(path, context.caller);
    let bytes = bytes.map_err(|error| listed(error, request.commit.is_some()))?;
    let file = Arc::new(File { bytes, error: Mutex::new(None) });
    let wanted = tables::Request {
        name: path.file_name(),
        limit: request.limit,
        max_bytes: context.max_read_bytes,
    };
    let table = tables::preview(file.clone(), &wanted);
    if let Some(error) = file.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    // What is wrong with a file may be that it was changing.
    file.bytes.check_unchanged()?;
    let path = path.to_string();
    table.map_err(|error| match error {
        tables::Error::NotATable { what, is_text } => {
            let advice = if is_text { ". Read it with ReadLines" } else { "" };
            Error::NotATable { path, what: format!("{what}{advice}") }
        }
        tables::Error::Broken { cause } | tables::Error::TooLarge { cause } => {
            Error::BrokenTable { path, cause }
        }
        tables::Error::Read { cause } => Error::System { path, cause },
        tables::Error::Stopped => Error::Cancelled,
    })
}

/// A file as the tables see it, and what reading it failed with.
struct File {
    bytes: Box<dyn Bytes>,
    error: Mutex<Option<Error>>,
}

impl Source for File {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> tables::Result<usize> {
        self.bytes.read_at(buffer, offset).map_err(|error| {
            let cause = error.to_string();
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            tables::Error::Read { cause }
        })
    }
}

fn report(table: Table, limit: usize) -> Answer {
    let text = tables::render::markdown(&table);
    let n_rows = table.rows.len();
    let rows = if n_rows == 1 { "row" } else { "rows" };
    let mut count = match table.has_more {
        true => format!("the first {n_rows} {rows}, there are more"),
        false => format!("{n_rows} {rows}"),
    };
    let is_full = table.has_more && n_rows < limit;
    if is_full {
        count.push_str(" than fit");
    }
    if is_full || table.n_columns != Some(table.columns.len()) {
        count.push_str("; ReadLines shows the rest of a text file");
    }
    let remark = match table.remarks.join(" ") {
        remarks if remarks.is_empty() => count,
        remarks => format!("{count}. {remarks}"),
    };
    let columns: Vec<Value> = table
        .columns
        .iter()
        .map(|column| json!({"name": column.name, "type": column.kind.to_string()}))
        .collect();
    let to_json = |row: Vec<tables::Value>| row.into_iter().map(tables::Value::to_json).collect();
    let rows: Vec<Value> = table.rows.into_iter().map(to_json).collect();
    let mut structured = json!({"columns": columns, "rows": rows, "has_more": table.has_more});
    if !table.remarks.is_empty() {
        structured["note"] = table.remarks.join(" ").into();
    }
    Answer::new(vec![text, remark], structured)
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
