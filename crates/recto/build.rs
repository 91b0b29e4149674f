//! Tells the linker to pack what the loader has to do at every start. Unpacked it is 360 KB that
//! each process reads and keeps mapped; packed it is a few.
//!
//! Loaders know the packed form since glibc 2.36. Where ours is older, or another, nothing is told.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_ours = std::env::var("HOST") == std::env::var("TARGET");
    if is_ours && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library that the program will find here, if it is glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
