//! Damaged and malicious files.

use std::io::Write;
use std::time::{Duration, Instant};

use zip::write::SimpleFileOptions;

use super::*;
use crate::quiet::quietly;
use crate::table::Value;

/// Runs a preview without printing the panics that it catches.
fn quiet_preview(bytes: Vec<u8>) -> Result<Table> {
    let start = Instant::now();
    let outcome = quietly(|| preview_of(bytes, 100, 1 << 20));
    assert!(start.elapsed() < Duration::from_secs(5));
    outcome
}

pub fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as usize
}

const ALL: [&str; 5] = ["types.xlsx", "binary.xlsb", "types.ods", "types.xls", "types_1904.xls"];

#[test]
fn many_bytes_may_be_wrong() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for name in ALL {
        let bytes = fixture(name);
        for round in 0..400 {
            let mut changed = bytes.clone();
            for _ in 0..1 + round % 6 {
                let at = random(&mut state) % changed.len();
                changed[at] = match random(&mut state) % 2 {
                    0 => random(&mut state) as u8,
                    _ => [0x00, 0x7f, 0x80, 0xff][random(&mut state) % 4],
                };
            }
            let _ = quiet_preview(changed);
        }
    }
}

/// Checksums protect the parts of an archive, so the damage is inserted before compression.
#[test]
fn parts_may_be_wrong_inside_a_whole_archive() {
    let mut state = 0x2545_f491_4f6c_dd1d;
    for name in ["types.xlsx", "binary.xlsb", "types.ods"] {
        let mut whole = zip::ZipArchive::new(Cursor::new(fixture(name))).unwrap();
        let mut parts = Vec::new();
        for index in 0..whole.len() {
            let mut part = whole.by_index(index).unwrap();
            let mut content = Vec::new();
            part.read_to_end(&mut content).unwrap();
            parts.push((part.name().unwrap().to_string(), content));
        }
        for _ in 0..400 {
            let mut changed = parts.clone();
            for _ in 0..3 {
                let part_idx = random(&mut state) % changed.len();
                let part = &mut changed[part_idx].1;
                if !part.is_empty() {
                    let at = random(&mut state) % part.len();
                    part[at] = random(&mut state) as u8;
                }
            }
            let changed: Vec<(&str, &[u8])> =
                changed.iter().map(|(name, it)| (name.as_str(), it.as_slice())).collect();
            let _ = quiet_preview(archive(&changed));
        }
    }
}

#[test]
fn a_file_may_be_cut_anywhere() {
    for name in ALL {
        let bytes = fixture(name);
        for n_bytes in (0..bytes.len()).step_by(7) {
            let cut = quiet_preview(bytes[..n_bytes].to_vec());
            assert!(name.ends_with("xls") || cut.is_err(), "{name} {n_bytes}");
        }
    }
}

pub fn ods_archive(content: &str) -> Vec<u8> {
    archive(&[
        ("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"),
        ("content.xml", content.as_bytes()),
    ])
}

fn ods(content: &str) -> Result<Table> {
    quiet_preview(ods_archive(content))
}

#[test]
fn repeated_cells_and_rows_do_not_fill_the_memory() {
    let cell = r#"<table:table-cell office:value-type="float" office:value="1"
        table:number-columns-repeated="16384"/>"#;
    let row = format!(
        r#"<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>"#
    );
    let sheet = format!(r#"<table:table table:name="a">{}</table:table>"#, row.repeat(100));
    let table = ods(&sheet).unwrap();
    assert_eq!((table.columns.len(), table.has_more), (4096, true));
    let notes = vec![crate::names::NO_HEADER.to_string()];
    assert_eq!((table.n_columns, table.notes), (Some(16_384), notes));
    // A long text, or a long date, in each of them.
    let long = "1".repeat(1 << 20);
    for value in [
        format!(r#"office:value-type="string" office:string-value="{long}""#),
        format!(r#"office:value-type="date" office:date-value="{long}""#),
    ] {
        let cell = format!(r#"<table:table-cell {value} table:number-columns-repeated="16384"/>"#);
        let row =
            format!(r#"<table:table-row table:number-rows-repeated="9">{cell}</table:table-row>"#);
        let start = Instant::now();
        let table = ods(&format!(r#"<table:table table:name="a">{row}</table:table>"#)).unwrap();
        assert!(start.elapsed() < Duration::from_secs(5));
        let n_chars = table.rows.iter().flatten().map(|value| match value {
            Value::Text(text) => text.chars().count(),
            _ => 0,
        });
        assert!(n_chars.max().is_some_and(|n_chars| n_chars < 1_050));
        assert!(crate::fit::fit(table, 40_000).columns.len() > 1);
    }
}

#[test]
fn a_row_of_many_cells_is_not_kept_beyond_the_last_column() {
    let cell = "<table:table-cell><text:p>x</text:p></table:table-cell>";
    let content = format!(
        r#"<table:table table:name="a"><table:table-row>{}</table:table-row></table:table>"#,
        cell.repeat(20_000)
    );
    let table = ods(&content).unwrap();
    assert_eq!((table.columns.len(), table.n_columns), (4096, Some(16_384)));
}

#[test]
fn repeated_spaces_do_not_fill_the_memory() {
    let spaces = r#"<text:s text:c="1000"/>"#.repeat(5_000);
    let content = format!(
        r#"<table:table table:name="a"><table:table-row><table:table-cell><text:p>{spaces}"#
    );
    let cause = "a text in it has more than 4 MiB".into();
    assert_eq!(ods(&content), Err(Error::TooLarge { cause }));
}

#[test]
fn sheets_are_counted_before_they_are_read() {
    let sheet = r#"<sheet name="a" sheetId="1" r:id="rId1"/>"#;
    let workbook = |n_sheets: usize| {
        let sheets = sheet.repeat(n_sheets);
        let padding = " ".repeat(1 << 20);
        let workbook = format!("<workbook><sheets>{sheets}</sheets></workbook>{padding}");
        quiet_preview(archive(&[("xl/workbook.xml", workbook.as_bytes())]))
    };
    let cause = "it has more than 20000 sheets".to_string();
    assert_ne!(workbook(20_000), Err(Error::TooLarge { cause: cause.clone() }));
    assert_eq!(workbook(20_001), Err(Error::TooLarge { cause }));
}

#[test]
fn the_memory_of_kept_parts_is_checked_before_they_are_read() {
    let texts = "<si><t>a</t></si>".repeat(100_000);
    let parts = [("xl/sharedStrings.xml", texts.as_bytes())];
    let request = Request { max_memory: 8 << 20, ..Request::new("a.xlsx", 10, 1 << 20) };
    let error = preview(Arc::new(archive(&parts)), &request).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { n_bytes } if n_bytes > 8 << 20), "{error:?}");
}

#[test]
fn rejects_an_endless_text() {
    let content = format!(
        r#"<table:table table:name="a"><table:table-row><table:table-cell><text:p>{}"#,
        "x".repeat(5 << 20)
    );
    let cause = "a text in it has more than 4 MiB".into();
    assert_eq!(ods(&content), Err(Error::TooLarge { cause }));
}

fn xlsx(shared: &str) -> Result<Table> {
    let mut whole = zip::ZipArchive::new(Cursor::new(fixture("shared.xlsx"))).unwrap();
    let mut parts = Vec::new();
    for index in 0..whole.len() {
        let mut part = whole.by_index(index).unwrap();
        let mut content = Vec::new();
        part.read_to_end(&mut content).unwrap();
        let name = part.name().unwrap().to_string();
        if name == "xl/sharedStrings.xml" {
            content = shared.as_bytes().to_vec();
        }
        parts.push((name, content));
    }
    let parts: Vec<(&str, &[u8])> =
        parts.iter().map(|(name, it)| (name.as_str(), it.as_slice())).collect();
    quiet_preview(archive(&parts))
}

#[test]
fn does_not_allocate_for_missing_texts() {
    let texts = "<si><t>a</t></si><si><t>b</t></si><si><t>c</t></si>";
    let table = xlsx(&format!(r#"<sst uniqueCount="3">{texts}</sst>"#)).unwrap();
    assert_eq!(table.columns[1].name, "b");
    let cause = "it has fewer shared texts than it says".into();
    let refused = Err(Error::Broken { cause });
    assert_eq!(xlsx(&format!(r#"<sst uniqueCount="99999999999">{texts}</sst>"#)), refused);
    let hidden = format!(r#"<!-- sst > --><x:sst uniqueCount="99999999999">{texts}</x:sst>"#);
    assert_eq!(xlsx(&hidden), refused);
}

#[test]
fn scans_a_large_part_first() {
    let long = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(65 << 20));
    let cause = "a text in it has more than 4 MiB".into();
    assert_eq!(xlsx(&long), Err(Error::TooLarge { cause }));
}

#[test]
fn a_part_inflates_to_the_size_in_the_directory() {
    let content = "<table:table table:name='a'>".to_owned() + &" ".repeat(100_000);
    let mut bytes = archive(&[("content.xml", content.as_bytes())]);
    let size = (content.len() as u32).to_le_bytes();
    let places: Vec<usize> =
        bytes.windows(4).enumerate().filter(|it| it.1 == size).map(|it| it.0).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + 4].copy_from_slice(&100_u32.to_le_bytes());
    }
    let Err(Error::Broken { cause }) = quiet_preview(bytes) else { unreachable!("it lies") };
    assert!(cause.contains("larger than its declared"), "{cause}");
}

#[test]
fn rejects_cyclic_sectors_and_bounds_distant_cells() {
    let bytes = fixture("types.xls");
    // Each sector of the allocation table points to itself.
    let table_at = 512 * (1 + u32::from_le_bytes(*bytes[76..].first_chunk().unwrap()) as usize);
    let mut circle = bytes.clone();
    for (index, entry) in circle[table_at..table_at + 512].chunks_exact_mut(4).enumerate() {
        entry.copy_from_slice(&(index as u32).to_le_bytes());
    }
    assert!(matches!(quiet_preview(circle), Err(Error::Broken { .. })));

    // The sheet claims four billion rows, and has a cell in the last row and column.
    let dimensions = [0x00, 0x02, 0x0e, 0x00];
    let mut claims = bytes.clone();
    let places: Vec<usize> =
        claims.windows(4).enumerate().filter(|it| it.1 == dimensions).map(|it| it.0).collect();
    for at in places {
        claims[at + 8..at + 12].fill(0xff);
    }
    assert_eq!(quiet_preview(claims), quiet_preview(bytes.clone()));
    let mut far = bytes;
    let number = [0x03, 0x02, 0x0e, 0x00];
    let at = far.windows(4).position(|it| it == number).unwrap();
    far[at + 4..at + 8].fill(0xff);
    let far = quiet_preview(far).unwrap();
    assert_eq!((far.rows.len(), far.n_columns), (4, Some(65_536)));
    assert_eq!(far.columns[1].name, "name");
}

/// A source of that many bytes that starts with these.
struct Long(&'static [u8], u64);

impl Source for Long {
    fn size(&self) -> u64 {
        self.1
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let n_bytes = buffer.len().min(self.1.saturating_sub(offset) as usize);
        buffer[..n_bytes].fill(0);
        let first = self.0.get(offset as usize..).unwrap_or_default();
        let n_first = first.len().min(n_bytes);
        buffer[..n_first].copy_from_slice(&first[..n_first]);
        Ok(n_bytes)
    }
}

#[test]
fn a_workbook_has_a_largest_size() {
    for (magic, n_mib) in [(b"PK\x03\x04".as_slice(), 128), (&xls::MAGIC, 32)] {
        let cause = |n_bytes: u64| {
            let source = Arc::new(Long(magic, n_bytes));
            match preview(source, &Request::new("x", 10, 1 << 20)) {
                Err(Error::TooLarge { cause } | Error::Broken { cause }) => cause,
                other => unreachable!("{other:?}"),
            }
        };
        let too_large = format!("it has more than {n_mib} MiB");
        assert_ne!(cause(n_mib << 20), too_large);
        assert_eq!(cause((n_mib << 20) + 1), too_large);
    }
}
