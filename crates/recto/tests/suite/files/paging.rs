//! Pages of small files: following `next` returns every requested line once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::random::Random;
use crate::test_dir::{Session, TestDir, rows};

/// Follows `next` to the end, changing only the lines.
pub fn follow(session: &Session, arguments: Value) -> Vec<(u64, String)> {
    try_follow(session, arguments).unwrap_or_else(|error| panic!("{error}"))
}

fn try_follow(session: &Session, mut arguments: Value) -> Result<Vec<(u64, String)>, String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        let answer = session.answer("ReadLines", arguments.clone());
        found.extend(rows(&answer).into_iter().map(|(_, line, content)| (line, content)));
        let Some(next) = answer.get("next").and_then(Value::as_str) else { return Ok(found) };
        if !seen.insert(next.to_string()) || seen.len() > 5000 || rows(&answer).is_empty() {
            return Err(format!("{arguments} has no end, after {} rows", found.len()));
        }
        arguments["lines"] = next.into();
    }
}

struct Text {
    bytes: String,
    lines: Vec<String>,
}

fn text(random: &mut Random) -> Text {
    let mut text = Text { bytes: String::new(), lines: Vec::new() };
    let n_lines = random.below(60);
    for n in 1..=n_lines {
        let word = random.pick(&["", "x", "hit", "wörd", "two words", "HITS and more"]);
        let line = format!("{n}{}", word.repeat(random.below(3)));
        text.bytes.push_str(&line);
        let has_end = n < n_lines || random.one_in(2);
        text.bytes.push_str(match has_end {
            true => random.pick(&["\n", "\n", "\r\n"]),
            false => "",
        });
        text.lines.push(line);
    }
    text
}

/// Returns a range as a caller may write it, and its lines, from 1.
fn range(random: &mut Random, n_lines: i64) -> (String, BTreeSet<u64>) {
    let first = 1 + random.below(n_lines as usize + 3) as i64;
    let last = first + random.below(20) as i64;
    let from_end = |line: i64| n_lines + 1 - line;
    let (spelled, first, last) = match random.below(9) {
        0 => (format!("{first}"), first, first),
        1 => (format!("{first}-{last}"), first, last),
        2 => (format!("{first}...{last}"), first, last),
        3 => (format!("-{last}"), 1, last),
        4 => (format!("...{last}"), 1, last),
        5 => (format!("{first}-"), first, n_lines),
        6 => (format!("+{first}"), from_end(first), from_end(first)),
        7 => (format!("+{first}-"), from_end(first), n_lines),
        _ => (format!("+{last}-+{first}"), from_end(last), from_end(first)),
    };
    let (n_before, n_after) = (random.below(4) as i64, random.below(4) as i64);
    let (context, n_before, n_after) = match random.below(8) {
        0 => (format!(" +/-{n_before}"), n_before, n_before),
        1 => (format!(" -{n_before}"), n_before, 0),
        2 => (format!(" +{n_after}"), 0, n_after),
        3 => (format!(" -{n_before}+{n_after}"), n_before, n_after),
        _ => (String::new(), 0, 0),
    };
    // A range without a line in the file has no context either.
    let has_line = (first..=last).any(|line| (1..=n_lines).contains(&line));
    let lines = first - n_before..=last + n_after;
    let lines = lines.filter(|line| has_line && (1..=n_lines).contains(line));
    (spelled + &context, lines.map(|line| line as u64).collect())
}

fn around(lines: &BTreeSet<u64>, ctx: u64, n_lines: u64) -> BTreeSet<u64> {
    let around = |line: &u64| line.saturating_sub(ctx).max(1)..=(line + ctx).min(n_lines);
    lines.iter().flat_map(around).collect()
}

#[test]
fn pages_of_ranges_and_matches_joined_give_the_whole_request() {
    let dir = TestDir::new();
    let budgets = ["1024", "1100", "1200", "1500", "3000"];
    let sessions = budgets.map(|budget| dir.serve(&["--max-answer-bytes", budget]));
    for seed in 0..250 {
        let mut random = Random::new(seed);
        let text = text(&mut random);
        dir.file("root/f", &text.bytes);
        let n_lines = text.lines.len() as u64;
        let ranges: Vec<_> =
            (0..random.below(4)).map(|_| range(&mut random, n_lines as i64)).collect();
        let mut wanted: BTreeSet<u64> = (1..=n_lines).collect();
        let mut arguments = json!({"file_path": "f"});
        if !ranges.is_empty() {
            let spelled: Vec<&str> = ranges.iter().map(|(spelled, _)| &spelled[..]).collect();
            arguments["lines"] = spelled.join(random.pick(&[",", ", "])).into();
            wanted = ranges.into_iter().flat_map(|(_, lines)| lines).collect();
        }
        if random.one_in(3) {
            arguments["match"] = "Hit".into();
            let holds = |line: &u64| text.lines[*line as usize - 1].to_lowercase().contains("hit");
            wanted.retain(holds);
        }
        let budget = random.below(budgets.len());
        let found = follow(&sessions[budget], arguments.clone());
        let expected: Vec<u64> = wanted.into_iter().collect();
        let numbers: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
        let shown = format!("seed {seed}, {arguments}, {n_lines} lines, {} bytes", budgets[budget]);
        assert_eq!(numbers, expected, "{shown}");
        for (line, content) in found {
            let whole = &text.lines[line as usize - 1];
            assert_eq!(content, *whole, "{shown}: line {line}");
        }
    }
}

/// The requested context is included, and the pages always advance.
#[test]
fn pages_with_context_end_and_omit_nothing() {
    let dir = TestDir::new();
    // Few of these lines fit into one answer.
    let long = "x".repeat(60);
    let text: String =
        (1..=60)
            .map(|n| {
                if n % 20 == 10 {
                    format!("hit {n} {long}\n")
                } else {
                    format!("line {n} {long}\n")
                }
            })
            .collect();
    dir.file("root/f", text);
    let hits = BTreeSet::from([10, 30, 50]);
    let mut failures = Vec::new();
    for budget in ["1024", "1200", "1600"] {
        let session = dir.serve(&["--max-answer-bytes", budget]);
        for (arguments, named) in [
            (json!({"file_path": "f", "lines": "10,30,50"}), &hits),
            (json!({"file_path": "f", "match": "hit"}), &hits),
            (json!({"file_path": "f", "match": "hit", "lines": "1-40"}), &BTreeSet::from([10, 30])),
        ] {
            for ctx in [0, 1, 5, 12] {
                let mut arguments = arguments.clone();
                arguments["ctx"] = ctx.into();
                let expected = around(named, ctx, 60);
                let found = try_follow(&session, arguments.clone());
                let numbers = found.map(|found| found.iter().map(|row| row.0).collect::<Vec<_>>());
                match numbers {
                    Ok(numbers) if numbers == expected.iter().copied().collect::<Vec<_>>() => {}
                    Ok(numbers) => failures.push(format!(
                        "{arguments} in {budget} bytes:\n  expected {expected:?}\n  found {numbers:?}"
                    )),
                    Err(error) => failures.push(format!("{error}, {budget} bytes each")),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

/// More hits than one search collects.
#[test]
fn every_hit_of_a_file_is_found() {
    let dir = TestDir::new();
    dir.file("root/f", "x\n".repeat(30_000));
    for budget in ["1000000", "10000000"] {
        let session = dir.serve(&["--max-answer-bytes", budget]);
        let found = follow(&session, json!({"file_path": "f", "match": "X"}));
        let is_each = found.iter().zip(1..).all(|((line, _), n)| *line == n);
        assert!(is_each && found.len() == 30_000, "{} rows, {budget} bytes each", found.len());
    }
}
