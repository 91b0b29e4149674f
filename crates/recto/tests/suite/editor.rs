//! An editor between the tools and the disk: whose text is read, where a change ends up, and what
//! is said about it.

pub mod rows;

mod checks;
mod cut_link;
mod desk;
mod fallback;
mod habits;
mod parallel;
mod script;
mod unsaved;
