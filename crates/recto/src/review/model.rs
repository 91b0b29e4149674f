//! What was recorded below a directory, by session and file, and what the user decided about it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use recto_journal::names::Names;
use recto_journal::undo::HunkId;
use recto_journal::{Change, Filter, Kind, Reader, SessionName, State, StateDir};
use recto_store::LocalStore;

use super::view::{FileCounts, FileView};

/// The time of one request to search the text of changes and to count the parts of files. Files that
/// are not counted pass a filter.
const FILTER_TIME: Duration = Duration::from_secs(2);

/// How many shown files are checked for changes by other programs.
const MAX_SHOWN_FILES: usize = 8;

/// What is reviewed.
pub struct Model {
    /// The directory.
    pub root: PathBuf,
    /// Its files.
    pub store: LocalStore,
    /// The sessions with changes below the directory, the one with the newest change first.
    pub sessions: Vec<ReviewedSession>,
    /// The sessions whose process is running.
    pub live: HashSet<String>,
    /// The number of changes elsewhere.
    pub n_elsewhere: usize,
    /// Hunks that the user wants to keep.
    pub kept: HashSet<HunkId>,
    dir: StateDir,
    reader: Option<Reader>,
    changes: HashMap<u64, Change>,
    /// The newest change of each file.
    newest: HashMap<PathBuf, u64>,
    version: Option<i64>,
    /// Grows when something was noticed that a page should show.
    n_news: u64,
    /// Grows with each change of `kept`.
    n_decisions: u64,
    counts: HashMap<(String, PathBuf), (Stamp, FileCounts)>,
    /// The files that were shown last.
    shown: Vec<(PathBuf, Option<FileStatus>)>,
}

/// The size and the time of the last change of a file.
type FileStatus = (u64, std::time::SystemTime);

/// A session, or the changes of one client that belong to no session.
pub struct ReviewedSession {
    /// Identifies it in the page.
    pub key: String,
    /// Its name; `None` for changes that belong to no session.
    pub name: Option<SessionName>,
    /// The client's name and version.
    pub client: String,
    /// When its first change was made, in milliseconds since 1970.
    pub start: i64,
    /// When its last one was.
    pub last: i64,
    /// The files that it changed, by path.
    pub files: Vec<ReviewedFile>,
    /// The number of changes.
    pub n_changes: usize,
}

/// A file that a session changed.
pub struct ReviewedFile {
    /// The path.
    pub path: PathBuf,
    /// The changes, oldest first.
    pub changes: Vec<u64>,
}

/// Identifies the state that counts were computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    newest: u64,
    n_decisions: u64,
    status: Option<FileStatus>,
}

/// Which files to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFilter {
    /// Only files whose path or changed text contains this.
    text: String,
    /// Only files in this state.
    state: String,
    /// When to stop reading files for it, in all sessions together.
    end: Instant,
}

impl FileFilter {
    /// Returns the filter of one request, whose time begins now.
    pub fn new(text: String, state: String) -> FileFilter {
        FileFilter { text, state, end: Instant::now() + FILTER_TIME }
    }

    fn is_late(&self) -> bool {
        Instant::now() > self.end
    }
}

impl Model {
    /// Reads what was recorded below a directory.
    pub fn new(root: PathBuf, dir: StateDir, store: LocalStore) -> Model {
        Model {
            root,
            store,
            dir,
            reader: None,
            sessions: Vec::new(),
            live: HashSet::new(),
            n_elsewhere: 0,
            kept: HashSet::new(),
            changes: HashMap::new(),
            newest: HashMap::new(),
            version: None,
            n_news: 0,
            n_decisions: 0,
            counts: HashMap::new(),
            shown: Vec::new(),
        }
    }

    /// Reads what was recorded since.
    pub fn refresh(&mut self) -> Result<(), String> {
        let failed = |error: recto_journal::Error| error.to_string();
        if self.reader.is_none() {
            self.reader = Reader::open(&self.dir).map_err(failed)?;
        }
        let Some(reader) = &self.reader else { return Ok(()) };
        let live = self.dir.live_sessions();
        if self.live != live {
            (self.live, self.n_news) = (live, self.n_news + 1);
        }
        let version = reader.version().map_err(failed)?;
        if self.version == Some(version) {
            return Ok(());
        }
        let all = reader.changes(&Filter::default()).map_err(failed)?;
        let kept = reader.kept().map_err(failed)?;
        if self.kept != kept {
            (self.kept, self.n_decisions) = (kept, self.n_decisions + 1);
        }
        self.version = Some(version);
        self.n_news += 1;
        self.index(all);
        Ok(())
    }

    /// Returns a number that has grown if something was noticed since the last call that a page
    /// should show.
    pub fn n_news(&self) -> u64 {
        self.n_news
    }

    fn index(&mut self, all: Vec<Change>) {
        self.changes.clear();
        self.newest.clear();
        self.n_elsewhere = 0;
        let mut sessions: HashMap<String, (ReviewedSession, BTreeMap<PathBuf, Vec<u64>>)> =
            HashMap::new();
        let names = Names::of(&all);
        // A move has a record for each name; the file is listed under the one it has now.
        let paths: Vec<PathBuf> = all.iter().map(|it| names.current(it).to_path_buf()).collect();
        for (change, path) in all.into_iter().zip(paths) {
            if !path.starts_with(&self.root) {
                self.n_elsewhere += 1;
                continue;
            }
            self.newest.insert(path.clone(), change.id);
            let is_made = matches!(change.state, State::Done | State::Uncertain);
            let is_own = !matches!(change.kind, Kind::Foreign | Kind::Undo) && !change.is_arrival();
            if let Some(session) = change.session.as_ref().filter(|_| is_made && is_own) {
                let name = SessionName::new(&session.name);
                let (key, client) = match &name {
                    Some(name) => {
                        let client = format!("{} {}", session.client, session.version);
                        (name.as_str().to_string(), client.trim().to_string())
                    }
                    // No session has such a name, because names of tokens have no colon.
                    None => (format!("client:{}", session.client), session.client.clone()),
                };
                let new = || {
                    let session = ReviewedSession {
                        key: key.clone(),
                        name,
                        client,
                        start: change.time,
                        last: change.time,
                        files: Vec::new(),
                        n_changes: 0,
                    };
                    (session, BTreeMap::new())
                };
                let (found, files) = sessions.entry(key.clone()).or_insert_with(new);
                found.n_changes += 1;
                found.last = found.last.max(change.time);
                files.entry(path).or_default().push(change.id);
            }
            self.changes.insert(change.id, change);
        }
        let listed = |(mut session, files): (ReviewedSession, BTreeMap<PathBuf, Vec<u64>>)| {
            let file = |(path, changes)| ReviewedFile { path, changes };
            session.files = files.into_iter().map(file).collect();
            session
        };
        self.sessions = sessions.into_values().map(listed).collect();
        self.sessions.sort_by_key(|session| {
            let newest = session.files.iter().filter_map(|file| file.changes.last()).max();
            std::cmp::Reverse(newest.copied())
        });
    }

    /// Returns the journal.
    pub fn reader(&self) -> Result<&Reader, String> {
        self.reader.as_ref().ok_or_else(|| "no changes are recorded".into())
    }

    /// Returns a session by its key.
    pub fn session(&self, key: &str) -> Option<&ReviewedSession> {
        self.sessions.iter().find(|session| session.key == key)
    }

    /// Returns a change.
    pub fn change(&self, id: u64) -> Option<&Change> {
        self.changes.get(&id)
    }

    /// Returns the id of the newest change below the directory.
    pub fn last_id(&self) -> u64 {
        self.newest.values().copied().max().unwrap_or_default()
    }

    /// Returns the changes below the directory after one.
    pub fn changes_since(&self, last: u64) -> impl Iterator<Item = &Change> {
        self.changes.values().filter(move |change| change.id > last)
    }

    /// Reads a file of a session.
    pub fn view(&self, file: &ReviewedFile) -> Result<FileView, String> {
        let own: HashSet<u64> = file.changes.iter().copied().collect();
        FileView::load(self.reader()?, &self.store, &file.path, &own, &self.kept)
    }

    /// Remembers that a file is shown.
    pub fn watch(&mut self, path: &Path) {
        let now = status(path);
        // Another page may show it as it was.
        let is_changed = self.shown.iter().any(|(shown, known)| shown == path && *known != now);
        self.n_news += u64::from(is_changed);
        self.shown.retain(|(shown, _)| shown != path);
        self.shown.insert(0, (path.to_path_buf(), now));
        self.shown.truncate(MAX_SHOWN_FILES);
    }

    /// Notices that another program has changed a shown file since the last call.
    pub fn check_files(&mut self) {
        let mut is_changed = false;
        for (path, known) in &mut self.shown {
            let now = status(path);
            is_changed |= now != *known;
            *known = now;
        }
        self.n_news += u64::from(is_changed);
    }

    /// Marks hunks, or removes their marks.
    pub fn keep(&mut self, hunks: &[HunkId], is_kept: bool) -> Result<(), String> {
        let reader = self.reader.as_mut().ok_or("no changes are recorded")?;
        reader.keep(hunks, is_kept).map_err(|error| error.to_string())?;
        // This connection does not notice its own changes.
        self.version = None;
        self.refresh()
    }

    /// Returns the path of a file below the directory, to show it.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Returns the numbers of a file. They are computed again only if something changed.
    pub fn counts(&mut self, session: &str, path: &Path) -> FileCounts {
        let stamp = Stamp {
            newest: self.newest.get(path).copied().unwrap_or_default(),
            n_decisions: self.n_decisions,
            status: status(path),
        };
        let key = (session.to_string(), path.to_path_buf());
        if let Some((of, counts)) = self.counts.get(&key)
            && *of == stamp
        {
            return *counts;
        }
        let files = self.session(session).map(|session| session.files.as_slice());
        let file = files.unwrap_or_default().iter().find(|file| file.path == path);
        let view = file.and_then(|file| self.view(file).ok());
        let counts = view.map(|view| view.counts()).unwrap_or_default();
        self.counts.insert(key, (stamp, counts));
        counts
    }

    /// Returns the indices of the files of a session that pass a filter.
    pub fn listed(&mut self, key: &str, filter: &FileFilter) -> Vec<usize> {
        let Some(session) = self.session(key) else { return Vec::new() };
        let mut listed: Vec<usize> = (0..session.files.len()).collect();
        if !filter.text.is_empty() {
            let wanted = filter.text.to_lowercase();
            listed.retain(|index| {
                let file = &session.files[*index];
                let path = self.shown(&file.path).to_string_lossy().to_lowercase();
                path.contains(&wanted) || (!filter.is_late() && self.contains(file, &wanted))
            });
        }
        if !filter.state.is_empty() {
            let paths: Vec<PathBuf> =
                listed.iter().map(|index| session.files[*index].path.clone()).collect();
            let mut is_listed = paths
                .iter()
                .map(|path| filter.is_late() || self.counts(key, path).is_in(&filter.state));
            listed.retain(|_| is_listed.next().unwrap_or(true));
        }
        listed
    }

    /// Returns the file after one in the list, or before it, with its session and its place there.
    pub fn next_file(
        &mut self,
        session: &str,
        path: &Path,
        is_backwards: bool,
        filter: &FileFilter,
    ) -> Option<(String, usize, PathBuf)> {
        let at = self.sessions.iter().position(|it| it.key == session)?;
        let listed = self.listed(session, filter);
        let files = &self.sessions[at].files;
        // The file itself may not pass the filter any more.
        let n_before = listed.iter().filter(|index| *files[**index].path < *path).count();
        let is_listed = listed.get(n_before).is_some_and(|index| files[*index].path == path);
        let own = match is_backwards {
            true => n_before.checked_sub(1),
            false => Some(n_before + usize::from(is_listed)).filter(|next| *next < listed.len()),
        };
        if let Some(n) = own {
            return Some((session.to_string(), n, files[listed[n]].path.clone()));
        }
        let others = match is_backwards {
            true => (0..at).rev().collect::<Vec<_>>(),
            false => (at + 1..self.sessions.len()).collect(),
        };
        others.into_iter().find_map(|other| {
            let key = self.sessions[other].key.clone();
            let listed = self.listed(&key, filter);
            let n = if is_backwards { listed.len().checked_sub(1)? } else { 0 };
            Some((key, n, self.sessions[other].files[*listed.get(n)?].path.clone()))
        })
    }

    /// Returns whether the changes of a file contain a text, in lower case.
    fn contains(&self, file: &ReviewedFile, wanted: &str) -> bool {
        let Ok(reader) = self.reader() else { return false };
        let has_it = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().contains(wanted);
        file.changes.iter().any(|id| {
            let hunks = reader.hunks(*id).ok().flatten();
            let hunks = hunks.iter().flat_map(|hunks| hunks.iter());
            hunks.into_iter().any(|hunk| has_it(&hunk.inserted) || has_it(&hunk.removed))
        })
    }
}

fn status(path: &Path) -> Option<FileStatus> {
    let status = path.symlink_metadata().ok()?;
    Some((status.len(), status.modified().ok()?))
}

impl FileCounts {
    fn is_in(&self, state: &str) -> bool {
        match state {
            "open" => self.n_open > 0,
            "kept" => self.n_kept > 0,
            "undone" => self.n_undone > 0,
            "conflict" => self.n_conflicts > 0,
            _ => true,
        }
    }
}

/// Returns a model of a directory without recorded changes.
#[cfg(test)]
pub fn empty(root: &Path) -> Model {
    let options = recto_store::local::Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: true,
        is_durable: false,
    };
    let store = LocalStore::open(options).expect("the directory exists");
    let dir = StateDir::create(&root.join("state")).expect("the directory is writable");
    Model::new(root.to_path_buf(), dir, store)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_time_of_a_filter_is_that_of_all_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mut model) = (folder.path(), empty(folder.path()));
        for key in ["one", "other"] {
            let path = root.join(key);
            let files = vec![ReviewedFile { path, changes: Vec::new() }];
            let (key, client) = (key.to_string(), String::new());
            let session =
                ReviewedSession { key, name: None, client, start: 0, last: 0, files, n_changes: 0 };
            model.sessions.push(session);
        }
        let mut filter = FileFilter::new(String::new(), "kept".into());
        let mut n_listed =
            |filter: &FileFilter| ["one", "other"].map(|key| model.listed(key, filter).len());
        assert_eq!(n_listed(&filter), [0, 0]);
        filter.end -= 2 * FILTER_TIME;
        assert_eq!(n_listed(&filter), [1, 1], "files that are not counted pass");
    }
}
