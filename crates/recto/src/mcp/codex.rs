//! Parses the sandbox that Codex sends with every call.
//!
//! MCP servers run outside Codex's sandbox, and Codex runs tools that are declared non-destructive
//! without asking, even in a read-only session. A server that can write must therefore enforce the
//! permission profile itself.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSetBuilder};
use serde_json::{Map, Value};

use recto_store::context::{Access, RulePath, Sandbox, SandboxRule};

/// The capability that makes Codex send its profile, and the profile's key in `_meta`.
pub const CAPABILITY: &str = "codex/sandbox-state-meta";

/// Returns the sandbox of the profile in a call's `_meta`. Without a profile there are no limits; an
/// unknown profile permits reading only.
pub fn sandbox(meta: &Map<String, Value>) -> Sandbox {
    let Some(state) = meta.get(CAPABILITY) else { return Sandbox::Unlimited };
    let cwd = state.get("sandboxCwd").and_then(Value::as_str).map(path_of_url);
    let understood = match (state.get("permissionProfile"), state.get("sandboxPolicy")) {
        (Some(profile), _) => parse(profile, cwd.as_deref()),
        (None, Some(policy)) => parse_policy(policy, cwd.as_deref()),
        (None, None) => None,
    };
    understood.unwrap_or_else(read_only)
}

fn read_only() -> Sandbox {
    Sandbox::Limited(vec![SandboxRule {
        path: RulePath::Subtree("/".into()),
        access: Access::Read,
    }])
}

/// Parses the policy that earlier versions sent.
fn parse_policy(policy: &Value, cwd: Option<&Path>) -> Option<Sandbox> {
    let kind = policy.get("type").or(policy.get("mode"))?.as_str()?;
    match kind {
        "danger-full-access" | "external-sandbox" => Some(Sandbox::Unlimited),
        "workspace-write" => {
            let entry =
                |folder: PathBuf, access| SandboxRule { path: RulePath::Subtree(folder), access };
            let mut entries =
                vec![entry("/".into(), Access::Read), entry(cwd?.into(), Access::Write)];
            for root in policy.get("writable_roots").and_then(Value::as_array).into_iter().flatten()
            {
                entries.push(entry(root.as_str()?.into(), Access::Write));
            }
            Some(Sandbox::Limited(entries))
        }
        _ => None,
    }
}

fn parse(profile: &Value, cwd: Option<&Path>) -> Option<Sandbox> {
    let is =
        |value: &Value, key: &str, word: &str| value.get(key).and_then(Value::as_str) == Some(word);
    if is(profile, "type", "disabled") || is(profile, "type", "external") {
        return Some(Sandbox::Unlimited);
    }
    let file_system = profile.get("file_system")?;
    if is(file_system, "type", "unrestricted") || is(file_system, "kind", "unrestricted") {
        return Some(Sandbox::Unlimited);
    }
    let mut entries = Vec::new();
    for entry in file_system.get("entries")?.as_array()? {
        let access = match entry.get("access")?.as_str()? {
            "read" => Access::Read,
            "write" => Access::Write,
            // `none`, or a value of a newer Codex.
            _ => Access::None,
        };
        match place(entry.get("path")?, cwd) {
            Some(path) => entries.push(SandboxRule { path, access }),
            // An unknown grant permits nothing. An unknown denial could apply to any path.
            None if access == Access::None => return None,
            None => {}
        }
    }
    Some(Sandbox::Limited(entries))
}

fn place(path: &Value, cwd: Option<&Path>) -> Option<RulePath> {
    // The base of a relative path is not known.
    let subtree = |path: &str| path.starts_with('/').then(|| RulePath::Subtree(path.into()));
    if let Some(path) = path.as_str() {
        return subtree(path);
    }
    match path.get("type")?.as_str()? {
        "path" => subtree(path.get("path")?.as_str()?),
        "glob_pattern" => {
            let pattern = path.get("pattern")?.as_str()?;
            let pattern = pattern.strip_prefix("codex-project-roots://").unwrap_or(pattern);
            // Relative patterns are relative to the working directory.
            let pattern = match pattern.starts_with('/') {
                true => pattern.to_string(),
                false => cwd?.join(pattern).to_str()?.to_string(),
            };
            // A set reports patterns that are too large, while a single matcher panics.
            let globs = GlobSetBuilder::new().add(Glob::new(&pattern).ok()?).build().ok()?;
            Some(RulePath::Matching(globs))
        }
        "special" => {
            let value = path.get("value")?;
            let folder = match value.get("kind")?.as_str()? {
                "root" => PathBuf::from("/"),
                "project_roots" | "current_working_directory" => cwd?.to_path_buf(),
                "slash_tmp" => PathBuf::from("/tmp"),
                "tmpdir" => PathBuf::from(std::env::var_os("TMPDIR")?),
                _ => return None,
            };
            let below = value.get("subpath").and_then(Value::as_str).unwrap_or("");
            Some(RulePath::Subtree(if below.is_empty() { folder } else { folder.join(below) }))
        }
        _ => None,
    }
}

/// Returns the path of a `file:` URL, or a plain path unchanged.
fn path_of_url(url: &str) -> PathBuf {
    let path = url.strip_prefix("file://").unwrap_or(url);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, later)) = rest.split_first() {
        let escaped = later.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &later[2..];
            }
            _ => {
                bytes.push(*first);
                rest = later;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn check(profile: Value, expected: [(&str, Access); 3]) {
        let state = json!({"permissionProfile": profile, "sandboxCwd": "file:///my%20project"});
        let meta = Map::from_iter([(CAPABILITY.to_string(), state)]);
        let sandbox = sandbox(&meta);
        for (path, access) in expected {
            assert_eq!(sandbox.access(Path::new(path), |_| None), access, "{path} in {meta:?}");
        }
    }

    #[test]
    fn profiles_are_understood() {
        use Access::{None, Read, Write};
        let root =
            json!({"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"});
        let project = json!({"path": {"type": "special", "value": {"kind": "project_roots"}}, "access": "write"});
        let git = json!({
            "path": {"type": "special", "value": {"kind": "project_roots", "subpath": ".git"}},
            "access": "read",
        });
        let secret =
            json!({"path": {"type": "path", "path": "/my project/secret"}, "access": "none"});
        let keys =
            json!({"path": {"type": "glob_pattern", "pattern": "/**/*.key"}, "access": "none"});
        let managed = |entries: Value| json!({"type": "managed", "file_system": {"type": "restricted", "entries": entries}});
        let paths = ["/my project/a", "/my project/.git/config", "/my project/secret/x"];
        let with = |access: [Access; 3]| {
            [(paths[0], access[0]), (paths[1], access[1]), (paths[2], access[2])]
        };

        check(managed(json!([root])), with([Read, Read, Read]));
        check(managed(json!([root, project, git, secret])), with([Write, Read, None]));
        check(
            managed(json!([project, keys])),
            [("/my project/a", Write), ("/my project/a.key", None), ("/etc/a", None)],
        );
        check(json!({"type": "disabled"}), with([Write, Write, Write]));
        check(
            json!({"type": "managed", "file_system": {"type": "unrestricted"}}),
            with([Write, Write, Write]),
        );
        check(json!("something new"), with([Read, Read, Read]));
        // The base of a relative path is unknown: a grant permits nothing, a denial could be anywhere.
        let some = |access: &str| json!({"path": "some/where", "access": access});
        check(managed(json!([root, some("write")])), with([Read, Read, Read]));
        check(managed(json!([root, project, some("none")])), with([Read, Read, Read]));
    }

    #[test]
    fn no_profile_means_no_limits() {
        assert!(matches!(sandbox(&Map::new()), Sandbox::Unlimited));
    }
}
