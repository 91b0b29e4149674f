//! The protocol from outside: lines that no client library would send, limits, lifetimes, and
//! what the lists of tools promise.

mod backpressure;
mod codex;
mod handshake;
mod lifetime;
mod listing;
mod malformed;
mod results;
