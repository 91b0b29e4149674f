//! An editor between the tools and the disk: which text is read, where a change is written, and
//! which notes the answer has.

mod checks;
mod cut_link;
mod fallback;
mod habits;
mod parallel;
mod unsaved;
