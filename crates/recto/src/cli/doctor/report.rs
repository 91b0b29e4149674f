//! The report that `recto doctor` prints.

use std::fmt;

use recto_text::quote::Escaped;

/// Sections with their lines, in order.
#[derive(Default)]
pub struct Report {
    lines: Vec<ReportLine>,
}

enum ReportLine {
    Section(&'static str),
    Fact(String),
    Note(String),
    Problem { what: String, remedy: String },
}

impl Report {
    /// Starts a section.
    pub fn section(&mut self, name: &'static str) {
        self.lines.push(ReportLine::Section(name));
    }

    /// Adds a plain finding.
    pub fn fact(&mut self, text: impl Into<String>) {
        self.lines.push(ReportLine::Fact(text.into()));
    }

    /// Adds a finding that the user may want to know but that is not a problem.
    pub fn note(&mut self, text: impl Into<String>) {
        self.lines.push(ReportLine::Note(text.into()));
    }

    /// Adds a problem and its fix.
    pub fn problem(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.lines.push(ReportLine::Problem { what: what.into(), remedy: remedy.into() });
    }

    /// Returns the number of problems.
    pub fn n_problems(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line, ReportLine::Problem { .. })).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "recto {}", env!("CARGO_PKG_VERSION"))?;
        for line in &self.lines {
            match line {
                ReportLine::Section(name) => writeln!(f, "\n{name}")?,
                ReportLine::Fact(text) => writeln!(f, "  {}", Escaped(text))?,
                ReportLine::Note(text) => writeln!(f, "  - {}", Escaped(text))?,
                ReportLine::Problem { what, remedy } => {
                    writeln!(f, "  ! {}\n    {}", Escaped(what), Escaped(remedy))?;
                }
            }
        }
        match self.n_problems() {
            0 => writeln!(f, "\nNo problems found."),
            1 => writeln!(f, "\nFound 1 problem, marked with !"),
            n => writeln!(f, "\nFound {n} problems, marked with !"),
        }
    }
}
