//! Measures how costs grow: the same call on inputs 10 and 100 times as large, and the exponent of
//! the best-fitting line on logarithmic scales. 0 means that size does not matter, 1 that twice the
//! size takes twice as long.

mod series;

use std::path::Path;

use recto_dev::table::{Table, grouped, milliseconds};

use series::Growth;

use crate::plot::{self, Panel};
use crate::{Result, machine};

/// One series of sizes.
pub struct Series {
    pub what: &'static str,
    /// The unit of the horizontal axis.
    pub unit: &'static str,
    /// What is measured.
    pub kind: SeriesUnit,
    /// Sizes and measurements, in milliseconds or calls per second.
    pub points: Vec<(f64, f64)>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesUnit {
    Milliseconds,
    CallsPerSecond,
}

/// Measures, prints the table, and draws the plot to `plot`.
pub fn run(recto: &Path, plot: &Path, is_quick: bool) -> Result<()> {
    let growth = Growth::prepare(recto, is_quick)?;
    println!("{}\n", machine::describe(growth.folder())?);
    let all = growth.measure()?;
    let mut table = Table::of_numbers(["what", "measured at", "exponent"]);
    for series in &all {
        let points: Vec<_> = series.points.iter().map(|&point| series.told(point)).collect();
        let exponent = format!("{:.2}", exponent(&series.points));
        table.add([series.what.to_string(), points.join(", "), exponent]);
    }
    println!("{table}");
    let panels: Vec<_> = all.iter().map(Series::panel).collect();
    std::fs::write(plot, plot::draw(&panels))?;
    eprintln!("drew {}", plot.display());
    Ok(())
}

impl Series {
    fn told(&self, (size, value): (f64, f64)) -> String {
        format!("{}: {}", self.size(size), self.value(value))
    }

    fn size(&self, size: f64) -> String {
        match self.unit {
            "bytes" => bytes(size),
            _ if size >= 1e6 => format!("{:.0}M", size / 1e6),
            _ if size >= 1e3 => format!("{:.0}k", size / 1e3),
            _ => grouped(size as usize),
        }
    }

    fn value(&self, value: f64) -> String {
        match self.kind {
            SeriesUnit::Milliseconds => {
                milliseconds(std::time::Duration::from_secs_f64(value / 1e3))
            }
            SeriesUnit::CallsPerSecond => format!("{}/s", grouped(value.round() as usize)),
        }
    }

    fn panel(&self) -> Panel {
        let sizes = self.points.iter().map(|&(size, _)| self.size(size));
        let values = self.points.iter().map(|&(_, value)| self.value(value));
        let labels = sizes.zip(values).collect();
        let unit = if self.unit == "bytes" { "file size" } else { self.unit };
        Panel {
            title: self.what.to_string(),
            unit: unit.to_string(),
            points: self.points.clone(),
            labels,
            exponent: exponent(&self.points),
        }
    }
}

fn bytes(n_bytes: f64) -> String {
    match n_bytes {
        ..1e6 => format!("{:.0} KB", n_bytes / 1e3),
        ..1e9 => format!("{:.0} MB", n_bytes / 1e6),
        _ => format!("{:.0} GB", n_bytes / 1e9),
    }
}

/// Returns the slope of the least-squares line through the logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<_> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mean_x, mean_y) = (
        logs.iter().map(|(x, _)| x).sum::<f64>() / n,
        logs.iter().map(|(_, y)| y).sum::<f64>() / n,
    );
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_powers() {
        let power = |exponent: i32| [1.0f64, 10.0, 100.0].map(|x| (x, 3.0 * x.powi(exponent)));
        assert!((exponent(&power(0))).abs() < 1e-9);
        assert!((exponent(&power(1)) - 1.0).abs() < 1e-9);
        assert!((exponent(&power(2)) - 2.0).abs() < 1e-9);
    }
}
