//! What is not a time: the characters that a model pays for, and memory.

use serde_json::{Value, json};

use crate::Result;
use crate::client::text_of;
use crate::machine::kilobytes;
use crate::rounds::Bench;
use crate::table::grouped;

/// One line of the table of sizes.
pub struct Size {
    pub what: &'static str,
    pub value: String,
    pub goal: &'static str,
}

/// Measures all of them; last, because the highest use of memory is that of all rows.
pub fn measure(bench: &mut Bench) -> Result<Vec<Size>> {
    let (_, mut list) = bench.durable.request("tools/list", json!({}))?;
    let (_, refusal) = bench.refused_edit(&bench.folder.near_miss.clone())?;
    let (client, _) = bench.open_session()?;
    let n_idle = kilobytes(client.process_id(), "VmRSS")?;
    client.stop()?;
    let server = bench.durable.process_id();
    let n_after = kilobytes(server, "VmRSS")?;
    let n_peak = kilobytes(server, "VmHWM")?;

    let whole_list = list["tools"].to_string();
    forget_what_models_do_not_see(&mut list["tools"]);
    let seen_list = list["tools"].to_string();
    let size = |what, value, goal| Size { what, value, goal };
    Ok(vec![
        size("tools/list, all of it", tokens(&whole_list), "< 3,500 tokens"),
        size("tools/list: names, descriptions, arguments", tokens(&seen_list), ""),
        size("text of a miss in 10,000 lines", tokens(&text_of(&refusal)), "≤ 300 tokens"),
        size("memory after initialize", megabytes(n_idle), "≤ 15 MB"),
        size("memory after all rows", megabytes(n_after), ""),
        size("most memory during all rows", megabytes(n_peak), ""),
    ])
}

/// Clients hand a model the name, the description and the schema of the arguments.
fn forget_what_models_do_not_see(tools: &mut Value) {
    for tool in tools.as_array_mut().into_iter().flatten() {
        if let Some(tool) = tool.as_object_mut() {
            tool.retain(|key, _| matches!(key.as_str(), "name" | "description" | "inputSchema"));
        }
    }
}

/// Tokens as they are commonly guessed: four characters each.
fn tokens(text: &str) -> String {
    let n_characters = text.chars().count();
    format!("{} characters / 4 = {}", grouped(n_characters), grouped(n_characters / 4))
}

fn megabytes(n_kilobytes: usize) -> String {
    format!("{:.1} MB", n_kilobytes as f64 / 1024.0)
}
