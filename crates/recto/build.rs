//! Packs relative relocations (DT_RELR). Unpacked they are 360 KB that every process reads and keeps
//! mapped; packed they are a few.
//!
//! Only for native builds with glibc 2.36 or newer, whose loader supports the packed form, and with
//! the default linker: another one may link for an older glibc.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_native = std::env::var("HOST") == std::env::var("TARGET")
        && std::env::var_os("RUSTC_LINKER").is_none();
    if is_native && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of this system's C library, if it is glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
