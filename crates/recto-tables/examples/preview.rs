//! Prints previews of the files named on the command line, one line of JSON for each.
//!
//! `dev/bench/tables_vs_duckdb.py` compares them with DuckDB's results.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use recto_tables::{Request, Value, preview};
use serde_json::{Value as Json, json};

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let request = Request::new(&path, 100_000, 64 << 20);
        let answer = match preview(Arc::new(bytes), &request) {
            Ok(table) => {
                let columns: Vec<[String; 2]> =
                    table.columns.into_iter().map(|c| [c.name, c.kind.to_string()]).collect();
                let to_json =
                    |row: Vec<Value>| -> Json { row.into_iter().map(Value::to_json).collect() };
                let n_rows = table.rows.len();
                let rows: Vec<Json> = table.rows.into_iter().take(3).map(to_json).collect();
                json!({
                    "path": path,
                    "columns": columns,
                    "n_columns": table.n_columns,
                    "n_rows": n_rows,
                    "rows": rows,
                    "notes": table.notes,
                })
            }
            Err(error) => json!({ "path": path, "error": format!("{error:?}") }),
        };
        println!("{answer}");
    }
    Ok(())
}
