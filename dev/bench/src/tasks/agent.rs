//! The agent of a task: calls tools, counts what a model reads and writes, and remembers what it
//! has seen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recto_dev::client::{Client, Reply};
use serde_json::{Value, json};

use super::places::Row;
use crate::Result;

/// What the served directory counts as, so that the place of temporary files does not matter.
const ROOT: &str = "/home/user/project";

/// The calls and characters of a task.
#[derive(Default, Clone, Copy)]
pub struct Cost {
    pub n_calls: usize,
    n_characters: usize,
}

impl Cost {
    /// Estimates tokens as four characters each.
    pub fn n_tokens(self) -> usize {
        self.n_characters.div_ceil(4)
    }
}

/// An answer as a model reads it.
pub struct Answer {
    pub text: String,
    pub is_error: bool,
}

impl Answer {
    /// Returns the numbered lines of the answer.
    pub fn rows(&self) -> Vec<Row> {
        self.text.lines().filter_map(Row::parse).collect()
    }

    /// Returns the first hash that is not one of these.
    pub fn hash_except(&self, known: &[&str]) -> Option<String> {
        let mut words = self.text.split(|c: char| !c.is_ascii_alphanumeric());
        let is_hash = |word: &&str| {
            word.len() == 12 && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        words.find(|word| is_hash(word) && !known.contains(word)).map(str::to_string)
    }

    /// Returns the first `[start, end]` of the answer.
    pub fn lines(&self) -> Option<[usize; 2]> {
        self.text.split('[').skip(1).find_map(|rest| {
            let (start, end) = rest.split_once(']')?.0.split_once(',')?;
            Some([start.trim().parse().ok()?, end.trim().parse().ok()?])
        })
    }
}

/// An agent that works with one build of recto.
pub struct Agent {
    client: Client,
    root: PathBuf,
    tools: Vec<Value>,
    /// The task and all answers: an agent copies text from here only.
    seen: String,
    is_traced: bool,
    pub cost: Cost,
}

impl Agent {
    /// Starts a server on a directory, and gives the agent its task.
    pub fn start(recto: &Path, root: &Path, task: &str, is_traced: bool) -> Result<Agent> {
        // With default settings, unlike the servers of other benchmarks.
        let mut command = Command::new(recto);
        command.arg("serve").arg(root).stderr(Stdio::null());
        let mut client = Client::start(&mut command)?;
        client.initialize()?;
        let list = client.request("tools/list", json!({}))?.1.result()?;
        let tools = list["tools"].as_array().cloned().unwrap_or_default();
        let root = root.to_path_buf();
        Ok(Agent { client, root, tools, seen: task.into(), is_traced, cost: Cost::default() })
    }

    /// Ends the server and returns what the task cost.
    pub fn finish(self) -> Result<Cost> {
        self.client.stop()?;
        Ok(self.cost)
    }

    /// Returns the absolute path of a file in the served directory.
    pub fn path(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }

    /// Returns whether a tool has an argument, at any depth.
    pub fn offers(&self, tool: &str, argument: &str) -> bool {
        fn contains(schema: &Value, argument: &str) -> bool {
            schema["properties"].as_object().is_some_and(|properties| {
                let mut inner = properties.values();
                properties.contains_key(argument)
                    || inner.any(|inner| contains(&inner["items"], argument))
            })
        }
        self.tool(tool).is_some_and(|tool| contains(&tool["inputSchema"], argument))
    }

    /// Returns the declaration of a tool, under either spelling of its name.
    fn tool(&self, name: &str) -> Option<&Value> {
        let is_it = |other: &str| other.replace('.', "_") == name.replace('.', "_");
        self.tools.iter().find(|tool| tool["name"].as_str().is_some_and(is_it))
    }

    /// Calls a tool and counts the arguments and the text of the answer. A rejection is an answer.
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Answer> {
        let name = self.tool(tool).and_then(|tool| tool["name"].as_str());
        let name = name.ok_or_else(|| format!("there is no tool {tool}"))?.to_string();
        let sent = self.as_counted(&arguments.to_string());
        let (_, reply) = self.client.call(&name, arguments)?;
        if let Reply::Failed(message) = &reply {
            return Err(format!("{name}: {message}").into());
        }
        // A model reads each block by itself; a line break between them is not counted.
        let answer: Value = serde_json::from_slice(self.client.line())?;
        let blocks = answer["result"]["content"].as_array().into_iter().flatten();
        let blocks: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let text = blocks.join("\n");
        let received = blocks.iter().map(|block| self.as_counted(block).chars().count());
        let n_characters = sent.chars().count() + received.sum::<usize>();
        self.cost.n_calls += 1;
        self.cost.n_characters += n_characters;
        if self.is_traced {
            eprintln!("  {name} {sent:.600}\n{text:.2000}\n  {n_characters} characters\n");
        }
        self.seen.push('\n');
        self.seen.push_str(&text);
        Ok(Answer { text, is_error: !reply.is_done() })
    }

    fn as_counted(&self, text: &str) -> String {
        text.replace(&*self.root.to_string_lossy(), ROOT)
    }

    /// Calls a tool. A rejection is an error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Answer> {
        let answer = self.try_call(tool, arguments)?;
        match answer.is_error {
            true => Err(format!("{tool}: {:.500}", answer.text).into()),
            false => Ok(answer),
        }
    }

    /// Returns lines that contain a text, with lines around them. The path may be a glob.
    pub fn search(&mut self, path: &str, text: &str, n_around: usize) -> Result<Answer> {
        let mut arguments = json!({"file_path": self.path(path), "match": text});
        if n_around > 0 {
            arguments["ctx"] = n_around.into();
        }
        self.call("ReadLines", arguments)
    }

    /// Replaces a text that the agent has seen, and that occurs once.
    pub fn edit(&mut self, path: &str, old: &str, new: &str) -> Result<Answer> {
        self.require_seen(old)?;
        let path = self.path(path);
        self.call("edit_text_file", json!({"path": path, "old_string": old, "new_string": new}))
    }

    /// Returns an error unless the agent knows every line of a text.
    pub fn require_seen(&self, text: &str) -> Result<()> {
        match text.lines().find(|line| !self.seen.contains(*line)) {
            Some(line) => Err(format!("the agent cannot know {line:?}").into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_wherever_its_parts_are() {
        let text = "now 0123456789ab (was ba9876543210): [default], lines [7, 9].\n 7\ta\tb\n--\n";
        let answer = Answer { text: text.into(), is_error: true };
        assert_eq!(answer.hash_except(&["0123456789ab"]).as_deref(), Some("ba9876543210"));
        assert_eq!(answer.lines(), Some([7, 9]));
        assert_eq!(answer.rows(), [Row { line: 7, text: "a\tb".into() }]);
    }
}
