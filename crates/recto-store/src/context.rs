//! The context of a call that stores need: cancellation, the client's sandbox, notes, memory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use globset::GlobSet;

use crate::limits;
use crate::memory_budget::CallMemory;
use crate::notes::Notes;
use crate::record::Origin;

/// The context of one call.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Set when the caller cancels.
    pub cancel: Cancel,
    /// Restrictions that the client adds to recto's roots.
    pub sandbox: Sandbox,
    /// Notes for the answer.
    pub notes: Notes,
    /// Who asked for it, for the journal.
    pub origin: Arc<Origin>,
    /// When the walks of the call stop. Each stops after [`limits::WALK_TIME`] in any case.
    pub walk_deadline: Option<Instant>,
    /// The memory of the call.
    pub memory: CallMemory,
    /// Notified when the call waits.
    pub waits: Option<Arc<dyn Waits>>,
}

/// Learns when a call waits for another one, so that a third one can run meanwhile.
pub trait Waits: fmt::Debug + Send + Sync {
    /// The call starts to wait.
    fn started(&self);

    /// The call continues.
    fn ended(&self);
}

/// A call that waits for another one until this is dropped.
pub struct Waiting<'a>(Option<&'a dyn Waits>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(waits) = self.0 {
            waits.ended();
        }
    }
}

impl Context {
    /// Reports that the call waits for another one, until the returned value is dropped.
    pub fn waiting(&self) -> Waiting<'_> {
        let waits = self.waits.as_deref();
        if let Some(waits) = waits {
            waits.started();
        }
        Waiting(waits)
    }

    /// Returns the context for a call that makes several walks, which together take no longer than
    /// one.
    pub fn with_walk_deadline(&self) -> Context {
        let deadline = self.walk_deadline.unwrap_or_else(|| Instant::now() + limits::WALK_TIME);
        Context { walk_deadline: Some(deadline), ..self.clone() }
    }
}

/// A flag that cancels a running call.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels the call.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Fails if the call was cancelled. Long operations check every few milliseconds, but never
    /// between the commit of a write and its answer.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.0.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}

/// The call was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// The access that a client's sandbox permits for a path. If two rules are equally specific, the
/// variant declared later wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
    /// No access.
    None,
}

/// A client's sandbox: the most specific rule decides; without a rule, access is denied.
#[derive(Debug, Clone, Default)]
pub enum Sandbox {
    /// The client has no restrictions.
    #[default]
    Unlimited,
    /// Only access that the rules permit.
    Limited(Vec<SandboxRule>),
}

/// One rule of a client's sandbox.
#[derive(Debug, Clone)]
pub struct SandboxRule {
    /// The paths that it applies to.
    pub path: RulePath,
    /// The access to them.
    pub access: Access,
}

/// The paths that a rule applies to.
#[derive(Debug, Clone)]
pub enum RulePath {
    /// A file, or a directory and everything below it.
    Subtree(PathBuf),
    /// Every path that matches. More specific than any subtree.
    Matching(GlobSet),
}

impl Sandbox {
    /// Returns the access to a file by its real path. `real` resolves links in the paths of rules.
    pub fn access(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Access {
        let Sandbox::Limited(rules) = self else { return Access::Write };
        most_specific(rules, path, real).unwrap_or(Access::None)
    }

    /// Whether a rule explicitly denies a path, so that not even its existence may be revealed.
    pub fn closes(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> bool {
        let Sandbox::Limited(rules) = self else { return false };
        most_specific(rules, path, real) == Some(Access::None)
    }

    /// Returns the sandbox with the links in its rules resolved, so that many checks are fast.
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

/// Returns the access of the most specific rule for a path.
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
