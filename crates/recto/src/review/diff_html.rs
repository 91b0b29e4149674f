//! Lines of a diff as HTML, unified or side by side.

use super::colours::Colour;
use super::html::Html;
use super::rows::{Row, RowKind};

/// Longer lines are cut.
const MAX_LINE: usize = 4000;

/// Appends lines.
pub fn rows(html: &mut Html, rows: &[Row], is_split: bool) {
    html.raw(if is_split { "<div class=\"d split\">" } else { "<div class=\"d\">" });
    if !is_split {
        rows.iter().for_each(|row| unified(html, row));
        html.raw("</div>");
        return;
    }
    let mut at = 0;
    while at < rows.len() {
        if rows[at].kind == RowKind::Same {
            pair(html, Some(&rows[at]), Some(&rows[at]));
            at += 1;
            continue;
        }
        let n_of = |kind: RowKind, from: usize| {
            rows[from..].iter().take_while(|row| row.kind == kind).count()
        };
        let n_removed = n_of(RowKind::Removed, at);
        let n_added = n_of(RowKind::Added, at + n_removed);
        let (removed, added) = rows[at..at + n_removed + n_added].split_at(n_removed);
        for index in 0..n_removed.max(n_added) {
            pair(html, removed.get(index), added.get(index));
        }
        at += n_removed + n_added;
    }
    html.raw("</div>");
}

fn class(row: &Row) -> &'static str {
    match row.kind {
        RowKind::Same => "same",
        RowKind::Removed => "del",
        RowKind::Added => "add",
    }
}

fn unified(html: &mut Html, row: &Row) {
    html.raw("<div class=\"r ").raw(class(row)).raw("\">");
    for number in row.numbers {
        self::number(html, number);
    }
    html.raw(match row.kind {
        RowKind::Same => "<s> </s>",
        RowKind::Removed => "<s>−</s>",
        RowKind::Added => "<s>+</s>",
    });
    code(html, row);
    html.raw("</div>");
}

fn pair(html: &mut Html, old: Option<&Row>, new: Option<&Row>) {
    html.raw("<div class=\"r\">");
    for (side, row) in [old, new].into_iter().enumerate() {
        match row {
            Some(row) => {
                html.raw("<div class=\"half ").raw(class(row)).raw("\">");
                number(html, row.numbers[side]);
                html.raw(match row.kind {
                    RowKind::Same => "<s> </s>",
                    RowKind::Removed => "<s>−</s>",
                    RowKind::Added => "<s>+</s>",
                });
                code(html, row);
            }
            None => {
                html.raw("<div class=\"half none\">");
            }
        }
        html.raw("</div>");
    }
    html.raw("</div>");
}

fn number(html: &mut Html, number: Option<usize>) {
    match number {
        Some(number) => html.raw("<u").attribute("data-n", number).raw("></u>"),
        None => html.raw("<u></u>"),
    };
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Appends the text of a line with its colours, marks and ending.
fn code(html: &mut Html, row: &Row) {
    let text = &row.text[..row.text.floor_char_boundary(MAX_LINE)];
    html.raw("<code>");
    let is_changed = row.kind != RowKind::Same;
    let n_visible = text.trim_end_matches([' ', '\t']).len();
    let mut ends: Vec<usize> = [n_visible, text.len()].into();
    ends.extend(row.colours.iter().flat_map(|(range, _)| [range.start, range.end]));
    ends.extend(row.marks.iter().flat_map(|range| [range.start, range.end]));
    ends.sort_unstable();
    ends.dedup();
    let mut start = 0;
    for end in ends.into_iter().filter(|end| *end <= text.len()) {
        if end == start {
            continue;
        }
        let colour = row.colours.iter().find(|(range, _)| range.contains(&start));
        let mark = row.marks.iter().find(|range| range.contains(&start));
        let is_marked = mark.is_some();
        let is_space = mark.and_then(|range| text.get(range.clone())).is_some_and(is_blank);
        let shows_space = is_changed && (is_space || start >= n_visible);
        let class = match (colour.map(|(_, colour)| colour), is_marked) {
            (None, false) => None,
            (None, true) => Some("<span class=\"m\">"),
            (Some(Colour::Comment), false) => Some("<span class=\"c\">"),
            (Some(Colour::Comment), true) => Some("<span class=\"c m\">"),
            (Some(Colour::Text), false) => Some("<span class=\"t\">"),
            (Some(Colour::Text), true) => Some("<span class=\"t m\">"),
            (Some(Colour::Number), false) => Some("<span class=\"n\">"),
            (Some(Colour::Number), true) => Some("<span class=\"n m\">"),
            (Some(Colour::Keyword), false) => Some("<span class=\"k\">"),
            (Some(Colour::Keyword), true) => Some("<span class=\"k m\">"),
        };
        if let Some(class) = class {
            html.raw(class);
        }
        html.code(&text[start..end], shows_space);
        if class.is_some() {
            html.raw("</span>");
        }
        start = end;
    }
    if text.len() < row.text.len() {
        html.raw("<i class=\"ctl\">… ").text(row.text.len() - text.len()).raw(" more bytes</i>");
    }
    if let Some(ending) = row.ending {
        html.raw("<i class=\"eol\">").text(ending).raw("</i>");
    }
    html.raw("</code>");
}
