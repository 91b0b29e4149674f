//! Compares values and types with pyarrow's, and reads files with false metadata.

#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use expect_test::{Expect, expect};
use parquet::schema::parser::parse_message_type;
use serde_json::Value as Json;

use super::*;

mod hostile;

pub fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parquet");
    std::fs::read(format!("{folder}/{name}.parquet")).unwrap()
}

pub const ALL: [&str; 18] = [
    "brotli",
    "delta",
    "duckdb",
    "empty",
    "groups",
    "gzip",
    "int96",
    "lz4",
    "names",
    "nested",
    "nested_v2",
    "no_columns",
    "pages",
    "scalars",
    "snappy",
    "uuids",
    "v2",
    "zstd",
];

fn preview_of(name: &str, limit: usize, max_bytes: usize) -> Table {
    preview(Arc::new(fixture(name)), &Request::new(name, limit, max_bytes)).unwrap()
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Number(value) => (*value).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Json(value) => value.clone(),
    }
}

fn columns(table: &Table) -> String {
    table.columns.iter().map(|it| format!("{}: {}\n", it.name, it.kind)).collect()
}

#[test]
fn values_match_pyarrow() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parquet/expected.json");
    let expected: serde_json::Map<String, Json> =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(expected.keys().eq(ALL), "{:?}", expected.keys());
    for (name, rows) in expected {
        let table = preview_of(&name, 25, 1 << 20);
        let rows = rows.as_array().unwrap();
        assert_eq!(table.rows.len(), rows.len(), "{name}");
        for (row_idx, (row, expected)) in table.rows.iter().zip(rows).enumerate() {
            for (column, (value, expected)) in
                table.columns.iter().zip(row.iter().zip(expected.as_array().unwrap()))
            {
                assert_eq!(&plain(value), expected, "{name}: {} of row {row_idx}", column.name);
            }
        }
    }
}

#[test]
fn types_have_their_names_in_the_format() {
    let check = |name, expected: Expect| expected.assert_eq(&columns(&preview_of(name, 0, 99)));
    check(
        "scalars",
        expect![[r#"
        bool: boolean
        i8: int8
        i16: int16
        i32: int32
        i64: int64
        u8: uint8
        u16: uint16
        u32: uint32
        u64: uint64
        f16: float16
        f32: float
        f64: double
        nan: double
        str: string
        lstr: string
        bin: binary
        longbin: binary
        fixed: binary
        date: date
        time_ms: time(ms)
        time_us: time(us)
        time_ns: time(ns)
        ts_ms: timestamp(ms)
        ts_us: timestamp(us)
        ts_ns: timestamp(ns)
        ts_utc: timestamp(us, UTC)
        ts_berlin: timestamp(us, UTC)
        dec9: decimal(9,2)
        dec18: decimal(18,4)
        dec38: decimal(38,10)
        dec76: decimal(76,0)
        dict: string
        null: null
    "#]],
    );
    check(
        "nested",
        expect![[r#"
        ints: list<int64>
        lists: list<list<string>>
        struct: struct<a int64, b string>
        map: map<string,int64>
        twice: map<int32,string>
        deep: list<struct<n int32, tags list<string>, at date>>
        structs: struct<in struct<x double, l list<int8>>>
        long: list<int32>
        fixed: list<float>
    "#]],
    );
    check(
        "duckdb",
        expect![[r#"
        u: uuid
        i: interval
        e: string
        j: json
        h: double
        l: list<int32>
        s: struct<x int32, y list<int32>>
        m: map<string,int32>
        d: decimal(4,1)
        t: time(us)
        ts: timestamp(us)
        tz: timestamp(us, UTC)
        s0: timestamp(us)
        s9: timestamp(ns)
        b: binary
    "#]],
    );
    check(
        "int96",
        expect![[r#"
        t: timestamp(ns)
    "#]],
    );
    check(
        "empty",
        expect![[r#"
        a: int64
        b: list<string>
    "#]],
    );
    check(
        "names",
        expect![[r#"
        a: int64
        a_1: int64
        column2: int64
    "#]],
    );
    check("no_columns", expect![[r#""#]]);
}

/// Files that break the rules of the format, or use new ones, most of them of `apache/parquet-testing`.
#[test]
fn odd_files_are_read_as_by_others() {
    let first = |name: &str| {
        let table = preview_of(&format!("odd/{name}"), 3, 1 << 20);
        table.rows.iter().map(|row| Json::Array(row.iter().map(plain).collect())).collect::<Json>()
    };
    // The offset of the dictionary is 0, and a field has another type than today.
    assert_eq!(first("dictionary_at_zero"), serde_json::json!([[1552], [1552], [1552]]));
    // The last page ends behind its column.
    let nations = first("page_beyond_column");
    assert_eq!(nations[2][1], "4252415a494c");
    assert_eq!(nations.as_array().unwrap().len(), 3);
    let expected = serde_json::json!([
        [0, null],
        [1, {"c": {"b": "iceberg"}}],
        [2, {"c": 8, "d": -0.0}],
    ]);
    assert_eq!(first("variant"), expected);
    let expected = serde_json::json!([
        [1, [{"a": 1, "b": "comedy"}, {"a": 2, "b": "drama"}]],
        [2, [{"a": 3, "b": "action", "c": "str"}, {"a": 4, "b": "horror", "d": "2024-01-30"}]],
    ]);
    assert_eq!(first("variant_in_lists"), expected);
    // The converted type says what the logical type calls unknown.
    let expected = serde_json::json!([["P1Y2M3DT5S"], ["P1D"]]);
    assert_eq!(first("interval_of_unknown"), expected);
    assert_eq!(preview_of("odd/variant", 1, 1 << 20).columns[1].kind.to_string(), "variant");
}

#[test]
fn a_time_before_midnight_is_readable() {
    let schema =
        parse_message_type("message m { required int64 a (TIME(MICROS, true)); }").unwrap();
    let scalar = scalar::Scalar::new(&schema.get_fields()[0]);
    assert_eq!(scalar.show_i64(-1_500_000), Value::Text("-00:00:01.500".into()));
}

#[test]
fn a_nested_value_is_cut_like_any_other() {
    let request = Request::new("nested", 100, 1 << 20);
    let table = crate::preview(Arc::new(fixture("nested")), &request).unwrap();
    let shown = table.rows.iter().flatten().map(|value| plain(value).to_string());
    let n_most = shown.map(|text| text.chars().count()).max();
    assert!(n_most.is_some_and(|n| n <= crate::budget::MAX_CELL_CHARS + 100), "{n_most:?}");
}

#[test]
fn lists_of_older_writers_are_lists() {
    for (field, name) in [
        ("repeated int32 a;", "list<int32>"),
        ("repeated group a { required int32 b; }", "list<struct<b int32>>"),
        ("optional group a (LIST) { repeated int32 array; }", "list<int32>"),
        (
            "optional group a (LIST) { repeated group array { required int32 b; } }",
            "list<struct<b int32>>",
        ),
        (
            "optional group a (LIST) { repeated group a_tuple { required int32 b; } }",
            "list<struct<b int32>>",
        ),
        ("optional group a (LIST) { repeated group list { optional int32 b; } }", "list<int32>"),
        ("optional group a (LIST) { repeated group bag { optional int32 b; } }", "list<int32>"),
        (
            "optional group a (LIST) { repeated group e { required int32 b; required int32 c; } }",
            "list<struct<b int32, c int32>>",
        ),
        (
            "optional group a (LIST) { repeated group array (LIST) { repeated int32 array; } }",
            "list<list<int32>>",
        ),
        ("optional group a (LIST) { required int32 b; }", "struct<b int32>"),
        (
            "optional group a (MAP) { repeated group map { required binary key (UTF8); optional int32 value; } }",
            "map<string,int32>",
        ),
        (
            "optional group a (MAP_KEY_VALUE) { repeated group map { required int32 k; required int32 v; } }",
            "map<int32,int32>",
        ),
        (
            "optional group a (MAP) { repeated group map { required int32 key; } }",
            "list<struct<key int32>>",
        ),
    ] {
        let schema = parse_message_type(&format!("message m {{ {field} }}")).unwrap();
        let node = Builder::default().field(&schema.get_fields()[0]);
        assert_eq!(node.kind().to_string(), name, "{field}");
    }
}

#[test]
fn reports_the_number_of_rows_and_whether_there_are_more() {
    for (name, limit, n_rows, n_all) in [
        ("groups", 0, 0, Some("25")),
        ("groups", 10, 10, Some("25")),
        ("groups", 24, 24, Some("25")),
        ("groups", 25, 25, None),
        ("groups", usize::MAX, 25, None),
        ("pages", 100, 100, Some("3,000")),
        ("pages", 5000, 3000, None),
        ("empty", 5, 0, None),
        ("empty", 0, 0, None),
        ("names", 0, 0, Some("1")),
        ("names", 5, 1, None),
        ("no_columns", 5, 0, None),
    ] {
        let table = preview_of(name, limit, 1 << 20);
        let shown = (table.rows.len(), table.has_more, table.notes);
        let note = n_all.map(|n_all| match n_all {
            "1" => "The file has 1 row.".to_string(),
            _ => format!("The file has {n_all} rows."),
        });
        let expected = (n_rows, note.is_some(), note.into_iter().collect());
        assert_eq!(shown, expected, "{name} {limit}");
    }
}

#[test]
fn rows_end_where_the_bytes_do() {
    for (max_bytes, n_rows) in [(0, 1), (1, 1), (100, 3), (1000, 35), (usize::MAX, 3000)] {
        let table = preview_of("pages", usize::MAX, max_bytes);
        assert_eq!((table.rows.len(), table.has_more), (n_rows, n_rows < 3000), "{max_bytes}");
    }
    assert_eq!(preview_of("scalars", 9, 100).rows.len(), 1);
}

#[test]
fn reads_only_needed_bytes() {
    struct Counted(Vec<u8>, Mutex<usize>);
    impl Source for Counted {
        fn size(&self) -> u64 {
            self.0.size()
        }
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
            // A source may return fewer bytes than requested.
            let n_at_most = buffer.len().min(1000);
            let n_read = self.0.read_at(&mut buffer[..n_at_most], offset)?;
            *self.1.lock().unwrap() += n_read;
            Ok(n_read)
        }
    }
    for (name, limit, n_bytes) in [("groups", 0, 700), ("groups", 10, 1000), ("pages", 2, 8130)] {
        let source = Arc::new(Counted(fixture(name), Mutex::new(0)));
        preview(source.clone(), &Request::new(name, limit, 1 << 20)).unwrap();
        let n_read = *source.1.lock().unwrap();
        assert!(n_read <= n_bytes, "{name} {limit}: {n_read}");
    }
}

/// Pages joined give the whole.
#[test]
fn pages_join() {
    for name in ["groups", "pages", "nested", "v2", "nested_v2"] {
        let ask = |offset, limit| {
            let request = Request { offset, ..Request::new(name, limit, 1 << 20) };
            preview(Arc::new(fixture(name)), &request).unwrap()
        };
        let whole = ask(0, usize::MAX);
        for limit in [1, 2, 7, 1_000] {
            if whole.rows.len() / limit > 500 {
                continue;
            }
            let mut joined = Vec::new();
            loop {
                let page = ask(joined.len(), limit);
                joined.extend(page.rows);
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(joined, whole.rows, "{name}: {limit}");
        }
        assert_eq!(ask(whole.rows.len() + 5, 5).rows.len(), 0);
    }
}

#[test]
fn reads_only_the_columns_that_are_asked_for() {
    let columns = ["lists".to_string(), "ints".to_string()];
    let request = Request { columns: &columns, ..Request::new("nested", 3, 1 << 20) };
    let table = crate::preview(Arc::new(fixture("nested")), &request).unwrap();
    let all = preview_of("nested", 3, 1 << 20);
    assert_eq!(table.columns, [all.columns[1].clone(), all.columns[0].clone()]);
    assert_eq!(table.rows[0], [all.rows[0][1].clone(), all.rows[0][0].clone()]);
}
