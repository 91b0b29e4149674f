//! The sandbox from outside: paths that must not lead anywhere, crossed with every tool of the
//! built binary. Every table ends with the same question: what changed, and was it only that?

mod deny_and_git;
mod escape_paths;
mod every_tool;
mod kinds;
mod names;
mod path_escapes;
mod permissions;
mod roots;
mod swaps_while_editing;
