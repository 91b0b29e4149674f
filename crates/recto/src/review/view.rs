//! One file of a session: what the session changed in it, in the order of the file as it is now.
//!
//! The difference that is shown is not one between two stored versions. It is the effect that undoing
//! would have: the file with and without the changes of the session, which leaves out what others
//! changed. Each item is the smallest part that can be undone alone.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;

use recto_journal::hunk::Hunks;
use recto_journal::undo::{self, HunkId, Part, Rejected, Step};
use recto_journal::undo_files::{Unread, read};
use recto_journal::{Change, Reader};
use recto_store::LocalStore;
use recto_text::encoding::Encoding;
use recto_text::line_diff::{LineDiff, is_comparable};

/// The largest file that is shown with its content.
const MAX_SHOWN: usize = 8 << 20;

/// One file of a session.
pub struct FileView {
    /// The content now; `None` if the file does not exist, empty if it is not read.
    pub content: Option<Vec<u8>>,
    /// How the content is shown.
    pub form: ShownForm,
    /// What changed, in order.
    pub items: Vec<Item>,
    /// Hunks of the session that later changes overlap.
    pub conflicts: Vec<FileConflict>,
    /// Whether the file would exist without the session.
    pub exists_without: bool,
}

/// A hunk that later changes overlap.
pub struct FileConflict {
    /// The hunk, and why it cannot be undone.
    pub rejected: Rejected,
    /// Whether the user wants to keep what is there now.
    pub is_kept: bool,
}

/// How content is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownForm {
    /// As lines.
    Text(Encoding),
    /// Only its size.
    Binary,
    /// Not at all.
    Large,
    /// Not even read, because it is too large to be undone.
    Unread,
}

/// A part of a file that changed.
pub struct Item {
    /// Which side is in the file.
    pub layout: Layout,
    /// What the user decided.
    pub state: ItemState,
    /// What to undo: for an undone item, the undo.
    pub hunks: Vec<HunkId>,
    /// The bytes in the content.
    pub now: Range<usize>,
    /// The bytes on the other side.
    pub other: Vec<u8>,
}

/// Which side of an item is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The new side: the session made the change.
    Made,
    /// The old side: the change is undone.
    Undone,
    /// The new side, and it is not the session's.
    Foreign,
}

/// What the user decided about a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    /// Nothing yet.
    Open,
    /// To keep it.
    Kept,
    /// To undo it.
    Undone,
    /// It is not the session's.
    Foreign,
}

impl ItemState {
    /// Returns the word for it, which is also the class.
    pub fn name(self) -> &'static str {
        match self {
            ItemState::Open => "open",
            ItemState::Kept => "kept",
            ItemState::Undone => "undone",
            ItemState::Foreign => "foreign",
        }
    }
}

/// The numbers of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// Lines that the session added and did not undo.
    pub n_added: usize,
    /// Lines that it removed.
    pub n_removed: usize,
    /// Parts that are open, with those in conflict.
    pub n_open: usize,
    /// Parts that are kept.
    pub n_kept: usize,
    /// Parts that are undone.
    pub n_undone: usize,
    /// Hunks that later changes overlap, and that are not kept.
    pub n_conflicts: usize,
}

impl FileCounts {
    /// Returns the word for the state of the file.
    pub fn state(&self) -> &'static str {
        match (self.n_open, self.n_kept, self.n_undone) {
            (_, 0, 0) => "open",
            (0, _, 0) => "kept",
            (0, 0, _) => "undone",
            _ => "partly",
        }
    }
}

impl FileView {
    /// Reads a file and follows its history. `own` are the changes of the session.
    pub fn load(
        reader: &Reader,
        store: &LocalStore,
        path: &Path,
        own: &HashSet<u64>,
        kept: &HashSet<HunkId>,
    ) -> Result<FileView, String> {
        let content = match read(store, path) {
            Err(Unread::TooLarge) => return Ok(FileView::unread()),
            content => content.map_err(|cause| cause.to_string())?,
        };
        let steps = reader.steps(path, content.as_deref()).map_err(|error| error.to_string())?;
        Ok(FileView::of(content, &steps, own, kept))
    }

    fn unread() -> FileView {
        let (items, conflicts) = (Vec::new(), Vec::new());
        let (content, form) = (Some(Vec::new()), ShownForm::Unread);
        FileView { content, form, items, conflicts, exists_without: true }
    }

    fn of(
        content: Option<Vec<u8>>,
        steps: &[Step],
        own: &HashSet<u64>,
        kept: &HashSet<HunkId>,
    ) -> FileView {
        let undone = undo::undone(steps);
        let ids = |is_wanted: &dyn Fn(&Step) -> bool| -> Vec<HunkId> {
            let steps = steps.iter().filter(|step| step.undoes.is_empty() && is_wanted(step));
            steps.flat_map(Step::hunk_ids).collect()
        };
        let all = ids(&|step| own.contains(&step.id));
        let first = own.iter().min().copied().unwrap_or(u64::MAX);
        let foreign = ids(&|step| !own.contains(&step.id) && (step.id == 0 || step.id > first));
        let (gone, made): (Vec<HunkId>, Vec<HunkId>) =
            all.into_iter().partition(|id| undone.contains_key(id));
        let mut undos: Vec<HunkId> = gone.iter().map(|id| undone[id]).collect();
        undos.sort_unstable();
        undos.dedup();
        let foreign: Vec<HunkId> =
            foreign.into_iter().filter(|id| !undone.contains_key(id)).collect();
        let now = content.as_deref();
        let made = undo::net(steps, now, &made);
        let undone = undo::net(steps, now, &undos);
        let foreign = undo::net(steps, now, &foreign);
        let mut items = Items::default();
        for part in made.parts {
            let state = match part.hunks.iter().all(|id| kept.contains(id)) {
                true => ItemState::Kept,
                false => ItemState::Open,
            };
            items.add(Layout::Made, state, part);
        }
        undone.parts.into_iter().for_each(|it| items.add(Layout::Undone, ItemState::Undone, it));
        foreign.parts.into_iter().for_each(|it| items.add(Layout::Foreign, ItemState::Foreign, it));
        let form = ShownForm::of(now, items.0.values());
        let conflict = |rejected: Rejected| {
            let is_kept = kept.contains(&rejected.hunk);
            FileConflict { rejected, is_kept }
        };
        FileView {
            content,
            form,
            items: items.0.into_values().collect(),
            conflicts: made.rejected.into_iter().map(conflict).collect(),
            exists_without: made.exists_without,
        }
    }

    /// Shows one recorded change: the content after it, and each of its hunks as an item.
    pub fn of_change(
        change: &Change,
        content: Option<Vec<u8>>,
        hunks: &Hunks,
        state: impl Fn(HunkId) -> (ItemState, Vec<HunkId>),
    ) -> FileView {
        let mut items = Vec::new();
        let mut shift = 0i64;
        for (number, hunk) in hunks.iter().enumerate() {
            let (state, ids) = state(HunkId { change: change.id, hunk: number as u32 });
            let start = usize::try_from(hunk.offset as i64 + shift).unwrap_or(0);
            shift += hunk.inserted.len() as i64 - hunk.removed.len() as i64;
            let now = start..start + hunk.inserted.len();
            let other = hunk.removed.clone();
            items.push(Item { layout: Layout::Made, state, hunks: ids, now, other });
        }
        let form = ShownForm::of(content.as_deref(), items.iter());
        let exists_without = change.digests[0].is_some();
        FileView { content, form, items, conflicts: Vec::new(), exists_without }
    }

    /// Returns the bytes of an item: the old and the new side.
    pub fn sides<'a>(&'a self, item: &'a Item) -> [&'a [u8]; 2] {
        let content = self.content.as_deref().unwrap_or_default();
        let now = content.get(item.now.clone()).unwrap_or_default();
        match item.layout {
            Layout::Made | Layout::Foreign => [&item.other, now],
            Layout::Undone => [now, &item.other],
        }
    }

    /// Counts lines and decisions.
    pub fn counts(&self) -> FileCounts {
        let n_conflicts = self.conflicts.iter().filter(|conflict| !conflict.is_kept).count();
        let n_kept = self.conflicts.len() - n_conflicts;
        let n_open = n_conflicts;
        let mut counts = FileCounts { n_conflicts, n_open, n_kept, ..FileCounts::default() };
        for item in &self.items {
            match item.state {
                ItemState::Open => counts.n_open += 1,
                ItemState::Kept => counts.n_kept += 1,
                ItemState::Undone => counts.n_undone += 1,
                ItemState::Foreign => {}
            }
            if item.layout == Layout::Made && matches!(self.form, ShownForm::Text(_)) {
                let [old, new] = self.sides(item);
                if is_comparable(old, new) {
                    let diff = LineDiff::new(old, new);
                    counts.n_added += diff.n_added();
                    counts.n_removed += diff.n_removed();
                }
            }
        }
        counts
    }
}

impl ShownForm {
    fn of<'a>(content: Option<&[u8]>, items: impl Iterator<Item = &'a Item> + Clone) -> ShownForm {
        let content = content.unwrap_or_default();
        let n_others: usize = items.clone().map(|item| item.other.len()).sum();
        if content.len() > MAX_SHOWN || n_others > MAX_SHOWN {
            return ShownForm::Large;
        }
        // A file that was removed or is binary now is judged by what it was.
        let all = [content].into_iter().chain(items.map(|item| item.other.as_slice()));
        let mut found = None;
        for bytes in all.filter(|bytes| !bytes.is_empty()) {
            match Encoding::detect(bytes) {
                None => return ShownForm::Binary,
                Some(encoding) => found = found.or(Some(encoding)),
            }
        }
        ShownForm::Text(found.unwrap_or(Encoding::Utf8))
    }
}

/// Items by their place. Those of the session come first; others are left out where they overlap.
#[derive(Default)]
struct Items(BTreeMap<(usize, usize, usize), Item>);

impl Items {
    fn add(&mut self, layout: Layout, state: ItemState, part: Part) {
        let Part { hunks, range: now, without: other } = part;
        let before = self.0.range(..(now.start, usize::MAX, 0)).next_back();
        let after = self.0.range((now.start, usize::MAX, 0)..).next();
        let overlaps = before.is_some_and(|((_, end, _), _)| *end > now.start)
            || after.is_some_and(|((start, ..), _)| *start < now.end);
        if !overlaps {
            let key = (now.start, now.end, self.0.len());
            self.0.insert(key, Item { layout, state, hunks, now, other });
        }
    }
}
