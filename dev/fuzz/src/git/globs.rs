//! Matches globs and LIKE by trying everything. Patterns are those that parse.

/// Returns whether a path matches a pattern.
pub fn matches(pattern: &str, path: &str, shows_hidden: bool) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    alternatives(pattern).iter().any(|pattern| {
        let parts: Vec<&str> =
            pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        is_path(&parts, &names, shows_hidden)
    })
}

/// Expands the braces of a pattern, one after the other.
fn alternatives(pattern: &str) -> Vec<String> {
    let characters: Vec<char> = pattern.chars().collect();
    let (mut open, mut depth, mut cuts) = (None, 0, Vec::new());
    let mut at = 0;
    while at < characters.len() {
        match characters[at] {
            '\\' => at += 1,
            '[' => at = class_end(&characters, at).map_or(at, |end| end - 1),
            '{' => {
                depth += 1;
                open.get_or_insert(at);
            }
            ',' if depth == 1 => cuts.push(at),
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    cuts.push(at);
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let Some(open) = open.filter(|_| at < characters.len()) else { return vec![pattern.into()] };
    let head: String = characters[..open].iter().collect();
    let tail: String = characters[at + 1..].iter().collect();
    let mut start = open + 1;
    let mut found = Vec::new();
    for cut in cuts {
        let choice: String = characters[start..cut].iter().collect();
        // A choice is a complete pattern: brackets that open in it close in it.
        for choice in alternatives(&choice) {
            let tails = alternatives(&tail);
            found.extend(tails.iter().map(|tail| format!("{head}{choice}{tail}")));
        }
        start = cut + 1;
    }
    found
}

fn is_path(parts: &[&str], names: &[&str], shows_hidden: bool) -> bool {
    let is_shown = |name: &&str| shows_hidden || !name.starts_with('.');
    match (parts, names) {
        ([], []) => true,
        (["**"], []) => false,
        (["**"], [folders @ .., _]) => names.iter().all(is_shown) && !folders.contains(&".git"),
        (["**", rest @ ..], _) => {
            let more = names.split_first().filter(|(name, _)| is_shown(name) && **name != ".git");
            is_path(rest, names, shows_hidden)
                || more.is_some_and(|(_, names)| is_path(parts, names, shows_hidden))
        }
        ([part, parts @ ..], [name, names @ ..]) => {
            let part: Vec<char> = part.chars().collect();
            let is_dotted = matches!(part.as_slice(), ['.', ..] | ['\\', '.', ..]);
            let name_characters: Vec<char> = name.chars().collect();
            let is_git = *name == ".git" && !names.is_empty();
            (is_dotted || is_shown(name))
                && (!is_git || !has_wildcard(&part))
                && is_name(&part, &name_characters)
                && is_path(parts, names, shows_hidden)
        }
        _ => false,
    }
}

fn has_wildcard(part: &[char]) -> bool {
    match part {
        ['\\', _, rest @ ..] => has_wildcard(rest),
        ['*' | '?' | '[', ..] => true,
        [_, rest @ ..] => has_wildcard(rest),
        [] => false,
    }
}

fn is_name(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|n_taken| is_name(rest, &name[n_taken..])),
        ['?', rest @ ..] => !name.is_empty() && is_name(rest, &name[1..]),
        ['\\'] => name == ['\\'],
        ['\\', escaped, rest @ ..] => name.first() == Some(escaped) && is_name(rest, &name[1..]),
        ['[', ..] => {
            let Some(end) = class_end(pattern, 0) else { return false };
            let is_in = |c: &char| is_in_class(&pattern[1..end - 1], *c);
            name.first().is_some_and(is_in) && is_name(&pattern[end..], &name[1..])
        }
        [literal, rest @ ..] => name.first() == Some(literal) && is_name(rest, &name[1..]),
    }
}

/// Returns the position after the bracket that closes the class at `at`. A `]` that comes first is
/// part of the class.
fn class_end(pattern: &[char], at: usize) -> Option<usize> {
    let mut end = at + 1;
    if matches!(pattern.get(end), Some('!' | '^')) {
        end += 1;
    }
    end += 1;
    while pattern.get(end)? != &']' {
        end += 1;
    }
    Some(end + 1)
}

fn is_in_class(class: &[char], c: char) -> bool {
    let (class, is_negated) = match class {
        ['!' | '^', rest @ ..] => (rest, true),
        class => (class, false),
    };
    let mut rest = class;
    let mut is_in = false;
    while let [first, others @ ..] = rest {
        rest = others;
        match others {
            ['-', last, behind @ ..] => {
                is_in |= (*first..=*last).contains(&c);
                rest = behind;
            }
            _ => is_in |= *first == c,
        }
    }
    is_in != is_negated
}

/// Matches SQL's LIKE.
pub fn is_like(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|n_taken| is_like(rest, &text[n_taken..])),
        ['_', rest @ ..] => !text.is_empty() && is_like(rest, &text[1..]),
        [literal, rest @ ..] => text.first() == Some(literal) && is_like(rest, &text[1..]),
    }
}
