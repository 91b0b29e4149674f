//! `recto tools`: lists the tools, or describes one.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use recto_tools::{Names, Served};
use serde_json::{Map, Value};

use super::options::{DefinitionOptions, Options, ToolSelection};
use super::print::print;
use crate::mcp;
use recto_tools::tools::{Param, ParamKind, Tool};

/// List the tools and their arguments
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto tools
  recto tools read_text_file                   describe one tool and how to call it
  recto tools --json --read-only")]
pub struct Tools {
    /// Name of the tool to describe [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Print the definitions with their schemas as JSON, as a client receives them
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    selection: ToolSelection,

    #[command(flatten)]
    definitions: DefinitionOptions,
}

impl Tools {
    pub fn run(self) -> Result<ExitCode, String> {
        let Tools { selection, definitions, .. } = self;
        let options = Options { selection, definitions, ..Options::default() };
        let mut config = options.config(Vec::new())?;
        if self.name.is_some() && config.tools.is_empty() {
            // Tools that are off by default are described too.
            config.tools.push("all".into());
        }
        let (mut tools, wire) = (config.tools()?, config.wire.for_client(None));
        if let Some(name) = &self.name {
            tools = vec![find(&Served::new(tools, wire.names), name)?];
        }
        print(&match &tools[..] {
            tools if self.json => format!("{:#}\n", mcp::definitions(tools, wire)),
            [tool] if self.name.is_some() => page(tool, wire.names),
            tools => {
                tools.iter().map(|tool| describe(tool, wire.names)).collect::<Vec<_>>().join("\n")
            }
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Finds a tool by either spelling of its name.
pub fn find(served: &Served, name: &str) -> Result<&'static Tool, String> {
    served.find(name).ok_or_else(|| {
        let names: Vec<_> = served.published().collect();
        format!("unknown tool {name}; the tools are {}", names.join(", "))
    })
}

fn describe(tool: &Tool, names: Names) -> String {
    let mut text = format!("{}\n  {}\n", names.spell(tool), tool.description);
    for (depth, param) in flattened(tool.params) {
        let kind = param.kind.describe();
        let optional = if param.is_required { "" } else { ", optional" };
        let indent = "  ".repeat(depth + 2);
        writeln!(text, "{indent}{} ({kind}{optional}): {}", param.name, param.description)
            .expect("writing to a string cannot fail");
    }
    text
}

/// Returns the description of a tool, its arguments as a table, and how to call it from a shell.
pub fn page(tool: &Tool, names: Names) -> String {
    let name = names.spell(tool);
    let rows: Vec<[String; 4]> = flattened(tool.params)
        .into_iter()
        .map(|(depth, param)| {
            let name = "  ".repeat(depth) + param.name;
            let required = if param.is_required { "required" } else { "optional" };
            [name, param.kind.describe(), required.into(), param.description.into()]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let (w_name, w_kind) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    let mut text = format!("{name}: {}\n\nArguments:\n", tool.description);
    for [name, kind, required, meaning] in &rows {
        writeln!(text, "  {name:w_name$}  {kind:w_kind$}  {required}  {meaning}")
            .expect("writing to a string cannot fail");
    }
    let has_required = tool.params.iter().any(|param| param.is_required);
    let is_shown = |param: &&Param| {
        let is_typical = param.name == if has_required { "content" } else { "limit" };
        param.is_required || is_typical
    };
    let shown = || tool.params.iter().filter(is_shown);
    let pairs: Vec<_> = shown().map(|param| pair(param.name, &example(param))).collect();
    let json = Map::from_iter(shown().map(|param| (param.name.into(), in_json(param))));
    writeln!(
        text,
        "\nExamples:\n  recto call {name} {}\n  recto call {name} {}",
        pairs.join(" "),
        quoted(&Value::Object(json).to_string()),
    )
    .expect("writing to a string cannot fail");
    text
}

/// Returns the parameters with their depth, each followed by its members.
fn flattened(params: &'static [Param]) -> Vec<(usize, &'static Param)> {
    let members = |param: &'static Param| match param.kind {
        ParamKind::Objects(members) => members,
        _ => &[],
    };
    let with_members = |param| {
        let deeper = flattened(members(param)).into_iter().map(|(depth, it)| (depth + 1, it));
        std::iter::once((0, param)).chain(deeper)
    };
    params.iter().flat_map(with_members).collect()
}

/// Returns a value that a parameter accepts.
fn example(param: &Param) -> Value {
    match (param.name, param.kind) {
        ("path" | "file_path", _) => "notes.txt".into(),
        ("pattern", _) => "src/**/*.rs".into(),
        (_, ParamKind::Integer { .. }) => 3.into(),
        (_, ParamKind::Boolean) => true.into(),
        (_, ParamKind::Hash) => "0123456789ab".into(),
        (_, ParamKind::Word(words)) => words[0].into(),
        (_, ParamKind::Lines) => vec![3, 4].into(),
        (_, ParamKind::Strings) => vec!["name"].into(),
        (_, ParamKind::Objects(members)) => {
            // A change has a path, and edits, content or a new path.
            let is_shown = |it: &&Param| {
                it.is_required || (param.name == "changes" && matches!(it.name, "path" | "edits"))
            };
            let members = members.iter().filter(is_shown);
            vec![Value::Object(members.map(|it| (it.name.into(), example(it))).collect())].into()
        }
        ("old" | "old_string" | "anchor", _) => "old text".into(),
        (_, ParamKind::String | ParamKind::NumberOrString | ParamKind::Text) => "new text".into(),
    }
}

/// Like [`example`], with an absolute path, which every tool accepts in JSON.
fn in_json(param: &Param) -> Value {
    match (param.name, example(param)) {
        ("path" | "file_path" | "pattern", Value::String(path)) => {
            format!("/home/me/project/{path}").into()
        }
        (_, value) => value,
    }
}

fn pair(key: &str, value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), String::from);
    format!("{key}={}", quoted(&text))
}

/// Quotes a text for a shell, if necessary.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if text.chars().all(is_plain) { text.into() } else { format!("'{text}'") }
}
