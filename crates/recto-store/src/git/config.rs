//! Parses a repository's `config` file.
//!
//! `include` directives are ignored and no configured command is run. Malformed lines are skipped:
//! git would stop at them, but reading files does not depend on them.

/// The settings of a repository, in file order.
#[derive(Debug, Default)]
pub struct GitConfig {
    settings: Vec<Setting>,
}

#[derive(Debug)]
struct Setting {
    /// Section and subsection, joined by a dot; the section in lower case.
    section: String,
    /// In lower case.
    key: String,
    value: String,
}

impl GitConfig {
    /// Parses a config file and skips malformed lines.
    pub fn parse(text: &[u8]) -> GitConfig {
        let text = String::from_utf8_lossy(text);
        let mut rest = text.trim_start_matches('\u{feff}');
        let mut config = GitConfig::default();
        let mut section = String::new();
        loop {
            rest = rest.trim_start();
            match rest.chars().next() {
                None => return config,
                Some('#' | ';') => rest = after_line(rest),
                Some('[') => match parse_section(&rest[1..]) {
                    Some((name, after)) => (section, rest) = (name, after),
                    None => rest = after_line(rest),
                },
                Some(_) => {
                    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                    let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
                    let after = after.trim_start_matches([' ', '\t']);
                    let (value, after) = match after.strip_prefix('=') {
                        Some(after) => parse_value(after),
                        // A key without a value is true.
                        None => ("true".into(), after_line(after)),
                    };
                    let (section, key) = (section.clone(), key.to_ascii_lowercase());
                    config.settings.push(Setting { section, key, value });
                    rest = after;
                }
            }
        }
    }

    /// Returns the value of a key. The last one in the file wins.
    pub fn value(&self, section: &str, key: &str) -> Option<&str> {
        self.values(section, key).last()
    }

    /// Whether any section whose name starts with `section_start` has the key.
    pub fn has(&self, section_start: &str, key: &str) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|setting| setting.section.starts_with(section_start) && setting.key == key)
    }

    /// Returns all values of a key that may be repeated.
    pub fn values(&self, section: &str, key: &str) -> impl Iterator<Item = &str> {
        let is_key = move |setting: &&Setting| setting.section == section && setting.key == key;
        self.settings.iter().filter(is_key).map(|setting| setting.value.as_str())
    }
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |newline| &text[newline + 1..])
}

/// Parses `core]`, `branch "main"]` or the deprecated form `branch.main]`.
fn parse_section(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.')?;
    let mut name = text[..end].to_ascii_lowercase();
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let Some(quoted) = rest.strip_prefix('"') else {
        return Some((name, rest.strip_prefix(']')?));
    };
    name.push('.');
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((name, quoted[at + 1..].strip_prefix(']')?)),
            '\n' => return None,
            '\\' => name.push(characters.next()?.1),
            c => name.push(c),
        }
    }
    None
}

/// Parses the value after `=`, and returns it with the rest of the text.
fn parse_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    // The length of the value without trailing whitespace.
    let mut n_kept = 0;
    let mut is_quoted = false;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\n' => return (finished(value, n_kept), &text[at + 1..]),
            '#' | ';' if !is_quoted => return (finished(value, n_kept), after_line(&text[at..])),
            '"' => is_quoted = !is_quoted,
            '\\' => match characters.next() {
                Some((_, '\n')) | None => {}
                Some((_, escaped)) => {
                    value.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'b' => '\u{8}',
                        other => other,
                    });
                    n_kept = value.len();
                }
            },
            c if c.is_whitespace() && !is_quoted => {
                if !value.is_empty() {
                    value.push(c);
                }
            }
            c => {
                value.push(c);
                n_kept = value.len();
            }
        }
    }
    (finished(value, n_kept), "")
}

fn finished(mut value: String, n_kept: usize) -> String {
    value.truncate(n_kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_generated_and_handwritten_files() {
        let config = GitConfig::parse(
            b"# note\n[Core]\n\tbare = false ; no\n worktree = \"../a b\" \n[core] x=1\n\
              [include]\n path = /etc/passwd\n[extensions]\n\tobjectFormat = sha256\n\
              [branch \"a\\\"B\"]\n\tremote = or\\\nigin\n\tmerge\n[remote.Up]\nfetch=+a:b\n\
              fetch = c:d\nbroken [\n[unclosed\n[core]\nlast = \\\"q\\\"",
        );
        assert_eq!(config.value("core", "bare"), Some("false"));
        assert_eq!(config.value("core", "worktree"), Some("../a b"));
        assert_eq!(config.value("core", "x"), Some("1"));
        assert_eq!(config.value("core", "last"), Some("\"q\""));
        assert_eq!(config.value("extensions", "objectformat"), Some("sha256"));
        assert_eq!(config.value("branch.a\"B", "remote"), Some("origin"));
        assert_eq!(config.value("branch.a\"B", "merge"), Some("true"));
        assert_eq!(config.values("remote.up", "fetch").collect::<Vec<_>>(), ["+a:b", "c:d"]);
        assert_eq!(config.value("core", "missing"), None);
    }

    #[test]
    fn parsing_any_bytes_terminates() {
        for text in
            [&b"["[..], b"=", b"[a \"", b"[a \"b", b"a = \"", b"a=\\", b"\xff\xfe[", b"]\n="]
        {
            GitConfig::parse(text);
        }
    }
}
