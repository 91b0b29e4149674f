//! Test directories that differ only outside the root: full of files, empty, and full of entries
//! that are not files. A server must answer the same in all of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use recto_text::quote::Quoted;
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::Value;

use crate::client::Actual;
use crate::confinement::Confinement;
use crate::escaping_links;
use crate::test_dir::{INSIDE, OUTSIDE, Session, TestDir, rows, said, strings};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Files,
    Nothing,
    /// Directories in place of files, and pipes and loops in place of directories.
    Strange,
}

/// Directories outside, each with a name that may be queried and one that must not be revealed.
const PLACES: [&str; 5] = ["", "outside/", "outside/deep/", "root-sibling/", "roo/"];

/// Kernel pseudo-files that reach outside.
pub const PSEUDO_FILES: [&str; 10] = [
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/self/mem",
    "/proc/self/root",
    "/proc/self/cwd",
    "/proc/self/no-such-file",
    "/dev/null",
    "/dev/stdin",
    "/dev/fd/0",
    "/dev/no-such-device",
];

/// Creates a directory whose root is the same in every variant.
fn variant(outside: Outside) -> TestDir {
    let dir = TestDir::new();
    for below in ["inside.txt", "sub/inside.txt", "sub/deep/f.txt"] {
        dir.file(&format!("root/{below}"), INSIDE);
    }
    let link = |below: &str, target: &str| {
        dir.link(below, target);
    };
    escaping_links::lay(link);
    escaping_links::lay_files(&[("root/file-proc-{name}", "/proc/self/root/outside/{name}")], link);
    dir.link("root/back", "../outside/back/inside.txt")
        .link("root/back-folder", "{base}/outside/back")
        .link("root/to-deep", "sub/deep")
        .link("root/to-file", "inside.txt")
        .link("root/proc", "/proc")
        .link("root/by-proc", "/proc/self/root{base}/root");
    for (index, door) in PSEUDO_FILES.iter().enumerate() {
        dir.link(&format!("root/door-{index}"), door);
    }
    symlink(OsStr::from_bytes(b"../outside/\xff"), dir.path("root/to-bytes")).unwrap();
    symlink(OsStr::from_bytes(b"../\xff/../outside"), dir.path("root/by-bytes")).unwrap();
    extend(&dir, outside);
    dir
}

fn extend(dir: &TestDir, outside: Outside) {
    match outside {
        Outside::Nothing => {}
        Outside::Files => {
            for place in PLACES {
                dir.file(&format!("{place}secret.txt"), OUTSIDE);
                dir.file(&format!("{place}hush.txt"), OUTSIDE);
            }
            dir.link("outside/back", "{base}/root");
            let bytes = OsStr::from_bytes(b"outside/\xff");
            std::fs::write(dir.path(bytes), OUTSIDE).unwrap();
            std::fs::create_dir(dir.path(OsStr::from_bytes(b"\xff"))).unwrap();
        }
        Outside::Strange => {
            dir.file("outside/secret.txt/hush.txt", OUTSIDE).file("secret.txt/hush.txt", OUTSIDE);
            let mode = Mode::from_raw_mode(0o666);
            mkfifoat(CWD, dir.path("outside/deep"), mode).unwrap();
            mkfifoat(CWD, dir.path("root-sibling"), mode).unwrap();
            dir.link("roo", "roo").link("outside/back", "back");
            dir.file("ROOT", OUTSIDE);
        }
    }
}

/// The variants with their servers.
pub struct OutsideVariants(pub Vec<(TestDir, Session)>);

impl OutsideVariants {
    /// Creates the variants, with every layer of confinement.
    pub fn new() -> OutsideVariants {
        OutsideVariants::with(|_| ())
    }

    /// The same, with more files inside each.
    pub fn with(extend: impl Fn(&TestDir)) -> OutsideVariants {
        OutsideVariants::under(Confinement::Full, extend)
    }

    /// Returns the variants under each kind of confinement in turn.
    pub fn each() -> impl Iterator<Item = OutsideVariants> {
        Confinement::ALL.into_iter().map(|confinement| OutsideVariants::under(confinement, |_| ()))
    }

    fn under(confinement: Confinement, extend: impl Fn(&TestDir)) -> OutsideVariants {
        let variants = [Outside::Files, Outside::Nothing, Outside::Strange].map(|outside| {
            let dir = variant(outside);
            extend(&dir);
            let command = confinement.serve(&dir.path("root"), &[""; 0]);
            (dir, Session::start_command(command.into()))
        });
        OutsideVariants(variants.into())
    }

    /// Makes a call in every variant; returns all answers as text, and the first one.
    pub fn call(&self, tool: &str, arguments: &Value) -> (String, Actual) {
        let mut first = None;
        for (dir, session) in &self.0 {
            let actual = session.call(tool, at(dir, arguments));
            let told = said(&actual).replace(dir.base(), "{base}");
            assert!(!told.contains("hush"), "{tool} {arguments} revealed {told}");
            assert!(!told.contains("root:x:0"), "{tool} {arguments} revealed {told}");
            match &first {
                None => first = Some((told, actual)),
                Some((same, _)) => assert_eq!(told, *same, "{tool} {arguments}"),
            }
        }
        first.unwrap()
    }

    /// Checks that every variant rejects a path outside.
    pub fn check_denied(&self, tool: &str, arguments: &Value) {
        let (told, actual) = self.call(tool, arguments);
        match &actual {
            Actual::Error { code: -32002, message, hint: Some(hint) } => {
                let (dir, _) = &self.0[0];
                let path = path_of(&at(dir, arguments));
                assert_eq!(*message, format!("Permission denied: {}", Quoted(&path)));
                let root = dir.spelled("root");
                assert_eq!(*hint, format!("Only files under these roots are accessible: {root}"));
            }
            _ => panic!("{tool} {arguments} revealed {told}"),
        }
    }

    /// Checks a pattern that may be rejected or match files inside.
    pub fn check_inside(&self, tool: &str, arguments: &Value) {
        let (told, actual) = self.call(tool, arguments);
        let (dir, _) = &self.0[0];
        let structured = match actual {
            Actual::Answer { structured, .. } => structured,
            Actual::Error { code: -32600, .. } => return,
            Actual::Error { code: -32003..=-32001, .. } => return,
            Actual::Error { .. } => panic!("{tool} {arguments} revealed {told}"),
        };
        let files = match tool {
            "ListFiles" => strings(&structured["files"]),
            _ => rows(&structured).into_iter().map(|(path, ..)| path).collect(),
        };
        for file in files {
            let real = std::fs::canonicalize(&file).unwrap();
            assert!(real.starts_with(dir.path("root")), "{tool} {arguments} revealed {told}");
            assert_eq!(std::fs::read_to_string(real).unwrap(), INSIDE);
        }
    }
}

/// Expands `{base}`; a path without it is below the directory, unless it starts with `/`.
fn expanded(dir: &TestDir, path: &str) -> String {
    dir.spelled(&path.replace("{base}", dir.base()))
}

fn path_of(arguments: &Value) -> String {
    let path = arguments.get("pattern").or(arguments.get("file_path"));
    path.unwrap().as_str().unwrap().to_string()
}

fn at(dir: &TestDir, arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    for name in ["pattern", "file_path"] {
        if let Some(path) = arguments.get(name).and_then(Value::as_str) {
            arguments[name] = expanded(dir, path).into();
        }
    }
    arguments
}
