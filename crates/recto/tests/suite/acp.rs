//! `recto acp` as an editor and an agent see it: the built binary between a scripted editor and a
//! scripted agent, and the link alone.

mod changes;
mod ends;
mod inject;
mod kills;
mod leftovers;
mod link;
mod messages;
mod parallel;
mod permission;
mod proxy;
mod servers;
mod titles;
mod undo;
mod version2;
