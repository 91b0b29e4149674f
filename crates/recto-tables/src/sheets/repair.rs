//! Rewrites parts of a workbook that the library rejects and other programs read: XML in UTF-16,
//! macro sheets, and errors of newer versions of Excel.

use std::borrow::Cow;
use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::archive::{Bytes, Failure};
use crate::budget::check_memory;
use crate::error::Result;
use crate::text;

/// The most bytes of a workbook, and of a part of it, that is rewritten in memory.
const MAX_REPAIRED: u64 = 24 << 20;

/// How often a part exists in memory: as it is, as text, rewritten, and in the output.
const PART_COPIES: u64 = 4;

/// The errors that the library knows.
const KNOWN_ERRORS: [&str; 8] =
    ["#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA"];

/// Returns the workbook with such parts rewritten; `None` if it has none.
pub fn repair(
    bytes: Bytes,
    n_bytes: u64,
    failure: &Failure,
    max_memory: u64,
) -> Result<Option<Vec<u8>>> {
    if n_bytes > MAX_REPAIRED {
        return Ok(None);
    }
    check_memory(n_bytes, max_memory)?;
    let mut archive = ZipArchive::new(bytes).map_err(|error| failure.explain(&error))?;
    let mut output = ZipWriter::new(Cursor::new(Vec::new()));
    let mut n_left = MAX_REPAIRED;
    let mut is_changed = false;
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|error| failure.explain(&error))?;
        let name = String::from_utf8_lossy(part.name_raw()).into_owned();
        let is_xml = name.ends_with(".xml") || name.ends_with(".rels");
        if is_xml && part.size() <= n_left {
            check_memory(n_bytes + part.size() * PART_COPIES, max_memory)?;
            let mut content = Vec::new();
            part.take(n_left).read_to_end(&mut content).map_err(|error| failure.explain(&error))?;
            if let Some(repaired) = repaired(&name, &content) {
                n_left = n_left.saturating_sub(repaired.len() as u64);
                let stored =
                    SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
                output.start_file(name, stored).map_err(|error| failure.explain(&error))?;
                output.write_all(repaired.as_bytes()).map_err(|error| failure.explain(&error))?;
                is_changed = true;
                continue;
            }
        } else {
            drop(part);
        }
        let part = archive.by_index_raw(index).map_err(|error| failure.explain(&error))?;
        output.raw_copy_file(part).map_err(|error| failure.explain(&error))?;
    }
    let output = output.finish().map_err(|error| failure.explain(&error))?;
    Ok(is_changed.then(|| output.into_inner()))
}

/// Returns the new content of a part; `None` if it can stay.
fn repaired(name: &str, content: &[u8]) -> Option<String> {
    let is_utf16 =
        matches!(content, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..]);
    let text: Cow<'_, str> = if is_utf16 {
        let is_big = matches!(content, [0xfe, ..] | [0, ..]);
        let encoding =
            if is_big { recto_text::Encoding::Utf16Be } else { recto_text::Encoding::Utf16Le };
        let mut text = String::new();
        text::decoder(encoding, content).push(content, true, &mut text);
        Cow::Owned(text)
    } else {
        Cow::Borrowed(std::str::from_utf8(content).ok()?)
    };
    let changed = if name.ends_with("workbook.xml.rels") {
        without_macro_sheets(&text)
    } else if name.contains("worksheets/") {
        with_known_errors(&text)
    } else {
        None
    };
    changed.or_else(|| is_utf16.then(|| text.into_owned()))
}

/// Makes macro sheets dialog sheets, which are not shown either.
fn without_macro_sheets(text: &str) -> Option<String> {
    let types = ["/xlMacrosheet\"", "/xlIntlMacrosheet\""];
    let has_macros = types.iter().any(|kind| text.contains(kind));
    has_macros.then(|| {
        types.iter().fold(text.to_owned(), |text, kind| text.replace(kind, "/dialogsheet\""))
    })
}

/// Makes cells with other errors texts.
fn with_known_errors(text: &str) -> Option<String> {
    const MARK: &str = " t=\"e\"";
    let mut output = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let (before, cell) = rest.split_at(at);
        let end = cell.find("</c>").unwrap_or(cell.len());
        let value = cell[..end].split_once("<v>").and_then(|(_, value)| value.split_once("</v>"));
        let is_known = value.is_none_or(|(value, _)| KNOWN_ERRORS.contains(&value.trim()));
        output += before;
        output += if is_known { MARK } else { " t=\"str\"" };
        rest = &cell[MARK.len()..];
    }
    output += rest;
    (output != text).then_some(output)
}
