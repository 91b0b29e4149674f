//! Cells, names and tables in workbooks, and misleading workbooks.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use expect_test::{Expect, expect};

use super::*;
use crate::table::Value;

mod hostile;

pub fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sheets");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

pub fn preview_of(bytes: Vec<u8>, limit: usize, max_bytes: usize) -> Result<Table> {
    preview(Arc::new(bytes), &Request::new("x", limit, max_bytes))
}

fn shown(table: &Table) -> String {
    let mut shown = String::new();
    for column in &table.columns {
        write!(shown, "{}: {}; ", column.name, column.kind).unwrap();
    }
    for row in &table.rows {
        let values = row.iter().map(|value| match value {
            Value::Null => "-".into(),
            Value::Boolean(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Number(value) => format!("{value:?}"),
            Value::Text(text) => format!("{text:?}"),
            Value::Json(value) => value.to_string(),
        });
        write!(shown, "\n{}", values.collect::<Vec<_>>().join(" ")).unwrap();
    }
    for note in &table.notes {
        write!(shown, "\n({note})").unwrap();
    }
    if table.has_more {
        shown += "\n(more)";
    }
    shown + "\n"
}

fn check(name: &str, expected: Expect) {
    expected.assert_eq(&shown(&preview_of(fixture(name), 100, 1 << 20).unwrap()));
}

#[test]
fn shows_every_type_of_cell() {
    check(
        "types.xlsx",
        expect![[r#"
        id: integer; name: text; price: number; when: timestamp; day: date; at: time; took: text; ok: boolean; zip: text; mixed: text; 
        1 "Ann" 1.5 "2024-01-31T12:34:56" "2024-02-29" "08:30:00" "PT26H30M0S" true "00123" 1
        2 "Bob | \n" 2.0 "2024-01-31T00:00:00" "1900-03-01" "23:59:59" "PT0H0M1.500S" false "04567" "x"
        3 - -0.25 - - - - - - "2024-01-01"
    "#]],
    );
}

#[test]
fn days_can_be_counted_from_1904() {
    let table = |name| preview_of(fixture(name), 100, 1 << 20).unwrap();
    assert_eq!(table("types_1904.xlsx").rows[0], table("types.xlsx").rows[0]);
    assert_eq!(table("types_1904.xls").rows[0], table("types.xls").rows[0]);
}

#[test]
fn excel_97_and_opendocument_show_the_same() {
    check(
        "types.xls",
        expect![[r#"
        id: integer; name: text; price: number; when: timestamp; day: date; at: time; took: text; ok: boolean; zip: text; mixed: text; 
        1 "Ann" 1.5 "2024-01-31T12:34:56" "2024-02-29" "08:30:00" "PT26H30M0S" true "00123" 1
        2 "Bob | \n" 2.0 "2024-01-31T00:00:00" "1900-03-01" "23:59:59" "PT0H0M1.500S" false "04567" "x"
        3 - -0.25 - - - - - - "2024-01-01"
        (This is sheet Data of 4: Empty, Secret (hidden), Data, More.)
    "#]],
    );
    check(
        "types.ods",
        expect![[r#"
        id: integer; name: text; price: number; when: timestamp; day: date; at: time; took: text; ok: boolean; zip: text; mixed: text; 
        1 "Ann" 1.5 "2024-01-31T12:34:56" "2024-02-29" "08:30:00" "PT26H30M0S" true "00123" 1
        2 "Bob | \n" 2.0 "2024-01-31T00:00:00" "1900-03-01" "23:59:59" "00:00:01.500" false "04567" "x"
        3 - -0.25 - - - - - - "2024-01-01"
        (This is sheet Data of 4: Empty, Secret (hidden), Data, More.)
    "#]],
    );
    check(
        "binary.xlsb",
        expect![[r##"
        number: number; day: timestamp; ok: text; 
        7.0 "2024-01-31T12:00:00" true
        0.5 "2024-02-01T00:00:00" "#DIV/0!"
    "##]],
    );
}

#[test]
fn finds_the_table_among_other_cells() {
    check(
        "around.xlsx",
        expect![[r#"
        Country: text; 2019: number; 2020: number; Note: text; 
        "France" 1.5 2.5 -
        "Spain" 3.0 4.0 "late"
        (Above the header: Report of 2024.)
        (1 empty row is left out.)
        (This is sheet Data of 4: Empty, Secret (hidden), Data, More.)
    "#]],
    );
}

#[test]
fn every_column_gets_a_unique_name() {
    check(
        "names.xlsx",
        expect![[r#"
        a: integer; a_1: integer; column2: integer; b: integer; a_2: integer; 
        1 2 3 4 5
    "#]],
    );
    check(
        "headless.xlsx",
        expect![[r#"
            column0: integer; column1: text; 
            1 "x"
            2 "y"
            (There is no header; column names are generated.)
        "#]],
    );
    check(
        "header_only.xlsx",
        expect![[r#"
        a: text; b: text; 
    "#]],
    );
    check(
        "blank.xlsx",
        expect![[r#"

        (The sheet Sheet is empty or hidden.)
    "#]],
    );
}

#[test]
fn formulas_show_their_stored_values() {
    check(
        "formulas.xlsx",
        expect![[r#"
        sum: integer; text: text; 
        2 "ab"
    "#]],
    );
}

#[test]
fn joins_shared_texts() {
    check(
        "shared.xlsx",
        expect![[r#"
            a: text; rich: timestamp; 
            " x&y" "2024-01-31T01:02:03.500"
        "#]],
    );
}

#[test]
fn errors_are_texts_and_long_texts_are_cut() {
    let table = preview_of(fixture("errors.xlsx"), 100, 1 << 20).unwrap();
    assert_eq!(table.rows[0][0], Value::Text("#DIV/0!".into()));
    let cut = format!("{}… (+500 characters)", "y".repeat(1000));
    assert_eq!(table.rows[0][1], Value::Text(cut));
}

#[test]
fn rows_and_bytes_are_bounded() {
    for name in ["types.xlsx", "types.xls", "types.ods"] {
        for (limit, max_bytes, n_rows, has_more) in [
            (0, 1 << 20, 0, true),
            (1, 1 << 20, 1, true),
            (2, 1 << 20, 2, true),
            (3, 1 << 20, 3, false),
            (usize::MAX, usize::MAX, 3, false),
            (9, 0, 1, true),
            (9, 150, 1, true),
        ] {
            let table = preview_of(fixture(name), limit, max_bytes).unwrap();
            let shown = (table.rows.len(), table.has_more);
            assert_eq!(shown, (n_rows, has_more), "{name} {limit} {max_bytes}");
            assert_eq!(table.columns.len(), 10);
        }
    }
}

#[test]
fn reads_what_other_programs_read() {
    check(
        "utf16.xlsx",
        expect![[r#"
        a: integer; a_1: integer; column2: integer; b: integer; a_2: integer; 
        1 2 3 4 5
    "#]],
    );
    check(
        "macros.xlsx",
        expect![[r#"
        a: integer; a_1: integer; column2: integer; b: integer; a_2: integer; 
        1 2 3 4 5
        (This is sheet Sheet of 2: Sheet, Macro1.)
    "#]],
    );
    check(
        "new_errors.xlsx",
        expect![[r##"
        a: text; b: text; c: integer; 
        "#SPILL!" "#DIV/0!" 3
    "##]],
    );
    check(
        "before_1900.xlsx",
        expect![[r#"
        day: timestamp; n: integer; 
        "1899-12-29T00:00:00" 0
        "1799-12-30T00:00:00" 1
        "2023-03-15T12:00:00" 2
    "#]],
    );
    let far = preview_of(fixture("far.xls"), 100, 1 << 20).unwrap();
    assert_eq!((far.rows.len(), far.columns.len()), (2, 256));
    assert_eq!((far.columns[1].name.as_str(), &far.rows[1][0]), ("name", &Value::Integer(2)));
    assert_eq!(far.rows[1][255], Value::Text("end".into()));
    assert_eq!(far.notes, ["65533 empty rows are left out."]);
}

#[test]
fn reads_the_sheet_that_is_asked_for() {
    for name in ["around.xlsx", "types.xls", "types_1904.xls", "types.ods"] {
        let ask = |sheet| {
            let request = Request { sheet: Some(sheet), ..Request::new("x", 10, 1 << 20) };
            preview(Arc::new(fixture(name)), &request)
        };
        let more = ask("More").unwrap();
        assert_eq!(more.rows, [[Value::Integer(1)]], "{name}");
        let sheet = "This is sheet More of 4: Empty, Secret (hidden), Data, More.";
        assert_eq!(more.notes, ["There is no header; column names are generated.", sheet]);
        assert_eq!(ask("Secret").unwrap().columns[0].name, "hidden", "{name}");
        let known = "Empty, Secret, Data, More".into();
        assert_eq!(ask("Dat"), Err(Error::NoSuchSheet { sheet: "Dat".into(), known }), "{name}");
        assert_eq!(ask("Empty").unwrap().rows.len(), 0, "{name}");
    }
}

/// Pages joined give the whole.
#[test]
fn pages_of_a_sheet_join() {
    let row = |row: u32| {
        let cell = |number: u32| {
            format!(r#"<table:table-cell office:value-type="float" office:value="{number}"/>"#)
        };
        format!("<table:table-row>{}{}</table:table-row>", cell(row), cell(row * 7))
    };
    let text = |text: &str| {
        format!(r#"<table:table-cell office:value-type="string" office:string-value="{text}"/>"#)
    };
    let header = format!("<table:table-row>{}{}</table:table-row>", text("a"), text("b"));
    let title = format!("<table:table-row>{}</table:table-row>", text("title"));
    let rows: String = (0..60).map(row).collect();
    let content = format!(r#"<table:table table:name="a">{title}{header}{rows}</table:table>"#);
    let bytes = hostile::ods_archive(&content);
    let ask = |offset, limit| {
        let request = Request { offset, ..Request::new("x", limit, 1 << 20) };
        preview(Arc::new(bytes.clone()), &request).unwrap()
    };
    let whole = ask(0, 100);
    assert_eq!((whole.rows.len(), whole.columns[0].name.as_str()), (60, "a"));
    for limit in [1, 7, 13, 50] {
        let mut joined = Vec::new();
        loop {
            let page = ask(joined.len(), limit);
            assert_eq!(page.columns, whole.columns);
            joined.extend(page.rows);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(joined, whole.rows, "{limit}");
    }
    assert_eq!(ask(60, 5).rows.len(), 0);
    assert_eq!(ask(600, 5).rows.len(), 0);
}

/// Long rows fill an answer before the rows at a small offset are reached.
#[test]
fn pages_of_long_rows_join() {
    let cell = |text: &str| {
        format!(r#"<table:table-cell office:value-type="string" office:string-value="{text}"/>"#)
    };
    let row = |row: usize| cell(&format!("{row} {}", "x".repeat(300)));
    let rows: String =
        (0..40).map(|n| format!("<table:table-row>{}</table:table-row>", row(n))).collect();
    let header = format!("<table:table-row>{}</table:table-row>", cell("a"));
    let content = format!(r#"<table:table table:name="a">{header}{rows}</table:table>"#);
    let bytes = hostile::ods_archive(&content);
    for max_bytes in [1_000, 4_000] {
        let mut joined = Vec::new();
        loop {
            let request = Request { offset: joined.len(), ..Request::new("x", 100, max_bytes) };
            let page = preview(Arc::new(bytes.clone()), &request).unwrap();
            assert!(!page.rows.is_empty(), "{max_bytes} {}", joined.len());
            joined.extend(page.rows);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(joined.len(), 40);
        for (n, row) in joined.iter().enumerate() {
            assert_eq!(row[0], Value::Text(format!("{n} {}", "x".repeat(300))), "{max_bytes}");
        }
    }
}

/// Returns a workbook with one sheet that has these rows.
fn xlsx_of(rows: &str) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let relation = |kind: &str, target: &str| {
        format!(
            r#"<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" Type="{OFFICE}/{kind}" Target="{target}"/></Relationships>"#
        )
    };
    let workbook = format!(
        r#"<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>"#
    );
    let sheet = format!(r#"<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>"#);
    hostile::archive(&[
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml").as_bytes()),
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relation("worksheet", "worksheets/sheet1.xml").as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

/// Returns a row of cells, given as the XML inside of each.
fn xlsx_row(cells: &[&str]) -> String {
    let cell = |inside: &&str| match inside.strip_prefix('\'') {
        Some(text) => format!(r#"<c t="inlineStr"><is><t>{text}</t></is></c>"#),
        None => format!("<c>{inside}</c>"),
    };
    format!("<row>{}</row>", cells.iter().map(cell).collect::<String>())
}

fn check_rows(rows: &[&[&str]], expected: Expect) {
    let rows: String = rows.iter().map(|row| xlsx_row(row)).collect();
    expected.assert_eq(&shown(&preview_of(xlsx_of(&rows), 100, 1 << 20).unwrap()));
}

#[test]
fn formulas_without_a_value_are_noted_and_their_rows_kept() {
    check_rows(
        &[
            &["'n", "'double"],
            &["<v>1</v>", "<f>A2*2</f><v></v>"],
            &["<f>A2+1</f>", "<f>A3*2</f><v/>"],
            &["<v>3</v>", "<f>A4*2</f><v>6</v>"],
            &["<v>4</v>", ""],
        ],
        expect![[r#"
            n: integer; double: integer; 
            1 -
            - -
            3 6
            4 -
            (3 formulas have no stored value and are shown as empty.)
        "#]],
    );
    // A damaged formula does not hide values.
    check_rows(
        &[&["'n"], &[r#"<f t="shared">A1</f><v>5</v>"#]],
        expect![[r#"
        n: integer; 
        5
    "#]],
    );
    let formula = r#"<table:table-cell table:formula="of:=1+1"/>"#;
    let content = format!(
        r#"<table:table table:name="a"><table:table-row>{formula}</table:table-row></table:table>"#
    );
    let table = preview_of(hostile::ods_archive(&content), 100, 1 << 20).unwrap();
    assert_eq!(table.rows, [[Value::Null]]);
    assert_eq!(table.notes[1], "1 formula has no stored value and is shown as empty.");
}

/// Returns a workbook in which one cell is far to the right of the others.
fn with_stray_cell() -> Vec<u8> {
    let stray = r#"<row r="4"><c r="A4"><v>3</v></c><c r="AZ4"><v>9</v></c></row>"#;
    let header = xlsx_row(&["'id", "'name", "'note"]);
    let rows: String = ["<v>1</v>", "<v>2</v>"].map(|id| xlsx_row(&[id, "'x", "'y"])).concat();
    xlsx_of(&format!("{header}{rows}{stray}"))
}

#[test]
fn a_cell_far_away_does_not_hide_the_header() {
    let table = preview_of(with_stray_cell(), 100, 1 << 20).unwrap();
    let names: Vec<_> = table.columns.iter().take(4).map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["id", "name", "note", "column03"]);
    assert_eq!((table.rows.len(), table.columns.len(), table.notes.len()), (3, 52, 0));
}

#[test]
fn dates_can_be_names_of_numbers() {
    let text = |text: &str| {
        format!(r#"<table:table-cell office:value-type="string" office:string-value="{text}"/>"#)
    };
    let date = |date: &str| {
        format!(r#"<table:table-cell office:value-type="date" office:date-value="{date}"/>"#)
    };
    let number = |number: &str| {
        format!(r#"<table:table-cell office:value-type="float" office:value="{number}"/>"#)
    };
    let check = |rows: &[String], expected: &[&str]| {
        let row = |cells: &String| format!("<table:table-row>{cells}</table:table-row>");
        let rows: String = rows.iter().map(row).collect();
        let content = format!(r#"<table:table table:name="a">{rows}</table:table>"#);
        let table = preview_of(hostile::ods_archive(&content), 100, 1 << 20).unwrap();
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, expected);
        let has_note = table.notes.contains(&crate::names::NO_HEADER.to_string());
        assert_eq!(has_note, expected[0] == "column0");
    };
    let header = text("Item") + &date("2024-01-01") + &date("2024-02-01");
    let numbers = text("x") + &number("1") + &number("2");
    check(&[header.clone(), numbers], &["Item", "2024-01-01", "2024-02-01"]);
    let none = ["column0", "column1", "column2"];
    check(&[header.clone(), text("y") + &date("2024-01-02") + &date("2024-02-02")], &none);
    // A row may be a name and its values.
    check(&[header, text("Author") + &text("Ann")], &none);
    check(&[text("Day") + &date("2024-01-01"), text("Rows") + &number("5")], &none[..2]);
}
