//! Requests that need input of the client first, in one or several rounds.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use rmcp::model::{
    ClientCapabilities, ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::{Value, json};

/// What a client must answer at once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Round {
    requests: BTreeMap<String, Value>,
    #[serde(default)]
    has_state: bool,
}

/// What a request answers.
pub struct Inputs {
    pub responses: Option<InputResponses>,
    pub state: Option<String>,
}

/// Signs states, so that a client cannot invent one.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

fn state(name: &str, round: usize) -> String {
    format!("{round}-{:016x}", KEY.hash_one((name, round)))
}

impl Inputs {
    /// Returns the client's answers as text once it has answered all rounds, else what it must
    /// answer next.
    pub fn answer(
        self,
        name: &str,
        rounds: &[Round],
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<String, InputRequiredResult>, ErrorData> {
        let current = match &self.state {
            None => 0,
            Some(sent) => (0..rounds.len())
                .find(|round| state(name, *round) == *sent)
                .ok_or_else(|| ErrorData::invalid_params("requestState was changed", None))?,
        };
        let responses = self.responses.unwrap_or_default();
        let is_answered = |round: &Round| {
            let is_object = |key| responses.get(key).is_some_and(Value::is_object);
            round.requests.keys().all(is_object)
        };
        let next = match rounds.get(current) {
            Some(round) if is_answered(round) => current + 1,
            _ => current,
        };
        match rounds.get(next) {
            Some(round) => required(round, state(name, next), context).map(Err),
            None => Ok(Ok(json!(responses).to_string())),
        }
    }
}

/// Returns the requests of a round that the client has declared to support.
fn required(
    round: &Round,
    state: String,
    context: &RequestContext<RoleServer>,
) -> Result<InputRequiredResult, ErrorData> {
    let declared = context.client_capabilities().unwrap_or_default();
    let is_supported = |request: &Value| match request["method"].as_str() {
        Some("elicitation/create") => declared.elicitation.is_some(),
        Some("sampling/createMessage") => declared.sampling.is_some(),
        _ => declared.roots.is_some(),
    };
    let requests: InputRequests = round
        .requests
        .iter()
        .filter(|(_, request)| is_supported(request))
        .map(|(key, request)| {
            let request: InputRequest =
                serde_json::from_value(request.clone()).expect("it is a request for input");
            (key.clone(), request)
        })
        .collect();
    if requests.is_empty() {
        let needed = ClientCapabilities::builder().enable_sampling().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    Ok(InputRequiredResult::new(Some(requests), round.has_state.then_some(state)))
}
