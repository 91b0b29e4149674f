//! Every value of a database is shown as SQLite returns it, and damage is reported.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::pages::{MAX_ROW, TextEncoding};
use super::record::Stored;
use super::*;

/// Returns the bytes of a database after some statements.
fn database(sql: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    drop(connection);
    std::fs::read(path).unwrap()
}

fn request(sheet: Option<&str>) -> Request<'_> {
    Request { sheet, ..Request::new("a.db", usize::MAX, 64 << 20) }
}

fn shown(bytes: &[u8], sheet: Option<&str>) -> Result<Table> {
    crate::preview(Arc::new(bytes.to_vec()), &request(sheet))
}

/// Checks that all rows of a table are shown as SQLite returns them.
fn check(bytes: &[u8], table: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    std::fs::write(&path, bytes).unwrap();
    let connection = Connection::open(&path).unwrap();
    let mut query = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
    let names: Vec<String> = query.column_names().map(|name| name.to_string()).collect();
    let mut expected = Vec::new();
    let mut rows = query.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let value = |index: usize| {
            let value = match row.get_ref(index).unwrap() {
                ValueRef::Null => Stored::Null,
                ValueRef::Integer(number) => Stored::Integer(number),
                ValueRef::Real(number) => Stored::Real(number),
                ValueRef::Text(bytes) => Stored::Text { bytes, n_bytes: bytes.len() },
                ValueRef::Blob(bytes) => Stored::Blob { bytes, n_bytes: bytes.len() },
            };
            value.shown(TextEncoding::Utf8, false, 1000)
        };
        expected.push((0..names.len()).map(value).collect::<Vec<_>>());
    }
    let found = shown(bytes, Some(table)).unwrap();
    let found_names: Vec<String> = found.columns.iter().map(|it| it.name.clone()).collect();
    assert_eq!(found_names, names, "{table}");
    assert_eq!(found.rows.len(), expected.len(), "{table}");
    for (found, expected) in found.rows.iter().zip(&expected) {
        assert_eq!(found, expected, "{table}");
    }
    assert!(!found.has_more);
}

#[test]
fn definitions_are_understood_as_sqlite_does() {
    for definition in [
        "a, b, c)",
        "a INTEGER PRIMARY KEY, b, c)",
        "a INTEGER PRIMARY KEY DESC, b, c)",
        "a INT PRIMARY KEY, b, c)",
        "a text, b integer primary key desc, c text) WITHOUT ROWID",
        "a \"INTEGER\" primary key, b, c)",
        "a [integer] primary key, b \"REAL\", c 'my real')",
        "a \"INTEGER\" \"x\" primary key, b, c)",
        "\"a \"\"b\" integer primary key autoincrement, [b[b] text, `c``` blob)",
        "a REAL, b DOUBLE PRECISION, c FLOATING POINT)",
        "a DECIMAL(10, 2) NOT NULL DEFAULT (1 + 2), b VARCHAR(20) COLLATE NOCASE, c)",
        "a /* , b */ TEXT, -- c, d\n b, 'c' INTEGER, PRIMARY KEY (c DESC))",
        "a INTEGER, b, c, CONSTRAINT k PRIMARY KEY (a), CHECK (length(b) > 0))",
        "a, b INTEGER, c, UNIQUE (a, b) PRIMARY KEY (b))",
        "a, b, c, PRIMARY KEY (c, a)) WITHOUT ROWID",
        "a, b, c PRIMARY KEY) WITHOUT ROWID",
        "a INTEGER PRIMARY KEY, b REAL, c ANY) WITHOUT ROWID, STRICT",
        "a, b, c, PRIMARY KEY (\"C\", 'b', c)) WITHOUT ROWID",
        "a, b AS (c || 'x') STORED, c)",
        "a unique, key default 'x', c)",
        "a constraint x not null, b generated, c default -1.5e3)",
    ] {
        let sql = format!("CREATE TABLE t({definition}");
        let names: Vec<_> = Definition::parse(&sql).unwrap().columns;
        assert_eq!(names.len(), 3, "{definition}");
        let [a, b, c] = [0, 1, 2].map(|index| names[index].name.replace('"', "\"\""));
        let insert = if sql.contains("STORED") {
            format!("INSERT INTO t(\"{a}\", \"{c}\") VALUES (1, 2), (3, 4)")
        } else {
            format!(
                "INSERT INTO t(\"{a}\", \"{b}\", \"{c}\") VALUES (1, 2, 3), (7, 8, 5), (9, 1, 4)"
            )
        };
        check(&database(&format!("{sql}; {insert};")), "t");
    }
}

#[test]
fn values_of_all_sizes_are_read_from_pages_of_all_sizes() {
    let sizes = "WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 260) \
        INSERT INTO t SELECT n, substr(hex(zeroblob(40000)), 1, n * n % 9001), \
        zeroblob((n * 37) % 2500), (n * 7919 % 100) / 4.0, \
        (1 << (n % 62)) * (1 - 2 * (n % 2)), NULL FROM n;";
    for (settings, definition) in [
        ("page_size = 512", "id INTEGER PRIMARY KEY, a, b, c REAL, d, e)"),
        ("page_size = 1024; PRAGMA auto_vacuum = FULL", "id, a, b, c REAL, d, e)"),
        ("page_size = 4096", "id, a, b, c, d, e, PRIMARY KEY (d, id)) WITHOUT ROWID"),
        (
            "page_size = 512; PRAGMA encoding = 'UTF-16le'",
            "id, a, b, c, d, e, PRIMARY KEY (a, id)) WITHOUT ROWID",
        ),
        ("page_size = 65536; PRAGMA encoding = 'UTF-16be'", "id, a, b, c, d, e)"),
    ] {
        let sql = format!("PRAGMA {settings}; CREATE TABLE t({definition}; {sizes}");
        check(&database(&sql), "t");
    }
}

#[test]
fn rows_are_skipped_and_limited() {
    let bytes = database(
        "PRAGMA page_size = 512; CREATE TABLE t(a INTEGER PRIMARY KEY, b); \
        CREATE TABLE w(a PRIMARY KEY, b) WITHOUT ROWID; \
        WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000) \
        INSERT INTO t SELECT n, 'text' FROM n; INSERT INTO w SELECT * FROM t;",
    );
    for sheet in ["t", "w"] {
        for (offset, limit, expected, has_more) in [
            (0, 2, vec![1, 2], true),
            (4321, 3, vec![4322, 4323, 4324], true),
            (4998, 2, vec![4999, 5000], false),
            (4999, 9, vec![5000], false),
            (5000, 9, vec![], false),
            (usize::MAX, 9, vec![], false),
        ] {
            let request = Request { offset, limit, ..request(Some(sheet)) };
            let table = crate::preview(Arc::new(bytes.clone()), &request).unwrap();
            let found: Vec<_> = table.rows.iter().map(|row| row[0].clone()).collect();
            let expected: Vec<_> = expected.into_iter().map(Value::Integer).collect();
            assert_eq!((found, table.has_more), (expected, has_more), "{sheet} {offset} {limit}");
        }
    }
}

#[test]
fn older_rows_have_the_default_of_a_new_column() {
    let bytes = database(
        "CREATE TABLE t(a); INSERT INTO t VALUES (1); ALTER TABLE t ADD b DEFAULT 'it''s'; \
        ALTER TABLE t ADD c REAL DEFAULT -1.5; ALTER TABLE t ADD d DEFAULT TRUE; \
        ALTER TABLE t ADD e DEFAULT x'0aFF'; ALTER TABLE t ADD f DEFAULT +7; ALTER TABLE t ADD g; \
        INSERT INTO t(a) VALUES (2);",
    );
    check(&bytes, "t");
}

/// Checks older rows of a table to which columns with these definitions are added.
fn check_added(columns: &[&str], options: &str) {
    let add = |(n, column): (usize, &&str)| format!("ALTER TABLE t ADD c{n} {column};");
    let added: String = columns.iter().enumerate().map(add).collect();
    let create =
        "PRAGMA foreign_keys = OFF; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE t(a INT)";
    let sql = format!("{create}{options}; INSERT INTO t VALUES (1); {added}");
    check(&database(&sql), "t");
}

#[test]
fn defaults_are_the_constants_that_sqlite_reads() {
    check_added(
        &[
            "default (5) not null",
            "default (0)",
            "default ('hi') check (1)",
            "default 0x10",
            "default -0x10",
            "default (-(-7))",
            "default 4 default 5",
            "default .5",
            "default (1e3) collate nocase",
            "default hello",
            "default \"x y\"",
            "default null check (1)",
            "default 9223372036854775808",
            "default -9223372036854775808",
            "default (null)",
            "default (x'0aFF')",
            "default (true)",
            "integer references p(id) on delete set default default 4",
        ],
        "",
    );
    for kind in ["", "text", "integer", "real", "numeric", "blob", "any", "varchar(9)", "double"] {
        let defaults = [
            "1",
            "'7'",
            "'7.0'",
            "' 7 '",
            "'7.5'",
            "'x'",
            "1.5",
            "1.50",
            "2.0",
            "-3",
            "+4",
            "'1e3'",
            "true",
            "'inf'",
            "''",
            "'0x10'",
            "9223372036854775808",
            "'9223372036854775808'",
            "1e300",
            "007",
            "'007'",
            "x'31'",
            "-1.50",
            "1e15",
            "1e16",
            "'.5'",
            "'5.'",
            "'+5'",
            "'-'",
            "'1e'",
        ];
        let columns = defaults.map(|default| format!("{kind} default {default}"));
        check_added(&columns.each_ref().map(String::as_str), "");
    }
    check_added(
        &["any default '7'", "int default 7", "real default 7", "any default 7"],
        " STRICT",
    );
}

#[test]
fn a_default_that_is_computed_is_unknown() {
    let bytes = database(
        "CREATE TABLE t(a); INSERT INTO t VALUES (1); \
        ALTER TABLE t ADD b DEFAULT (CAST('7' AS INTEGER)); ALTER TABLE t ADD c DEFAULT 3;",
    );
    let table = shown(&bytes, None).unwrap();
    let unknown = Value::Text("…".into());
    assert_eq!(table.rows, [[Value::Integer(1), unknown, Value::Integer(3)]]);
    assert_eq!(table.notes, ["Defaults that are expressions are shown as … in: b."]);
    // It is stored in rows that are newer than the column.
    let bytes = database("CREATE TABLE t(a, b DEFAULT (1 + 2)); INSERT INTO t(a) VALUES (1)");
    let table = shown(&bytes, None).unwrap();
    assert_eq!((&table.rows[0][1], table.notes.len()), (&Value::Integer(3), 0));
}

#[test]
fn the_first_table_with_rows_is_shown_and_all_are_named() {
    let bytes = database(
        "CREATE TABLE none(a); CREATE TABLE \"My table\"(id INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT); \
        INSERT INTO \"My table\"(b) VALUES ('x'); CREATE VIEW v AS SELECT * FROM none; \
        CREATE TABLE g(a, b AS (a || '!'), c); INSERT INTO g VALUES (1, 2);",
    );
    let table = shown(&bytes, None).unwrap();
    assert_eq!(table.rows, [[Value::Integer(1), Value::Text("x".into())]]);
    let types: Vec<_> = table.columns.iter().map(|column| column.kind.to_string()).collect();
    assert_eq!(types, ["INTEGER", "TEXT"]);
    assert_eq!(
        table.notes,
        ["This is table My table of 3: none, My table, g.", "Views are not shown: v."]
    );
    let table = shown(&bytes, Some("G")).unwrap();
    assert_eq!(table.rows, [[Value::Integer(1), Value::Integer(2)]]);
    assert!(table.notes.contains(&"Computed columns are not shown: b.".to_string()));
    let schema = shown(&bytes, Some("sqlite_schema")).unwrap();
    assert_eq!(schema.rows.len(), 5);
    assert_eq!(shown(&bytes, Some("sqlite_sequence")).unwrap().rows.len(), 1);
    let error = shown(&bytes, Some("v")).unwrap_err();
    assert_eq!(error.to_string(), "v is a view, and queries are not run");
    let error = shown(&bytes, Some("x")).unwrap_err();
    let known = "none, My table, g, sqlite_schema".into();
    assert_eq!(error, Error::NoSuchSheet { sheet: "x".into(), known });
}

#[test]
fn a_database_without_tables_or_rows_is_shown() {
    let table = shown(&database("PRAGMA user_version = 1"), None).unwrap();
    assert_eq!((table.columns.len(), table.notes), (0, vec!["The database has no tables.".into()]));
    let table = shown(&database("CREATE TABLE t(a, b)"), None).unwrap();
    assert_eq!((table.columns.len(), table.rows.len(), table.notes.len()), (2, 0, 0));
}

#[test]
fn the_log_of_a_database_is_mentioned() {
    let table = shown(&database("PRAGMA journal_mode = WAL; CREATE TABLE t(a)"), None).unwrap();
    assert!(table.notes[0].contains("write-ahead log"), "{:?}", table.notes);
}

#[test]
fn a_long_row_is_read_in_part() {
    let n_bytes = 3 * MAX_ROW;
    let sql = format!(
        "CREATE TABLE t(a, b, c); INSERT INTO t VALUES (1, hex(zeroblob({n_bytes})), 2), (3, 4, 5)"
    );
    let table = shown(&database(&sql), None).unwrap();
    let Value::Text(text) = &table.rows[0][1] else { panic!() };
    let n_rest = 2 * n_bytes - 1000;
    assert_eq!(*text, format!("{}… (+{n_rest} bytes)", "0".repeat(1000)));
    assert_eq!(table.rows[0][2], Value::Text("…".into()));
    assert_eq!(table.rows[1], [Value::Integer(3), Value::Integer(4), Value::Integer(5)]);
    assert_eq!(table.notes, ["Of a row, only values in its first MiB are shown."]);
}

#[test]
fn damage_is_reported_and_ends() {
    let bytes = database(
        "PRAGMA page_size = 512; CREATE TABLE t(a INTEGER PRIMARY KEY, b); \
        CREATE TABLE w(a PRIMARY KEY, b) WITHOUT ROWID; \
        WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 40) \
        INSERT INTO t SELECT n, hex(zeroblob(n * 9)) FROM n; INSERT INTO w SELECT * FROM t;",
    );
    let mut n_rejected = 0;
    // Each byte of the headers, and every 20th of the others, as several wrong values.
    for at in (0..bytes.len()).filter(|at| at % 512 < 16 || at % 60 == 0) {
        for value in [1, 0xff, bytes[at] ^ 0x10] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            for sheet in [None, Some("w")] {
                n_rejected += usize::from(shown(&damaged, sheet).is_err());
            }
        }
    }
    assert!(n_rejected > 500, "{n_rejected}");
    for n_bytes in [10, 90, 100, 511, 512, 1000, bytes.len() / 2] {
        let error = shown(&bytes[..n_bytes], Some("w")).unwrap_err().to_string();
        assert!(error.contains("cut off") || n_bytes < 16, "{n_bytes}: {error}");
    }
}

#[test]
fn a_circle_of_pages_ends() {
    let mut bytes = database(
        "PRAGMA page_size = 512; CREATE TABLE t(a); \
        WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 999) \
        INSERT INTO t SELECT n FROM n;",
    );
    // The root of the table becomes its own last child.
    bytes[512 + 8..512 + 12].copy_from_slice(&2u32.to_be_bytes());
    let error = shown(&bytes, None).unwrap_err().to_string();
    assert!(
        ["table t: its pages form a circle", "table t: page 2 is damaged"].contains(&&*error),
        "{error}"
    );
}

#[test]
fn a_schema_has_a_largest_size() {
    let comment = "x".repeat(MAX_ROW - 4096);
    let create = |n: usize| format!("CREATE TABLE t{n}(a /* {comment} */);");
    let tables = |n: usize| (0..n).map(create).collect::<String>();
    assert!(shown(&database(&tables(15)), None).is_err_and(|error| error != too_large()));
    assert_eq!(shown(&database(&tables(17)), None), Err(too_large()));
}

fn too_large() -> Error {
    Error::TooLarge { cause: "its schema has more than 16 MiB".into() }
}

#[test]
fn names_cannot_forge_lines_of_an_answer() {
    let bytes = database("CREATE TABLE \"t\n\n9 rows\"(a \"x\ny|z\"); CREATE TABLE u(a)");
    let table = shown(&bytes, None).unwrap();
    assert_eq!(table.notes, ["This is table t⏎⏎9 rows of 2: t⏎⏎9 rows, u."]);
    let known = "t⏎⏎9 rows, u, sqlite_schema".into();
    assert_eq!(shown(&bytes, Some("x")), Err(Error::NoSuchSheet { sheet: "x".into(), known }));
}
