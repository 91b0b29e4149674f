//! The rules of ARCHITECTURE.md that a compiler does not keep.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use recto_tools::tools;

const MAX_LINES: usize = 500;

/// Words that must not stand in the sources of a room, tests aside.
const RULES: &[(&str, &[&str])] = &[
    (
        "crates/recto-text/src",
        &[
            "std::fs",
            "std::thread",
            "std::time",
            "std::env",
            "tokio",
            "serde",
            "async ",
            "rmcp",
            "print!",
            "println!",
            "stdout()",
        ],
    ),
    (
        "crates/recto-tables/src",
        &["std::fs", "std::env", "std::path", "tokio", "rmcp", "print!", "println!", "stdout()"],
    ),
    ("crates/recto/src", &["print!", "println!", "stdout()"]),
    (
        "crates/recto/src/tools",
        &[
            "parquet::",
            "gix",
            "rmcp",
            "std::fs",
            "rustix",
            "libc::",
            "tokio",
            "crate::mcp",
            "crate::acp",
        ],
    ),
    ("crates/recto/src/store", &["rmcp", "tokio", "crate::tools", "crate::mcp", "crate::acp"]),
    (
        "crates/recto/src/store/git",
        &["std::process", "Command::new", "std::fs::write", "File::create", "OpenOptions"],
    ),
    (
        "crates/recto/src/workspace",
        &["rmcp", "std::fs", "rustix", "tokio", "crate::tools", "crate::mcp", "crate::acp"],
    ),
    ("crates/recto/src/acp", &["rmcp", "std::fs", "crate::mcp", "crate::store::local"]),
    ("crates/recto/src/acp/updates", &["std::time", "std::thread", "tokio"]),
    ("crates/recto/src/acp/merge", &["std::time", "std::thread", "tokio"]),
    ("crates/recto/src/mcp", &["std::fs", "rustix", "crate::store", "crate::acp"]),
    (
        "crates/recto/src/mcp/handler",
        &["super::stdio", "mcp::stdio", "crate::line", "stdin()", "std::io", "std::os"],
    ),
    ("crates/recto/src/log", &["rmcp", "std::fs", "tokio", "crate::"]),
    ("crates/recto/src/wall.rs", &["rmcp", "tokio", "crate::"]),
    (
        "crates/recto/src/call.rs",
        &["rmcp", "std::fs", "rustix", "tokio", "crate::mcp", "crate::acp"],
    ),
    ("crates/recto/src/caller.rs", &["rmcp", "std::fs", "rustix", "tokio", "crate::"]),
];

/// Who may say a word all the same.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/recto/src/cli", "stdout()"),
    ("crates/recto/src/mcp/stdio/write.rs", "stdout()"),
    // The socket, the log, and a handle that is written to.
    ("crates/recto/src/acp/link/place.rs", "std::fs"),
    ("crates/recto/src/acp/relay/log.rs", "std::fs"),
    ("crates/recto/src/acp/outlet.rs", "std::fs"),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn below_top(path: &Path) -> &Path {
    path.strip_prefix(top()).unwrap()
}

/// Whether a line says a word, and not only one that ends like it: `eprintln!` says no `println!`.
fn says(line: &str, word: &str) -> bool {
    let mut places = line.match_indices(word);
    places.any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
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
    let is_of_tests = |part: &OsStr| part == "tests" || part == "tests.rs";
    if below_top(path).iter().any(is_of_tests) {
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
            let may_say = |word: &str| {
                let is_it = |(place, allowed): &(&str, &str)| {
                    *allowed == word && below_top(&file).starts_with(place)
                };
                EXCEPTIONS.iter().any(is_it)
            };
            for (index, line) in text.lines().enumerate() {
                let is_comment = line.trim_start().starts_with("//");
                let is_said = |word: &&&str| !is_comment && says(line, word) && !may_say(word);
                for word in words.iter().filter(is_said) {
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
        "dev/fuzz/src",
        "dev/fuzz/fuzz_targets",
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

/// A module is named in the row of the one that declares it, or has a row of its own.
#[test]
fn the_map_names_every_module_of_its_rooms() {
    let map = std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let rows: Vec<(&str, &str)> = map
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter(|(room, _)| room.starts_with("crates/"))
        .chain([("crates/recto", "")])
        .collect();
    let has_row = |path: String| rows.iter().any(|(room, _)| *room == path);
    let is_of_tool = |name: &str| tools::ALL.iter().any(|tool| module_of(tool.name) == name);
    for (room, what) in &rows {
        let folder = room.trim_end_matches(".rs");
        let source = [format!("{folder}/src/lib.rs"), format!("{folder}.rs")];
        let source = source.into_iter().find(|source| top().join(source).is_file());
        let source = source.unwrap_or_else(|| panic!("{room} is gone"));
        let beside = source.trim_end_matches("/lib.rs").trim_end_matches(".rs");
        for name in modules(&std::fs::read_to_string(top().join(&source)).unwrap()) {
            let is_named = what.contains(&format!("`{name}`"))
                || has_row(format!("{beside}/{name}"))
                || has_row(format!("{beside}/{name}.rs"));
            assert!(is_named || is_of_tool(name), "{room}: {name} is not in ARCHITECTURE.md");
        }
    }
}

/// The modules in files of their own that a source declares, but for those of tests.
fn modules(source: &str) -> Vec<&str> {
    let mut before = "";
    let mut modules = Vec::new();
    for line in source.lines() {
        let name = line.split_once("mod ").filter(|(visible, _)| {
            visible.is_empty() || visible.starts_with("pub") && visible.ends_with(' ')
        });
        let name = name.and_then(|(_, name)| name.strip_suffix(';'));
        modules.extend(name.filter(|_| before != "#[cfg(test)]"));
        before = line;
    }
    modules
}

#[test]
fn every_tool_has_its_source_its_table_and_its_page() {
    for tool in tools::ALL {
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
    for c in tools::underscored(tool).chars() {
        if c.is_ascii_uppercase() && !module.is_empty() {
            module.push('_');
        }
        module.push(c.to_ascii_lowercase());
    }
    module
}

#[test]
fn only_the_platform_crate_names_rustix_or_libc() {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(top().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        if folder.file_name().is_some_and(|name| name != "recto-platform") {
            sources(&folder.join("src"), &mut files);
        }
    }
    assert!(files.len() > 100, "{files:?}");
    files.retain(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().any(|line| says(line, "rustix") || says(line, "libc::"))
    });
    assert!(files.is_empty(), "{files:?}");
}
