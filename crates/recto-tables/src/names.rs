//! Names columns: every column gets a unique name.

use std::collections::HashMap;

use crate::budget::cut;

/// The most characters of a name.
pub const MAX_NAME_CHARS: usize = 200;

/// The note on a table whose columns have no names.
pub const NO_HEADER: &str = "There is no header; column names are generated.";

/// Makes names unique, as DuckDB does: `a`, `a_1`, `a_2`. A column without a name is `column3`,
/// counted from 0, with as many digits as the last of `n_columns` needs. Those may be more than are
/// named here.
pub fn unique<'a>(names: impl IntoIterator<Item = &'a str>, n_columns: usize) -> Vec<String> {
    let mut n_seen: HashMap<String, usize> = HashMap::new();
    let mut unique = Vec::new();
    let n_digits = n_columns.saturating_sub(1).to_string().len();
    for (column_idx, name) in names.into_iter().enumerate() {
        let mut name = match name.trim() {
            "" => format!("column{column_idx:0n_digits$}"),
            name => cut(name, MAX_NAME_CHARS),
        };
        while let Some(n_same) = n_seen.get_mut(&name) {
            *n_same += 1;
            name = format!("{name}_{n_same}");
        }
        n_seen.insert(name.clone(), 0);
        unique.push(name);
    }
    unique
}

#[cfg(test)]
mod tests;
