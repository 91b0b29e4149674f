//! The directory for state that outlives a server, such as the generated HTTP token.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The environment variable that names the directory if no option does.
const VARIABLE: &str = "RECTO_STATE_DIR";

/// Returns the directory: `given`, else `$RECTO_STATE_DIR`, else `~/.local/state/recto`. Creates it
/// for this user only, and fails if another user could write to it.
pub fn state_dir(given: Option<&Path>) -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let dir = find(given, set(VARIABLE), set("HOME"))?;
    prepare(&dir)
        .map_err(|error| format!("cannot use the state directory {}: {error}", dir.display()))?;
    Ok(dir)
}

fn find(
    given: Option<&Path>,
    variable: Option<OsString>,
    home: Option<OsString>,
) -> Result<PathBuf, String> {
    match (given, variable, home) {
        (Some(given), _, _) => std::path::absolute(given).map_err(|error| error.to_string()),
        (None, Some(dir), _) => std::path::absolute(dir).map_err(|error| error.to_string()),
        (None, None, Some(home)) => Ok(Path::new(&home).join(".local/state/recto")),
        (None, None, None) => Err(format!("set {VARIABLE} or HOME, or pass --state-dir")),
    }
}

fn prepare(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let status = dir.metadata()?;
    let is_private = status.permissions().mode() & 0o022 == 0;
    match recto_platform::is_own_user(status.uid()) && is_private {
        true => Ok(()),
        false => Err(io::Error::other("it belongs to another user, or others may write to it")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_option_wins_over_the_variable_and_the_home_directory() {
        let dir = |given: Option<&str>, variable: Option<&str>, home: Option<&str>| {
            find(given.map(Path::new), variable.map(Into::into), home.map(Into::into))
        };
        assert_eq!(dir(Some("/a"), Some("/b"), Some("/h")), Ok("/a".into()));
        assert_eq!(dir(None, Some("/b"), Some("/h")), Ok("/b".into()));
        assert_eq!(dir(None, None, Some("/h")), Ok("/h/.local/state/recto".into()));
        assert!(dir(None, None, None).is_err());
    }

    #[test]
    fn a_directory_that_others_may_write_is_rejected() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("new/state");
        prepare(&dir).unwrap();
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o770)).unwrap();
        assert!(prepare(&dir).is_err());
    }
}
