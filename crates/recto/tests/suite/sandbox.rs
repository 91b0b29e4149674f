//! Paths that the sandbox must refuse, crossed with every tool of the built binary. Each check
//! compares everything that changed on disk with what may change.

mod deny_and_git;
mod escape_paths;
mod every_tool;
mod kinds;
mod names;
mod path_escapes;
mod permissions;
mod roots;
mod swaps_while_editing;
