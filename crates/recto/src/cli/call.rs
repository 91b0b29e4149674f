//! `recto call`: calls one tool from a shell.

mod arguments;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use recto_store::Context;
use recto_store::record::Origin;
use recto_tools::{Error, Names, Served, call};
use serde_json::{Value, json};

use super::logging::Logging;
use super::options::{
    JournalOptions, LandlockOptions, LimitOptions, Options, RootOptions, WriteOptions,
};
use super::print::print;
use super::tools::{find, page};
use crate::{assemble, limits, log};

/// Call one tool and print its result
#[derive(Args)]
#[command(
    mut_arg("roots", |root| root.help(
        "Directory to serve; may be repeated [default: the directory of the named file]"
    )),
    mut_arg("max_answer_bytes", |limit| limit.help(
        format!("Maximum bytes of one answer [default: {}]", limits::ANSWER_BYTES)
    )),
    after_help = "\
Examples:
  recto call read_text_file                    show the tool's arguments
  recto call read_text_file path=README.md limit=20
  recto call write_text_file path=notes.txt content=@draft.txt
  recto call ListFiles pattern='src/**/*.rs'
  recto call read_text_file '{\"path\": \"/home/me/project/README.md\"}'

In key=value, a relative path starts at the working directory; @FILE as the value reads it from a
file and - from stdin, and @@ starts a value with @. JSON arguments are used as they are. Without
--root, the call can access the directory of the file that it names; with a pattern or a commit, the
repository around it.

Prints the content on stdout, and its position, hash and notes on stderr. Exit status:
0 on success, 1 if the tool returned an error, 2 for invalid usage."
)]
pub struct Call {
    /// Name of the tool
    tool: String,

    /// Arguments as key=value pairs or as one JSON object, or - to read JSON from stdin
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,

    /// Print the structured result, or the error with its code, as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    roots: RootOptions,

    #[command(flatten)]
    writes: WriteOptions,

    #[command(flatten)]
    journal: JournalOptions,

    #[command(flatten)]
    limits: LimitOptions,

    #[command(flatten)]
    landlock: LandlockOptions,

    #[command(flatten)]
    logging: Logging,
}

impl Call {
    pub fn run(self) -> Result<ExitCode, String> {
        let tool = find(&Served::all(), &self.tool)?;
        if self.arguments.is_empty() {
            print(&page(tool, Names::default()))?;
            return Ok(ExitCode::from(2));
        }
        let here = std::env::current_dir()
            .map_err(|error| format!("cannot find the working directory: {error}"))?;
        let arguments = arguments::parse(tool, &self.arguments, &here)?;
        let log_is_asked_for = self.logging.is_asked_for();
        let settings = self.logging.settings()?;
        let Call { mut roots, writes, journal, limits, landlock, .. } = self;
        if roots.roots.is_empty() {
            roots.roots.push(arguments::root(&arguments, &here));
        }
        let options = Options { roots, writes, journal, limits, landlock, ..Options::default() };
        let config = options.config(Vec::new())?;
        assemble::apply_landlock(&config)?;
        if log_is_asked_for {
            log::start(settings);
        }
        let journal = assemble::journal(&config, "call")?;
        let calls = assemble::open(&config, &journal)?;
        let client = Some(("recto call".to_string(), env!("CARGO_PKG_VERSION").to_string()));
        let origin = Arc::new(Origin { client, ..Origin::default() });
        let context = Context { origin, ..Context::default() };
        let result = calls.call(tool, arguments, &call::Call { context, ..Default::default() });
        journal.flush();
        match result {
            Ok(answer) => {
                if self.json {
                    print(&format!("{}\n", Value::Object(answer.object().into_owned())))?;
                } else {
                    eprintln!("{}", answer.head);
                    print(&answer.content)?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                report(&error, calls.served(), self.json)?;
                Ok(ExitCode::from(1))
            }
        }
    }
}

fn report(error: &Error, served: &Served, is_json: bool) -> Result<(), String> {
    let hint = error.hint(served);
    if is_json {
        let mut described = json!({"code": error.code(), "message": error.to_string()});
        if let Some(hint) = hint {
            described["hint"] = hint.text.into();
        }
        return print(&format!("{}\n", json!({"error": described})));
    }
    eprintln!("{error}");
    if let Some(hint) = hint {
        eprintln!("\n{hint}");
    }
    Ok(())
}
