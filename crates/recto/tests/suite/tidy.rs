//! The rules of ARCHITECTURE.md that a compiler does not keep.

use std::path::{Path, PathBuf};

const MAX_LINES: usize = 500;

/// Words that must not stand in the sources of a room, tests aside.
const RULES: &[(&str, &[&str])] = &[
    (
        "crates/recto-text/src",
        &["std::fs", "std::thread", "std::time", "std::env", "tokio", "serde", "async "],
    ),
    ("crates/recto-tables/src", &["std::fs", "std::env", "std::path", "tokio", "rmcp", "println!"]),
    (
        "crates/recto/src/tools",
        &[
            "arrow::",
            "parquet::",
            "gix",
            "rmcp",
            "std::fs",
            "rustix",
            "libc::",
            "println!",
            "tokio",
        ],
    ),
    ("crates/recto/src/store", &["rmcp", "crate::tools", "crate::mcp", "println!", "tokio"]),
    (
        "crates/recto/src/workspace",
        &["rmcp", "std::fs", "tokio", "crate::tools", "crate::mcp", "crate::acp"],
    ),
    (
        "crates/recto/src/acp/updates",
        &["std::fs", "std::time", "std::thread", "tokio", "rmcp", "crate::mcp"],
    ),
    (
        "crates/recto/src/acp/merge",
        &["std::fs", "std::time", "std::thread", "tokio", "rmcp", "crate::mcp"],
    ),
    ("crates/recto/src/acp/relay", &["rmcp", "crate::mcp"]),
    ("crates/recto/src/acp/link", &["rmcp", "crate::mcp"]),
    ("crates/recto/src/store/git", &["std::process", "Command::new"]),
    ("crates/recto/src/mcp", &["std::fs", "rustix", "crate::store", "crate::acp", "println!"]),
    ("crates/recto/src/log", &["rmcp", "std::fs", "tokio", "println!", "crate::"]),
    ("crates/recto/src/wall.rs", &["rmcp", "tokio", "println!", "crate::"]),
    ("crates/recto/src/call.rs", &["rmcp", "std::fs", "rustix", "tokio"]),
    ("crates/recto/src/caller.rs", &["rmcp", "std::fs", "rustix", "tokio", "crate::"]),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_path_buf());
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "rs") {
            sources(&path, found);
        }
    }
}

/// A file without its tests, which may do what they like.
fn product(path: &Path) -> String {
    if path.file_name().is_some_and(|name| name == "tests.rs") {
        return String::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string()
}

#[test]
fn no_room_does_what_it_must_not() {
    let mut broken = Vec::new();
    for (room, words) in RULES {
        let mut files = Vec::new();
        sources(&top().join(room), &mut files);
        // A folder's own module stands beside it.
        let module = top().join(format!("{room}.rs"));
        files.extend(module.is_file().then_some(module));
        assert!(!files.is_empty(), "{room} is gone; the rule needs a new place");
        for file in files {
            let text = product(&file);
            for (index, line) in text.lines().enumerate() {
                let is_comment = line.trim_start().starts_with("//");
                for word in words.iter().filter(|word| !is_comment && line.contains(**word)) {
                    broken.push(format!("{}:{}: {word}", file.display(), index + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_source_says_what_it_is_and_holds_one_idea() {
    let mut files = Vec::new();
    for folder in [
        "crates/recto-text/src",
        "crates/recto-tables/src",
        "crates/recto-tables/tests",
        "crates/recto/src",
        "crates/recto/tests",
        "fuzz/src",
        "fuzz/fuzz_targets",
    ] {
        sources(&top().join(folder), &mut files);
    }
    for file in files {
        if file.components().any(|part| part.as_os_str() == "messy") {
            continue; // Files for a reader, not for a compiler.
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let is_tests = file.file_name().is_some_and(|name| name == "tests.rs");
        assert!(is_tests || text.starts_with("//!"), "{}: opens without //!", file.display());
        let n_lines = text.lines().count();
        assert!(n_lines <= MAX_LINES, "{}: {n_lines} lines", file.display());
    }
}

#[test]
fn what_is_unsafe_stands_where_it_is_told() {
    let security = std::fs::read_to_string(top().join("SECURITY.md")).unwrap();
    let mut files = Vec::new();
    for room in ["crates/recto-text/src", "crates/recto-tables/src", "crates/recto/src"] {
        sources(&top().join(room), &mut files);
    }
    let is_unsafe = |line: &str| line.contains("unsafe {") || line.contains("unsafe fn");
    files.retain(|file| product(file).lines().any(is_unsafe));
    assert_eq!(files.len(), 4, "{files:?}");
    for file in files {
        let below = file.to_str().unwrap().split_once("/src/").unwrap().1.to_string();
        assert!(security.contains(&format!("`{below}`")), "{below} is not in SECURITY.md");
    }
}

#[test]
fn every_tool_has_its_source_its_table_and_its_page() {
    for tool in recto::tools::ALL {
        let module = module_of(tool.name);
        for path in [
            format!("crates/recto/src/tools/{module}.rs"),
            format!("contracts/{}.toml", tool.name),
            format!("docs/tools/{}.md", tool.name),
        ] {
            assert!(top().join(&path).is_file(), "{path} is missing");
        }
    }
}

/// The module of a tool: `text_read` for `text.read`, `list_files` for `ListFiles`.
fn module_of(tool: &str) -> String {
    let mut module = String::new();
    for c in recto::tools::underscored(tool).chars() {
        if c.is_ascii_uppercase() && !module.is_empty() {
            module.push('_');
        }
        module.push(c.to_ascii_lowercase());
    }
    module
}
