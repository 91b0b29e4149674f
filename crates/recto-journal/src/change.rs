//! A recorded change, and how its parts are stored.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use recto_store::record::{RecordedMetadata, Turn};
use rusqlite::Row;

use crate::digest::ContentDigest;
use crate::undo::HunkId;

/// The form of a symbolic link, whose content is its target.
pub const LINK: &str = "link";

/// A recorded change, without its hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The id. Changes are ordered by it, in all processes.
    pub id: u64,
    /// Milliseconds since 1970.
    pub time: i64,
    /// The root in which the file is.
    pub root: PathBuf,
    /// The file.
    pub path: PathBuf,
    /// What kind of change it is.
    pub kind: Kind,
    /// What became of it.
    pub state: State,
    /// Whether an editor made it in its buffer.
    pub is_in_editor: bool,
    /// Who made it, if that is known.
    pub session: Option<Session>,
    /// The id that the client gave the call.
    pub call: Option<String>,
    /// The turn in which the call was made, if turns are recorded.
    pub turn: Turn,
    /// The contents before and after; `None` where the file does not exist.
    pub digests: [Option<ContentDigest>; 2],
    /// Their sizes.
    pub n_bytes: [Option<u64>; 2],
    /// How the bytes are to be read: an encoding, `binary`, or `link` for the target of a link.
    pub form: Option<String>,
    /// The permissions before.
    pub mode: Option<u32>,
    /// What an undo undid.
    pub undoes: Vec<HunkId>,
    /// Whether the content of the change is stored.
    pub has_content: bool,
    /// The transaction, if the change was made together with others.
    pub transaction: Option<u64>,
    /// The new name of a file that was moved, or the old one if `path` is the new one.
    pub moved: Option<PathBuf>,
}

/// What kind of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Created a file.
    Create = 0,
    /// Changed its content.
    Edit = 1,
    /// Removed it.
    Remove = 2,
    /// Gave it another name.
    Move = 3,
    /// Undid other changes.
    Undo = 4,
    /// Made by another program.
    Foreign = 5,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Recorded before it was made. It is being made, or its process was killed.
    Intended = 0,
    /// It was made.
    Done = 1,
    /// Its process was killed, and another program has changed the file since.
    Uncertain = 2,
    /// Its process was killed before it was made.
    NotDone = 3,
}

/// Who made changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The session. Empty if it is unknown: then not even changes of one client belong together.
    pub name: String,
    /// The client's name.
    pub client: String,
    /// The client's version.
    pub version: String,
}

/// The name of a known session. It is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionName(String);

impl SessionName {
    /// Returns the name, or `None` if it is that of an unknown session.
    pub fn new(name: &str) -> Option<SessionName> {
        (!name.is_empty()).then(|| SessionName(name.into()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Kind {
    const ALL: [Kind; 6] =
        [Kind::Create, Kind::Edit, Kind::Remove, Kind::Move, Kind::Undo, Kind::Foreign];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Create => "create",
            Kind::Edit => "edit",
            Kind::Remove => "remove",
            Kind::Move => "move",
            Kind::Undo => "undo",
            Kind::Foreign => "foreign",
        }
    }
}

impl State {
    const ALL: [State; 4] = [State::Intended, State::Done, State::Uncertain, State::NotDone];

    /// Returns the words for it.
    pub fn name(self) -> &'static str {
        match self {
            State::Intended => "unfinished",
            State::Done => "done",
            State::Uncertain => "uncertain",
            State::NotDone => "did not happen",
        }
    }
}

impl Change {
    /// Whether it created or removed a symbolic link.
    pub fn is_of_link(&self) -> bool {
        self.form.as_deref() == Some(LINK)
    }

    /// Returns the old and the new path of a file that the change moved.
    pub fn moved_names(&self) -> Option<[&Path; 2]> {
        let other = self.moved.as_deref()?;
        let is_new = self.digests[0].is_none();
        Some(if is_new { [other, &self.path] } else { [&self.path, other] })
    }

    /// The columns that [`Change::from_row`] reads.
    pub(crate) const QUERY: &str = "SELECT changes.id, changes.time, roots.path, files.path, kind, \
        state, is_in_editor, sessions.name, sessions.client, sessions.version, call, before, after, \
        n_before, n_after, form, mode, undoes, hunks IS NOT NULL, together, \
        (SELECT path FROM files WHERE id = moved), model, title FROM changes \
        JOIN files ON files.id = changes.file JOIN roots ON roots.id = files.root \
        LEFT JOIN sessions ON sessions.id = changes.session";

    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Change> {
        let path = |index| row.get(index).map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
        let digest = |index| -> rusqlite::Result<Option<ContentDigest>> {
            let bytes = row.get_ref(index)?.as_blob_or_null()?;
            Ok(bytes.and_then(ContentDigest::from_bytes))
        };
        let name: Option<String> = row.get(7)?;
        let session = match name {
            Some(name) => Some(Session { name, client: row.get(8)?, version: row.get(9)? }),
            None => None,
        };
        let undoes = row.get_ref(17)?.as_blob_or_null()?;
        let out_of_range = |index, value| rusqlite::Error::IntegralValueOutOfRange(index, value);
        let (kind, state) = (row.get::<_, i64>(4)?, row.get::<_, i64>(5)?);
        Ok(Change {
            id: row.get::<_, i64>(0)? as u64,
            time: row.get(1)?,
            root: path(2)?,
            path: path(3)?,
            kind: *Kind::ALL.get(kind as usize).ok_or_else(|| out_of_range(4, kind))?,
            state: *State::ALL.get(state as usize).ok_or_else(|| out_of_range(5, state))?,
            is_in_editor: row.get(6)?,
            session,
            call: row.get(10)?,
            turn: Turn { model: row.get(21)?, title: row.get(22)? },
            digests: [digest(11)?, digest(12)?],
            n_bytes: [row.get::<_, Option<i64>>(13)?, row.get(14)?].map(|n| n.map(|n| n as u64)),
            form: row.get(15)?,
            mode: row.get(16)?,
            undoes: undoes.and_then(decode_undoes).unwrap_or_default(),
            has_content: row.get(18)?,
            transaction: row.get::<_, Option<i64>>(19)?.map(|id| id as u64),
            moved: row.get::<_, Option<_>>(20)?.map(crate::reader::path_of),
        })
    }
}

/// Encodes what an undo undid.
pub fn encode_undoes(undoes: &[(u64, u32)]) -> Option<Vec<u8>> {
    let bytes = |(change, hunk): &(u64, u32)| {
        change.to_le_bytes().into_iter().chain(hunk.to_le_bytes()).collect::<Vec<u8>>()
    };
    (!undoes.is_empty()).then(|| undoes.iter().flat_map(bytes).collect())
}

fn decode_undoes(bytes: &[u8]) -> Option<Vec<HunkId>> {
    let (pairs, rest) = bytes.as_chunks::<12>();
    let decode = |pair: &[u8; 12]| {
        let (change, hunk) = pair.split_first_chunk()?;
        let hunk = u32::from_le_bytes(hunk.try_into().ok()?);
        Some(HunkId { change: u64::from_le_bytes(*change), hunk })
    };
    if rest.is_empty() { pairs.iter().map(decode).collect() } else { None }
}

/// Encodes the owner and the attributes of a removed file.
pub fn encode_metadata(metadata: &RecordedMetadata) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(metadata.owner.0.to_le_bytes());
    out.extend(metadata.owner.1.to_le_bytes());
    for (name, value) in &metadata.attributes {
        for part in [name.as_bytes(), value] {
            out.extend((part.len() as u32).to_le_bytes());
            out.extend(part);
        }
    }
    out
}

/// Decodes the owner and the attributes of a removed file.
pub fn decode_metadata(mode: u32, bytes: &[u8]) -> Option<RecordedMetadata> {
    let number = |bytes: &mut &[u8]| {
        let (number, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*number))
    };
    let mut rest = bytes;
    let owner = (number(&mut rest)?, number(&mut rest)?);
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let mut part = || {
            let n_bytes = number(&mut rest)? as usize;
            let (part, left) = rest.split_at_checked(n_bytes)?;
            rest = left;
            Some(part.to_vec())
        };
        attributes.push((CString::new(part()?).ok()?, part()?));
    }
    Some(RecordedMetadata { mode, owner, attributes })
}
