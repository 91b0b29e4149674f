//! Bearer tokens: the generated one, and the file that lists several.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The maximum size of a token file.
const MAX_FILE: u64 = 1 << 20;

/// The minimum length of a token. A generated one has 64 characters.
const MIN_LENGTH: usize = 20;

/// A token and what it permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The client's name in the log.
    pub name: String,
    /// Whether it permits changes.
    pub access: TokenAccess,
    /// The token itself.
    pub secret: Secret,
    /// The directories that it permits; all served ones if empty.
    pub roots: Vec<PathBuf>,
}

/// The access that a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAccess {
    /// Only tools that do not modify files.
    Read,
    /// All served tools.
    Write,
}

/// A token as the client sends it. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns a random token.
    pub fn random() -> io::Result<Secret> {
        Ok(Secret(recto_platform::random_hex::<32>().map_err(io::Error::from)?))
    }

    /// Returns the token, for a place that only this user can read.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a client sent this token. Takes the same time wherever the bytes differ.
    pub fn matches(&self, sent: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differing =
            own.iter().enumerate().fold(own.len() ^ sent.len(), |differing, (at, byte)| {
                let other = sent.get(at).copied().unwrap_or_default();
                std::hint::black_box(differing | usize::from(byte ^ other))
            });
        differing == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Returns the token in a file of its own, which is created with a random one if it does not exist.
pub fn generated(path: &Path) -> Result<Token, String> {
    let failed = |error: io::Error| format!("cannot use the token in {}: {error}", path.display());
    match create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let text = read_private(path).map_err(failed)?;
    let secret = parse_secret(text.trim_end()).map_err(|why| failed(io::Error::other(why)))?;
    Ok(Token { name: "local".into(), access: TokenAccess::Write, secret, roots: Vec::new() })
}

fn create(path: &Path) -> io::Result<()> {
    let token = Secret::random()?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{}\n", token.expose()).as_bytes())
}

/// Reads a token file. Every line that is not blank or a comment must be valid.
pub fn from_file(path: &Path) -> Result<Vec<Token>, String> {
    let failed = |why: String| format!("cannot use the token file {}: {why}", path.display());
    let text = read_private(path).map_err(|error| failed(error.to_string()))?;
    parse(&text).map_err(failed)
}

/// Reads a file that only its owner, this user, may read.
fn read_private(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let status = file.metadata()?;
    if !status.is_file() || !recto_platform::is_own_user(status.uid()) {
        return Err(io::Error::other("it is not a file of this user"));
    }
    if status.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::other("others can read it; run `chmod 600` on it"));
    }
    let mut text = String::new();
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_FILE {
        true => Err(io::Error::other("it is larger than 1 MiB")),
        false => Ok(text),
    }
}

fn parse(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens: Vec<Token> = Vec::new();
    for (idx, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let token = parse_line(line).map_err(|why| format!("line {}: {why}", idx + 1))?;
        let is_repeated = |other: &Token| other.name == token.name || other.secret == token.secret;
        if tokens.iter().any(is_repeated) {
            return Err(format!("line {}: the name or the token is used twice", idx + 1));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

fn parse_line(line: &str) -> Result<Token, String> {
    let mut words = words(line)?.into_iter();
    let mut next = || words.next().ok_or("expected: NAME read|write TOKEN [ROOT]...");
    let (name, access, secret) = (next()?, next()?, next()?);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() > 64 || !name.chars().all(is_plain) {
        return Err("a name has up to 64 letters, digits, '-', '_' and '.'".into());
    }
    let access = match &*access {
        "read" => TokenAccess::Read,
        "write" => TokenAccess::Write,
        _ => return Err("the second word must be read or write".into()),
    };
    let roots: Vec<PathBuf> = words.map(PathBuf::from).collect();
    if let Some(root) = roots.iter().find(|root| !root.is_absolute()) {
        return Err(format!("the root {} is not absolute", root.display()));
    }
    Ok(Token { name, access, secret: parse_secret(&secret)?, roots })
}

fn parse_secret(text: &str) -> Result<Secret, String> {
    let is_valid = |c: char| c.is_ascii_graphic();
    match text.len() >= MIN_LENGTH && text.chars().all(is_valid) {
        true => Ok(Secret(text.into())),
        false => Err(format!(
            "a token needs at least {MIN_LENGTH} characters, all printable ASCII without spaces"
        )),
    }
}

/// Splits a line at spaces. A word in double quotes may contain spaces.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("a quote is not closed")?,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        if !c.is_whitespace() {
            words.push(word.to_string());
        }
        rest = if c.is_whitespace() { rest.trim_start() } else { after };
    }
    Ok(words)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECRET: &str = "abcdefghijklmnopqrst";

    #[test]
    fn lines_have_a_name_an_access_a_token_and_roots() {
        let text = format!("# who\n\n ci read {SECRET} /a \"/b c\"\nme\twrite {SECRET}u\n");
        let tokens = parse(&text).unwrap();
        assert_eq!(tokens[0].roots, [PathBuf::from("/a"), "/b c".into()]);
        assert_eq!((&*tokens[0].name, tokens[0].access), ("ci", TokenAccess::Read));
        assert_eq!((&*tokens[1].name, tokens[1].access), ("me", TokenAccess::Write));
        assert!(tokens[1].roots.is_empty());
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn an_invalid_line_is_rejected_by_its_number() {
        for line in [
            "ci",
            "ci read",
            "ci read short",
            "ci admin abcdefghijklmnopqrst",
            "c/i read abcdefghijklmnopqrst",
            "ci read abcdefghijklmnopqrst relative",
            "ci read abcdefghijklmnopqrst \"/open",
            "ci read abcdefghijklmnopqrsté",
            "a write abcdefghijklmnopqrst",
            "ci write abcdefghijklmnopqrs0",
        ] {
            let text = format!("a read {SECRET}0\nci read abcdefghijklmnopqrs0\n{line}\n");
            let text = if line.ends_with('0') {
                text
            } else {
                text.replace("ci read abcdefghijklmnopqrs0\n", "\n")
            };
            let error = parse(&text).expect_err(line);
            assert!(error.starts_with("line 3: "), "{line}: {error}");
        }
    }

    #[test]
    fn a_secret_matches_only_itself() {
        let secret = parse_secret(SECRET).unwrap();
        assert!(secret.matches(SECRET.as_bytes()));
        for other in ["", "abcdefghijklmnopqrsu", "abcdefghijklmnopqrstu", "abcdefghijklmnopqrs"] {
            assert!(!secret.matches(other.as_bytes()), "{other}");
        }
        assert_eq!(format!("{secret:?}"), "Secret");
    }

    #[test]
    fn a_file_that_others_can_read_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let token = generated(&path).unwrap();
        assert_eq!(generated(&path).unwrap(), token);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(generated(&path).is_err());
        assert!(from_file(&path).is_err());
    }
}
