//! The documented rules for lines and verified edits, in the plainest code.
//!
//! Shares no code with the product. Every function is a pure function of one text.

/// One line: its text, and `"\n"`, `"\r\n"` or at the end of a file `""`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub ending: &'static str,
}

/// "A line ends with `\n`; a `\r` before it belongs to the ending. The last may have none."
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut text_so_far = String::new();
    for character in text.chars() {
        if character != '\n' {
            text_so_far.push(character);
        } else if text_so_far.ends_with('\r') {
            text_so_far.pop();
            lines.push(Line { text: std::mem::take(&mut text_so_far), ending: "\r\n" });
        } else {
            lines.push(Line { text: std::mem::take(&mut text_so_far), ending: "\n" });
        }
    }
    if !text_so_far.is_empty() {
        lines.push(Line { text: text_so_far, ending: "" });
    }
    lines
}

pub fn joined(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}{}", line.text, line.ending)).collect()
}

/// How a caller's text matches a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Exact,
    Eol,
}

impl Match {
    pub fn word(self) -> &'static str {
        match self {
            Match::Exact => "exact",
            Match::Eol => "eol",
        }
    }
}

/// A text after a change, and how its position was found.
pub struct Changed {
    pub text: String,
    pub how: Match,
}

/// The result of a read.
pub struct Page {
    /// From 1.
    pub first_line: usize,
    pub content: String,
    pub extent: Extent,
}

/// How much of the requested range a page contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    FewerLines,
    PartOfALine,
}

/// Returns the first line of a range and the line after the last, from 1.
pub fn asked([start, end]: [i64; 2], n: i64) -> Result<(i64, i64), i32> {
    if start > n {
        return Err(-32015);
    }
    let first = if start == 0 { 1 } else { from_either_end(start, n).clamp(1, n) };
    let past = if end == 0 { n + 1 } else { from_either_end(end, n).clamp(1, n + 1) };
    if first >= past { Err(-32600) } else { Ok((first, past)) }
}

/// "`[start, end)`, 1-based; a negative number counts from the end; 0 is open." A read clamps.
pub fn read(text: &str, [start, end]: [i64; 2], max_bytes: usize) -> Result<Page, i32> {
    let lines = lines(text);
    let n = lines.len() as i64;
    if n == 0 && start <= 1 {
        return Ok(Page { first_line: 1, content: String::new(), extent: Extent::Whole });
    }
    let (first, past) = asked([start, end], n)?;
    let (content, extent) = within(&lines[first as usize - 1..past as usize - 1], max_bytes);
    Ok(Page { first_line: first as usize, content, extent })
}

fn n_json_bytes(text: &str) -> usize {
    serde_json::Value::from(text).to_string().len() - r#""""#.len()
}

/// "An answer over `--max-answer-bytes` is cut at a line end. A single line longer than that is
/// cut inside. Structured content counts as JSON, with escapes."
fn within(lines: &[Line], max_bytes: usize) -> (String, Extent) {
    let n_fitting = (0..=lines.len())
        .rev()
        .find(|n| n_json_bytes(&joined(&lines[..*n])) <= max_bytes)
        .unwrap_or(0);
    if n_fitting == lines.len() {
        return (joined(lines), Extent::Whole);
    }
    if n_fitting > 0 {
        return (joined(&lines[..n_fitting]), Extent::FewerLines);
    }
    let mut part = joined(&lines[..1]);
    while n_json_bytes(&part) > max_bytes {
        part.pop();
    }
    (part, Extent::PartOfALine)
}

/// "A change does not clamp: an index outside the file is -32015." Gives indices from 0.
fn range_to_change([start, end]: [i64; 2], n_lines: usize) -> Result<(usize, usize), i32> {
    let n = n_lines as i64;
    let first = if start == 0 { 1 } else { from_either_end(start, n) };
    let past = if end == 0 { n + 1 } else { from_either_end(end, n) };
    if first < 1 || first > n || past < 1 || past > n + 1 {
        return Err(-32015);
    }
    if first >= past {
        return Err(-32600);
    }
    Ok((first as usize - 1, past as usize - 1))
}

/// -1 is the last line.
fn from_either_end(number: i64, n: i64) -> i64 {
    if number < 0 { number.saturating_add(n + 1) } else { number }
}

/// "The ending of the first matched line, or if that line has none, of the nearest earlier line that
/// has one."
pub fn ending_near(lines: &[Line], index: usize) -> Option<&'static str> {
    let up_to = &lines[..lines.len().min(index + 1)];
    up_to.iter().rev().map(|line| line.ending).find(|ending| !ending.is_empty())
}

/// "Every line break of the new text takes the ending; with no line break in the file, literal."
pub fn spelled(new: &str, ending: Option<&str>) -> String {
    let Some(ending) = ending else { return new.to_string() };
    let one = |line: &Line| match line.ending {
        "" => line.text.clone(),
        _ => format!("{}{ending}", line.text),
    };
    lines(new).iter().map(one).collect()
}

/// "Leading and trailing lines that are equal in old and new text keep their endings; between them
/// the k-th new line takes the ending of the k-th replaced line, further ones that of the last; where
/// no line was replaced, that of the line before." `matched` are the endings of the matched lines in
/// the file, `before` that of the line before them.
pub fn line_by_line(
    old: &str,
    new: &str,
    matched: &[Option<&'static str>],
    before: Option<&'static str>,
) -> String {
    let (mut old, mut new, mut matched) = (lines(old), lines(new), matched.to_vec());
    let is_same = |one: &Line, other: &Line| {
        one.text == other.text && one.ending.is_empty() == other.ending.is_empty()
    };
    let spelled = |line: &Line, ending: Option<&str>| match line.ending {
        "" => line.text.clone(),
        _ => format!("{}{}", line.text, ending.unwrap()),
    };
    let (mut head, mut tail) = (String::new(), String::new());
    let mut before = before.or(matched[0]);
    while !old.is_empty() && !new.is_empty() && is_same(&old[0], &new[0]) {
        before = matched.remove(0);
        head += &spelled(&new.remove(0), before);
        old.remove(0);
    }
    while !old.is_empty() && !new.is_empty() && is_same(&old[old.len() - 1], &new[new.len() - 1]) {
        old.pop();
        tail = spelled(&new.pop().unwrap(), matched.pop().unwrap()) + &tail;
    }
    let last = *matched.last().unwrap_or(&before);
    for (k, line) in new.iter().enumerate() {
        head += &spelled(line, *matched.get(k).unwrap_or(&last));
    }
    head + &tail
}

/// Compares lines: the ending of a wanted line may be missing if `may_be_open`; a different one is
/// a tolerant match.
fn line_match(actual: &Line, wanted: &Line, may_be_open: bool) -> Option<Match> {
    if actual.text != wanted.text {
        return None;
    }
    match (actual.ending, wanted.ending) {
        (one, other) if one == other => Some(Match::Exact),
        (_, "") if may_be_open => Some(Match::Exact),
        ("", _) | (_, "") => None,
        _ => Some(Match::Eol),
    }
}

/// Returns where `wanted` occurs wholly inside the lines from `first` up to `past`.
fn places(lines: &[Line], wanted: &[Line], first: usize, past: usize) -> Vec<(usize, Match)> {
    let mut found = Vec::new();
    for at in first..past {
        if at + wanted.len() > past {
            break;
        }
        let matches: Option<Vec<Match>> = (0..wanted.len())
            .map(|index| line_match(&lines[at + index], &wanted[index], index + 1 == wanted.len()))
            .collect();
        match matches {
            Some(matches) if matches.contains(&Match::Eol) => found.push((at, Match::Eol)),
            Some(_) => found.push((at, Match::Exact)),
            None => {}
        }
    }
    found
}

/// `old` is one or more whole lines and must occur inside `lines` exactly once.
pub fn replace(text: &str, range: [i64; 2], old: &str, new: &str) -> Result<Changed, i32> {
    let stored = lines(text);
    let (first, past) = range_to_change(range, stored.len())?;
    let blank = Line { text: String::new(), ending: "" };
    let wanted = if old.is_empty() { vec![blank] } else { lines(old) };
    let (at, how) = match places(&stored, &wanted, first, past)[..] {
        [] => return Err(-32014),
        [only] => only,
        _ => return Err(-32011),
    };
    let after = at + wanted.len();
    let last_ending = stored[after - 1].ending;
    // "End non-empty text with the ending of the last replaced line. Exceptions: the file had no final
    // ending and the text becomes its last line; `old` ends with the file's final line break and `new`
    // does not."
    let is_free = after == stored.len() && (last_ending.is_empty() || old.ends_with('\n'));
    let lacks_ending = !new.is_empty() && !new.ends_with('\n') && !is_free;
    let mut middle = match how {
        _ if !old.contains('\n') => spelled(new, ending_near(&stored, at)),
        Match::Exact => new.to_string(),
        Match::Eol => {
            // Both texts end with an ending, or neither does.
            let mut wanted = wanted;
            wanted.last_mut().unwrap().ending = if lacks_ending { "" } else { last_ending };
            let matched: Vec<_> = (at..after).map(|index| ending_near(&stored, index)).collect();
            let before = at.checked_sub(1).and_then(|index| ending_near(&stored, index));
            line_by_line(&joined(&wanted), new, &matched, before)
        }
    };
    if lacks_ending {
        middle.push_str(last_ending);
    }
    let text = format!("{}{middle}{}", joined(&stored[..at]), joined(&stored[after..]));
    Ok(Changed { text, how })
}

/// "`content` becomes whole lines before line `line`, whose text must equal `anchor` (with or
/// without its ending). 0 and one past the end are -32015. In an empty file line 1 with anchor
/// \"\" is the place."
pub fn insert(text: &str, line: i64, anchor: &str, content: &str) -> Result<Changed, i32> {
    let stored = lines(text);
    let n = stored.len() as i64;
    let number = from_either_end(line, n);
    let is_first_of_none = n == 0 && line == 1;
    if line == 0 || !(1..=n).contains(&number) && !is_first_of_none {
        return Err(-32015);
    }
    let at = number as usize - 1;
    let blank = Line { text: String::new(), ending: "" };
    let actual = stored.get(at).unwrap_or(&blank);
    let how = match &lines(anchor)[..] {
        [] => line_match(actual, &blank, true),
        [wanted] => line_match(actual, wanted, true),
        _ => None,
    };
    let how = how.ok_or(-32014)?;
    // "An `anchor` with its ending that matched exactly makes `content` literal."
    let is_literal = anchor.contains('\n') && how == Match::Exact;
    let ending = ending_near(&stored, at);
    let mut content = if is_literal { content.to_string() } else { spelled(content, ending) };
    if !content.ends_with('\n') {
        content.push_str(ending.unwrap_or("\n"));
    }
    let text = format!("{}{content}{}", joined(&stored[..at]), joined(&stored[at..]));
    Ok(Changed { text, how })
}

/// "Starts on a new line. `append` ends non-empty text with the ending of the last line that has one,
/// unless the file had no final ending. In an empty file append does not."
pub fn append(text: &str, content: &str) -> String {
    let stored = lines(text);
    let ending = ending_near(&stored, stored.len());
    let content = spelled(content, ending);
    let ending = ending.unwrap_or("\n");
    match stored.last() {
        None => content,
        Some(last) if last.ending.is_empty() => format!("{text}{ending}{content}"),
        Some(_) if content.ends_with('\n') => format!("{text}{content}"),
        Some(_) => format!("{text}{content}{ending}"),
    }
}
