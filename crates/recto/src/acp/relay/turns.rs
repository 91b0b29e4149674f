//! What each session is about: its model, and the first line of the user's last prompt. Only kept with
//! `--journal-titles`.

use std::collections::HashMap;
use std::sync::Mutex;

use recto_store::record::Turn;
use recto_store::sync::lock;
use serde::Deserialize;
use serde_json::Value;

use super::peek::Peek;

/// The most sessions that are remembered.
const MAX_SESSIONS: usize = 1000;

/// The most bytes of a title and of the name of a model.
const MAX_TEXT: usize = 200;

/// The turns of all sessions.
#[derive(Default)]
pub struct Turns {
    is_kept: bool,
    sessions: Mutex<HashMap<String, SessionTurn>>,
}

#[derive(Default)]
struct SessionTurn {
    turn: Turn,
    /// The id of the option that selects the model.
    model_option: Option<String>,
}

/// The parameters of the editor's requests that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnParams {
    session_id: String,
    #[serde(default)]
    prompt: Vec<Value>,
    model_id: Option<String>,
    config_id: Option<String>,
    #[serde(default)]
    value: Value,
}

impl Turns {
    /// Keeps turns, or nothing.
    pub fn new(is_kept: bool) -> Turns {
        Turns { is_kept, ..Turns::default() }
    }

    /// Returns whether a method of the editor starts a turn or selects a model.
    pub fn concern(&self, method: &str) -> bool {
        let methods = ["session/prompt", "session/set_model", "session/set_config_option"];
        self.is_kept && methods.contains(&method)
    }

    /// Returns the current turn of a session.
    pub fn of(&self, session: &str) -> Turn {
        lock(&self.sessions).get(session).map(|found| found.turn.clone()).unwrap_or_default()
    }

    /// Reads a request of the editor.
    pub fn read_request(&self, request: &Peek<'_>) {
        let Some(params) = request.params else { return };
        let Ok(params) = serde_json::from_str::<TurnParams>(params.get()) else { return };
        self.update(&params.session_id, |session| match request.method.as_deref() {
            Some("session/prompt") => session.turn.title = title(&params.prompt),
            Some("session/set_model") => session.turn.model = params.model_id.as_deref().map(cut),
            _ if params.config_id.is_some() && params.config_id == session.model_option => {
                session.turn.model = params.value.as_str().map(cut);
            }
            _ => {}
        });
    }

    /// Reads the models and options that the agent reports for a session.
    pub fn read_models(&self, session: &str, reported: &Value) {
        if !self.is_kept {
            return;
        }
        let is_model = |option: &&Value| option["category"] == "model" || option["id"] == "model";
        let options = reported["configOptions"].as_array();
        let option = options.and_then(|options| options.iter().find(is_model));
        let text = |value: &Value| value.as_str().map(cut);
        let selected = option.and_then(|option| text(&option["currentValue"]));
        let model = selected.or_else(|| text(&reported["models"]["currentModelId"]));
        let Some(model) = model else { return };
        self.update(session, |known| {
            known.turn.model = Some(model);
            known.model_option = option.and_then(|option| text(&option["id"]));
        });
    }

    /// Reads a notification of the agent.
    pub fn read_event(&self, event: &Value) {
        let update = &event["params"]["update"];
        if let ("config_option_update", Some(session)) = (
            update["sessionUpdate"].as_str().unwrap_or_default(),
            event["params"]["sessionId"].as_str(),
        ) {
            self.read_models(session, update);
        }
    }

    fn update(&self, session: &str, update: impl FnOnce(&mut SessionTurn)) {
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(session) {
            sessions.clear();
        }
        update(sessions.entry(session.to_string()).or_default());
    }
}

/// Returns the first line of a prompt that is not empty.
fn title(prompt: &[Value]) -> Option<String> {
    let texts = prompt.iter().filter_map(|block| block["text"].as_str());
    texts.flat_map(str::lines).map(str::trim).find(|line| !line.is_empty()).map(cut)
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT)].to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::acp::relay::peek::{MessageKind, classify};

    /// Returns the model after a report of the agent and a request of the editor.
    fn model(reported: &Value, request: &Value) -> Option<String> {
        let turns = Turns::new(true);
        turns.read_models("s", reported);
        let line = request.to_string();
        let MessageKind::Message(request) = classify(line.as_bytes()) else { panic!("{line}") };
        turns.read_request(&request);
        turns.of("s").model
    }

    #[test]
    fn the_model_is_the_reported_one_until_another_is_selected() {
        let none = json!({"method": "session/prompt", "params": {"sessionId": "s"}});
        let select = |id: &str| {
            let params = json!({"sessionId": "s", "configId": id, "value": "large"});
            json!({"method": "session/set_config_option", "params": params})
        };
        let models = json!({"models": {"currentModelId": "small"}});
        let option = json!({"id": "llm", "category": "model", "currentValue": "small"});
        let options = json!({"configOptions": [{"id": "mode", "currentValue": "x"}, option]});
        for (reported, request, expected) in [
            (&json!({}), &none, None),
            (&models, &none, Some("small")),
            (&options, &none, Some("small")),
            (&options, &select("llm"), Some("large")),
            (&options, &select("mode"), Some("small")),
            (&json!({"configOptions": 7}), &select("llm"), None),
        ] {
            assert_eq!(model(reported, request).as_deref(), expected, "{reported} {request}");
        }
        let turns = Turns::new(true);
        let update = json!({"sessionUpdate": "config_option_update", "configOptions": [option]});
        turns.read_event(&json!({"params": {"sessionId": "s", "update": update}}));
        assert_eq!(turns.of("s").model.as_deref(), Some("small"));
    }
}
