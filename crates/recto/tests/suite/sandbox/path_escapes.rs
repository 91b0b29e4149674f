//! Paths that escape a root: `..`, links in every position, `/proc` and `/dev`.

use crate::escaping_links;
use crate::sandbox_fixture::Expected::*;
use crate::sandbox_fixture::{SandboxFixture, missing, opens, outside, rows};

#[test]
fn a_path_that_does_not_start_at_the_root_is_outside() {
    let fixture = SandboxFixture::new();
    fixture.link("outside/back", "{base}/root");
    let mut table = outside(&[
        "root-sibling/{t}",
        "roo/{t}",
        "{t}",
        "outside/{t}",
        "outside/no/{t}",
        "ROOT/inside.txt",
        // Inside, but through a directory outside.
        "outside/back/inside.txt",
        "outside/../root/inside.txt",
        "/",
        "/etc",
        "/etc/passwd",
        "/etc/no-such-file",
        "//etc/passwd",
        "/proc/self/environ",
        "/proc/self/no-such-file",
        "/proc/self/fd/0",
        "/proc/self/cwd/inside.txt",
        "/proc/thread-self/comm",
        "/dev/null",
        "/dev/zero",
        "/dev/stdin",
        "/dev/fd/0",
        "/no/such/folder/at/all",
    ]);
    for inside in ["root/inside.txt", "outside/secret.txt", "outside/missing.txt"] {
        table.push((format!("/proc/self/root{}", fixture.spelled(inside)), Outside));
    }
    fixture.check(&[], &table);
}

#[test]
fn dots_do_not_escape_the_root() {
    let fixture = SandboxFixture::new();
    fixture.link("root/to-deep", "sub/deep").link("root/to-file", "inside.txt");
    fixture.check(
        &[],
        &outside(&[
            "root/..",
            "root/../",
            "root/../..",
            "root/sub/../..",
            "root/../{t}",
            "root/../outside/{t}",
            "root/../root-sibling/{t}",
            "root/./../outside/{t}",
            "root//..//outside/{t}",
            "root/sub/../../outside/{t}",
            "root/sub/deep/../../../outside/{t}",
            "root/sub/../sub/../../outside/{t}",
            // Past a component that does not exist or is not a directory.
            "root/no/../../outside/{t}",
            "root/no/such/../../../outside/{t}",
            "root/sub/no/../../../outside/{t}",
            "root/inside.txt/../../outside/{t}",
            // Past a link, where `..` is that of its target.
            "root/to-deep/../../../outside/{t}",
            "root/to-file/../../outside/{t}",
            // Out and back in again.
            "root/../root/inside.txt",
            "root/sub/../../root/inside.txt",
            "root/no/../../root/inside.txt",
        ]),
    );
}

#[test]
fn dots_inside_the_root_resolve_as_in_the_kernel() {
    let fixture = SandboxFixture::new();
    fixture.link("root/to-deep", "sub/deep").link("root/sub/to-root", "..");
    let table = rows([
        ("root/sub/../inside.txt", opens("root/inside.txt")),
        ("root/sub/deep/../../inside.txt", opens("root/inside.txt")),
        ("root/to-deep/../inside.txt", opens("root/sub/inside.txt")),
        ("root/to-deep/../../inside.txt", opens("root/inside.txt")),
        ("root/sub/to-root/inside.txt", opens("root/inside.txt")),
        ("root/sub/to-root/sub/to-root/sub/inside.txt", opens("root/sub/inside.txt")),
        ("root/sub/..", Directory),
        ("root/to-deep/..", Directory),
        ("root/no/../inside.txt", NoParent),
        ("root/inside.txt/../inside.txt", NoParent),
    ]);
    fixture.check(&[], &table);
}

#[test]
fn links_do_not_escape_the_root() {
    let fixture = SandboxFixture::new();
    let link = |below: &str, target: &str| {
        fixture.link(below, target);
    };
    escaping_links::lay(link);
    escaping_links::lay_files(&[("root/file-proc-{name}", "/proc/self/root/outside/{name}")], link);
    fixture.link("root/back", "../outside/back/inside.txt").link("outside/back", "{base}/root");
    fixture.check(
        &[],
        &outside(&[
            "root/file-abs-{t}",
            "root/file-rel-{t}",
            "root/sub/file-rel-{t}",
            "root/file-dots-{t}",
            "root/file-past-{t}",
            "root/file-proc-{t}",
            "root/chain-1-{t}",
            "root/folder-abs",
            "root/folder-abs/{t}",
            "root/folder-abs/deep/{t}",
            "root/folder-abs/no/{t}",
            "root/folder-abs/../root/inside.txt",
            "root/folder-rel",
            "root/folder-rel/{t}",
            "root/folder-rel/deep/{t}",
            "root/folder-slash/{t}",
            "root/up",
            "root/up/{t}",
            "root/up/outside/{t}",
            "root/top",
            "root/top/etc/passwd",
            "root/sibling/{t}",
            "root/sub/middle/{t}",
            "root/sub/middle/deep/{t}",
            "root/sub/../sub/middle/{t}",
            "root/to-folder-rel/{t}",
            "root/missing-folder",
            "root/missing-folder/{t}",
            // The target is inside, but the path leaves the root.
            "root/back",
        ]),
    );
}

#[test]
fn magic_links_in_proc_and_dev_do_not_open() {
    let fixture = SandboxFixture::new();
    let doors = [
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/proc/self/mem",
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/self/no-such-file",
        "/dev/null",
        "/dev/zero",
        "/dev/stdin",
        "/dev/fd/0",
        "/dev/no-such-device",
    ];
    let mut table = Vec::new();
    for (index, door) in doors.into_iter().enumerate() {
        fixture.link(&format!("root/door-{index}"), door);
        table.push((format!("root/door-{index}"), Outside));
        table.push((format!("root/door-{index}/etc/passwd"), Outside));
    }
    fixture.link("root/proc", "/proc").link("root/dev", "/dev");
    table.extend(outside(&["root/proc/self/environ", "root/proc/version", "root/dev/null"]));
    fixture.link("root/inside-by-proc", &format!("/proc/self/root{}", fixture.spelled("root")));
    table.extend(outside(&["root/inside-by-proc/inside.txt"]));
    fixture.check(&[], &table);
}

#[test]
fn links_that_stay_inside_work_and_stay_links() {
    let fixture = SandboxFixture::new();
    fixture
        .link("root/rel", "sub/inside.txt")
        .link("root/abs", "{base}/root/sub/inside.txt")
        .link("root/sub/up", "../inside.txt")
        .link("root/folder", "sub")
        .link("root/folder-abs", "{base}/root/sub")
        .link("root/folder-slash", "sub/")
        .link("root/here", ".")
        .link("root/chain-1", "chain-2")
        .link("root/chain-2", "{base}/root/folder/chain-3")
        .link("root/sub/chain-3", "deep/../inside.txt")
        .link("root/new", "sub/new.txt")
        .link("root/new-abs", "{base}/root/new.txt")
        .link("root/new-chain", "new")
        .link("root/new-in-no-folder", "no/new.txt")
        // Out of the root and straight back: the target stays inside.
        .link("root/by-parent", "../root/inside.txt")
        .link("root/sub/by-parent", "../../root/inside.txt");
    let table = rows([
        ("root/rel", opens("root/sub/inside.txt")),
        ("root/abs", opens("root/sub/inside.txt")),
        ("root/sub/up", opens("root/inside.txt")),
        ("root/folder/inside.txt", opens("root/sub/inside.txt")),
        ("root/folder-abs/inside.txt", opens("root/sub/inside.txt")),
        ("root/folder-slash/inside.txt", opens("root/sub/inside.txt")),
        ("root/folder/../inside.txt", opens("root/inside.txt")),
        ("root/here/here/here/inside.txt", opens("root/inside.txt")),
        ("root/chain-1", opens("root/sub/inside.txt")),
        ("root/by-parent", opens("root/inside.txt")),
        ("root/sub/by-parent", opens("root/inside.txt")),
        ("root/folder", Directory),
        ("root/here", Directory),
        // Dangling inside: a write creates the target, not a file in place of the link.
        ("root/new", missing("root/sub/new.txt")),
        ("root/new-abs", missing("root/new.txt")),
        ("root/new-chain", missing("root/sub/new.txt")),
        ("root/folder/fresh.txt", missing("root/sub/fresh.txt")),
        ("root/new-in-no-folder", LinkWithoutParent("no")),
    ]);
    fixture.check(&[], &table);
}

#[test]
fn links_that_climb_above_the_root_and_come_back_work() {
    let fixture = SandboxFixture::new();
    let base_name = fixture.path("").file_name().unwrap().to_str().unwrap().to_string();
    fixture
        .link("root/twice", &format!("../../{base_name}/root/inside.txt"))
        .link("root/sub/twice", &format!("../../../{base_name}/root/sub/inside.txt"))
        .link("root/dotted", "{base}/root/../root/inside.txt");
    let table = rows([
        ("root/twice", opens("root/inside.txt")),
        ("root/sub/twice", opens("root/sub/inside.txt")),
        ("root/dotted", opens("root/inside.txt")),
    ]);
    fixture.check(&[], &table);
}

/// If a link's own path contains another link, `..` is relative to that link's target.
#[test]
fn dots_in_a_link_target_resolve_as_in_the_kernel() {
    let fixture = SandboxFixture::new();
    fixture
        .file("elsewhere/outside/secret.txt")
        .file("elsewhere/root/inside.txt")
        .link("root/to-deep", "sub/deep")
        .link("root/rel", "to-deep/../inside.txt")
        .link("root/abs", "{base}/root/to-deep/../inside.txt")
        .link("root/by-parent", "../root/to-deep/../inside.txt")
        .link("root/sub/by-parent", "../../root/to-deep/../inside.txt")
        // For the kernel this is `elsewhere/root/inside.txt`.
        .link("outside/away", "{base}/elsewhere/outside")
        .link("root/by-outside", "../outside/away/../root/inside.txt")
        .link("root/by-outside-twice", "../outside/away/../../root/inside.txt")
        .link("root/by-outside-abs", "{base}/outside/away/../../root/inside.txt");
    let table = rows([
        ("root/rel", opens("root/sub/inside.txt")),
        ("root/abs", opens("root/sub/inside.txt")),
        ("root/by-parent", opens("root/sub/inside.txt")),
        ("root/sub/by-parent", opens("root/sub/inside.txt")),
        ("root/by-outside", Outside),
        ("root/by-outside-twice", Outside),
        ("root/by-outside-abs", Outside),
    ]);
    fixture.check(&[], &table);
}

#[test]
fn link_loops_are_rejected() {
    let fixture = SandboxFixture::new();
    fixture
        .link("root/self", "self")
        .link("root/self-abs", "{base}/root/self-abs")
        .link("root/one", "two")
        .link("root/two", "one")
        .link("root/deep-1", "sub/deep-2")
        .link("root/sub/deep-2", "../deep-3")
        .link("root/deep-3", "{base}/root/deep-1")
        .link("root/growing", "growing/growing")
        .link("root/through-parent", "../root/through-parent");
    let table = rows([
        ("root/self", NotAFile),
        ("root/self/x", NotAFile),
        ("root/self-abs", NotAFile),
        ("root/one", NotAFile),
        ("root/two/../inside.txt", NotAFile),
        ("root/deep-1", NotAFile),
        ("root/growing", NotAFile),
        ("root/through-parent", NotAFile),
    ]);
    fixture.check(&[], &table);
}

#[test]
fn at_most_forty_links_are_followed() {
    let fixture = SandboxFixture::new();
    fixture.link("root/link-1", "inside.txt").link("root/out-1", "../outside/secret.txt");
    for n in 2..=41 {
        fixture
            .link(&format!("root/link-{n}"), &format!("link-{}", n - 1))
            .link(&format!("root/out-{n}"), &format!("out-{}", n - 1));
    }
    let table = rows([
        ("root/link-40", opens("root/inside.txt")),
        ("root/link-41", NotAFile),
        ("root/out-40", Outside),
        ("root/out-41", NotAFile),
    ]);
    fixture.check(&[], &table);
}
