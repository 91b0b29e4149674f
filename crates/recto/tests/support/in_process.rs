//! The tools over a directory or over files in memory, called in this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto::cli::parse_options;
use recto_store::local::Options;
use recto_store::memory::Node;
use recto_store::{GitRevisions, LocalStore, MemoryStore};
use recto_tools::call::{Call, Calls};
use recto_tools::{AnswerForm, Delivery, Served};
use serde_json::{Map, Value};

use crate::client::Actual;

/// Opens a store over a directory, with the options of a server.
pub fn local_store(root: &Path, options: &[String]) -> LocalStore {
    let config = parse_options(options).unwrap();
    LocalStore::open(Options {
        roots: vec![root.to_path_buf()],
        hidden: config.hidden,
        allows_git_writes: config.allows_git_writes,
        is_durable: false,
    })
    .unwrap()
}

/// Returns every tool over a store of a directory.
pub fn calls(root: &Path, options: &[String], store: LocalStore) -> Calls {
    let store = Arc::new(store);
    let revisions = Arc::new(GitRevisions::new(store.clone(), Vec::new()));
    let delivery = parse_options(options).unwrap().wire.for_client(None).delivery;
    Calls::new(store, revisions, Served::all(), root.to_path_buf(), delivery)
}

/// Returns every tool over files in memory, and the files.
pub fn in_memory(
    root: &Path,
    nodes: BTreeMap<PathBuf, Node>,
    max_bytes: usize,
) -> (Calls, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new(root, nodes, |_| false));
    let (tools, root) = (Served::all(), root.to_path_buf());
    let delivery = Delivery { form: AnswerForm::Both, max_bytes };
    (Calls::new(store.clone(), store.clone(), tools, root, delivery), store)
}

pub fn call(calls: &Calls, tool: &str, arguments: Map<String, Value>) -> Actual {
    let served = calls.served();
    Actual::of(calls.call(served.find(tool).unwrap(), arguments, &Call::default()), served)
}
