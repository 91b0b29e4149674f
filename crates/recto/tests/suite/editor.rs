//! An editor between the tools and the disk: whose text is read, where a change ends up, and what
//! is said about it.

mod checks;
mod cut_link;
mod fallback;
mod habits;
mod parallel;
mod unsaved;
