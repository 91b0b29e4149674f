//! Adds recto's server to a request that starts a session. All other bytes of the message stay.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::peek;
use crate::acp::link::{SOCKET_VARIABLE, TOKEN_VARIABLE};
use crate::clients::Client;

/// The name of recto's server.
pub const NAME: &str = "recto";

/// How the agent starts recto's server.
pub struct Server {
    /// The path of recto.
    pub program: String,
    /// Its options, except for the roots.
    pub options: Vec<String>,
    /// Its roots; if empty, the session's directory.
    pub roots: Vec<String>,
    /// The path of the relay's socket.
    pub socket: String,
}

/// What editor and agent agreed on that affects recto's server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Negotiated {
    /// The version of the protocol.
    pub protocol_version: u64,
    /// Whether a session may have additional directories.
    pub has_additional_directories: bool,
    /// The agent, if it is known.
    pub agent: Option<&'static Client>,
}

/// The parameters of a request that starts a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams<'a> {
    /// The session to load, resume or fork.
    pub session_id: Option<String>,
    cwd: Option<String>,
    #[serde(default)]
    additional_directories: Value,
    #[serde(borrow, default, deserialize_with = "peek::raw")]
    mcp_servers: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct NamedServer<'a> {
    #[serde(borrow, default, deserialize_with = "peek::raw")]
    name: Option<&'a RawValue>,
}

/// A replacement of a part of a message.
pub struct Splice {
    /// The bytes to replace.
    pub place: Range<usize>,
    /// The new text.
    pub text: String,
}

impl<'a> SessionParams<'a> {
    /// Parses the parameters; `None` if they are not valid.
    pub fn parse(params: &'a RawValue) -> Option<SessionParams<'a>> {
        params.get().starts_with('{').then(|| serde_json::from_str(params.get()).ok())?
    }

    /// Returns the additional directories that exist. A missing one would prevent the server from
    /// starting.
    fn existing_directories(&self) -> impl Iterator<Item = &str> {
        let folders = self.additional_directories.as_array().into_iter().flatten();
        folders.filter_map(Value::as_str).filter(|folder| {
            let folder = Path::new(folder);
            folder.is_absolute() && folder.is_dir()
        })
    }

    /// Returns the change that adds the server `entry` to `message`, whose parameters these are.
    /// `None` if the session already has a server of that name.
    pub fn with_server(&self, message: &[u8], params: &RawValue, entry: &str) -> Option<Splice> {
        let Some(servers) = self.mcp_servers else {
            let members = &params.get()[1..params.get().len() - 1];
            let comma = if members.trim_ascii().is_empty() { "" } else { "," };
            let end = range_in(message, params.get()).end - 1;
            return Some(Splice {
                place: end..end,
                text: format!("{comma}\"mcpServers\":[{entry}]"),
            });
        };
        let place = range_in(message, servers.get());
        if servers.get() == "null" {
            return Some(Splice { place, text: format!("[{entry}]") });
        }
        let others: Vec<NamedServer> = serde_json::from_str(servers.get()).ok()?;
        let is_ours = |other: &NamedServer| {
            other.name.and_then(|name| serde_json::from_str::<String>(name.get()).ok()).as_deref()
                == Some(NAME)
        };
        if others.iter().any(is_ours) {
            return None;
        }
        let comma = if others.is_empty() { "" } else { "," };
        let end = place.end - 1;
        Some(Splice { place: end..end, text: format!("{comma}{entry}") })
    }
}

impl Server {
    /// Returns the directory that a session's relative paths are relative to.
    pub fn root<'a>(&'a self, session: &'a SessionParams<'_>) -> Option<&'a str> {
        let cwd = || session.cwd.as_deref().filter(|cwd| cwd.starts_with('/'));
        self.roots.first().map(String::as_str).or_else(cwd)
    }

    /// Returns the entry for a session's list of servers. `None` if there is no directory to serve.
    /// Roots on the command line replace the session's directories.
    pub fn entry(
        &self,
        session: &SessionParams<'_>,
        token: &str,
        agreed: Negotiated,
    ) -> Option<String> {
        let mut roots = vec![self.root(session)?];
        roots.extend(self.roots.iter().skip(1).map(String::as_str));
        if self.roots.is_empty() && agreed.has_additional_directories {
            roots.extend(session.existing_directories());
        }
        let mut arguments = vec!["serve"];
        for root in roots {
            arguments.extend(["--root", root]);
        }
        arguments.extend(self.options.iter().map(String::as_str));
        let names_client = self.options.iter().any(|option| option.starts_with("--client="));
        if let Some(agent) = agreed.agent.filter(|_| !names_client) {
            arguments.extend(["--client", agent.name]);
        }
        let mut entry = json!({
            "name": NAME,
            "command": self.program,
            "args": arguments,
            "env": [
                {"name": SOCKET_VARIABLE, "value": self.socket},
                {"name": TOKEN_VARIABLE, "value": token},
            ],
        });
        // Version 1 has no type for servers that the agent starts.
        if agreed.protocol_version >= 2 {
            entry["type"] = "stdio".into();
        }
        Some(entry.to_string())
    }
}

/// Returns the range of `part`, which is a slice of `message`.
fn range_in(message: &[u8], part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - message.as_ptr() as usize;
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::acp::relay::peek::{MessageKind, classify};

    fn check(params: &str, expected: Option<&str>) {
        let message = format!(r#"{{"id":1, "params" : {params} , "method":"session/new"}}"#);
        let MessageKind::Message(peek) = classify(message.as_bytes()) else { panic!("{message}") };
        let params = peek.params.unwrap();
        let splice = SessionParams::parse(params)
            .and_then(|session| session.with_server(message.as_bytes(), params, "OURS"));
        let changed = splice.map(|Splice { place, text }| {
            let mut changed = message.clone();
            changed.replace_range(place, &text);
            changed
        });
        let expected = expected
            .map(|params| format!(r#"{{"id":1, "params" : {params} , "method":"session/new"}}"#));
        assert_eq!(changed, expected);
    }

    #[test]
    fn every_other_byte_stays() {
        check(r#"{"mcpServers":[]}"#, Some(r#"{"mcpServers":[OURS]}"#));
        check(
            r#"{ "mcpServers" : [ ] , "x":1.0 }"#,
            Some(r#"{ "mcpServers" : [ OURS] , "x":1.0 }"#),
        );
        check(
            r#"{"mcpServers":[ {"name":"a"} ]}"#,
            Some(r#"{"mcpServers":[ {"name":"a"} ,OURS]}"#),
        );
        check(r#"{"mcpServers":[{}]}"#, Some(r#"{"mcpServers":[{},OURS]}"#));
        check(r#"{"mcpServers": null}"#, Some(r#"{"mcpServers": [OURS]}"#));
        check("{}", Some(r#"{"mcpServers":[OURS]}"#));
        check("{ }", Some(r#"{ "mcpServers":[OURS]}"#));
        check(r#"{"cwd":"/"}"#, Some(r#"{"cwd":"/","mcpServers":[OURS]}"#));
    }

    #[test]
    fn leaves_invalid_parameters_unchanged() {
        check(r#"{"mcpServers":[{"name":"rect\u006f"}]}"#, None);
        check(r#"{"mcpServers":{"name":"a"}}"#, None);
        check(r#"{"mcpServers":["a"]}"#, None);
        check(r#"{"mcpServers":"a"}"#, None);
        check("[]", None);
        check("7", None);
    }

    #[test]
    fn the_second_version_names_the_type() {
        let server = Server {
            program: "/bin/recto".into(),
            options: vec!["--read-only".into()],
            roots: vec![],
            socket: "/s".into(),
        };
        let in_folder: SessionParams<'_> = serde_json::from_str(r#"{"cwd":"/a"}"#).unwrap();
        let agreed = |protocol_version| Negotiated { protocol_version, ..Negotiated::default() };
        let entry = |version| server.entry(&in_folder, "t", agreed(version)).unwrap();
        let first = r#"{"name":"recto","command":"/bin/recto","args":["serve","--root","/a","--read-only"],"env":[{"name":"RECTO_LINK","value":"/s"},{"name":"RECTO_TOKEN","value":"t"}]}"#;
        assert_eq!(entry(1), first);
        assert_eq!(entry(2), first.replace("}]}", r#"}],"type":"stdio"}"#));
        for nowhere in ["{}", r#"{"cwd":"a"}"#, r#"{"cwd":null}"#] {
            let session = serde_json::from_str(nowhere).unwrap();
            assert_eq!(server.entry(&session, "t", agreed(1)), None);
        }
    }
}
