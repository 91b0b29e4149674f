//! The second wall: what the kernel lets this process do, whatever the process itself thinks
//! (Landlock). The first wall, the walk in `store::local::roots`, holds alone; this one is for the
//! day on which it does not.
//!
//! It stands for the thread that raises it and for all that this thread starts later, so it is
//! raised before any other thread runs. Programs that are started inherit it, so commands that
//! start others do not raise it.

use std::fmt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest rights that are asked for. Newer ones are not, until they have been tried on a
/// kernel that has them.
const FILES: ABI = ABI::V5;
const NETWORK: ABI = ABI::V4;
const SCOPES: ABI = ABI::V6;

/// What is asked of the second wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LandlockMode {
    /// As much as this kernel has.
    #[default]
    BestEffort,
    /// All of it, or no start.
    Required,
    /// None.
    Off,
}

/// How far the second wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// Everything that was asked for is enforced.
    Full {
        /// The kernel's version of Landlock.
        abi: i32,
    },
    /// Some of it is enforced: this kernel's version has no more, or a rule could not be added.
    Partial {
        /// The kernel's version of Landlock.
        abi: i32,
    },
    /// The kernel was built without it, or a filter hides it.
    Missing,
    /// The kernel has it, but it was not enabled when the system started.
    Disabled,
    /// The kernel has it and refused to raise it, as behind sixteen others or a filter.
    Refused,
    /// It was switched off.
    Off,
}

impl Enforcement {
    /// Whether all of it stands.
    pub fn is_full(self) -> bool {
        matches!(self, Enforcement::Full { .. })
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Enforcement::Full { abi } => write!(f, "fully enforced (ABI {abi})"),
            // The kernel has all that is asked for.
            Enforcement::Partial { abi: abi @ 6.. } => {
                write!(f, "partly enforced (ABI {abi}; not every rule could be added)")
            }
            Enforcement::Partial { abi } => {
                let lacks = match abi {
                    ..=2 => "truncation, the network, devices and signals",
                    3 => "the network, devices and signals",
                    4 => "devices and signals",
                    _ => "signals",
                };
                write!(f, "partly enforced (ABI {abi}, which has no rules for {lacks})")
            }
            Enforcement::Missing => {
                f.write_str("not available (this kernel or container has none)")
            }
            Enforcement::Disabled => {
                f.write_str("not available (the kernel was started without it)")
            }
            Enforcement::Refused => f.write_str("not available (the kernel refused to raise it)"),
            Enforcement::Off => f.write_str("switched off"),
        }
    }
}

/// What stays open when the wall stands.
#[derive(Debug, Clone, Default)]
pub struct AllowedPaths {
    /// Folders beneath which everything may be read.
    pub readable: Vec<PathBuf>,
    /// Folders beneath which everything may be read and written.
    pub writable: Vec<PathBuf>,
}

impl AllowedPaths {
    /// Closes everything else for this thread and all that it starts from now on. There is no way
    /// back. A folder that cannot be opened stays closed; whoever serves it says so. Fails only where
    /// more is required than there is.
    pub fn restrict_thread(&self, wish: LandlockMode) -> Result<Enforcement, String> {
        if wish == LandlockMode::Off {
            return Ok(Enforcement::Off);
        }
        let status = self.enforce().unwrap_or(Enforcement::Refused);
        if wish == LandlockMode::Required && !status.is_full() {
            return Err(format!(
                "--require-landlock: Landlock is {status}. It needs Linux 6.12 or newer with \
                 landlock among the names in /sys/kernel/security/lsm, and a container that does \
                 not filter it"
            ));
        }
        Ok(status)
    }

    /// How far the wall would stand, tried on a thread that then ends: it must close the top of
    /// the file system, unless that is open, and leave the folders open.
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
                    return Err("Landlock: it stands, but nothing is closed".into());
                }
                if let Some(folder) = folders.find(|folder| folder.read_dir().is_err()) {
                    return Err(format!("Landlock: {} cannot be read", folder.display()));
                }
            }
            Ok(status)
        });
        trial.join().unwrap_or_else(|_| Err("Landlock: the trial panicked".into()))
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

/// Everything but programs and devices. What the write protocol never makes (links, pipes,
/// sockets) it may have to move: when it puts back what somebody else left under a name.
fn writing() -> BitFlags<AccessFs> {
    let closed = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    AccessFs::from_all(FILES) & !closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_only_where_it_is_known() {
        for (abi, expected) in [
            (5, "partly enforced (ABI 5, which has no rules for signals)"),
            (6, "partly enforced (ABI 6; not every rule could be added)"),
            (7, "partly enforced (ABI 7; not every rule could be added)"),
        ] {
            assert_eq!(Enforcement::Partial { abi }.to_string(), expected);
        }
    }
}
