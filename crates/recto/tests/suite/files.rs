//! The files toolset from outside, through the built binary: listing, searching and reading
//! compared with references that share no code with them, and attacked by whoever wants out.

mod commits;
mod denied_paths;
mod disturbances;
mod globs;
mod growing;
mod inside;
mod large;
mod listing;
mod numbers;
mod outside_variants;
mod paging;
mod pattern_escapes;
mod rules;
mod search;
mod swaps_while_listing;
mod trees;
