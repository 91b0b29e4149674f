//! Writes the first inputs of every target beneath a folder, for libFuzzer to start from.

use std::error::Error;
use std::fs;
use std::path::Path;

use recto_fuzz::seeds::seeds;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("beneath which folder?")?;
    for (index, (target, input)) in seeds().into_iter().enumerate() {
        let target = Path::new(&folder).join(target);
        fs::create_dir_all(&target)?;
        fs::write(target.join(format!("{index:05}")), input)?;
    }
    Ok(())
}
