//! Codex's sandbox, as it travels with every call.
//!
//! MCP servers run outside of Codex's sandbox, and Codex runs tools that declare themselves not
//! destructive without asking, also in a read-only session. So a server that can write has to
//! honour the permission profile itself.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSetBuilder};
use serde_json::{Map, Value};

use recto_store::context::{Access, RulePath, Sandbox, SandboxRule};

/// The capability that makes Codex send its profile, and the key it comes under.
pub const CAPABILITY: &str = "codex/sandbox-state-meta";

/// What the profile in a call's `_meta` allows. Without one there are no limits; one that cannot
/// be understood allows reading only.
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

/// What earlier versions sent.
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
            // `none`, and whatever a newer Codex closes.
            _ => Access::None,
        };
        match place(entry.get("path")?, cwd) {
            Some(path) => entries.push(SandboxRule { path, access }),
            // A grant that we do not know grants nothing. A refusal that we do not know could
            // be anywhere.
            None if access == Access::None => return None,
            None => {}
        }
    }
    Some(Sandbox::Limited(entries))
}

fn place(path: &Value, cwd: Option<&Path>) -> Option<RulePath> {
    // From where a relative path starts is not known.
    let beneath = |path: &str| path.starts_with('/').then(|| RulePath::Subtree(path.into()));
    if let Some(path) = path.as_str() {
        return beneath(path);
    }
    match path.get("type")?.as_str()? {
        "path" => beneath(path.get("path")?.as_str()?),
        "glob_pattern" => {
            let pattern = path.get("pattern")?.as_str()?;
            let pattern = pattern.strip_prefix("codex-project-roots://").unwrap_or(pattern);
            // A relative one starts at the working directory.
            let pattern = match pattern.starts_with('/') {
                true => pattern.to_string(),
                false => cwd?.join(pattern).to_str()?.to_string(),
            };
            // A set tells of patterns that are too large, where a single matcher would panic.
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

/// The path of a `file:` URL, or of a plain path.
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
        // A grant that starts who knows where grants nothing; a refusal might be anywhere.
        let some = |access: &str| json!({"path": "some/where", "access": access});
        check(managed(json!([root, some("write")])), with([Read, Read, Read]));
        check(managed(json!([root, project, some("none")])), with([Read, Read, Read]));
    }

    #[test]
    fn no_profile_means_no_limits() {
        assert!(matches!(sandbox(&Map::new()), Sandbox::Unlimited));
    }
}
