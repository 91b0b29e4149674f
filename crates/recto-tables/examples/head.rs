//! Prints the first rows of a file as Markdown, and the time it took.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use recto_tables::{Request, Result, Source, preview, render};

struct OnDisk(File, u64);

impl Source for OnDisk {
    fn size(&self) -> u64 {
        self.1
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        Ok(self.0.read_at(buffer, offset)?)
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let start = Instant::now();
    let file = File::open(&path)?;
    let size = file.metadata()?.len();
    let request = Request::new(&path, 100, 256 << 10);
    let table = preview(Arc::new(OnDisk(file, size)), &request)?;
    let text = render::markdown(&table);
    eprintln!("{} rows in {:.1} ms", table.rows.len(), start.elapsed().as_secs_f64() * 1e3);
    println!("{text}{}", table.notes.join("\n"));
    Ok(())
}
