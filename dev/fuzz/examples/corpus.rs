//! Unpacks the corpora for libFuzzer, and packs what it has merged; `dev/fuzz/run` calls both.
//!
//! ```text
//! corpus unpack DIR             write the seeds and inputs of every target to DIR/<target>
//! corpus pack TARGET DIR        replace the archive of a target with the inputs in DIR
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use recto_fuzz::seeds::seeds;
use recto_fuzz::{TARGETS, corpus};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["unpack", folder] => unpack(Path::new(folder)),
        ["pack", target, folder] => {
            let archive = corpus::pack(corpus::files(Path::new(folder))?)?;
            Ok(fs::write(corpus::archive(target), archive)?)
        }
        _ => Err("expected: unpack DIR, or pack TARGET DIR".into()),
    }
}

fn unpack(folder: &Path) -> Result<(), Box<dyn Error>> {
    let seeds = seeds();
    for (target, _) in TARGETS {
        let mut inputs = corpus::inputs(target)?;
        let is_own = |(name, input): &(&str, Vec<u8>)| (name == target).then(|| input.clone());
        inputs.extend(seeds.iter().filter_map(is_own));
        let folder = folder.join(target);
        fs::create_dir_all(&folder)?;
        for (index, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("{index:05}")), input)?;
        }
    }
    Ok(())
}
