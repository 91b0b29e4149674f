//! The time limit of walks, also where nothing matches and several walks look for the reason.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use recto_store::path::AbsPath;
use recto_store::{
    BulkReader, Bytes, Context, FileStep, GitRevisions, Hold, ListRequest, Listing, LocalStore,
    Nearby, Removal, Result, Slot, StepError, Store, Text, Transaction, WriteStore,
};
use recto_tools::call::{Call, Calls};
use recto_tools::{AnswerForm, Delivery, Served};
use serde_json::json;

use crate::in_process::local_store;

/// A store whose walks find nothing, and stop from some walk on.
struct EmptyWalks {
    local: Arc<LocalStore>,
    deadlines: Mutex<Vec<Option<Instant>>>,
    n_complete: usize,
}

impl Store for EmptyWalks {
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>> {
        self.local.text(path, context)
    }
    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a> {
        self.local.bulk(context)
    }
    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        self.local.open(path, context)
    }
    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool> {
        self.local.is_file(path, context)
    }
    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf> {
        self.local.real_path(path, context)
    }
    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby {
        self.local.nearby(path, context)
    }
    fn list(&self, _: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        let mut deadlines = self.deadlines.lock().unwrap();
        deadlines.push(context.walk_deadline);
        let stopped = (deadlines.len() > self.n_complete).then_some("20 seconds");
        Ok(Listing { stopped, ..Listing::default() })
    }
}

impl WriteStore for EmptyWalks {
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>> {
        self.local.hold(path, context)
    }
    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>> {
        self.local.hold_new(path, context)
    }
    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>> {
        self.local.hold_to_remove(path, context)
    }
    fn transaction<'a>(
        &'a self,
        steps: &'a [FileStep<'a>],
        context: &'a Context,
    ) -> Result<Box<dyn Transaction + 'a>, Vec<StepError>> {
        self.local.transaction(steps, context)
    }
}

fn list(root: &Path, store: Arc<dyn WriteStore>, context: Context) -> String {
    let revisions = GitRevisions::new(Arc::new(local_store(root, &[])), Vec::new());
    let delivery = Delivery { form: AnswerForm::Both, max_bytes: 1 << 20 };
    let calls = Calls::new(store, Arc::new(revisions), Served::all(), root.to_path_buf(), delivery);
    let arguments = json!({"pattern": "**/*.none"}).as_object().unwrap().clone();
    let call = Call { context, ..Call::default() };
    calls.call(calls.served().find("ListFiles").unwrap(), arguments, &call).unwrap().head
}

#[test]
fn all_walks_of_a_call_that_finds_nothing_share_one_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    for n_complete in 0..=4 {
        let store = Arc::new(EmptyWalks {
            local: Arc::new(local_store(folder.path(), &[])),
            deadlines: Mutex::default(),
            n_complete,
        });
        let head = list(folder.path(), store.clone(), Context::default());
        assert_eq!(head.contains("stopped after 20 seconds"), n_complete < 4, "{head}");
        let deadlines = store.deadlines.lock().unwrap();
        assert_eq!(deadlines.len(), if n_complete == 0 { 1 } else { 4 });
        assert!(deadlines.iter().all(|deadline| deadline.is_some() && *deadline == deadlines[0]));
    }
}

#[test]
fn a_walk_stops_at_the_time_limit_of_its_call() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let context = Context { walk_deadline: Some(Instant::now()), ..Context::default() };
    let head = list(folder.path(), Arc::new(local_store(folder.path(), &[])), context);
    assert_eq!(head, "no file matches; stopped after 20 seconds; there may be more");
}
