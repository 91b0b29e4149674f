//! Code that recto's benchmarks and trials share. Nothing of it ships.

pub mod client;
pub mod process;
pub mod random;
pub mod servers;
pub mod table;

/// Returns the state directory of the servers that this process starts, which is not the developer's.
pub fn state_dir() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("recto-dev-{}", std::process::id()))
}

/// The result of a development tool, which only prints its errors.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
