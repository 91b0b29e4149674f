//! `recto call`: calls one tool from a shell.

use std::io::{Read, Write};
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::logging::Logging;
use super::options::{LandlockOptions, LimitOptions, Options, RootOptions, WriteOptions};
use crate::{assemble, log};
use recto_tools::call;

/// Call one tool and print its result
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto call read_text_file '{\"path\": \"/home/me/project/README.md\"}' --root ~/project
  recto call edit_text_file - --root ~/project < arguments.json

Prints the result on stdout and notes on stderr; --json prints the structured result as JSON.
Exit status: 0 on success, 1 if the tool returned an error, 2 for invalid usage.")]
pub struct Call {
    /// Name of the tool
    tool: String,

    /// Arguments as a JSON object, or - to read them from stdin
    arguments: String,

    #[command(flatten)]
    roots: RootOptions,

    #[command(flatten)]
    writes: WriteOptions,

    #[command(flatten)]
    limits: LimitOptions,

    #[command(flatten)]
    landlock: LandlockOptions,

    #[command(flatten)]
    logging: Logging,

    /// Print the structured result, or the error with its code, as JSON
    #[arg(long)]
    json: bool,
}

impl Call {
    pub fn run(self) -> Result<ExitCode, String> {
        let log_is_asked_for = self.logging.is_asked_for();
        let settings = self.logging.settings()?;
        let Call { roots, writes, limits, landlock, .. } = self;
        let options = Options { roots, writes, limits, landlock, ..Options::default() };
        let config = options.config(Vec::new())?;
        assemble::apply_landlock(&config)?;
        if log_is_asked_for {
            log::start(settings);
        }
        let calls = assemble::open(&config)?;
        let tool = calls.served().find(&self.tool).ok_or_else(|| {
            let names: Vec<_> = calls.served().published().collect();
            format!("unknown tool {}; the tools are {}", self.tool, names.join(", "))
        })?;
        let mut json = self.arguments;
        if json == "-" {
            json.clear();
            std::io::stdin().read_to_string(&mut json).map_err(|error| error.to_string())?;
        }
        let arguments = match serde_json::from_str(&json) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err("the arguments must be a JSON object".into()),
            Err(error) => return Err(format!("the arguments are not JSON: {error}")),
        };
        match calls.call(tool, arguments, &call::Call::default()) {
            Ok(answer) => {
                let (printed, head) = match self.json {
                    true => (Value::Object(answer.object().into_owned()).to_string() + "\n", None),
                    false => (answer.content, Some(answer.head)),
                };
                let mut stdout = std::io::stdout();
                let printed = stdout.write_all(printed.as_bytes()).and_then(|()| stdout.flush());
                printed.map_err(|error| error.to_string())?;
                head.iter().for_each(|head| eprintln!("{head}"));
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                eprintln!("{error} ({})", error.code());
                if let Some(hint) = error.hint(calls.served()) {
                    eprintln!("\n{hint}");
                }
                Ok(ExitCode::from(1))
            }
        }
    }
}
