//! Phrases that read as translated, in comments, strings and Markdown, with the wording to use
//! instead. The glossary in CONTRIBUTING.md has more.

use std::path::{Path, PathBuf};

use regex::Regex;

/// A pattern without regard to case, what to write instead, and ordinary uses that pass.
const PHRASES: &[(&str, &str, &[&str])] = &[
    (
        r"\b(stands|stood)\b",
        "occurs, is, exists, matches",
        &["stands for", "stands out", "stood out", "stands between"],
    ),
    (r"\bmust stand\b", "must occur, must match", &[]),
    (
        r"\b(there )?(is|are) no (file|text|folder|directory|table|link|pipe|root|secret|proof|name|tree|words?|UTF-8)s?\b",
        "is not a …",
        &["there is", "there are"],
    ),
    (r"\bwhat is no\b", "name it: bytes that are not …", &[]),
    (
        r"\b(cannot|can|could) be told\b",
        "is unknown, cannot be determined",
        &["can be told apart", "cannot be told apart"],
    ),
    (r"\bwhoever\b", "the caller, the user, another process", &[]),
    (r"\bthose who\b", "writers that …, callers that …", &[]),
    (r"\bsomebody( else)?\b", "another process, a concurrent writer, the user", &[]),
    (r"\b(takes?|taken|took) back\b", "cancel, undo", &[]),
    (r"\bmend(s|ed|ing)?\b", "fix", &[]),
    (r"\brooms\b|\b(this|no|every|which) room\b", "module", &[]),
    (r"\b(the|second|its|no|own) walls?\b|\bwalls\b", "sandbox, Landlock, path checks", &[]),
    (r"\bcompany\b", "recent writers, concurrent writers", &[]),
    (r"\bbeneath\b", "below, inside", &[]),
    (r"\bmistakes? of (ours|recto)\b", "a bug in recto", &[]),
    (r"\bas far as (it|they|that|we|the system|can)\b", "state the condition", &[]),
    (r"\bhas no leave\b", "is not permitted", &[]),
    (r"\bcontext can bear\b", "output is bounded", &[]),
    (r"(^|[^`\w])remarks?\b", "notes", &[]),
    (r"\ba person('s)?\b|\bthe person\b|\bpersons?'s\b", "the user", &[]),
];

/// Files whose text is data, or quotes what the phrases are.
const EXEMPT: &[&str] = &[
    "crates/recto/tests/suite/plain_english.rs",
    "crates/recto-tables/src/csv/header/tests.rs",
    "crates/recto-tables/tests/messy",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "LICENSE",
    "dev/e2e/node_modules",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lists the files that people read, as git knows them.
fn files() -> Vec<String> {
    let listed = std::process::Command::new("git").arg("ls-files").current_dir(top()).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let is_text = |path: &&str| {
        let ending = path.rsplit('.').next().unwrap_or_default();
        ["rs", "md", "toml", "py", "sh", "mjs"].contains(&ending)
            && !EXEMPT.iter().any(|exempt| path.starts_with(exempt))
    };
    listed.lines().filter(is_text).map(String::from).collect()
}

/// Joins wrapped comments and strings, so that a phrase is found across lines.
fn unwrapped(text: &str) -> String {
    let wrap = Regex::new(r"\\?\n[ \t]*(//[/!]?|#)?[ \t]*").unwrap();
    wrap.replace_all(text, " ").into_owned()
}

/// The phrases in a text, each with the wording to use instead.
fn findings(text: &str) -> Vec<String> {
    let text = unwrapped(text);
    let mut findings = Vec::new();
    for (pattern, instead, allowed) in PHRASES {
        let regex = Regex::new(&format!("(?i){pattern}")).unwrap();
        for found in regex.find_iter(&text) {
            let from_here = text[found.start()..].to_lowercase();
            if !allowed.iter().any(|use_| from_here.starts_with(use_)) {
                let start = text.floor_char_boundary(found.start().saturating_sub(30));
                let end = text.floor_char_boundary(found.end() + 30);
                findings.push(format!("…{}…\n    write: {instead}", &text[start..end]));
            }
        }
    }
    findings
}

#[test]
fn the_prose_avoids_phrases_that_read_as_translated() {
    let mut report = String::new();
    let mut n_findings = 0;
    for path in files() {
        let text = std::fs::read_to_string(top().join(&path)).unwrap();
        for finding in findings(&text) {
            n_findings += 1;
            report.push_str(&format!("{path}: {finding}\n"));
        }
    }
    assert!(n_findings == 0, "{n_findings} findings\n{report}");
}

#[test]
fn a_phrase_is_found_across_lines_and_ordinary_uses_pass() {
    assert_eq!(findings("/// Whether it is\n    /// no file.").len(), 1);
    assert_eq!(findings("\"must stand \\\n   there\"").len(), 1);
    assert!(findings("`%` stands for any text; two errors can be told apart").is_empty());
}
