//! `recto tools`: lists the tools.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use recto_tools::Names;

use super::options::{DefinitionOptions, Options, ToolSelection};
use crate::mcp;
use recto_tools::tools::{Param, ParamKind, Tool};

/// List the tools and their arguments
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto tools
  recto tools --json --read-only")]
pub struct Tools {
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
        let config = options.config(Vec::new())?;
        let (tools, wire) = (config.tools()?, config.wire.for_client(None));
        let text = if self.json {
            format!("{:#}\n", mcp::definitions(&tools, wire))
        } else {
            tools.iter().map(|tool| describe(tool, wire.names)).collect::<Vec<_>>().join("\n")
        };
        std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(tool: &Tool, names: Names) -> String {
    let mut text = format!("{}\n  {}\n", names.spell(tool), tool.description);
    describe_params(&mut text, tool.params, 1);
    text
}

fn describe_params(text: &mut String, params: &[Param], depth: usize) {
    for param in params {
        let kind = param.kind.describe();
        let optional = if param.is_required { "" } else { ", optional" };
        let indent = "  ".repeat(depth + 1);
        writeln!(text, "{indent}{} ({kind}{optional}): {}", param.name, param.description)
            .expect("writing to a string cannot fail");
        if let ParamKind::Objects(members) = param.kind {
            describe_params(text, members, depth + 1);
        }
    }
}
