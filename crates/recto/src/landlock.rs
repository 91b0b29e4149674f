//! Landlock: the kernel restricts this process to the roots. It is a second layer, in case the path
//! resolution in `recto_store::local::roots` has a bug.
//!
//! The restriction applies to the calling thread and to threads it starts later, so it is applied
//! before any other thread runs. Child processes inherit it, so commands that start other programs
//! do not apply it.

use std::fmt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest access rights that are restricted. Newer ones are added once they have been tested on
/// a kernel that supports them.
const FILES: ABI = ABI::V5;
const NETWORK: ABI = ABI::V4;
const SCOPES: ABI = ABI::V6;

/// Whether to use Landlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LandlockMode {
    /// Restrict as much as this kernel supports.
    #[default]
    BestEffort,
    /// Fail unless everything is restricted.
    Required,
    /// Do not use it.
    Off,
}

/// How much Landlock restricts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// All requested rules are enforced.
    Full {
        /// The kernel's Landlock version.
        abi: i32,
    },
    /// Some rules are enforced: the kernel does not support all, or a rule could not be added.
    Partial {
        /// The kernel's Landlock version.
        abi: i32,
    },
    /// The kernel was built without Landlock, or a seccomp filter hides it.
    Missing,
    /// Landlock was not enabled at boot.
    Disabled,
    /// The kernel rejected the rules, as after sixteen nested rulesets or because of a filter.
    Refused,
    /// Landlock was disabled by an option.
    Off,
}

impl Enforcement {
    /// Whether all rules are enforced.
    pub fn is_full(self) -> bool {
        matches!(self, Enforcement::Full { .. })
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Enforcement::Full { abi } => write!(f, "fully enforced (ABI {abi})"),
            // The kernel supports all requested rules.
            Enforcement::Partial { abi: abi @ 6.. } => {
                write!(f, "partially enforced (ABI {abi}; not every rule could be added)")
            }
            Enforcement::Partial { abi } => {
                let lacks = match abi {
                    ..=2 => "truncation, the network, devices and signals",
                    3 => "the network, devices and signals",
                    4 => "devices and signals",
                    _ => "signals",
                };
                write!(f, "partially enforced (ABI {abi} has no rules for {lacks})")
            }
            Enforcement::Missing => {
                f.write_str("not available (not supported by this kernel or container)")
            }
            Enforcement::Disabled => f.write_str("not available (not enabled at boot)"),
            Enforcement::Refused => f.write_str("not available (the kernel rejected the rules)"),
            Enforcement::Off => f.write_str("disabled"),
        }
    }
}

/// The directories that stay accessible.
#[derive(Debug, Clone, Default)]
pub struct AllowedPaths {
    /// Directory trees that may be read.
    pub readable: Vec<PathBuf>,
    /// Directory trees that may be read and written.
    pub writable: Vec<PathBuf>,
}

impl AllowedPaths {
    /// Denies this thread, and threads it starts later, access to everything else. This cannot be
    /// undone. A directory that cannot be opened is not allowed; opening the store reports it. Fails
    /// only if `mode` requires more than the kernel enforces.
    pub fn restrict_thread(&self, wish: LandlockMode) -> Result<Enforcement, String> {
        if wish == LandlockMode::Off {
            return Ok(Enforcement::Off);
        }
        let status = self.enforce().unwrap_or(Enforcement::Refused);
        if wish == LandlockMode::Required && !status.is_full() {
            return Err(format!(
                "--require-landlock: Landlock is {status}. It requires Linux 6.12 or newer with \
                 landlock listed in /sys/kernel/security/lsm, and a container that does not filter \
                 it"
            ));
        }
        Ok(status)
    }

    /// Applies the restriction to a temporary thread and returns its status. Fails if `/` is still
    /// readable although it is not allowed, or if an allowed directory is not readable.
    pub fn probe(&self, wish: LandlockMode) -> Result<Enforcement, String> {
        let allowed_paths = self.clone();
        let trial = std::thread::spawn(move || {
            let wish = if wish == LandlockMode::Off { wish } else { LandlockMode::BestEffort };
            let status = allowed_paths.restrict_thread(wish)?;
            let top = Path::new("/");
            let mut folders = allowed_paths.readable.iter().chain(&allowed_paths.writable);
            if let Enforcement::Full { .. } | Enforcement::Partial { .. } = status {
                let is_top = |folder: &PathBuf| folder.canonicalize().is_ok_and(|real| real == top);
                let is_open = folders.clone().any(is_top);
                if !is_open && top.read_dir().is_ok() {
                    return Err("Landlock: reported as enforced, but / is still readable".into());
                }
                if let Some(folder) = folders.find(|folder| folder.read_dir().is_err()) {
                    return Err(format!("Landlock: {} is not readable", folder.display()));
                }
            }
            Ok(status)
        });
        trial.join().unwrap_or_else(|_| Err("Landlock: the check panicked".into()))
    }

    fn enforce(&self) -> Result<Enforcement, RulesetError> {
        let mut ruleset = Ruleset::default()
            .handle_access(AccessFs::from_all(FILES))?
            .handle_access(AccessNet::from_all(NETWORK))?
            .scope(Scope::from_all(SCOPES))?
            .create()?;
        for (folders, access) in [(&self.readable, reading()), (&self.writable, writing())] {
            for folder in folders.iter().filter_map(|folder| open(folder)) {
                ruleset = ruleset.add_rule(PathBeneath::new(folder, access))?;
            }
        }
        let status = ruleset.restrict_self()?;
        let abi = match status.landlock {
            LandlockStatus::NotEnabled => return Ok(Enforcement::Disabled),
            LandlockStatus::NotImplemented => return Ok(Enforcement::Missing),
            LandlockStatus::Available { effective_abi, kernel_abi } => {
                kernel_abi.unwrap_or(effective_abi as i32)
            }
        };
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => Enforcement::Full { abi },
            RulesetStatus::PartiallyEnforced => Enforcement::Partial { abi },
            RulesetStatus::NotEnforced => Enforcement::Missing,
        })
    }
}

fn open(folder: &Path) -> Option<PathFd> {
    PathFd::new(folder).ok()
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Everything except executing programs and using devices. The write protocol never creates links,
/// pipes or sockets, but may have to move one back that another process created concurrently.
fn writing() -> BitFlags<AccessFs> {
    let closed = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    AccessFs::from_all(FILES) & !closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_missing_rules_only_if_known() {
        for (abi, expected) in [
            (5, "partially enforced (ABI 5 has no rules for signals)"),
            (6, "partially enforced (ABI 6; not every rule could be added)"),
            (7, "partially enforced (ABI 7; not every rule could be added)"),
        ] {
            assert_eq!(Enforcement::Partial { abi }.to_string(), expected);
        }
    }
}
