//! The files of a test as the documentation describes them, and the effect of every call.

use std::collections::{BTreeMap, BTreeSet};

use recto_text::Digest;
use serde_json::{Value, json};

use super::call::{Action, Call, Terms};
use super::lines::{self, Extent, Match};
use super::strings::{Edit, edit_all};

pub const ROOT: &str = "/test";
const BOM: char = '\u{feff}';

/// How a text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

/// The content of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    Text { encoding: Encoding, text: String },
    Binary(Vec<u8>),
}

impl File {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            File::Binary(bytes) => bytes.clone(),
            File::Text { encoding, text } => {
                let marked = format!("{BOM}{text}");
                match encoding {
                    Encoding::Utf8 => text.clone().into_bytes(),
                    Encoding::Utf8Bom => marked.into_bytes(),
                    Encoding::Utf16Le => marked.encode_utf16().flat_map(u16::to_le_bytes).collect(),
                    Encoding::Utf16Be => marked.encode_utf16().flat_map(u16::to_be_bytes).collect(),
                }
            }
        }
    }

    pub fn hash(&self) -> String {
        Digest::of(&self.bytes()).to_string()
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            File::Text { text, .. } => Some(text),
            File::Binary(_) => None,
        }
    }

    /// Returns the file with another text. The encoding survives every change; a character that it
    /// cannot represent, or a text that would be read back differently, is rejected.
    fn with_text(&self, new: String) -> Result<File, i32> {
        let encoding = match self {
            File::Text { encoding, .. } => *encoding,
            File::Binary(_) => Encoding::Utf8,
        };
        let is_refused = match encoding {
            Encoding::Utf8 => new.contains('\0') || new.starts_with(BOM),
            Encoding::Utf8Bom => new.contains('\0'),
            Encoding::Utf16Le => new.starts_with('\0'),
            Encoding::Utf16Be => false,
        };
        if is_refused { Err(-32016) } else { Ok(File::Text { encoding, text: new }) }
    }

    /// Returns the answer of every verified change.
    fn version(&self) -> Value {
        let text = self.text().expect("only text is read and edited");
        json!({"hash": self.hash(), "total_lines": lines::lines(text).len()})
    }
}

/// A tree of files; paths are relative to the root.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The maximum bytes of text that a read returns, as JSON.
    pub max_read_bytes: usize,
    pub files: BTreeMap<String, File>,
    pub folders: BTreeSet<String>,
}

impl Files {
    /// Makes the call: returns the members that its answer must have (null: must not have), or its
    /// error code.
    pub fn run(&mut self, call: &Call) -> Result<Value, i32> {
        let action = &call.action;
        refuse_bad_arguments(call)?;
        let path = resolved(&call.path)?;
        match action {
            Action::Read { lines, since } => self.read(&path, *lines, since.as_deref()),
            Action::Replace { hash, lines, old, new } => self.change(&path, hash, |text| {
                marked_or_not(old, new, |old, new| lines::replace(text, *lines, old, new))
                    .map(|changed| (changed.text, Some(changed.how)))
            }),
            Action::Insert { hash, line, anchor, content } => self.change(&path, hash, |text| {
                marked_or_not(anchor, content, |anchor, content| {
                    lines::insert(text, *line, anchor, content)
                })
                .map(|changed| (changed.text, Some(changed.how)))
            }),
            Action::Append { hash, content } => {
                self.change(&path, hash, |text| Ok((lines::append(text, unmarked(content)), None)))
            }
            Action::CreateText { content } => self.create(&path, new_file(content)?),
            Action::CreateBytes { bytes } => self.create(&path, stored(bytes)),
            Action::Remove { hash } => self.remove(&path, hash),
            Action::Edit { edit, terms } => {
                let (mut answer, ranges) = self.edit(&path, std::slice::from_ref(edit), terms)?;
                answer["line_range"] = json!({"start": ranges[0].0, "end": ranges[0].1});
                Ok(answer)
            }
            Action::MultiEdit { edits, terms } => {
                let (mut answer, ranges) = self.edit(&path, edits, terms)?;
                answer["applied_count"] = edits.len().into();
                let ranges = ranges.iter().enumerate();
                answer["line_ranges"] = ranges
                    .map(|(index, (start, end))| json!({"edit_index": index, "start": start, "end": end}))
                    .collect();
                Ok(answer)
            }
            Action::Write { content, terms } => self.write(&path, content, terms),
        }
    }

    /// "Checks run in this order: … existence, kind, permission, binary, hash, range, match."
    fn file(&self, path: &str) -> Result<&File, i32> {
        match self.files.get(path) {
            Some(file) => Ok(file),
            None if self.folders.contains(path) => Err(-32003),
            None => Err(-32001),
        }
    }

    fn text_file(&self, path: &str) -> Result<&File, i32> {
        match self.file(path)? {
            File::Binary(_) => Err(-32004),
            file => Ok(file),
        }
    }

    fn read(&self, path: &str, range: Option<[i64; 2]>, since: Option<&str>) -> Result<Value, i32> {
        let file = self.text_file(path)?;
        let mut answer = file.version();
        if since == Some(file.hash().as_str()) {
            answer["unchanged"] = true.into();
            answer["content"] = Value::Null;
        } else {
            let text = file.text().expect("checked above");
            let page = lines::read(text, range.unwrap_or([0, 0]), self.max_read_bytes)?;
            answer["content"] = page.content.into();
            answer["unchanged"] = Value::Null;
            match page.extent {
                Extent::Whole => answer["has_more"] = Value::Null,
                Extent::FewerLines => answer["has_more"] = true.into(),
                Extent::PartOfALine => {}
            }
            if page.extent != Extent::Whole {
                answer["start"] = page.first_line.into();
            }
        }
        Ok(answer)
    }

    fn change(
        &mut self,
        path: &str,
        hash: &str,
        change: impl Fn(&str) -> Result<(String, Option<Match>), i32>,
    ) -> Result<Value, i32> {
        let before = self.text_file(path)?.clone();
        refuse_stale(&before, Some(hash))?;
        let (text, how) = change(before.text().expect("checked above"))?;
        let after = before.with_text(text)?;
        let mut answer = after.version();
        answer["match"] = json!(how.map(Match::word));
        answer["unchanged"] = json!((before == after).then_some(true));
        self.files.insert(path.to_string(), after);
        Ok(answer)
    }

    fn create(&mut self, path: &str, file: File) -> Result<Value, i32> {
        if self.files.contains_key(path) || self.folders.contains(path) {
            return Err(-32006);
        }
        let parents: Vec<String> = parents(path);
        if parents.iter().any(|parent| self.files.contains_key(parent)) {
            return Err(-32003);
        }
        self.folders.extend(parents);
        let answer = json!({"hash": file.hash()});
        self.files.insert(path.to_string(), file);
        Ok(answer)
    }

    fn remove(&mut self, path: &str, hash: &str) -> Result<Value, i32> {
        refuse_stale(self.file(path)?, Some(hash))?;
        self.files.remove(path);
        Ok(json!({"removed": true}))
    }

    /// Returns the answer, and the lines where each `old_string` was found.
    fn edit(&mut self, path: &str, edits: &[Edit], terms: &Terms) -> Result<EditAnswer, i32> {
        let before = self.text_file(path)?.clone();
        refuse_stale(&before, terms.expected_hash.as_deref())?;
        let edits: Vec<Edit> = edits
            .iter()
            .map(|(old, new)| (unmarked(old).to_string(), unmarked(new).to_string()))
            .collect();
        let edited = edit_all(before.text().expect("checked above"), &edits)?;
        let after = before.with_text(edited.text)?;
        let answer = json!({
            "success": true,
            "hash": after.hash(),
            "match": edited.how.word(),
            "unchanged": (before == after).then_some(true),
        });
        if !terms.is_dry_run {
            self.files.insert(path.to_string(), after);
        }
        Ok((answer, edited.line_ranges))
    }

    fn write(&mut self, path: &str, content: &str, terms: &Terms) -> Result<Value, i32> {
        if parents(path).first().is_some_and(|parent| !self.folders.contains(parent)) {
            return Err(-32001);
        }
        let before = match self.file(path) {
            Ok(file) => Some(file.clone()),
            Err(-32001) if terms.expected_hash.is_none() => None,
            Err(code) => return Err(code),
        };
        let after = match &before {
            Some(before) => {
                refuse_stale(before, terms.expected_hash.as_deref())?;
                before.with_text(unmarked(content).to_string())?
            }
            None => new_file(content)?,
        };
        let answer = json!({
            "success": true,
            "bytes_written": after.bytes().len(),
            "created": before.is_none(),
            "hash": after.hash(),
            "unchanged": (before.as_ref() == Some(&after)).then_some(true),
        });
        if !terms.is_dry_run {
            self.files.insert(path.to_string(), after);
        }
        Ok(answer)
    }
}

type EditAnswer = (Value, Vec<(usize, usize)>);

/// "-32600 also for a bad argument": a relative path in the edit toolset, an empty `old_string`,
/// no change, no edits, nothing to add. The content of a new file is checked here, too.
fn refuse_bad_arguments(call: &Call) -> Result<(), i32> {
    let is_no_edit = |(old, new): &Edit| {
        let (old, new) = (unmarked(old), unmarked(new));
        old.is_empty() || old == new
    };
    let is_relative = !call.path.starts_with('/');
    let is_bad = match &call.action {
        Action::Insert { content, .. } | Action::Append { content, .. } => {
            unmarked(content).is_empty()
        }
        Action::Edit { edit, .. } => is_relative || is_no_edit(edit),
        Action::MultiEdit { edits, .. } => {
            is_relative || edits.is_empty() || edits.iter().any(is_no_edit)
        }
        Action::Write { .. } => is_relative,
        _ => false,
    };
    if is_bad || call.path.is_empty() {
        return Err(-32600);
    }
    match &call.action {
        Action::CreateText { content } => new_file(content).map(drop),
        _ => Ok(()),
    }
}

/// "`encoding` is `utf-8`", without a BOM.
fn new_file(content: &str) -> Result<File, i32> {
    let empty = File::Text { encoding: Encoding::Utf8, text: String::new() };
    empty.with_text(unmarked(content).to_string())
}

fn refuse_stale(file: &File, expected: Option<&str>) -> Result<(), i32> {
    let is_stale = expected.is_some_and(|expected| file.hash() != expected);
    if is_stale { Err(-32013) } else { Ok(()) }
}

/// "A leading U+FEFF in an argument is ignored."
fn unmarked(argument: &str) -> &str {
    argument.strip_prefix(BOM).unwrap_or(argument)
}

/// The same for lines that a caller names, unless a line there starts with U+FEFF.
fn marked_or_not(
    named: &str,
    brought: &str,
    change: impl Fn(&str, &str) -> Result<lines::Changed, i32>,
) -> Result<lines::Changed, i32> {
    match change(named, brought) {
        Ok(changed) if named.starts_with(BOM) => Ok(changed),
        Err(-32011) if named.starts_with(BOM) => Err(-32011),
        _ => change(unmarked(named), unmarked(brought)),
    }
}

/// Returns the path from the root; tests leave the root only by `..` or another absolute path.
fn resolved(path: &str) -> Result<String, i32> {
    if path == ROOT {
        return Ok(String::new());
    }
    match path.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix('/')) {
        Some(relative) => Ok(relative.to_string()),
        None if path.starts_with('/') || path.starts_with("..") => Err(-32002),
        None => Ok(path.to_string()),
    }
}

/// Returns the directories that contain a file, the nearest first, the root last.
fn parents(path: &str) -> Vec<String> {
    let mut parents = Vec::new();
    let mut path = path;
    while let Some((parent, _)) = path.rsplit_once('/') {
        parents.push(parent.to_string());
        path = parent;
    }
    if !path.is_empty() {
        parents.push(String::new());
    }
    parents
}

/// Decodes text in one of the four encodings; a NUL outside UTF-16 makes bytes binary.
fn stored(bytes: &[u8]) -> File {
    let units = |to_unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| to_unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).expect("tests write valid UTF-16")
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("tests write valid UTF-8");
    match bytes {
        [0xff, 0xfe, ..] => {
            File::Text { encoding: Encoding::Utf16Le, text: units(u16::from_le_bytes) }
        }
        [0xfe, 0xff, ..] => {
            File::Text { encoding: Encoding::Utf16Be, text: units(u16::from_be_bytes) }
        }
        bytes if bytes.contains(&0) => File::Binary(bytes.to_vec()),
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            File::Text { encoding: Encoding::Utf8Bom, text: text(rest) }
        }
        bytes => File::Text { encoding: Encoding::Utf8, text: text(bytes) },
    }
}
