//! What an operation on files needs to know about the call it serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use globset::GlobSet;

use crate::notes::Notes;

/// The part of a call that concerns files.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Set when the caller cancels.
    pub cancel: Cancel,
    /// What the client forbids, beyond our own roots.
    pub sandbox: Sandbox,
    /// What the answer should mention.
    pub notes: Notes,
}

/// A flag that the client can raise while a call runs.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Takes the call back.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Ends a cancelled call. Long work asks every few milliseconds, and never between the
    /// commit of a write and its answer.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.0.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}

/// The call was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// What a client's sandbox lets a call do with a path. Where two rules are equally specific, the
/// later of these beats the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
    /// Nothing.
    None,
}

/// A client's sandbox: the most specific rule decides, and what no rule names is closed.
#[derive(Debug, Clone, Default)]
pub enum Sandbox {
    /// The client sets no limits.
    #[default]
    Unlimited,
    /// Only what the rules allow.
    Limited(Vec<SandboxRule>),
}

/// One rule of a client's sandbox.
#[derive(Debug, Clone)]
pub struct SandboxRule {
    /// Where it holds.
    pub path: RulePath,
    /// What is allowed there.
    pub access: Access,
}

/// Where a rule holds.
#[derive(Debug, Clone)]
pub enum RulePath {
    /// A folder or file and everything beneath it.
    Subtree(PathBuf),
    /// Every path that matches. More specific than any folder.
    Matching(GlobSet),
}

impl Sandbox {
    /// What may be done with the file whose real path is `path`. `real` resolves the links in an
    /// rule's own path, which a client writes as it likes.
    pub fn access(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Access {
        let Sandbox::Limited(rules) = self else { return Access::Write };
        most_specific(rules, path, real).unwrap_or(Access::None)
    }

    /// Whether a rule closes a path by name, so that not even what stands there may be learned.
    pub fn closes(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> bool {
        let Sandbox::Limited(rules) = self else { return false };
        most_specific(rules, path, real) == Some(Access::None)
    }

    /// The same sandbox with the links in its own paths resolved, for many questions.
    pub fn resolved(&self, real: impl Fn(&Path) -> Option<PathBuf>) -> Sandbox {
        let Sandbox::Limited(rules) = self else { return Sandbox::Unlimited };
        let resolve = |rule: &SandboxRule| match &rule.path {
            RulePath::Subtree(folder) => {
                let folder = real(folder).unwrap_or_else(|| folder.clone());
                SandboxRule { path: RulePath::Subtree(folder), access: rule.access }
            }
            RulePath::Matching(_) => rule.clone(),
        };
        Sandbox::Limited(rules.iter().map(resolve).collect())
    }
}

/// What the most specific of the rules for a path says.
fn most_specific(
    rules: &[SandboxRule],
    path: &Path,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Option<Access> {
    let matching =
        rules.iter().filter_map(|rule| Some((rule.specificity(path, &real)?, rule.access)));
    matching.max().map(|(_, access)| access)
}

impl SandboxRule {
    fn specificity(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Option<usize> {
        match &self.path {
            RulePath::Subtree(folder) => {
                let real = real(folder).unwrap_or_else(|| folder.clone());
                path.starts_with(&real).then(|| real.components().count())
            }
            RulePath::Matching(glob) => glob.is_match(path).then_some(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(folder: &str, access: Access) -> SandboxRule {
        SandboxRule { path: RulePath::Subtree(folder.into()), access }
    }

    #[test]
    fn the_most_specific_rule_decides() {
        let sandbox = Sandbox::Limited(vec![
            rule("/", Access::Read),
            rule("/project", Access::Write),
            rule("/project/.git", Access::Read),
            rule("/secret", Access::None),
            rule("/secret", Access::Write),
        ]);
        for (path, access) in [
            ("/etc/hosts", Access::Read),
            ("/project/a", Access::Write),
            ("/projects/a", Access::Read),
            ("/project/.git/config", Access::Read),
            ("/secret/a", Access::None),
        ] {
            assert_eq!(sandbox.access(Path::new(path), |_| None), access, "{path}");
        }
        assert_eq!(Sandbox::Limited(vec![]).access(Path::new("/a"), |_| None), Access::None);
        assert_eq!(Sandbox::Unlimited.access(Path::new("/a"), |_| None), Access::Write);
    }
}
