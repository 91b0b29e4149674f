//! Detects a file's format: by its first bytes, then by its extension, then by its content.
//!
//! A data extension decides between the text formats. With any other name the content must be
//! unmistakable, because a source file shown as a table would mislead.

use recto_text::Encoding;

use crate::compression::Codec;
use crate::error::{Error, Result};
use crate::text::{self, has_stray_nuls};
use crate::{csv, json, sqlite};

/// The container format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// Apache Parquet.
    Parquet,
    /// A spreadsheet: Excel or OpenDocument.
    Sheets,
    /// An SQLite database.
    Sqlite,
    /// A compressed stream.
    Compressed(Codec),
    /// None of those; text, if anything.
    Plain,
}

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// Lines of values with delimiters between them.
    Delimited,
    /// One JSON value, or several in sequence.
    Json,
}

const ZIP: &[u8] = b"PK\x03\x04";
const OLE2: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const SHEET_ENDINGS: &[&str] =
    &["xls", "xlsx", "xlsm", "xlsb", "xltx", "xltm", "xlam", "xla", "ods"];

/// Extensions of SQLite databases.
const DATABASE_ENDINGS: &[&str] = &["sqlite", "sqlite3", "db", "db3"];

/// Extensions of delimited files.
const DELIMITED_ENDINGS: &[&str] = &["csv", "tsv", "psv", "tab"];

/// First bytes of formats that are not tables.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"BM", "an image"),
    (b"RIFF", "a media file"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"ARROW1", "an Arrow file"),
    (b"FEA1", "an Arrow file"),
    (b"Obj\x01", "an Avro file"),
    (ZIP, "a zip archive"),
    (OLE2, "an Office document"),
];

/// Returns the container of a file. Fails if the bytes are of a known format without tables.
pub fn container(name: &str, head: &[u8]) -> Result<Container> {
    let ending = ending(name);
    let is_sheet = SHEET_ENDINGS.contains(&ending.as_str());
    if head.starts_with(b"PAR1") {
        return Ok(Container::Parquet);
    }
    if head.starts_with(sqlite::MAGIC) {
        return Ok(Container::Sqlite);
    }
    if head.starts_with(b"\x1f\x8b") {
        return Ok(Container::Compressed(Codec::Gzip));
    }
    if head.starts_with(b"\x28\xb5\x2f\xfd") {
        return Ok(Container::Compressed(Codec::Zstd));
    }
    if head.starts_with(ZIP) && (is_sheet || holds_sheets(head)) {
        return Ok(Container::Sheets);
    }
    if head.starts_with(OLE2) && is_sheet {
        return Ok(Container::Sheets);
    }
    // Bytes that no text contains are proof; letters such as `BM` may start a text.
    let is_binary = |magic: &[u8]| magic.iter().any(|byte| !matches!(byte, b'\t'..=b'~'));
    let is_other = OTHERS.iter().any(|(magic, _)| is_binary(magic) && head.starts_with(magic));
    if !is_other && encoding(&ending, head).is_some() {
        return Ok(Container::Plain);
    }
    // Readers of these formats report damage themselves.
    match ending.as_str() {
        "parquet" => Ok(Container::Parquet),
        _ if is_sheet => Ok(Container::Sheets),
        ending if DATABASE_ENDINGS.contains(&ending) && !is_other => Err(Error::Broken {
            cause: "it does not start as SQLite databases do; it may be encrypted".into(),
        }),
        _ => Err(binary(head)),
    }
}

/// Returns the format of a text. Fails if it is not a table.
pub fn text(name: &str, head: &[u8]) -> Result<TextFormat> {
    let ending = ending(name);
    let Some(head_text) = encoding(&ending, head).map(|encoding| decode(encoding, head)) else {
        return Err(binary(head));
    };
    match ending.as_str() {
        ending if DELIMITED_ENDINGS.contains(&ending) => Ok(TextFormat::Delimited),
        "json" | "ndjson" | "jsonl" | "geojson" => Ok(TextFormat::Json),
        _ if json::is_convincing(&head_text) => Ok(TextFormat::Json),
        _ if csv::is_convincing(&head_text) => Ok(TextFormat::Delimited),
        "parquet" => Err(Error::Broken { cause: "it does not start as Parquet files do".into() }),
        ending if SHEET_ENDINGS.contains(&ending) => {
            Err(Error::Broken { cause: "it is text and not a spreadsheet".into() })
        }
        _ if head.is_empty() => Err(Error::NotATable { what: "empty".into(), is_text: false }),
        "txt" | "log" | "dat" | "md" | "rst" | "adoc" | "" => {
            Err(Error::NotATable { what: "plain text".into(), is_text: true })
        }
        _ => Err(Error::NotATable { what: "source code or other text".into(), is_text: true }),
    }
}

/// Returns the name of the content of a compressed file.
pub fn without_compression(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((inner, ending)) => match ending.to_ascii_lowercase().as_str() {
            "gz" | "gzip" | "zst" | "zstd" => inner,
            _ => name,
        },
        None => name,
    }
}

/// Returns the encoding of a text. A NUL makes a file binary, except if its extension is that of a
/// delimited file: there a field may contain it.
fn encoding(ending: &str, head: &[u8]) -> Option<Encoding> {
    let is_delimited = || DELIMITED_ENDINGS.contains(&ending) && has_stray_nuls(head);
    text::encoding(head).or_else(|| is_delimited().then_some(Encoding::Utf8))
}

/// Returns the extension, in lower case.
fn ending(name: &str) -> String {
    name.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase())
}

fn binary(head: &[u8]) -> Error {
    let known = OTHERS.iter().find(|(magic, _)| head.starts_with(magic));
    let what = known.map_or("a binary file", |(_, what)| what);
    Error::NotATable { what: what.into(), is_text: false }
}

/// Returns whether a zip archive starts with a part of a spreadsheet.
fn holds_sheets(head: &[u8]) -> bool {
    let marks: [&[u8]; 2] = [b"xl/workbook", b"application/vnd.oasis.opendocument.spreadsheet"];
    marks.iter().any(|mark| head.windows(mark.len()).any(|window| window == *mark))
}

fn decode(encoding: Encoding, bytes: &[u8]) -> String {
    let mut text = String::new();
    text::decoder(encoding, bytes).push(bytes, false, &mut text);
    text
}

#[cfg(test)]
mod tests;
