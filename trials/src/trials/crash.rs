//! kill -9 at every system call of one write: a server is traced, and killed as it enters the
//! N-th call of each kind that changes something, N = 1, 2, … until the write gets through.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Trial;
use crate::cell::Cell;
use crate::client::Session;
use crate::server::Server;
use crate::{Result, files};

pub const REPLACE: Trial = Trial {
    name: "crash-replace",
    rows: &[
        ("crash at every system call of replacing a 2 MB file: torn", "0"),
        ("– leftovers that the next change in the folder leaves there", "0"),
    ],
    run: |_, server| run(server, Some(1)),
};

pub const CREATE: Trial = Trial {
    name: "crash-create",
    rows: &[
        ("crash at every system call of creating a 2 MB file: torn", "0"),
        ("– leftovers that the next change in the folder leaves there", "0"),
    ],
    run: |_, server| run(server, None),
};

const N_BYTES: usize = 2_000_000;

/// The calls that change a file, a folder or what others may do with them.
const CALLS: [&str; 24] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "fchmod",
    "fchown",
    "fsetxattr",
    "flock",
    "fcntl",
    "link",
    "linkat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
];

/// More than any write here takes; a server that keeps calling for other reasons ends there.
const MAX_CALLS: usize = 200;

#[derive(Default)]
struct Tally {
    n_crashes: usize,
    n_torn: usize,
    n_leftovers: usize,
    n_uncleaned: usize,
    example: Option<String>,
}

fn run(server: &Server, before: Option<usize>) -> Result<Vec<Cell>> {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return Ok(vec![Cell::skipped("strace is not installed")]);
    }
    let before = before.map(|number| files::version(number, N_BYTES));
    let before = before.as_deref();
    let mut tally = Tally::default();
    for call in calls_of(server, before)? {
        for n in 1..=MAX_CALLS {
            if !crash(server, before, call, n, &mut tally)? {
                break;
            }
        }
    }
    let example = tally.example.map_or(String::new(), |example| format!(" ({example})"));
    let torn = format!("{} of {}{example}", tally.n_torn, tally.n_crashes);
    let left = format!("{} of {}", tally.n_uncleaned, tally.n_leftovers);
    Ok(vec![
        // A write without any of these calls would mean that nothing was tried.
        Cell::new(tally.n_torn == 0 && tally.n_crashes > 5, torn),
        Cell::new(tally.n_uncleaned == 0, left),
    ])
}

/// Which of the calls a write makes at all.
fn calls_of(server: &Server, before: Option<&str>) -> Result<Vec<&'static str>> {
    let folder = tempfile::tempdir()?;
    let log = tempfile::NamedTempFile::new()?;
    let mut session = start(server, folder.path(), before)?;
    let trace = ["-e".into(), format!("trace={}", CALLS.join(","))];
    let mut tracer = attach(&session, log.path(), &trace)?;
    let reply = session.write(&folder.path().join("f.txt"), &files::version(2, N_BYTES))?;
    session.kill()?;
    tracer.wait()?;
    if !reply.is_done() {
        return Err(format!("not written: {:.80}", reply.text()).into());
    }
    // A line is `1234  openat(…`, or begins again with `<... openat resumed>`.
    let log = std::fs::read_to_string(log.path())?;
    let is_made = |call: &&str| log.contains(&format!(" {call}("));
    Ok(CALLS.into_iter().filter(is_made).collect())
}

/// Puts the old file there and starts a server.
fn start(server: &Server, folder: &Path, before: Option<&str>) -> Result<Session> {
    if let Some(before) = before {
        std::fs::write(folder.join("f.txt"), before)?;
    }
    // With one thread for files, the N-th call of a thread of node is the N-th of a write.
    let mut command = server.command(folder);
    let mut session = Session::start(server.kind, command.env("UV_THREADPOOL_SIZE", "1"))?;
    session.initialize()?;
    Ok(session)
}

/// Kills one write as it enters a call, and looks. Returns whether it got that far.
fn crash(
    server: &Server,
    before: Option<&str>,
    call: &str,
    n: usize,
    tally: &mut Tally,
) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    let after = files::version(2, N_BYTES);
    let mut session = start(server, folder.path(), before)?;
    let kill = [
        "-e".into(),
        format!("trace={call}"),
        "-e".into(),
        format!("inject={call}:signal=KILL:when={n}"),
    ];
    let mut tracer = attach(&session, Path::new("/dev/null"), &kill)?;
    let outcome = session.write(&path, &after);
    session.kill()?;
    tracer.wait()?;
    if let Ok(reply) = outcome {
        return match reply.is_done() && std::fs::read_to_string(&path)? == after {
            true => Ok(false),
            false => Err(format!("not written: {:.80}", reply.text()).into()),
        };
    }
    tally.n_crashes += 1;
    let found = std::fs::read(&path).ok();
    let is_whole =
        found.as_deref() == before.map(str::as_bytes) || found.as_deref() == Some(after.as_bytes());
    if !is_whole {
        tally.n_torn += 1;
        let n_bytes = found.map_or(0, |bytes| bytes.len());
        tally.example.get_or_insert(format!("{n_bytes} bytes before {call}"));
    }
    if has_leftovers(folder.path())? {
        tally.n_leftovers += 1;
        let mut session = server.open(folder.path())?;
        session.write(&folder.path().join("other.txt"), "a change\n")?;
        tally.n_uncleaned += usize::from(has_leftovers(folder.path())?);
    }
    Ok(true)
}

fn has_leftovers(folder: &Path) -> Result<bool> {
    Ok(files::names(folder)?.iter().any(|name| name != "f.txt" && name != "other.txt"))
}

/// Attaches strace to the server, with all of its threads.
fn attach(session: &Session, log: &Path, options: &[String]) -> Result<Child> {
    let mut tracer = Command::new("strace")
        .arg("-f")
        .arg("-o")
        .arg(log)
        .args(options)
        .arg("-p")
        .arg(session.process_id().to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = BufReader::new(tracer.stderr.take().ok_or("no stderr")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    if !line.contains("attached") {
        tracer.wait()?;
        return Err(format!("strace: {}", line.trim()).into());
    }
    // What it says later must not fill the pipe and stop it.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    // The message comes before the last thread is attached.
    std::thread::sleep(Duration::from_millis(10));
    Ok(tracer)
}
