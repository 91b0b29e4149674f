//! Compares searches with ripgrep: the same files, lines and counts for patterns that are made from
//! words of the trees themselves, then the time.
//!
//! Two kinds of files are not compared, because the programs differ about them by design: links to
//! files, which `rg` skips, and files that are not UTF-8 or contain NUL, which `rg` searches as bytes
//! up to the first NUL. They are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use recto_dev::client::Client;
use recto_dev::random::Random;
use recto_dev::table::{Table, median, milliseconds};
use serde_json::{Value, json};

use crate::{Result, machine, programs};

const N_PATTERNS: usize = 200;
const N_ROUNDS: usize = 11;

/// The highest ratio of the times.
const MAX_RATIO: f64 = 1.05;

/// The options that make ripgrep search the files that recto searches.
const RG: &[&str] = &[
    "--no-config",
    "--no-require-git",
    "--no-ignore-dot",
    "--no-ignore-global",
    "--no-messages",
    "--crlf",
    "--color=never",
    "-j2",
];

/// What both programs search for.
struct Pattern {
    text: String,
    is_regex: bool,
    is_case_sensitive: bool,
}

impl Pattern {
    fn arguments(&self) -> Value {
        let name = if self.is_regex { "regex" } else { "match" };
        json!({"file_path": ".", name: self.text, "case_sensitive": self.is_case_sensitive})
    }

    fn rg(&self, rg: &Path, tree: &Path) -> Command {
        let mut command = Command::new(rg);
        command.args(RG).current_dir(tree).stdin(Stdio::null()).stderr(Stdio::null());
        if !self.is_regex {
            command.arg("-F");
        }
        if !self.is_case_sensitive {
            command.arg("-i");
        }
        command
    }
}

/// Compares results on all trees and times on the last one, which should be the largest.
pub fn run(recto: &Path, rg: &Path, trees: &[PathBuf]) -> Result<()> {
    let largest = trees.last().ok_or("--search needs at least one --tree")?;
    println!("{}\n", machine::describe(largest)?);
    let headings = [
        "tree",
        "files",
        "patterns",
        "rows",
        "files with matches",
        "files not compared",
        "different",
    ];
    let mut table = Table::of_numbers(headings);
    let mut n_different = 0;
    for (seed, tree) in trees.iter().enumerate() {
        let tree = Tree::open(tree)?;
        let patterns = tree.patterns(seed as u64);
        let (cells, n) = tree.compare(recto, rg, &patterns)?;
        n_different += n;
        table.add(cells);
    }
    println!("{table}");
    let is_slow = time(recto, rg, &Tree::open(largest)?)?;
    match (n_different, is_slow) {
        (0, false) => Ok(()),
        (0, true) => Err(format!("slower than {MAX_RATIO} × rg").into()),
        (n, _) => Err(format!("{n} differences").into()),
    }
}

/// The files of a tree that recto searches.
struct Tree {
    path: PathBuf,
    words: Vec<String>,
    n_files: usize,
    /// Relative paths of files that are not compared.
    others: BTreeSet<String>,
}

impl Tree {
    fn open(path: &Path) -> Result<Tree> {
        let path = path.canonicalize()?;
        let mut words = BTreeSet::new();
        let mut others = BTreeSet::new();
        let mut n_files = 0;
        let mut folders = vec![path.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let relative = entry.path().strip_prefix(&path)?.display().to_string();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_symlink() {
                    others.insert(relative);
                } else {
                    n_files += 1;
                    let bytes = fs::read(entry.path())?;
                    match std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0')) {
                        None => {
                            others.insert(relative);
                        }
                        // Some words of some files are enough.
                        Some(text) if n_files % 7 == 0 => {
                            let all = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                            let long = all.filter(|word| (4..16).contains(&word.len()));
                            words.extend(long.step_by(97).map(String::from));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(Tree { path, words: words.into_iter().collect(), n_files, others })
    }

    /// Returns patterns with words of the tree, half of them regular expressions.
    fn patterns(&self, seed: u64) -> Vec<Pattern> {
        let mut random = Random::new(seed);
        (0..N_PATTERNS)
            .map(|n| {
                let word = self.words[random.below(self.words.len())].clone();
                let other = &self.words[random.below(self.words.len())];
                let part: String = word.chars().take(3).collect();
                let is_regex = n % 2 == 1;
                let text = match (is_regex, n / 2 % 16) {
                    (false, form) if form % 4 == 3 => format!("{word}("),
                    (false, _) => word,
                    (true, 0) => format!(r"\b{word}\b"),
                    (true, 1) => format!(r"^\s*{word}"),
                    (true, 2) => format!(r"{word}$"),
                    (true, 3) => format!(r"{word}\w+"),
                    (true, 4) => format!(r"\w+{word}"),
                    (true, 5) => format!("{word}|{other}"),
                    (true, 6) => format!("{word}.*{part}"),
                    (true, 7) => format!(r"\p{{Lu}}\w*{part}\w*\("),
                    (true, 8) => format!(r"(?i)[^a-z]{word}[^a-z]"),
                    (true, 9) => format!(r#""[^"]*{word}[^"]*""#),
                    (true, 10) => format!(r"\d+\s+{part}"),
                    (true, 11) => format!(r"^[^\s]{{2,9}} {part}\S*$"),
                    (true, 12) => format!(r"(\w+)\s*=\s*{part}"),
                    (true, 13) => format!(r"[äöüéß].*{part}"),
                    (true, 14) => format!(r"{part}\W+{part}"),
                    (true, _) => format!(r"^\s*$|{word}"),
                };
                Pattern { text, is_regex, is_case_sensitive: is_regex || n % 3 == 0 }
            })
            .collect()
    }

    /// Returns the cells of a row of the table, and the number of differences.
    fn compare(
        &self,
        recto: &Path,
        rg: &Path,
        patterns: &[Pattern],
    ) -> Result<([String; 7], usize)> {
        let (mut client, _) = programs::open(recto, &self.path, &[])?;
        let (mut n_rows, mut n_found, mut n_different) = (0, 0, 0);
        for pattern in patterns {
            let expected = self.rg_lines(rg, pattern)?;
            let (counts, are_cut) = self.recto_counts(&mut client, pattern)?;
            let mut expected_counts = BTreeMap::new();
            expected
                .iter()
                .for_each(|(path, _)| *expected_counts.entry(path.clone()).or_insert(0) += 1);
            if are_cut {
                // An answer has a bounded size, and the first files.
                expected_counts = expected_counts.into_iter().take(counts.len()).collect();
            }
            let (rows, is_cut) = self.recto_rows(&mut client, pattern)?;
            n_rows += rows.len();
            n_found += counts.len();
            // An answer has at most a thousand rows: the first ones.
            let is_same_start = expected.iter().take(rows.len()).eq(&rows);
            let is_whole = rows.len() == expected.len() || is_cut;
            if counts != expected_counts || !is_same_start || !is_whole {
                n_different += 1;
                let first = expected.iter().zip(&rows).find(|(one, other)| one != other);
                let counted =
                    counts.iter().filter(|(path, n)| expected_counts.get(*path) != Some(*n));
                let missing = expected_counts.keys().filter(|path| !counts.contains_key(*path));
                eprintln!(
                    "{}: {:?}: rg {} lines in {} files, recto {} rows, {} files; first {first:?}; \
                     counts {:?}; missing {:?}",
                    self.path.display(),
                    pattern.text,
                    expected.len(),
                    expected_counts.len(),
                    rows.len(),
                    counts.len(),
                    counted.take(3).collect::<Vec<_>>(),
                    missing.take(3).collect::<Vec<_>>(),
                );
            }
        }
        client.stop()?;
        let name = self.path.file_name().unwrap_or_default().display().to_string();
        let cells = [
            name,
            self.n_files.to_string(),
            patterns.len().to_string(),
            n_rows.to_string(),
            n_found.to_string(),
            self.others.len().to_string(),
            n_different.to_string(),
        ];
        Ok((cells, n_different))
    }

    /// Returns the lines that ripgrep finds, by path and number.
    fn rg_lines(&self, rg: &Path, pattern: &Pattern) -> Result<Vec<(String, u64)>> {
        let mut command = pattern.rg(rg, &self.path);
        let output = command.args(["-n", "--null", "-e", &pattern.text]).output()?;
        let mut lines = Vec::new();
        for line in output.stdout.split(|byte| *byte == b'\n') {
            // A note about a binary file has no NUL after the path.
            let Some(end) = line.iter().position(|byte| *byte == 0) else { continue };
            let path = String::from_utf8(line[..end].to_vec())?;
            let number = line[end + 1..].split(|byte| *byte == b':').next().unwrap_or_default();
            lines.push((path, std::str::from_utf8(number)?.parse()?));
        }
        lines.retain(|(path, _)| !self.others.contains(path));
        lines.sort_unstable();
        Ok(lines)
    }

    /// Returns how many lines of each file match, and whether there are more files.
    fn recto_counts(
        &self,
        client: &mut Client,
        pattern: &Pattern,
    ) -> Result<(BTreeMap<String, u64>, bool)> {
        let mut arguments = pattern.arguments();
        arguments["only"] = "files".into();
        let answer = &self.call(client, arguments)?;
        let files = answer["matched_files"].as_array().ok_or("no matched_files")?;
        let count = |file: &Value| Some((self.relative(file)?, file["matches"].as_u64()?));
        Ok((files.iter().filter_map(count).collect(), answer["truncated"] == true))
    }

    /// Returns the lines that recto finds, and whether there are more than a thousand.
    fn recto_rows(
        &self,
        client: &mut Client,
        pattern: &Pattern,
    ) -> Result<(Vec<(String, u64)>, bool)> {
        let answer = &self.call(client, pattern.arguments())?;
        let rows = answer["rows"].as_array().ok_or("no rows")?;
        let line = |row: &Value| Some((self.relative(row)?, row["line_number"].as_u64()?));
        let is_cut = answer["truncated"] == true && rows.len() >= 1000;
        Ok((rows.iter().filter_map(line).collect(), is_cut))
    }

    /// Returns the path of an object, unless it is not compared.
    fn relative(&self, object: &Value) -> Option<String> {
        let path = Path::new(object["file_path"].as_str()?).strip_prefix(&self.path).ok()?;
        Some(path.to_str()?.to_string()).filter(|path| !self.others.contains(path))
    }

    fn call(&self, client: &mut Client, arguments: Value) -> Result<Value> {
        let (_, mut result) = client.call_ok("ReadLines", arguments)?;
        Ok(result["structuredContent"].take())
    }
}

/// Times whole searches, which count, in turns. Returns whether recto was too slow.
fn time(recto: &Path, rg: &Path, tree: &Tree) -> Result<bool> {
    let (mut client, _) = programs::open(recto, &tree.path, &[])?;
    let mut table = Table::of_numbers(["pattern", "recto", "rg -j2", "ratio"]);
    let mut ratios = Vec::new();
    for (text, is_regex, is_case_sensitive) in [
        ("unlikely_to_occur", false, false),
        ("deprecated", false, false),
        ("TODO", false, true),
        ("return", false, true),
        (r"\bfn \w+_all\b", true, true),
        (r"^\s*#\[derive\(.*Hash", true, true),
        (r"[A-Z]{4,}_[0-9]+\b", true, true),
        (r"\w+\s*\(\s*\)\s*;$", true, true),
        (r"\p{Greek}", true, true),
        ("error|warning|fatal", true, false),
    ] {
        let pattern = Pattern { text: text.into(), is_regex, is_case_sensitive };
        let mut arguments = pattern.arguments();
        arguments["only"] = "files".into();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..=N_ROUNDS {
            let (exchange, _) = client.call_ok("ReadLines", arguments.clone())?;
            ours.push(exchange.time());
            let mut command = pattern.rg(rg, &tree.path);
            command.args(["-c", "-e", text]);
            let started = Instant::now();
            command.output()?;
            theirs.push(started.elapsed());
        }
        // The first round fills the kernel's cache.
        let (ours, theirs): (Duration, Duration) = (median(&ours[1..]), median(&theirs[1..]));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        ratios.push(ratio);
        let kind = if is_regex { "regex" } else { "match" };
        table.add([
            format!("{kind} `{}`", text.replace('|', "\\|")),
            milliseconds(ours),
            milliseconds(theirs),
            format!("{ratio:.2}"),
        ]);
    }
    client.stop()?;
    println!("{} files, median of {N_ROUNDS} alternating runs\n\n{table}", tree.n_files);
    ratios.sort_by(f64::total_cmp);
    let middle = ratios[ratios.len() / 2];
    println!("median of the ratios: {middle:.2}; goal at most {MAX_RATIO}");
    Ok(middle > MAX_RATIO)
}
