//! The answer of `ReadLines` about many files, grouped by file.

use std::sync::atomic::{AtomicU64, Ordering};

use recto_store::Listing;
use recto_text::quote::OneLine;
use serde_json::json;

use super::{IS_LITERAL, Request};
use crate::tools::paths::{relative, relative_to};
use crate::tools::row::write_rows;
use crate::tools::search::{FoundFile, Skipped};
use crate::tools::{Answer, ReadEnv};

/// Returns how text spells a path: relative to the first root on disk, because relative paths start
/// there.
pub fn in_text(env: &ReadEnv<'_>, path: &str, request: &Request) -> String {
    let relative = if request.commit.is_none() { relative(env, path) } else { None };
    OneLine(relative.unwrap_or(path)).to_string()
}

/// The result of a search of many files.
#[derive(Default)]
pub struct Found<'a> {
    pub chosen: Vec<FoundFile>,
    pub is_cut: bool,
    /// The note that the time ran out.
    pub late: Option<String>,
    pub skipped: Option<&'a Skipped>,
}

/// Returns the answer: the path of each file once, with its hash or count, then its rows.
pub fn report(env: &ReadEnv<'_>, request: &Request, listing: &Listing, found: Found<'_>) -> Answer {
    let Found { chosen, is_cut, late, skipped } = found;
    let mut text = String::new();
    let (mut rows, mut matches, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for FoundFile { path, in_text, read } in &chosen {
        let mut file = json!({"file_path": path});
        if let Some(hash) = read.digest {
            file["hash"] = hash.to_string().into();
            if request.commit.is_none() {
                seen.push((path.into(), hash));
            }
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{in_text}, hash {hash}\n"));
            write_rows(&mut text, &read.rows, |_| "");
            rows.extend(read.rows.iter().map(|row| row.to_json(Some(path))));
        } else {
            text.push_str(&format!("{in_text}:{}\n", read.n_hits));
            file["matches"] = read.n_hits.into();
        }
        matches.push(file);
    }
    let n_files = match listing.total {
        1 => "1 file".to_string(),
        n_files => format!("{n_files} files"),
    };
    let n_hits: u64 = chosen.iter().map(|file| file.read.n_hits).sum();
    let count = match (listing.total, chosen.len()) {
        (0, _) if request.commit.is_some() => "no file matches".to_string(),
        (0, _) => "no file matches; ignored and hidden files are not searched".to_string(),
        (_, 0) if request.wanted.needle.is_some() => format!("no match in {n_files}"),
        (_, 0) => format!("no such line in {n_files}"),
        (_, n_found) if request.wanted.is_count => {
            let lines = if n_hits == 1 { "matching line" } else { "matching lines" };
            format!("{n_hits} {lines} in {n_found} of {n_files}")
        }
        (_, 1) if rows.len() == 1 => format!("1 row in 1 of {n_files}"),
        (_, n_found) => format!("{} rows in {n_found} of {n_files}", rows.len()),
    };
    let is_relative =
        request.commit.is_none() && chosen.iter().any(|file| relative(env, &file.path).is_some());
    let mut notes = vec![match is_relative {
        true => format!("{count}, {}", relative_to(env)),
        false => count,
    }];
    if chosen.is_empty() && request.is_like_regex {
        notes.push(IS_LITERAL.into());
    }
    notes.extend(late);
    if is_cut {
        let what = if request.wanted.is_count { "file_path" } else { "file_path or match" };
        notes.push(format!("there are more; narrow {what}"));
    }
    let n = |count: fn(&Skipped) -> &AtomicU64| {
        skipped.map_or(0, |skipped| count(skipped).load(Ordering::Relaxed))
    };
    let n_binary = n(|skipped| &skipped.n_binary);
    let not_searched = [
        (listing.n_hidden, "hidden"),
        (listing.n_ignored, "ignored"),
        (n_binary, "binary"),
        (n(|skipped| &skipped.n_too_large), "too large"),
        (n(|skipped| &skipped.n_unreadable) + listing.n_unreadable, "not readable"),
    ];
    let not_searched: Vec<String> = not_searched
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    let mut structured = json!({
        "rows": rows,
        "matched_files": matches,
        "files": listing.total,
        "binary_files": n_binary,
        "truncated": is_cut,
    });
    if !not_searched.is_empty() {
        let note = format!("not searched: {}", not_searched.join(", "));
        structured["note"] = note.as_str().into();
        notes.push(note);
    }
    Answer { seen, ..Answer::new(notes.join("; "), structured).with_content(text) }
}
