//! The sandbox from outside: paths that must not lead anywhere, crossed with every tool of the
//! built binary. Every table ends with the same question: what changed, and was it only that?

mod escapes;
mod every_tool;
mod hidden;
mod kinds;
mod names;
mod permissions;
mod playground;
mod roots;
mod swap;
mod ways;
