//! Kills a server as it enters its N-th call that changes a file, N = 1, 2, … until the change is made.

use recto_dev::client::Reply;
use recto_dev::servers::Server;
use serde_json::{Value, json};

use super::{Listed, Place};
use crate::cell::Cell;
use crate::tracer::Tracer;
use crate::{Result, files};

const N_BYTES: usize = 20_000;

#[derive(Clone, Copy)]
enum Change {
    Edit,
    Create,
    Remove,
    Together,
}

pub fn run(server: &Server) -> Result<Vec<Cell>> {
    [Change::Edit, Change::Create, Change::Remove, Change::Together]
        .map(|change| crashes(server, change))
        .into_iter()
        .collect()
}

fn crashes(server: &Server, change: Change) -> Result<Cell> {
    let (mut n_crashes, mut n_made, mut wrong) = (0, 0, Vec::new());
    // On a new journal, and on one that is in use.
    for is_used in [false, true] {
        for n in 1.. {
            let Some((call, is_made, listed)) = crash(server, change, is_used, n)? else { break };
            n_crashes += 1;
            n_made += usize::from(is_made);
            let expected = Listed { n_done: usize::from(is_made), ..listed };
            let is_right = listed == expected && listed.n_uncertain + listed.n_unfinished == 0;
            if !is_right {
                wrong.push(format!("{listed:?} before {call}, made: {is_made}"));
            }
        }
    }
    let example = wrong.first().map(|example| format!(" ({example})")).unwrap_or_default();
    let text = format!("{} of {n_crashes}, {n_made} were made{example}", wrong.len());
    // Both outcomes must have been tried.
    Ok(Cell::new(wrong.is_empty() && n_made > 0 && n_made < n_crashes, text))
}

/// Returns the call at which the server was killed, whether the change was made, and what is listed.
fn crash(
    server: &Server,
    change: Change,
    is_used: bool,
    n: usize,
) -> Result<Option<(&'static str, bool, Listed)>> {
    let folder = tempfile::tempdir()?;
    let place = Place::new(server, folder.path())?;
    let [path, other] = ["f.txt", "g.txt"].map(|name| place.root.join(name));
    let before = files::counted(0, N_BYTES);
    if !matches!(change, Change::Create) {
        std::fs::write(&path, &before)?;
        std::fs::write(&other, &before)?;
    }
    let mut session = place.serve()?;
    if is_used {
        session.write(&place.root.join("other.txt"), "a change\n")?;
    }
    let hash = match session.call("text_read", json!({"path": path}))? {
        Reply::Done(_, result) => result["structuredContent"]["hash"].clone(),
        _ => Value::Null,
    };
    let tracer = Tracer::attach(session.client.process_id(), n)?;
    let outcome = match change {
        Change::Edit => session.edit(&path, "n = 0\n", "n = 1\n"),
        Change::Create => session.write(&path, &files::counted(1, N_BYTES)),
        Change::Together => {
            let edit = json!({"old_string": "n = 0\n", "new_string": "n = 1\n"});
            let changes = [&path, &other].map(|path| json!({"path": path, "edits": [edit]}));
            session.call("changes_apply", json!({"changes": changes}))
        }
        Change::Remove => session.call("file_remove", json!({"path": path, "hash": hash})),
    };
    session.client.kill()?;
    let Some(call) = tracer.wait()? else {
        let reply = outcome?;
        return match reply.is_done() {
            true => Ok(None),
            false => Err(format!("not made: {:.80}", reply.text()).into()),
        };
    };
    if matches!(change, Change::Together) {
        place.recover(&path)?;
        if std::fs::read(&path)? != std::fs::read(&other)? {
            return Err(format!("a mixture after a kill before {call}").into());
        }
    }
    let found = std::fs::read_to_string(&path).ok();
    let after = match change {
        Change::Remove => None,
        _ => Some(files::counted(1, N_BYTES)),
    };
    let is_made = found == after;
    let was = (!matches!(change, Change::Create)).then_some(before);
    if !is_made && found != was {
        return Err(format!("the file was torn before {call}").into());
    }
    Ok(Some((call, is_made, place.listed(&path)?)))
}
