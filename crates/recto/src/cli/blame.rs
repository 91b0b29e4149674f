//! `recto blame`: which recorded change wrote each line of a file.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use recto_journal::blame::{self, Author};
use recto_journal::{Change, Reader};
use recto_text::{Document, line};
use serde_json::json;

use super::options::StateDirOption;
use super::recorded;

/// The largest file.
const MAX_BYTES: u64 = 64 << 20;

/// Show which recorded change wrote each line of a file
#[derive(Args)]
#[command(after_help = "\
Example:
  recto blame src/main.rs

Lines that were there before, and lines that another program wrote, are marked \"not by recto\". Lines are
\"unknown\" where the content of an earlier change was not stored.")]
pub struct Blame {
    /// The file
    path: PathBuf,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    state_dir: StateDirOption,
}

impl Blame {
    pub fn run(self) -> Result<ExitCode, String> {
        let reader = recorded::open(&self.state_dir)?;
        let path = recorded::real_path(&self.path)?;
        let shown = recorded::shown(&path);
        let content = read(&path)?.ok_or_else(|| format!("{shown} is not a file"))?;
        let failed = |error: recto_journal::Error| error.to_string();
        let steps = reader.steps(&path, Some(&content)).map_err(failed)?;
        let authors = blame::authors(&steps, &content);
        let authors = authors.ok_or_else(|| format!("{shown} is not a text file"))?;
        let changes = changes(&reader, &path)?;
        let document = Document::parse(content).map_err(|_| format!("{shown} is not text"))?;
        let lines: Vec<&str> = line::lines(document.text()).map(line::without_ending).collect();
        let out = match self.json {
            true => json_lines(&authors, &lines, &changes),
            false => table(&authors, &lines, &changes),
        };
        recorded::page(&out)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the content of a file, or `None` if there is no regular file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => Ok(None),
        Ok(metadata) if metadata.len() > MAX_BYTES => {
            Err(format!("{} is larger than 64 MiB", path.display()))
        }
        Ok(_) => std::fs::read(path).map(Some).map_err(failed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the changes of a file by their numbers.
pub fn changes(reader: &Reader, path: &Path) -> Result<HashMap<u64, Change>, String> {
    let changes = reader.lineage(path).map_err(|error| error.to_string())?;
    Ok(changes.into_iter().map(|change| (change.id, change)).collect())
}

fn table(authors: &[Author], lines: &[&str], changes: &HashMap<u64, Change>) -> String {
    let who = |author: &Author| match author {
        Author::Change(id) => match changes.get(id) {
            Some(change) => (id.to_string(), recorded::time(change), recorded::who(change)),
            None => (id.to_string(), String::new(), String::new()),
        },
        Author::NotByRecto => (String::new(), String::new(), "not by recto".into()),
        Author::Unknown => (String::new(), String::new(), "unknown".into()),
    };
    let rows: Vec<_> = authors.iter().map(who).collect();
    let width = rows.iter().map(|(_, _, who)| who.chars().count()).max().unwrap_or(0);
    let n_digits = lines.len().to_string().len();
    let mut out = String::new();
    for (index, ((id, time, who), line)) in rows.iter().zip(lines).enumerate() {
        let number = index + 1;
        let _ = writeln!(out, "{id:>5}  {time:<19}  {who:<width$}  {number:>n_digits$}  {line}");
    }
    out
}

fn json_lines(authors: &[Author], lines: &[&str], changes: &HashMap<u64, Change>) -> String {
    let mut out = String::new();
    for (index, (author, line)) in authors.iter().zip(lines).enumerate() {
        let (by, id) = match author {
            Author::Change(id) => ("recto", Some(*id)),
            Author::NotByRecto => ("not by recto", None),
            Author::Unknown => ("unknown", None),
        };
        let change = id.and_then(|id| changes.get(&id));
        let session = change.and_then(|change| change.session.as_ref());
        let object = json!({
            "line": index + 1,
            "by": by,
            "change": id,
            "time": change.map(|change| change.time),
            "session": session.map(|session| &session.name),
            "client": session.map(|session| &session.client),
            "client_version": session.map(|session| &session.version),
            "text": line,
        });
        let _ = writeln!(out, "{object}");
    }
    out
}
