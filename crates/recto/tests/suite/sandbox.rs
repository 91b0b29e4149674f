//! Paths that the sandbox must reject, combined with every tool of the built binary. Each check
//! compares all changes on disk with the permitted ones.

mod deny_and_git;
mod depth;
mod escape_paths;
mod every_tool;
mod kinds;
mod moved_while_waiting;
mod names;
mod path_escapes;
mod permissions;
mod roots;
mod swaps_while_editing;
