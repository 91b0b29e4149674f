//! The files toolset from outside, through the built binary: listing, searching and reading
//! compared with references that share no code with them, and attacked by whoever wants out.

mod commits;
mod disturbances;
mod escapes;
mod globs;
mod growing;
mod hidden;
mod inside;
mod large;
mod listing;
mod numbers;
mod paging;
mod rules;
mod search;
mod swap;
mod trees;
mod worlds;
pub mod yard;
