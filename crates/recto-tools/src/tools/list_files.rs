//! `ListFiles`: lists the files that match a pattern, on disk or at a commit.

use std::path::Path;

use crate::budget::Budget;
use crate::error::{Error, Result};
use recto_text::Size;
use recto_text::quote::{OneLine, Quoted};
use serde_json::{Value, json};

use super::paths::{COMMIT, Matches, list_in_roots, named, start_folder};
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use recto_store::error::Error as StoreError;
use recto_store::glob::Glob;
use recto_store::path::AbsPath;
use recto_store::{ListRequest, Listing, Store};

/// The default maximum number of paths.
const DEFAULT_LIMIT: i64 = 1000;

pub static TOOL: Tool = Tool {
    name: "ListFiles",
    title: "List files",
    toolset: Toolset::Files,
    description: "Find files by glob: absolute paths, without git-ignored files, and without hidden \
        ones unless the pattern has the dot. With commit: paths from the repository root; % means \
        SQL LIKE.",
    params: &[
        Param::required("pattern", ParamKind::String, "src/**/*.rs; * ? ** [ab] {a,b}"),
        COMMIT,
        Param::optional("ignored", ParamKind::Boolean, "Include files ignored by git"),
        Param::optional("limit", ParamKind::Integer { minimum: Some(1) }, "Default 1000"),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    pattern: String,
    commit: Option<String>,
    shows_ignored: bool,
    limit: usize,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let shows_ignored = arguments.boolean("ignored");
    let commit = arguments.optional_string("commit");
    let limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let positive = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let limit = positive.ok_or(Error::InvalidLimit { limit })?;
    let pattern = arguments.string("pattern");
    if pattern.is_empty() {
        return Err(Error::EmptyText { name: "pattern" });
    }
    Ok(Request { pattern, commit, shows_ignored, limit })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    match &request.commit {
        None => on_disk(env, &request),
        Some(commit) => at_commit(env, &request, commit),
    }
}

fn on_disk(env: &ReadEnv<'_>, request: &Request) -> Result<Answer> {
    let env = &ReadEnv { context: &env.context.with_walk_deadline(), ..*env };
    let (start, glob) = Glob::parse(&request.pattern)?;
    let Matches { mut listing, folder, shown } =
        list_in_roots(env, &start, &request.pattern, |folder| {
            match list(env, env.store, folder, &glob, request) {
                // A root itself is an entry of a directory that is not served.
                Err(Error::Store(StoreError::PermissionDenied { .. }))
                    if is_folder(env, request).unwrap_or(false) =>
                {
                    Ok(Listing::default())
                }
                listing => listing,
            }
        })?;
    listing.files.truncate(request.limit);
    let mut notes = Vec::new();
    if listing.is_missing {
        notes.push(format!("directory not found: {}", Quoted(&start)));
    } else if listing.total == 0 && listing.stopped.is_none() {
        // An error while looking for reasons must not replace the empty list.
        notes.extend(why_empty(env, request, &folder, glob).unwrap_or_default());
    }
    Ok(report(env, listing, &shown, notes))
}

fn at_commit(env: &ReadEnv<'_>, request: &Request, commit: &str) -> Result<Answer> {
    let (folder, glob) = match request.pattern.contains('%') {
        true => (String::new(), Glob::like(&request.pattern)?),
        false => Glob::parse(&request.pattern)?,
    };
    let start = if folder.is_empty() { "." } else { &folder };
    let revision = env.revisions.at(commit, start, env.context);
    let revision = revision.map_err(|error| named(error, &request.pattern))?;
    let glob = glob.showing_hidden();
    let listing = list(env, &*revision.store, &revision.path, &glob, request)?;
    Ok(report(env, listing, &revision.shown, Vec::new()))
}

fn list(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    folder: &AbsPath,
    glob: &Glob,
    request: &Request,
) -> Result<Listing> {
    let Request { shows_ignored, limit, .. } = *request;
    Ok(store.list(&ListRequest { folder, glob, shows_ignored, limit }, env.context)?)
}

/// Returns why a pattern matches nothing on disk, if a reason is found.
fn why_empty(
    env: &ReadEnv<'_>,
    request: &Request,
    folder: &AbsPath,
    glob: Glob,
) -> Result<Option<String>> {
    if is_folder(env, request).unwrap_or(false) {
        let pattern = everything_below(request);
        return Ok(Some(format!("this is a directory; use pattern {}", Quoted(&pattern))));
    }
    let everything = Request { shows_ignored: true, limit: 1, ..clone_of(request) };
    let Listing { total: ignored, stopped, .. } = list(env, env.store, folder, &glob, &everything)?;
    if ignored > 0 {
        return Ok(Some(format!(
            "{} only if ignored files are included; pass ignored: true",
            n_files(ignored)
        )));
    }
    let Listing { total: hidden, stopped: also_stopped, .. } =
        list(env, env.store, folder, &glob.showing_hidden(), &everything)?;
    if hidden > 0 {
        return Ok(Some(format!(
            "{} only among hidden files; write the dot, e.g. .*",
            n_files(hidden)
        )));
    }
    if let Some(budget) = stopped.or(also_stopped) {
        return Ok(Some(format!(
            "stopped after {budget}; not all ignored and hidden files were checked"
        )));
    }
    if request.pattern.contains('%') {
        return Ok(Some("% is a wildcard only with commit; use *".into()));
    }
    // Some frameworks use directory names such as `[slug]` and `{{name}}`.
    let literal = request.pattern.replace('[', "\\[").replace('{', "\\{");
    if literal == request.pattern {
        return Ok(None);
    }
    let (folder, glob) = Glob::parse(&literal)?;
    let folder = start_folder(env.root, &folder, &literal);
    let found = list(env, env.store, &folder, &glob, &everything)?.total;
    Ok((found > 0).then(|| {
        format!("{} if the brackets are literal; use pattern {}", n_files(found), Quoted(&literal))
    }))
}

/// Whether a pattern without wildcards names a directory that contains files.
fn is_folder(env: &ReadEnv<'_>, request: &Request) -> Result<bool> {
    if Glob::is_glob(&request.pattern) {
        return Ok(false);
    }
    let pattern = everything_below(request);
    let (folder, glob) = Glob::parse(&pattern)?;
    let folder = start_folder(env.root, &folder, &pattern);
    let everything = Request { shows_ignored: true, limit: 1, ..clone_of(request) };
    Ok(list(env, env.store, &folder, &glob, &everything)?.total > 0)
}

/// Returns the pattern for all files under a directory.
fn everything_below(request: &Request) -> String {
    format!("{}/**", request.pattern.trim_end_matches('/'))
}

fn clone_of(request: &Request) -> Request {
    Request { pattern: request.pattern.clone(), commit: None, ..*request }
}

fn n_files(n: u64) -> String {
    if n == 1 { "1 file matches".into() } else { format!("{n} files match") }
}

fn report(env: &ReadEnv<'_>, listing: Listing, folder: &Path, mut notes: Vec<String>) -> Answer {
    let mut text = String::new();
    let mut files = Vec::new();
    let mut budget = Budget::content(env.delivery);
    for file in &listing.files {
        let path = folder.join(file).display().to_string();
        let shown = OneLine(&path).to_string();
        // A line break, or two quotes and a comma.
        let size = Size { bytes: shown.len() + 1, json: Size::of(&path).json + 3 };
        if !budget.spend(size) {
            break;
        }
        text.push_str(&shown);
        text.push('\n');
        files.push(path);
    }
    let n_listed = files.len() as u64;
    let is_truncated = n_listed < listing.total || listing.stopped.is_some();
    let count = match (listing.total, is_truncated) {
        (0, _) => "no file matches".to_string(),
        (1, false) => "1 file".to_string(),
        (total, false) => format!("{total} files"),
        (1, true) => format!("first {n_listed} of 1 file; narrow the pattern"),
        (total, true) => format!("first {n_listed} of {total} files; narrow the pattern"),
    };
    notes.insert(0, count);
    if let Some(budget) = listing.stopped {
        notes.push(format!("stopped after {budget}; there may be more"));
    }
    for (n, what) in [
        (listing.n_unnamable, "skipped, name not UTF-8"),
        (listing.n_unreadable, "skipped, directory not readable"),
    ] {
        if n > 0 {
            notes.push(format!("{what}: {n}"));
        }
    }
    let note = notes.join("; ");
    let mut structured = json!({"files": files, "total": listing.total, "truncated": is_truncated});
    if notes.len() > 1 {
        structured["note"] = notes[1..].join("; ").into();
    }
    Answer::new(note, structured).with_content(text)
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "string"}},
            "total": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["files", "total", "truncated"],
    })
}
