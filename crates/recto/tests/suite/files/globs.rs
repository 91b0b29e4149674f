//! A second implementation of the glob language, written from its description: simple, slow, and
//! without code in common with the tested one.

/// Whether a pattern matches a path; both are relative to the same directory.
pub fn matches(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    alternatives(pattern).iter().any(|pattern| {
        let parts: Vec<&str> =
            pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        match_parts(&parts, &names)
    })
}

/// Escapes a name as a pattern that matches nothing else.
pub fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        if "*?[]{},\\!".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

fn match_parts(parts: &[&str], names: &[&str]) -> bool {
    let Some((part, later_parts)) = parts.split_first() else { return names.is_empty() };
    let Some((name, later_names)) = names.split_first() else { return false };
    if *part != "**" {
        return match_name(part, name) && match_parts(later_parts, later_names);
    }
    // The matched directories, or the file at the end, must not be hidden.
    let is_shown = !name.starts_with('.');
    let is_last = later_parts.is_empty() && later_names.is_empty();
    match_parts(later_parts, names) || (is_shown && (is_last || match_parts(parts, later_names)))
}

fn match_name(part: &str, name: &str) -> bool {
    let names_the_dot = part.starts_with('.') || part.starts_with("\\.");
    if name.starts_with('.') && !names_the_dot {
        return false;
    }
    let part: Vec<char> = part.chars().collect();
    let name: Vec<char> = name.chars().collect();
    match_characters(&part, &name)
}

fn match_characters(part: &[char], name: &[char]) -> bool {
    match part {
        [] => name.is_empty(),
        ['*', later @ ..] => (0..=name.len()).any(|n| match_characters(later, &name[n..])),
        ['?', later @ ..] => !name.is_empty() && match_characters(later, &name[1..]),
        ['\\', c, later @ ..] => name.first() == Some(c) && match_characters(later, &name[1..]),
        ['[', later @ ..] => {
            let Some(first) = name.first() else { return false };
            let (is_member, length) = match_class(later, *first);
            is_member && match_characters(&later[length..], &name[1..])
        }
        [c, later @ ..] => name.first() == Some(c) && match_characters(later, &name[1..]),
    }
}

/// Whether a character belongs to the class that starts here, and the length of the class.
fn match_class(class: &[char], c: char) -> (bool, usize) {
    let is_negated = matches!(class.first(), Some('!' | '^'));
    let start = usize::from(is_negated);
    let mut at = start;
    let mut is_member = false;
    while at == start || class[at] != ']' {
        if class[at + 1] == '-' && class[at + 2] != ']' {
            is_member |= class[at] <= c && c <= class[at + 2];
            at += 3;
        } else {
            is_member |= class[at] == c;
            at += 1;
        }
    }
    (is_member != is_negated, at + 1)
}

/// Expands the braces of a pattern: the first group, then the rest recursively.
fn alternatives(pattern: &str) -> Vec<String> {
    let characters: Vec<char> = pattern.chars().collect();
    let text = |part: &[char]| part.iter().collect::<String>();
    let (mut depth, mut open, mut cuts) = (0, 0, Vec::new());
    let mut at = 0;
    while at < characters.len() {
        match characters[at] {
            '\\' => at += 1,
            '{' => {
                depth += 1;
                if depth == 1 {
                    (open, cuts) = (at, vec![at]);
                }
            }
            ',' if depth == 1 => cuts.push(at),
            '}' if depth == 1 => {
                cuts.push(at);
                let (before, after) = (text(&characters[..open]), text(&characters[at + 1..]));
                let choices = cuts.windows(2).map(|cut| text(&characters[cut[0] + 1..cut[1]]));
                return choices
                    .flat_map(|choice| alternatives(&format!("{before}{choice}{after}")))
                    .collect();
            }
            '}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    vec![pattern.to_string()]
}

#[test]
fn the_reference_glob_matcher_is_correct() {
    for (pattern, matching, others) in [
        ("*.rs", "a.rs", "a.txt d/a.rs .rs .a.rs"),
        ("**", "a d/a d/e/a", ".a d/.a .d/a"),
        ("d/**/x", "d/x d/a/x d/a/b/x", "x d/a d/.a/x"),
        ("**/.e*", ".env d/.env", ".d/.env env"),
        ("[!ab]?.c", "xä.c", "ax.c x.c"),
        ("{a,b/{c,d}}/x", "a/x b/c/x b/d/x", "b/x c/x"),
        (r"\[a\]*", "[a] [a]b", "a"),
    ] {
        for path in matching.split(' ') {
            assert!(matches(pattern, path), "{pattern} should match {path}");
        }
        for path in others.split(' ') {
            assert!(!matches(pattern, path), "{pattern} should not match {path}");
        }
    }
}
