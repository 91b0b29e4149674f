//! Selects columns of a table by name.

use std::collections::HashMap;

use crate::budget::cut;
use crate::error::{Error, Result};
use crate::table::{Table, Value};

/// The most characters of a list of names.
const MAX_NAMES: usize = 500;

/// Keeps the named columns, in that order.
pub fn select(table: &mut Table, names: &[String]) -> Result<()> {
    let columns = table.columns.iter().enumerate();
    let idx_by_name: HashMap<&str, usize> =
        columns.map(|(idx, column)| (column.name.as_str(), idx)).collect();
    let found: Vec<Option<usize>> =
        names.iter().map(|name| idx_by_name.get(name.as_str()).copied()).collect();
    let indexes: Vec<usize> = found.iter().flatten().copied().collect();
    if indexes.len() < names.len() {
        let missing = names.iter().zip(&found).filter(|(_, idx)| idx.is_none());
        let columns = list(missing.map(|(name, _)| name.as_str()));
        let mut known = list(table.columns.iter().map(|column| column.name.as_str()));
        let n_known = table.columns.len();
        if let Some(n_all) = table.n_columns.filter(|n_all| *n_all > n_known) {
            known.push_str(&format!("; of {n_all} only the first {n_known} can be selected"));
        }
        return Err(Error::NoSuchColumns { columns, known });
    }
    table.columns = indexes.iter().map(|idx| table.columns[*idx].clone()).collect();
    for row in &mut table.rows {
        *row = indexes.iter().map(|idx| row.get(*idx).cloned().unwrap_or(Value::Null)).collect();
    }
    table.n_columns = Some(indexes.len());
    Ok(())
}

/// Lists names, up to a length.
pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    cut(&names.collect::<Vec<_>>().join(", "), MAX_NAMES)
}
