//! The protocol from outside: lines that no client library would send, limits, lifetimes, and the
//! contents of `tools/list`.

mod backpressure;
mod clients;
mod codex;
mod handshake;
mod lifetime;
mod listing;
mod malformed;
mod resources;
mod results;
