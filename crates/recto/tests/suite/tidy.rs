//! The rules of ARCHITECTURE.md that the compiler does not enforce.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use recto_tools::tools;

const MAX_LINES: usize = 500;

/// Words that must not occur in a module's sources, except in tests. The crates that a module may
/// use are declared in its `Cargo.toml` and not repeated here.
const RULES: &[(&str, &[&str])] = &[
    ("crates/recto-text/src", &["std::fs", "std::thread", "std::time", "std::env", "async "]),
    ("crates/recto-tables/src", &["std::fs", "std::env", "std::path"]),
    ("crates/recto-tools/src", &["std::fs", "std::net", "std::process"]),
    (
        "crates/recto-store/src/git",
        &["std::process", "Command::new", "std::fs::write", "File::create", "OpenOptions"],
    ),
    ("crates/recto-store/src/workspace", &["std::fs"]),
    ("crates/recto/src/acp", &["rmcp", "std::fs", "crate::mcp", "recto_store::local"]),
    ("crates/recto/src/acp/updates", &["std::time", "std::thread", "tokio"]),
    ("crates/recto/src/acp/merge", &["std::time", "std::thread", "tokio"]),
    ("crates/recto/src/mcp", &["std::fs", "recto_store::local", "crate::acp"]),
    ("crates/recto/src/mcp/handler", &["super::stdio", "crate::line"]),
    ("crates/recto/src/log", &["rmcp", "std::fs", "tokio"]),
];

/// stdout belongs to the protocol.
const PRINTS: &[&str] = &["print!", "println!", "stdout()"];

/// Exceptions: files that may use a word.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/recto/src/cli", "stdout()"),
    ("crates/recto/src/mcp/stdio", "stdout()"),
    // The socket, the log, and a handle that is written to.
    ("crates/recto/src/acp/link/socket.rs", "std::fs"),
    ("crates/recto/src/acp/relay/log.rs", "std::fs"),
    ("crates/recto/src/acp/line_sender.rs", "std::fs"),
];

/// The published crates.
const CRATES: [&str; 7] = [
    "recto-text",
    "recto-tables",
    "recto-platform",
    "recto-store",
    "recto-journal",
    "recto-tools",
    "recto",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn below_top(path: &Path) -> &Path {
    path.strip_prefix(top()).unwrap()
}

/// Whether a line contains a whole word: `eprintln!` does not contain `println!`.
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

/// Returns a file without its unit tests, which may use every word.
fn product(path: &Path) -> String {
    let is_of_tests = |part: &OsStr| part == "tests" || part == "tests.rs";
    if below_top(path).iter().any(is_of_tests) {
        return String::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string()
}

#[test]
fn no_module_uses_a_forbidden_word() {
    let mut broken = Vec::new();
    let prints = CRATES.map(|name| (format!("crates/{name}/src"), PRINTS));
    let rules = RULES.iter().map(|(module, words)| (module.to_string(), *words));
    for (module, words) in rules.chain(prints) {
        let mut files = Vec::new();
        sources(&top().join(&module), &mut files);
        // The module file of a directory is next to it.
        let own = top().join(format!("{module}.rs"));
        files.extend(own.is_file().then_some(own));
        assert!(!files.is_empty(), "{module} does not exist; update the rule");
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
fn every_source_starts_with_module_docs_and_is_short() {
    let mut files = Vec::new();
    for folder in ["crates", "dev"] {
        sources(&top().join(folder), &mut files);
    }
    for file in files {
        if file.components().any(|part| part.as_os_str() == "messy") {
            continue; // These files are not compiled.
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let is_tests = file.file_name().is_some_and(|name| name == "tests.rs");
        assert!(is_tests || text.starts_with("//!"), "{}: opens without //!", file.display());
        let n_lines = text.lines().count();
        assert!(n_lines <= MAX_LINES, "{}: {n_lines} lines", file.display());
    }
}

#[test]
fn security_md_names_every_file_with_unsafe_code() {
    let security = std::fs::read_to_string(top().join("SECURITY.md")).unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        sources(&top().join(format!("crates/{name}/src")), &mut files);
    }
    let is_unsafe = |line: &str| line.contains("unsafe {") || line.contains("unsafe fn");
    files.retain(|file| product(file).lines().any(is_unsafe));
    assert_eq!(files.len(), 6, "{files:?}");
    for file in files {
        let below = file.to_str().unwrap().split_once("/src/").unwrap().1.to_string();
        assert!(security.contains(&format!("`{below}`")), "{below} is not in SECURITY.md");
    }
}

/// Checks that each guarantee names tests, and that these exist.
#[test]
fn security_md_names_tests_that_exist() {
    let security = std::fs::read_to_string(top().join("SECURITY.md")).unwrap();
    let mut files = Vec::new();
    sources(&top().join("crates"), &mut files);
    let texts: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let (_, table) = security.split_once("| guarantee | tests |\n|---|---|\n").unwrap();
    let (table, rest) = table.split_once("\n\n").unwrap();
    let exists = |name: &str| {
        let last = name.rsplit(' ').next().unwrap().trim_end_matches("::");
        let last = last.rsplit("::").next().unwrap();
        top().join(name).exists()
            || texts.contains(&format!("fn {last}("))
            || texts.contains(&format!("mod {last};"))
    };
    for row in table.lines() {
        let (guarantee, tests) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        assert!(test_names(tests).next().is_some(), "no test: {guarantee}");
    }
    let named = test_names(table).chain(test_names(rest));
    let missing: Vec<&str> = named.filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Returns what a text quotes that looks like the name of a test.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|name| {
        let is_path = name.contains("::") || name.starts_with("contracts/");
        is_path || name.starts_with("--test conditional ") || name.matches('_').count() > 2
    })
}

/// Checks that every section headed by a directory has a row for each module in it.
#[test]
fn the_map_has_a_row_for_every_module() {
    let map = std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let mut sections = Vec::new();
    for section in map.split("\n### `").skip(1) {
        let section = section.split("\n## ").next().unwrap();
        let (folder, rows) = section.split_once('`').unwrap();
        let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_string());
        let rows: Vec<String> = rows.lines().filter_map(row).collect();
        for module in modules(&top().join(folder)) {
            assert!(rows.contains(&module), "{folder}: {module} is not in ARCHITECTURE.md");
        }
        for row in rows {
            let exists = [format!("{folder}/{row}.rs"), format!("{folder}/{row}")];
            assert!(exists.iter().any(|path| top().join(path).exists()), "no {folder}/{row}");
        }
        sections.push(folder);
    }
    for name in CRATES {
        assert!(sections.contains(&&*format!("crates/{name}/src")), "{name} is not on the map");
    }
}

/// Returns the modules in a directory, except those of tests and of tools.
fn modules(folder: &Path) -> Vec<String> {
    let is_of_tool = |name: &str| tools::ALL.iter().any(|tool| module_of(tool.name) == name);
    let mut modules = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        if !["lib", "main", "tests"].contains(&name) && !is_of_tool(name) {
            modules.push(name.to_string());
        }
    }
    modules
}

#[test]
fn every_tool_has_a_source_a_contract_table_and_a_page() {
    for tool in tools::ALL {
        let module = module_of(tool.name);
        for path in [
            format!("crates/recto-tools/src/tools/{module}.rs"),
            format!("contracts/{}.toml", tool.name),
            format!("docs/tools/{}.md", tool.name),
        ] {
            assert!(top().join(&path).is_file(), "{path} is missing");
        }
    }
}

/// Returns the module of a tool: `list_files` for `ListFiles`.
fn module_of(tool: &str) -> String {
    let mut module = String::new();
    for c in tool.chars() {
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
