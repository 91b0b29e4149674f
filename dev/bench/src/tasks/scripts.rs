//! The tasks: the files, the request, how an agent fulfils it, and the expected result.
//!
//! A script decides by what the tools offer, and copies only text that the request or an answer
//! contains (see [`Agent::require_seen`]).

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::agent::{Agent, Answer, Cost};
use super::generated;
use super::places::{Row, unique_edits};
use super::sources::Sources;
use super::wrong_edits::{DEFS, WRONG_EDITS};
use crate::Result;

/// A task.
pub struct Task {
    pub name: &'static str,
    /// What the user asks for.
    request: &'static str,
    /// The most tokens that it may take.
    pub bound: Option<usize>,
    /// Creates the files in a directory.
    pub prepare: fn(&Sources, &Path) -> Result<()>,
    /// Makes the change without recto.
    pub expect: fn(&Path) -> Result<()>,
    /// Makes the change with recto.
    play: fn(&mut Agent) -> Result<()>,
}

impl Task {
    /// Lets an agent do the task.
    pub fn play(&self, recto: &Path, root: &Path, is_traced: bool) -> Result<Cost> {
        let mut agent = Agent::start(recto, root, self.request, is_traced)?;
        (self.play)(&mut agent)?;
        agent.finish()
    }
}

const STATUS: &str = "jj-cli/src/commands/status.rs";
const DIFF_UTIL: &str = "jj-cli/src/diff_util.rs";
const SOURCE_SYMBOL: &str = "jj-cli/src/source_symbol.rs";
const CONFIG: &str = "jj-cli/docs/config.md";
const MANIFEST: &str = "jj-cli/Cargo.toml";
const GLOB: &str = "globset/src/glob.rs";
const GLOBSET: &str = "globset/src/lib.rs";
const MESSAGES: &str = "ripgrep/crates/core/messages.rs";
const HAYSTACK: &str = "ripgrep/crates/core/haystack.rs";
const LOG: &str = "server.log";
const PRICES: &str = "preise.csv";
const SCRIPT: &str = "app.min.js";

/// All tasks, in the order of the table.
pub const TASKS: &[Task] = &[
    Task {
        name: "hidden flag with doc",
        request: "Give `jj status` a hidden flag --no-summary with the doc comment \
            \"Do not print a summary of the changes\".",
        bound: None,
        prepare: |sources, root| sources.copy("jj-cli", root),
        expect: |root| {
            let old = "    paths: Vec<String>,\n}\n";
            change(root, STATUS, old, &format!("    paths: Vec<String>,\n\n{HIDDEN_FLAG}\n}}\n"), 1)
        },
        play: |agent| {
            agent.search("jj-cli/src/commands/*.rs", "struct StatusArgs", 5)?;
            agent.require_seen(STATUS)?;
            let (old, new) = ("    paths: Vec<String>,", "    paths: Vec<String>,\n\n");
            agent.edit(STATUS, old, &format!("{new}{HIDDEN_FLAG}")).map(drop)
        },
    },
    Task {
        name: "rename, 77 places in 2 files",
        request: "Rename the type SourceLanguage to SymbolLanguage; it is used in \
            src/diff_util.rs and src/source_symbol.rs.",
        bound: Some(1000),
        prepare: |sources, root| sources.copy("jj-cli", root),
        expect: renamed_77_places,
        play: |agent| {
            rename(agent, &[DIFF_UTIL, SOURCE_SYMBOL], "SourceLanguage", "SymbolLanguage")?;
            let left = agent.search("jj-cli/src/**/*.rs", "SourceLanguage", 0)?.rows();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}").into()) }
        },
    },
    Task {
        name: "rename, 77 places in 2 files, together",
        request: "Rename the type SourceLanguage to SymbolLanguage in all sources.",
        bound: Some(900),
        prepare: |sources, root| sources.copy("jj-cli", root),
        expect: renamed_77_places,
        play: |agent| {
            let edit = json!({"old_string": "SourceLanguage", "new_string": "SymbolLanguage",
                "replace_all": true, "whole_word": true});
            let changes = json!([{"glob": agent.path("jj-cli/src/**/*.rs"), "edits": [edit]}]);
            let first =
                agent.call("changes_apply", json!({"changes": changes, "dry_run": true}))?;
            let plan = first.text.split_once("plan ").and_then(|(_, plan)| plan.get(..12));
            agent.call("changes_apply", json!({"changes": changes, "plan": plan})).map(drop)
        },
    },
    Task {
        name: "rename, a longer name stays",
        request: "Rename MatchStrategy to GlobStrategy in src/glob.rs and src/lib.rs. \
            GlobSetMatchStrategy keeps its name.",
        bound: Some(1000),
        prepare: |sources, root| sources.copy("globset", root),
        expect: |root| {
            // The longer name is put aside, so that this does not depend on what a word is.
            for (path, n_longer, n_all) in [(GLOB, 0, 22), (GLOBSET, 14, 10)] {
                change(root, path, "GlobSetMatchStrategy", "\0", n_longer)?;
                change(root, path, "MatchStrategy", "GlobStrategy", n_all)?;
                change(root, path, "\0", "GlobSetMatchStrategy", n_longer)?;
            }
            Ok(())
        },
        play: |agent| rename(agent, &[GLOB, GLOBSET], "MatchStrategy", "GlobStrategy"),
    },
    Task {
        name: "Markdown table",
        request: "In docs/config.md, add a row to the table of environment variables: \
            `$JJ_OP_TIMESTAMP` overrides `debug.operation-timestamp`. Align the columns.",
        bound: None,
        prepare: |sources, root| sources.copy("jj-cli", root),
        expect: |root| {
            let row = |[left, right]: [&str; 2]| format!("| {left:18} | {right:27} |");
            let rule = |n| format!(":{}", "-".repeat(n));
            let old_rule = "| :---------------- | :------------------ |";
            change(root, CONFIG, old_rule, &row([&rule(17), &rule(26)]), 1)?;
            let variables = ["USER", "EMAIL", "EDITOR", "PAGER", "OP_HOSTNAME", "OP_USERNAME"];
            let text = fs::read_to_string(root.join(CONFIG))?;
            for line in text.lines().filter(|line| line.starts_with('|')) {
                let cells: Vec<_> = line.split('|').map(str::trim).collect();
                let name = cells[1].trim_start_matches("`$JJ_").trim_end_matches('`');
                if name == "Variable" || variables.contains(&name) {
                    change(root, CONFIG, line, &row([cells[1], cells[2]]), 1)?;
                }
            }
            let last = row(["`$JJ_OP_USERNAME`", "`operation.username`"]);
            let added = row(["`$JJ_OP_TIMESTAMP`", "`debug.operation-timestamp`"]);
            change(root, CONFIG, &last, &format!("{last}\n{added}"), 1)
        },
        play: |agent| {
            let rows = agent.search(CONFIG, "`$JJ_OP_USERNAME`", 8)?.rows();
            let lines = rows.iter().map(|row| &*row.text).filter(|line| line.starts_with('|'));
            let lines: Vec<_> = lines.collect();
            let row = "| `$JJ_OP_TIMESTAMP` | `debug.operation-timestamp` |";
            let new = aligned(&[&lines[..], &[row]].concat());
            agent.edit(CONFIG, &lines.join("\n"), &new).map(drop)
        },
    },
    Task {
        name: "Cargo.toml",
        request: "In Cargo.toml, raise clap to 4.6.5 and enable its feature \"env\".",
        bound: None,
        prepare: |sources, root| sources.copy("jj-cli", root),
        expect: |root| {
            let old = "[dependencies.clap]\nversion = \"4.6.1\"\nfeatures = [\n";
            change(root, MANIFEST, old, &old.replace("4.6.1", "4.6.5"), 1)?;
            change(root, MANIFEST, "    \"string\",\n]\n", "    \"string\",\n    \"env\",\n]\n", 1)
        },
        play: |agent| {
            let rows = agent.search(MANIFEST, "[dependencies.clap]", 8)?.rows();
            let old = joined(&rows, "[dependencies.clap]", "]")?.1;
            let new = old.replace("4.6.1", "4.6.5").replace("\n]", "\n    \"env\",\n]");
            agent.edit(MANIFEST, &old, &new).map(drop)
        },
    },
    Task {
        name: "struct literal",
        request: "In src/glob.rs, give the struct Options of the tests a last field \
            `emptyalt: Option<bool>`, which is None in all of its literals.",
        bound: None,
        prepare: |sources, root| sources.copy("globset", root),
        expect: |root| {
            let values = [("Option<bool>", "Option<bool>", 1), ("None", "None", 5)];
            for (value, added, n_places) in values.into_iter().chain([("Some(true)", "None", 1)]) {
                let old = format!("        unccls: {value},\n");
                change(root, GLOB, &old, &format!("{old}        emptyalt: {added},\n"), n_places)?;
            }
            Ok(())
        },
        play: struct_literal,
    },
    Task {
        name: "CRLF file",
        request: "In crates/core/messages.rs, add `#[allow(dead_code)]` to the static ERRORED and a \
            second doc line, \"It is never reset.\"",
        bound: None,
        prepare: |sources, root| {
            sources.copy("ripgrep", root)?;
            let text = fs::read_to_string(root.join(MESSAGES))?;
            Ok(fs::write(root.join(MESSAGES), text.replace('\n', "\r\n"))?)
        },
        expect: |root| {
            let (doc, item) = ("error message is printed.\r\n", "static ERRORED");
            let new = format!("{doc}/// It is never reset.\r\n#[allow(dead_code)]\r\n{item}");
            change(root, MESSAGES, &format!("{doc}{item}"), &new, 1)
        },
        play: |agent| {
            let rows = agent.search(MESSAGES, "static ERRORED", 2)?.rows();
            let old = joined(&rows, "/// Flipped", "static ERRORED")?.1;
            let (doc, item) = old.split_once('\n').ok_or("one line")?;
            let new = format!("{doc}\n/// It is never reset.\n#[allow(dead_code)]\n{item}");
            agent.edit(MESSAGES, &old, &new).map(drop)
        },
    },
    Task {
        name: "200 MB log",
        request: "An upload in server.log failed with a \"checksum mismatch\". Replace the token \
            that the same request logged by [redacted].",
        bound: None,
        prepare: |_, root| generated::write_log(&root.join(LOG)),
        expect: |root| change(root, LOG, "token=u7Qx.93kd.Zz01", "token=[redacted]", 1),
        play: |agent| {
            let found = agent.search(LOG, "checksum mismatch", 0)?;
            let request = found.text.split_whitespace().find(|word| word.starts_with("req="));
            let rows = agent.search(LOG, request.ok_or("no request")?, 0)?.rows();
            let row = rows.iter().find(|row| row.text.contains("token=")).ok_or("no token")?;
            let mut words = row.text.split_whitespace();
            let token = words.find(|word| word.starts_with("token=")).unwrap_or_default();
            agent.edit(LOG, token, "token=[redacted]").map(drop)
        },
    },
    Task {
        name: "restore old lines",
        request: "In crates/core/haystack.rs, restore fn path as it was before the last commit.",
        bound: None,
        prepare: prepare_history,
        expect: |root| {
            change(root, HAYSTACK, CHANGED_BODY, OLD_BODY, 1)?;
            insert_header(&root.join(HAYSTACK))
        },
        play: restore,
    },
    Task {
        name: "European CSV",
        request: "In preise.csv, article 12345 costs 41,90 now.",
        bound: None,
        prepare: |_, root| Ok(fs::write(root.join(PRICES), generated::csv())?),
        expect: |root| {
            let csv = fs::read(root.join(PRICES))?;
            let lines = csv.split_inclusive(|byte| *byte == b'\n');
            let lines = lines.map(|line| match line.starts_with(b"12345;") {
                true => {
                    let mut cells: Vec<_> = line.split(|byte| *byte == b';').collect();
                    cells[3] = b"41,90";
                    cells.join(&b';')
                }
                false => line.to_vec(),
            });
            Ok(fs::write(root.join(PRICES), lines.collect::<Vec<_>>().concat())?)
        },
        play: |agent| {
            let path = agent.path(PRICES);
            agent.call("ReadAsTable", json!({"file_path": path, "limit": 3}))?;
            let rows = agent.search(PRICES, "12345;", 0)?.rows();
            let old = &*rows.first().ok_or("no article")?.text;
            let mut cells: Vec<_> = old.split(';').collect();
            cells[3] = "41,90";
            agent.edit(PRICES, old, &cells.join(";")).map(drop)
        },
    },
    Task {
        name: "recovering from 17 wrong edits",
        request: "In crates/core/flags/defs.rs, put the short descriptions of 17 flags into the \
            third person.",
        bound: None,
        prepare: |sources, root| sources.copy("ripgrep", root),
        expect: |root| {
            let mut edits = WRONG_EDITS.iter();
            edits.try_for_each(|edit| change(root, DEFS, edit.right, edit.new, 1))
        },
        play: recover,
    },
    Task {
        name: "one character in a 600 KB line",
        request: "In app.min.js, the uploader's maxRetries must be 4.",
        bound: Some(600),
        prepare: |_, root| Ok(fs::write(root.join(SCRIPT), generated::minified())?),
        expect: |root| change(root, SCRIPT, "maxRetries:3", "maxRetries:4", 1),
        play: |agent| {
            agent.search(SCRIPT, "maxRetries", 0)?;
            agent.edit(SCRIPT, "maxRetries:3", "maxRetries:4").map(drop)
        },
    },
];

fn renamed_77_places(root: &Path) -> Result<()> {
    change(root, DIFF_UTIL, "SourceLanguage", "SymbolLanguage", 10)?;
    change(root, SOURCE_SYMBOL, "SourceLanguage", "SymbolLanguage", 67)
}

/// Replaces a text in a file, which must occur this often.
fn change(root: &Path, path: &str, old: &str, new: &str, n_places: usize) -> Result<()> {
    let text = fs::read_to_string(root.join(path))?;
    let n_found = text.matches(old).count();
    if n_found != n_places {
        return Err(format!("{old:?} occurs {n_found} times in {path}, not {n_places}").into());
    }
    Ok(fs::write(root.join(path), text.replace(old, new))?)
}

/// Returns the rows from the first that starts with one text to the next that starts with another,
/// and their text.
fn joined<'a>(rows: &'a [Row], first: &str, last: &str) -> Result<(&'a [Row], String)> {
    let start = rows.iter().position(|row| row.text.starts_with(first));
    let rows = &rows[start.ok_or_else(|| format!("no {first:?}"))?..];
    let end = rows.iter().position(|row| row.text.starts_with(last));
    let rows = &rows[..=end.ok_or_else(|| format!("no {last:?}"))?];
    let lines: Vec<_> = rows.iter().map(|row| &*row.text).collect();
    Ok((rows, lines.join("\n")))
}

fn multi_edit(agent: &mut Agent, path: &str, edits: &[(String, String)]) -> Result<()> {
    edits.iter().try_for_each(|(old, _)| agent.require_seen(old))?;
    let edits = edits.iter().map(|(old, new)| json!({"old_string": old, "new_string": new}));
    let arguments = json!({"path": agent.path(path), "edits": edits.collect::<Vec<_>>()});
    agent.call("multi_edit_text_file", arguments).map(drop)
}

const HIDDEN_FLAG: &str = "    /// Do not print a summary of the changes
    #[arg(long, hide = true)]
    no_summary: bool,";

/// Renames an identifier in files that the agent knows.
fn rename(agent: &mut Agent, paths: &[&str], old: &str, new: &str) -> Result<()> {
    for path in paths {
        agent.require_seen(old)?;
        if agent.offers("edit_text_file", "replace_all") {
            let path = agent.path(path);
            let mut arguments = json!({"path": path, "old_string": old, "new_string": new});
            arguments["replace_all"] = true.into();
            arguments["whole_word"] = true.into();
            agent.call("edit_text_file", arguments)?;
            continue;
        }
        // Each place has to be named by text around it; with too little, the agent asks for more.
        let mut edits = None;
        for n_around in [2, 5] {
            let rows = agent.search(path, old, n_around)?.rows();
            edits = unique_edits(&rows, old, new, true);
            if edits.is_some() {
                break;
            }
        }
        multi_edit(agent, path, &edits.ok_or("places look alike")?)?;
    }
    Ok(())
}

fn struct_literal(agent: &mut Agent) -> Result<()> {
    let is_declared = agent.offers("multi_edit_text_file", "replace_all");
    let rows = agent.search(GLOB, "unccls", if is_declared { 0 } else { 4 })?.rows();
    let [field, some, none] = ["unccls: Option<bool>,", "unccls: Some(true),", "unccls: None,"];
    [field, some, none].iter().try_for_each(|line| agent.require_seen(line))?;
    let with =
        |line: &str, added| (line.to_string(), format!("{line}\n        emptyalt: {added},"));
    let once = [with(field, "Option<bool>"), with(some, "None")];
    if !is_declared {
        let (old, new) = with(none, "None");
        let each = unique_edits(&rows, &old, &new, false).ok_or("places look alike")?;
        return multi_edit(agent, GLOB, &[&once[..], &each].concat());
    }
    let edit = |(old, new): (String, String)| json!({"old_string": old, "new_string": new});
    let mut edits: Vec<_> = once.into_iter().map(edit).collect();
    edits.push(edit(with(none, "None")));
    edits[2]["replace_all"] = true.into();
    let arguments = json!({"path": agent.path(GLOB), "edits": edits});
    agent.call("multi_edit_text_file", arguments).map(drop)
}

/// Aligns the columns of a Markdown table whose second line is the delimiter row.
fn aligned(lines: &[&str]) -> String {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let rows: Vec<_> = lines.iter().map(|line| cells(line)).collect();
    let is_rule = |cell: &str| cell.starts_with(":-");
    let width = |column: usize| {
        let lengths = rows.iter().map(|row| &row[column]).filter(|cell| !is_rule(cell));
        lengths.map(String::len).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| match is_rule(cell) {
            true => format!(" :{} ", "-".repeat(width(column) - 1)),
            false => format!(" {cell:width$} ", width = width(column)),
        });
        format!("|{}|", cells.collect::<Vec<_>>().join("|"))
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

const OLD_BODY: &str = "        if self.strip_dot_prefix && self.dent.path().starts_with(\"./\") {
            self.dent.path().strip_prefix(\"./\").unwrap()
        } else {
            self.dent.path()
        }
";
const CHANGED_BODY: &str = "        // With its prefix.\n        self.dent.path()\n";

/// Creates a repository in whose last commit the function was changed.
fn prepare_history(sources: &Sources, root: &Path) -> Result<()> {
    sources.copy("ripgrep", root)?;
    let git = |arguments: &[&str]| -> Result<()> {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
        git.args(["-c", "gc.auto=0", "-C"]).arg(root.join("ripgrep")).args(arguments);
        let output = git.output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("git: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    git(&["init", "--quiet"])?;
    git(&["add", "crates"])?;
    git(&["commit", "--quiet", "-m", "one"])?;
    change(root, HAYSTACK, OLD_BODY, CHANGED_BODY, 1)?;
    git(&["commit", "--quiet", "-a", "-m", "two"])
}

/// Adds lines at the start of a file, as another program does while the agent works.
fn insert_header(path: &Path) -> Result<()> {
    let text = fs::read_to_string(path)?;
    Ok(fs::write(path, format!("// Part of ripgrep.\n// See COPYING.\n\n{text}"))?)
}

fn restore(agent: &mut Agent) -> Result<()> {
    let path = agent.path(HAYSTACK);
    let search = json!({"file_path": path, "match": "fn path", "ctx": 8});
    let mut search_before = search.clone();
    search_before["commit"] = "HEAD~1".into();
    let function = |answer: &Answer| -> Result<([usize; 2], String)> {
        let rows = answer.rows();
        let (rows, text) = joined(&rows, "    pub(crate) fn path", "    }")?;
        Ok(([rows[0].line, rows[0].line + rows.len()], text))
    };
    let (_, before) = function(&agent.call("ReadLines", search_before)?)?;
    let current = agent.call("ReadLines", search.clone())?;
    let (lines, old) = function(&current)?;
    let hash = current.hash_except(&[]).ok_or("no hash")?;
    insert_header(Path::new(&path))?;
    let replace = |hash: &str, lines: [usize; 2]| json!({"path": path, "hash": hash, "lines": lines, "old": old, "new": before});
    let rejected = agent.try_call("text.replace", replace(&hash, lines))?;
    if !rejected.is_error {
        return Err("a stale hash was accepted".into());
    }
    // A rejection that says where the lines are now saves reading them again.
    let (hash, lines) = match (rejected.hash_except(&[&hash]), rejected.lines()) {
        (Some(hash), Some(lines)) => (hash, lines),
        _ => {
            let current = agent.call("ReadLines", search)?;
            (current.hash_except(&[]).ok_or("no hash")?, function(&current)?.0)
        }
    };
    agent.call("text.replace", replace(&hash, lines)).map(drop)
}

/// Sends edits whose old texts are misremembered, and corrects those that an answer shows.
fn recover(agent: &mut Agent) -> Result<()> {
    let path = agent.path(DEFS);
    let mut olds: Vec<_> = WRONG_EDITS.iter().map(|edit| edit.remembered).collect();
    loop {
        let edits = olds.iter().zip(WRONG_EDITS);
        let edits = edits.map(|(old, edit)| json!({"old_string": old, "new_string": edit.new}));
        let edits: Vec<_> = edits.collect();
        let arguments = json!({"path": path, "edits": edits});
        let mut answer = agent.try_call("multi_edit_text_file", arguments)?;
        if !answer.is_error {
            return Ok(());
        }
        // Lines that the rejection names but cuts are read.
        let is_whole = |line: &str| WRONG_EDITS.iter().any(|edit| line.contains(edit.right));
        let evidence = answer.text.lines().filter_map(|line| line.split_once(" file: "));
        let cut = evidence.filter(|(_, text)| !is_whole(text));
        let cut = cut.filter_map(|(line, _)| line.split_whitespace().next_back());
        let cut = cut.filter(|line| line.parse::<usize>().is_ok()).collect::<Vec<_>>().join(",");
        if !cut.is_empty() {
            let lines = agent.call("ReadLines", json!({"file_path": path, "lines": cut}))?;
            answer.text.push_str(&lines.text);
        } else if !is_whole(&answer.text) {
            // It shows nothing: the agent searches for the start of the first text that is wrong.
            let mut wrong = olds.iter().zip(WRONG_EDITS).filter(|(old, edit)| **old != edit.right);
            let start = wrong.next().and_then(|(old, _)| old.rsplitn(3, ' ').nth(2));
            answer = agent.search(DEFS, start.ok_or("all edits were corrected")?, 0)?;
        }
        let mut n_learned = 0;
        for (old, edit) in olds.iter_mut().zip(WRONG_EDITS) {
            if *old != edit.right && answer.text.contains(edit.right) {
                *old = edit.right;
                n_learned += 1;
            }
        }
        if n_learned == 0 {
            return Err(format!("no answer shows the lines: {:.500}", answer.text).into());
        }
    }
}
