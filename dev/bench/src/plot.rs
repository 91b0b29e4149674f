//! Draws small plots on logarithmic scales, as one SVG for light and dark backgrounds.
//!
//! Every panel spans the same number of decades, so that slopes can be compared by eye. Callers
//! provide the points and labels.

use std::fmt::Write as _;

/// One plot.
pub struct Panel {
    pub title: String,
    /// The unit of the horizontal axis.
    pub unit: String,
    pub points: Vec<(f64, f64)>,
    /// For each point, its label on the axis and the label next to it.
    pub labels: Vec<(String, String)>,
    /// The slope of the best-fitting line.
    pub exponent: f64,
}

const N_COLUMNS: usize = 4;
/// A panel with its margins.
const CELL: (f64, f64) = (256.0, 238.0);
/// The area for points within a panel.
const FIELD: (f64, f64) = (200.0, 136.0);
const FIELD_AT: (f64, f64) = (28.0, 56.0);
const DECADES: (f64, f64) = (3.0, 3.2);

const STYLE: &str = "\
text { font: 11px system-ui, sans-serif; fill: #57606a; }
.title { font-weight: 600; font-size: 12.5px; fill: #1f2328; }
.value { fill: #1f2328; text-anchor: middle; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; stroke-linejoin: round; }
.size { text-anchor: middle; }
.grid { stroke: #d8dee4; }
.linear { stroke: #8c959f; stroke-dasharray: 3 4; }
.line { stroke: #0969da; stroke-width: 2; fill: none; stroke-linejoin: round; }
.point { fill: #0969da; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  .title, .value { fill: #f0f6fc; }
  .value { stroke: #0d1117; }
  .grid { stroke: #2d333b; }
  .linear { stroke: #6e7681; }
  .line { stroke: #58a6ff; }
  .point { fill: #58a6ff; }
}";

/// Draws all panels, row by row.
pub fn draw(panels: &[Panel]) -> String {
    let n_rows = panels.len().div_ceil(N_COLUMNS);
    let (width, height) = (CELL.0 * N_COLUMNS as f64, CELL.1 * n_rows as f64 + 22.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"How the time of a call grows with what it works on\">\n\
         <style>{STYLE}</style>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let (column, row) = (index % N_COLUMNS, index / N_COLUMNS);
        let (x, y) = (CELL.0 * column as f64, CELL.1 * row as f64);
        push(&mut svg, format_args!("<g transform=\"translate({x} {y})\">\n"));
        panel.draw(&mut svg);
        svg.push_str("</g>\n");
    }
    let (x, y) = (FIELD_AT.0, height - 10.0);
    push(
        &mut svg,
        format_args!(
            "<line class=\"linear\" x1=\"{x}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\
             <text x=\"{}\" y=\"{y}\">would be linear. Both scales are logarithmic and the same \
             in all panels: a grid line is a factor of ten.</text>\n",
            y - 4.0,
            x + 26.0,
            y - 4.0,
            x + 32.0,
        ),
    );
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    fn draw(&self, svg: &mut String) {
        let scale = Scale::of(&self.points);
        let exponent = self.exponent;
        push(
            svg,
            format_args!(
                "<text class=\"title\" x=\"{x}\" y=\"18\">{}</text>\n\
                 <text x=\"{x}\" y=\"34\">exponent {exponent:.2}</text>\n",
                escaped(&self.title),
                x = FIELD_AT.0 - 14.0,
            ),
        );
        scale.draw_grid(svg);
        self.draw_linear(svg, &scale);
        let places: Vec<_> = self.points.iter().map(|&point| scale.place(point)).collect();
        let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        push(svg, format_args!("<polyline class=\"line\" points=\"{}\"/>\n", path.join(" ")));
        let base = FIELD_AT.1 + FIELD.1;
        let mut ends = [f64::MIN; 2];
        for (&(x, y), (size, value)) in places.iter().zip(&self.labels) {
            push(
                svg,
                format_args!("<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>\n"),
            );
            draw_label(svg, "size", (x, base + 16.0), size, &mut ends[0]);
            draw_label(svg, "value", (x, y - 9.0), value, &mut ends[1]);
        }
        push(
            svg,
            format_args!(
                "<text class=\"size\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                FIELD_AT.0 + FIELD.0 / 2.0,
                base + 31.0,
                escaped(&self.unit),
            ),
        );
    }

    /// Draws the line of slope 1 through the first point, clipped to the field.
    fn draw_linear(&self, svg: &mut String, scale: &Scale) {
        let Some(&(x, y)) = self.points.first() else { return };
        let last = self.points.last().map_or(x, |last| last.0);
        let top = 10f64.powf(scale.bottom + DECADES.1);
        let factor = (last / x).min(top / y);
        let ((x1, y1), (x2, y2)) = (scale.place((x, y)), scale.place((x * factor, y * factor)));
        push(
            svg,
            format_args!(
                "<line class=\"linear\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" \
                 y2=\"{y2:.1}\"/>\n"
            ),
        );
    }
}

/// Writes a label unless it would overlap the one before it, which ends at `end`.
fn draw_label(svg: &mut String, class: &str, (x, y): (f64, f64), label: &str, end: &mut f64) {
    let half = label.chars().count() as f64 * 3.1;
    if x - half > *end {
        let label = escaped(label);
        push(
            svg,
            format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>\n"),
        );
        *end = x + half;
    }
}

/// The logarithms at the lower left corner of a field.
struct Scale {
    left: f64,
    bottom: f64,
}

impl Scale {
    /// Centres the points.
    fn of(points: &[(f64, f64)]) -> Scale {
        let middle = |logs: &mut dyn Iterator<Item = f64>| {
            let (low, high) =
                logs.fold((f64::MAX, f64::MIN), |(low, high), log| (low.min(log), high.max(log)));
            (low + high) / 2.0
        };
        let x = middle(&mut points.iter().map(|point| point.0.log10()));
        let y = middle(&mut points.iter().map(|point| point.1.log10()));
        Scale { left: x - DECADES.0 / 2.0, bottom: y - DECADES.1 / 2.0 }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let right = (x.log10() - self.left) / DECADES.0 * FIELD.0;
        let up = (y.log10() - self.bottom) / DECADES.1 * FIELD.1;
        (FIELD_AT.0 + right, FIELD_AT.1 + FIELD.1 - up)
    }

    /// Draws a line for each power of ten.
    fn draw_grid(&self, svg: &mut String) {
        let (left, top) = FIELD_AT;
        let (right, bottom) = (left + FIELD.0, top + FIELD.1);
        let mut line = |x1: f64, y1: f64, x2: f64, y2: f64| {
            push(
                svg,
                format_args!(
                    "<line class=\"grid\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" \
                     y2=\"{y2:.1}\"/>\n"
                ),
            );
        };
        let mut power = self.left.ceil();
        while power <= self.left + DECADES.0 + 1e-9 {
            let x = left + (power - self.left) / DECADES.0 * FIELD.0;
            line(x, top, x, bottom);
            power += 1.0;
        }
        let mut power = self.bottom.ceil();
        while power <= self.bottom + DECADES.1 + 1e-9 {
            let y = bottom - (power - self.bottom) / DECADES.1 * FIELD.1;
            line(left, y, right, y);
            power += 1.0;
        }
    }
}

fn push(svg: &mut String, text: std::fmt::Arguments<'_>) {
    svg.write_fmt(text).expect("a string can be written to");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_as_much_is_the_same_way_everywhere() {
        let way = |points: [(f64, f64); 2]| {
            let scale = Scale::of(&points);
            let ((x1, y1), (x2, y2)) = (scale.place(points[0]), scale.place(points[1]));
            (((x2 - x1) * 1e6).round(), ((y1 - y2) * 1e6).round())
        };
        assert_eq!(way([(1.0, 1.0), (10.0, 10.0)]), way([(500.0, 0.2), (5000.0, 2.0)]));
    }

    #[test]
    fn words_cannot_break_the_drawing() {
        assert_eq!(escaped("a < b & c"), "a &lt; b &amp; c");
    }
}
