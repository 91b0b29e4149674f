//! The configuration for Codex, and the choice of the adapter.

#![allow(clippy::unwrap_used)]

use super::*;

fn config(own: &str, user: &str) -> Value {
    let config = codex_config(Some(OsStr::new(own)), &UserConfig::parse(user)).unwrap();
    serde_json::from_str(&config).unwrap()
}

#[test]
fn sets_everything_where_nothing_is_set() {
    let expected = json!({
        "developer_instructions": INSTRUCTIONS,
        "tool_output_token_limit": 10_000,
        "features": {"code_mode": {"direct_only_tool_namespaces": ["mcp__recto"]}},
    });
    assert_eq!(config("", ""), expected);
    assert_eq!(config("{}", "model = \"m\"\n"), expected);
}

#[test]
fn leaves_the_settings_of_the_file() {
    let config = config("{}", "developer_instructions = \"x\"\ntool_output_token_limit = 1\n");
    assert_eq!(config.as_object().unwrap().keys().collect::<Vec<_>>(), ["features"]);
}

#[test]
fn adds_to_the_settings_of_the_variable() {
    let own = r#"{"developer_instructions": "x", "tool_output_token_limit": 1, "model": "m",
                  "features": {"goals": false, "code_mode": true}}"#;
    let expected = json!({
        "developer_instructions": format!("x\n\n{INSTRUCTIONS}"),
        "tool_output_token_limit": 1,
        "model": "m",
        "features": {
            "goals": false,
            "code_mode": {"enabled": true, "direct_only_tool_namespaces": ["mcp__recto"]},
        },
    });
    assert_eq!(config(own, ""), expected);
}

#[test]
fn rejects_a_value_that_is_not_an_object() {
    for own in ["{", "[]", "1"] {
        let error = codex_config(Some(OsStr::new(own)), &UserConfig::default()).unwrap_err();
        assert_eq!(error, "CODEX_CONFIG is not a JSON object");
    }
}

#[test]
fn recognises_a_configured_recto_server() {
    for toml in ["[mcp_servers.recto]\n", " [mcp_servers.recto]", "mcp_servers.recto.url = 1"] {
        assert!(UserConfig::parse(toml).names_our_server, "{toml}");
    }
    assert!(!UserConfig::parse("[mcp_servers.rector]\n").names_our_server);
}

#[test]
fn prefers_the_installed_adapter() {
    let find = |names: &'static [&str]| {
        adapter(move |name| names.contains(&name).then(|| PathBuf::from("/bin").join(name)))
    };
    assert_eq!(find(&["codex-acp", "npx"]).unwrap(), ["/bin/codex-acp"]);
    assert_eq!(find(&["npx"]).unwrap(), ["/bin/npx", "-y", PACKAGE]);
    assert!(find(&[]).unwrap_err().contains("npm install -g"));
}
