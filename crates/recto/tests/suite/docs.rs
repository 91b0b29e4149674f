//! Pages generated from the code. `UPDATE_EXPECT=1` rewrites them.

use std::fmt::Write;

use expect_test::expect_file;
use recto::clients;
use recto::config::Wire;
use recto::install::client::{Client, ConfigFile, DefaultRoot, Form, HttpSupport};
use recto::install::launch::Launch;
use recto::install::places::Surroundings;
use recto::install::table::CLIENTS;
use recto::limits::{self, Reached};
use recto_tools::AnswerForm;
use recto_tools::Served;
use recto_tools::tools::{self, Effect, Param, ParamKind, Tool};

#[test]
fn the_error_page_is_up_to_date() {
    let mut page = String::from(
        "# Errors\n\n\
         Generated from the code by a test; do not edit by hand.\n\n\
         A rejected call is a result with `isError: true`. Its text is the message, then a blank line and\n\
         the hint; `_meta.error` has the `code`. With `--errors jsonrpc` the code and message come as a\n\
         JSON-RPC error, whose `data` has the `hint`. A rejected call has changed nothing, except with -32018: then\n\
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

#[test]
fn the_clients_page_is_up_to_date() {
    let mut page = String::from(
        "# Clients\n\n\
         Generated from the code by a test; do not edit by hand.\n\n\
         `recto install CLIENT…` adds recto to the settings of these clients, and `recto install --all` to those of all\n\
         that it finds. It shows the changes and asks before it makes them. `--project` changes the settings of the\n\
         project in the working directory instead of the user's, `--root DIR` names the directories to serve, `--tools\n\
         coding` and `--read-only` select tools, `--dry-run` only shows the changes, and `--uninstall` undoes them.\n\
         `recto doctor` reports which clients are configured and whether the configured program answers.\n\n\
         `--http` adds a [server that runs already](http.md) instead of a program. The entry refers to the environment\n\
         variable `RECTO_TOKEN` of the client, so that no token is in a settings file.\n\n\
         Where a client has a command that adds a server, recto runs it, and then adds the keys that the command cannot\n\
         set. If the command changes comments, line endings or the layout of other settings, recto restores the file and\n\
         inserts only the entry. The exception is Claude Code, whose command changes `~/.claude.json`: running sessions\n\
         rewrite that file. The entry has the absolute path of the program: run `recto install` again if you move it.\n\n\
         To configure a client by hand, or one that is not listed, use the entries below: the program is `recto serve\n\
         DIR`, and editors that speak ACP start `recto codex` or `recto acp -- AGENT` ([more](editors.md)).\n\n\
         | client | name | answers of up to |\n|---|---|---|\n",
    );
    for client in &CLIENTS {
        let known = clients::find(client.name).filter(|known| known.name == client.name);
        let delivery = Wire::default().for_client(known.map(|known| known.name)).delivery;
        let form = match delivery.form {
            AnswerForm::Both => "text and structured content",
            AnswerForm::Text => "text",
            AnswerForm::Structured => "structured content",
        };
        let anchor = client.title.to_lowercase().replace(' ', "-");
        let (title, name, size) = (client.title, client.name, delivery.max_bytes);
        writeln!(page, "| [{title}](#{anchor}) | `{name}` | {size} bytes, {form} |").unwrap();
    }
    for client in &CLIENTS {
        client_section(&mut page, client);
    }
    expect_file!["../../../../docs/clients.md"].assert_eq(&page);
}

fn client_section(page: &mut String, client: &Client) {
    writeln!(page, "\n## {}\n", client.title).unwrap();
    let (user, project) = (client.user, client.project);
    for (index, file) in user.iter().enumerate() {
        let mut places = place_names(file);
        places.extend(project.get(index).map(place_names).unwrap_or_default());
        writeln!(page, "In {}:\n", places.join(", or ")).unwrap();
        let root = match client.root {
            DefaultRoot::WorkingDirectory => ".",
            DefaultRoot::Variable(name) => name,
            DefaultRoot::ProjectVariable(_) | DefaultRoot::Fixed => "/path/to/project",
        };
        let launch = Launch {
            program: "/path/to/recto".into(),
            roots: vec![root.into()],
            options: Vec::new(),
            served: tools::ALL.to_vec(),
            http: None,
        };
        for kind in file.entries {
            if let Form::Opencode(major) = kind.form {
                writeln!(page, "Version {major}:\n").unwrap();
            }
            let entry = kind.entry(&launch);
            let text = file.format.set(file.seed, &entry).unwrap();
            let language = match places[0].rsplit('.').next().unwrap_or_default() {
                "toml`" => "toml",
                "yaml`" => "yaml",
                _ => "json",
            };
            writeln!(page, "```{language}\n{text}```\n").unwrap();
            let HttpSupport::Entry(members) = client.http else { continue };
            if matches!(kind.form, Form::Agent(_) | Form::ReadingRules) {
                continue;
            }
            let http = Some(("http://127.0.0.1:8123/mcp".into(), members));
            let entry = kind.entry(&Launch { http, ..launch.clone() });
            let text = file.format.set(file.seed, &entry).unwrap();
            writeln!(page, "With `--http`:\n\n```{language}\n{text}```\n").unwrap();
        }
    }
    if let HttpSupport::No(why) = client.http {
        writeln!(page, "`--http` cannot be used: {why}.\n").unwrap();
    }
    if let DefaultRoot::ProjectVariable(name) = client.root {
        writeln!(page, "In the settings of a project, the directory is `{name}`.").unwrap();
    }
    if let Some(own) = &client.command {
        let command = own.add.join(" ");
        writeln!(page, "Its command for the first entry: `{command}`.").unwrap();
    }
    writeln!(page, "Documentation: <{}>", client.source).unwrap();
}

/// Returns the paths of a file.
fn place_names(file: &ConfigFile) -> Vec<String> {
    let (home, project) = ("~".into(), "".into());
    let around = Surroundings { home, project, is_mac: false, variable: |_| None };
    around.paths(file).iter().map(|path| format!("`{}`", path.display())).collect()
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
        Effect::Changes => "Does not discard content that the caller has not seen.",
        Effect::Overwrites => "Can overwrite or remove a whole file; announced as destructive.",
    };
    let mut page = format!(
        "# {}\n\nGenerated from the code by a test; do not edit by hand.\n\n{}\n\nToolset `{}`. {effect}\n\n## Arguments\n\n\
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
