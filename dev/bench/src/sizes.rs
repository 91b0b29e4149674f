//! Measures sizes: the characters that a model pays for, and memory.

use recto_dev::process::megabytes;
use recto_dev::table::grouped;
use serde_json::{Value, json};

use crate::Result;
use crate::goals::{self, Goal};
use crate::rounds::Bench;

/// One line of the table of sizes.
pub struct Size {
    pub what: &'static str,
    pub value: String,
    pub goal: String,
}

/// Measures all sizes. Runs last, because peak memory includes all rows.
pub fn measure(bench: &mut Bench) -> Result<Vec<Size>> {
    let (_, list) = bench.durable.request("tools/list", json!({}))?;
    let mut list = list.result()?;
    let (_, refusal) = bench.refused_edit(&bench.folder.near_miss.clone())?;
    let (client, _) = bench.open_session()?;
    let n_idle = megabytes(client.process_id(), "VmRSS")?;
    client.stop()?;
    let server = bench.durable.process_id();
    let n_after = megabytes(server, "VmRSS")?;
    let n_peak = megabytes(server, "VmHWM")?;

    let whole_list = list["tools"].to_string();
    forget_what_models_do_not_see(&mut list["tools"]);
    let seen_list = list["tools"].to_string();
    Ok(vec![
        in_tokens("tools/list, all of it", &whole_list, Some(goals::TOOLS)),
        in_tokens("tools/list: names, descriptions, arguments", &seen_list, None),
        in_tokens("text of a miss in 10,000 lines", &refusal, Some(goals::TEXT_OF_A_MISS)),
        in_megabytes("memory after initialize", n_idle, Some(goals::IDLE)),
        in_megabytes("memory after all rows", n_after, None),
        in_megabytes("most memory during all rows", n_peak, Some(goals::PEAK)),
    ])
}

/// Keeps what clients pass to a model: name, description and argument schema.
fn forget_what_models_do_not_see(tools: &mut Value) {
    for tool in tools.as_array_mut().into_iter().flatten() {
        if let Some(tool) = tool.as_object_mut() {
            tool.retain(|key, _| matches!(key.as_str(), "name" | "description" | "inputSchema"));
        }
    }
}

/// Estimates tokens as four characters each.
fn in_tokens(what: &'static str, text: &str, goal: Option<Goal>) -> Size {
    let n_characters = text.chars().count();
    let n_tokens = n_characters / 4;
    let value = format!("{} characters / 4 = {}", grouped(n_characters), grouped(n_tokens));
    Size { what, value, goal: beside(goal, n_tokens as f64) }
}

fn in_megabytes(what: &'static str, n_megabytes: f64, goal: Option<Goal>) -> Size {
    Size { what, value: format!("{n_megabytes:.1} MB"), goal: beside(goal, n_megabytes) }
}

fn beside(goal: Option<Goal>, measured: f64) -> String {
    goal.map(|goal| goal.beside(measured)).unwrap_or_default()
}
