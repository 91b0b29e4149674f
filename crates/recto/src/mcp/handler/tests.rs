//! The handler on a transport of `rmcp` in memory, without a pipe or a process.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use serde_json::json;

use recto_tools::delivery::{AnswerForm, Delivery};

use super::*;
use recto_store::memory::{MemoryStore, Node};

/// A handler that runs one call at a time on one file.
fn handler(content: &str) -> Handler {
    let root = Path::new("/served");
    let nodes = BTreeMap::from([(root.join("a.txt"), Node::File(content.into()))]);
    let store = Arc::new(MemoryStore::new(root, nodes, |_| false));
    let delivery = Delivery { form: AnswerForm::Both, max_bytes: 2 << 20 };
    let calls = Calls::new(store.clone(), store, Served::all(), root.into(), delivery);
    let wire = Wire { max_answer_bytes: Some(2 << 20), ..Wire::default() };
    Handler::new(calls, wire, "Reads files.".into(), 1)
}

async fn check_serves(lifecycle: ClientLifecycleMode) {
    // Long enough for the special case of `stdio::json`.
    let content = "a \"line\"\n".repeat(10_000);
    let (ours, theirs) = tokio::io::duplex(4096);
    let handler = handler(&content);
    let serving = tokio::spawn(async move { handler.serve(ours).await.unwrap().waiting().await });
    let client = ().serve_with_lifecycle(theirs, lifecycle).await.unwrap();

    let listed = client.list_all_tools().await.unwrap();
    let names: Vec<_> = listed.iter().map(|tool| &*tool.name).collect();
    let served: Vec<_> = recto_tools::tools::ALL.iter().map(|tool| tool.name).collect();
    assert_eq!(names, served);

    // The second call needs the only slot, which the first has freed.
    for _ in 0..2 {
        let arguments = json!({"path": "/served/a.txt"}).as_object().unwrap().clone();
        let call = CallToolRequestParams::new("read_text_file").with_arguments(arguments);
        let result = client.call_tool(call).await.unwrap();
        assert_eq!(result.content[1].as_text().unwrap().text, content);
        assert_eq!(result.structured_content.unwrap()["content"], content);
    }

    client.cancel().await.unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn serves_over_any_transport_with_a_handshake() {
    check_serves(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn serves_over_any_transport_without_a_handshake() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    check_serves(ClientLifecycleMode::Discover { preferred_versions }).await;
}
