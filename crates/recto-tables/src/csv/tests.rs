//! Tests of `csv`.

#![allow(clippy::unwrap_used)]

use super::{is_convincing, preview};
use crate::{Error, Request, Table, Value};

fn read(text: &str, limit: usize, max_bytes: usize) -> Table {
    let request = Request::new("a.csv", limit, max_bytes);
    preview(&mut text.as_bytes(), &request).unwrap()
}

fn names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| format!("{} {}", column.name, column.kind)).collect()
}

#[test]
fn reports_whether_there_are_more_rows() {
    let text = "a,b\n1,2\n3,4\n5,6\n";
    assert!(read(text, 2, 1_000).has_more);
    assert!(!read(text, 3, 1_000).has_more);
    assert_eq!(read(text, 2, 1_000).rows.len(), 2);
    assert_eq!(read(text, 0, 1_000).rows.len(), 0);
}

#[test]
fn ends_early_when_the_byte_budget_is_spent() {
    let text = format!("a,b\n{}", "0123456789,0123456789\n".repeat(100));
    let table = read(&text, 100, 300);
    assert!(table.has_more);
    assert!((10..=15).contains(&table.rows.len()), "{}", table.rows.len());
}

#[test]
fn types_a_column_by_rows_that_are_not_shown() {
    let text = "a,b\n1,2\n3,4\nx,6\n";
    assert_eq!(names(&read(text, 1, 1_000)), ["a text", "b integer"]);
    assert_eq!(read(text, 1, 1_000).rows[0][0], Value::Text("1".into()));
}

#[test]
fn types_a_column_by_every_row_that_is_shown() {
    let mut text = String::from("a,b\n");
    (0..30_000).for_each(|row| text.push_str(&format!("{row},1\n")));
    text.push_str("late,2\n");
    let table = read(&text, 100_000, 10 << 20);
    assert_eq!(names(&table), ["a text", "b integer"]);
    assert_eq!(table.rows.len(), 30_001);
    assert_eq!(table.rows[30_000][0], Value::Text("late".into()));
    assert_eq!(names(&read(&text, 10, 10 << 20)), ["a integer", "b integer"]);
}

#[test]
fn cuts_long_values_and_says_by_how_much() {
    let table = read(&format!("a,b\n{},1\n", "ä".repeat(1_500)), 10, 1 << 20);
    let Value::Text(text) = &table.rows[0][0] else { panic!("{:?}", table.rows) };
    assert!(text.ends_with("ä… (+500 characters)"));
}

#[test]
fn a_record_has_a_longest_length() {
    let outcome = |n_bytes: usize| {
        let text = "a".repeat(n_bytes) + "\n1\n";
        let request = Request::new("a.csv", 10, 1 << 20);
        preview(&mut text.as_bytes(), &request).map(|table| table.rows.len())
    };
    assert_eq!(outcome(15 << 20), Ok(1));
    let cause = "its first lines are longer than 16 MiB".into();
    assert_eq!(outcome(17 << 20), Err(Error::TooLarge { cause }));
}

#[test]
fn adds_columns_for_the_rows_that_need_them() {
    let table = read("a,b\n1,2\n3,4,5\n6,7\n", 10, 1_000);
    assert_eq!(names(&table), ["a integer", "b integer", "column2 integer"]);
    assert_eq!(table.notes, ["Row 2 has more than 2 values; columns were added for them."]);
    let first = read("a,b\n1,2\n3,4,5\n6,7\n", 1, 1_000);
    assert_eq!(names(&first), ["a integer", "b integer"]);
}

#[test]
fn continues_after_an_accidental_quote() {
    let mut text = String::from("a,b\n1,\"open\n");
    (0..200_000).for_each(|row| text.push_str(&format!("{row},x\n")));
    let table = read(&text, 3, 1_000);
    assert_eq!(table.rows.len(), 3);
    assert_eq!(table.rows[0][1], Value::Text("\"open".into()));
}

#[test]
fn a_later_record_that_needs_too_much_memory_is_truncated() {
    let (above, below) = ("1,2\n".repeat(1_000), "4,5\n".repeat(2_000_000));
    let text = format!("a,b\n{above}3,\"open\n{below}");
    let ask = |offset, max_memory| {
        let request = Request { offset, max_memory, ..Request::new("a.csv", 2, 1_000) };
        preview(&mut text.as_bytes(), &request)
    };
    let most = crate::limits::MEMORY;
    // A caller that permits less is asked for more before the record is truncated.
    assert_eq!(ask(0, most - 1).err(), Some(Error::OutOfMemory { n_bytes: most }));
    let first = ask(0, most).unwrap();
    assert_eq!(first.rows[1], [Value::Integer(1), Value::Text("2".into())]);
    assert!(first.has_more);
    assert_eq!(ask(1_000, most).unwrap().rows[0][1], Value::Text("\"open".into()));
    // Nothing below is lost.
    let last = ask(2_001_000, most).unwrap();
    assert_eq!((last.rows.len(), last.has_more), (1, false));
    let wide = format!("a,b\n1,2\n{}\n3,4\n", ",".repeat(3_000_000));
    assert_eq!(read(&wide, 1, 1_000).rows, [[Value::Integer(1), Value::Integer(2)]]);
}

#[test]
fn a_quote_that_opens_a_large_file_is_a_character() {
    let rows: String = (0..300_000).map(|row| format!("{row},name {row},x\n")).collect();
    let table = read(&format!("\"id,name,kind\n{rows}"), 2, 1_000);
    assert_eq!(names(&table), ["\"id integer", "name text", "kind text"]);
}

#[test]
fn notes_numbers_beyond_64_bits_and_missing_names() {
    let table = crate::fit::fit(read("a,b\n1,18446744073709551616,3\n1,5,6\n", 10, 1_000), 1_000);
    let names = "The header has 2 names for 3 columns.";
    assert_eq!(table.notes, [names, "Numbers beyond 64 bits are text in: b."]);
    let row_names = read("a,b\n1,2,3\n2,5,6\n", 10, 1_000);
    let none = "The header has 2 names for 3 columns; the first column has none.";
    assert_eq!(row_names.notes, [none]);
}

#[test]
fn shows_so_many_columns_and_no_more() {
    let header: Vec<String> = (0..5_000).map(|column| format!("c{column}")).collect();
    let text = format!("{}\n{}\n", header.join(","), vec!["1"; 5_000].join(","));
    let table = read(&text, 10, 1 << 20);
    assert_eq!(table.columns.len(), 4_096);
    assert_eq!(table.n_columns, Some(5_000));
    assert_eq!(read(&text, 0, 1 << 20).n_columns, Some(5_000));
    let names_only = format!("{}\n", header.join(","));
    assert_eq!(read(&names_only, 10, 1 << 20).n_columns, Some(5_000));
}

#[test]
fn says_which_columns_can_be_selected() {
    let header: Vec<String> = (0..5_000).map(|column| format!("c{column}")).collect();
    let text = format!("{}\n{}\n", header.join(","), vec!["1"; 5_000].join(","));
    let ask = |column: &str| {
        let columns = [column.to_string()];
        let request = Request { columns: &columns, ..Request::new("a.csv", 10, 1 << 20) };
        crate::preview(std::sync::Arc::new(text.clone().into_bytes()), &request)
    };
    assert_eq!(ask("c4095").unwrap().rows, [[Value::Integer(1)]]);
    let Err(Error::NoSuchColumns { known, .. }) = ask("c4500") else { panic!() };
    assert!(known.ends_with("; of 5000 only the first 4096 can be selected"), "{known}");
}

#[test]
fn numbers_columns_by_the_total_count() {
    let check = |text: &str, name: &str, n_columns: usize| {
        let table = read(text, 10, 1 << 20);
        assert_eq!((table.columns[7].name.as_str(), table.n_columns), (name, Some(n_columns)));
    };
    let line = |n_fields: usize| format!("{}\n", vec!["1.5"; n_fields].join(","));
    check(&line(12), "column07", 12);
    check(&line(4_096), "column0007", 4_096);
    check(&line(20_190), "column00007", 20_190);
    // The last fields of all lines may be empty, and a later line may be longer than the others.
    let open = format!("{}{}\n", line(90).trim_end(), ",".repeat(20_100));
    check(&open.repeat(2), "column00007", 20_190);
    let long = format!("{}{}", line(3).repeat(9), line(20_190));
    check(&long, "column00007", 20_190);
    // Delimiters after the names and the values do not add columns.
    let name = |column: usize| if column == 7 { String::new() } else { format!("c{column}") };
    let header: Vec<String> = (0..4_000).map(name).collect();
    let delimiters = ",".repeat(8_000);
    let values = vec!["1"; 4_000].join(",");
    let text = format!("{}\n{values}{delimiters}\n{values}{delimiters}\n", header.join(","));
    check(&text, "column0007", 4_000);
}

#[test]
fn notes_what_was_detected() {
    let table = read("Title\nday;price\n01/02/2024;1,5\n03/04/2024;2,5\n", 10, 1_000);
    expect_test::expect![[r#"
        The delimiter is a semicolon.
        1 line above the table was skipped.
        Commas were read as decimal commas in: price.
        Dates were read with the day before the month in: day."#]]
    .assert_eq(&table.notes.join("\n"));
}

/// Inputs that once took quadratic time, or would have.
#[test]
fn time_depends_only_on_size() {
    let start = processor_time();
    for piece in [
        "\"a,",
        "\"x\"y,",
        "\"\" \"\"\n",
        "\"\"\"x\n",
        ",",
        "\n",
        "\"\n",
        "#\n",
        "\r",
        "a\\\"",
        "'a ",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        let _ = preview(&mut text.as_bytes(), &Request::new("a.csv", 10, 1_000));
        let headed = format!("a,b\n1,2\n{text}");
        let _ = preview(&mut headed.as_bytes(), &Request::new("a.csv", 10, 1_000));
    }
    let taken = processor_time() - start;
    assert!(taken.as_secs() < 30, "{taken:?}");
}

/// Returns the processor time of this thread, which does not depend on other load.
fn processor_time() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos = stat.split(' ').next().unwrap().parse().unwrap();
    std::time::Duration::from_nanos(nanos)
}

#[test]
fn accepts_only_tables() {
    let tables = [
        "a\tb\n1\t2\n",
        "a,b,c\nx,y,z\n",
        "2024-01-01;5\n2024-01-02;6\n",
        "a|1\nb|2\n",
        "A,B\ną,ž\nū,į\nš,ę\n",
        "1\t\tx\t\ty\t\n2\t\ty\t\tz\t\n",
    ];
    for text in tables {
        assert!(is_convincing(text), "{text:?}");
    }
    let others = [
        "",
        "one line, only\n",
        "Dear Ada,\nthank you, as ever.\n",
        "Hello, world\nGoodbye, world\n",
        "use a;\nuse b;\n",
        "f(a, 1)\nf(b, 2)\n",
        "\tf(a)\n\tg(b)\n",
        "| f(\n| g(\n",
        "cat a |\nsort -n |\n",
        "is_a ||\nis_b ||\n",
        "let a = [1, 2];\nlet b = [3, 4];\n",
        "a,b\n1,2\n3\n",
        "x = 1\ny = 2\n",
        "Dear Ada, hello\nthank you, Bob\nas ever, Eve\nyours, Joe\n",
        "a,b\nc,d\n",
    ];
    for text in others {
        assert!(!is_convincing(text), "{text:?}");
    }
}

/// Pages joined give the whole.
#[test]
fn pages_join() {
    let rows: String = (0..500).map(|row| format!("{row},name {row}\n\n")).collect();
    let text = format!("title\nid,name\n{rows}");
    let ask = |offset, limit| {
        let request = Request { offset, ..Request::new("a.csv", limit, 2_000) };
        crate::preview(std::sync::Arc::new(text.clone().into_bytes()), &request).unwrap()
    };
    for limit in [7, 100, 1_000] {
        let mut n_rows = 0;
        loop {
            let page = ask(n_rows, limit);
            assert_eq!(names(&page), ["id integer", "name text"]);
            for row in &page.rows {
                assert_eq!(row[0], Value::Integer(n_rows as i64));
                n_rows += 1;
            }
            if !page.has_more {
                break;
            }
        }
        assert_eq!(n_rows, 500);
    }
}

#[test]
fn names_the_limit_where_reading_ended() {
    let line = format!("#{}\n", "x".repeat(1 << 20));
    let text = format!("a,b\n1,2\n#\n3,4\n{}", line.repeat(65));
    let table = read(&text, 10, 1_000);
    assert!(table.has_more);
    let limit = "Only the first 64 MiB of the text were read.";
    assert!(table.notes.iter().any(|note| note == limit), "{:?}", table.notes);
}

#[test]
fn points_separate_thousands_beside_decimal_commas() {
    let table = read("a;n;price\nA;999;2,50\nB;1.234;1.000,00\nC;12.500;1,00\n", 10, 1_000);
    let column = |at: usize| table.rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    assert_eq!(column(1), [999.0, 1234.0, 12500.0].map(Value::Number));
    assert_eq!(column(2), [2.5, 1000.0, 1.0].map(Value::Number));
    assert_eq!(table.notes[1], "Commas were read as decimal commas in: n, price.");
    // Without a decimal comma, or with another decimal point, the point is a decimal point.
    for text in ["a;n\nx;1.234\ny;12.500\n", "a;n;b;c\nx;1.234;1,5;2.5\ny;12.500;2,5;3.5\n"] {
        assert_eq!(read(text, 10, 1_000).rows[0][1], Value::Number(1.234), "{text}");
    }
}

#[test]
fn a_year_of_two_digits_is_the_part_that_varies_less() {
    let check = |days: &str, expected: &[&str], note: &str| {
        let rows: String = days.split(' ').map(|day| format!("{day},x\n")).collect();
        let table = read(&format!("day,a\n{rows}"), 10, 1_000);
        let found: Vec<_> = table.rows.iter().map(|row| row[0].clone()).collect();
        let expected: Vec<_> = expected.iter().map(|day| Value::Text(day.to_string())).collect();
        assert_eq!(found, expected, "{days}");
        assert_eq!(table.notes.join(" "), note, "{days}");
    };
    let last = "Dates were read with the day first and the year last in: day.";
    check("25-12-23 03-01-24 14-02-24", &["2023-12-25", "2024-01-03", "2024-02-14"], last);
    check("01-02-24 03-01-24 04-02-24", &["2024-02-01", "2024-01-03", "2024-02-04"], last);
    let first = "Dates were read with the year first in: day.";
    check("24-02-01 24-01-03 24-02-04", &["2024-02-01", "2024-01-03", "2024-02-04"], first);
    check("24-02-01 24-03-01 25-01-01", &["2024-02-01", "2024-03-01", "2025-01-01"], first);
    check("22-12-31 23-09-30 24-12-31", &["2022-12-31", "2023-09-30", "2024-12-31"], first);
    check("24-12-31", &["2024-12-31"], first);
    check("99-12-31 24-01-01", &["1999-12-31", "2024-01-01"], "");
    check("25.12.23 03.01.24", &["2023-12-25", "2024-01-03"], "");
}

#[test]
fn one_note_names_all_ambiguous_columns() {
    let table = read("a,b,c\n01/02/2024,1/2/24,24-01-02\n", 10, 1_000);
    expect_test::expect![[r#"
        Dates were read with the day before the month in: a, b.
        Dates were read with the year first in: c."#]]
    .assert_eq(&table.notes.join("\n"));
}
