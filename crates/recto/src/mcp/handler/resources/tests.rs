//! The URIs of files, and completed paths that lead to them.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use recto_store::local::Options;
use recto_store::{GitRevisions, LocalStore};
use recto_tools::{AnswerForm, Delivery, Served};

use super::*;

/// Serves directories.
fn served(roots: Vec<PathBuf>) -> Calls {
    let (hidden, allows_git_writes, is_durable) = Default::default();
    let options = Options { roots, hidden, allows_git_writes, is_durable };
    let store = Arc::new(LocalStore::open(options).unwrap());
    let mut roots = store.roots().into_iter();
    let (root, more_roots) = (roots.next().unwrap(), roots.collect());
    let revisions = Arc::new(GitRevisions::new(store.clone(), Vec::new()));
    let delivery = Delivery { form: AnswerForm::Text, max_bytes: 50_000 };
    Calls::new(store, revisions, Served::all(), root, delivery).with_more_roots(more_roots)
}

#[test]
fn the_start_of_a_roots_path_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    for name in ["m1/a.txt", "m1/sub/b.txt", "m2/c.txt", "outside/d.txt"] {
        std::fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        std::fs::write(dir.join(name), "").unwrap();
    }
    let dir = dir.to_str().unwrap();
    let check = |calls: &Calls, start: &str, expected: &[&str]| {
        let expected: Vec<_> = expected.iter().map(|name| format!("{dir}/{name}")).collect();
        let completed = complete(calls, start, Sandbox::default());
        assert_eq!(completed.values, expected, "{start}");
        assert_eq!(completed.total, Some(expected.len() as u32), "{start}");
        assert_eq!(completed.has_more, Some(false), "{start}");
    };
    let one = served(vec![format!("{dir}/m1").into()]);
    let of_one = ["m1/a.txt", "m1/sub/b.txt"];
    for start in ["/", &dir[..2], dir, &format!("{dir}/"), &format!("{dir}/m")] {
        check(&one, start, &of_one);
    }
    check(&one, &format!("{dir}/m1"), &of_one);
    check(&one, &format!("{dir}/m1/"), &of_one);
    check(&one, &format!("{dir}/m1/s"), &of_one[1..]);
    for start in ["/none", &format!("{dir}/m2"), &format!("{dir}/out"), &format!("{dir}x")] {
        check(&one, start, &[]);
    }
    let both = served(vec![format!("{dir}/m1").into(), format!("{dir}/m2").into()]);
    check(&both, "/", &["m1/a.txt", "m1/sub/b.txt", "m2/c.txt"]);
    check(&both, &format!("{dir}/m"), &["m1/a.txt", "m1/sub/b.txt", "m2/c.txt"]);
    check(&both, &format!("{dir}/m1"), &of_one);
    check(&both, &format!("{dir}/m2"), &["m2/c.txt"]);
    check(&both, &format!("{dir}/m2/c"), &["m2/c.txt"]);
    check(&both, &format!("{dir}/out"), &[]);
}

#[test]
fn a_completed_path_leads_to_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["100 .txt", "100%.txt", "100%20.txt", "C#Lib.txt", "a", "a#L2", "a#L2#L3"];
    for name in names {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    let calls = served(vec![dir.path().into()]);
    let values = |start: &str| complete(&calls, start, Sandbox::default()).values;
    let all = values("");
    assert_eq!(all.len(), names.len());
    for (value, name) in all.iter().zip(names) {
        let call = Call { id: None, context: Context::default() };
        let read = read(&calls, &format!("file://{value}"), &call).unwrap();
        let expected = ResourceContents::text(name, format!("file://{value}"));
        assert_eq!(read.contents, [expected], "{value}");
        // What was completed can be completed again.
        assert!(values(value).contains(value), "{value}");
    }
    // A start that a user types, and one that was completed.
    let escaped = format!("{}/100%2520.txt", calls.root().display());
    assert_eq!(values("100%2"), [&*escaped]);
    assert_eq!(values("100%252"), [&*escaped]);
}

#[test]
fn uris_are_absolute_paths_with_a_line() {
    let check = |uri: &str, path: &str, line| {
        assert_eq!(FileUri::parse(uri).unwrap(), FileUri { path: path.into(), line }, "{uri}");
    };
    check("file:///a/b.rs", "/a/b.rs", None);
    check("file://localhost/a", "/a", None);
    check("file:///a%20b%C3%A9#L7", "/a bé", Some(7));
    check("file:///a b%", "/a b%", None);
    check("file:///C#Lib.txt", "/C#Lib.txt", None);
    check("file:///C#Lib.txt#L7", "/C#Lib.txt", Some(7));
    check("file:///a#L", "/a#L", None);
    check("file:///a#L+7", "/a#L+7", None);
    check(&uri_from("/a b/é#L1", 9), "/a b/é#L1", Some(9));
    let too_large = format!("file:///a#L{}0", u64::MAX);
    for uri in ["/a", "file:a", "file://host/a", "http:///a", &too_large, "file:///%FF"] {
        assert!(FileUri::parse(uri).is_err(), "{uri}");
    }
}
