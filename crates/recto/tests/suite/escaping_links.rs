//! Links that lead out of a root, for the tests of the sandbox and of the files toolset.

/// A name that exists outside, and one that does not.
const NAMES: [&str; 2] = ["secret.txt", "missing.txt"];

/// Links to a file `{name}` outside, and their targets.
const TO_FILES: [(&str, &str); 8] = [
    ("root/file-abs-{name}", "{base}/outside/{name}"),
    ("root/file-rel-{name}", "../outside/{name}"),
    ("root/sub/file-rel-{name}", "../../outside/{name}"),
    ("root/file-dots-{name}", "sub/deep/../../../outside/{name}"),
    ("root/file-past-{name}", "no/../../outside/{name}"),
    ("root/chain-1-{name}", "sub/chain-2-{name}"),
    ("root/sub/chain-2-{name}", "{base}/root/chain-3-{name}"),
    ("root/chain-3-{name}", "folder-rel/{name}"),
];

/// Links to directories outside.
const TO_DIRECTORIES: [(&str, &str); 9] = [
    ("root/folder-abs", "{base}/outside"),
    ("root/folder-rel", "../outside"),
    ("root/folder-slash", "../outside/"),
    ("root/up", ".."),
    ("root/top", "/"),
    ("root/sibling", "{base}/root-sibling"),
    ("root/sub/middle", "../../outside"),
    ("root/to-folder-rel", "folder-rel"),
    ("root/missing-folder", "../no-such-folder"),
];

/// Creates all links; `link` expands `{base}`.
pub fn lay(mut link: impl FnMut(&str, &str)) {
    lay_files(&TO_FILES, &mut link);
    for (below, target) in TO_DIRECTORIES {
        link(below, target);
    }
}

/// Creates links to a name that exists and to one that does not.
pub fn lay_files(links: &[(&str, &str)], mut link: impl FnMut(&str, &str)) {
    for name in NAMES {
        for (below, target) in links {
            link(&below.replace("{name}", name), &target.replace("{name}", name));
        }
    }
}
