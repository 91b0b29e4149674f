//! Code that recto's benchmarks and trials share. Nothing of it ships.

pub mod client;
pub mod process;
pub mod random;
pub mod servers;
pub mod table;

/// The result of a development tool, which only prints its errors.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
