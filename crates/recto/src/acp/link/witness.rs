//! Sends the [`updates`](crate::acp::updates) of calls to the editor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use super::LinkClient;
use crate::acp::updates;
use recto_store::sync::lock;
use recto_tools::call::{Witness, Witnessed};
use recto_tools::tools::Answer;

/// Reports every call to the editor.
pub struct LinkWitness {
    link: Arc<LinkClient>,
    unnamed: Mutex<Unnamed>,
}

/// Calls without a client's id. Each is assigned an id, which is stored by thread from the call's
/// start to its end; a call stays on one thread.
struct Unnamed {
    /// Starts at a random number, because a session may have several servers.
    last: u64,
    running: HashMap<ThreadId, String>,
}

impl LinkWitness {
    /// Creates a witness that reports over `link`.
    pub fn new(link: Arc<LinkClient>) -> LinkWitness {
        let start = u32::from_be_bytes(recto_platform::random_bytes().unwrap_or_default());
        let unnamed = Unnamed { last: u64::from(start) << 20, running: HashMap::new() };
        LinkWitness { link, unnamed: Mutex::new(unnamed) }
    }
}

impl Witness for LinkWitness {
    fn started(&self, call: &Witnessed<'_>) {
        let id = call.id.map(String::from).unwrap_or_else(|| {
            let mut unnamed = lock(&self.unnamed);
            unnamed.last += 1;
            let id = updates::own_id(unnamed.last);
            unnamed.running.insert(std::thread::current().id(), id.clone());
            id
        });
        self.link.update(updates::started(&id, call));
    }

    fn finished(&self, call: &Witnessed<'_>, result: &recto_tools::Result<Answer>) {
        let id = call.id.map(String::from).or_else(|| {
            let mut unnamed = lock(&self.unnamed);
            unnamed.running.remove(&std::thread::current().id())
        });
        if let Some(id) = id {
            self.link.update(updates::finished(&id, call, result));
        }
    }
}
