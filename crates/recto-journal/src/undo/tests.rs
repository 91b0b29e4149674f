#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use recto_text::encoding::Encoding;

/// The changes of one file, made one after another.
#[derive(Default)]
struct Recorded {
    steps: Vec<Step>,
    versions: Vec<Option<Vec<u8>>>,
}

impl Recorded {
    fn start(content: Option<&[u8]>) -> Recorded {
        Recorded { steps: Vec::new(), versions: vec![content.map(<[u8]>::to_vec)] }
    }

    fn now(&self) -> Option<&[u8]> {
        self.versions.last().unwrap().as_deref()
    }

    /// Records a change, and returns its id.
    fn change(&mut self, content: Option<&[u8]>) -> u64 {
        let exists = [self.now().is_some(), content.is_some()];
        let (before, after) = (self.now().unwrap_or_default(), content.unwrap_or_default());
        let hunks = match exists {
            [true, true] => Hunks::between(before, after),
            _ => Hunks::whole(before, after),
        };
        let id = self.steps.len() as u64 + 1;
        self.steps.push(Step { id, exists, hunks: Some(hunks), ..Step::default() });
        self.versions.push(content.map(<[u8]>::to_vec));
        id
    }

    fn edit(&mut self, text: &str) -> u64 {
        self.change(Some(text.as_bytes()))
    }

    /// Undoes hunks, and records the undo as the store does: by comparing the contents.
    fn undo(&mut self, hunks: &[HunkId], dependents: Dependents) -> Result<u64, Vec<Rejected>> {
        let plan = plan(&self.steps, self.now(), hunks, dependents)?;
        let id = self.change(plan.content.as_deref());
        self.steps.last_mut().unwrap().undoes = plan.undone;
        Ok(id)
    }

    fn undo_change(&mut self, change: u64) -> Result<u64, Vec<Rejected>> {
        let hunks = self.steps[change as usize - 1].hunk_ids();
        self.undo(&hunks, Dependents::Reject)
    }

    fn text(&self) -> Option<&str> {
        self.now().map(|content| str::from_utf8(content).unwrap())
    }
}

fn hunk(change: u64, hunk: u32) -> HunkId {
    HunkId { change, hunk }
}

fn overlapped(hunk: HunkId, by: &[HunkId]) -> Vec<Rejected> {
    vec![Rejected { hunk, reason: Reason::Overlapped { by: by.to_vec() } }]
}

#[test]
fn undoes_only_the_hunk_and_keeps_later_changes() {
    let mut file = Recorded::start(Some(b"a\nb\nc\nd\n"));
    let first = file.edit("a\nB\nc\nd\n");
    file.edit("new\na\nB\nc\nD\n");
    file.undo_change(first).unwrap();
    assert_eq!(file.text(), Some("new\na\nb\nc\nD\n"));
}

#[test]
fn undoes_one_hunk_of_several() {
    let mut file = Recorded::start(Some(b"a\nb\nc\nd\ne\n"));
    let first = file.edit("A\nb\nC\nd\nE\n");
    file.undo(&[hunk(first, 1)], Dependents::Reject).unwrap();
    assert_eq!(file.text(), Some("A\nb\nc\nd\nE\n"));
    let rejected = file.undo_change(first).unwrap_err();
    let reason = Reason::AlreadyUndone { by: 2 };
    assert_eq!(rejected, vec![Rejected { hunk: hunk(first, 1), reason }]);
    file.undo(&[hunk(first, 0), hunk(first, 2)], Dependents::Reject).unwrap();
    assert_eq!(file.text(), Some("a\nb\nc\nd\ne\n"));
}

#[test]
fn names_the_change_that_overlaps() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let first = file.edit("a\nB1\nB2\nc\n");
    file.edit("a\nB1\nB2\nC\n");
    let third = file.edit("a\nB1\nbetween\nB2\nC\n");
    let rejected = file.undo_change(first).unwrap_err();
    assert_eq!(rejected, overlapped(hunk(first, 0), &[hunk(third, 0)]));
    let undone = file.undo(&[hunk(first, 0)], Dependents::UndoChanges).unwrap();
    assert_eq!(file.text(), Some("a\nb\nC\n"));
    assert_eq!(file.steps.last().unwrap().undoes, [hunk(third, 0), hunk(first, 0)]);
    file.undo_change(undone).unwrap();
    assert_eq!(file.text(), Some("a\nB1\nbetween\nB2\nC\n"));
}

#[test]
fn overlapping_changes_are_undone_one_after_another() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let first = file.edit("a\nB\nc\n");
    let second = file.edit("a\nBB\nc\n");
    let undo = file.undo_change(second).unwrap();
    assert_eq!(file.text(), Some("a\nB\nc\n"));
    file.undo_change(first).unwrap();
    assert_eq!(file.text(), Some("a\nb\nc\n"));
    // The undo of the second change cannot be undone while the first is undone.
    assert!(file.undo_change(undo).is_err());
}

#[test]
fn an_undo_is_undone_and_undone_again() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let mut last = file.edit("a\nc\n");
    for index in 0..6 {
        file.edit(&format!("{}{index}\n", file.text().unwrap()));
        last = file.undo_change(last).unwrap();
        assert_eq!(file.text().unwrap().contains("b\n"), index % 2 == 0, "{index}");
    }
    assert_eq!(file.text(), Some("a\nc\n0\n1\n2\n3\n4\n5\n"));
}

#[test]
fn removed_lines_return_to_their_place_unless_text_was_inserted_there() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let first = file.edit("a\nc\n");
    file.edit("a\nC\n");
    let third = file.edit("A\nC\n");
    let undo = file.undo_change(first).unwrap();
    assert_eq!(file.text(), Some("A\nb\nC\n"));
    file.undo_change(undo).unwrap();
    let inserted = file.edit("A\ninserted\nC\n");
    assert_eq!(
        file.undo_change(first).unwrap_err(),
        overlapped(hunk(first, 0), &[hunk(inserted, 0)])
    );
    file.undo_change(inserted).unwrap();
    file.undo_change(first).unwrap();
    file.undo_change(third).unwrap();
    assert_eq!(file.text(), Some("a\nb\nC\n"));
}

#[test]
fn of_a_change_that_overlaps_all_is_undone_or_only_what_is_in_the_way() {
    let check = |dependents, expected: &str, n_undone: usize| {
        let mut file = Recorded::start(Some(b"a\nb\nc\nd\ne\n"));
        let first = file.edit("A\nb\nc\nd\ne\n");
        let second = file.edit("2\nb\nC\nd\nE\n");
        file.undo(&[hunk(second, 1)], Dependents::Reject).unwrap();
        file.undo(&[hunk(first, 0)], dependents).unwrap();
        assert_eq!(file.text(), Some(expected));
        assert_eq!(file.steps.last().unwrap().undoes.len(), n_undone);
    };
    check(Dependents::UndoHunks, "a\nb\nc\nd\nE\n", 2);
    // A part that was undone before is left out.
    check(Dependents::UndoChanges, "a\nb\nc\nd\ne\n", 3);
}

#[test]
fn a_created_file_is_removed_only_if_it_is_identical() {
    let mut file = Recorded::start(None);
    let created = file.edit("a\n");
    let edited = file.edit("a\nb\n");
    assert_eq!(
        file.undo_change(created).unwrap_err(),
        overlapped(hunk(created, 0), &[hunk(edited, 0)])
    );
    let undo = file.undo(&[hunk(created, 0)], Dependents::UndoChanges).unwrap();
    assert_eq!(file.text(), None);
    file.undo_change(undo).unwrap();
    assert_eq!(file.text(), Some("a\nb\n"));
}

#[test]
fn a_removed_file_is_created_again_only_if_the_name_is_free() {
    let mut file = Recorded::start(Some(b"a\n"));
    let edited = file.edit("b\n");
    let removed = file.change(None);
    assert_eq!(
        file.undo_change(edited).unwrap_err(),
        overlapped(hunk(edited, 0), &[hunk(removed, 0)])
    );
    let created = file.edit("other\n");
    let rejected = vec![Rejected { hunk: hunk(removed, 0), reason: Reason::NameTaken }];
    assert_eq!(file.undo_change(removed).unwrap_err(), rejected);
    file.undo_change(created).unwrap();
    file.undo_change(removed).unwrap();
    file.undo_change(edited).unwrap();
    assert_eq!(file.text(), Some("a\n"));
}

#[test]
fn a_change_without_recorded_content_ends_undo() {
    let mut file = Recorded::start(Some(b"a\nb\n"));
    let first = file.edit("A\nb\n");
    let second = file.edit("A\nB\n");
    file.steps[1].hunks = None;
    let rejected = |change, reason| vec![Rejected { hunk: hunk(change, 0), reason }];
    assert_eq!(
        file.undo_change(first).unwrap_err(),
        rejected(first, Reason::Unknown { change: second })
    );
    let not_recorded =
        plan(&file.steps, file.now(), &[hunk(second, 0)], Dependents::UndoChanges).unwrap_err();
    assert_eq!(not_recorded, rejected(second, Reason::NotRecorded));
    let missing = plan(&file.steps, file.now(), &[hunk(7, 0)], Dependents::Reject).unwrap_err();
    assert_eq!(missing, rejected(7, Reason::NoSuchHunk));
}

#[test]
fn a_change_by_another_program_is_never_undone_with_dependents() {
    let mut file = Recorded::start(Some(b"a\nb\n"));
    let first = file.edit("A\nb\n");
    let second = file.edit("user's\nb\n");
    file.steps[1].is_foreign = true;
    let rejected = file.undo(&[hunk(first, 0)], Dependents::UndoChanges).unwrap_err();
    assert_eq!(rejected, overlapped(hunk(first, 0), &[hunk(second, 0)]));
}

#[test]
fn an_undo_of_pruned_changes_is_followed_by_its_bytes() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let first = file.edit("a\nB\nc\n");
    let second = file.edit("a\nB\nC\n");
    file.undo_change(first).unwrap();
    let steps = &file.steps[1..];
    let undone = plan(steps, file.now(), &[hunk(second, 0)], Dependents::Reject).unwrap();
    assert_eq!(undone.content.as_deref(), Some(&b"a\nb\nc\n"[..]));
}

/// Returns the offset to which later changes carry a range of bytes, or `None` if one overlaps it:
/// the rule without spans, for histories without undo.
fn carried(steps: &[Step], mut start: u64, n_bytes: u64) -> Option<u64> {
    for step in steps {
        let mut shift = 0i64;
        for hunk in step.hunks.as_ref().unwrap().iter() {
            let (is_insertion, end) = (hunk.removed.is_empty(), start + n_bytes);
            let is_before = match n_bytes {
                0 if is_insertion => hunk.offset < start,
                _ => hunk.end() <= start,
            };
            let is_after = match n_bytes {
                0 if is_insertion => hunk.offset > start,
                _ => hunk.offset >= end,
            };
            if is_before {
                shift += hunk.inserted.len() as i64 - hunk.removed.len() as i64;
            } else if !is_after {
                return None;
            }
        }
        start = start.checked_add_signed(shift).unwrap();
    }
    Some(start)
}

/// A random change of lines: where, how many are removed, and what is inserted.
type LineChange = (prop::sample::Index, usize, Vec<u8>);

fn line_changes() -> impl Strategy<Value = Vec<Vec<LineChange>>> {
    let change = (any::<prop::sample::Index>(), 0..3usize, prop::collection::vec(0..6u8, 0..3));
    prop::collection::vec(prop::collection::vec(change, 1..3), 1..9)
}

const ENDINGS: [&str; 4] = ["\n", "\r\n", "\r", "mixed"];

fn encodings() -> [Encoding; 7] {
    let legacy = |bytes: &[u8]| Encoding::detect(bytes).unwrap();
    [
        Encoding::Utf8,
        Encoding::Utf8Bom,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        legacy("Größe für Öl, Äpfel, daß".chars().map(|c| c as u8).collect::<Vec<u8>>().as_slice()),
        Encoding::Utf8,
        Encoding::Utf16Le,
    ]
}

/// Makes random changes of a file, and returns them. Lines repeat, so that differences are ambiguous.
fn random_history(changes: &[Vec<LineChange>], encoding: Encoding, ending: &str) -> Recorded {
    const WORDS: [&str; 6] = ["a", "b", "é", "", "long line", "ä\u{e4}ü"];
    let mut lines: Vec<u8> = vec![0, 1, 2, 4, 1, 0, 5];
    let encode = |lines: &[u8]| {
        let text: String = lines
            .iter()
            .enumerate()
            .map(|(index, line)| {
                let ending = match ending {
                    "mixed" => ["\n", "\r\n"][index % 2],
                    ending => ending,
                };
                format!("{}{ending}", WORDS[*line as usize])
            })
            .collect();
        encoding.encode(&text).unwrap()
    };
    let mut file = Recorded::start(Some(&encode(&lines)));
    for change in changes {
        for (at, n_removed, inserted) in change {
            let start = at.index(lines.len() + 1);
            let end = (start + n_removed).min(lines.len());
            lines.splice(start..end, inserted.iter().copied());
        }
        file.change(Some(&encode(&lines)));
    }
    file
}

fn check(changes: &[Vec<LineChange>], encoding: usize, ending: usize, target: prop::sample::Index) {
    let mut file = random_history(changes, encodings()[encoding], ENDINGS[ending]);
    let step = target.index(file.steps.len());
    let inverted = file.steps[step].hunks.as_ref().unwrap().inverted();
    let before = file.now().unwrap().to_vec();
    let steps = file.steps.clone();
    for (number, inverse) in inverted.iter().enumerate() {
        let id = hunk(step as u64 + 1, number as u32);
        let n_bytes = inverse.removed.len() as u64;
        let expected = carried(&steps[step + 1..], inverse.offset, n_bytes);
        let undone = plan(&steps, Some(&before), &[id], Dependents::Reject);
        match (undone, expected) {
            (Ok(plan), Some(at)) => {
                let mut content = before.clone();
                let at = at as usize;
                content.splice(at..at + inverse.removed.len(), inverse.inserted.iter().copied());
                assert_eq!(plan.content, Some(content), "no byte outside the hunk changes");
            }
            (Err(rejected), None) => {
                let [Rejected { reason: Reason::Overlapped { by }, .. }] = &rejected[..] else {
                    panic!("{rejected:?}");
                };
                assert!(!by.is_empty(), "a rejection names the change");
                assert!(by.iter().all(|by| by.change > step as u64 + 1));
            }
            // What was inserted between the bytes of the hunk was removed again.
            (Ok(plan), None) => {
                let is_hunk = |at: &usize| before[*at..].starts_with(&inverse.removed);
                let is_result = |at: usize| {
                    let mut content = before.clone();
                    let range = at..at + inverse.removed.len();
                    content.splice(range, inverse.inserted.iter().copied());
                    plan.content == Some(content)
                };
                assert!((0..before.len()).filter(is_hunk).any(is_result), "{plan:?}");
                continue;
            }
            (undone, expected) => panic!("{undone:?} {expected:?}"),
        }
        if expected.is_some() {
            let undo = file.undo(&[id], Dependents::Reject).unwrap();
            file.undo_change(undo).unwrap();
            assert_eq!(file.now(), Some(&before[..]), "undoing the undo gives identical bytes");
        }
    }
    // With dependents everything can be undone, and redone.
    for dependents in [Dependents::UndoHunks, Dependents::UndoChanges] {
        let undo = file.undo(&file.steps[step].hunk_ids(), dependents).unwrap();
        file.undo_change(undo).unwrap();
        assert_eq!(file.now(), Some(&before[..]));
    }
    for step in 0..file.steps.len() {
        check_needed(&file, &file.steps[step].hunk_ids());
    }
    // Newest first, all changes can be undone one after another.
    for step in (0..changes.len()).rev() {
        file.undo_change(step as u64 + 1).unwrap();
        assert_eq!(file.now(), file.versions[step].as_deref(), "{step}");
    }
}

/// Checks that the steps before those that an undo needs make no difference.
fn check_needed(file: &Recorded, hunks: &[HunkId]) {
    let Some(first) = hunks.first() else { return };
    let undoes = file.steps.iter().map(|step| (step.id, &*step.undoes));
    let first = first_needed(undoes, first.change);
    let needed = &file.steps[first as usize - 1..];
    for dependents in [Dependents::Reject, Dependents::UndoHunks, Dependents::UndoChanges] {
        let planned = [&file.steps[..], needed].map(|it| plan(it, file.now(), hunks, dependents));
        assert_eq!(planned[0], planned[1], "{hunks:?} from {first}");
    }
}

fn check_cases(n_cases: u32) {
    let strategy =
        (line_changes(), 0..encodings().len(), 0..ENDINGS.len(), any::<prop::sample::Index>());
    let config = Config { cases: n_cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&strategy, |(changes, encoding, ending, target)| {
            check(&changes, encoding, ending, target);
            Ok(())
        })
        .unwrap();
}

#[test]
fn undo_is_exact_and_can_be_undone() {
    check_cases(300);
}

#[test]
#[ignore = "the long form"]
fn undo_is_exact_and_can_be_undone_long() {
    check_cases(10_000);
}

fn part(hunks: &[HunkId], range: Range<usize>, without: &str) -> Part {
    Part { hunks: hunks.to_vec(), range, without: without.into() }
}

#[test]
fn the_net_effect_joins_hunks_that_overlap() {
    let mut file = Recorded::start(Some(b"a\nb\nc\nd\n"));
    let first = file.edit("A\nB\nc\nd\n");
    let second = file.edit("A\nBB\nc\nd\nend\n");
    file.edit("A\nBB\nc\nD\nend\n");
    let own = [hunk(first, 0), hunk(second, 0), hunk(second, 1)];
    let found = net(&file.steps, file.now(), &own);
    let joined = part(&[hunk(second, 0), hunk(first, 0)], 0..5, "a\nb\n");
    assert_eq!(found.parts, [joined, part(&[hunk(second, 1)], 9..13, "")]);
    assert_eq!(found.rejected, []);
    assert!(found.exists_without);
}

#[test]
fn the_net_effect_names_what_cannot_be_undone() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let first = file.edit("A\nb\nC\n");
    let second = file.edit("A\nb\nC2\n");
    let foreign = file.edit("A\nb\nC3\n");
    file.steps.last_mut().unwrap().is_foreign = true;
    let own = [hunk(first, 0), hunk(first, 1), hunk(second, 0)];
    let found = net(&file.steps, file.now(), &own);
    assert_eq!(found.parts, [part(&[hunk(first, 0)], 0..2, "a\n")]);
    let first = overlapped(hunk(first, 1), &[hunk(second, 0)]);
    let second = overlapped(hunk(second, 0), &[hunk(foreign, 0)]);
    assert_eq!(found.rejected, [first, second].concat());
}

#[test]
fn a_hunk_is_undone_redone_and_undone_again() {
    let mut file = Recorded::start(Some(b"a\nb\nc\n"));
    let first = file.edit("a\nB\nc\n");
    let undo = file.undo_change(first).unwrap();
    assert_eq!(undone(&file.steps)[&hunk(first, 0)], hunk(undo, 0));
    let redo = file.undo_change(undo).unwrap();
    assert!(undone(&file.steps).is_empty());
    file.undo_change(redo).unwrap();
    assert_eq!(file.text(), Some("a\nb\nc\n"));
    assert_eq!(undone(&file.steps)[&hunk(first, 0)], hunk(undo, 0));
    file.undo(&[hunk(undo, 0)], Dependents::Reject).unwrap();
    assert_eq!(file.text(), Some("a\nB\nc\n"));
}

#[test]
fn each_part_of_a_net_effect_is_undone_alone() {
    let mut random = 7u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % n
    };
    for _ in 0..400 {
        let mut lines: Vec<String> = (0..12).map(|n| format!("{n}\n")).collect();
        let mut file = Recorded::start(Some(lines.concat().as_bytes()));
        for n in 0..6 {
            for _ in 0..1 + below(3) {
                let start = below(lines.len() + 1);
                let end = lines.len().min(start + below(3));
                let new = (0..below(3)).map(|k| format!("new {n} {k} {}\n", below(9)));
                let new: Vec<String> = new.collect();
                lines.splice(start..end, new);
            }
            file.edit(&lines.concat());
        }
        let is_own = |step: &&Step| step.id % 2 == 1;
        let own: Vec<HunkId> = file.steps.iter().filter(is_own).flat_map(Step::hunk_ids).collect();
        let found = net(&file.steps, file.now(), &own);
        let wanted: Vec<HunkId> =
            found.parts.iter().flat_map(|part| part.hunks.iter().copied()).collect();
        assert_eq!(wanted.len() + found.rejected.len(), own.len());
        let now = file.now().unwrap();
        let mut all = now.to_vec();
        for part in found.parts.iter().rev() {
            all.splice(part.range.clone(), part.without.clone());
            let mut alone = now.to_vec();
            alone.splice(part.range.clone(), part.without.clone());
            let planned = plan(&file.steps, Some(now), &part.hunks, Dependents::Reject).unwrap();
            assert_eq!(planned.content.unwrap(), alone);
        }
        let planned = plan(&file.steps, Some(now), &wanted, Dependents::Reject).unwrap();
        assert_eq!(planned.content.unwrap(), all);
    }
}
