//! The recorded counts, as a small TOML file: the programs used for counting, then a number for
//! each operation.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::Result;

/// The content of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The compiler, valgrind and kind of processor that the counts are valid for.
    pub counted_with: String,
    pub counts: Vec<(String, u64)>,
}

impl Kept {
    /// Describes this environment. Without AVX2, searching takes other instructions.
    pub fn here() -> Result<String> {
        let version = |program: &str| -> Result<String> {
            let output = Command::new(program).arg("--version").output()?;
            Ok(String::from_utf8(output.stdout)?.trim().to_string())
        };
        #[cfg(target_arch = "x86_64")]
        let processor =
            if is_x86_feature_detected!("avx2") { "x86-64 with AVX2" } else { "x86-64" };
        #[cfg(not(target_arch = "x86_64"))]
        let processor = std::env::consts::ARCH;
        Ok(format!("{}, {}, {processor}", version("rustc")?, version("valgrind")?))
    }

    /// Reads the counts. A missing file has none.
    pub fn read(path: &Path) -> Result<Kept> {
        match std::fs::read_to_string(path) {
            Ok(text) => Kept::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Kept::default()),
            Err(error) => Err(error.into()),
        }
    }

    pub fn count(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(kept, _)| kept == name).map(|(_, count)| *count)
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(std::fs::write(path, self.to_text())?)
    }

    fn parse(text: &str) -> Result<Kept> {
        let mut kept = Kept::default();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', '[']) {
                continue;
            }
            let (name, value) = line.split_once(" = ").ok_or_else(|| format!("what is {line}?"))?;
            match name {
                "counted_with" => kept.counted_with = value.trim_matches('"').to_string(),
                _ => kept.counts.push((name.to_string(), value.replace('_', "").parse()?)),
            }
        }
        Ok(kept)
    }

    fn to_text(&self) -> String {
        let mut text = format!(
            "# Instructions of one call, kept by `dev/bench/instructions --update`; not edited by hand.\n\
             counted_with = \"{}\"\n\n[counts]\n",
            self.counted_with
        );
        for (name, count) in &self.counts {
            let count = recto_dev::table::grouped(*count as usize).replace(',', "_");
            writeln!(text, "{name} = {count}").expect("a string can be written to");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let counts = vec![("read".to_string(), 1_234_567), ("list".to_string(), 89)];
        let kept = Kept { counted_with: "rustc 1.95.0 (x)".into(), counts };
        assert_eq!(Kept::parse(&kept.to_text()).unwrap(), kept);
        assert!(Kept::parse("read 5").is_err());
    }
}
