//! Paths and patterns that lead out of a root, for every argument of the files toolset.

use serde_json::json;

use super::outside_variants::{OutsideVariants, PSEUDO_FILES};
use crate::client::Actual;
use crate::test_dir::said;

/// Directories outside, and paths that escape the root.
const DIRECTORIES: &[&str] = &[
    "outside",
    "outside/deep",
    "outside/no",
    "root-sibling",
    "roo",
    "ROOT",
    "outside/back",
    "outside/../root",
    "/",
    "//",
    "/etc",
    "//etc",
    "/proc/self",
    "/proc/self/fd",
    "/proc/self/root",
    "/proc/self/root{base}/root",
    "/proc/self/root{base}/outside",
    "/proc/self/cwd",
    "/proc/thread-self",
    "/dev",
    "/dev/fd",
    "/no/such/folder",
    "{base}",
    "root/..",
    "root/../..",
    "root/sub/../..",
    "root/../outside",
    "root/../root-sibling",
    "root/./../outside",
    "root//..//outside",
    "root/sub/../../outside",
    "root/sub/deep/../../../outside",
    "root/sub/../sub/../../outside",
    "root/no/../../outside",
    "root/no/such/../../../outside",
    "root/inside.txt/../../outside",
    "root/to-deep/../../../outside",
    "root/to-file/../../outside",
    "root/../root",
    "root/sub/../../root",
    "root/no/../../root",
    "root/folder-abs",
    "root/folder-abs/deep",
    "root/folder-abs/no",
    "root/folder-abs/../root",
    "root/folder-rel",
    "root/folder-rel/deep",
    "root/folder-slash",
    "root/up",
    "root/up/outside",
    "root/top",
    "root/top/etc",
    "root/sibling",
    "root/sub/middle",
    "root/sub/middle/deep",
    "root/sub/../sub/middle",
    "root/to-folder-rel",
    "root/missing-folder",
    "root/back-folder",
    "root/proc",
    "root/proc/self",
    "root/by-proc",
    "root/by-bytes",
    "root/to-bytes",
    "root/file-abs-secret.txt",
    "root/chain-1-secret.txt",
];

/// Paths and patterns in such a directory.
const PATTERNS: &[&str] = &[
    "*",
    "**",
    "**/*.txt",
    "[rs]*",
    "{secret.txt,deep/secret.txt}",
    r"?e\cret.txt",
    "*/secret.txt",
    ".*",
];

#[test]
fn paths_outside_are_indistinguishable_from_missing_paths() {
    for variants in OutsideVariants::each() {
        check_directories(&variants);
    }
}

fn check_directories(variants: &OutsideVariants) {
    let doors = (0..PSEUDO_FILES.len()).map(|index| format!("root/door-{index}"));
    for folder in DIRECTORIES.iter().map(|folder| folder.to_string()).chain(doors) {
        for name in ["secret.txt", "missing.txt", "secret.txt/x"] {
            let path = format!("{folder}/{name}");
            variants.check_denied("ListFiles", &json!({"pattern": path}));
            variants.check_denied("ReadLines", &json!({"file_path": path}));
            variants.check_denied("ReadAsTable", &json!({"file_path": path}));
        }
        for pattern in PATTERNS {
            let path = format!("{folder}/{pattern}");
            variants.check_denied("ListFiles", &json!({"pattern": path}));
            variants.check_denied("ReadLines", &json!({"file_path": path, "match": "s"}));
        }
        variants.check_denied("ReadAsTable", &json!({"file_path": format!("{folder}/*")}));
        variants.check_denied("ReadLines", &json!({"file_path": folder}));
        variants.check_denied("ReadLines", &json!({"file_path": format!("{folder}/"), "lines": 1}));
        variants.check_denied("ReadAsTable", &json!({"file_path": folder}));
        variants.check_inside("ListFiles", &json!({"pattern": folder}));
        variants.check_inside("ListFiles", &json!({"pattern": format!("{folder}/")}));
    }
}

#[test]
fn links_to_files_outside_are_neither_listed_nor_read() {
    for variants in OutsideVariants::each() {
        check_links(&variants);
    }
}

fn check_links(variants: &OutsideVariants) {
    let mut links = vec!["back".to_string(), "to-bytes".into()];
    for name in ["secret.txt", "missing.txt"] {
        let of = |kind: &str| format!("{kind}-{name}");
        links.extend(["file-abs", "file-rel", "sub/file-rel", "file-dots"].map(of));
        links.extend(["file-past", "file-proc", "chain-1", "sub/chain-2", "chain-3"].map(of));
    }
    links.extend((0..PSEUDO_FILES.len()).map(|index| format!("door-{index}")));
    for link in links {
        let path = format!("root/{link}");
        variants.check_denied("ReadLines", &json!({"file_path": path}));
        variants.check_denied("ReadAsTable", &json!({"file_path": path}));
        for pattern in [path.clone(), format!("{path}*"), format!("root/{{{link},{link}/*}}")] {
            variants.check_inside("ListFiles", &json!({"pattern": pattern, "ignored": true}));
            variants.check_inside("ReadLines", &json!({"file_path": pattern, "match": "s"}));
            variants.check_inside("ReadAsTable", &json!({"file_path": pattern}));
        }
    }
}

/// Wildcards that would match an escaping path if names were split after matching.
const WILD: &[&str] = &[
    "root/{..,x}/outside/*",
    "root/{.,}{.,}/outside/*",
    "root/{..,sub}/{outside,deep}/*",
    "root/[.][.]/outside/*",
    "root/[.]./outside/*",
    "root/.[.]/outside/*",
    "root/.?/outside/*",
    "root/?./outside/*",
    "root/??/outside/*",
    "root/.*/outside/*",
    "root/.*/**",
    "root/..*/outside/*",
    r"root/\.\./outside/*",
    r"root/.\./outside/*",
    r"root/*/\.\./\.\./outside/*",
    "root/*/../../outside/*",
    "root/**/../outside/*",
    "root/**/../../outside/*",
    "root/sub/{../../outside,deep}/*",
    "root/sub/{deep/../../../outside,deep}/*",
    "root/{sub/..,x}/../outside/*",
    "root/*/..",
    "root/{,../outside/}*",
    "root/{/etc,x}/*",
    "root/{,/}etc/passwd",
    "root{,-sibling}/*",
    "root*/*",
    "roo?/*",
    "r*/**",
    "{base}/*",
    "{base}/**",
    "{base}/{outside,root}/*",
    "{base}/{outside/secret,root/inside}.txt",
    "{base}/*/secret.txt",
    "{base}/**/secret.txt",
    "{base}/[!x]oot/*",
    "/**/secret.txt",
    "/{etc,x}/passwd",
    "/e*/passwd",
    "/etc/pass*",
    "/*/*",
    "{/etc,x}/passwd",
    "/proc/self/{root,x}/etc/*",
    "/proc/self/fd/*",
    "/proc/*/environ",
    "root/folder-*/secret.txt",
    "root/folder-*/*",
    "root/folder-{abs,rel}/**",
    "root/{folder-abs,sub}/*",
    "root/{up,top}/**",
    "root/*/secret.txt",
    "root/**/secret.txt",
    "root/**",
    "root/*/*",
    "root/**/*/*",
    "root/file-*",
    "root/chain-?-*",
    "root/door-[0-9]*",
    "root/door-*/**",
    "root/pro?/self/environ",
    "root/by-pro[c]/*",
    "root/[b]ack-folder/*",
    "root/to-*",
    "root/*-bytes/*",
    "root/sub/**",
    "root/sub/mid*/*",
    "root/\u{2025}/outside/*",
    "root/..\u{2215}outside/*",
    "root/%2e%2e/outside/*",
    "root/*%2f..%2foutside",
];

#[test]
fn wildcards_do_not_escape_the_roots() {
    for variants in OutsideVariants::each() {
        check_wildcards(&variants);
    }
}

fn check_wildcards(variants: &OutsideVariants) {
    for pattern in WILD {
        for ignored in [false, true] {
            variants.check_inside("ListFiles", &json!({"pattern": pattern, "ignored": ignored}));
        }
        variants.check_inside("ReadLines", &json!({"file_path": pattern}));
        variants.check_inside("ReadLines", &json!({"file_path": pattern, "match": "s", "ctx": 3}));
        variants.check_inside("ReadAsTable", &json!({"file_path": pattern}));
    }
}

/// Relative paths start at the root and can escape in the same ways.
#[test]
fn relative_paths_do_not_escape_the_roots() {
    let variants = OutsideVariants::new();
    let call = |tool: &str, path: &str| {
        let name = if tool == "ListFiles" { "pattern" } else { "file_path" };
        let said = variants.0.iter().map(|(dir, session)| {
            let told = said(&session.call(tool, json!({name: path})));
            told.replace(dir.base(), "{base}")
        });
        let said: Vec<String> = said.collect();
        assert!(said.iter().all(|told| *told == said[0]), "{tool} {path}: {said:?}");
        assert!(said[0].starts_with("-32002") || said[0].starts_with("-32600"), "{}", said[0]);
    };
    for path in [
        "../secret.txt",
        "../missing.txt",
        "../outside/*",
        "../outside/secret.txt",
        "../*",
        "../**",
        "..",
        "../",
        "./../outside/*",
        "sub/../../outside/s*",
        "sub/../../outside/secret.txt",
        "no/../../outside/secret.txt",
        "folder-abs/*",
        "folder-abs/secret.txt",
        "up/**",
        "{..,../outside}/*",
        "sub/{..,../..}/*.txt",
        "{/etc,x}/../passwd",
    ] {
        for tool in ["ListFiles", "ReadLines"] {
            call(tool, path);
        }
        if !path.contains(['*', '{']) {
            call("ReadAsTable", path);
        }
    }
}

/// Names that no file can have, and loops of links.
#[test]
fn impossible_names_and_loops_reveal_nothing() {
    let variants = OutsideVariants::with(|dir| {
        dir.link("root/self", "self")
            .link("root/one", "two")
            .link("root/two", "{base}/root/one")
            .link("root/growing", "growing/growing")
            .link("root/out-1", "../outside/secret.txt");
        for n in 2..=41 {
            dir.link(&format!("root/out-{n}"), &format!("out-{}", n - 1));
        }
    });
    let long = "n".repeat(256);
    let mut paths = vec![
        "root/nul\0.txt".to_string(),
        "root/\0*".into(),
        "root/inside.txt\0/../../outside/secret.txt".into(),
        "root/*\0/../../outside/secret.txt".into(),
        "outside/secret.txt\0".into(),
    ];
    for name in [&long, &format!("{long}/*"), &format!("{long}*"), &format!("*/{long}/x")] {
        paths.extend(
            ["root/", "root/sub/", "root/../outside/", "outside/", "root/folder-abs/"]
                .map(|folder| format!("{folder}{name}")),
        );
    }
    for (part, n) in [("../", 1000), ("../", 1700), ("a/", 1500), ("sub/../", 600), ("./", 9000)] {
        paths.push(format!("root/{}secret.txt", part.repeat(n)));
        paths.push(format!("root/{}*", part.repeat(n)));
        paths.push(format!("root/{}../outside/*", part.repeat(n)));
        paths.push(format!("root/*/{}", part.repeat(n)));
    }
    for name in ["self", "one", "growing", "out-40", "out-41"] {
        paths.extend([format!("root/{name}"), format!("root/{name}/*")]);
        paths.extend([format!("root/{name}/../inside.*"), format!("root/{{{name},x}}")]);
    }
    for path in &paths {
        variants.check_inside("ListFiles", &json!({"pattern": path}));
        variants.check_inside("ReadLines", &json!({"file_path": path, "match": "s"}));
        variants.check_inside("ReadAsTable", &json!({"file_path": path}));
    }
}

/// The error names the caller's pattern, not another that was tried meanwhile.
#[test]
fn an_error_quotes_the_callers_own_pattern() {
    let variants = OutsideVariants::with(|dir| {
        dir.link("root/self", "self");
    });
    let (dir, session) = &variants.0[0];
    for path in ["root/folder-abs", "root/back", "root/self", "root/door-3", "outside", "/", "/etc"]
    {
        for path in [dir.spelled(path), path.trim_start_matches("root/").to_string()] {
            let actual = session.call("ListFiles", json!({"pattern": path}));
            if let Actual::Error { message, .. } = actual {
                let is_named = message.ends_with(&format!(": {path}"))
                    || message.starts_with(&format!("{path} is not"));
                assert!(is_named, "{message:?} for {path:?}");
            }
        }
    }
}
