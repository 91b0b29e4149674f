//! Computes what would change, and changes it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::client::{Client, ConfigFile, EntryKind, Form};
use super::format::{Content, Entry, Format};
use super::launch::Launch;
use super::places::{Scope, Surroundings};
use super::splice::Unsupported;
use super::{command, files, records};

/// A change of one file.
pub struct Change {
    /// The file, with links resolved.
    pub path: PathBuf,
    /// Its content now.
    pub before: Option<String>,
    /// Its content afterwards; `None` removes it.
    pub after: Option<String>,
    /// The client's command that makes the change, if it has one.
    pub command: Option<Vec<String>>,
    format: Format,
    entries: Vec<Entry>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Install,
    /// Back to the recorded content.
    Restore,
    RemoveEntry,
}

/// Why there is no change.
#[derive(Debug)]
pub enum Obstacle {
    /// The user must insert the snippet.
    ByHand {
        /// The file, which is left as it is.
        path: PathBuf,
        /// What recto cannot handle in it.
        why: String,
        /// The entry.
        snippet: String,
    },
    /// Anything else.
    Failed(String),
}

/// The keys under which clients have the URL of a server.
pub const URL_KEYS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// Returns the files of a client.
pub fn files_of(client: &Client, scope: Scope) -> &'static [ConfigFile] {
    match scope {
        Scope::User => client.user,
        Scope::Project => client.project,
    }
}

/// Returns the changes that add recto to a client.
pub fn install(
    client: &Client,
    scope: Scope,
    launch: &Launch,
    around: &Surroundings,
) -> Result<Vec<Change>, Obstacle> {
    let mut changes = Vec::new();
    for (index, file) in files_of(client, scope).iter().enumerate() {
        let path = place(file, around)?;
        let before = read(&path).map_err(Obstacle::Failed)?;
        let mut kinds = kinds(client, file, before.as_deref(), around);
        if launch.http.is_some() {
            kinds.retain(|kind| !matches!(kind.form, Form::Agent(_)));
        }
        let entries: Vec<Entry> = kinds.iter().map(|kind| kind.entry(launch)).collect();
        let text = before.as_deref().unwrap_or(file.seed);
        let after = with_entries(file.format, text, &entries).map_err(|Unsupported(why)| {
            let snippets: Vec<_> = entries.iter().map(|it| file.format.snippet(it)).collect();
            Obstacle::ByHand { path: path.clone(), why, snippet: snippets.join("\n") }
        })?;
        if before.as_ref() == Some(&after) {
            continue;
        }
        // A client's command concerns its first file.
        let own = client.command.as_ref().filter(|own| {
            index == 0
                && (launch.http.is_none() || own.add.contains(&"JSON"))
                && (scope == Scope::User || own.has_project)
                && around.on_path(own.add[0]).is_some()
        });
        let command = own.map(|own| command::filled(own.add, scope, launch, &entries));
        let (format, after, kind) = (file.format, Some(after), Kind::Install);
        changes.push(Change { path, before, after, command, format, entries, kind });
    }
    Ok(changes)
}

/// Returns the changes that remove recto from a client.
pub fn uninstall(
    client: &Client,
    scope: Scope,
    launch: &Launch,
    around: &Surroundings,
) -> Result<Vec<Change>, Obstacle> {
    let mut changes = Vec::new();
    for (index, file) in files_of(client, scope).iter().enumerate() {
        let entries: Vec<Entry> = file.entries.iter().map(|kind| kind.entry(launch)).collect();
        for path in around.paths(file) {
            let path = files::target(&path);
            let Some(before) = read(&path).map_err(Obstacle::Failed)? else { continue };
            let record = records::find(&around.records(), &path);
            let content = record.map(|record| record.content);
            let content = content.filter(|content| content.after == before.as_bytes());
            let (after, kind) = match content {
                Some(content) => {
                    let restored = content.restored.or(content.before.map(|(bytes, _)| bytes));
                    let restored = restored.map(String::from_utf8).transpose();
                    let error = |_| Obstacle::Failed("the backup is not UTF-8".into());
                    (restored.map_err(error)?, Kind::Restore)
                }
                None => {
                    let after = removed(file, &before, &entries)
                        .map_err(|why| Obstacle::Failed(format!("{}: {why}", path.display())))?;
                    if after.as_ref() == Some(&before) {
                        continue;
                    }
                    (after, Kind::RemoveEntry)
                }
            };
            let own = client.command.as_ref().filter(|own| {
                index == 0 && scope == Scope::User && around.on_path(own.add[0]).is_some()
            });
            let own = own.and_then(|own| own.remove).filter(|_| kind == Kind::RemoveEntry);
            let command = own.map(|words| command::filled(words, scope, launch, &entries));
            let (format, before, entries) = (file.format, Some(before), entries.clone());
            changes.push(Change { path, before, after, command, format, entries, kind });
        }
    }
    Ok(changes)
}

/// Returns a file without the entries; `None` if nothing but the frame that recto wrote remains.
fn removed(
    file: &ConfigFile,
    before: &str,
    entries: &[Entry],
) -> Result<Option<String>, Unsupported> {
    let remove = |text: String, entry: &Entry| file.format.remove(&text, entry);
    let after = entries.iter().try_fold(before.to_string(), remove)?;
    let has_frame = !file.seed.is_empty() && after != before;
    let is_frame = has_frame && after == format!("{}{}: []\n", file.seed, entries[0].path[0]);
    Ok((!is_frame).then_some(after))
}

/// Chooses the path of a file: one that has an entry, one that exists, or the last.
fn place(file: &ConfigFile, around: &Surroundings) -> Result<PathBuf, Obstacle> {
    let paths = around.paths(file);
    let configured = |path: &&PathBuf| is_configured(file, path);
    let chosen = paths.iter().find(configured);
    let chosen = chosen.or_else(|| paths.iter().find(|path| path.exists())).or(paths.last());
    match chosen {
        Some(path) => Ok(files::target(path)),
        None => Err(Obstacle::Failed("the place of its settings is unknown".into())),
    }
}

fn is_configured(file: &ConfigFile, path: &Path) -> bool {
    let text = files::read(path).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| {
        file.entries.iter().any(|kind| matches!(found(file, kind, &text), Ok(Some(_))))
    })
}

/// Returns a text with the entries.
fn with_entries(format: Format, text: &str, entries: &[Entry]) -> Result<String, Unsupported> {
    let set = |text: String, entry: &Entry| match is_other_transport(format, entry, &text) {
        true => format.set(&format.remove(&text, entry)?, entry),
        false => format.set(&text, entry),
    };
    entries.iter().try_fold(text.to_string(), set)
}

/// Whether a text has an entry with a program where the new one has a URL, or the other way round.
fn is_other_transport(format: Format, entry: &Entry, text: &str) -> bool {
    let Content::Object(wanted) = &entry.content else { return false };
    let found = format.get(text, entry).ok().flatten().unwrap_or_default();
    let mut keys = ["command", "cmd"].iter().chain(&URL_KEYS);
    keys.any(|key| found.get(key).is_some() && wanted.get(key).is_none())
}

/// Returns an entry that a file has. Fails if the file cannot be parsed.
pub fn found(file: &ConfigFile, kind: &EntryKind, text: &str) -> Result<Option<Value>, String> {
    let probe = Entry { path: kind.path, content: Content::Object(Value::Null) };
    file.format.get(text, &probe).map_err(|why| why.to_string())
}

/// Returns the text of a file; `None` if there is none.
pub fn read(path: &Path) -> Result<Option<String>, String> {
    let text = files::read(path)?.map(String::from_utf8).transpose();
    text.map_err(|_| format!("{} is not UTF-8", path.display()))
}

/// Returns the entries to write: opencode has another place for them since version 2.
fn kinds(
    client: &Client,
    file: &ConfigFile,
    text: Option<&str>,
    around: &Surroundings,
) -> Vec<EntryKind> {
    let is_opencode = |kind: &EntryKind| matches!(kind.form, Form::Opencode(_));
    if !file.entries.iter().any(is_opencode) {
        return file.entries.to_vec();
    }
    let servers = text.and_then(|text| super::json::get(text, &["mcp"]).ok().flatten());
    let servers = servers.as_ref().and_then(Value::as_object);
    let is_server = |value: &Value| value.get("type").is_some_and(Value::is_string);
    let major = match servers {
        Some(servers) if servers.values().any(is_server) => 1,
        Some(servers) if servers.get("servers").is_some_and(Value::is_object) => 2,
        _ => {
            let program = client.programs.iter().find_map(|program| around.on_path(program));
            program.and_then(|program| command::major_version(&program)).unwrap_or(1).clamp(1, 2)
        }
    };
    let is_wanted = |kind: &&EntryKind| kind.form == Form::Opencode(major);
    file.entries.iter().filter(is_wanted).copied().collect()
}

/// What happened to a file.
#[derive(Debug, Default)]
pub struct Applied {
    /// The backup, if a file was changed.
    pub backup: Option<PathBuf>,
    /// Why recto did not use what the client's command did.
    pub note: Option<String>,
}

/// A file before and after a client's command, and what recto makes of it.
struct Written {
    before: Option<String>,
    now: Option<String>,
    after: String,
    note: Option<String>,
    /// Whether other settings differ between `before` and `after`.
    is_rest_changed: bool,
}

impl Change {
    /// Makes the change. A client's command runs first; what it did is kept if it changed nothing
    /// but the entry.
    pub fn apply(&self, around: &Surroundings) -> Result<Applied, String> {
        let records = around.records();
        let record = records::find(&records, &self.path);
        match self.kind {
            Kind::Install => self.add(around, record),
            Kind::Restore => {
                let record = record.ok_or("the backup was removed meanwhile")?;
                let before = self.before.as_deref().unwrap_or_default().as_bytes();
                match &self.after {
                    Some(after) => {
                        files::write(&self.path, Some(before), after.as_bytes())?;
                        if let Some((_, mode)) = record.content.before {
                            files::set_mode(&self.path, mode)?;
                        }
                    }
                    None => files::remove(&self.path, before, &record.content.new_dirs)?,
                }
                record.remove().map_err(|error| error.to_string())?;
                Ok(Applied::default())
            }
            Kind::RemoveEntry => {
                let note = self.remove_entry(around)?;
                if let Some(record) = record {
                    record.remove().map_err(|error| error.to_string())?;
                }
                Ok(Applied { backup: None, note })
            }
        }
    }

    fn add(
        &self,
        around: &Surroundings,
        record: Option<records::Record>,
    ) -> Result<Applied, String> {
        let mode = files::mode(&self.path);
        let new_dirs = missing_dirs(&self.path);
        let Written { before, now, after, note, is_rest_changed } = match &self.command {
            Some(command) => self.written_by(command, around)?,
            None => Written {
                before: self.before.clone(),
                now: self.before.clone(),
                after: self.after.clone().unwrap_or_default(),
                note: None,
                is_rest_changed: false,
            },
        };
        let bytes = before.as_deref().map(str::as_bytes);
        // Of several runs, the first knows the file before recto, unless the user changed it since.
        let first = record.map(|record| record.content);
        let first = first.filter(|content| Some(content.after.as_slice()) == bytes);
        let restored = match is_rest_changed {
            true => Some(self.without_entries(&after)),
            false => before.as_deref().map(|text| self.without_entries(text)),
        };
        let restored = restored.map(String::into_bytes);
        let restored = restored.filter(|restored| Some(restored.as_slice()) != bytes);
        let content = match first {
            Some(content) if is_rest_changed => records::Content { restored, ..content },
            Some(content) => content,
            None => {
                let before = bytes.map(|bytes| (bytes.to_vec(), mode.unwrap_or(0o600)));
                records::Content { before, restored, after: Vec::new(), new_dirs }
            }
        };
        let content = records::Content { after: after.clone().into_bytes(), ..content };
        let backup = records::save(&around.records(), &self.path, &content)
            .map_err(|error| format!("cannot write the backup: {error}"))?;
        if now.as_ref() != Some(&after) {
            files::write(&self.path, now.as_deref().map(str::as_bytes), after.as_bytes())?;
            if let Some(mode) = mode.filter(|mode| files::mode(&self.path) != Some(*mode)) {
                files::set_mode(&self.path, mode)?;
            }
        }
        Ok(Applied { backup, note })
    }

    /// Runs the client's command. Returns what it did, and what the file should be.
    ///
    /// Another program may change the file at the same time. What the command cannot have done is
    /// never overwritten: a file that differs from the plan is rejected before the command, and after
    /// it only layout is restored.
    fn written_by(&self, command: &[String], around: &Surroundings) -> Result<Written, String> {
        let changed = || format!("{} was changed meanwhile", self.path.display());
        let read = || read(&self.path).map_err(|_| changed());
        let before = read()?;
        if before != self.before && !self.is_state() {
            return Err(changed());
        }
        let text = before.clone().unwrap_or_default();
        let failure = command::run(command, around).err();
        let now = read()?;
        let completed = self.completed(now.as_deref().unwrap_or_default());
        let keeps_rest = |now: &str| text.is_empty() || self.without_entries(now) == text;
        let (after, note) = match (&now, failure, completed) {
            (now, Some(failure), _) if *now == before => (self.planned(&before)?, Some(failure)),
            (Some(now), None, Ok(completed)) if self.is_state() || keeps_rest(now) => {
                (completed, None)
            }
            (Some(now), failure, _) if self.format.verify(&text, now, &self.entries).is_ok() => {
                let note =
                    "the client's command changed other lines, so recto wrote only the entry";
                (self.planned(&before)?, failure.or(Some(note.into())))
            }
            (Some(_), None, completed) => {
                let note = "other settings changed while the client's command ran; they are kept";
                (completed?, Some(note.into()))
            }
            (None, None, _) => {
                (self.planned(&before)?, Some("the client's command wrote nothing".into()))
            }
            (_, Some(failure), _) => return Err(format!("{failure}, and {}", changed())),
        };
        let is_rest_changed = self.format.verify(&text, &after, &self.entries).is_err();
        Ok(Written { before, now, after, note, is_rest_changed })
    }

    /// Returns what recto writes to a file that no command has changed.
    fn planned(&self, before: &Option<String>) -> Result<String, String> {
        match (&self.after, before) {
            (Some(after), before) if *before == self.before => Ok(after.clone()),
            (_, before) => self.completed(before.as_deref().unwrap_or_default()),
        }
    }

    /// Returns a text with the entries, of which a command cannot set all keys.
    fn completed(&self, text: &str) -> Result<String, String> {
        with_entries(self.format, text, &self.entries).map_err(|why| why.to_string())
    }

    /// Whether the client keeps other things in the file that it changes while it runs.
    fn is_state(&self) -> bool {
        self.path.file_name().is_some_and(|name| name == ".claude.json")
    }

    fn remove_entry(&self, around: &Surroundings) -> Result<Option<String>, String> {
        let before = self.before.as_deref().unwrap_or_default();
        let mut now = before.to_string();
        let mut note = None;
        if let Some(command) = &self.command {
            note = command::run(command, around).err();
            now = read(&self.path).ok().flatten().ok_or("the client's command failed")?;
        }
        let after = match (&self.after, now == before) {
            (after, true) => after.clone(),
            (_, false) => Some(self.without_entries(&now)),
        };
        match after {
            None => files::remove(&self.path, now.as_bytes(), &[])?,
            Some(after) if after == now => {}
            Some(after) => {
                files::write(&self.path, Some(now.as_bytes()), after.as_bytes())?;
            }
        }
        Ok(note)
    }

    fn without_entries(&self, text: &str) -> String {
        let remove = |text: String, entry: &Entry| self.format.remove(&text, entry);
        self.entries.iter().try_fold(text.to_string(), remove).unwrap_or_else(|_| text.to_string())
    }
}

fn missing_dirs(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|it| !it.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}
