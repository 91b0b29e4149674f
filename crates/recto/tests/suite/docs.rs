//! Pages generated from the code. `UPDATE_EXPECT=1` rewrites them.

use std::fmt::Write;

use expect_test::expect_file;
use recto::limits::{self, Reached};
use recto_tools::Served;
use recto_tools::tools::{self, Effect, Param, ParamKind, Tool};

#[test]
fn the_error_page_is_up_to_date() {
    let mut page = String::from(
        "# Errors\n\n\
         Made from the code by a test; not edited by hand.\n\n\
         A refused call is a result with `isError: true`. Its text is the message, then a blank line and\n\
         the hint; `_meta.error` has the `code`. With `--errors jsonrpc` the code and message come as a\n\
         JSON-RPC error, whose `data` has the `hint`. A refused call has changed nothing, except with -32018: then\n\
         the change was made, or may have been.\n\n\
         | code | example of the message | example of the hint |\n|---|---|---|\n",
    );
    let served = Served::all();
    let mut errors = crate::errors::examples();
    errors.sort_by_key(|error| std::cmp::Reverse(error.code()));
    for error in errors {
        let hint = error.hint(&served).map(|hint| cell(&hint.text)).unwrap_or_default();
        writeln!(page, "| {} | {} | {hint} |", error.code(), cell(&error.to_string())).unwrap();
    }
    expect_file!["../../../../docs/errors.md"].assert_eq(&page);
}

#[test]
fn the_limits_page_is_up_to_date() {
    let mut page = String::from(
        "# Limits\n\n\
         Generated from the code by a test; do not edit by hand.\n\n\
         All limits that a caller can reach. Answers are bounded, numbers in a request never determine the size of\n\
         an allocation, and a truncated answer says how to get the rest. The last column names the test that\n\
         reaches the limit: `cargo test --workspace NAME`.\n\n\
         | what | limit | beyond it | tested by |\n|---|---|---|---|\n",
    );
    for limit in limits::ALL {
        let tested = match limit.test {
            Reached::By(test) => format!("`{test}`"),
            Reached::Not(why) => format!("no test: {why}"),
        };
        let what = limit.what.trim().trim_end_matches('.');
        writeln!(page, "| {what} | {} | {} | {tested} |", limit.amount, cell(limit.beyond))
            .unwrap();
    }
    expect_file!["../../../../docs/limits.md"].assert_eq(&page);
}

/// Escapes text for a table cell: line breaks and bars would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "<br>")
}

#[test]
fn the_tool_pages_are_up_to_date() {
    for tool in tools::ALL {
        let path = format!("{}/../../docs/tools/{}.md", env!("CARGO_MANIFEST_DIR"), tool.name);
        expect_file![path].assert_eq(&tool_page(tool));
    }
    let folder = format!("{}/../../docs/tools", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(
        std::fs::read_dir(folder).unwrap().count(),
        tools::ALL.len(),
        "a page for each tool"
    );
}

fn tool_page(tool: &Tool) -> String {
    let effect = match tool.effect() {
        Effect::Reads => "Changes nothing.",
        Effect::Changes => "Changes only text that the caller proved to know.",
        Effect::Overwrites => "May discard text that the caller has not seen.",
    };
    let mut page = format!(
        "# {}\n\nMade from the code by a test; not edited by hand.\n\n{}\n\nToolset `{}`. {effect}\n\n## Arguments\n\n\
         | name | type | | meaning |\n|---|---|---|---|\n",
        tool.name,
        tool.description,
        tool.toolset.name(),
    );
    write_params(&mut page, "", tool.params);
    write!(
        page,
        "\nnull means absent for an optional argument, and digits in a string count as an integer.\n\n\
         ## Answer\n\nThe structured answer follows this schema:\n\n```json\n{:#}\n```\n",
        serde_json::Value::Object(tool.output_schema())
    )
    .unwrap();
    page
}

fn write_params(page: &mut String, place: &str, params: &[Param]) {
    for param in params {
        let kind = param.kind.describe();
        let need = if param.is_required { "required" } else { "optional" };
        let name = format!("{place}{}", param.name);
        writeln!(page, "| `{name}` | {kind} | {need} | {} |", cell(param.description)).unwrap();
        if let ParamKind::Objects(members) = param.kind {
            write_params(page, &format!("{name}[]."), members);
        }
    }
}
