//! Names that differ only in spelling but lead to the same file: on file systems that ignore case,
//! and where names have short forms. `--deny` must hide a file under each of them.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use recto_platform::{Handle, NameCase, SysError, SysResult};
use unicode_normalization::UnicodeNormalization;

/// How a directory compares names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Byte by byte.
    Exact,
    /// In a way that ignores case and perhaps more, or that cannot be determined.
    Loose,
}

impl Comparison {
    /// Returns how a directory compares a name, which need not exist.
    pub fn of(dir: &Handle, name: &OsStr) -> Comparison {
        match recto_platform::name_case(dir) {
            NameCase::Exact => Comparison::Exact,
            NameCase::Ignored => Comparison::Loose,
            // The same file under a name in the other case shows it.
            case @ (NameCase::UsuallyExact | NameCase::Unknown) => {
                let Some(flipped) = flipped(name) else {
                    return match case {
                        NameCase::UsuallyExact => Comparison::Exact,
                        _ => Comparison::Loose,
                    };
                };
                let [found, other] =
                    [name, &flipped].map(|name| recto_platform::status_at(dir, name));
                match (found, other) {
                    (Ok(found), Ok(other)) if found.id() == other.id() => Comparison::Loose,
                    (Ok(_), Ok(_) | Err(SysError::NOENT)) => Comparison::Exact,
                    (Err(SysError::NOENT), _) if case == NameCase::UsuallyExact => {
                        Comparison::Exact
                    }
                    _ => Comparison::Loose,
                }
            }
        }
    }
}

/// Returns a name with upper and lower case exchanged, or `None` if it has no ASCII letter.
fn flipped(name: &OsStr) -> Option<OsString> {
    let flip = |c: char| match c.is_ascii_uppercase() {
        true => c.to_ascii_lowercase(),
        false => c.to_ascii_uppercase(),
    };
    let name = name.to_str()?;
    let flipped: String = name.chars().map(flip).collect();
    (flipped != name).then(|| flipped.into())
}

/// Returns the name under which a directory lists a file, or the given name if the file does not
/// exist or the directory cannot be listed. Returns `None` if the directory lists no name that can be
/// the file's.
pub fn stored_name(dir: &Handle, name: &OsStr) -> Option<OsString> {
    let listed = || {
        let status = recto_platform::status_at(dir, name)?;
        let entries = recto_platform::open_directory_at(dir, ".");
        Ok((status.inode, entries.and_then(recto_platform::entries_with_inodes)?))
    };
    let listed: SysResult<_> = listed();
    let Ok((inode, entries)) = listed else { return Some(name.to_os_string()) };
    let wanted = folded(name);
    let mut found = None;
    for (entry, entry_inode) in entries.flatten() {
        if entry == name {
            return Some(entry);
        }
        if entry_inode == inode || folded(&entry) == wanted {
            found = Some(entry);
        }
    }
    found
}

/// Returns a path in a form that is equal for all spellings that a file system may treat as equal:
/// without case, without ignorable characters, decomposed.
pub fn folded_path(path: &Path) -> PathBuf {
    folded(path.as_os_str()).into()
}

fn folded(name: &OsStr) -> OsString {
    folded_text(&name.to_string_lossy()).into()
}

/// Returns the same form of a text or of a glob.
pub fn folded_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let visible = text.nfd().filter(|c| !is_ignorable(*c));
    // Upper case first, because some lower case letters share one: `ß` and `ſ`, `ς` and `σ`.
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.nfd().collect()
}

/// Whether Unicode lets comparisons ignore a character.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether some file system treats a name as `.git`, as git checks it: in any case, with
/// ignorable characters, or as a short name.
pub fn is_dot_git(name: &OsStr) -> bool {
    let name: Cow<'_, str> = name.to_string_lossy();
    let folded = folded_text(&name);
    let trimmed = folded.trim_end_matches(['.', ' ']);
    let short = trimmed.strip_prefix("git~");
    trimmed == ".git"
        || short.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn spellings_that_a_file_system_may_treat_as_equal_fold_to_one() {
        for (one, other) in [
            ("SECRET.Pem", "secret.pem"),
            ("ÉTÉ", "e\u{301}te\u{301}"),
            ("straße", "STRASSE"),
            ("ſecret", "Secret"),
            ("\u{212a}ey", "key"),
            ("ΣΑΣ", "σας"),
            ("sec\u{200d}ret\u{ad}\u{fe0f}", "secret"),
            ("İ", "i\u{307}"),
        ] {
            assert_eq!(folded_text(one), folded_text(other), "{one} {other}");
        }
        assert_ne!(folded_text("secret1"), folded_text("secret2"));
        assert_eq!(folded_text("**/[A-Z]{ONE,two}?"), "**/[a-z]{one,two}?");
    }

    #[test]
    fn git_directories_are_recognized_under_each_name() {
        for name in [".git", ".GIT", ".gIt", ".g\u{200c}it", "git~1", "GIT~12", ".git. ."] {
            assert!(is_dot_git(OsStr::new(name)), "{name}");
        }
        for name in ["git", ".gitignore", ".git1", "git~", "git~x", ".github"] {
            assert!(!is_dot_git(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_directory_of_an_ordinary_file_system_compares_exactly() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("secret.pem"), "").unwrap();
        let handle = recto_platform::open_path(dir.path()).unwrap();
        for name in ["secret.pem", "SECRET.PEM", "1.2", "new"] {
            assert_eq!(Comparison::of(&handle, OsStr::new(name)), Comparison::Exact, "{name}");
        }
        for name in ["secret.pem", "missing"] {
            assert_eq!(stored_name(&handle, OsStr::new(name)).unwrap(), name);
        }
    }
}
