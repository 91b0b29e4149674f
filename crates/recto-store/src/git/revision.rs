//! Parses revisions in git's syntax that name one commit, tag or tree.
//!
//! Syntax that names the index or selects several commits is rejected with an explanation. [`super::resolve`] resolves names.

use regex::bytes::{Regex, RegexBuilder};

use crate::error::{Error, Result};

use crate::limits;

/// The longest revision, in bytes.
const MAX_LENGTH: usize = limits::REVISION;

/// A parsed revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The revision as the caller wrote it, for messages.
    pub given: String,
    /// Where it starts.
    pub base: Base,
    /// The steps from there, in order.
    pub steps: Vec<RevisionStep>,
}

/// Where a revision starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A branch, tag, remote branch or id, full or abbreviated: `main`, `v1.0`, `1a2b3c4`.
    Name(String),
    /// An earlier value of a branch, by its reflog: `main@{1}`; `@{1}` for the current branch.
    Earlier {
        /// The name.
        name: Option<String>,
        /// How many changes ago.
        n_changes: usize,
    },
    /// A branch or commit that was checked out before: `@{-1}`.
    CheckedOut {
        /// How many checkouts ago.
        n_checkouts: usize,
    },
    /// The newest commit of any branch or tag whose message matches a pattern: `:/fix`.
    Message(MessagePattern),
    /// The upstream of a branch: `main@{upstream}`, `@{u}`.
    Upstream {
        /// The branch; the current one if `None`.
        name: Option<String>,
    },
}

/// One step from an object to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionStep {
    /// `^2`; `^0` is the commit itself.
    Parent(usize),
    /// `~3`.
    Ancestor(u64),
    /// `^{commit}`.
    Peel(Peel),
    /// The newest ancestor whose message matches a pattern: `^{/fix}`.
    Message(MessagePattern),
}

/// A pattern for commit messages.
#[derive(Debug, Clone)]
pub struct MessagePattern {
    /// The pattern.
    pub regex: Regex,
    /// Whether messages match that do not contain it.
    pub is_negated: bool,
}

impl PartialEq for MessagePattern {
    fn eq(&self, other: &MessagePattern) -> bool {
        (self.regex.as_str(), self.is_negated) == (other.regex.as_str(), other.is_negated)
    }
}

impl Eq for MessagePattern {}

impl MessagePattern {
    /// Parses the text after the slash: `!-` negates, `!!` is a literal `!`.
    fn parse(text: &str) -> Result<MessagePattern, &'static str> {
        let (text, is_negated) = match (text.strip_prefix("!-"), text.strip_prefix("!!")) {
            (Some(text), _) => (text.to_string(), true),
            (_, Some(text)) => (format!("!{text}"), false),
            _ if text.starts_with('!') => return Err("After /, use !- to negate or !! for a !."),
            _ => (text.to_string(), false),
        };
        if text.is_empty() {
            return Err("It has no text after the slash.");
        }
        let regex = RegexBuilder::new(&text).dot_matches_new_line(true).size_limit(1 << 20).build();
        let regex = regex.map_err(|_| "The text after the slash is not a valid pattern.")?;
        Ok(MessagePattern { regex, is_negated })
    }

    /// Whether a message matches.
    pub fn matches(&self, message: &[u8]) -> bool {
        self.regex.is_match(message) != self.is_negated
    }
}

/// The type of object to dereference to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peel {
    /// Any object that is not a tag: `^{}`.
    Any,
    /// `^{object}`.
    Object,
    /// `^{commit}`.
    Commit,
    /// `^{tree}`.
    Tree,
    /// `^{tag}`.
    Tag,
}

impl Revision {
    /// Parses a revision. Rejects syntax that does not name one commit, tag or tree.
    pub fn parse(given: &str) -> Result<Revision> {
        parse(given).map_err(|cause| Error::UnknownRevision {
            revision: given.replace('\0', "␀"),
            cause: cause.into(),
        })
    }

    /// Returns the error for a revision that the repository does not have.
    pub fn unknown(&self, cause: impl Into<String>) -> Error {
        Error::UnknownRevision { revision: self.given.clone(), cause: cause.into() }
    }
}

fn parse(given: &str) -> Result<Revision, &'static str> {
    if given.is_empty() {
        return Err("It is empty; use HEAD for the current commit.");
    }
    if given.len() > MAX_LENGTH {
        return Err("It is longer than 1024 bytes.");
    }
    if given.chars().any(char::is_control) {
        return Err("It contains a control character.");
    }
    if given.starts_with('-') {
        return Err("A revision cannot start with a dash; options are not supported.");
    }
    if let Some(text) = given.strip_prefix(":/") {
        let base = Base::Message(MessagePattern::parse(text)?);
        return Ok(Revision { given: given.into(), base, steps: Vec::new() });
    }
    let names = &given[..given.find("^{/").unwrap_or(given.len())];
    if names.contains(':') {
        return Err("Pass only the revision here; the path has its own parameter.");
    }
    if names.contains("..") || given.starts_with('^') {
        return Err("It names several commits; name one.");
    }
    let base_end = given.find(['^', '~']).unwrap_or(given.len());
    let (base, steps) = given.split_at(base_end);
    Ok(Revision { given: given.into(), base: parse_base(base)?, steps: parse_steps(steps)? })
}

fn parse_base(text: &str) -> Result<Base, &'static str> {
    let Some((name, rest)) = text.split_once("@{") else {
        return match text {
            "" => Err("It has no starting commit; use HEAD for the current commit."),
            "@" => Ok(Base::Name("HEAD".into())),
            name => Ok(Base::Name(name.into())),
        };
    };
    let what = rest.strip_suffix('}').ok_or("A brace is not closed.")?;
    let name = match name {
        "" => None,
        "@" => Some("HEAD".into()),
        name => Some(name.into()),
    };
    if let Ok(n_changes) = what.parse() {
        return Ok(Base::Earlier { name, n_changes });
    }
    if let Some(n_checkouts) = what.strip_prefix('-').and_then(|n| n.parse().ok()) {
        return match (name, n_checkouts) {
            (None, 1..) => Ok(Base::CheckedOut { n_checkouts }),
            _ => Err("Use @{-1} without a name for the previous checkout."),
        };
    }
    match what.to_ascii_lowercase().as_str() {
        "u" | "upstream" => Ok(Base::Upstream { name }),
        "push" => Err("@{push} is not supported; name the remote branch."),
        _ => Err("Dates are not supported; use @{1} for the previous value of the branch."),
    }
}

fn parse_steps(mut rest: &str) -> Result<Vec<RevisionStep>, &'static str> {
    let mut steps = Vec::new();
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        if sign == '^' && rest.starts_with('{') {
            let (what, after) = rest[1..].split_once('}').ok_or("A brace is not closed.")?;
            if let Some(text) = what.strip_prefix('/') {
                steps.push(RevisionStep::Message(MessagePattern::parse(text)?));
                rest = after;
                continue;
            }
            steps.push(RevisionStep::Peel(match what {
                "" => Peel::Any,
                "object" => Peel::Object,
                "commit" => Peel::Commit,
                "tree" => Peel::Tree,
                "tag" => Peel::Tag,
                _ => return Err("Use ^{commit}, ^{tree}, ^{tag} or ^{}."),
            }));
            rest = after;
            continue;
        }
        let n_digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(n_digits);
        let number: u32 = match digits {
            "" => 1,
            digits => digits.parse().map_err(|_| "It contains a number that is too large.")?,
        };
        steps.push(match sign {
            '^' if digits.is_empty() && after.starts_with(['@', '!', '-']) => {
                return Err("It names several commits; name one.");
            }
            '^' => RevisionStep::Parent(number as usize),
            '~' => RevisionStep::Ancestor(number.into()),
            _ => return Err("Only suffixes such as ~3, ^2 and ^{tree} may follow the name."),
        });
        rest = after;
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Base {
        Base::Name(text.into())
    }

    fn pattern(text: &str) -> MessagePattern {
        MessagePattern::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn parses_git_syntax() {
        let (commit, tree) = (RevisionStep::Peel(Peel::Commit), RevisionStep::Peel(Peel::Tree));
        for (given, base, steps) in [
            ("HEAD", name("HEAD"), vec![]),
            ("@", name("HEAD"), vec![]),
            ("feature/a@b", name("feature/a@b"), vec![]),
            ("HEAD~3", name("HEAD"), vec![RevisionStep::Ancestor(3)]),
            (
                "main~^2~0",
                name("main"),
                vec![RevisionStep::Ancestor(1), RevisionStep::Parent(2), RevisionStep::Ancestor(0)],
            ),
            ("v1^{}^0", name("v1"), vec![RevisionStep::Peel(Peel::Any), RevisionStep::Parent(0)]),
            ("v1^{commit}^{tree}", name("v1"), vec![commit, tree]),
            ("@{2}", Base::Earlier { name: None, n_changes: 2 }, vec![]),
            ("@{-1}~", Base::CheckedOut { n_checkouts: 1 }, vec![RevisionStep::Ancestor(1)]),
            ("@{U}", Base::Upstream { name: None }, vec![]),
            (":/fix: a..b", Base::Message(pattern("fix: a..b")), vec![]),
            ("v1^{/a:b}~", name("v1"), {
                vec![RevisionStep::Message(pattern("a:b")), RevisionStep::Ancestor(1)]
            }),
        ] {
            let revision = Revision::parse(given).unwrap_or_else(|_| panic!("{given}"));
            assert_eq!((revision.base, revision.steps), (base, steps), "{given}");
        }
    }

    #[test]
    fn rejects_syntax_that_does_not_name_one_commit() {
        for given in [
            "",
            "-n",
            "a\0b",
            "a\nb",
            "~1",
            "^a",
            "a..b",
            "a...b",
            ":/",
            ":/!fix",
            ":/(",
            ":a",
            "HEAD:a",
            ":0:a",
            "HEAD^{/}",
            "HEAD^{/a",
            "a..b^{/c}",
            "HEAD^{blob}",
            "HEAD^{",
            "HEAD@{",
            "HEAD@{1",
            "HEAD@{yesterday}",
            "main@{-1}",
            "@{-0}",
            "@{push}",
            "HEAD^@",
            "HEAD^!",
            "HEAD^-",
            "HEAD~x",
            "HEAD^{tree}x",
            "HEAD~99999999999999999999",
            "HEAD@{1}x",
            "HEAD@{1}@{2}",
        ] {
            assert!(Revision::parse(given).is_err(), "{given}");
        }
        assert!(Revision::parse(&"a".repeat(10_000)).is_err());
    }
}
