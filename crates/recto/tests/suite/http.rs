//! `recto serve --http` from outside: both protocol eras, tokens, sessions, and clients that send
//! what no client library would.

mod bounds;
pub mod client;
mod examples;
mod journal;
mod lifetime;
mod protocol;
mod sessions;
mod slow;
mod tokens;
