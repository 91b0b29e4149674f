//! Random settings: nested, empty or minified, with comments, trailing commas, BOM and CRLF.

use serde_json::{Value, json};

use crate::random::Random;

/// Finishes a text: line endings, a BOM, or no line break at the end.
fn finish(random: &mut Random, mut text: String) -> String {
    if random.one_in(4) {
        text = text.trim_end().to_string();
    }
    if random.one_in(3) {
        text = text.replace('\n', "\r\n");
    }
    if random.one_in(4) { format!("\u{feff}{text}") } else { text }
}

const KEYS: [&str; 7] = ["mcpServers", "other", "a key", "recto-old", "permissions", "allow", "é"];
const TEXTS: [&str; 7] =
    ["", "x", "// no comment", "{\"a\": [", "say \\ \"hi\"", "日本", "/* , */"];

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => json!(random.below(1000)),
        2 => json!(random.one_in(2)),
        3 => json!(random.pick(&TEXTS)),
        4 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => object(random, depth - 1),
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let pairs = (0..random.below(4)).map(|_| (random.pick(&KEYS).into(), value(random, depth)));
    Value::Object(pairs.collect())
}

/// Returns settings in JSON, in which recto is not configured.
pub fn json(random: &mut Random) -> String {
    if random.one_in(12) {
        let text = random.pick(&["", "\n", "  ", "// nothing yet\n", "/* a */"]).to_string();
        return finish(random, text);
    }
    let mut root = object(random, 2);
    let members = root.as_object_mut().unwrap();
    members.remove("permissions");
    members.remove("mcpServers");
    if random.one_in(2) {
        members.insert("mcpServers".into(), object(random, 2));
    }
    if random.one_in(3) {
        let rules: Vec<_> = (0..random.below(3)).map(|_| random.pick(&TEXTS)).collect();
        members.insert("permissions".into(), json!({"allow": rules, "deny": []}));
    }
    let style = Style {
        is_lines: !random.one_in(4),
        unit: random.pick(&["  ", "    ", "\t", " "]).into(),
        has_comments: random.one_in(2),
        has_trailing_commas: random.one_in(2),
    };
    let mut text = String::new();
    if style.has_comments && style.is_lines {
        text.push_str("// settings\n");
    }
    write(&mut text, &root, &style, 0, random);
    text.push('\n');
    finish(random, if style.is_lines { text } else { text.trim_end().to_string() })
}

struct Style {
    is_lines: bool,
    unit: String,
    has_comments: bool,
    has_trailing_commas: bool,
}

fn write(text: &mut String, value: &Value, style: &Style, depth: usize, random: &mut Random) {
    let items: Vec<(Option<&String>, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, value)| (Some(key), value)).collect(),
        Value::Array(items) => items.iter().map(|value| (None, value)).collect(),
        _ => return text.push_str(&value.to_string()),
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    text.push(open);
    // A short collection may be on one line, and an empty one may have lines.
    let is_lines = style.is_lines && !random.one_in(4);
    let n_items = items.len();
    for (index, (key, item)) in items.into_iter().enumerate() {
        gap(text, style, is_lines, depth + 1, random);
        if let Some(key) = key {
            text.push_str(&format!("{}:", Value::from(key.as_str())));
            text.push_str(if style.is_lines { " " } else { "" });
        }
        let inner = Style { unit: style.unit.clone(), is_lines, ..*style };
        write(text, item, &inner, depth + 1, random);
        if style.has_comments && random.one_in(6) {
            text.push_str(" /* after , */");
        }
        if index + 1 < n_items || (style.has_trailing_commas && random.one_in(2)) {
            text.push(',');
        }
    }
    if n_items > 0 || random.one_in(2) {
        gap(text, style, is_lines, depth, random);
    }
    text.push(close);
}

fn gap(text: &mut String, style: &Style, is_lines: bool, depth: usize, random: &mut Random) {
    if !is_lines {
        return text.push_str(if style.is_lines && random.one_in(2) { " " } else { "" });
    }
    if style.has_comments && random.one_in(4) {
        text.push_str(random.pick(&[" // why, \"x\"", " /* a */", " /* b\n */"]));
    }
    text.push('\n');
    if random.one_in(8) {
        text.push('\n');
    }
    if style.has_comments && random.one_in(6) {
        text.push_str(&format!("{}// own line }}\n", style.unit.repeat(depth)));
    }
    text.push_str(&style.unit.repeat(depth));
}

/// Returns settings in TOML.
pub fn toml(random: &mut Random) -> String {
    let mut text = String::new();
    let comment = |random: &mut Random| random.pick(&["", "", " # why [x]", "   "]).to_string();
    for (key, value) in [
        ("model", "\"x\""),
        ("notes", "\"\"\"\n[mcp_servers.recto]\ncommand = 1\n\"\"\""),
        ("list", "[\n  1, # one\n  2,\n]"),
        ("when", "1979-05-27T07:32:00Z"),
        ("point", "{ x = 1.5, y = 0xff }"),
    ] {
        if random.one_in(2) {
            text.push_str(&format!("{key} = {value}{}\n", comment(random)));
        }
        if random.one_in(5) {
            text.push_str(random.pick(&["\n", "# [mcp_servers.recto]\n", "\n\n"]));
        }
    }
    for table in
        ["[mcp_servers.other]", "[[things]]", "[mcp_servers.recto-old]", "[z.\"mcp_servers\"]"]
    {
        if random.one_in(2) {
            text.push_str(random.pick(&["", "\n", "# about it\n"]));
            text.push_str(&format!("{table}{}\n", comment(random)));
            if random.one_in(2) {
                text.push_str("command = 'a\\b'\nargs = []\n");
            }
        }
    }
    if random.one_in(5) {
        text.push_str("\n# the end\n\n");
    }
    finish(random, text)
}

/// Returns settings in YAML with a mapping or a list in block style, or without one.
pub fn yaml(random: &mut Random, key: &str, is_list: bool) -> String {
    let mut text = String::new();
    if random.one_in(4) {
        text.push_str(random.pick(&["---\n", "# settings\n", "\n"]));
    }
    if random.one_in(2) {
        text.push_str("GOOSE_MODEL: gpt-4o # why\n");
    }
    if random.one_in(3) {
        text.push_str("prompt: |\n  extensions:\n    recto:\n  # no comment\n");
    }
    if !random.one_in(4) {
        let indent = " ".repeat(if is_list { random.below(3) } else { 2 * (1 + random.below(2)) });
        text.push_str(&format!("{key}:{}\n", random.pick(&["", " # mine", "  "])));
        for name in ["developer", "recto-old", "other"] {
            if random.one_in(3) {
                text.push_str(random.pick(&["", "\n", "  # about it\n"]));
            }
            match is_list {
                true => text.push_str(&format!("{indent}- name: {name}\n{indent}  command: x\n{indent}  args:\n{indent}    - recto\n")),
                false => text.push_str(&format!("{indent}{name}:\n{indent}  enabled: true\n{indent}  args:\n{indent}  - recto\n")),
            }
        }
    }
    if random.one_in(2) {
        text.push_str("last:\n  - 1\n");
    }
    finish(random, text)
}
