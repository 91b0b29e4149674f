//! The examples in `docs/http.md`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::client::HttpServer;
use crate::client::recto;
use crate::running::Running;

/// Returns the blocks of code in a language.
fn blocks(language: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
    let page = std::fs::read_to_string(path).unwrap();
    let start = format!("```{language}\n");
    let blocks = page.split(&*start).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_string()).collect()
}

/// Splits a command into words as a shell does.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for char in command.replace("\\\n", " ").trim().chars() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (None, ' ' | '\n') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(char),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_request_with_curl_is_answered() {
    let server = HttpServer::start(&[]);
    std::fs::write(server.path("root/notes.md"), "x\n").unwrap();
    let block = blocks("sh").into_iter().find(|block| block.contains("curl")).unwrap();
    let command = &block[block.find("curl").unwrap()..];
    let mut words = words(&command.replace("$TOKEN", &server.token)).into_iter().skip(1);
    assert_eq!(words.next().unwrap(), "http://127.0.0.1:8123/mcp");
    let (mut headers, mut body) = (String::new(), String::new());
    while let Some(option) = words.next() {
        let value = words.next().unwrap();
        match &*option {
            "-H" => headers += &format!("{value}\r\n"),
            "-d" => body = value,
            _ => panic!("{option}"),
        }
    }
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8123\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = server.raw(request.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.message()["result"].to_string().contains("notes.md"), "{answer:?}");
}

#[test]
fn the_commands_start_a_server() {
    let (folder, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tokens = private.path().join("tokens");
    let file = blocks("text").into_iter().find(|block| block.contains("# name")).unwrap();
    let file = file.replace("/home/me/project/docs", folder.path().to_str().unwrap());
    std::fs::write(&tokens, file).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&tokens, mode).unwrap();
    let commands = blocks("sh").join("\n");
    let commands: Vec<_> =
        commands.lines().filter(|line| line.starts_with("recto serve")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let mut words = words(command);
        // The last one is the directory.
        words.pop().unwrap();
        let words = words[1..].iter().map(|word| match &**word {
            "~/.config/recto/tokens" => tokens.to_str().unwrap().to_string(),
            word => word.replace("8123", "0"),
        });
        let child = recto().args(words).arg(folder.path()).stderr(Stdio::piped()).spawn();
        let mut child = Running(child.unwrap());
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("serving") && line.contains("/mcp"), "{command}: {line}");
    }
}
