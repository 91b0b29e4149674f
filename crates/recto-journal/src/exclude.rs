//! Files whose content is never stored, because they usually contain secrets.

use std::path::Path;

use recto_store::local::HiddenPaths;

/// Patterns that always apply, like those of `--deny`.
pub const ALWAYS: [&str; 11] = [
    ".env*",
    "*.pem",
    "*.key",
    "id_*",
    ".npmrc",
    ".netrc",
    ".pypirc",
    "*.p12",
    "*.tfvars*",
    "credentials*",
    "kubeconfig",
];

/// The files whose content is not stored.
pub struct Excluded {
    patterns: HiddenPaths,
}

impl Excluded {
    /// Excludes files that match `ALWAYS` or these patterns.
    pub fn new(patterns: &[String]) -> Excluded {
        let always = ALWAYS.iter().map(|pattern| pattern.to_string());
        let all: Vec<String> = always.chain(patterns.iter().cloned()).collect();
        // The command line has checked the patterns.
        let patterns = HiddenPaths::parse(&all).unwrap_or_default();
        Excluded { patterns }
    }

    /// Returns whether the content of a file below a root is not stored, in any case of its letters.
    pub fn contains(&self, root: &Path, path: &Path) -> bool {
        let below = path.strip_prefix(root).unwrap_or(path);
        let folded = Path::new(&below.to_string_lossy().to_lowercase()).to_path_buf();
        let patterns = self.patterns.folded();
        self.patterns.contains(below)
            || self.patterns.contains_absolute(path)
            || patterns.contains(&folded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes_secrets_in_any_directory_and_case() {
        let excluded = Excluded::new(&["*.secret".into(), "/private".into()]);
        for (path, is_excluded) in [
            ("/r/.env", true),
            ("/r/a/.env.local", true),
            ("/r/a/.ENV", true),
            ("/r/server.key", true),
            ("/r/id_ed25519", true),
            ("/r/prod.tfvars.json", true),
            ("/r/credentials/x", true),
            ("/r/Kubeconfig", true),
            ("/r/a.secret", true),
            ("/r/private/x", true),
            ("/r/a/private/x", false),
            ("/r/environment", false),
            ("/r/keys.rs", false),
            ("/r/main.rs", false),
        ] {
            assert_eq!(excluded.contains(Path::new("/r"), Path::new(path)), is_excluded, "{path}");
        }
    }
}
