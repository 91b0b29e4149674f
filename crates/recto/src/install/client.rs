//! What a row of the table says about a client: where it keeps its MCP servers, and in which form.

use serde_json::{Value, json};

use super::format::{Content, Entry, Format};
use super::launch::Launch;

/// A client.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line, which is also that of its row in [`crate::clients::KNOWN`].
    pub name: &'static str,
    /// The product.
    pub title: &'static str,
    /// Its programs. One of them on the PATH means that the client is installed.
    pub programs: &'static [&'static str],
    /// Files or directories that mean the same.
    pub traces: &'static [Place],
    /// The directory that it serves, unless the user names one.
    pub root: DefaultRoot,
    /// Its command for MCP servers.
    pub command: Option<OwnCommand>,
    /// The files with its settings for all projects.
    pub user: &'static [ConfigFile],
    /// The files with its settings for one project.
    pub project: &'static [ConfigFile],
    /// Its entry for a server over HTTP.
    pub http: HttpSupport,
    /// The page that documents the files.
    pub source: &'static str,
}

/// Whether a client can use a server over HTTP without having its token in a file.
#[derive(Debug)]
pub enum HttpSupport {
    /// The members of the entry, which refer to [`TOKEN_VARIABLE`].
    Entry(&'static [(&'static str, Member)]),
    /// Why it cannot.
    No(&'static str),
}

/// The environment variable of a client that contains the token.
pub const TOKEN_VARIABLE: &str = "RECTO_TOKEN";

/// The directory that a client serves by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultRoot {
    /// The client starts servers in the project: `.` is that directory.
    WorkingDirectory,
    /// The client replaces this text by the project's directory.
    Variable(&'static str),
    /// The same in the settings of a project only; otherwise like [`DefaultRoot::Fixed`].
    ProjectVariable(&'static str),
    /// The client starts servers anywhere: the directory that `recto install` runs in.
    Fixed,
}

/// A client's own command, with placeholders: `SCOPE`, `JSON` for the entry, `COMMAND` for program
/// and arguments.
#[derive(Debug)]
pub struct OwnCommand {
    /// Adds the server.
    pub add: &'static [&'static str],
    /// Removes it, from a file that the client rewrites all the time.
    pub remove: Option<&'static [&'static str]>,
    /// Whether it can write the settings of a project.
    pub has_project: bool,
}

/// A file with settings.
#[derive(Debug)]
pub struct ConfigFile {
    /// Where it may be. The first that exists is used, else the last.
    pub places: &'static [Place],
    /// Its format.
    pub format: Format,
    /// The content of a new file before the entry.
    pub seed: &'static str,
    /// What recto adds to it.
    pub entries: &'static [EntryKind],
}

/// The place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Below the home directory.
    Home(&'static str),
    /// Below a directory that a variable names, else below a directory in the home directory.
    Variable(&'static str, &'static str, &'static str),
    /// The file that a variable names.
    File(&'static str),
    /// Below `XDG_CONFIG_HOME`, which is `~/.config`, also on macOS.
    Config(&'static str),
    /// Below `XDG_CONFIG_HOME`; on macOS below `~/Library/Application Support`.
    Application(&'static str),
    /// Below the project.
    Project(&'static str),
}

/// An entry, in the form that a client expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryKind {
    /// The keys that lead to it.
    pub path: &'static [&'static str],
    /// Its form.
    pub form: Form,
}

/// The form of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Program and arguments, with these members as well.
    Server(&'static [(&'static str, Member)]),
    /// opencode: one array, below `mcp` (1.x) or `mcp.servers` (2.x).
    Opencode(u32),
    /// Goose: `cmd` instead of `command`.
    Goose,
    /// An ACP agent instead of an MCP server, with these members as well.
    Agent(&'static [(&'static str, Member)]),
    /// Claude Code's rules that allow tools that only read.
    ReadingRules,
}

/// A member with a fixed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// A string.
    Text(&'static str),
    /// `true` or `false`.
    Flag(bool),
    /// An array of strings.
    List(&'static [&'static str]),
    /// An empty object.
    NoPairs,
    /// A number.
    Number(u32),
    /// The URL of the server.
    Url,
    /// An object with this value of the header `Authorization`.
    Authorization(&'static str),
    /// The same below `headers`.
    RequestOptions(&'static str),
}

impl EntryKind {
    /// Returns the entry for a server or agent that is started this way.
    pub fn entry(&self, launch: &Launch) -> Entry {
        let content = match self.form {
            Form::Server(_) | Form::Goose | Form::Opencode(_) if launch.http.is_some() => {
                Content::Object(launch.http_entry())
            }
            Form::Server(more) => {
                let (command, args) = (&launch.program, launch.server_arguments());
                let entry = json!({"command": command, "args": args});
                Content::Object(with_members(entry, more))
            }
            Form::Agent(more) => {
                let (command, args) = (&launch.program, launch.agent_arguments());
                Content::Object(with_members(json!({"command": command, "args": args}), more))
            }
            Form::Opencode(major) => {
                let mut command = vec![launch.program.clone()];
                command.extend(launch.server_arguments());
                let mut entry = json!({"type": "local", "command": command});
                if major == 1 {
                    entry["enabled"] = true.into();
                }
                Content::Object(entry)
            }
            Form::Goose => Content::Object(json!({
                "enabled": true,
                "type": "stdio",
                "name": "recto",
                "description": "Reads, searches and edits files",
                "cmd": launch.program,
                "args": launch.server_arguments(),
                "timeout": 60,
            })),
            Form::ReadingRules => Content::Strings(launch.reading_rules()),
        };
        Entry { path: self.path, content }
    }
}

impl Member {
    /// Returns the value, for a server at this URL.
    pub fn value(&self, url: &str) -> Value {
        match *self {
            Member::Text(text) => text.into(),
            Member::Flag(flag) => flag.into(),
            Member::List(items) => items.into(),
            Member::NoPairs => json!({}),
            Member::Number(number) => number.into(),
            Member::Url => url.into(),
            Member::Authorization(value) => json!({"Authorization": value}),
            Member::RequestOptions(value) => json!({"headers": {"Authorization": value}}),
        }
    }
}

/// Adds members: `name` and `type` before the others, as clients write them.
fn with_members(entry: Value, more: &[(&str, Member)]) -> Value {
    let is_first = |(key, _): &&(&str, Member)| ["name", "type"].contains(key);
    let pair = |(key, member): &(&str, Member)| (key.to_string(), member.value(""));
    let first = more.iter().filter(is_first).map(pair);
    let last = more.iter().filter(|it| !is_first(it)).map(pair);
    let Value::Object(entry) = entry else { return entry };
    Value::Object(first.chain(entry).chain(last).collect())
}
