//! Names for columns: every column gets one, and no two the same.

use std::collections::HashMap;

use crate::budget::cut;

/// A name is never longer than this many characters.
pub const MAX_NAME_CHARS: usize = 200;

/// Makes names unique, as DuckDB does: `a`, `a_1`, `a_2`; one without a name is `column3`, counted
/// from 0 and with as many digits as the last of `n_columns` needs, which may be more than have to
/// be named.
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
