//! Says why something cannot be undone: which change is in the way, who made it, and both texts.

use std::fmt::Write;
use std::path::Path;

use recto_journal::Reader;
use recto_journal::undo::{HunkId, Reason, Rejected};
use recto_journal::undo_files::{Cause, Rejection};
use recto_text::quote::Escaped;

use super::super::recorded;

/// The most lines of each text.
const MAX_LINES: usize = 8;

/// Returns the words for a rejection.
pub fn rejection(reader: &Reader, root: &Path, rejection: &Rejection) -> Result<String, String> {
    let path = recorded::shown(&rejection.path);
    let Rejected { hunk, reason } = match &rejection.cause {
        Cause::Outside => {
            let root = root.display();
            return Ok(format!(
                "Cannot undo changes of {path}: outside {root}; name its directory with --root"
            ));
        }
        Cause::File(cause) => return Ok(format!("Cannot undo changes of {path}: {cause}")),
        Cause::Hunk(rejected) => rejected,
    };
    let what = format!("Cannot undo change {}, hunk {}, of {path}", hunk.change, hunk.hunk + 1);
    Ok(match reason {
        Reason::NoSuchHunk => format!("{what}: there is no such hunk"),
        Reason::NotRecorded => format!("{what}: its content was not stored"),
        Reason::AlreadyUndone { by } => format!("{what}: change {by} has undone it already"),
        Reason::NameTaken => format!("{what}: a file with this name exists again"),
        Reason::Unknown { change: 0 } => {
            format!(
                "{what}: another program changed the file since, and its earlier content is not stored"
            )
        }
        Reason::Unknown { change } => {
            format!("{what}: the content of the later change {change} was not stored")
        }
        Reason::Overlapped { by } => {
            let mut out = format!("{what}: a later change overlaps it");
            write_hunk(&mut out, reader, *hunk, &format!("change {} wrote", hunk.change))?;
            for by in by {
                let who = match by.change {
                    0 => "a change that is not recorded, not by recto".to_string(),
                    id => {
                        let change = reader.change(id).map_err(|error| error.to_string())?;
                        let who = change.as_ref().map(recorded::who).unwrap_or_default();
                        format!("change {id} by {who}")
                    }
                };
                write_hunk(&mut out, reader, *by, &format!("{who} replaced this"))?;
            }
            out
        }
    })
}

fn write_hunk(
    out: &mut String,
    reader: &Reader,
    mut id: HunkId,
    title: &str,
) -> Result<(), String> {
    // A hunk of an undo is the one that it undid, the other way around.
    let mut is_undo = false;
    while let Some(change) = reader.change(id.change).map_err(|error| error.to_string())?
        && let Some(undone) = change.undoes.get(id.hunk as usize)
    {
        (id, is_undo) = (*undone, !is_undo);
    }
    let hunks = reader.hunks(id.change).map_err(|error| error.to_string())?;
    let Some(hunk) = hunks.as_ref().and_then(|hunks| hunks.get(id.hunk as usize)) else {
        let _ = write!(out, "\n  {title} (text not stored)");
        return Ok(());
    };
    let _ = write!(out, "\n  {title}:");
    let sides = [&hunk.removed, &hunk.inserted];
    let [removed, inserted] = if is_undo { [sides[1], sides[0]] } else { sides };
    for (sign, bytes) in [('-', removed), ('+', inserted)] {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().take(MAX_LINES) {
            let _ = write!(out, "\n    {sign}{}", Escaped(line));
        }
        let n_more = text.lines().count().saturating_sub(MAX_LINES);
        if n_more > 0 {
            let _ = write!(out, "\n    {sign}… {n_more} more lines");
        }
    }
    Ok(())
}
