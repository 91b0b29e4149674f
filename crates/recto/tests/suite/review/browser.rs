//! How the browser is opened.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::page::{MAX_WAIT, reviewed};
use crate::client::recto;

#[test]
fn the_browser_is_started_without_the_token_in_its_arguments() {
    let reviewed = reviewed();
    let browser = reviewed.root.join("../browser");
    let seen = reviewed.root.join("../seen");
    let script = "#!/bin/sh\nstat -c %a \"$1\" > {}.new\necho \"$@\" >> {}.new\n\
                  cat \"$1\" >> {}.new\nmv {}.new {}\n";
    fs::write(&browser, script.replace("{}", seen.to_str().unwrap())).unwrap();
    fs::set_permissions(&browser, PermissionsExt::from_mode(0o700)).unwrap();
    let mut child = recto()
        .args(["review", "--state-dir"])
        .args([&reviewed.state, &reviewed.root])
        .env("BROWSER", &browser)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !seen.exists() {
        assert!(start.elapsed() < MAX_WAIT);
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = fs::read_to_string(&seen).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("600"));
    let arguments = lines.next().unwrap();
    assert!(arguments.starts_with(reviewed.state.to_str().unwrap()), "{text}");
    assert!(!arguments.contains("t="), "{text}");
    assert!(lines.next().unwrap().contains("/#t="), "{text}");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!PathBuf::from(arguments).exists());
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "");
}

#[test]
fn the_address_is_printed_if_the_browser_cannot_be_opened() {
    let reviewed = reviewed();
    let mut child = recto()
        .args(["review", "--state-dir"])
        .args([&reviewed.state, &reviewed.root])
        .env("BROWSER", "false")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(line);
    });
    let line = receiver.recv_timeout(MAX_WAIT);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.unwrap().contains("/#t="));
}
