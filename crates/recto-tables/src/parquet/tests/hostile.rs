//! Damaged and malicious files. The result must be an error or a table, quickly and with little
//! memory.

use std::time::{Duration, Instant};

use super::super::thrift::{write_integer, write_varint};
use super::*;
use crate::quiet::quietly;

const REQUEST: Request<'_> = Request::new("x.parquet", 100, 1 << 20);

/// Runs a preview without printing the panics that it catches.
fn quiet_preview(bytes: Vec<u8>) -> Result<Table> {
    quietly(|| preview(Arc::new(bytes), &REQUEST))
}

fn check(bytes: Vec<u8>, what: impl Fn() -> String) {
    let start = Instant::now();
    let outcome = quiet_preview(bytes);
    assert!(start.elapsed() < Duration::from_secs(5), "{}", what());
    if let Ok(table) = outcome {
        let n_columns = table.columns.len();
        assert!(table.rows.len() <= 100 && table.rows.iter().all(|it| it.len() == n_columns));
    }
}

fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as usize
}

#[test]
fn every_byte_may_be_wrong() {
    for name in ["groups", "delta", "gzip", "v2"] {
        let bytes = fixture(name);
        for at in 0..bytes.len() {
            for flip in [1 << (at % 8), 0xff] {
                let mut flipped = bytes.clone();
                flipped[at] ^= flip;
                check(flipped, || format!("{name}: {at} ^ {flip}"));
            }
        }
    }
}

#[test]
fn many_bytes_may_be_wrong() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for name in ALL {
        let bytes = fixture(name);
        for round in 0..150 {
            let mut changed = bytes.clone();
            for _ in 0..1 + round % 8 {
                let at = random(&mut state) % changed.len();
                match random(&mut state) % 3 {
                    0 => changed[at] = random(&mut state) as u8,
                    1 => changed[at] = [0x00, 0x7f, 0x80, 0xff][random(&mut state) % 4],
                    _ => {
                        let from = random(&mut state) % changed.len();
                        let n_bytes = (changed.len() - from.max(at)).min(16);
                        changed.copy_within(from..from + n_bytes, at);
                    }
                }
            }
            check(changed, || format!("{name}: round {round}"));
        }
    }
}

#[test]
fn a_file_may_be_cut_anywhere() {
    for name in ["nested", "groups"] {
        let bytes = fixture(name);
        for n_bytes in 0..bytes.len() {
            let cut = quiet_preview(bytes[..n_bytes].to_vec());
            assert!(matches!(cut, Err(Error::Broken { .. })), "{name}: {n_bytes}");
        }
        // The start may be missing too, so that offsets are wrong.
        for n_bytes in 1..bytes.len() {
            check(bytes[n_bytes..].to_vec(), || format!("{name}: without {n_bytes}"));
        }
    }
}

/// Builds a file with these pages and this metadata.
fn file(pages: &[u8], metadata: &[u8]) -> Vec<u8> {
    let n_bytes = u32::try_from(metadata.len()).unwrap().to_le_bytes();
    [b"PAR1", pages, metadata, n_bytes.as_slice(), b"PAR1"].concat()
}

fn integer(value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_integer(&mut bytes, value);
    bytes
}

fn list_of_structs(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0xfc];
    write_varint(&mut bytes, elements.len() as u64);
    bytes.extend(elements.concat());
    bytes
}

/// Builds a schema element: physical type, repetition and children, each optional.
fn element(physical: Option<i64>, repetition: Option<i64>, n_children: Option<i64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut last = 0;
    for (id, value) in [(1, physical), (3, repetition), (4, Some(0)), (5, n_children)] {
        let Some(value) = value else { continue };
        let kind = if id == 4 { 8 } else { 5 };
        bytes.push((id - last) << 4 | kind);
        if id == 4 {
            bytes.extend(b"\x01a")
        } else {
            bytes.extend(integer(value))
        }
        last = id;
    }
    bytes.push(0);
    bytes
}

fn metadata(schema: &[Vec<u8>], row_groups: &[Vec<u8>]) -> Vec<u8> {
    [
        &[0x15, 0x02, 0x19],
        list_of_structs(schema).as_slice(),
        &[0x16, 0x02, 0x19],
        &list_of_structs(row_groups),
        &[0],
    ]
    .concat()
}

/// Builds a row group with one column, whose pages follow the magic bytes.
fn row_group(physical: i64, codec: i64, n_rows: i64, n_bytes: usize) -> Vec<u8> {
    let n_bytes = integer(n_bytes as i64);
    let column = [
        [0x15].as_slice(),
        &integer(physical),        // type
        &[0x19, 0x05],             // encodings, none
        &[0x19, 0x18, 0x01, b'a'], // path
        &[0x15],
        &integer(codec),
        &[0x16],
        &integer(n_rows), // values
        &[0x16],
        &n_bytes,
        &[0x16],
        &n_bytes, // sizes
        &[0x26],
        &integer(4), // data page
        &[0],
    ]
    .concat();
    let chunk = [&[0x26, 0x08, 0x1c], column.as_slice(), &[0]].concat();
    [&[0x19], list_of_structs(&[chunk]).as_slice(), &[0x16, 0x02, 0x16], &integer(n_rows), &[0]]
        .concat()
}

/// Builds a data page of version 1, or a dictionary.
fn page(
    is_dictionary: bool,
    n_inflated: i64,
    n_values: i64,
    encoding: i64,
    body: &[u8],
) -> Vec<u8> {
    let kind = if is_dictionary { 2 } else { 0 };
    let header = if is_dictionary { 0x4c } else { 0x2c };
    let levels: &[u8] = if is_dictionary { &[] } else { &[0x15, 0x06, 0x15, 0x06] };
    [
        [0x15].as_slice(),
        &integer(kind),
        &[0x15],
        &integer(n_inflated),
        &[0x15],
        &integer(body.len() as i64),
        &[header, 0x15],
        &integer(n_values),
        &[0x15],
        &integer(encoding),
        levels,
        &[0, 0],
        body,
    ]
    .concat()
}

const INT32: i64 = 1;
const TEXT: i64 = 6;
const GZIP: i64 = 2;

fn outcome(physical: i64, repetition: i64, codec: i64, n_rows: i64, pages: &[u8]) -> Result<Table> {
    let schema = [element(None, None, Some(1)), element(Some(physical), Some(repetition), None)];
    let metadata = metadata(&schema, &[row_group(physical, codec, n_rows, pages.len())]);
    preview(Arc::new(file(pages, &metadata)), &REQUEST)
}

#[test]
fn reads_a_handmade_file() {
    let table = outcome(INT32, 0, 0, 2, &page(false, 8, 2, 0, &[7, 0, 0, 0, 8, 0, 0, 0])).unwrap();
    assert_eq!(table.rows, [[Value::Integer(7)], [Value::Integer(8)]]);
    let repeated = [&[4, 0, 0, 0, 2, 0, 2, 1, 2, 0, 0, 0, 4, 1][..], &[9, 0, 0, 0, 9, 0, 0, 0]];
    let table = outcome(INT32, 2, 0, 1, &page(false, 22, 2, 0, &repeated.concat())).unwrap();
    assert_eq!(table.rows, [[Value::Json(serde_json::json!([9, 9]))]]);
}

#[test]
fn ignores_an_unknown_converted_type() {
    let mut column = element(Some(INT32), Some(0), None);
    assert_eq!(column.pop(), Some(0));
    // The sixth field, after the fourth.
    column.extend([0x25].iter().chain(&integer(99)).chain(&[0]));
    let pages = page(false, 8, 2, 0, &[7, 0, 0, 0, 8, 0, 0, 0]);
    let schema = [element(None, None, Some(1)), column];
    let metadata = metadata(&schema, &[row_group(INT32, 0, 2, pages.len())]);
    let table = preview(Arc::new(file(&pages, &metadata)), &REQUEST).unwrap();
    assert_eq!(table.columns[0].kind.to_string(), "int32");
    assert_eq!(table.rows, [[Value::Integer(7)], [Value::Integer(8)]]);
}

#[test]
fn shows_the_first_of_very_many_columns() {
    let mut schema = vec![element(None, None, Some(5_000))];
    schema.extend(vec![element(Some(INT32), Some(0), None); 5_000]);
    let table = preview(Arc::new(file(b"", &metadata(&schema, &[]))), &REQUEST).unwrap();
    assert_eq!(table.columns.len(), 4_096);
    assert_eq!(table.n_columns, Some(5_000));
}

#[test]
fn what_would_end_the_process_is_refused() {
    let too_large = |outcome: Result<Table>| {
        assert!(matches!(outcome, Err(Error::TooLarge { .. })), "{outcome:?}");
    };
    let broken = |outcome: Result<Table>| {
        assert!(matches!(outcome, Err(Error::Broken { .. })), "{outcome:?}");
    };
    let schema =
        |schema: &[Vec<u8>]| preview(Arc::new(file(b"", &metadata(schema, &[]))), &REQUEST);
    // Nested groups that would overflow the stack.
    let mut deep = vec![element(None, None, Some(1))];
    deep.extend(vec![element(None, Some(0), Some(1)); 90_000]);
    deep.push(element(Some(INT32), Some(0), None));
    too_large(schema(&deep));
    // A claim of two billion children.
    broken(schema(&[element(None, None, Some(i64::from(i32::MAX)))]));
    too_large(schema(&vec![element(Some(INT32), Some(0), None); 100_001]));
    // Sizes that would be allocated at once.
    let metadata_of_4_gib = [b"PAR1".as_slice(), &[0; 20], &[0xff; 4], b"PAR1"].concat();
    too_large(preview(Arc::new(metadata_of_4_gib), &REQUEST));
    too_large(outcome(INT32, 0, GZIP, 2, &page(false, i64::from(i32::MAX), 2, 0, b"x")));
    too_large(outcome(TEXT, 0, 0, 2, &page(true, 4, i64::from(i32::MAX), 0, &[0; 4])));
    broken(outcome(TEXT, 0, 0, 2, &page(true, 4, 1 << 20, 0, &[0; 4])));
    // More lengths than the page has values.
    let mut lengths = vec![0x80, 0x01, 0x04];
    write_varint(&mut lengths, 1 << 40);
    lengths.push(0);
    broken(outcome(TEXT, 0, 0, 2, &page(false, 9, 2, 6, &lengths)));
    broken(outcome(TEXT, 0, 0, 2, &page(false, 9, 2, 7, &lengths)));
    // A missing dictionary.
    broken(outcome(TEXT, 0, 0, 2, &page(false, 2, 2, 8, &[1, 2])));
}

#[test]
fn inflates_the_start_of_a_large_page_unless_more_is_needed() {
    let n_rows = 12_000_u32;
    let text = |row: u32| format!("{row:<900}");
    let value = |row: u32| [&900_u32.to_le_bytes()[..], text(row).as_bytes()].concat();
    let body: Vec<u8> = (0..n_rows).flat_map(value).collect();
    let snappy = snap::raw::Encoder::new().compress_vec(&body).unwrap();
    for (codec, stored) in [(0, body.clone()), (1, snappy)] {
        let page = page(false, body.len() as i64, i64::from(n_rows), 0, &stored);
        let schema = [element(None, None, Some(1)), element(Some(TEXT), Some(0), None)];
        let row_group = row_group(TEXT, codec, i64::from(n_rows), page.len());
        let bytes = Arc::new(file(&page, &metadata(&schema, &[row_group])));
        for (offset, limit) in [(0, 3), (0, 12_000), (11_990, 5), (4_000, 1_000)] {
            let request = Request { offset, ..Request::new("x", limit, 64 << 20) };
            let rows = preview(bytes.clone(), &request).unwrap().rows;
            assert_eq!(rows.len(), limit);
            for (index, row) in rows.iter().enumerate() {
                let Value::Text(shown) = &row[0] else { unreachable!("a text") };
                let expected = scalar::hex(&text((offset + index) as u32).as_bytes()[..64]);
                assert!(shown.starts_with(&expected), "{codec} {offset} {index}: {shown}");
            }
        }
    }
}

#[test]
fn a_page_inflates_to_its_declared_size_or_is_rejected() {
    use std::io::Write;
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(&vec![0; 64 << 20]).unwrap();
    let bomb = bomb.finish().unwrap();
    let broken = outcome(INT32, 0, GZIP, 2, &page(false, 8, 2, 0, &bomb));
    assert!(matches!(broken, Err(Error::Broken { .. })));
    let mut whole = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    whole.write_all(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    let table = outcome(INT32, 0, GZIP, 2, &page(false, 8, 2, 0, &whole.finish().unwrap()));
    assert_eq!(table.unwrap().rows.len(), 2);
}

#[test]
fn counts_prefixed_texts_before_decoding() {
    // One text of 1 MiB, and a thousand that repeat it.
    let n_values = 1001_u64;
    let lengths = |first: i64, deltas: [i64; 2]| {
        let mut bytes = Vec::new();
        for number in [8192, 4, n_values] {
            write_varint(&mut bytes, number);
        }
        write_integer(&mut bytes, first);
        // The second value differs by the first delta, all others by the second, which is 0.
        write_integer(&mut bytes, deltas[0].min(0));
        bytes.extend([32, 0, 0, 0]);
        let mut packed = vec![0; 2048 * 4];
        for index in 0..2048 {
            let delta = if index == 0 { deltas[0] } else { deltas[1] } - deltas[0].min(0);
            packed[index * 4..][..4].copy_from_slice(&(delta as u32).to_le_bytes());
        }
        bytes.extend(packed);
        bytes
    };
    let prefixes = lengths(0, [1 << 20, 0]);
    let suffixes = lengths(1 << 20, [-(1 << 20), 0]);
    let body = [prefixes, suffixes, vec![b'x'; 1 << 20]].concat();
    let page = page(false, body.len() as i64, n_values as i64, 7, &body);
    let outcome = outcome(TEXT, 0, 0, n_values as i64, &page);
    let Err(Error::TooLarge { cause }) = outcome else { unreachable!("{outcome:?}") };
    assert_eq!(cause, "column a: a page has more than 256 MiB of texts");
}

#[test]
fn cuts_an_endless_list() {
    // One row: all repetition levels but the first are 1, in a run of two billion.
    let n_values = i64::from(i32::MAX);
    let mut run = Vec::new();
    write_varint(&mut run, (n_values as u64) << 1);
    let levels = |first: &[u8], level: u8| {
        let bytes = [first, &run, &[level]].concat();
        [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
    };
    let dictionary = page(true, 4, 1, 0, &[5, 0, 0, 0]);
    let body = [levels(&[0x02, 0x00], 1), levels(&[], 1), vec![1], run.clone(), vec![0]].concat();
    let pages = [dictionary, page(false, body.len() as i64, n_values, 8, &body)].concat();
    let table = outcome(INT32, 2, 0, 1, &pages).unwrap();
    let Value::Json(Json::Array(list)) = &table.rows[0][0] else { unreachable!("a list") };
    assert_eq!(list.len(), 127);
    assert_eq!(list[126], "… (+262018 or more)");
}

#[test]
fn the_memory_of_pages_and_metadata_is_checked_before_they_are_read() {
    let preview_with = |max_memory| {
        quietly(|| preview(Arc::new(fixture("gzip")), &Request { max_memory, ..REQUEST }))
    };
    assert!(matches!(preview_with(0), Err(Error::OutOfMemory { .. })));
    let needed = (0..20).map(|n| 1 << n).find(|it| preview_with(*it).is_ok()).unwrap();
    // The metadata fits, but not the pages.
    assert!(matches!(preview_with(needed / 2), Err(Error::OutOfMemory { .. })));
}
