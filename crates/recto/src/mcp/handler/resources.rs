//! Served files as resources: a template for all of them, completion of their paths, and reading
//! within the bounds of an answer.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use recto_store::context::{Context, Sandbox};
use recto_tools::{Call, Calls, Error, Tool, tools};
use rmcp::model::{
    CompletionInfo, ErrorData, ReadResourceResult, ResourceContents, ResourceTemplate,
};
use serde_json::{Map, Value, json};

/// How long completion may search.
const COMPLETION_TIME: Duration = Duration::from_millis(300);

/// The template of all resources. `path` is absolute, and a `%` in a name is `%25`.
pub const TEMPLATE: &str = "file://{+path}";

/// Describes the resources.
pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(TEMPLATE, "file")
        .with_title("Served file")
        .with_description("Text of a file. Append #L100 to start at line 100.")
}

/// A file, and the line to start at.
#[derive(Debug, PartialEq, Eq)]
pub struct FileUri {
    /// The absolute path.
    pub path: String,
    line: Option<u64>,
}

impl FileUri {
    /// Parses `file:///path` or `file:///path#L12`. Other text after a `#` is part of the path.
    pub fn parse(uri: &str) -> Result<FileUri, ErrorData> {
        let parsed = || {
            let rest = uri.strip_prefix("file://")?;
            let rest = rest.strip_prefix("localhost").unwrap_or(rest);
            let (path, line) = split_line(rest);
            let path = decoded(path).filter(|path| path.starts_with('/'))?;
            let line = line.map(str::parse).transpose().ok()?;
            Some(FileUri { path, line })
        };
        parsed().ok_or_else(|| {
            let message = "Resources are files: file:///absolute/path";
            ErrorData::invalid_params(message, Some(json!({"uri": uri})))
        })
    }
}

/// Splits the digits of `#L12` from the end of a URI.
fn split_line(uri: &str) -> (&str, Option<&str>) {
    match uri.rsplit_once("#L") {
        Some((path, line))
            if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (path, Some(line))
        }
        _ => (uri, None),
    }
}

/// Returns the value of the template's `path` for a path: what [`FileUri::parse`] would read as an
/// escape or as a line is escaped.
fn template_value(path: &str) -> String {
    let (path, line) = split_line(path);
    let path = path.replace('%', "%25");
    line.map_or(path.clone(), |line| format!("{path}%23L{line}"))
}

/// Returns the URI of a file from a line on.
fn uri_from(path: &str, line: u64) -> String {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into());
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("{uri}#L{line}")
}

/// Replaces `%20` and the like. `None` if the result is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..2).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|digits| {
            u8::from_str_radix(str::from_utf8(digits).ok().filter(|it| !it.starts_with('+'))?, 16)
                .ok()
        });
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// Returns a tool, whether or not it is offered to the client.
fn tool(name: &str) -> &'static Tool {
    tools::find(name).expect("it is a tool")
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { unreachable!("it is a literal") };
    object
}

/// Reads a file. If it does not fit an answer, a second block says how to continue.
pub fn read(calls: &Calls, uri: &str, call: &Call) -> Result<ReadResourceResult, ErrorData> {
    let file = FileUri::parse(uri)?;
    let arguments = object(json!({"path": file.path, "line": file.line}));
    let answer = calls.call(tool("read_text_file"), arguments, call);
    let answer = answer.map_err(|error| to_wire(error, uri))?;
    let mut contents = vec![ResourceContents::text(answer.content, uri)];
    if let Some(next) = answer.structured["_meta"]["next_line"].as_u64() {
        let next = uri_from(&file.path, next);
        contents
            .push(ResourceContents::text(format!("{}; continue with {next}", answer.head), next));
    }
    Ok(ReadResourceResult::new(contents))
}

fn to_wire(error: Error, uri: &str) -> ErrorData {
    let data = Some(json!({"uri": uri}));
    match error.code() {
        // A file that does not exist.
        -32001 => ErrorData::resource_not_found(error.to_string(), data),
        _ => ErrorData::invalid_params(error.to_string(), data),
    }
}

/// Returns the version of a file, without counting as a read by the client. `None` if it cannot be
/// read.
pub fn version(calls: &Calls, path: &str) -> Option<recto_text::Digest> {
    let arguments = object(json!({"path": path, "limit": 1}));
    let context = Context::default();
    calls.rehearse(tool("read_text_file"), arguments, &context).ok()?.version
}

/// Completes a path, absolute or relative to a root, to paths of files that git does not ignore.
pub fn complete(calls: &Calls, start: &str, sandbox: Sandbox) -> CompletionInfo {
    let walk_deadline = Some(Instant::now() + COMPLETION_TIME);
    let context = Context { walk_deadline, sandbox, ..Context::default() };
    // The start of a value that was completed before is escaped, one that a user types is not.
    if let Some(unescaped) = decoded(start).filter(|unescaped| unescaped != start) {
        let found = complete_unescaped(calls, &unescaped, &context);
        if !found.values.is_empty() {
            return found;
        }
    }
    complete_unescaped(calls, start, &context)
}

fn complete_unescaped(calls: &Calls, start: &str, context: &Context) -> CompletionInfo {
    let root = calls.root();
    let is_absolute = start.starts_with('/');
    let is_above_root = is_absolute && root.to_str().is_some_and(|root| root.starts_with(start));
    if !is_above_root {
        let found = files(calls, start, "", context);
        if !found.values.is_empty() || !is_absolute || Path::new(start).starts_with(root) {
            return found;
        }
    }
    // It may be the start of the path of a root, whose parent cannot be listed.
    files(calls, "", start, context)
}

/// Lists the files whose paths begin with `start`, which is relative to each root or absolute, and
/// whose absolute paths begin with `absolute_start`.
fn files(calls: &Calls, start: &str, absolute_start: &str, context: &Context) -> CompletionInfo {
    let mut pattern = String::new();
    for c in start.chars() {
        if "*?[]{},\\".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    let most = CompletionInfo::MAX_VALUES;
    // Files of other roots are left out below.
    let limit = if absolute_start.is_empty() { most } else { 10 * most };
    let arguments = object(json!({"pattern": format!("{pattern}*{{,/**}}"), "limit": limit}));
    let Ok(answer) = calls.rehearse(tool("ListFiles"), arguments, context) else {
        return CompletionInfo::default();
    };
    let listed = answer.structured["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let absolute = |file: &Value| Some(calls.root().join(file.as_str()?).to_str()?.to_string());
    let mut values: Vec<String> = listed.iter().filter_map(absolute).collect();
    values.retain(|file| file.starts_with(absolute_start));
    let is_truncated = answer.structured["truncated"] == true;
    let total = match values.len() == listed.len() {
        true => answer.structured["total"].as_u64(),
        false => Some(values.len() as u64).filter(|_| !is_truncated),
    };
    let total = total.and_then(|total| total.try_into().ok());
    let has_more = is_truncated || values.len() > most;
    let values = values.iter().take(most).map(|file| template_value(file)).collect();
    CompletionInfo::with_pagination(values, total, has_more).unwrap_or_default()
}
