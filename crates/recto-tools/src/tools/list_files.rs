//! `ListFiles`: lists the files that match a pattern, on disk or at a commit.

use std::fmt::Write;
use std::path::Path;

use crate::budget::Budget;
use crate::error::{Error, Result};
use recto_text::Size;
use recto_text::quote::{OneLine, Quoted};
use serde_json::{Value, json};

use super::paths::{COMMIT, Matches, list_in_roots, named, relative, relative_to, start_folder};
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::limits;
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
    description: "Find files by glob, without git-ignored files, and without hidden ones unless the \
        pattern has the dot. With commit: paths from the repository root; % means SQL LIKE.",
    params: &[
        Param::required("pattern", ParamKind::String, "src/**/*.rs; * ? ** [ab] {a,b}"),
        Param::optional(
            "depth",
            ParamKind::Integer { minimum: None },
            "Overview: levels of files, and directories with file counts",
        ),
        COMMIT,
        Param::optional("ignored", ParamKind::Boolean, "Include files ignored by git"),
        Param::optional("limit", ParamKind::Integer { minimum: None }, "Default 1000"),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    pattern: String,
    commit: Option<String>,
    shows_ignored: bool,
    limit: usize,
    /// The levels of an overview.
    depth: Option<usize>,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let shows_ignored = arguments.boolean("ignored");
    let commit = arguments.optional_string("commit");
    let limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let positive = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let limit = positive.ok_or(Error::InvalidLimit { limit })?;
    let depth = arguments.integer("depth").map(parse_depth).transpose()?;
    let pattern = arguments.string("pattern");
    if pattern.is_empty() {
        return Err(Error::EmptyText { name: "pattern" });
    }
    Ok(Request { pattern, commit, shows_ignored, limit, depth })
}

fn parse_depth(depth: i64) -> Result<usize> {
    let positive = usize::try_from(depth).ok().filter(|depth| *depth > 0);
    positive.ok_or_else(|| Error::WrongArgument {
        name: "depth".into(),
        expected: "1 or more".into(),
        value: depth.to_string(),
    })
}

/// Splits the pattern into its directory and a glob. In an overview, a directory is that directory, and
/// a pattern also matches everything below directories.
fn parse_pattern(request: &Request) -> Result<(String, Glob)> {
    let (start, glob) = Glob::parse(&request.pattern)?;
    Ok(match (request.depth, Glob::is_glob(&request.pattern)) {
        (None, _) => (start, glob),
        (Some(_), true) => (start, glob.with_below()),
        (Some(_), false) => Glob::parse(&everything_below(request))?,
    })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    let answer = |request: &Request| match &request.commit {
        None => on_disk(env, request),
        Some(commit) => at_commit(env, request, commit),
    };
    match answer(&request)? {
        // The pattern may name a file.
        nothing
            if request.depth.is_some()
                && !Glob::is_glob(&request.pattern)
                && nothing.structured["total"] == 0 =>
        {
            answer(&Request { depth: None, ..request })
        }
        found => Ok(found),
    }
}

fn on_disk(env: &ReadEnv<'_>, request: &Request) -> Result<Answer> {
    let env = &ReadEnv { context: &env.context.with_walk_deadline(), ..*env };
    let (start, glob) = parse_pattern(request)?;
    let Matches { listing, folder, shown } =
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
    let mut notes = Vec::new();
    if listing.is_missing {
        notes.push(format!("directory not found: {}", Quoted(&start)));
    } else if listing.total == 0 && listing.stopped.is_none() {
        // An error while looking for reasons must not replace the empty list.
        notes.extend(why_empty(env, request, &folder, glob).unwrap_or_default());
    }
    Ok(report(env, request, listing, &shown, notes))
}

fn at_commit(env: &ReadEnv<'_>, request: &Request, commit: &str) -> Result<Answer> {
    let (folder, glob) = match request.pattern.contains('%') {
        true => (String::new(), Glob::like(&request.pattern)?),
        false => parse_pattern(request)?,
    };
    let start = if folder.is_empty() { "." } else { &folder };
    let revision = env.revisions.at(commit, start, env.context);
    let revision = revision.map_err(|error| named(error, &request.pattern))?;
    let glob = glob.showing_hidden();
    let listing = list(env, &*revision.store, &revision.path, &glob, request)?;
    Ok(report(env, request, listing, &revision.shown, Vec::new()))
}

fn list(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    folder: &AbsPath,
    glob: &Glob,
    request: &Request,
) -> Result<Listing> {
    let Request { shows_ignored, limit, depth, .. } = *request;
    let limit = if depth.is_some() { limits::COUNTED_FILES } else { limit };
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
        let pattern = Quoted(&pattern);
        return Ok(Some(format!("this is a directory; use depth: 1 or pattern {pattern}")));
    }
    let below = list(env, env.store, folder, &glob.clone().with_below(), request)?;
    if below.total > 0 {
        let pattern = everything_below(request);
        let pattern = Quoted(&pattern);
        return Ok(Some(format!(
            "only directories match; pass depth: 1 to list them, or use pattern {pattern}"
        )));
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

/// Returns the directories that the pattern starts in, with a slash, if there are several roots.
fn starts(env: &ReadEnv<'_>, request: &Request) -> Vec<String> {
    let Ok((start, _)) = parse_pattern(request) else { return Vec::new() };
    let roots = env.more_roots.iter().map(AsRef::as_ref).chain([env.root]);
    let starts = roots.map(|root: &Path| start_folder(root, &start, &request.pattern));
    let mut starts: Vec<_> =
        starts.map(|start| format!("{}/", start.as_path().display())).collect();
    if env.more_roots.is_empty() {
        starts.clear();
    }
    // A root inside another one comes first.
    starts.sort_by_key(|start| std::cmp::Reverse(start.len()));
    starts
}

/// A file, or with a count of files a directory, of an answer.
struct Entry {
    path: String,
    n_below: Option<u64>,
}

/// Returns the entries of the first `depth` levels in tree order: a directory, then its content. Levels
/// of absolute paths, which are from several roots, start at one of the `starts`.
fn overview(files: &[String], starts: &[String], depth: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut left: Vec<&str> = files.iter().map(String::as_str).collect();
    for start in starts.iter().map(String::as_str).chain([""]) {
        let (below, others) = left.into_iter().partition(|file| file.starts_with(start));
        left = others;
        add_overview(&mut entries, below, start, depth);
    }
    entries
}

fn add_overview(entries: &mut Vec<Entry>, files: Vec<&str>, start: &str, depth: usize) {
    let files = files.into_iter().map(|file| file[start.len()..].split('/').collect());
    let mut files: Vec<Vec<&str>> = files.collect();
    files.sort_unstable();
    // The directories that contain the current file, as indices of entries.
    let mut open: Vec<usize> = Vec::new();
    let mut before: &[&str] = &[];
    for file in &files {
        let dirs = &file[..(file.len() - 1).min(depth)];
        let n_same = dirs.iter().zip(before).take_while(|(one, other)| one == other).count();
        open.truncate(n_same);
        for n in n_same + 1..=dirs.len() {
            open.push(entries.len());
            let path = format!("{start}{}", dirs[..n].join("/"));
            entries.push(Entry { path, n_below: Some(0) });
        }
        open.iter().for_each(|dir| *entries[*dir].n_below.get_or_insert(0) += 1);
        if file.len() <= depth {
            entries.push(Entry { path: format!("{start}{}", file.join("/")), n_below: None });
        }
        before = dirs;
    }
}

/// The paths of a listing. What they have in common is computed once.
struct ListedPaths<'a> {
    env: &'a ReadEnv<'a>,
    is_on_disk: bool,
    /// What precedes each path that is not absolute.
    start: String,
    /// The bytes of the start in JSON.
    n_json: usize,
    /// Where the part relative to the first root begins.
    relative_from: Option<usize>,
}

/// A path of a listing.
struct ListedPath {
    path: String,
    /// Its bytes in JSON.
    n_json: usize,
    relative_from: Option<usize>,
}

impl<'a> ListedPaths<'a> {
    fn new(env: &'a ReadEnv<'a>, request: &Request, folder: &Path) -> ListedPaths<'a> {
        let is_on_disk = request.commit.is_none();
        let mut paths =
            ListedPaths { env, is_on_disk, start: String::new(), n_json: 0, relative_from: None };
        let name = "x";
        let example = paths.absolute(folder.join(name).display().to_string());
        paths.relative_from = example.relative_from;
        paths.n_json = example.n_json - name.len();
        paths.start = example.path;
        paths.start.truncate(paths.start.len() - name.len());
        paths
    }

    /// Returns the path of a file or directory in the listing.
    fn of(&self, path: &str) -> ListedPath {
        // Files of several roots.
        if path.starts_with('/') {
            return self.absolute(path.into());
        }
        ListedPath {
            path: [&self.start, path].concat(),
            n_json: self.n_json + Size::of(path).json,
            relative_from: self.relative_from,
        }
    }

    fn absolute(&self, path: String) -> ListedPath {
        let relative = if self.is_on_disk { relative(self.env, &path) } else { None };
        let relative_from = relative.map(|relative| path.len() - relative.len());
        ListedPath { n_json: Size::of(&path).json, relative_from, path }
    }
}

impl ListedPath {
    /// Returns the path as text shows it.
    fn shown(&self) -> &str {
        &self.path[self.relative_from.unwrap_or(0)..]
    }
}

fn report(
    env: &ReadEnv<'_>,
    request: &Request,
    listing: Listing,
    folder: &Path,
    mut notes: Vec<String>,
) -> Answer {
    let mut text = String::new();
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    let mut budget = Budget::content(env.delivery);
    let mut is_relative = false;
    let n_known = listing.files.len() as u64;
    let entries = match request.depth {
        Some(depth) => overview(&listing.files, &starts(env, request), depth),
        None => listing.files.into_iter().map(|path| Entry { path, n_below: None }).collect(),
    };
    let n_entries = entries.len();
    let paths = ListedPaths::new(env, request, folder);
    for Entry { path, n_below } in entries.into_iter().take(request.limit) {
        let listed = paths.of(&path);
        let n_before = text.len();
        let (count, json) = match n_below {
            // Two quotes and a comma.
            None => (String::new(), 3),
            Some(1) => ("/ 1 file".into(), r#"{"path":"","files":1},"#.len()),
            Some(n) => (format!("/ {n} files"), r#"{"path":"","files":},"#.len() + 20),
        };
        writeln!(text, "{}{count}", OneLine(listed.shown())).expect("a string can be written to");
        if !budget.spend(Size { bytes: text.len() - n_before, json: listed.n_json + json }) {
            text.truncate(n_before);
            break;
        }
        is_relative |= listed.relative_from.is_some();
        match n_below {
            None => files.push(Value::String(listed.path)),
            Some(n) => dirs.push(json!({"path": listed.path, "files": n})),
        }
    }
    let n_listed = files.len() + dirs.len();
    let is_cut = match request.depth {
        None => (n_listed as u64) < listing.total,
        Some(_) => n_listed < n_entries || n_known < listing.total,
    };
    let is_truncated = is_cut || listing.stopped.is_some();
    let total = match listing.total {
        1 => "1 file".to_string(),
        total => format!("{total} files"),
    };
    let mut count = match (listing.total, request.depth) {
        (0, _) => "no file matches".to_string(),
        (_, None) if is_truncated => format!("first {n_listed} of {total}"),
        (_, Some(_)) if n_listed < n_entries => {
            format!("first {n_listed} of {n_entries} entries for {total}")
        }
        _ => total,
    };
    if is_relative {
        count = format!("{count}, {}", relative_to(env));
    }
    let mut own_notes = vec![count];
    if is_truncated && listing.total > 0 {
        own_notes.push(match request.depth {
            None => "narrow the pattern".into(),
            Some(_) => "lower depth or narrow the pattern".into(),
        });
    }
    if request.depth.is_some() && n_known < listing.total {
        notes.push(format!("only the first {n_known} files are counted"));
    }
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
    // `json!` would copy the list.
    let mut structured = json!({});
    structured["files"] = files.into();
    if request.depth.is_some() {
        structured["dirs"] = dirs.into();
    }
    structured["total"] = listing.total.into();
    structured["truncated"] = is_truncated.into();
    if !notes.is_empty() {
        structured["note"] = notes.join("; ").into();
    }
    own_notes.append(&mut notes);
    Answer::new(own_notes.join("; "), structured).with_content(text)
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "string"}},
            "dirs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}, "files": {"type": "integer"}},
                },
            },
            "total": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["files", "total", "truncated"],
    })
}
