//! `changes_apply`: edits, creates and moves several files, all or none.

mod matching;
mod needed;
mod plan;
mod report;

use recto_store::error::{Denial, Error as StoreError};
use recto_store::path::AbsPath;
use recto_store::{FileStep, StepError, WriteError};
use recto_text::Tag;
use recto_text::plan::Replacement;
use serde_json::{Value, json};

use super::edit::MAX_ATTEMPTS;
use super::edit_text_file::replacement;
use super::{Answer, Arguments, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use crate::error::{Error, Result};
use plan::{PlannedFile, plan_all};

pub static TOOL: Tool = Tool {
    name: "changes_apply",
    title: "Change files",
    toolset: Toolset::Changes,
    description: "Edit, create (content) and move files, all or nothing. Never overwrites or \
        removes a file.",
    params: &[
        Param::required(
            "changes",
            ParamKind::Objects(&[
                Param::optional("path", ParamKind::String, "Absolute, or below the root"),
                Param::optional(
                    "glob",
                    ParamKind::String,
                    "Instead of path: edit every matching file with an old_string",
                ),
                Param::optional("hash", ParamKind::Hash, "Expected hash"),
                Param::optional(
                    "edits",
                    ParamKind::Objects(&[
                        Param::required("old_string", ParamKind::Text, ""),
                        Param::required("new_string", ParamKind::Text, ""),
                        Param::optional("replace_all", ParamKind::Boolean, ""),
                        Param::optional("whole_word", ParamKind::Boolean, ""),
                    ]),
                    "",
                ),
                Param::optional("content", ParamKind::String, "Text of a new file"),
                Param::optional("move_to", ParamKind::String, "New path"),
            ]),
            "One per file",
        ),
        Param::optional("plan", ParamKind::Hash, "From dry_run; required with glob"),
        Param::optional("dry_run", ParamKind::Boolean, "Only return plan and diff"),
    ],
    output,
    run: Run::Changes(run),
};

/// A checked call.
struct Request {
    changes: Vec<FileRequest>,
    plan: Option<Tag>,
    is_dry_run: bool,
}

/// What one item of the call asks for.
struct FileRequest {
    subject: Subject,
    expected: Option<Tag>,
    action: Action,
    move_to: Option<AbsPath>,
}

enum Subject {
    Path(AbsPath),
    Glob(String),
}

enum Action {
    Create(String),
    Edit(Vec<Replacement>),
    /// Only the name changes.
    Keep,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let (plan, is_dry_run) = (arguments.hash("plan"), arguments.boolean("dry_run"));
    let (mut changes, mut failures) = (Vec::new(), Vec::new());
    for (index, item) in arguments.objects("changes").into_iter().enumerate() {
        match FileRequest::parse(env, index, item) {
            Ok(change) => changes.push(change),
            Err(error) => failures.push(error),
        }
    }
    if changes.is_empty() && failures.is_empty() {
        let (name, expected) = ("changes".into(), "an array with at least one object".into());
        return Err(Error::WrongArgument { name, expected, value: "[]".into() });
    }
    reject(failures)?;
    let has_glob = changes.iter().any(|change| matches!(change.subject, Subject::Glob(_)));
    if has_glob && plan.is_none() && !is_dry_run {
        return Err(Error::NoPlan);
    }
    Ok(Request { changes, plan, is_dry_run })
}

impl FileRequest {
    fn parse(env: &WriteEnv<'_>, index: usize, mut item: Arguments) -> Result<FileRequest> {
        let named = |name: &str| format!("changes[{index}].{name}");
        let wrong = |name: &str, expected: &'static str| {
            let (name, expected) = (named(name), expected.into());
            Err(Error::WrongArgument { name, expected, value: "given".into() })
        };
        let given = (item.optional_string("path"), item.optional_string("glob"));
        let subject = match given {
            (Some(path), None) => Subject::Path(AbsPath::resolve("path", path, env.root)?),
            (None, Some(glob)) => Subject::Glob(glob),
            (Some(_), Some(_)) => return wrong("glob", "absent if path is given"),
            (None, None) => {
                let known = "Each change has path, or glob with edits".into();
                return Err(Error::MissingArgument { name: named("path"), known });
            }
        };
        let (expected, edits) = (item.hash("hash"), item.objects("edits"));
        let content = item.optional_string("content");
        let move_to = item.optional_string("move_to");
        let is_glob = matches!(subject, Subject::Glob(_));
        let action = match (content, edits.is_empty()) {
            (Some(_), false) => return wrong("content", "absent if edits are given"),
            (Some(_), _) if move_to.is_some() => {
                return wrong("content", "absent if move_to is given");
            }
            (Some(_), _) if expected.is_some() => return wrong("hash", "absent for a new file"),
            (Some(_), _) if is_glob => return wrong("content", "absent if glob is given"),
            (Some(content), true) => Action::Create(content),
            (None, false) => Action::Edit(replacements(index, edits)?),
            (None, true) if move_to.is_none() => {
                let known = "Each change has edits, content or move_to".into();
                return Err(Error::MissingArgument { name: named("edits"), known });
            }
            (None, true) => Action::Keep,
        };
        if is_glob && (move_to.is_some() || expected.is_some()) {
            let name = if move_to.is_some() { "move_to" } else { "hash" };
            return wrong(name, "absent if glob is given");
        }
        let move_to = move_to.map(|to| AbsPath::resolve("move_to", to, env.root)).transpose()?;
        Ok(FileRequest { subject, expected, action, move_to })
    }
}

fn replacements(index: usize, edits: Vec<Arguments>) -> Result<Vec<Replacement>> {
    let (mut replacements, mut failures) = (Vec::new(), Vec::new());
    for (edit, mut arguments) in edits.into_iter().enumerate() {
        match replacement(&mut arguments) {
            Ok(replacement) => replacements.push(replacement),
            Err(error) => {
                let path = format!("changes[{index}].edits[{edit}]");
                failures.push(Error::InFile { path, source: Box::new(error.into()) });
            }
        }
    }
    reject(failures)?;
    Ok(replacements)
}

/// Fails with all of these errors, if there are any.
fn reject(mut failures: Vec<Error>) -> Result<()> {
    match failures.len() {
        0 => Ok(()),
        1 => Err(failures.remove(0)),
        _ => Err(Error::SeveralFiles { failures }),
    }
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(env, arguments)?;
    for _ in 0..MAX_ATTEMPTS {
        let files = plan_all(env, &request)?;
        let plan = plan::digest(env, &files);
        if request.plan.is_some_and(|expected| expected != plan) {
            return Err(Error::OtherPlan { n_files: files.len() });
        }
        if apply(env, &request, &files)? {
            return Ok(report::answer(env, &request, &files, plan));
        }
    }
    let path = "files of the call".to_string();
    Err(StoreError::Unstable { path }.into())
}

/// Makes the changes, or only checks them in a dry run. Returns `false` if a file changed meanwhile.
fn apply(env: &WriteEnv<'_>, request: &Request, files: &[PlannedFile]) -> Result<bool> {
    let changed: Vec<&PlannedFile> = files.iter().filter(|file| file.is_changed()).collect();
    let steps: Vec<FileStep<'_>> = changed.iter().map(|file| file.step()).collect();
    if steps.is_empty() {
        return Ok(true);
    }
    let checked = env.store.transaction(&steps, env.context);
    let errors = match checked {
        Ok(_) if request.is_dry_run => return Ok(true),
        Ok(transaction) => match transaction.commit() {
            Ok(_) => return Ok(true),
            Err(errors) => errors,
        },
        Err(errors) => errors,
    };
    let is_read_only = |error: &StepError| {
        use StoreError::PermissionDenied;
        let WriteError::Failed(PermissionDenied { reason, .. }) = &error.cause else {
            return false;
        };
        *reason == Denial::ClientSandbox
    };
    // A dry run needs only permission to read.
    let errors = errors.into_iter().filter(|error| !request.is_dry_run || !is_read_only(error));
    let mut failures = Vec::new();
    let mut has_conflict = false;
    for StepError { step, cause } in errors {
        match cause {
            WriteError::Conflict | WriteError::Restart(_) => has_conflict = true,
            WriteError::Failed(error) => failures.push(changed[step].failed(env, error.into())),
        }
    }
    reject(failures)?;
    Ok(!has_conflict)
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "files": {"type": "array"},
            "files_omitted": {"type": "integer"},
            "plan": {"type": "string"},
            "dry_run": {"type": "boolean"},
            "diff": {"type": "string"},
            "diff_shortened": {"type": "boolean"},
        },
        "required": ["files"],
    })
}
