//! Makes every call that an error's hint suggests, on the unchanged files, and requires that it
//! succeeds.

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use recto::cli::parse_options;
use recto_store::GitRevisions;
use recto_tools::call::{Call, Calls};
use recto_tools::error::NextCall;
use recto_tools::{Answer, Error, Served, tools};
use serde_json::{Map, Value};

use crate::in_process::local_store;
use crate::row::{Case, ROOT, Row, Step, rows};
use crate::tree::commit;

/// The least number of suggested calls, so that hints do not lose them unnoticed.
const MIN_CALLS: usize = 150;

/// Returns the test of all rows of all tables.
pub fn trial() -> Trial {
    Trial::test("every_call_that_a_hint_suggests_succeeds", || {
        let (mut n_errors, mut n_calls, mut failures) = (0, 0, Vec::new());
        for tool in tools::ALL {
            for row in rows(tool.name).iter().filter(|row| row.error.is_some()) {
                n_errors += 1;
                match follow(tool.name, row) {
                    None => {}
                    Some(Ok(_)) => n_calls += 1,
                    Some(Err(failure)) => {
                        n_calls += 1;
                        failures.push(format!("{}: {}: {failure}", tool.name, row.name));
                    }
                }
            }
        }
        let n_ok = n_calls - failures.len();
        println!("{n_ok} of {n_calls} suggested calls succeed, of {n_errors} rows with an error");
        match failures.is_empty() && n_calls >= MIN_CALLS {
            true => Ok(()),
            false => Err(Failed::from(failures.join("\n"))),
        }
    })
}

/// Makes the call of a row, then the one that its hint suggests, if any.
fn follow(tool: &str, row: &Row) -> Option<Result<Answer, String>> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let case = row.at(&root);
    let calls = prepare(&root, &case);
    let call = |tool: &str, arguments: Map<String, Value>| {
        let tool = calls.served().find(tool)?;
        Some(calls.call(tool, arguments, &Call::default()))
    };
    for step in &case.earlier {
        match step {
            Step::Call { tool, arguments } => drop(call(tool, arguments.clone())),
            Step::Change(tree) => tree.write(&root),
        }
    }
    let error: Error = call(tool, case.arguments.clone())?.err()?;
    let hint = error.hint(calls.served())?;
    let NextCall { tool: next, arguments } = hint.next.clone()?;
    let next = tools::find(next.unwrap_or(tool)).unwrap();
    let is_declared = |name: &String| next.params.iter().any(|param| param.name == name);
    let mut all = tools::find(tool).unwrap().normalized(case.arguments.clone());
    all.retain(|name, _| is_declared(name));
    all.extend(arguments);
    let failed = |again: String| {
        let root = root.to_str().unwrap();
        format!("{error}: {hint}: {again}").replace(root, ROOT)
    };
    let Some(result) = call(next.name, all) else {
        return Some(Err(failed(format!("{} is not served", next.name))));
    };
    Some(result.map_err(|again| failed(again.to_string())))
}

/// Writes the files of a row and returns the tools over them.
fn prepare(root: &Path, case: &Case) -> Calls {
    if !case.commits.is_empty() {
        commit(root, &case.commits);
    }
    case.before.write(root);
    let config = parse_options(&case.options).unwrap();
    let store = Arc::new(local_store(root, &case.options));
    let revisions = Arc::new(GitRevisions::new(store.clone(), Vec::new()));
    let wire = config.wire.for_client(None);
    let served = Served::new(config.tools().unwrap(), wire.names);
    Calls::new(store, revisions, served, root.to_path_buf(), wire.delivery)
}
