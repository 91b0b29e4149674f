//! Laws of the splicers, for random settings.

use std::slice::from_ref;

use recto::install::format::{Content, Entry, Format};
use serde_json::{Value, json};

use super::documents;
use crate::random::Random;

const N_DOCUMENTS: u64 = 3000;

fn server() -> Entry {
    let value = json!({"command": "/opt/re\"cto", "args": ["serve", "."], "alwaysLoad": true});
    Entry { path: &["mcpServers", "recto"], content: Content::Object(value) }
}

/// Checks the laws. Returns whether removing the entry gave the same bytes as before.
fn check(format: Format, text: &str, entry: &Entry) -> bool {
    let context = || format!("{format:?} {entry:?}\n{text}");
    let with = format.set(text, entry).unwrap_or_else(|why| panic!("{why}: {}", context()));
    assert_eq!(format.set(&with, entry).as_ref(), Ok(&with), "not idempotent: {}", context());
    let found = format.get(&with, entry).unwrap().unwrap();
    match &entry.content {
        Content::Object(value) => assert_eq!(found, *value, "{}", context()),
        Content::Strings(strings) => {
            let has = |it: &String| found.as_array().unwrap().iter().any(|found| found == it);
            assert!(strings.iter().all(has), "{}\n{with}", context());
        }
    }
    // One piece of text was inserted, and nothing else changed.
    let same = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let at_start = same(&mut text.bytes(), &mut with.bytes());
    let at_end = same(&mut text.bytes().rev(), &mut with.bytes().rev());
    assert!(at_start + at_end >= text.len(), "more than the entry:\n{with}\n{}", context());
    let newline = if text.contains("\r\n") { with.matches("\r\n") } else { with.matches("\n") };
    if text.contains('\n') {
        assert_eq!(newline.count(), with.matches('\n').count(), "{with:?}\n{}", context());
    }
    format
        .verify(text, &with, from_ref(entry))
        .unwrap_or_else(|why| panic!("{why}: {}", context()));

    let without = format.remove(&with, entry).unwrap_or_else(|why| panic!("{why}: {with}"));
    assert_eq!(format.get(&without, entry), Ok(None), "{without}\n{}", context());
    format
        .verify(text, &without, from_ref(entry))
        .unwrap_or_else(|why| panic!("{why}: {}", context()));
    without == text
}

#[test]
fn json_keeps_everything_but_the_entry() {
    let rules = Entry {
        path: &["permissions", "allow"],
        content: Content::Strings(vec!["mcp__recto__a".into(), "mcp__recto__b".into()]),
    };
    let (mut n_same, mut n_others) = (0, 0);
    for seed in 0..N_DOCUMENTS {
        let text = documents::json(&mut Random::new(seed));
        for entry in [&server(), &rules] {
            let path: &[_] = match entry.content {
                Content::Object(_) => &["mcpServers"],
                Content::Strings(_) => &["permissions", "allow"],
            };
            let container = Entry { path, content: Content::Object(Value::Null) };
            let container = Format::Json.get(&text, &container);
            let is_same = check(Format::Json, &text, entry);
            let is_filled = match container.unwrap() {
                Some(Value::Object(it)) => !it.is_empty(),
                Some(Value::Array(it)) => !it.is_empty(),
                _ => false,
            };
            // Otherwise an empty object remains, and only a backup restores the bytes.
            assert!(is_same || !is_filled, "{text}");
            n_same += u64::from(is_same && is_filled);
            n_others += u64::from(!is_filled);
        }
    }
    assert!(n_same > N_DOCUMENTS / 4 && n_others > N_DOCUMENTS / 4, "{n_same} {n_others}");
}

#[test]
fn toml_keeps_everything_but_the_entry() {
    let value = json!({"command": "/opt/re\"cto", "args": ["serve", "."], "omit": ["x"]});
    let entry = Entry { path: &["mcp_servers", "recto"], content: Content::Object(value) };
    for seed in 0..N_DOCUMENTS {
        let text = documents::toml(&mut Random::new(seed));
        assert!(check(Format::Toml, &text, &entry), "{text:?}");
    }
}

#[test]
fn yaml_keeps_everything_but_the_entry() {
    let goose =
        json!({"enabled": true, "cmd": "/opt/re\"cto", "args": ["serve", "."], "timeout": 60});
    let item = json!({"name": "recto", "command": "/opt/recto", "args": ["serve", "."]});
    for seed in 0..N_DOCUMENTS {
        for (format, path, value, is_list) in [
            (Format::YamlMap, &["extensions", "recto"], &goose, false),
            (Format::YamlList, &["mcpServers", "recto"], &item, true),
        ] {
            let text = documents::yaml(&mut Random::new(seed), path[0], is_list);
            let entry = Entry { path, content: Content::Object(value.clone()) };
            let is_same = check(format, &text, &entry);
            let has_others = text.contains(&format!("\n{}:", path[0])) && text.contains("other");
            assert!(is_same || !has_others, "{text}");
        }
    }
}

#[test]
fn keys_that_the_user_added_to_the_entry_stay() {
    let cases = [
        (
            Format::Json,
            "{\n  \"mcpServers\": {\n    // mine\n    \"recto\": {\"command\": \"old\", \"timeout\": 5}\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // mine\n    \"recto\": {\"args\":[\"serve\",\".\"],\"alwaysLoad\":true,\"command\": \"/opt/re\\\"cto\", \"timeout\": 5}\n  }\n}\n",
        ),
        (
            Format::Toml,
            "[mcpServers.recto] # mine\ncommand = 'old' # why\ntimeout = 5\n",
            "[mcpServers.recto] # mine\nargs = [\"serve\", \".\"]\nalwaysLoad = true\ncommand = \"/opt/re\\\"cto\" # why\ntimeout = 5\n",
        ),
        (
            Format::YamlMap,
            "mcpServers:\n  recto: # mine\n    command: old\n    args:\n    - a\n    timeout: 5\n",
            "mcpServers:\n  recto: # mine\n    command: \"/opt/re\\\"cto\"\n    args: [\"serve\",\".\"]\n    timeout: 5\n    alwaysLoad: true\n",
        ),
    ];
    for (format, before, after) in cases {
        assert_eq!(format.set(before, &server()).as_deref(), Ok(after), "{format:?}");
        assert_eq!(format.set(after, &server()).as_deref(), Ok(after), "{format:?}");
    }
}

#[test]
fn leaves_what_it_cannot_handle_as_it_is() {
    for (format, text) in [
        (Format::Json, "{\"mcpServers\": []}"),
        (Format::Json, "[1]"),
        (Format::Json, "{\"a\": 1"),
        (Format::Json, "{'a': 1}"),
        (Format::Toml, "mcpServers = { a = { command = 'x' } }\n"),
        (Format::Toml, "mcpServers = 1\n"),
        (Format::Toml, "a = \n"),
        (Format::YamlMap, "mcpServers: {a: {cmd: x}}\n"),
        (Format::YamlMap, "{a: 1}\n"),
        (Format::YamlMap, "a: 1\n---\nb: 1\n"),
        (Format::YamlMap, "mcpServers:\n- a\n"),
        (Format::YamlMap, "mcpServers:\n\ta: 1\n"),
        (Format::YamlList, "mcpServers:\n  a:\n    cmd: x\n"),
        (Format::YamlList, "mcpServers: a\n"),
        // The entry exists in a form that cannot be spliced.
        (Format::YamlMap, "mcpServers:\n  recto: {enabled: false, command: recto}\n"),
        (Format::YamlMap, "mcpServers:\n  recto: {enabled: false,\n    command: recto}\n"),
        (Format::YamlMap, "mcpServers:\n  recto: null\n"),
        (Format::YamlMap, "mcpServers:\n  recto: &it\n    command: x\n"),
        (Format::YamlMap, "mcpServers:\n  recto:\n    {command: x}\n"),
        (Format::YamlMap, "mcpServers:\n  recto:\n    \"command\": x\n"),
        (Format::YamlMap, "mcpServers:\n  recto:\n    'command': x\n"),
        (Format::YamlMap, "mcpServers:\n  recto:\n      args: []\n    command: x\n"),
        (Format::YamlMap, "mcpServers:\n  ? recto\n  : command: x\n"),
        (Format::YamlList, "mcpServers:\n  - {name: recto, command: x}\n"),
        (Format::YamlList, "mcpServers:\n  - name: recto\n    \"command\": x\n"),
    ] {
        let mut entry = server();
        entry.content = Content::Object(json!({"name": "recto", "command": "x", "args": ["."]}));
        assert!(format.set(text, &entry).is_err(), "{format:?} {text}");
        assert!(!format.snippet(&entry).is_empty());
    }
}

#[test]
fn comments_between_fields_of_yaml_stay() {
    let before = "mcpServers:\n  recto:\n    command: old\n    # about args\n\n    args: []\n";
    let after = Format::YamlMap.set(before, &server()).unwrap();
    assert!(after.contains("\"\n    # about args\n\n    args: [\"serve\",\".\"]\n"), "{after}");
}

#[test]
fn an_empty_collection_of_yaml_gets_the_entry_and_back() {
    for (format, before) in [
        (Format::YamlMap, "mcpServers: {}\r\nb: 1\r\n"),
        (Format::YamlList, "a: 1\nmcpServers: []\n"),
        (Format::YamlMap, "mcpServers: {} # mine\n"),
    ] {
        let mut entry = server();
        entry.content = Content::Object(json!({"name": "recto", "command": "x"}));
        let with = format.set(before, &entry).unwrap();
        assert!(with.contains("recto") && !with.contains("{}") && !with.contains("[]"), "{with}");
        assert_eq!(format.remove(&with, &entry).as_deref(), Ok(before));
    }
}
