//! `recto serve --http` from outside: both protocol eras, tokens, sessions, and clients that send
//! what no client library would.

mod bounds;
mod client;
mod lifetime;
mod protocol;
mod sessions;
mod tokens;
