//! Checks revisions, ignore rules and globs.
//!
//! An input is a letter (`r`evision, `i`gnored, `g`lob, `l`ike), a pattern, and a path. Results are
//! compared with a naive implementation where there is one.

mod globs;
mod ignored;

use recto::fuzzing::{Base, MessagePattern, Peel, Revision, RevisionStep, RuleSet};
use recto_store::glob::Glob;

use crate::fields::Fields;

/// The longest pattern or path that is compared, and the most wildcards in it: the naive matcher
/// can take very long.
const MAX_COMPARED: usize = 24;
const MAX_WILDCARDS: usize = 5;

fn is_short(pattern: &[u8]) -> bool {
    let n_wildcards = pattern.iter().filter(|byte| b"*%{,".contains(byte)).count();
    pattern.len() <= MAX_COMPARED && n_wildcards <= MAX_WILDCARDS
}

/// Checks one input.
pub fn check(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    let mut fields = Fields::new(rest);
    match kind {
        b'r' => check_revision(&fields.text()),
        b'i' => check_ignored(fields.bytes(), fields.bytes()),
        b'g' => check_glob(&fields.text(), &fields.text()),
        b'l' => check_like(&fields.text(), &fields.text()),
        _ => {}
    }
}

fn check_revision(given: &str) {
    let revision = match Revision::parse(given) {
        Ok(revision) => revision,
        Err(error) => return assert!(error.to_string().len() < 4096),
    };
    assert!(!given.starts_with('-') && given.len() <= 1024);
    assert!(!given.chars().any(char::is_control));
    let has_message = matches!(revision.base, Base::Message(_))
        || revision.steps.iter().any(|step| matches!(step, RevisionStep::Message(_)));
    assert!(has_message || (!given.contains("..") && !given.contains(':')));
    // Written in full, it means the same.
    let mut spelled = match &revision.base {
        Base::Name(name) => name.clone(),
        Base::Earlier { name, n_changes } => {
            format!("{}@{{{n_changes}}}", name.as_deref().unwrap_or_default())
        }
        Base::CheckedOut { n_checkouts } => format!("@{{-{n_checkouts}}}"),
        Base::Upstream { name } => format!("{}@{{u}}", name.as_deref().unwrap_or_default()),
        Base::Message(pattern) => format!(":/{}", spell(pattern)),
    };
    for step in &revision.steps {
        spelled.push_str(&match step {
            RevisionStep::Parent(number) => format!("^{number}"),
            RevisionStep::Ancestor(number) => format!("~{number}"),
            RevisionStep::Peel(Peel::Any) => "^{}".into(),
            RevisionStep::Peel(Peel::Object) => "^{object}".into(),
            RevisionStep::Peel(Peel::Commit) => "^{commit}".into(),
            RevisionStep::Peel(Peel::Tree) => "^{tree}".into(),
            RevisionStep::Peel(Peel::Tag) => "^{tag}".into(),
            RevisionStep::Message(pattern) => format!("^{{/{}}}", spell(pattern)),
        });
    }
    if spelled.len() <= 1024 {
        let again = Revision::parse(&spelled).expect("what is said in full is understood");
        assert_eq!((again.base, again.steps), (revision.base, revision.steps), "{spelled}");
    }
}

/// Returns the text after the slash.
fn spell(pattern: &MessagePattern) -> String {
    let text = pattern.regex.as_str();
    match pattern.is_negated {
        true => format!("!-{text}"),
        false if text.starts_with('!') => format!("!{text}"),
        false => text.into(),
    }
}

fn check_ignored(rules: &[u8], path: &[u8]) {
    let set = RuleSet::parse(rules);
    for is_folder in [false, true] {
        let decided = set.decide(path, is_folder);
        assert!(decided.is_none() || !set.is_empty());
        let is_path = !path.is_empty() && path.split(|byte| *byte == b'/').all(|it| !it.is_empty());
        let are_short = rules.split(|byte| *byte == b'\n').all(is_short);
        if is_path && path.len() <= MAX_COMPARED && are_short {
            let expected = ignored::decide(rules, path, is_folder);
            let shown = (String::from_utf8_lossy(rules), String::from_utf8_lossy(path));
            assert_eq!(decided, expected, "{shown:?} {is_folder}");
        }
    }
}

fn check_glob(pattern: &str, path: &str) {
    let (folder, glob) = match Glob::parse(pattern) {
        Ok(parsed) => parsed,
        Err(error) => return assert!(error.to_string().len() < 8 << 10),
    };
    let shown = glob.matches_path(path);
    let with_hidden = glob.clone().showing_hidden().matches_path(path);
    assert!(with_hidden || !shown, "{pattern:?} {path:?}");
    let is_plain = |path: &str| !path.split('/').any(|part| matches!(part, "" | "." | ".."));
    if !is_short(pattern.as_bytes()) || path.len() > MAX_COMPARED || !is_plain(path) {
        return;
    }
    let whole = match folder.as_str() {
        "" => path.to_string(),
        // Literal prefixes with escapes are resolved by the store.
        folder if !is_plain(folder) || pattern.contains('\\') => return,
        folder => format!("{folder}/{path}"),
    };
    assert_eq!(shown, globs::matches(pattern, &whole, false), "{pattern:?} {path:?}");
    assert_eq!(with_hidden, globs::matches(pattern, &whole, true), "{pattern:?} {path:?}");
}

fn check_like(pattern: &str, path: &str) {
    let Ok(glob) = Glob::like(pattern) else { return };
    let matches = glob.matches_path(path);
    if is_short(pattern.as_bytes()) && path.len() <= MAX_COMPARED {
        let pattern: Vec<char> = pattern.chars().collect();
        let text: Vec<char> = path.chars().collect();
        assert_eq!(matches, globs::is_like(&pattern, &text), "{pattern:?} {path:?}");
    }
}
