//! The files toolset through the built binary: listing, searching and reading compared with
//! independent references, and attempts to leave the roots.

mod commits;
mod denied_paths;
mod disturbances;
mod forged_names;
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
mod several_roots;
mod swaps_while_listing;
mod trees;
mod walk_time;
