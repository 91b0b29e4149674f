//! What a look found, as lines for a person.

use std::fmt;

/// Rooms with their lines, in order.
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

    /// Something that is as it is.
    pub fn fact(&mut self, text: impl Into<String>) {
        self.lines.push(ReportLine::Fact(text.into()));
    }

    /// Something that a person may want to know, but that is not wrong.
    pub fn note(&mut self, text: impl Into<String>) {
        self.lines.push(ReportLine::Note(text.into()));
    }

    /// Something that is wrong, and what to do about it.
    pub fn problem(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.lines.push(ReportLine::Problem { what: what.into(), remedy: remedy.into() });
    }

    /// How many things are wrong.
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
                ReportLine::Fact(text) => writeln!(f, "  {}", shown(text))?,
                ReportLine::Note(text) => writeln!(f, "  - {}", shown(text))?,
                ReportLine::Problem { what, remedy } => {
                    writeln!(f, "  ! {}\n    {}", shown(what), shown(remedy))?;
                }
            }
        }
        match self.n_problems() {
            0 => writeln!(f, "\nNothing is wrong."),
            1 => writeln!(f, "\n1 problem, marked with !"),
            n => writeln!(f, "\n{n} problems, marked with !"),
        }
    }
}

/// A path may hold anything, and a terminal would act on it.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
