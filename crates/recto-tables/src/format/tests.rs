//! Tests of `format`.

use super::{Container, TextFormat, container, text, without_compression};
use crate::compression::Codec;

fn check_container(name: &str, head: &[u8], expected: Container) {
    assert_eq!(container(name, head), Ok(expected), "{name}");
}

fn refusal(name: &str, head: &[u8]) -> String {
    match container(name, head).and_then(|_| text(name, head)) {
        Ok(format) => format!("{format:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn trusts_the_first_bytes_more_than_the_name() {
    check_container("a.csv", b"PAR1\x15\x04", Container::Parquet);
    check_container("a.csv", b"\x1f\x8b\x08\0", Container::Compressed(Codec::Gzip));
    check_container("a.csv", b"\x28\xb5\x2f\xfd\x04", Container::Compressed(Codec::Zstd));
    check_container("a", b"PK\x03\x04\0\0xl/workbook.xml", Container::Sheets);
    check_container("a.xlsx", b"a,b\n1,2\n", Container::Plain);
}

#[test]
fn uses_the_name_if_the_bytes_are_ambiguous() {
    check_container("a.xlsx", b"PK\x03\x04\xff\xff", Container::Sheets);
    check_container("a.XLS", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Container::Sheets);
    assert_eq!(refusal("a.zip", b"PK\x03\x04\xff\xff"), "it is a zip archive");
    assert_eq!(refusal("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "it is an Office document");
}

#[test]
fn damaged_files_reach_their_reader() {
    check_container("a.parquet", b"\0\xff\0\xff", Container::Parquet);
    check_container("a.ods", b"\0\xff\0\xff", Container::Sheets);
    assert_eq!(refusal("a.parquet", b"some text"), "it does not start as Parquet files do");
    assert_eq!(refusal("a.xls", b"<html></html>"), "it is text and not a spreadsheet");
}

#[test]
fn reports_the_actual_kind() {
    assert_eq!(refusal("a.png", b"\x89PNG\r\n\x1a\n\0"), "it is an image");
    assert_eq!(refusal("a.bin", b"\0\x01\x02"), "it is a binary file");
    assert_eq!(refusal("a.md", b"# Title\n\nText.\n"), "it is plain text");
    assert_eq!(refusal("a.rs", b"fn main() {}\n"), "it is source code or other text");
    assert_eq!(refusal("Makefile", b"all: a b\n"), "it is plain text");
}

#[test]
fn a_data_extension_decides_between_text_formats() {
    for name in ["a.csv", "a.TSV", "a.psv", "a.tab"] {
        assert_eq!(text(name, b"anything"), Ok(TextFormat::Delimited), "{name}");
    }
    for name in ["a.json", "a.ndjson", "a.jsonl", "a.geojson"] {
        assert_eq!(text(name, b"anything"), Ok(TextFormat::Json), "{name}");
    }
}

#[test]
fn other_names_are_judged_by_content() {
    assert_eq!(text("a.txt", b"a\tb\n1\t2\n"), Ok(TextFormat::Delimited));
    assert_eq!(text("a.xls", b"a\tb\n1\t2\n"), Ok(TextFormat::Delimited));
    assert_eq!(text("a.log", b"{\"a\": 1}\n{\"a\": 2}\n"), Ok(TextFormat::Json));
    assert!(text("a.txt", b"Dear Ada,\n\nthank you.\n").is_err());
    assert!(text("a.txt", b"").is_err());
}

#[test]
fn allows_a_nul_in_a_file_with_a_data_extension() {
    let head = b"a,b,c\n\0,2,3\n";
    for name in ["a.csv", "a.TSV", "a.psv", "a.tab"] {
        check_container(name, head, Container::Plain);
        assert_eq!(text(name, head), Ok(TextFormat::Delimited), "{name}");
    }
    for name in ["a.txt", "a.json", "a"] {
        assert_eq!(refusal(name, head), "it is a binary file", "{name}");
    }
    // UTF-16 without a BOM and without a line ending, UTF-32, and bytes that are not text otherwise.
    for head in [&b"a\0,\0b\0"[..], b"\xff\xfe\0\0a\0\0\0", b"a,b,c\n\0,2,\xff\n"] {
        assert_eq!(refusal("a.csv", head), "it is a binary file", "{head:?}");
    }
}

#[test]
fn strips_the_compression_extension() {
    assert_eq!(without_compression("a.csv.gz"), "a.csv");
    assert_eq!(without_compression("a.csv.ZST"), "a.csv");
    assert_eq!(without_compression("a.csv"), "a.csv");
    assert_eq!(without_compression("gz"), "gz");
}
